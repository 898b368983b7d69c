/* domain_state.h -- the engine's state of one domain
 *
 * What `lock` guards is read and written by any thread; what is marked
 * "scanned" only by the domain's running thread, or by the collector on its
 * behalf while that is stopped. */
#ifndef ALQI_MEMPROF_DOMAIN_STATE_H
#define ALQI_MEMPROF_DOMAIN_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "memprof/engine.h"
#include "memprof/fifo.h"
#include "memprof/old_state.h"
#include "plat/plat.h"

struct alqi_memprof_domain {
    /* Constant. */
    const struct alqi_memprof_subject *subject;
    void *heap; /* the subject's argument */

    struct alqi_plat_lock lock;
    /* From 1; a change, under the lock, makes threads arm anew
     * (.inv.armed). */
    _Atomic(uint64_t) serial;
    /* By enum alqi_memprof_slot; NULL: empty.  Written under the lock, read by
     * any thread, which may get a profile that is dropped (.inv.stable). */
    _Atomic(struct alq_profile *) slot[ALQI_MEMPROF_SLOTS];
    /* Under the lock; a collection reads the list without. */
    struct alqi_memprof_thread *threads;
    uint32_t n_threads_ever; /* under the lock */
    /* Callbacks of threads that have ended; the next flush runs them.  In a
     * scanned heap also what collections have found, for polls.  Under the
     * lock. */
    struct alqi_entry_fifo pending;
    /* Scanned: callbacks that wait for a flush. */
    struct alqi_entry_fifo deferred;
    /* `pending` is not empty; written under the lock. */
    _Atomic(bool) has_pending;
    /* Under the lock: the domain's place among its parent's children, and
     * what it has joined, mixed; makes the seeds of its threads. */
    uint64_t path;
    uint64_t n_children;              /* that it has had, under the lock */
    struct alqi_memprof_domain *next; /* under the lock of all domains */
    struct alqi_memprof_domain *prev;

    /* Scanned. */
    bool heap_ended; /* the heap has ended: no orphans are adopted any more */
    uint32_t cycle;  /* the heap's major cycle, in ALQI_CYCLE_MASK */
    /* alqi_profiles_discards() when `old` was last looked through for entries
     * of discarded profiles. */
    uint64_t n_discards;
    struct alqi_entry_fifo young; /* block or datum may be young */
    struct alqi_memprof_old old;  /* neither is */
};

static inline void
alqi_domain_lock(struct alqi_memprof_domain *d)
{
    alqi_plat_lock(&d->lock);
}

static inline void
alqi_domain_unlock(struct alqi_memprof_domain *d)
{
    alqi_plat_unlock(&d->lock);
}

/* Appends callbacks that are due to the domain's FIFOs: those for the next
 * poll, in a notified heap the next flush; those for a flush. */
static inline void
alqi_domain_give_locked(struct alqi_memprof_domain *d,
                        struct alqi_entry_fifo *prompt,
                        struct alqi_entry_fifo *deferred)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_MEMPROF_DOMAIN));
    if (prompt->head != NULL)
        atomic_store_explicit(&d->has_pending, true, memory_order_relaxed);
    alqi_fifo_append(&d->pending, prompt);
    alqi_fifo_append(&d->deferred, deferred);
}

#endif
