/* plan_test.c -- the planner against an independent table and exact sums
 *
 * plan_accuracy.csv was made by another program with other arithmetic (k,
 * limit, probability, safe words, error), for an interval of 10,000 words. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/binomial.h"
#include "limit/plan.h"

enum { INTERVAL = 10000, TABLE_ROWS = 102 };

static void
table_of_safe_words(void **state)
{
    FILE *table = fopen(ALQ_ACCURACY, "r");
    unsigned long long k, limit, safe;
    double probability, error;
    char head[128];
    int rows = 0;

    (void)state;
    assert_non_null(table);
    assert_non_null(fgets(head, sizeof head, table));
    while (fscanf(table, "%llu,%llu,%lf,%llu,%lf", &k, &limit, &probability,
                  &safe, &error) == 5) {
        uint64_t n = alqi_limit_safe_words(limit, INTERVAL, probability);
        double off = ((double)limit - (double)n) / (double)n;

        assert_int_equal(alqi_limit_samples(limit, INTERVAL), k);
        assert_int_equal(n, safe);
        assert_true(n == 0 ? isinf(error) : fabs(off - error) <= 1e-5 * error);
        rows++;
    }
    fclose(table);
    assert_int_equal(rows, TABLE_ROWS);
}

/* Spec memprof-limits 3.2, columns M. */
static void
table_of_stop_words(void **state)
{
    static const struct {
        uint64_t k, at_1e_9, at_4e_15;
    } rows[] = {
        {1, 207223, 331509},        {2, 239386, 367826},
        {5, 314714, 453175},        {6, 336732, 478068},
        {10, 417380, 568867},       {15, 508466, 670686},
        {20, 593393, 764987},       {25, 674322, 854356},
        {30, 752381, 940160},       {40, 902376, 1104111},
        {50, 1046561, 1260759},     {75, 1390917, 1632011},
        {100, 1720674, 1984703},    {150, 2354734, 2657575},
        {200, 2967919, 3303694},    {300, 4157995, 4549288},
        {500, 6459716, 6939447},    {1000, 12014628, 12657478},
        {5000, 54358124, 55691608}, {10000, 106114558, 107966103},
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        uint64_t limit = rows[i].k * INTERVAL;

        assert_int_equal(alqi_limit_stop_words(limit, INTERVAL, 1e-9),
                         rows[i].at_1e_9);
        assert_int_equal(alqi_limit_stop_words(limit, INTERVAL, 4e-15),
                         rows[i].at_4e_15);
    }
}

/* What seed 003 says of the samples that a set token waits for. */
static void
statements_of_the_seed(void **state)
{
    (void)state;
    assert_true(1 - alqi_limit_miss(80 * 1024 / 8, INTERVAL) > 0.64);
    assert_true(alqi_limit_miss(212336, INTERVAL) < 1e-9);   /* 1.62 MiB */
    assert_true(alqi_limit_miss(327680, INTERVAL) < 1e-14);  /* 2.5 MiB  */
    assert_true(alqi_limit_miss(1153433, INTERVAL) < 1e-50); /* 8.8 MiB  */
    assert_true(alqi_limit_miss(207222, INTERVAL) >= 1e-9);
    assert_true(alqi_limit_miss(207223, INTERVAL) < 1e-9);
    assert_int_equal(alqi_limit_stop_words(0, INTERVAL, 1e-50), 1151235);

    /* Accurate from 20 kw and about 200 kw on; too inaccurate at 60 kw. */
    assert_int_equal(alqi_limit_for(20000, INTERVAL, 4e-15), 220000);
    assert_int_equal(alqi_limit_for(20000, INTERVAL, 1e-9), 160000);
    assert_int_equal(alqi_limit_for(20000, INTERVAL, 1e-50), 500000);
    assert_int_equal(alqi_limit_safe_words(60000, INTERVAL, 4e-15), 121);

    /* A finer interval only improves on it. */
    assert_int_equal(alqi_limit_safe_words(60000, 1000, 4e-15), 17896);
    assert_int_equal(alqi_limit_safe_words(60000, 100, 4e-15), 42987);
    assert_int_equal(alqi_limit_safe_words(60000, 10, 4e-15), 54477);
}

/* P[X >= k] for few samples, from below: 1 - the sum of k terms would lose all
 * digits, so the tail is added up in long double by itself. */
static long double
exactly_reached(uint64_t n, unsigned k, uint64_t interval)
{
    long double p = 1.0L / interval;
    long double term = expl((long double)(n - k) * log1pl(-p));
    long double sum = 0;

    for (unsigned i = 0; i < k; i++)
        term *= (long double)(n - i) / (i + 1) * p;
    for (uint64_t j = k; j <= n && term > 1e-22L * sum; j++) {
        sum += term;
        term *= (long double)(n - j) / (j + 1) * p / (1 - p);
    }
    return sum;
}

