/* samples.c -- tasks under limits on malloc, by samples; what is alive; sites
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "limits.h"

/* ---- by samples ---------------------------------------------------------- */

struct eaten {
    size_t n_bytes;
    uint64_t words, wanted;
};

static enum alq_status
eats_words(struct alq_domain *d, void *arg)
{
    struct eaten *e = arg;
    uint64_t each = alq_malloc_words(e->n_bytes);

    (void)d;
    for (e->words = 0; e->words < e->wanted; e->words += each) {
        void *p = malloc(e->n_bytes);

        if (p == NULL)
            return ALQ_ENOMEM;
        free(p);
    }
    return ALQ_OK;
}

/* ln P[Bin(n, p) = k] */
static double
log_mass(uint64_t n, uint64_t k, double p)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) -
           lgamma((double)(n - k) + 1) + (double)k * log(p) +
           (double)(n - k) * log1p(-p);
}

/* P[Bin(n, p) <= k] and P[... >= k]: the less of the two. */
static double
tail(uint64_t n, uint64_t k, double p)
{
    double below = 0, above = 0;

    for (uint64_t i = 0; i <= n; i++) {
        double mass = exp(log_mass(n, i, p));

        below += i <= k ? mass : 0;
        above += i >= k ? mass : 0;
    }
    return below < above ? below : above;
}

/* How many of so many tasks are stopped is binomial, by the planner's exact
 * probability of one.  False alarm: 1e-12 each, of six. */
static void
stopped_as_planned(uint64_t limit_words, uint64_t wanted, size_t n_bytes)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct eaten e = {.n_bytes = n_bytes};
    uint64_t each = alq_malloc_words(n_bytes), n = 0;
    double p;

    e.wanted = wanted / each * each;
    l.sampled_words = limit_words;
    for (unsigned i = 0; i < n_tasks; i++)
        n += alq_limit_run(NULL, &l, eats_words, &e, NULL) == ALQ_ELIMIT;
    p = alq_limit_reached(e.wanted, limit_words, ALQ_LIMIT_INTERVAL_WORDS);
    CHECK(p > 0.05 && p < 0.95);
    CHECK(tail(n_tasks, n, p) > 1e-12);
}

/* Never before what is safe, always by what stops: 4e-15 a task each. */
static void
safe_and_stopped(uint64_t limit_words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct eaten e = {.n_bytes = 8};
    struct alq_outcome out;

    l.sampled_words = limit_words;
    for (unsigned i = 0; i < n_tasks / 10; i++) {
        e.wanted =
            alq_limit_safe_words(limit_words, ALQ_LIMIT_INTERVAL_WORDS, 4e-15) /
            2 * 2;
        CHECK(alq_limit_run(NULL, &l, eats_words, &e, &out) == ALQ_OK);
        CHECK(out.sampled_words % ALQ_LIMIT_INTERVAL_WORDS == 0);
        e.n_bytes = 800;
        e.wanted =
            alq_limit_stop_words(limit_words, ALQ_LIMIT_INTERVAL_WORDS, 4e-15);
        CHECK(alq_limit_run(NULL, &l, eats_words, &e, &out) == ALQ_ELIMIT);
        CHECK(out.cause == ALQ_LIMIT_SAMPLED);
        CHECK(out.sampled_words >= limit_words);
        e.n_bytes = 8;
    }
}

static enum alq_status
one_huge(struct alq_domain *d, void *arg)
{
    void *p = malloc((size_t)1 << 40);

    (void)d;
    *(int *)arg = p == NULL;
    free(p);
    return ALQ_OK;
}

static void
by_samples(void)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    int was_refused = 0;

    stopped_as_planned(10000, 7000, 8);
    stopped_as_planned(10000, 15000, 792);
    stopped_as_planned(50000, 45000, 80);
    stopped_as_planned(50000, 60000, 32000);
    stopped_as_planned(200000, 200000, 248);
    stopped_as_planned(20000, 20001, 160000);
    safe_and_stopped(200000);
    l.sampled_words = 1000000; /* of 2^37 */
    CHECK(alq_limit_run(NULL, &l, one_huge, &was_refused, NULL) == ALQ_ELIMIT);
    CHECK(was_refused);
    part("by samples");
}

