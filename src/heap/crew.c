#include "heap/crew.h"

static unsigned
round_of(struct alqi_heap_crew *crew)
{
    return atomic_load_explicit(&crew->round, memory_order_acquire);
}

static void
idle_add(struct alqi_heap_crew *crew, unsigned by)
{
    atomic_store_explicit(
        &crew->n_idle,
        atomic_load_explicit(&crew->n_idle, memory_order_relaxed) + by,
        memory_order_relaxed);
}

/* True: the caller was the last one at work. */
static bool
leave_locked(struct alqi_heap_crew *crew)
{
    idle_add(crew, 1);
    if (atomic_load_explicit(&crew->n_idle, memory_order_relaxed) < crew->n)
        return false;
    idle_add(crew, 0u - crew->n);
    atomic_fetch_add_explicit(&crew->round, 1, memory_order_release);
    return true;
}

static size_t
first_try(struct alqi_heap_crew *crew, struct alqi_heap_span *out, size_t n_max,
          bool *ended)
{
    size_t n;

    alqi_plat_lock(&crew->bag.lock);
    n = alqi_heap_bag_take_locked(&crew->bag, out, n_max);
    *ended = n == 0 && leave_locked(crew);
    alqi_plat_unlock(&crew->bag.lock);
    return n;
}

/* The round may be over, and the next one's spans in the bag. */
static size_t
try_again(struct alqi_heap_crew *crew, struct alqi_heap_span *out, size_t n_max,
          unsigned round)
{
    size_t n = 0;

    alqi_plat_lock(&crew->bag.lock);
    if (round_of(crew) == round)
        n = alqi_heap_bag_take_locked(&crew->bag, out, n_max);
    if (n > 0)
        idle_add(crew, 0u - 1u);
    alqi_plat_unlock(&crew->bag.lock);
    return n;
}

size_t
alqi_heap_crew_get(struct alqi_heap_crew *crew, struct alqi_heap_span *out,
                   size_t n_max)
{
    unsigned round = round_of(crew), spins = 0;
    bool ended;
    size_t n;

    if (crew->n == 1)
        return alqi_heap_bag_take(&crew->bag, out, n_max);
    n = first_try(crew, out, n_max, &ended);
    if (n > 0 || ended)
        return n;
    while (round_of(crew) == round) {
        if (alqi_heap_bag_n(&crew->bag) == 0) {
            alqi_plat_spin(&spins);
            continue;
        }
        n = try_again(crew, out, n_max, round);
        if (n > 0)
            return n;
    }
    return 0;
}
