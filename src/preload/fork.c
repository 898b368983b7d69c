/* fork.c -- the child starts over with a file of its own
 *
 *   fork()            handlers run: locks are taken before and given back
 *                     after, so tables are whole on both sides
 *   _Fork, clone(2)   no handler runs: the child finds the mark zeroed, and
 *                     forgets every table whose lock may be held by nobody
 *   vfork             memory is shared: nothing happens, what the child
 *                     allocates before exec is the parent's
 *
 * .inv.window  From `before` to `after` the calling thread holds every lock.
 *              Handlers of others may run in between and allocate: the thread
 *              is parked and INSIDE, so their mallocs are not tried and their
 *              frees of tracked blocks wait in the engine's late list.
 * .inv.skipped A fork in a handler that interrupts the engine or the holder of
 *              a lock of ours takes no lock: another thread may hold what the
 *              handler would wait for, and wait for what is held here.
 * .inv.mark    The mark is 1 in every process that may use the tables as they
 *              are. */
#include <pthread.h>
#include <stdlib.h>

#include "memprof/probes.h"
#include "preload/attach.h"
#include "preload/control.h"
#include "preload/exact.h"
#include "preload/got.h"
#include "preload/live.h"
#include "preload/pool.h"
#include "preload/preload.h"

static _Atomic(uint32_t) fallback_mark = 1;

/* Set before other threads come: .pair.up. */
_Atomic(uint32_t) *alqi_preload_fork_mark = &fallback_mark;

/* Begins .inv.window (.pair.handler) for the calling thread, but for the locks;
 * `hot` keeps the countdown and the mode that the thread had. */
static void
window_open(struct alqi_preload_hot *hot)
{
    struct alqi_preload_thread *thread = hot->thread;

    hot->fork_left_words = hot->left_words;
    hot->left_words = ALQI_PARKED;
    hot->is_orphan_held = true;
    if (thread != NULL) {
        hot->fork_mode = thread->memprof.mode;
        thread->memprof.mode = ALQI_MEMPROF_INSIDE;
    }
    atomic_signal_fence(memory_order_seq_cst);
}

/* Ends .inv.window (.pair.handler) for the calling thread; the locks are given
 * back by then. */
static void
window_close(struct alqi_preload_hot *hot)
{
    struct alqi_preload_thread *thread = hot->thread;

    atomic_signal_fence(memory_order_seq_cst);
    hot->is_orphan_held = false;
    if (thread == NULL) {
        hot->left_words = hot->fork_left_words;
        return;
    }
    thread->memprof.mode = hot->fork_mode;
    alqi_preload_unpark(thread, hot->fork_left_words);
}

/* The thread is inside the engine, holds a lock of ours, or is in a window
 * already: a handler forks. */
static bool
is_interrupting(const struct alqi_preload_hot *hot)
{
    return hot->is_orphan_held || hot->is_controlling ||
           (hot->thread != NULL &&
            hot->thread->memprof.mode == ALQI_MEMPROF_INSIDE);
}

/* Takes every lock, in the order of base/rank.h, or none (.inv.skipped). */
static void
before(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (is_interrupting(hot)) {
        hot->n_forks_skipped++;
        return;
    }
    window_open(hot);
    alqi_plat_lock(&alqi_preload_server.lock);
    alqi_preload_spawn_fork_prepare();
    alqi_preload_threads_fork_prepare();
    alqi_memprof_fork_prepare();
    alqi_preload_pool_fork_prepare();
}

/* Whether the fork that ends now was skipped; a fork that it interrupted is not
 * over. */
static bool
was_skipped(struct alqi_preload_hot *hot)
{
    if (hot->n_forks_skipped == 0)
        return false;
    hot->n_forks_skipped--;
    return true;
}

/* Gives the locks back in reverse order, if `before` took them. */
static void
after_in_parent(void)
{
    if (was_skipped(&alqi_preload_hot))
        return;
    alqi_preload_pool_fork_parent();
    alqi_memprof_fork_parent();
    alqi_preload_threads_fork_parent();
    alqi_preload_spawn_fork_parent();
    alqi_plat_unlock(&alqi_preload_server.lock);
    window_close(&alqi_preload_hot);
}

/* Lets the child start over without the parent's threads, streams and
 * recording. is_prepared: the locks are held, so the tables are whole; else
 * they are forgotten. */
static void
child_restart(bool is_prepared)
{
    atomic_store_explicit(alqi_preload_fork_mark, 1, memory_order_relaxed);
    alqi_preload_pool_fork_child();
    alqi_stack_after_fork_child();
    alqi_preload_threads_fork_child(is_prepared);
    alqi_preload_spawn_fork_child();
    alqi_preload_got_fork_child();
    alqi_preload_attach_fork_child();
    alqi_preload_inside_fork_child();
    alqi_preload_recorder_fork_child(is_prepared);
    alqi_preload_exact_fork_child();
    alqi_preload_live_fork_child(is_prepared);
    atomic_store(&alqi_preload_pending, 0);
    alqi_preload_serve_fork_child();
}

/* Skipped, the mark stays zeroed, and the child starts over as after _Fork. */
static void
after_in_child(void)
{
    if (was_skipped(&alqi_preload_hot))
        return;
    alqi_memprof_fork_child();
    child_restart(true);
    alqi_probes_fork_child();
    window_close(&alqi_preload_hot);
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
    _Atomic(uint32_t) *mark = alqi_plat_pages_map_wiped_on_fork(sizeof *mark);

    if (mark != NULL) {
        atomic_store_explicit(mark, 1, memory_order_relaxed);
        alqi_preload_fork_mark = mark;
    }
    pthread_atfork(before, after_in_parent, after_in_child);
}
