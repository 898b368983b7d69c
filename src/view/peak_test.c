/* peak_test.c -- the estimate of the most live bytes, over many simulated runs
 *
 * Blocks are sampled as a Poisson process, each stands for one unit.  Seeds are
 * fixed.  With another one a test fails although its claim holds with a
 * probability below 1e-11: means of RUNS independent runs are compared with
 * bounds of 7 of their standard errors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"
#include "view/peak.h"

enum { RUNS = 1500, BLOCKS = 3000, FAR_US = 1000000 };

static const double SIGMAS = 7;

struct event {
    uint64_t us;
    uint32_t block;
    bool is_death;
};

static struct event events[2 * BLOCKS];
static uint32_t n_events, n_blocks;
static uint64_t state;

static double
draw(void)
{
    state += 0x9E3779B97F4A7C15;
    return ldexp((double)(alqi_base_mix(state) >> 11) + 0.5, -53);
}

static void
block_add(double born, double died)
{
    assert_true(n_blocks < BLOCKS);
    events[n_events++] =
        (struct event){(uint64_t)(born * FAR_US), n_blocks, false};
    events[n_events++] =
        (struct event){(uint64_t)(died * FAR_US), n_blocks, true};
    n_blocks++;
}

static int
by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;

    if (a->us != b->us)
        return a->us < b->us ? -1 : 1;
    if (a->block != b->block)
        return a->block < b->block ? -1 : 1;
    return a->is_death - b->is_death;
}

static uint32_t
poisson(double mean)
{
    uint32_t k = 0;

    for (double sum = -log(draw()); sum < mean; sum -= log(draw()))
        k++;
    return k;
}

/* A heap that churns: `mean` samples at any time, each lives for 1 on
 * average; from 10 on it is steady. */
static void
churn(double mean)
{
    uint32_t n = poisson(mean * 30);

    for (uint32_t i = 0; i < n; i++) {
        double born = 30 * draw();

        block_add(born, born - log(draw()));
    }
}

/* Rounds of equal height. */
static void
rounds(double mean, int n_rounds)
{
    for (int r = 0; r < n_rounds; r++)
        for (uint32_t n = poisson(mean); n > 0; n--)
            block_add(r + 0.4 * draw(), r + 0.6 + 0.3 * draw());
}

struct run {
    double estimate, path; /* its highest point */
};

/* p: what each block was seen with. */
static struct run
run(double p, uint64_t seed)
{
    struct alqi_view_peak peak = {0};
    struct run out = {0};
    double now = 0, bytes = p / alqi_view_colour_chance(p);

    qsort(events, n_events, sizeof *events, by_time);
    for (uint32_t i = 0; i < n_events; i++) {
        const struct event *e = &events[i];
        unsigned colours = alqi_view_colours(seed, e->block, p);

        alqi_view_peak_moment(&peak, e->us);
        if (e->is_death)
            alqi_view_peak_died(&peak, e->us, colours, bytes);
        else
            alqi_view_peak_born(&peak, e->us, colours, bytes,
                                p < 1 ? ALQI_VIEW_COLOURS : 0);
        now += e->is_death ? -1 : 1;
        if (now > out.path)
            out.path = now;
    }
    if (n_events > 0)
        alqi_view_peak_moment(&peak, events[n_events - 1].us);
    out.estimate = alqi_view_peak_bytes(&peak);
    n_events = n_blocks = 0;
    return out;
}

struct law {
    double mean, square, path; /* of errors, in standard errors */
};

static struct law
law_of(double mean, int n_rounds)
{
    struct law l = {0};

    state = 11;
    for (uint64_t i = 0; i < RUNS; i++) {
        struct run r;
        double z;

        if (n_rounds == 0)
            churn(mean);
        else
            rounds(mean, n_rounds);
        r = run(1e-6, alqi_view_colour_seed(i, 1));
        z = (r.estimate - mean) / sqrt(mean);
        l.mean += z / RUNS;
        l.square += z * z / RUNS;
        l.path += (r.path - mean) / sqrt(mean) / RUNS;
    }
    return l;
}

/* z has variance 1, its square one of some 2. */
static void
a_steady_heap_has_no_bias(void **unused)
{
    (void)unused;
    for (double mean = 10; mean <= 40; mean *= 2) {
        struct law l = law_of(mean, 0);

        assert_true(l.path > 2); /* what the highest sample path says */
        assert_true(fabs(l.mean) < SIGMAS / sqrt(RUNS));
        assert_true(fabs(l.square - 1) < SIGMAS * 1.6 / sqrt(RUNS));
    }
}

/* Where two colours choose for each other the square is up to 1.36. */
static void
rounds_have_the_variance_that_is_told(void **unused)
{
    (void)unused;
    for (int n = 1; n <= 5; n++) {
        struct law l = law_of(30, n);

        assert_true(fabs(l.mean) < 0.05 + SIGMAS / sqrt(RUNS));
        assert_true(fabs(l.square - 1) < 0.02 + SIGMAS * 1.6 / sqrt(RUNS));
    }
}

/* Without sampling it is the highest point, and the first of them. */
static void
without_sampling_it_is_exact(void **unused)
{
    (void)unused;
    state = 5;
    for (int i = 0; i < 300; i++) {
        struct run r;

        churn(2);
        r = run(1, 0);
        assert_true(r.estimate == r.path);
    }
}

/* Each colour has its chance, alone and beside another; some colour is there.
 */
static void
colours_are_independent(void **unused)
{
    static const double chances[] = {1e-6, 0.1, 0.5, 0.9, 0.999};
    enum { IDS = 400000 };

    (void)unused;
    for (size_t i = 0; i < sizeof chances / sizeof *chances; i++) {
        double p = chances[i], c = alqi_view_colour_chance(p);
        double n[8] = {0};

        for (uint64_t id = 0; id < IDS; id++) {
            unsigned colours = alqi_view_colours(9, id, p);

            assert_true(colours > 0 && colours <= ALQI_VIEW_ALL_COLOURS);
            n[colours]++;
        }
        for (unsigned colours = 1; colours <= 7; colours++) {
            int k = __builtin_popcount(colours);
            double wanted = pow(c, k) * pow(1 - c, 3 - k) / p;
            double sd = sqrt(wanted * (1 - wanted) / IDS);

            assert_true(fabs(n[colours] / IDS - wanted) <=
                        SIGMAS * sd + 4.0 / IDS);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steady_heap_has_no_bias),
        cmocka_unit_test(rounds_have_the_variance_that_is_told),
        cmocka_unit_test(without_sampling_it_is_exact),
        cmocka_unit_test(colours_are_independent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
