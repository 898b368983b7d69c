/* ephe_wait.h -- which ephemerons wait for which block to be marked
 *
 * For chains in no order, of which each pass (ephe.h) would find a few: a pass
 * that notes who waits for what can look at those at once when the datum of
 * another is marked, or what its first fields lead to.  What it does not find,
 * the next pass does: nothing rests on this but the time it takes. */
#ifndef ALQI_HEAP_EPHE_WAIT_H
#define ALQI_HEAP_EPHE_WAIT_H

#include "heap/state.h"

/* The ephemeron waits for the block; without memory it is not noted. */
void alqi_heap_ephe_wait(struct alqi_heap_ephe_waits *w, alq_value ephe,
                         alq_value block);

/* The next one that waited for the block; ALQ_NULL: none. */
alq_value alqi_heap_ephe_wait_take(struct alqi_heap_ephe_waits *w,
                                   alq_value block);

/* Data that were marked, whose waiters are to be looked at. */
void alqi_heap_ephe_wait_push(struct alqi_heap_ephe_waits *w, alq_value data);
alq_value alqi_heap_ephe_wait_pop(struct alqi_heap_ephe_waits *w);

void alqi_heap_ephe_wait_drop(struct alqi_heap_ephe_waits *w);

#endif
