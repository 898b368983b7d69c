/* enter.h -- the way into the heap and back
 *
 * .inv.enter  OCaml's code calls the heap between alqi_ocaml_enter and
 *             alqi_ocaml_leave.  The first hands over what C code has put into
 *             the minor tables, the second shows where the minor heap is. */
#ifndef ALQI_OCAML_ENTER_H
#define ALQI_OCAML_ENTER_H

#include "ocaml/head.h"

/* The domain that the calling thread runs. */
struct alqi_domain *alqi_ocaml_enter(void);
void alqi_ocaml_leave(struct alqi_domain *d);

#endif
