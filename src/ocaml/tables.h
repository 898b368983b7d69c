/* tables.h -- the minor tables, to which C code of OCaml's members appends */
#ifndef ALQI_OCAML_TABLES_H
#define ALQI_OCAML_TABLES_H

#include "heap/state.h"
#include "ocaml/contract.h"

/* Makes the tables of a new domain; NULL: no memory. */
struct caml_minor_tables *alqi_ocaml_tables_new(void);

/* Hands all entries over to the heap: before each call into it. */
void alqi_ocaml_tables_empty(struct alqi_domain *d);

#endif
