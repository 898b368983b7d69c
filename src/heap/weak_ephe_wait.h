/* weak_ephe_wait.h -- which ephemerons wait for which block to be marked
 *
 * For chains in no order, of which each pass (weak_ephe.h) would find a few.  A
 * pass that takes notes notes each ephemeron under the block that it waits for:
 * itself, or a key.  While the table is open, it is asked about each block that
 * is marked for the domain (alqi_heap_mark(), alqi_heap_mark_darken(),
 * weak_ephe.c).  So each ephemeron is looked at once a key, however deep the
 * keys lie, and in whatever order.
 *
 * Of an ephemeron that waits for its only key the table has the data: an edge,
 * key -> data.  A chain is then followed in the table alone, without a look at
 * its ephemerons, which may lie anywhere.  A program may give the ephemeron
 * other data meanwhile; those are marked without the table, as all that
 * programs hold, and the old ones live until the next cycle, as what a program
 * overwrites elsewhere does (.inv.snapshot).
 *
 * What other domains mark is not asked about here: the next round looks for it
 * (weak_phase.c).
 *
 * A table with open addressing, made as large as it will get.  No entry is
 * removed: a place stays its block's after its waiters were taken.  Blocks of
 * the same 256 bytes have neighbouring places: chains often follow the order in
 * which their keys were made, and then one fetch serves several of them.  Its
 * memory is the system's, in huge pages where there are any: each page would be
 * touched, and a page fault costs as much as some 20 ephemerons.
 *
 * .inv.table  While the table is open, its size is a power of two, and at
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

/* Whether anything may be asked. */
static inline bool
alqi_heap_ephe_wait_is_open(const struct alqi_heap_ephe_waits *w)
{
    return w->is_open;
}

static inline size_t
alqi_heap_ephe_wait_home(const struct alqi_heap_ephe_waits *w, alq_value block)
{
    uint64_t mixed = (uint64_t)(block >> 8) * 0x9E3779B97F4A7C15u;

    return ((mixed >> 20) + (block >> 4 & 15)) & (w->size - 1);
}

/* The block will be asked for soon.  Requires that the table is open. */
static inline void
alqi_heap_ephe_wait_fetch(const struct alqi_heap_ephe_waits *w, alq_value block)
{
    __builtin_prefetch(&w->places[alqi_heap_ephe_wait_home(w, block)], 1);
}

/* The place of the block, or the free one where it would stand.  Requires that
 * the table is open, so there is a free place. */
static inline struct alqi_heap_ephe_place *
alqi_heap_ephe_wait_find(const struct alqi_heap_ephe_waits *w, alq_value block)
{
    size_t i = alqi_heap_ephe_wait_home(w, block);

    ALQI_DEBUG((w->size & (w->size - 1)) == 0); /* .inv.table */
    while (w->places[i].block != block && w->places[i].block != ALQ_NULL)
        i = (i + 1) & (w->size - 1);
    return &w->places[i];
}

/* ---- waiters ------------------------------------------------------------ */

enum { ALQI_HEAP_EPHE_EDGE = 2 }; /* set in a waiter: it is data */

/* The waiter, an ephemeron or an edge to data, waits for the block; without
 * memory it is not noted.  Requires that the table is open. */
void alqi_heap_ephe_wait(struct alqi_heap_ephe_waits *w, alq_value waiter,
                         alq_value block);

/* The next one that waited for the block; ALQ_NULL: none.  Requires that the
 * table is open. */
alq_value alqi_heap_ephe_wait_take(struct alqi_heap_ephe_waits *w,
                                   alq_value block);

/* ---- blocks that were marked -------------------------------------------- */

/* The block was marked, and what waits for it is to be looked at. */
void alqi_heap_ephe_wait_push(struct alqi_heap_ephe_waits *w, alq_value data);
alq_value alqi_heap_ephe_wait_pop(struct alqi_heap_ephe_waits *w);

/* The block was marked: it is pushed if anything waits for it.  Requires that
 * the table is open. */
static inline void
alqi_heap_ephe_wait_marked(struct alqi_heap_ephe_waits *w, alq_value block)
{
    if (alqi_heap_ephe_wait_find(w, block)->waiter != ALQ_NULL)
        alqi_heap_ephe_wait_push(w, block);
}

#endif
