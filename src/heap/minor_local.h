/* minor_local.h -- minor collections by one domain alone
 * [doc/design/heap.md]
 *
 * While no young block has escaped (minor_escape.h) a domain whose minor heap
 * is full empties it itself, while the others run.  It stays RUNNING: a stop
 * waits for it, as for a slice. */
#ifndef ALQI_HEAP_MINOR_LOCAL_H
#define ALQI_HEAP_MINOR_LOCAL_H

#include "heap/state.h"

/* Empties and opens the domain's minor heap; false: that takes a stop.  By who
 * runs it, at a safe point. */
bool alqi_heap_minor_local_try(struct alqi_domain *d);

/* Nothing is young: has_escaped is taken back, if it may be. */
void alqi_heap_minor_local_again_stw(struct alqi_heap *heap);

#endif
