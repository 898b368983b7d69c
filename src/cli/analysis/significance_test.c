/* significance_test.c -- the false alarms of `aliquot diff`, simulated
 *
 * Two recordings of the same blocks are drawn again and again, and judged as
 * diff does.  For each population, pair of rates and level, the share of
 * judgements "more than chance" is at most the level.  With some seed this test
 * fails although the claim holds with a probability of at most 1e-11: each of
 * the N_CHECKS counts is compared with a bound that a binomial count of that
 * rate passes with at most 1e-11 / N_CHECKS, by Chernoff's inequality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include <math.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/compare.h"
#include "view/significance.h"

enum {
    POPULATION_MAX = 512,
    N_RUNS = 10000,
    N_CHECKS = 200, /* at least as many as are made */
    N_SITES = 40,
    N_FAMILIES = 2000
};

static const double FALSE_ALARM = 1e-11;

/* ---- drawing ------------------------------------------------------------- */

static uint64_t seed = 20261121;

static double
draw(void)
{
    seed += 0x9E3779B97F4A7C15u;
    return (double)(alqi_base_mix(seed) >> 11) * 0x1p-53;
}

struct population {
    const char *name;
    double bytes[POPULATION_MAX];
    unsigned n;
};

static void
add(struct population *p, unsigned n, double bytes)
{
    while (n-- > 0)
        p->bytes[p->n++] = bytes;
}

static void
estimator_of(struct alqi_cli_estimator *e, double lambda, double other)
{
    struct alqi_ctf_info info = {.word_bits = 8,
                                 .rate = lambda / ALQI_WORD_BYTES};

    alqi_cli_estimator_init(e, &info);
    e->other_lambda = other;
}

static void
sample(struct alqi_cli_sum *sum, const struct population *p,
       struct alqi_cli_estimator *e)
{
    *sum = (struct alqi_cli_sum){0};
    for (unsigned i = 0; i < p->n; i++) {
        struct alqi_cli_weight w = alqi_cli_weigh(e, 0, (uint64_t)p->bytes[i]);

        if (draw() * w.objects < 1)
            alqi_cli_sum_add(sum, &w, 0, 1);
    }
}

/* The least count that a rate of at most `rate` in n tries passes with a
 * probability of at most FALSE_ALARM / N_CHECKS. */
static unsigned
bound(double rate, unsigned n)
{
    double mean = rate * n, k = mean;

    while (k * log(k / mean) - k + mean < log(N_CHECKS / FALSE_ALARM))
        k++;
    return (unsigned)k + 1;
}

static void
bounds_are_what_they_say(void **state)
{
    (void)state;
    /* Mean 20: beyond 20 + 7 sigma, because counts are skewed. */
    assert_true(bound(0.001, 20000) > 51 && bound(0.001, 20000) < 90);
    assert_true(bound(0.1, 20000) < 2400);
}

/* ---- one site ------------------------------------------------------------ */

static void
check_population(const struct population *p, double lambda_a, double lambda_b)
{
    static const double levels[] = {0.1, 0.01, 0.0027};
    unsigned counts[ALQI_COUNT_OF(levels)] = {0};
    struct alqi_cli_estimator a, b;

    estimator_of(&a, lambda_a, lambda_b);
    estimator_of(&b, lambda_b, lambda_a);
    for (unsigned run = 0; run < N_RUNS; run++) {
        struct alqi_cli_change change;
        struct alqi_cli_sum x, y;

        sample(&x, p, &a);
        sample(&y, p, &b);
        alqi_cli_change_make(&change, &x, &y, false);
        for (size_t i = 0; i < ALQI_COUNT_OF(levels); i++)
            counts[i] += change.chance <= levels[i];
    }
    for (size_t i = 0; i < ALQI_COUNT_OF(levels); i++)
        if (counts[i] >= bound(levels[i], N_RUNS))
            fail_msg("%s at %g and %g: %u of %d at level %g", p->name, lambda_a,
                     lambda_b, counts[i], N_RUNS, levels[i]);
    alqi_cli_estimator_free(&a);
    alqi_cli_estimator_free(&b);
}

/* Few and many blocks; small ones, seldom seen; ones that are nearly always
 * seen, whose one miss makes the difference. */
static void
false_alarms_stay_below_the_level(void **state)
{
    static const double rates[][2] = {
        {0x1p-13, 0x1p-13}, {0x1p-13, 0x1p-10}, {0x1p-10, 0x1p-13},
        {1, 0x1p-13},       {0x1p-6, 0x1p-6},   {0x1p-6, 0.25},
        {1, 0.25},
    };
    struct population all[6] = {
        {.name = "one of 256 KiB"},   {.name = "ten of 4 KiB"},
        {.name = "five of 128 KiB"},  {.name = "thirty of 40 KiB"},
        {.name = "400 of 200 bytes"}, {.name = "mixed"}};

    (void)state;
    add(&all[0], 1, 0x1p18);
    add(&all[1], 10, 0x1p12);
    add(&all[2], 5, 0x1p17);
    add(&all[3], 30, 40960);
    add(&all[4], 400, 200);
    add(&all[5], 1, 0x1p17);
    add(&all[5], 3, 0x1p14);
    add(&all[5], 100, 64);
    add(&all[5], 20, 3000);
    for (size_t i = 0; i < ALQI_COUNT_OF(all); i++)
        for (size_t k = 0; k < ALQI_COUNT_OF(rates); k++)
            check_population(&all[i], rates[k][0], rates[k][1]);
}

