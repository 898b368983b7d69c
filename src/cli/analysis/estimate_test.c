/* estimate_test.c -- weights and errors of sampled blocks, against their law */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/estimate.h"

static void
estimator_make(struct alqi_cli_estimator *e, uint8_t word_bits, double rate)
{
    struct alqi_ctf_info info;

    memset(&info, 0, sizeof info);
    info.word_bits = word_bits;
    info.rate = rate;
    alqi_cli_estimator_init(e, &info);
}

static void
rate_one_is_exact(void **state)
{
    static const uint64_t lengths[] = {0, 1, 7, 8, 9, 1u << 20};
    struct alqi_cli_estimator e;
    struct alqi_cli_sum s = {0};
    double bytes = 0;

    (void)state;
    estimator_make(&e, 8, 1.0 / 8);
    for (size_t i = 0; i < ALQI_COUNT_OF(lengths); i++) {
        struct alqi_cli_weight w = alqi_cli_weigh(&e, 0, lengths[i]);

        alqi_cli_sum_add(&s, &w, 10, 1);
        bytes += (double)lengths[i];
    }
    assert_true(s.bytes == bytes);
    assert_true(s.objects == ALQI_COUNT_OF(lengths));
    assert_true(s.bytes_var == 0 && s.objects_var == 0);
    assert_true(alqi_cli_mean_life_us(&s) == 10);
    alqi_cli_estimator_free(&e);
}

/* p from its definition, a product, for each size that a table may hold and
 * some beyond. */
static void
weights_are_the_inverse_probability(void **state)
{
    static const double rates[] = {0.5, 1e-2, 1e-4, 1.5e-5};

    (void)state;
    for (size_t r = 0; r < ALQI_COUNT_OF(rates); r++) {
        struct alqi_cli_estimator bytes;
        struct alqi_cli_estimator words;
        long double miss = 1;

        estimator_make(&bytes, 8, rates[r] / 8);
        estimator_make(&words, 64, rates[r]);
        for (uint64_t w = 1; w < 3000; w++) {
            struct alqi_cli_weight got = alqi_cli_weigh(&words, 0, w - 1);
            double p;

            miss *= 1 - (long double)rates[r];
            p = (double)(1 - miss);
            assert_true(fabs(got.objects * p - 1) < 1e-12);
            assert_true(fabs(got.bytes * p - (double)w * 8) < 1e-8);
            assert_true(fabs(got.objects_var * p * p - (1 - p)) < 1e-12);
            got = alqi_cli_weigh(&bytes, 0, (w - 1) * 8);
            assert_true(fabs(got.objects * p - 1) < 1e-12);
            if (w > 1) {
                got = alqi_cli_weigh(&bytes, 0, (w - 1) * 8 - 7);
                assert_true(fabs(got.objects * p - 1) < 1e-12);
            }
        }
        alqi_cli_estimator_free(&bytes);
        alqi_cli_estimator_free(&words);
    }
}

/* Many simulated runs: the mean is the truth and the mean of the variances is
 * the variance.  The bounds are seven standard errors of the two means, one
 * false alarm in 4e11 seeds each. */
static void
sums_are_unbiased(void **state)
{
    enum { RUNS = 4000, BLOCKS = 300 };
    const double rate = 1e-2;
    struct alqi_cli_estimator e;
    double truth = 0;
    double sum = 0;
    double squares = 0;
    double variances = 0;
    uint64_t seed = alqi_base_test_seed();
    double sd;

    (void)state;
    estimator_make(&e, 64, rate);
    for (uint64_t b = 0; b < BLOCKS; b++)
        truth += alqi_cli_block_bytes(&e, b);
    for (int run = 0; run < RUNS; run++) {
        struct alqi_cli_sum s = {0};

        for (uint64_t b = 0; b < BLOCKS; b++) {
            double p = -expm1((double)(b + 1) * log1p(-rate));
            struct alqi_cli_weight w = alqi_cli_weigh(&e, 0, b);

            seed += 0x9E3779B97F4A7C15u;
            if ((double)(alqi_base_mix(seed) >> 11) * 0x1p-53 < p)
                alqi_cli_sum_add(&s, &w, 0, 1);
        }
        sum += s.bytes;
        squares += (s.bytes - truth) * (s.bytes - truth);
        variances += s.bytes_var;
    }
    sd = sqrt(variances / RUNS);
    assert_true(fabs(sum / RUNS - truth) < 7 * sd / sqrt(RUNS));
    assert_true(fabs(squares / variances - 1) < 7 * sqrt(2.0 / RUNS));
    alqi_cli_estimator_free(&e);
}

static void
each_rate_weighs_its_own(void **state)
{
    static const double rates[] = {0.5, 1e-2, 1, 1e-4};
    struct alqi_cli_estimator changing, one;

    (void)state;
    estimator_make(&changing, 8, 1.0 / 8);
    assert_false(alqi_cli_is_sampled(&changing));
    for (size_t r = 0; r < ALQI_COUNT_OF(rates); r++) {
        uint16_t number = alqi_cli_estimator_rate(&changing, rates[r]);

        estimator_make(&one, 8, rates[r] / 8);
        assert_int_equal(alqi_cli_estimator_rate(&changing, rates[r]), number);
        for (uint64_t length = 0; length < 40000; length += 77) {
            struct alqi_cli_weight a =
                alqi_cli_weigh(&changing, number, length);
            struct alqi_cli_weight b = alqi_cli_weigh(&one, 0, length);

            assert_true(a.bytes == b.bytes && a.objects_var == b.objects_var);
        }
        alqi_cli_estimator_free(&one);
    }
    assert_true(alqi_cli_is_sampled(&changing));
    assert_int_equal(changing.n_rates, 4); /* 1 was the trace's own */
    assert_int_equal(alqi_cli_estimator_rate(&changing, (double)NAN), 0);
    assert_int_equal(alqi_cli_estimator_rate(&changing, 0), 0);
    for (unsigned i = 0; i < ALQI_CLI_RATES_MAX + 10; i++)
        alqi_cli_estimator_rate(&changing, 1.0 / (i + 3));
    assert_int_equal(changing.n_rates, ALQI_CLI_RATES_MAX);
    alqi_cli_estimator_free(&changing);
}

static void
nonsense_rates_do_not_divide_by_zero(void **state)
{
    static const double rates[] = {0, -1, 2, (double)NAN, (double)INFINITY};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rates); i++) {
        struct alqi_cli_estimator e;
        struct alqi_cli_weight w;

        estimator_make(&e, 64, rates[i]);
        w = alqi_cli_weigh(&e, 0, 3);
        assert_false(e.has_rate);
        assert_true(w.bytes == 32 && w.bytes_var == 0);
        alqi_cli_estimator_free(&e);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_one_is_exact),
        cmocka_unit_test(weights_are_the_inverse_probability),
        cmocka_unit_test(sums_are_unbiased),
        cmocka_unit_test(each_rate_weighs_its_own),
        cmocka_unit_test(nonsense_rates_do_not_divide_by_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
