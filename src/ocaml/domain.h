/* domain.h -- the start of the domain behind Caml_state */
#ifndef ALQI_OCAML_DOMAIN_H
#define ALQI_OCAML_DOMAIN_H

/* The first domain and the heap, with what OCAMLRUNPARAM says. */
void alqi_ocaml_start(void);

#endif