/* ---- many sites ---------------------------------------------------------- */

static void
sample_equal(struct alqi_cli_sum *sum, unsigned n, struct alqi_cli_estimator *e)
{
    struct alqi_cli_weight w = alqi_cli_weigh(e, 0, 200);

    *sum = (struct alqi_cli_sum){0};
    while (n-- > 0)
        if (draw() * w.objects < 1)
            alqi_cli_sum_add(sum, &w, 0, 1);
}

/* Families of sites that did not change, and one of n_a blocks that became
 * n_b.  Returns in how many one of the former passes for changed; *n_found is
 * in how many the latter does. */
static unsigned
families(unsigned n_families, unsigned n_a, unsigned n_b, unsigned *n_found)
{
    struct alqi_cli_estimator e;
    unsigned n_alarms = 0;

    estimator_of(&e, 0x1p-6, 0x1p-6);
    *n_found = 0;
    for (unsigned f = 0; f < n_families; f++) {
        double p[N_SITES];
        bool is_alarm = false;

        for (unsigned i = 0; i < N_SITES; i++) {
            struct alqi_cli_change change;
            struct alqi_cli_sum x, y;

            sample_equal(&x, i == 0 ? n_a : 400, &e);
            sample_equal(&y, i == 0 ? n_b : 400, &e);
            alqi_cli_change_make(&change, &x, &y, false);
            p[i] = change.chance;
        }
        assert_true(alqi_view_holm(p, N_SITES));
        for (unsigned i = 1; i < N_SITES; i++)
            is_alarm = is_alarm || p[i] <= 0.0027;
        n_alarms += is_alarm;
        *n_found += p[0] <= 0.0027;
    }
    alqi_cli_estimator_free(&e);
    return n_alarms;
}

static void
any_of_many_sites(void **state)
{
    unsigned n_found;

    (void)state;
    assert_true(families(N_FAMILIES, 400, 400, &n_found) <
                bound(0.0027, N_FAMILIES));
    assert_true(n_found < bound(0.0027, N_FAMILIES));
}

/* 10 % more blocks in one of 40 sites.  The difference is 12.0 standard
 * errors; 4.2 would do, so that one family misses it with 4e-15. */
static void
growth_is_found_and_nothing_else(void **state)
{
    unsigned n_found;

    (void)state;
    assert_true(families(20, 60000, 66000, &n_found) < bound(0.0027, 20));
    assert_int_equal(n_found, 20);
}

/* ---- the formulas -------------------------------------------------------- */

static void
sigmas_of_known_cases(void **state)
{
    (void)state;
    assert_true(alqi_view_sigmas(0, 0, 5) == 0);
    assert_true(alqi_view_sigmas(1, 0, 5) == HUGE_VAL);
    assert_true(alqi_view_sigmas(-1, 0, 5) == -HUGE_VAL);
    /* No block large against the difference: the usual quotient. */
    assert_true(fabs(alqi_view_sigmas(30, 100, 0) - 3) < 1e-12);
    assert_true(fabs(alqi_view_sigmas(-30, 100, 1e-6) + 3) < 1e-6);
    /* One block of 1, missed with q = 1e-4: V = q, exponent q h(1 / q). */
    assert_true(fabs(alqi_view_sigmas(1, 1e-4, 1) -
                     sqrt(2e-4 * ((1 + 1e4) * log(1 + 1e4) - 1e4))) < 1e-9);
    /* The series joins the formula. */
    assert_true(fabs(alqi_view_sigmas(1, 1, 0.000999) -
                     alqi_view_sigmas(1, 1, 0.001001)) < 1e-6);
    assert_true(alqi_view_chance(0) == 1);
    assert_true(fabs(alqi_view_chance(3) / (3.18 * 0.0026998) - 1) < 1e-4);
    assert_true(alqi_view_chance(-3) == alqi_view_chance(3));
    assert_true(alqi_view_chance(HUGE_VAL) == 0);
}

static void
holm_by_hand(void **state)
{
    double p[] = {0.03, 0.01, 0.5, 0.01, 0.9};
    static const double wanted[] = {0.09, 0.05, 1, 0.05, 1};
    double one = 0.2;

    (void)state;
    assert_true(alqi_view_holm(p, 5));
    for (size_t i = 0; i < ALQI_COUNT_OF(wanted); i++)
        assert_true(fabs(p[i] - wanted[i]) < 1e-12);
    assert_true(alqi_view_holm(&one, 1));
    assert_true(one == 0.2);
    assert_true(alqi_view_holm(p, 0));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigmas_of_known_cases),
        cmocka_unit_test(holm_by_hand),
        cmocka_unit_test(bounds_are_what_they_say),
        cmocka_unit_test(false_alarms_stay_below_the_level),
        cmocka_unit_test(any_of_many_sites),
        cmocka_unit_test(growth_is_found_and_nothing_else),
    };

    seed += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
