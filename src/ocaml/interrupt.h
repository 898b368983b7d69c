/* interrupt.h -- what the variant's own files call of each other */
#ifndef ALQI_OCAML_INTERRUPT_H
#define ALQI_OCAML_INTERRUPT_H

#include "ocaml/contract.h"
#include "ocaml/roots.h"

void caml_handle_gc_interrupt(void);
struct caml_result caml_final_do_calls_res(void);
value caml_alloc_shr(uintptr_t wosize, unsigned tag);
void caml_modify(volatile value *field, value v);

/* Colours in place in a header. */
extern struct alqi_ocaml_heap_state {
    uintptr_t marked;
    uintptr_t unmarked;
    uintptr_t garbage;
} alqi_ocaml_heap_state;

#endif
