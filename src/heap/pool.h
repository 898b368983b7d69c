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

/* What a slot held must not be read again: words that no block has and that are
 * no addresses.  Its header is 0. */
static inline void
alqi_heap_pool_spoil(alqi_heap_word *slot, size_t words)
{
    size_t i;

    for (i = 1; ALQI_CHECKS >= 2 && i < words; i++)
        slot[i] = ALQI_HEAP_SPOILT;
}
/* Of a pool whose slots all are free and in no span. */
void alqi_heap_pool_spoil_all(struct alqi_heap_pool *pool, unsigned size_class);

#endif
