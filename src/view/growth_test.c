/* growth_test.c -- slopes against integrals, and who is called steady
 *
 * Sampled blocks come as a Poisson process, each stands for one byte. A test
 * with another seed fails although its claim holds with a probability below
 * 1e-11: counts of runs have bounds 7 of their standard deviations away. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "view/growth.h"

enum { END_US = 100000000, RUNS = 1000, STAYS = 2 };

static const double SIGMAS = 7;

static uint64_t state;

static void
seed(uint64_t number)
{
    state = number + alqi_base_test_seed();
}

static double
draw(void)
{
    state += 0x9E3779B97F4A7C15;
    return ldexp((double)(alqi_base_mix(state) >> 11) + 0.5, -53);
}

/* Mean 1. */
static double
draw_wait(void)
{
    return -log(draw());
}

/* ---- figures ------------------------------------------------------------- */

/* Times are shares of the run; what ends after it stays. */
static void
block_add(struct alqi_view_growth *g, double born, double end, double bytes,
          double bytes_var)
{
    struct alqi_view_window w = alqi_view_window(END_US);
    struct alqi_view_weight weight = {.bytes = bytes, .bytes_var = bytes_var};

    if (born < 0)
        born = 0;
    if (born < 1 && end > born)
        alqi_view_growth_add(g, &w, &weight, (uint64_t)(born * END_US),
                             end > 1 ? UINT64_MAX : (uint64_t)(end * END_US));
}

static void
near(double got, double wanted, double within)
{
    if (!(fabs(got - wanted) <= within)) {
        print_message("%.12g is not %.12g\n", got, wanted);
        fail();
    }
}

/* The slope of least squares through the curve at many moments. */
static void
the_slope_is_that_of_least_squares(void **state_)
{
    enum { MOMENTS = 30000, BLOCKS = 40 };
    struct alqi_view_window w = alqi_view_window(END_US);
    double born[BLOCKS], end[BLOCKS], sum = 0, square = 0, with = 0;
    struct alqi_view_growth g = {0};

    (void)state_;
    seed(1);
    for (int i = 0; i < BLOCKS; i++) {
        born[i] = draw();
        end[i] = born[i] + draw();
        block_add(&g, born[i], end[i], 1000, 0);
    }
    for (int k = 0; k < MOMENTS; k++) {
        double at = (k + 0.5) / MOMENTS, live = 0;
        double us = (double)w.cell_us * ALQI_VIEW_GROWTH_CELLS * (at - 0.5);
        double share = ((double)w.from_us +
                        (double)w.cell_us * ALQI_VIEW_GROWTH_CELLS * at) /
                       END_US;

        for (int i = 0; i < BLOCKS; i++)
            live += born[i] <= share && share < end[i] ? 1000 : 0;
        sum += live;
        square += us * us;
        with += us * live;
    }
    near(g.slope, with / square, 0.001 * fabs(with / square) + 1e-9);
    near(alqi_view_growth_rate(&g), g.slope * 60e6,
         1e-9 * fabs(g.slope * 60e6));
    sum *= ALQI_VIEW_GROWTH_CELLS / (double)MOMENTS;
    for (int k = 0; k < ALQI_VIEW_GROWTH_CELLS; k++)
        sum -= g.cells[k];
    near(sum, 0, 100);
}

/* The same blocks sampled again and again: the squared error is what the
 * variance says, on average, whatever their lives and chances. */
