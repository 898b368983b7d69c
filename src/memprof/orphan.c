/* orphan.c -- entries whose domain has ended
 *
 * An ending domain appends its four lists under one lock; the next domain that
 * scans, collects or polls takes all of them over.
 *
 *     ending domain's lists --add--> orphans --adopt--> another's lists
 *
 * Keeps .inv.owner: lists change hands whole and under the lock, so no two
 * threads ever walk one (doc/design/memprof.md). */
#include "memprof/fifo.h"
#include "memprof/old.h"
#include "memprof/orphan.h"

static struct {
    struct alqi_plat_lock lock;
    struct alqi_entry_fifo pending;
    struct alqi_entry_fifo deferred;
    struct alqi_entry_fifo young;
    struct alqi_memprof_old old;
    _Atomic(bool) any;
} orphans = {.lock = ALQI_PLAT_LOCK(MEMPROF_ORPHANS)};

void
alqi_orphans_add(struct alqi_memprof_domain *d)
{
    if (d->pending.head == NULL && d->deferred.head == NULL &&
        d->young.head == NULL && d->old.head == NULL)
        return;
    alqi_plat_lock(&orphans.lock);
    alqi_fifo_append(&orphans.pending, &d->pending);
    alqi_fifo_append(&orphans.deferred, &d->deferred);
    alqi_fifo_append(&orphans.young, &d->young);
    alqi_old_append(&orphans.old, &d->old);
    atomic_store_explicit(&orphans.any, true, memory_order_relaxed);
    alqi_plat_unlock(&orphans.lock);
}

void
alqi_orphans_adopt(struct alqi_memprof_domain *d)
{
    struct alqi_entry_fifo pending, deferred;

    if (!atomic_load_explicit(&orphans.any, memory_order_relaxed) ||
        d->heap_ended)
        return;
    alqi_plat_lock(&orphans.lock);
    pending = orphans.pending;
    deferred = orphans.deferred;
    orphans.pending = (struct alqi_entry_fifo){NULL, NULL};
    orphans.deferred = (struct alqi_entry_fifo){NULL, NULL};
    alqi_fifo_append(&d->young, &orphans.young);
    alqi_old_append(&d->old, &orphans.old);
    d->n_discards = UINT64_MAX; /* some may be of profiles discarded earlier */
    atomic_store_explicit(&orphans.any, false, memory_order_relaxed);
    alqi_plat_unlock(&orphans.lock);
    if (pending.head == NULL && deferred.head == NULL)
        return;
    alqi_domain_lock(d);
    alqi_domain_give_locked(d, &pending, &deferred);
    alqi_domain_unlock(d);
}

void
alqi_orphans_lock(void)
{
    alqi_plat_lock(&orphans.lock);
}

void
alqi_orphans_unlock(void)
{
    alqi_plat_unlock(&orphans.lock);
}

void
alqi_orphans_fork_reset(void)
{
    alqi_plat_lock_break(&orphans.lock);
    orphans.pending = (struct alqi_entry_fifo){NULL, NULL};
    orphans.deferred = (struct alqi_entry_fifo){NULL, NULL};
    orphans.young = (struct alqi_entry_fifo){NULL, NULL};
    orphans.old = (struct alqi_memprof_old){0};
    orphans.any = false;
}
