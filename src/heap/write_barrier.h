/* write_barrier.h -- the slow parts of alq_store and alq_init: the block is old
 */
#ifndef ALQI_HEAP_BARRIER_H
#define ALQI_HEAP_BARRIER_H

#include "heap/state.h"

void alqi_heap_store(struct alqi_domain *d, alqi_heap_word *field, alq_value v);

/* Field i of any block, if it holds *expected; else that is what it holds. */
bool alqi_heap_compare_exchange(struct alqi_domain *d, alq_value block,
                                uintptr_t i, alq_value *expected, alq_value v);

/* After a change of phase: the colour of new blocks, and which values alq_store
 * needs its slow part for. */
void alqi_heap_barrier_phase(struct alqi_domain *d);

#endif
