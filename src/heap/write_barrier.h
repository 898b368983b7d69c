/* write_barrier.h -- the slow parts of alq_store and alq_init: the block is old
 */
#ifndef ALQI_HEAP_WRITE_BARRIER_H
#define ALQI_HEAP_WRITE_BARRIER_H

#include "heap/state.h"

void alqi_heap_store(struct alqi_domain *d, alqi_heap_word *field, alq_value v);

/* Stores v into field i of any block if the field holds *expected; else stores
 * what the field holds into *expected, and returns false. */
bool alqi_heap_compare_exchange(struct alqi_domain *d, alq_value block,
                                uintptr_t i, alq_value *expected, alq_value v);

/* The barrier behind an exchange of an old block's field: it held old, which is
 * not young, and holds v. */
void alqi_heap_exchanged(struct alqi_domain *d, alqi_heap_word *field,
                         alq_value old, alq_value v);

/* After a change of phase: the colour of new blocks, and which values alq_store
 * needs its slow part for. */
void alqi_heap_barrier_phase(struct alqi_domain *d);

#endif
