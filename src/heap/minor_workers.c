/* minor_workers.c -- workers of a minor collection take each other's work, and
 * end
 *
 *   busy -> idle, when the worker and the queue have nothing left
 *   idle -> busy, with ranges from the queue
 *   all idle: `round` is raised, all leave at once
 *
 * n_idle changes under the queue's lock, together with the look at the queue:
 * if the last worker becomes idle while it is empty, no range is left anywhere.
 *
 * Keeps .inv.round: n_idle and the look at the queue change together.
 * Keeps .inv.queue: A worker takes at most GET_MAX ranges, which it may give
 *   back. */
#include "base/base.h"
#include "heap/minor_workers.h"

static unsigned
round_of(struct alqi_heap_workers *workers)
{
    return atomic_load_explicit(&workers->round, memory_order_acquire);
}

static unsigned
n_idle_of(const struct alqi_heap_workers *workers)
{
    return atomic_load_explicit(&workers->n_idle, memory_order_relaxed);
}

/* Changes n_idle; the lock is the queue's.  Other workers read it without, as a
 * hint whether work is wanted, so the store is atomic. */
static void
idle_add_locked(struct alqi_heap_workers *workers, unsigned by)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_QUEUE));
    atomic_store_explicit(&workers->n_idle, n_idle_of(workers) + by,
                          memory_order_relaxed);
    ALQI_ASSERT(n_idle_of(workers) <= workers->n); /* .inv.round */
}

/* The caller becomes idle; true: it was the last one at work, so the round is
 * over, and nobody is idle in the next one. */
static bool
leave_locked(struct alqi_heap_workers *workers)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_QUEUE));
    idle_add_locked(workers, 1);
    if (n_idle_of(workers) < workers->n)
        return false;
    ALQI_ASSERT(alqi_heap_queue_n(&workers->queue) == 0); /* .inv.round */
    idle_add_locked(workers, 0u - workers->n);
    atomic_fetch_add_explicit(&workers->round, 1, memory_order_release);
    return true;
}

/* Takes ranges, or becomes idle in the same critical section.  *ended: the
 * caller has ended the round. */
static size_t
first_try(struct alqi_heap_workers *workers, struct alqi_heap_range *out,
          size_t n_max, bool *ended)
{
    size_t n;

    alqi_plat_lock(&workers->queue.lock);
    n = alqi_heap_queue_take_locked(&workers->queue, out, n_max);
    *ended = n == 0 && leave_locked(workers);
    alqi_plat_unlock(&workers->queue.lock);
    return n;
}

/* An idle worker takes ranges, and is busy again.  The round is compared under
 * the lock: if it is over, ranges in the queue are the next collection's. */
static size_t
try_again(struct alqi_heap_workers *workers, struct alqi_heap_range *out,
          size_t n_max, unsigned round)
{
    size_t n = 0;

    alqi_plat_lock(&workers->queue.lock);
    if (round_of(workers) == round)
        n = alqi_heap_queue_take_locked(&workers->queue, out, n_max);
    ALQI_ASSERT(n == 0 || n_idle_of(workers) > 0); /* .inv.round */
    if (n > 0)
        idle_add_locked(workers, 0u - 1u);
    alqi_plat_unlock(&workers->queue.lock);
    return n;
}

/* Ranges for a worker that has nothing left; 0: the round is over.
 *
 * `round` is read before the worker becomes idle: it cannot end before that.
 * An idle worker looks at the queue without the lock, and takes the lock only
 * when there is something. */
size_t
alqi_heap_workers_get(struct alqi_heap_workers *workers,
                      struct alqi_heap_range *out, size_t n_max)
{
    unsigned round = round_of(workers), spins = 0;
    bool ended;
    size_t n;

    ALQI_ASSERT(n_max <= ALQI_HEAP_WORKERS_GET_MAX); /* .inv.queue */
    if (workers->n == 1)
        return alqi_heap_queue_take(&workers->queue, out, n_max);
    n = first_try(workers, out, n_max, &ended);
    if (n > 0 || ended)
        return n;
    while (round_of(workers) == round) {
        if (alqi_heap_queue_n(&workers->queue) == 0) {
            alqi_plat_spin(&spins);
            continue;
        }
        n = try_again(workers, out, n_max, round);
        if (n > 0)
            return n;
    }
    return 0;
}
