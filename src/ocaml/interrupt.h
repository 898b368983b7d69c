/* interrupt.h -- what the variant's own files call of each other */
#ifndef ALQI_OCAML_INTERRUPT_H
#define ALQI_OCAML_INTERRUPT_H

#include "ocaml/contract.h"

void caml_handle_gc_interrupt(void);
struct caml_result caml_final_do_calls_res(void);
value caml_alloc_shr(uintptr_t wosize, unsigned tag);
void caml_modify(volatile value *field, value v);

#endif
