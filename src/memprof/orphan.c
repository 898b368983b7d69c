/* orphan.c -- what ended domains leave behind
 *
 * One lock, whole lists: an ending domain adds all it has, the next domain that
 * looks takes all there is (.inv.whole), so no list is ever walked by two. */
#include "memprof/state.h"

static struct {
    struct alqi_memprof_lock lock;
    struct alqi_memprof_pending pending;
    _Atomic(bool) any;
} orphans;

void
alqi_orphans_add(struct alqi_memprof_domain *d)
{
    if (d->pending.head == NULL)
        return;
    alqi_memprof_lock(&orphans.lock, ALQI_RANK_ORPHANS);
    alqi_fifo_append(&orphans.pending, &d->pending);
    atomic_store_explicit(&orphans.any, true, memory_order_relaxed);
    alqi_memprof_unlock(&orphans.lock, ALQI_RANK_ORPHANS);
}

void
alqi_orphans_adopt(struct alqi_memprof_domain *d)
{
    struct alqi_memprof_pending all;

    if (!atomic_load_explicit(&orphans.any, memory_order_relaxed))
        return;
    alqi_memprof_lock(&orphans.lock, ALQI_RANK_ORPHANS);
    all = orphans.pending;
    orphans.pending = (struct alqi_memprof_pending){NULL, NULL};
    atomic_store_explicit(&orphans.any, false, memory_order_relaxed);
    alqi_memprof_unlock(&orphans.lock, ALQI_RANK_ORPHANS);
    if (all.head == NULL)
        return; /* another domain was faster */
    alqi_domain_lock(d);
    alqi_fifo_append(&d->pending, &all);
    atomic_store_explicit(&d->has_pending, true, memory_order_relaxed);
    alqi_domain_unlock(d);
}

void
alqi_orphans_lock(void)
{
    alqi_memprof_lock(&orphans.lock, ALQI_RANK_ORPHANS);
}

void
alqi_orphans_unlock(void)
{
    alqi_memprof_unlock(&orphans.lock, ALQI_RANK_ORPHANS);
}

void
alqi_orphans_forget(void)
{
    orphans.lock = (struct alqi_memprof_lock){{0}};
    orphans.pending = (struct alqi_memprof_pending){NULL, NULL};
    orphans.any = false;
}
