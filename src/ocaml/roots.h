/* roots.h -- OCaml's roots: stacks, C roots, modules, registered variables */
#ifndef ALQI_OCAML_ROOTS_H
#define ALQI_OCAML_ROOTS_H

#include "ocaml/head.h"

/* Where a slot is shown, for upstream's functions that take an action. */
struct alqi_ocaml_visitor {
    void (*visit)(void *arg, alq_value *slot);
    void *arg;
};

/* The action: `data` is a visitor, to which it shows slots that hold blocks. */
void alqi_ocaml_show(void *data, value v, volatile value *slot);

/* A variable that is a root from _push to _pop, which returns its value. Locals
 * are popped in the reverse order. */
struct alqi_ocaml_local {
    struct caml_roots_block block;
    value value;
};

static inline void
alqi_ocaml_local_push(struct alqi_ocaml_local *l, value v)
{
    l->value = v;
    l->block.next = caml_state->local_roots;
    l->block.n_tables = l->block.n_items = 1;
    l->block.tables[0] = &l->value;
    caml_state->local_roots = &l->block;
}

static inline value
alqi_ocaml_local_pop(struct alqi_ocaml_local *l)
{
    caml_state->local_roots = l->block.next;
    return l->value;
}

/* The variable is a root until it is removed; from _add on it is written by
 * _set alone (.inv.variables). */
void alqi_ocaml_global_add(value *variable);
void alqi_ocaml_global_set(value *variable, value v);
void alqi_ocaml_global_remove(value *variable);

/* The domain's first thread has been made; Thread may be about to set its hook
 * (.inv.hook). */
void alqi_ocaml_hook_is_next(void);

#endif
