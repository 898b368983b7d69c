/* trace.h -- traces of an OCaml program begin, by what its environment says */
#ifndef ALQI_OCAML_TRACE_H
#define ALQI_OCAML_TRACE_H

#include "heap/state.h"

/* The first domain has started. */
void alqi_ocaml_trace_begin(struct alqi_domain *d);

#endif
