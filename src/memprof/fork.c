/* fork.c -- the engine in a forked child
 *
 * Prepared: the parent holds every lock, so the child's tables are whole, and
 * the heap ends the threads that are not there: the alloc callbacks they owed
 * are dropped, the others run or go to the domain.
 *
 * Unprepared (a raw clone, _Fork): nothing can be trusted that a lock guards;
 * everything tracked is forgotten, profiles go on.  A thread's own node cache
 * is its own, and stays. */
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

void
alqi_memprof_fork_child(void)
{
    unlock_all();
}

/* A fork inside a callback: its entry, and those of the same block, are still
 * to be ended by the frames that the child returns to. */
static void
keep_in_hand(struct alqi_memprof_thread *t)
{
    struct alqi_memprof_entry *e = t->running;

    if (e != NULL && t->running_kind != ALQI_CALLBACK_ALLOC_NEW)
        atomic_fetch_add(&e->profile->refs, ALQI_PROFILE_ONE_ENTRY);
    for (e = t->new_entries; e != NULL; e = e->chain)
        atomic_fetch_add(&e->profile->refs, ALQI_PROFILE_ONE_ENTRY);
}

void
alqi_memprof_fork_child_unprepared(struct alqi_memprof_thread *thread)
{
    alqi_base_rank_forget_sigsafe();
    alqi_domains_fork_reset(thread);
    alqi_orphans_fork_reset();
    alqi_filter_fork_reset();
    alqi_index_fork_reset();
    alqi_pool_fork_reset();
    alqi_profiles_fork_reset(thread);
    if (thread == NULL)
        return;
    thread->pending = (struct alqi_entry_fifo){NULL, NULL};
    thread->deferred = (struct alqi_entry_fifo){NULL, NULL};
    thread->due = (struct alqi_entry_fifo){NULL, NULL};
    keep_in_hand(thread);
}