/* ---- what is alive ------------------------------------------------------- */

enum { LIVE_BLOCKS = 1 << 15, LIVE_BYTES = 2000 };

static void *live_block[LIVE_BLOCKS];

static enum alq_status
grows(struct alq_domain *d, void *arg)
{
    unsigned *n = arg;

    (void)d;
    for (*n = 0; *n < LIVE_BLOCKS; (*n)++) {
        live_block[*n] = malloc(LIVE_BYTES);
        if (live_block[*n] == NULL)
            return ALQ_ENOMEM;
    }
    return ALQ_OK;
}

static void
shrinks(unsigned n)
{
    while (n > 0)
        free(live_block[--n]);
}

/* 65.5 MB in blocks of 2000 bytes, each seen with p = 0.0248: 808 of them are,
 * and one standard error is 2.28 MB; 32 MB are 397 that are seen, after 1.6 MB
 * more or less.  7.5 and 8.5 errors: false alarm 1e-12 each, skewness and all.
 */
static void
alive(void)
{
    const double bytes = (double)LIVE_BLOCKS * LIVE_BYTES;
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;
    uint64_t before, now;
    unsigned n;

    CHECK(alq_malloc_live_bytes(&before) == ALQ_OK);
    CHECK(grows(NULL, &n) == ALQ_OK && n == LIVE_BLOCKS);
    CHECK(alq_malloc_live_bytes(&now) == ALQ_OK);
    CHECK(fabs((double)(now - before) - bytes) < 7.5 * 2.28e6);
    shrinks(n);
    CHECK(alq_malloc_live_bytes(&now) == ALQ_OK);
    CHECK(now == before);
    l.heap_bytes = before + 32000000;
    CHECK(alq_limit_run(NULL, &l, grows, &n, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_HEAP && out.heap_bytes > l.heap_bytes);
    CHECK(fabs((double)n * LIVE_BYTES - 32e6) < 8.5 * 1.6e6);
    shrinks(n);
    part("alive");
}

/* ---- words of the task that live ----------------------------------------- */

struct ring {
    uint64_t blocks, total; /* alive at once, allocated */
    uint64_t n;
};

enum { RING_BYTES = 184, RING_MAX = 1 << 16 };

static void *ring_block[RING_MAX];

static enum alq_status
rings(struct alq_domain *d, void *arg)
{
    struct ring *r = arg;

    (void)d;
    for (r->n = 0; r->n < r->total; r->n++) {
        void **at = &ring_block[r->n % r->blocks];

        free(*at);
        *at = malloc(RING_BYTES);
        if (*at == NULL)
            return ALQ_ENOMEM;
    }
    return ALQ_OK;
}

static enum alq_status
rings_within(struct alq_domain *d, void *arg)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    l.live_words = 10000000;
    CHECK(alq_limit_run(d, &l, rings, arg, &out) != ALQ_ELIMIT ||
          out.cause == ALQ_LIMIT_NOT);
    return ALQ_OK;
}

static void
rings_end(void)
{
    for (unsigned i = 0; i < RING_MAX; i++) {
        free(ring_block[i]);
        ring_block[i] = NULL;
    }
}

/* Where it stops is the planner's law.  A ring of what is safe turns ten times:
 * at none of its 60,000 blocks may the estimate be over, false alarm 1e-17
 * each; one that leaks is stopped, 1e-12. */
