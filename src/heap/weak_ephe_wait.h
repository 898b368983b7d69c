/* weak_ephe_wait.h -- which ephemerons wait for which block to be marked
 *
 * For chains in no order, of which each pass (weak_ephe.h) would find a few.  A
 * pass notes each ephemeron under the key that it waits for.  When the datum of
 * another ephemeron is marked, or what the datum's first fields lead to, the
 * pass looks at once at the ephemerons that wait for that block.  The next pass
 * finds what this one misses: the table saves time alone.
 *
 * A table with open addressing, made as large as it will get.  No entry is
 * removed: a place stays its block's after its waiters were taken.  Blocks of
 * the same 256 bytes have neighbouring places: chains often follow the order in
 * which their keys were made, and then one fetch serves several of them.
 *
 * .inv.table  While the table is looked up, its size is a power of two, and at
 *             least a quarter of its places are free. */
#ifndef ALQI_HEAP_WEAK_EPHE_WAIT_H
#define ALQI_HEAP_WEAK_EPHE_WAIT_H

#include "heap/state.h"

/* A table for n ephemerons; false: no memory. */
bool alqi_heap_ephe_wait_open(struct alqi_heap_ephe_waits *w, size_t n);
void alqi_heap_ephe_wait_close(struct alqi_heap_ephe_waits *w);

/* Empties a part of a large table that is about to be closed, which would take
 * long at once; false: it is small enough now. */
bool alqi_heap_ephe_wait_shrink(struct alqi_heap_ephe_waits *w);

static inline size_t
alqi_heap_ephe_wait_home(const struct alqi_heap_ephe_waits *w, alq_value block)
{
    uint64_t mixed = (uint64_t)(block >> 8) * 0x9E3779B97F4A7C15u;

    return ((mixed >> 20) + (block >> 4 & 15)) & (w->size - 1);
}

/* The block will be asked for soon. */
static inline void
alqi_heap_ephe_wait_fetch(const struct alqi_heap_ephe_waits *w, alq_value block)
{
    if (w->size > 0)
        __builtin_prefetch(&w->places[alqi_heap_ephe_wait_home(w, block)], 1);
}

/* The ephemeron waits for the block; without memory it is not noted. */
void alqi_heap_ephe_wait(struct alqi_heap_ephe_waits *w, alq_value ephe,
                         alq_value block);

/* The next one that waited for the block; ALQ_NULL: none. */
alq_value alqi_heap_ephe_wait_take(struct alqi_heap_ephe_waits *w,
                                   alq_value block);

/* Data that were marked, whose waiters are to be looked at. */
void alqi_heap_ephe_wait_push(struct alqi_heap_ephe_waits *w, alq_value data);
alq_value alqi_heap_ephe_wait_pop(struct alqi_heap_ephe_waits *w);

#endif
