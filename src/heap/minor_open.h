/* minor_open.h -- memory for minor heaps [doc/design/heap.md]
 *
 * .inv.room  Pools to promote all that open minor heaps may hold, and a buffer
 *            of each class for each worker, can be accessed before a block is
 *            allocated there.  So promotion does not fail. */
#ifndef ALQI_HEAP_MINOR_OPEN_H
#define ALQI_HEAP_MINOR_OPEN_H

#include "heap/state.h"

/* Opens the empty minor heap, one of n of the same width, as wide as it can be
 * emptied for sure (.inv.room): pools for that are promised to it until it is
 * closed.  False: memory is short, or, with young.is_fragmented, retained
 * blocks leave no room for it. */
bool alqi_heap_open_minor(struct alqi_domain *d, unsigned n);
/* Opens the minor heap that the domain has emptied out of stops; by the thread
 * that runs the domain. */
void alqi_heap_reopen_minor(struct alqi_domain *d);
/* The domain ends, nothing in it is young: what was promised stays so until the
 * next collection if others have taken of it (.inv.quota). */
void alqi_heap_leave_minor(struct alqi_domain *d);

/* Nothing is young: what was promised to those that ended, too. */
void alqi_heap_open_close_all_stw(struct alqi_heap *heap);

/* Closed: no room, and no pools promised. */
static inline bool
alqi_heap_open_is_closed(const struct alqi_domain *d)
{
    return d->young.promised_pools == 0;
}

#endif
