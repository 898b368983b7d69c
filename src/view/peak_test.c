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
#include <string.h>
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

/* One event of both searches; `sampled`: blocks are left out by now. What died
 * is told with the colours that it was born with. */
static void
step(struct alqi_view_peak *both, uint64_t us, bool is_birth, uint64_t id,
     bool sampled)
{
    double p = sampled ? 0.25 : 1;
    unsigned colours = alqi_view_colours(11, id, p);
    double bytes = (double)(id % 100 + 1) / alqi_view_colour_chance(p);

    assert_int_equal(alqi_view_peak_moment(&both[0], us),
                     alqi_view_peak_moment(&both[1], us));
    for (int i = 0; i < 2; i++) {
        if (is_birth)
            alqi_view_peak_born(&both[i], us, colours, bytes, sampled ? 8 : 0);
        else
            alqi_view_peak_died(&both[i], us, colours, bytes);
    }
}

static void
assert_same(const struct alqi_view_peak *both)
{
    assert_true(alqi_view_peak_bytes(&both[0]) ==
                alqi_view_peak_bytes(&both[1]));
    for (int last = 0; last < 2; last++)
        assert_true(alqi_view_peak_us(&both[0], last) ==
                    alqi_view_peak_us(&both[1], last));
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        assert_true(alqi_view_peak_path(&both[0], k)->bytes ==
                    alqi_view_peak_path(&both[1], k)->bytes);
        assert_true(alqi_view_peak_path(&both[0], k)->us ==
                    alqi_view_peak_path(&both[1], k)->us);
    }
}

/* .inv.alike: one search keeps one colour while it can, the other all three;
 * blocks begin to be left out at any time, or never. */
static void
alike_colours_are_kept_once(void **unused)
{
    enum { IDS = 400, EVENTS = 2000 };
    static bool alive[IDS], is_sampled[IDS];

    (void)unused;
    state = 6;
    for (int from = 0; from <= EVENTS + 100; from += 150) {
        struct alqi_view_peak both[2] = {{0}, {.is_split = true}};
        struct alqi_view_peak parts[2] = {{0}, {.is_split = true}};
        uint64_t us = 0;

        memset(alive, 0, sizeof alive);
        for (int i = 0; i < EVENTS; i++) {
            uint64_t id = (uint64_t)(draw() * IDS);

            us += (uint64_t)(draw() * 4);
            alive[id] = !alive[id];
            if (alive[id])
                is_sampled[id] = i >= from;
            step(both, us, alive[id], id, is_sampled[id]);
            if (id % 7 == 0)
                step(parts, us, alive[id], id, is_sampled[id]);
            if (i % 500 == 250)
                for (int s = 0; s < 2; s++)
                    alqi_view_peak_restart(&both[s], us, i >= from ? 8 : 0);
            assert_same(both);
        }
        assert_int_equal(both[0].is_split, from < EVENTS);
        for (int s = 0; s < 2; s++)
            alqi_view_peak_gone(&both[s], us, &parts[s]);
        step(both, us + 9, true, 5, from < EVENTS);
        step(both, us + 20, false, 5, from < EVENTS);
        assert_same(both);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_colours_are_kept_once),
        cmocka_unit_test(a_steady_heap_has_no_bias),
        cmocka_unit_test(rounds_have_the_variance_that_is_told),
        cmocka_unit_test(without_sampling_it_is_exact),
        cmocka_unit_test(colours_are_independent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
