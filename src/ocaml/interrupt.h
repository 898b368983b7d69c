/* interrupt.h -- what the variant's own files call of each other */
#ifndef ALQI_OCAML_INTERRUPT_H
#define ALQI_OCAML_INTERRUPT_H

#include "ocaml/contract.h"

/* Serves what interrupts the domain and needs no code of OCaml; what limits and
 * handlers of signals want stays pending. */
void alqi_ocaml_interrupts_serve(void);
void caml_interrupt_self(void);
void caml_update_young_limit_after_c_call(struct caml_domain_state *state);
/* Before an exception that no call of OCaml's code precedes is raised from an
 * allocation or a poll of it. */
void alqi_ocaml_raise_ready(void);
struct caml_result caml_final_do_calls_res(void);
value caml_alloc_shr(uintptr_t wosize, unsigned tag);
void caml_modify(volatile value *field, value v);

/* Read by the members that stay; alqi_ocaml_leave writes them. */
extern uintptr_t caml_major_cycles_completed;
extern uintptr_t caml_minor_collections_count;
extern uintptr_t caml_compactions_count;

#endif
