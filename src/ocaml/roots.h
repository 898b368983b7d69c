/* roots.h -- OCaml's roots: stacks, C roots, modules, registered variables */
#ifndef ALQI_OCAML_ROOTS_H
#define ALQI_OCAML_ROOTS_H

#include "heap/state.h"
#include "ocaml/contract.h"

/* The heap asks for the roots from now on; false: no memory. */
bool alqi_ocaml_roots_start(struct alqi_domain *d);

/* Where a slot is shown, for upstream's functions that take an action. */
struct alqi_ocaml_visitor {
    void (*visit)(void *arg, alq_value *slot);
    void *arg;
};

/* The action: `data` is a visitor, to which it shows slots that hold blocks. */
void alqi_ocaml_show(void *data, value v, volatile value *slot);

/* The variable is a root until it is removed. */
void alqi_ocaml_global_add(value *variable);
void alqi_ocaml_global_remove(value *variable);

#endif
