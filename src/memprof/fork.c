/* fork.c -- the engine in a forked child
 *
 * Prepared: the parent holds every lock, so the child's tables are whole.
 * Threads that are not there any more owed alloc callbacks that cannot run in
 * them (dropped) and others that anyone may run (the domain's).  A thread that
 * was INSIDE may have been caught with its own lists half changed: those are
 * abandoned, a few nodes with them.
 *
 * Unprepared (a raw clone, a fork out of a handler): nothing can be trusted
 * that a lock guards; everything tracked is forgotten, profiles go on. */
#include "memprof/state.h"

void
alqi_memprof_fork_prepare(void)
{
    alqi_domains_lock_all();
    alqi_profiles_lock();
    alqi_orphans_lock();
    alqi_filter_lock();
    alqi_index_lock_all();
    alqi_pool_lock();
}

static void
unlock_all(void)
{
    alqi_pool_unlock();
    alqi_index_unlock_all();
    alqi_filter_unlock();
    alqi_orphans_unlock();
    alqi_profiles_unlock();
    alqi_domains_unlock_all();
}

void
alqi_memprof_fork_parent(void)
{
    unlock_all();
}

static void
forget_others(struct alqi_memprof_thread *self, bool whole)
{
    struct alqi_memprof_domain *d = self->domain;
    struct alqi_memprof_thread *t = d->threads, *next;

    d->threads = self;
    for (; t != NULL; t = next) {
        next = t->next_in_domain;
        if (t != self && whole && t->mode != ALQI_MEMPROF_INSIDE)
            alqi_thread_inherit(self, t);
    }
    self->next_in_domain = NULL;
    self->prev_in_domain = NULL;
}

void
alqi_memprof_fork_child(struct alqi_memprof_thread *thread)
{
    unlock_all();
    if (thread != NULL)
        forget_others(thread, true);
}

/* A fork inside a callback: its entry, and those of the same block, are still
 * to be ended by the frames that the child returns to. */
static void
keep_in_hand(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_entry *e = t->running;

    if (e != NULL && t->running_kind != ALQI_CALLBACK_ALLOC_NEW)
        atomic_fetch_add(&e->profile->refs, ALQI_PROFILE_ONE_ENTRY);
    for (e = t->making; e != NULL; e = e->chain)
        atomic_fetch_add(&e->profile->refs, ALQI_PROFILE_ONE_ENTRY);
}

void
alqi_memprof_fork_child_unprepared(struct alqi_memprof_thread *thread)
{
    alqi_memprof_rank_forget();
    alqi_domains_forget_locks();
    alqi_orphans_forget();
    alqi_filter_forget();
    alqi_index_forget();
    alqi_pool_forget();
    alqi_profiles_forget_entries();
    if (thread == NULL)
        return;
    forget_others(thread, false);
    thread->domain->pending = (struct alqi_memprof_pending){NULL, NULL};
    thread->pending = (struct alqi_memprof_pending){NULL, NULL};
    thread->due = (struct alqi_memprof_pending){NULL, NULL};
    keep_in_hand(thread);
}
