/* domain_orphan.h -- what a domain leaves behind when it ends
 * [doc/design/heap.md]
 *
 * .inv.handed  In a stop each table of a domain, and of one that ended, has one
 *              owner that takes part: the leader waits for ENDING and adopts
 *              before any share is done (tests/models/ending.pml).
 * .pair.orphans  alqi_heap_orphan_leave() (release) ->
 *              alqi_heap_orphan_adopt_stw() (acquire): the tables.
 *
 * A part of the heap that keeps something a domain has a line in hand_over and
 * one in adopt (domain_orphan.c), and a field in struct alqi_heap_orphan. */
#ifndef ALQI_HEAP_DOMAIN_ORPHAN_H
#define ALQI_HEAP_DOMAIN_ORPHAN_H

#include "heap/state.h"

/* Leaves all that the domain has.  It is ENDING, has nothing young, and uses up
 * d->orphan. */
void alqi_heap_orphan_leave(struct alqi_domain *d);

/* Makes all that was left d's: in a stop, before its shares, or when nobody
 * else uses the heap. */
void alqi_heap_orphan_adopt_stw(struct alqi_domain *d);

#endif
