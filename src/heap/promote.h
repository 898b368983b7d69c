/* promote.h -- moves young blocks to the major heap: copy, then scan the copies
 *
 * Copies go to runs, one a class: free neighbours of a pool, so that making
 * room is an addition and "not scanned yet" is a pointer (Cheney).  A filled
 * run that is not scanned waits in `pending`, which has a place for each block
 * of all minor heaps.
 *
 * One domain at a time promotes: plain stores. */
#ifndef ALQI_HEAP_PROMOTE_H
#define ALQI_HEAP_PROMOTE_H

#include "heap/state.h"

/* Replaces a young value by its new place.  A moved block has header 0 and its
 * new place in field 0.  There must be memory: alqi_heap_minor_need. */
void alqi_heap_promote(struct alqi_domain *d, alq_value *slot);

/* Promotes what promoted blocks lead to, until nothing is left. */
void alqi_heap_promote_drain(struct alqi_domain *d);

/* After draining: the block's new place, ALQ_NULL when it is dead. */
static inline alq_value
alqi_heap_promoted(alq_value young)
{
    return alqi_heap_header(young) == 0 ? *(alqi_heap_word *)young : ALQ_NULL;
}

#endif