static void
edges_are_exact(void **state)
{
    static const unsigned ks[] = {1, 2, 3, 5, 8, 13, 25, 60};
    static const uint64_t intervals[] = {2, 3, 10, 999, 10000, 1000000};
    static const double ts[] = {0.4, 1e-3, 1e-9, 4e-15, 1e-50};

    (void)state;
    for (size_t a = 0; a < ALQI_COUNT_OF(ks); a++)
        for (size_t b = 0; b < ALQI_COUNT_OF(intervals); b++)
            for (size_t c = 0; c < ALQI_COUNT_OF(ts); c++) {
                uint64_t n = alqi_limit_safe_words(ks[a] * intervals[b],
                                                   intervals[b], ts[c]);
                long double t = (long double)ts[c];

                assert_true(n >= ks[a] - 1);
                assert_true(n < ks[a] ||
                            exactly_reached(n, ks[a], intervals[b]) < t);
                assert_true(exactly_reached(n + 1, ks[a], intervals[b]) >= t);
            }
}

/* Both sides of the width from which tails are integrated, against a sum. */
static void
wide_laws_agree_with_sums(void **state)
{
    static const uint64_t ks[] = {300000000, 399000000, 401000000, 900000000};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(ks); i++)
        for (int z = -8; z <= 8; z += 4) {
            uint64_t k = ks[i];
            uint64_t n = (k + (uint64_t)(int64_t)(z * sqrt((double)k))) * 1000;
            double reached = alqi_limit_log_reached(n, k, 1000);
            double missed = alqi_limit_log_missed(n, k, 1000);
            /* Ratios of the lesser tail to its edge, one by one. */
            long double sum = 0, term = 1, step = 1.0L / 999;
            double less = reached < missed ? reached : missed;
            long double edge;

            assert_true(fabs(exp(reached) + exp(missed) - 1) < 1e-12);
            if (reached < missed)
                for (uint64_t j = k; term > 1e-20L * sum; j++) {
                    sum += term;
                    term *= (long double)(n - j) / (j + 1) * step;
                }
            else
                for (uint64_t j = k - 1; term > 1e-20L * sum; j--) {
                    sum += term;
                    term *= j / ((long double)(n - j + 1) * step);
                }
            k -= reached < missed ? 0 : 1;
            edge = lgammal(n + 1.0L) - lgammal(k + 1.0L) -
                   lgammal(n - k + 1.0L) + (long double)k * logl(1e-3L) +
                   (long double)(n - k) * log1pl(-1e-3L);
            /* lgammal of 1e12 is good to some 1e-6. */
            assert_true(fabs((double)(edge + logl(sum)) - less) < 1e-5);
        }
}

static void
extremes(void **state)
{
    uint64_t most = alqi_limit_safe_words(UINT64_MAX, INTERVAL, 4e-15);

    (void)state;
    assert_int_equal(alqi_limit_safe_words(3000, 1, 1e-9), 2999);
    assert_int_equal(alqi_limit_stop_words(3000, 1, 1e-9), 3000);
    assert_int_equal(alqi_limit_for(2999, 1, 1e-9), 3000);
    assert_int_equal(alqi_limit_for(0, INTERVAL, 1e-50), INTERVAL);
    assert_true(most > UINT64_MAX - UINT64_MAX / 1000000 && most < UINT64_MAX);
    assert_int_equal(alqi_limit_stop_words(UINT64_MAX, INTERVAL, 4e-15),
                     UINT64_MAX);
    assert_int_equal(alqi_limit_for(UINT64_MAX, UINT64_MAX, 1e-9), 0);

    /* All limits of one k are one limit (spec scenario 5). */
    assert_int_equal(alqi_limit_safe_words(120001, INTERVAL, 4e-15), 4577);
    assert_int_equal(alqi_limit_safe_words(125000, INTERVAL, 4e-15), 4577);
    assert_int_equal(alqi_limit_stop_words(125000, INTERVAL, 4e-15), 631079);
}

static void
wrong_arguments_promise_nothing(void **state)
{
    static const double wrong[] = {0, -1, 1, 2, (double)NAN, (double)INFINITY};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(wrong); i++) {
        assert_int_equal(alqi_limit_safe_words(200000, INTERVAL, wrong[i]), 0);
        assert_int_equal(alqi_limit_stop_words(200000, INTERVAL, wrong[i]),
                         UINT64_MAX);
        assert_int_equal(alqi_limit_for(20000, INTERVAL, wrong[i]), 0);
    }
    assert_int_equal(alqi_limit_safe_words(200000, 0, 1e-9), 0);
    assert_int_equal(alqi_limit_stop_words(200000, 0, 1e-9), UINT64_MAX);
    assert_int_equal(alqi_limit_for(20000, 0, 1e-9), 0);
    assert_true(alqi_limit_miss(5, 0) == 1 && alqi_limit_miss(0, 7) == 1);
    assert_true(alqi_limit_miss(5, 1) == 0);
    assert_true(alqi_limit_reached(5, 5, 0) == 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_of_safe_words),
        cmocka_unit_test(table_of_stop_words),
        cmocka_unit_test(statements_of_the_seed),
        cmocka_unit_test(edges_are_exact),
        cmocka_unit_test(wide_laws_agree_with_sums),
        cmocka_unit_test(extremes),
        cmocka_unit_test(wrong_arguments_promise_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
