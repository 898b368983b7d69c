/* private.h -- minor collections by a domain alone      [doc/design/heap.md]
 *
 * While no young block is shown (shown.h) a domain whose minor heap is full
 * empties it itself, while the others run.  It is RUN all the time: a stop
 * waits for it, as for a slice. */
#ifndef ALQI_HEAP_PRIVATE_H
#define ALQI_HEAP_PRIVATE_H

#include "heap/state.h"

/* Empties and opens the domain's minor heap; false: that takes a stop.  By who
 * runs it, at a safe point. */
bool alqi_heap_private_try(struct alqi_domain *d);

/* In a stop, nothing is young: whether it was shown is asked anew. */
void alqi_heap_private_again_stw(struct alqi_heap *heap);

#endif
