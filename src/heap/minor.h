/* minor.h -- the minor heap of a domain, and emptying it
 *
 * .inv.open  young.start <= young_ptr <= young.end, within the part of the
 *            domain's slice that has memory.  Blocks lie close from young_ptr
 *            up to `end`.  A minor heap that was emptied has start = end, until
 *            it is opened again. */
#ifndef ALQI_HEAP_MINOR_H
#define ALQI_HEAP_MINOR_H

#include "heap/state.h"

/* Makes memory ready for the minor heap, of sizes.max_bytes; false: memory is
 * short.  The lock is that of stops. */
bool alqi_heap_minor_open_locked(struct alqi_domain *d);
/* Gives the memory back, if no retained block is in it; the domain ends. */
void alqi_heap_minor_drop(struct alqi_domain *d);

/* Makes memory ready for a larger one, up to ALQI_HEAP_MINOR_BYTES_MAX.  The
 * minor heap is empty, and closed afterwards.  False: memory is short, and
 * nothing has changed. */
bool alqi_heap_minor_resize(struct alqi_domain *d, size_t words);

/* The most pools that so many bytes of young blocks can fill.  The pools that a
 * worker has begun and not filled come on top: ALQI_HEAP_WORKER_POOLS. */
size_t alqi_heap_minor_need(uintptr_t young_bytes);

/* A minor collection, in a stop.  `self` is a participant: the domain that the
 * calling thread runs.  Buffers and grey stack are the worker's. */

/* One participant calls it before the shares, with the number of workers.  Each
 * worker calls alqi_heap_minor_drain_stw, with or without a share. */
void alqi_heap_minor_prepare_stw(struct alqi_domain *self,
                                 unsigned participants);

/* Promotes what the roots and the remembered set of `of` hold, into the buffers
 * of `self`.  NULL: the roots that are the heap's own. */
void alqi_heap_minor_share_stw(struct alqi_domain *self,
                               struct alqi_domain *of);

/* All of it by the domain, for itself: minor_local.h.  Out of stops. */
void alqi_heap_minor_run_local(struct alqi_domain *d);

/* A worker's part: promotes what promoted blocks lead to, until no worker has
 * anything left. */
void alqi_heap_minor_drain_stw(struct alqi_domain *self);

/* After all workers have drained: finalises what died in `of`.  Its minor heap
 * has no bytes afterwards: minor_open.c opens it. */
void alqi_heap_minor_finish(struct alqi_domain *self, struct alqi_domain *of);

/* Opens the empty minor heap for so many bytes, a multiple of chunks. */
void alqi_heap_minor_begin(struct alqi_domain *d, uintptr_t bytes);

/* Stops the program unless .inv.open holds of the domain; its holder calls. */
static inline void
alqi_heap_minor_check(const struct alqi_domain *d)
{
    ALQI_ASSERT(d->young.start <= (uintptr_t)d->pub.young_ptr); /* .inv.open */
    ALQI_ASSERT((uintptr_t)d->pub.young_ptr <= d->young.end);   /* .inv.open */
    ALQI_ASSERT(d->sizes.base <= d->young.start);               /* .inv.open */
    ALQI_ASSERT(d->young.end - d->sizes.base <=
                d->sizes.max_bytes); /* .inv.open */
}

/* Whether nothing was allocated since the minor heap was opened, or it is
 * closed. */
static inline bool
alqi_heap_minor_is_empty(const struct alqi_domain *d)
{
    return (uintptr_t)d->pub.young_ptr == d->young.end;
}

#endif
