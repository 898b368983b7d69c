/* minor_workers.c -- workers of a minor collection take work from each
 * other, and end
 *
 * A worker is busy, or idle (counted under the queue's lock).  When the
 * last one becomes idle and the queue is empty, `round` is raised, and all
 * leave at once.
 *
 * Keeps .inv.queue: The queue is never full for those who give. */
#include "heap/minor_workers.h"

static unsigned
round_of(struct alqi_heap_workers *workers)
{
    return atomic_load_explicit(&workers->round, memory_order_acquire);
}

static void
idle_add(struct alqi_heap_workers *workers, unsigned by)
{
    atomic_store_explicit(
        &workers->n_idle,
        atomic_load_explicit(&workers->n_idle, memory_order_relaxed) + by,
        memory_order_relaxed);
}

/* True: the caller was the last one at work. */
static bool
leave_locked(struct alqi_heap_workers *workers)
{
    idle_add(workers, 1);
    if (atomic_load_explicit(&workers->n_idle, memory_order_relaxed) <
        workers->n)
        return false;
    idle_add(workers, 0u - workers->n);
    atomic_fetch_add_explicit(&workers->round, 1, memory_order_release);
    return true;
}

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

/* The round may be over, and the next one's ranges in the queue. */
static size_t
try_again(struct alqi_heap_workers *workers, struct alqi_heap_range *out,
          size_t n_max, unsigned round)
{
    size_t n = 0;

    alqi_plat_lock(&workers->queue.lock);
    if (round_of(workers) == round)
        n = alqi_heap_queue_take_locked(&workers->queue, out, n_max);
    if (n > 0)
        idle_add(workers, 0u - 1u);
    alqi_plat_unlock(&workers->queue.lock);
    return n;
}

size_t
alqi_heap_workers_get(struct alqi_heap_workers *workers,
                      struct alqi_heap_range *out, size_t n_max)
{
    unsigned round = round_of(workers), spins = 0;
    bool ended;
    size_t n;

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
