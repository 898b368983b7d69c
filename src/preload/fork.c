/* fork.c -- the child starts over with a file of its own
 *
 *   fork()            handlers run: locks are taken before and given back
 *                     after, so tables are whole on both sides
 *   _Fork, clone(2)   no handler runs: the child finds the mark zeroed, and
 *                     forgets every table whose lock may be held by nobody
 *   vfork             memory is shared: nothing happens, what the child
 *                     allocates before exec is the parent's
 *
 * .inv.mark  The mark is 1 in every process that may use the tables as they
 *            are. */
#include <pthread.h>
#include <stdlib.h>

#include "preload/preload.h"

static _Atomic(uint32_t) fallback_mark = 1;

_Atomic(uint32_t) *alqi_preload_fork_mark = &fallback_mark;

static void
before(void)
{
    alqi_preload_threads_fork_prepare();
    alqi_memprof_fork_prepare();
}

static void
after_in_parent(void)
{
    alqi_memprof_fork_parent();
    alqi_preload_threads_fork_parent();
}

static void
child_restart(bool is_prepared)
{
    atomic_store_explicit(alqi_preload_fork_mark, 1, memory_order_relaxed);
    alqi_stack_after_fork_child();
    alqi_preload_threads_fork_child(is_prepared);
    alqi_preload_recorder_fork_child();
}

static void
after_in_child(void)
{
    alqi_memprof_fork_child();
    child_restart(true);
}

struct alqi_preload_thread *
alqi_preload_fork_child_unprepared(void)
{
    struct alqi_preload_thread *self = alqi_preload_hot.thread;

    alqi_memprof_fork_child_unprepared(self != NULL ? &self->memprof : NULL);
    child_restart(false);
    return self;
}

void
alqi_preload_fork_install(void)
{
    _Atomic(uint32_t) *mark = alqi_plat_pages_map_wiped_on_fork(4096);

    if (mark != NULL) {
        atomic_store_explicit(mark, 1, memory_order_relaxed);
        alqi_preload_fork_mark = mark;
    }
    pthread_atfork(before, after_in_parent, after_in_child);
}
