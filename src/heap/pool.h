/* pool.h -- one pool: its spans, and sweeping it */
#ifndef ALQI_HEAP_POOL_H
#define ALQI_HEAP_POOL_H

#include "heap/state.h"

/* All slots are free: one span. */
void alqi_heap_pool_fresh(struct alqi_heap_pool *pool, unsigned size_class);

/* Takes the pool's first span away; false when there is none. */
bool alqi_heap_pool_span(struct alqi_heap_pool *pool, unsigned size_class,
                         struct alqi_heap_span *out);

/* Gives a span back, or what is left of one, in front of the others. */
void alqi_heap_pool_span_back(struct alqi_heap_pool *pool, unsigned size_class,
                              struct alqi_heap_span span);

/* Slots in its spans. */
unsigned alqi_heap_pool_count_free(const struct alqi_heap_pool *pool);

/* Frees the blocks of colour `garbage`, finds the spans anew.  Afterwards
 * n_free is right; returns it. */
unsigned alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned size_class,
                              uintptr_t garbage);

static inline alqi_heap_word *
alqi_heap_pool_slots(struct alqi_heap_pool *pool)
{
    return (alqi_heap_word *)pool + ALQI_HEAP_POOL_HEAD_WORDS;
}

#endif