static void
the_error_is_that_of_sampling(void **state_)
{
    enum { BLOCKS = 60, TIMES = 20 * RUNS };
    struct alqi_view_growth all = {0};
    double born[BLOCKS], end[BLOCKS], bytes[BLOCKS], p[BLOCKS];
    double errors = 0, squares = 0, said = 0, spread = 0;

    (void)state_;
    seed(2);
    for (int i = 0; i < BLOCKS; i++) {
        born[i] = draw();
        end[i] = born[i] + 0.3 * draw_wait();
        bytes[i] = 100 * draw_wait();
        p[i] = -expm1(-bytes[i] / 300);
        block_add(&all, born[i], end[i], bytes[i], 0);
    }
    for (int run = 0; run < TIMES; run++) {
        struct alqi_view_growth g = {0}, half = {0};

        for (int i = 0; i < BLOCKS; i++)
            if (draw() < p[i])
                block_add(i % 2 == 0 ? &g : &half, born[i], end[i],
                          bytes[i] / p[i],
                          (1 - p[i]) * bytes[i] * bytes[i] / p[i] / p[i]);
        alqi_view_growth_join(&g, &half);
        errors += g.slope - all.slope;
        squares += (g.slope - all.slope) * (g.slope - all.slope);
        spread += pow(g.slope - all.slope, 4);
        said += g.slope_var;
    }
    near(errors / TIMES, 0, SIGMAS * sqrt(squares) / TIMES);
    near(squares / said, 1, SIGMAS * sqrt(spread) / squares + 0.02);
}

/* ---- shapes -------------------------------------------------------------- */

struct shape {
    const char *name;
    void (*make)(const struct shape *s, struct alqi_view_growth *g);
    /* sampled blocks, and times as shares of the run; what they mean is the
     * maker's */
    double n, time, churn, life;
};

static void
block_seen(struct alqi_view_growth *g, double born, double end)
{
    block_add(g, born, end, 1, 1);
}

/* As many blocks are live on average, each for so long. */
static void
churn_make(struct alqi_view_growth *g, double n, double life)
{
    if (n > 0)
        for (double t = -6 * life; t < 1; t += draw_wait() * life / n)
            block_seen(g, t, t + life * draw_wait());
}

/* Blocks that stay come up to that time. */
static void
ramp_make(const struct shape *s, struct alqi_view_growth *g)
{
    for (double t = 0; t < s->time; t += draw_wait() * s->time / s->n)
        block_seen(g, t, STAYS);
    churn_make(g, s->churn, s->life);
}

/* All blocks of a tooth go together; n are there at its end. */
static void
saw_make(const struct shape *s, struct alqi_view_growth *g)
{
    double phase = draw() * s->time;

    for (double t = 0; t < 1; t += draw_wait() * s->time / s->n)
        block_seen(g, t, (floor((t + phase) / s->time) + 1) * s->time - phase);
}

static void
churn_only_make(const struct shape *s, struct alqi_view_growth *g)
{
    churn_make(g, s->churn, s->life);
}

static void
one_big_make(const struct shape *s, struct alqi_view_growth *g)
{
    block_add(g, s->time, STAYS, 1000, 1000);
    churn_make(g, s->churn, s->life);
}

/* Of RUNS, how many are called steady. */
static unsigned
steady_runs(const struct shape *s)
{
    unsigned n = 0;

    for (int run = 0; run < RUNS; run++) {
        struct alqi_view_growth g = {0};

        s->make(s, &g);
        n += alqi_view_growth_is_steady(&g);
    }
    return n;
}

static void
steady_leaks_are_found(void **state_)
{
    static const struct shape shapes[] = {
        {"40 samples", ramp_make, 40, 1, 0, 0},
        {"80 samples", ramp_make, 80, 1, 0, 0},
        {"1000 samples beside churn", ramp_make, 1000, 1, 100, 0.05},
    };

    (void)state_;
    seed(3);
    for (size_t i = 0; i < ALQI_COUNT_OF(shapes); i++) {
        unsigned n = steady_runs(&shapes[i]);

        if (n < RUNS * 0.88)
            fail_msg("%s: %u of %d", shapes[i].name, n, RUNS);
    }
}

