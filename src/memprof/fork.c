/* fork.c -- the engine in a forked child
 *
 * Prepared fork (the heap's atfork handlers ran): the parent held every lock,
 * so the child's tables are whole.  The heap ends the threads that do not exist
 * in the child; their deferred alloc callbacks are dropped, their other
 * callbacks run or go to the domain.
 *
 * Unprepared fork (a raw clone, _Fork): any lock may be held, and what a lock
 * guards may be half changed.  Every entry is forgotten and every lock reset;
 * profiles go on sampling.  A thread's own node cache needs no lock and stays.
 *
 *     prepare: all locks by rank --fork--> parent, child: unlock
 *     unprepared child: reset ranks, domains, orphans, filter, index, pool, ...
 *
 * Keeps .inv.rank; .prop.fork (doc/design/memprof.md). */
#include "memprof/domain.h"
#include "memprof/filter.h"
#include "memprof/index.h"
#include "memprof/orphan.h"
#include "memprof/pool.h"
#include "memprof/profile.h"

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

/* After a prepared fork, in parent and child: _prepare's locks in the reverse
 * order. */
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

/* The fork came within a callback: the frames that the child returns to will
 * end the running entry and those of the same block. */
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
