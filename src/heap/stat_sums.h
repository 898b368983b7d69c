/* stat_sums.h -- counters of all domains together
 *
 * A domain's own counters are up to date.  Those of other domains, and of
 * domains that ended, are those of the last stop, which publishes them. */
#ifndef ALQI_HEAP_STAT_SUMS_H
#define ALQI_HEAP_STAT_SUMS_H

#include "heap/state.h"

_Static_assert(sizeof(struct alqi_heap_sums) % sizeof(uint64_t) == 0,
               "counters alone");

static inline void
alqi_heap_sums_add(struct alqi_heap_sums *to, const struct alqi_heap_sums *add)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)add;
    size_t i;

    for (i = 0; i < sizeof *to / sizeof *a; i++)
        a[i] += b[i];
}

/* Word by word: when the process exits, a thread without a domain reads what a
 * stop may write. */
static inline void
alqi_heap_sums_copy(struct alqi_heap_sums *to,
                    const struct alqi_heap_sums *from)
{
    uint64_t *a = (uint64_t *)to;
    const uint64_t *b = (const uint64_t *)from;
    size_t i;

    for (i = 0; i < sizeof *to / sizeof *a; i++)
        __atomic_store_n(&a[i], __atomic_load_n(&b[i], __ATOMIC_RELAXED),
                         __ATOMIC_RELAXED);
}

static inline void
alqi_heap_sums_take(struct alqi_heap_sums *from,
                    const struct alqi_heap_sums *take)
{
    uint64_t *a = (uint64_t *)from;
    const uint64_t *b = (const uint64_t *)take;
    size_t i;

    for (i = 0; i < sizeof *from / sizeof *a; i++) {
        ALQI_DEBUG(a[i] >= b[i]); /* .inv.grow */
        a[i] -= b[i];
    }
}

/* Makes the counters of all domains readable by others. */
static inline void
alqi_heap_sums_publish_stw(struct alqi_heap *heap)
{
    struct alqi_heap_sums told = heap->totals.ended;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    for (i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *d = heap->domains[i];

        if (!alqi_heap_is_there(d))
            continue;
        d->at_stop = d->sums;
        alqi_heap_sums_add(&told, &d->at_stop);
    }
    alqi_heap_sums_copy(&heap->totals.at_stop, &told);
}

/* By the thread that runs d. */
static inline struct alqi_heap_sums
alqi_heap_sums_all(const struct alqi_domain *d)
{
    struct alqi_heap_sums all = d->heap->totals.at_stop, own = d->sums;

    alqi_heap_sums_take(&all, &d->at_stop);
    alqi_heap_sums_add(&all, &own);
    return all;
}

#endif
