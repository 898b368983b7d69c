/* pool.h -- one pool: its ranges, and sweeping it */
#ifndef ALQI_HEAP_POOL_H
#define ALQI_HEAP_POOL_H

#include "heap/state.h"

/* All slots are free: one range. */
void alqi_heap_pool_fresh(struct alqi_heap_pool *pool, unsigned size_class);

/* Takes the pool's first range away; false when there is none. */
bool alqi_heap_pool_range_take(struct alqi_heap_pool *pool, unsigned size_class,
                               struct alqi_heap_range *out);

/* Puts a range that was taken, or the rest of it, in front of the others. */
void alqi_heap_pool_range_return(struct alqi_heap_pool *pool,
                                 unsigned size_class,
                                 struct alqi_heap_range range);

/* Slots in its ranges. */
unsigned alqi_heap_pool_count_free(const struct alqi_heap_pool *pool);

/* Blocks of colour `garbage`. */
unsigned alqi_heap_pool_count_dead(struct alqi_heap_pool *pool,
                                   unsigned size_class, uintptr_t garbage);

/* Frees the blocks of colour `garbage`, finds the ranges anew.  Afterwards
 * n_free is right; returns it. */
unsigned alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned size_class,
                              uintptr_t garbage);

/* The pool's first slot. */
static inline alqi_heap_word *
alqi_heap_pool_slots(struct alqi_heap_pool *pool)
{
    return (alqi_heap_word *)pool + ALQI_HEAP_POOL_HEAD_WORDS;
}

/* What a slot held must not be read again: words that no block has and that are
 * no addresses.  Its header is 0. */
static inline void
alqi_heap_pool_poison(alqi_heap_word *slot, size_t words)
{
    size_t i;

    for (i = 1; ALQI_CHECKS >= 2 && i < words; i++)
        slot[i] = ALQI_HEAP_POISON;
}
/* Poisons all slots of a pool.  Requires that all are free and in no range. */
void alqi_heap_pool_poison_all(struct alqi_heap_pool *pool,
                               unsigned size_class);

#endif
