/* stat_pause.c -- a histogram of pauses
 *
 * A bucket a nanosecond below 16, then 16 for each doubling, so a bucket is at
 * most a sixteenth of its values wide.  The last one has all that is longer.
 * The owner alone writes, word by word; others may read meanwhile.  Pure. */
#include "heap/stat_pause.h"

enum { STEP_BITS = 4 };

_Static_assert(ALQI_HEAP_PAUSE_STEPS == 1 << STEP_BITS, "a power of two");

/* ---- buckets ------------------------------------------------------------ */

/* The bucket of a duration: the power of two gives the group of 16, the next
 * four bits the bucket in it. */
unsigned
alqi_heap_pauses_bucket(uint64_t ns)
{
    unsigned power, index;

    if (ns < ALQI_HEAP_PAUSE_STEPS)
        return (unsigned)ns;
    power = 63u - (unsigned)__builtin_clzll(ns);
    index = (power - STEP_BITS + 1) * ALQI_HEAP_PAUSE_STEPS +
            (unsigned)(ns >> (power - STEP_BITS)) % ALQI_HEAP_PAUSE_STEPS;
    return index < ALQ_PAUSE_BUCKETS ? index : ALQ_PAUSE_BUCKETS - 1;
}

/* ---- counts ------------------------------------------------------------- */

static uint64_t
get(const uint64_t *number)
{
    return __atomic_load_n(number, __ATOMIC_RELAXED);
}

static void
set(uint64_t *number, uint64_t n)
{
    __atomic_store_n(number, n, __ATOMIC_RELAXED);
}

/* Counts a pause.  The owner alone writes, so no addition has to be atomic.  A
 * reader may find the bucket counted before the sum and the extremes are. */
void
alqi_heap_pauses_add(struct alq_pauses *p, uint64_t ns)
{
    uint64_t *bucket = &p->buckets[alqi_heap_pauses_bucket(ns)];

    set(bucket, *bucket + 1);
    set(&p->sum_ns, p->sum_ns + ns);
    if (p->count == 0 || ns < p->min_ns)
        set(&p->min_ns, ns);
    if (ns > p->max_ns)
        set(&p->max_ns, ns);
    set(&p->count, p->count + 1);
}

void
alqi_heap_pauses_clear(struct alq_pauses *p)
{
    unsigned i;

    set(&p->count, 0);
    set(&p->sum_ns, 0);
    set(&p->min_ns, 0);
    set(&p->max_ns, 0);
    for (i = 0; i < ALQ_PAUSE_BUCKETS; i++)
        set(&p->buckets[i], 0);
}

/* Adds what `from` has to `to`, while its owner may be adding.  The count is
 * the sum over the buckets that were read, so the two always agree. */
void
alqi_heap_pauses_merge(struct alq_pauses *to, const struct alq_pauses *from)
{
    uint64_t n = 0, least = get(&from->min_ns), most = get(&from->max_ns);
    unsigned i;

    for (i = 0; i < ALQ_PAUSE_BUCKETS; i++) {
        uint64_t in = get(&from->buckets[i]);

        to->buckets[i] += in;
        n += in;
    }
    if (n == 0)
        return;
    if (to->count == 0 || least < to->min_ns)
        to->min_ns = least;
    if (most > to->max_ns)
        to->max_ns = most;
    to->sum_ns += get(&from->sum_ns);
    to->count += n; /* of what was read: the sum over the buckets */
}
