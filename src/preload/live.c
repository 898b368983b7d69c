/* live.c -- estimates of the bytes allocated and alive, and limits on them
 *
 * A client of the engine without stacks.  A block that it samples stands for
 * size / p bytes, p being the probability that one of its words is sampled: the
 * estimator of the report.
 *
 *   a limit: unset --live_limit--> armed --the sum passes it--> due --taken-->
 *            reached, once and for all (limit.c)
 *
 * .inv.estimate  The estimate is the user data of the block's entry: a free
 *                subtracts the number that the allocation added, whatever the
 *                rate is now.
 * .pair.counted  alqi_preload_live_start() -> the same, of the next thread: the
 *                profile that it drops. */
#include <string.h>

#include "preload/live.h"

static struct {
    _Atomic(uint64_t) live_bytes;          /* .pair.alone */
    _Atomic(uint64_t) alloc_bytes;         /* .pair.alone */
    uint64_t limit_bytes[ALQI_RAW_LIMITS]; /* 0: none */
    _Atomic(uint32_t) passed;              /* bits by kind; .pair.alone */
    _Atomic(uint64_t) rate_bits;           /* of the profile; 0: none yet;
                                              .pair.alone */
    struct alq_profile *_Atomic profile;   /* .pair.counted */
} live;

_Atomic(uint32_t) alqi_preload_live_due; /* .pair.alone */

/* ---- limits -------------------------------------------------------------- */

static bool
is_passed(enum alqi_raw_limit_kind kind, uint64_t now_bytes)
{
    return live.limit_bytes[kind] != 0 && now_bytes > live.limit_bytes[kind];
}

/* Once: what goes back and forth over it has been told of. */
static void
pass(enum alqi_raw_limit_kind kind)
{
    uint32_t bit = (uint32_t)1 << kind;

    if ((atomic_load_explicit(&live.passed, memory_order_relaxed) & bit) == 0 &&
        (atomic_fetch_or(&live.passed, bit) & bit) == 0)
        atomic_fetch_or(&alqi_preload_live_due, bit);
}

void
alqi_preload_live_limit(enum alqi_raw_limit_kind kind, uint64_t bytes)
{
    live.limit_bytes[kind] = bytes;
}

/* ---- callbacks ----------------------------------------------------------- */

static double
rate_from(uint64_t bits)
{
    double rate;

    memcpy(&rate, &bits, sizeof rate);
    return rate;
}

static uint64_t
bits_from(double rate)
{
    uint64_t bits;

    memcpy(&bits, &rate, sizeof bits);
    return bits;
}

/* The alloc callback: adds the block's weight to the sums, and keeps the weight
 * as user data (.inv.estimate).  `rate` has the bits of the profile's rate. */
static int
on_alloc(void *rate, const struct alq_allocation *a, uintptr_t *data)
{
    struct alqi_sample_dist dist;
    uint64_t weight, alive, ever;

    alqi_sample_dist_set(&dist, rate_from((uint64_t)(uintptr_t)rate));
    weight = alqi_sample_weight(&dist, alqi_base_malloc_words(a->size_bytes),
                                a->size_bytes);
    *data = weight;
    alive = weight + atomic_fetch_add_explicit(&live.live_bytes, weight,
                                               memory_order_relaxed);
    ever = weight + atomic_fetch_add_explicit(&live.alloc_bytes, weight,
                                              memory_order_relaxed);
    if (ALQI_UNLIKELY(is_passed(ALQI_RAW_LIMIT_LIVE, alive)))
        pass(ALQI_RAW_LIMIT_LIVE);
    if (ALQI_UNLIKELY(is_passed(ALQI_RAW_LIMIT_ALLOC, ever)))
        pass(ALQI_RAW_LIMIT_ALLOC);
    return ALQ_TRACK_KEEP;
}

static void
on_release(void *rate, uintptr_t data)
{
    (void)rate;
    atomic_fetch_sub_explicit(&live.live_bytes, data, memory_order_relaxed);
}

static int
on_dealloc(void *rate, uintptr_t data)
{
    on_release(rate, data);
    return 0;
}

/* ---- start --------------------------------------------------------------- */

/* Two threads that start at once start twice: the second takes over. */
enum alq_status
alqi_preload_live_start(struct alqi_preload_thread *thread, double rate)
{
    const struct alq_tracker tracker = {
        .alloc_major = on_alloc,
        .dealloc_major = on_dealloc,
        .release = on_release,
        .arg = (void *)(uintptr_t)bits_from(rate),
    };
    const struct alq_memprof_config config = {.rate = rate};
    struct alq_profile *profile, *old;
    enum alq_status status;
    uint32_t was;

    if (rate_from(atomic_load(&live.rate_bits)) >= rate)
        return ALQ_OK;
    status = alqi_memprof_start(alqi_preload_domain, &thread->memprof,
                                ALQI_MEMPROF_SLOT_COUNT, &config, &tracker,
                                &profile);
    if (status != ALQ_OK)
        return status;
    atomic_store(&live.rate_bits, bits_from(rate));
    old = atomic_exchange(&live.profile, profile);
    was = alqi_preload_bypass_begin();
    if (old != NULL)
        alqi_memprof_profile_drop(old);
    alqi_preload_bypass_end(was);
    return ALQ_OK;
}

/* The child has its parent's blocks, unless it ran no handlers and has
 * forgotten them, but it allocates for itself.  A limit that the parent has
 * passed is passed here, too, while what it inherits is over it. */
void
alqi_preload_live_fork_child(bool is_prepared)
{
    if (!is_prepared)
        atomic_store(&live.live_bytes, 0);
    atomic_store(&live.alloc_bytes, 0);
    atomic_store(&alqi_preload_live_due, 0);
    if (!is_passed(ALQI_RAW_LIMIT_LIVE, live.live_bytes))
        atomic_store(&live.passed, 0);
    else
        atomic_fetch_and(&live.passed, 1 << ALQI_RAW_LIMIT_LIVE);
}

uint64_t
alqi_preload_live_alloc_bytes(void)
{
    return atomic_load_explicit(&live.alloc_bytes, memory_order_relaxed);
}

uint64_t
alqi_preload_live_bytes(void)
{
    return atomic_load_explicit(&live.live_bytes, memory_order_relaxed);
}