static void
live_words(void)
{
    const uint64_t limit = 200000, each = alq_malloc_words(RING_BYTES);
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;
    struct ring r;
    uint64_t interval = alq_limit_live_interval(limit);
    uint64_t safe = alq_limit_safe_words(limit, interval, 1e-17);
    uint64_t stop = alq_limit_stop_words(limit, interval, 1e-12);

    CHECK(safe > limit / 2 && stop < 2 * limit);
    CHECK(10 * safe / each < 100000);
    l.live_words = limit;
    r = (struct ring){safe / each, 10 * safe / each, 0};
    CHECK(alq_limit_run(NULL, &l, rings, &r, &out) == ALQ_OK);
    CHECK(r.n == r.total && out.live_words < limit);
    rings_end();
    r = (struct ring){RING_MAX, stop / each + 1, 0};
    CHECK(alq_limit_run(NULL, &l, rings, &r, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_LIVE && r.n * each >= safe);
    CHECK(alq_limit_run(NULL, &l, rings_within, &r, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_LIVE);
    rings_end(); /* what it was charged with outlives it */
    part("live words");
}

/* ---- who pays -------------------------------------------------------------
 */

static void *heavy_block;

/* One block, and nothing after it. */
static enum alq_status
heavy(struct alq_domain *d, void *arg)
{
    (void)d;
    heavy_block = malloc(*(size_t *)arg);
    return heavy_block != NULL ? ALQ_OK : ALQ_ELIMIT;
}

static enum alq_status
light(struct alq_domain *d, void *arg)
{
    void *volatile p = malloc(100);

    (void)d;
    (void)arg;
    free(p);
    return p != NULL ? ALQ_OK : ALQ_ELIMIT;
}

/* One of ten takes 10 times its limit, none of the others pays.  That a heavy
 * one has too few samples: e^-200. */
static void
serve(const struct alq_limits *l, enum alq_limit_cause cause)
{
    size_t bytes = 16000000;
    struct alq_outcome out;

    for (int i = 0; i < 200; i++) {
        int is_heavy = i % 10 == 3;

        heavy_block = NULL;
        CHECK(alq_limit_run(NULL, l, is_heavy ? heavy : light, &bytes, &out) ==
              (is_heavy ? ALQ_ELIMIT : ALQ_OK));
        CHECK(out.cause == (is_heavy ? cause : ALQ_LIMIT_NOT));
        free(heavy_block);
    }
}

static void
pays(void)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.live_words = 200000;
    serve(&l, ALQ_LIMIT_LIVE);
    l = (struct alq_limits)ALQ_LIMITS_NONE;
    l.sampled_words = 200000;
    serve(&l, ALQ_LIMIT_SAMPLED);
    l = (struct alq_limits)ALQ_LIMITS_NONE;
    CHECK(alq_malloc_live_bytes(&l.heap_bytes) == ALQ_OK);
    l.heap_bytes += 8000000;
    serve(&l, ALQ_LIMIT_HEAP);
    part("pays");
}

/* ---- sites --------------------------------------------------------------- */

static __attribute__((noinline)) void
much(uint64_t n)
{
    for (; n > 0; n--)
        free(malloc(792));
}

static __attribute__((noinline)) void
little(uint64_t n)
{
    for (; n > 0; n--)
        free(malloc(72));
}

static enum alq_status
two_sites(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    much(100);
    little(100);
    return ALQ_OK;
}

static int
is_within(uintptr_t pc, void (*fn)(uint64_t n))
{
    return pc - (uintptr_t)fn < 200;
}

static void
sites(void)
{
    struct alq_profile *p = profile_start(1);
    struct alq_outcome out;

    CHECK(alq_limit_run(NULL, NULL, two_sites, NULL, &out) == ALQ_OK);
    profile_end(p);
    CHECK(out.words == 100 * 100 + 100 * 10);
    CHECK(out.site_words == out.words && out.n_sites == 2);
    CHECK(out.sites[0].words == 10000 && out.sites[1].words == 1000);
    CHECK(out.sites[0].n_frames > 2);
    CHECK(is_within(out.sites[0].frames[0], much));
    CHECK(is_within(out.sites[1].frames[0], little));
    part("sites");
}

/* ---- a seed -------------------------------------------------------------- */

static void
seeded(void)
{
    struct eaten e = {.n_bytes = 64, .wanted = 10000000};
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t first = 0;

    l.sampled_words = 100000;
    for (unsigned i = 0; i < 10; i++) {
        l.seed = i < 9 ? 77 : 78;
        CHECK(alq_limit_run(NULL, &l, eats_words, &e, NULL) == ALQ_ELIMIT);
        first = i == 0 ? e.words : first;
        CHECK((e.words == first) == (i < 9));
    }
    part("seeded");
}

void
samples_parts(void)
{
    by_samples();
    alive();
    live_words();
    pays();
    sites();
    seeded();
}