/* 1 in 100 at most (.def.steady). */
static void
what_does_not_grow_steadily_is_not_called_so(void **state_)
{
    static const struct shape shapes[] = {
        {"start-up", ramp_make, 100, 0.1, 0, 0},
        {"start-up and churn", ramp_make, 100, 0.1, 30, 0.02},
        {"a long start-up and churn", ramp_make, 100, 0.5, 300, 0.1},
        {"a ramp, then old blocks", ramp_make, 300, 0.6, 100, 1},
        {"a ramp, then churn", ramp_make, 100, 0.62, 30, 0.2},
        {"churn at once", churn_only_make, 0, 0, 100, 0.01},
        {"churn that is slow", churn_only_make, 0, 0, 100, 0.3},
        {"churn of few", churn_only_make, 0, 0, 6, 0.1},
        {"teeth of a saw", saw_make, 50, 0.07, 0, 0},
        {"long teeth", saw_make, 200, 0.4, 0, 0},
        {"one big block at the end", one_big_make, 0, 0.95, 30, 0.1},
    };
    const double most = RUNS * 0.01;

    (void)state_;
    seed(4);
    for (size_t i = 0; i < ALQI_COUNT_OF(shapes); i++) {
        unsigned n = steady_runs(&shapes[i]);

        if (n > most + SIGMAS * sqrt(most) + SIGMAS)
            fail_msg("%s: %u of %d", shapes[i].name, n, RUNS);
    }
}

/* ---- exact recordings ---------------------------------------------------- */

/* n blocks of 16 bytes between two times, evenly. */
static void
exact_add(struct alqi_view_growth *g, int n, double from, double to, double end)
{
    for (int i = 0; i < n; i++)
        block_add(g, from + (to - from) * i / n, end, 16, 0);
}

static void
exact_recordings_have_no_error(void **state_)
{
    struct alqi_view_growth leak = {0}, start = {0}, level = {0}, half = {0},
                            big = {0}, slower = {0}, none = {0};

    (void)state_;
    exact_add(&leak, 1000, 0, 1, STAYS);
    assert_true(alqi_view_growth_is_steady(&leak));
    assert_true(alqi_view_growth_stderr(&leak) == 0);
    near(alqi_view_growth_rate(&leak), 16000 * 0.6, 10);
    exact_add(&start, 1000, 0, 0.2, STAYS);
    assert_true(!alqi_view_growth_is_steady(&start));
    near(start.slope, 0, 1e-12);
    for (int i = 0; i < 7; i++)
        block_add(&level, 0.001, STAYS, 0.1 * i, 0);
    assert_true(!alqi_view_growth_is_steady(&level));
    exact_add(&half, 1000, 0, 0.7, STAYS);
    assert_true(!alqi_view_growth_is_steady(&half));
    exact_add(&slower, 1000, 0, 0.55, STAYS);
    exact_add(&slower, 60, 0.55, 1, STAYS);
    assert_true(!alqi_view_growth_is_steady(&slower));
    exact_add(&big, 100, 0, 0.2, STAYS);
    block_add(&big, 0.97, STAYS, 1e9, 0);
    assert_true(!alqi_view_growth_is_steady(&big));
    assert_true(!alqi_view_growth_is_steady(&none));
}

/* Teeth of the length of a part, or near it, are in the parts with a phase that
 * moves slowly: the parts' means rise, but by less than a tooth. */
static void
exact_teeth_are_no_growth(void **state_)
{
    unsigned n = 0;

    (void)state_;
    for (int i = 0; i < 400; i++) {
        double tooth = 0.015 + 0.001 * i;
        struct alqi_view_growth g = {0};

        for (double t = 0; t < 1; t += tooth)
            exact_add(&g, 100, t, t + tooth, t + tooth);
        n += alqi_view_growth_is_steady(&g);
    }
    assert_int_equal(n, 0);
}

/* The window is the last three quarters, and its cells are whole. */
static void
windows_end_with_the_trace(void **state_)
{
    (void)state_;
    for (uint64_t end_us = 0; end_us < 1000; end_us++) {
        struct alqi_view_window w = alqi_view_window(end_us);

        assert_true(w.from_us + ALQI_VIEW_GROWTH_CELLS * w.cell_us == end_us);
        assert_true(w.from_us >= end_us / 4);
        assert_true(w.from_us < end_us / 4 + ALQI_VIEW_GROWTH_CELLS);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slope_is_that_of_least_squares),
        cmocka_unit_test(the_error_is_that_of_sampling),
        cmocka_unit_test(steady_leaks_are_found),
        cmocka_unit_test(what_does_not_grow_steadily_is_not_called_so),
        cmocka_unit_test(exact_recordings_have_no_error),
        cmocka_unit_test(exact_teeth_are_no_growth),
        cmocka_unit_test(windows_end_with_the_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
