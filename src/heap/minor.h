/* minor.h -- the minor heap of a domain, and emptying it */
#ifndef ALQI_HEAP_MINOR_H
#define ALQI_HEAP_MINOR_H

#include "heap/state.h"

/* Memory for the minor heap, of d->minor_bytes; false: there is none.  The lock
 * of stops is held. */
bool alqi_heap_minor_open(struct alqi_domain *d);
void alqi_heap_minor_drop(struct alqi_domain *d);

/* Room for a larger one, up to ALQI_HEAP_MINOR_BYTES_MAX: it is empty, and
 * closed afterwards.  False: no memory, nothing changed. */
bool alqi_heap_minor_resize(struct alqi_domain *d, size_t words);

/* Pools that so many bytes of young blocks may fill, at the most, beside those
 * that a participant has not filled: ALQI_HEAP_WORKER_POOLS. */
size_t alqi_heap_minor_need(uintptr_t young_bytes);

/* A minor collection, in a stop.  `self` is a participant: the domain that the
 * calling thread runs.  Runs, `grey` and `dirty` are the participant's. */

/* By one, before the shares: how many participants there will be.  Each of them
 * calls alqi_heap_minor_drain, whether it had a share or not. */
void alqi_heap_minor_prepare(struct alqi_domain *self, unsigned participants);

/* Promotes what the roots and the remembered set of `of` hold, into the runs of
 * `self`.  NULL: the roots that are the heap's own. */
void alqi_heap_minor_share(struct alqi_domain *self, struct alqi_domain *of);

/* All of it by the domain, for itself: minor_local.h.  Out of stops. */
void alqi_heap_minor_alone(struct alqi_domain *d);

/* Promotes what that leads to, until no participant has anything left. */
void alqi_heap_minor_drain(struct alqi_domain *self);

/* When all participants have drained: what died in `of` is finalised; its minor
 * heap is empty, and closed: there is no room in it. */
void alqi_heap_minor_finish(struct alqi_domain *self, struct alqi_domain *of);

/* Opens the empty minor heap for so many bytes, a multiple of chunks. */
void alqi_heap_minor_begin(struct alqi_domain *d, uintptr_t bytes);

static inline bool
alqi_heap_minor_is_empty(const struct alqi_domain *d)
{
    return (uintptr_t)d->pub.young_ptr == d->young.end;
}

#endif
