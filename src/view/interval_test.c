/* interval_test.c -- quantiles against published ones; coverage by exact sums
 *
 * The coverage of Poisson counts is a sum over counts: nothing is drawn, so
 * nothing can fail by chance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "view/interval.h"

static void
near(double got, double wanted, double part)
{
    if (!(fabs(got - wanted) <= part * wanted)) {
        print_message("%.12g is not %.12g\n", got, wanted);
        fail();
    }
}

/* Chi-square quantiles over two, of tables. */
static void
quantiles_are_those_of_tables(void **state)
{
    static const struct {
        double df, low, high; /* of 2.5 and 97.5 % */
    } rows[] = {
        {1, 0.000982069, 5.023886}, {2, 0.05063562, 7.377759},
        {3, 0.2157953, 9.348404},   {5, 0.8312116, 12.83250},
        {10, 3.246973, 20.48318},   {20, 9.590777, 34.16961},
        {40, 24.43304, 59.34171},   {100, 74.22193, 129.5612},
        {700, 628.5772, 775.2114},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        near(2 * alqi_view_gamma_quantile(rows[i].df / 2, 0.025), rows[i].low,
             1e-5);
        near(2 * alqi_view_gamma_quantile(rows[i].df / 2, 0.975), rows[i].high,
             1e-5);
    }
}

/* Of one shape, both ways that a quantile is found. */
static void
large_shapes_continue_small_ones(void **state)
{
    (void)state;
    for (int up = 0; up < 2; up++) {
        double p = up ? 0.975 : 0.025;

        near(alqi_view_gamma_quantile(400.001, p),
             alqi_view_gamma_quantile(399.999, p), 1e-5);
        near(alqi_view_gamma_quantile(1e6, p),
             1e6 + (up ? 1.959964 : -1.959964) * 1e3, 1e-5);
    }
}

static struct alqi_view_interval
interval(double estimate, double variance, double third, double seen,
         double most)
{
    return alqi_view_interval(
        &(struct alqi_view_moments){estimate, variance, third, seen, most});
}

/* Of k samples that each stand for w. */
static bool
covers(double mean, int k, double w)
{
    struct alqi_view_interval x =
        interval(k * w, k * w * w, k * w * w * w, 0, w);

    return x.low <= mean * w && mean * w <= x.high;
}

static double
coverage(double mean)
{
    double p = exp(-mean), sum = 0;

    for (int k = 0; k < 400; k++) {
        if (k > 0)
            p *= mean / k;
        if (p > 1e-12 && covers(mean, k, 524288))
            sum += p;
    }
    return sum;
}

static void
poisson_counts_are_covered(void **state)
{
    (void)state;
    for (double mean = 1; mean < 60; mean += 0.13) {
        double c = coverage(mean);

        if (c < 0.94 || (mean >= 10 && c > 0.97)) {
            print_message("%g expected: %g\n", mean, c);
            fail();
        }
    }
}

/* Blocks of two weights, 1 and `light`; their numbers are Poisson.  most: what
 * an unseen one may weigh. */
struct mix {
    double heavy_mean, light_mean, light, most;
    double coverage, width;
};

static void
mix_enter(struct mix *m, int heavy, int light, double p)
{
    double w = m->light, mean = m->heavy_mean + m->light_mean * w;
    struct alqi_view_interval x =
        interval(heavy + light * w, heavy + light * w * w,
                 heavy + light * w * w * w, 0, m->most);

    m->coverage += x.low <= mean && mean <= x.high ? p : 0;
    m->width += p * (x.high - x.low);
}

static void
mix_sum(struct mix *m)
{
    double p = exp(-m->heavy_mean - m->light_mean);

    for (int heavy = 0; heavy < m->heavy_mean * 3 + 30; heavy++) {
        double q = p;

        for (int light = 0; light < m->light_mean * 3 + 30; light++) {
            if (q > 1e-11)
                mix_enter(m, heavy, light, q);
            q *= m->light_mean / (light + 1);
        }
        p *= m->heavy_mean / (heavy + 1);
    }
}

/* The mean width of the exact interval of a Poisson count. */
static double
exact_width(double mean)
{
    double p = exp(-mean), sum = 0;

    for (int k = 0; k < mean + 12 * sqrt(mean) + 20; k++) {
        sum += p * (alqi_view_gamma_quantile(k + 1, 0.975) -
                    alqi_view_gamma_quantile(k, 0.025));
        p *= mean / (k + 1);
    }
    return sum;
}

/* Half of the whole is of blocks five times as light: from one effective sample
 * on it is covered, and with ten no wider than it need be. */
static void
mixed_weights_are_covered(void **state)
{
    (void)state;
    for (double heavy = 1; heavy < 40; heavy *= 1.3) {
        struct mix m = {heavy, 5 * heavy, 0.2, 2, 0, 0};
        double effective = 4 * heavy * heavy / (1.2 * heavy);
        double most = 1.1 * exact_width(effective) * 2 * heavy / effective;

        mix_sum(&m);
        if (m.coverage < 0.93 || (effective >= 10 && m.coverage > 0.97) ||
            (effective >= 10 && m.width > most)) {
            print_message("%g: covers %g, %g wide of %g\n", effective,
                          m.coverage, m.width, most);
            fail();
        }
    }
}

/* Many large blocks tell nothing of small ones: none of these was seen, and
 * there may be three. */
static void
what_was_not_seen_is_in_the_upper_end(void **state)
{
    struct alqi_view_interval x = interval(10, 0.01, 1e-5, 0, 20);

    (void)state;
    assert_true(x.high > 10 + 3 * 20 && x.effective < 1);
}

/* The exact interval's ends are gamma quantiles of k and k + 1. */
static void
it_is_no_wider_than_the_exact_one(void **state)
{
    (void)state;
    for (int k = 0; k < 100; k++) {
        struct alqi_view_interval x = interval(k, k, k, 0, 1);

        assert_true(x.high - x.low <= alqi_view_gamma_quantile(k + 1, 0.975) -
                                          alqi_view_gamma_quantile(k, 0.025) +
                                          1e-9);
        assert_true(x.low <= k && k <= x.high);
    }
}

/* What was seen is certain; without sampling all is. */
static void
the_certain_part_is_in_both_ends(void **state)
{
    struct alqi_view_interval x = interval(150, 400, 8000, 100, 20);
    struct alqi_view_interval rest = interval(50, 400, 8000, 0, 20);

    (void)state;
    near(x.low, 100 + rest.low, 1e-12);
    near(x.high, 100 + rest.high, 1e-12);
    x = interval(1e9, 0, 0, 1e9, 0);
    assert_true(x.low == 1e9 && x.high == 1e9 && !alqi_view_is_few(&x));
    x = interval(0, 0, 0, 0, 100);
    assert_true(x.low == 0 && x.high > 300 && x.high < 369);
}

/* Half a sample of the sum's weight, and the share that was found; half of that
 * share at the lower end, which stays below the estimate. */
static void
a_peak_may_be_higher(void **state)
{
    struct alqi_view_moments m = {1000, 40000, 4000000, 100, 150, 0, 1};
    struct alqi_view_interval plain = alqi_view_interval(&m), x;

    (void)state;
    m.peak = 1;
    x = alqi_view_interval(&m);
    near(x.high, plain.high + 50, 1e-12);
    assert_true(x.low == plain.low && x.effective == plain.effective);
    m.peak = 1.2;
    x = alqi_view_interval(&m);
    near(x.high, plain.high + 50 + 200, 1e-12);
    near(x.low, plain.low + 100, 1e-12);
    assert_true(x.is_lopsided && !plain.is_lopsided);
    m.part = 0.1;
    x = alqi_view_interval(&m);
    near(x.low, plain.low + 0.1 * 100 - 0.9 * 80, 1e-12);
    near(x.high, plain.high + 50 + 0.1 * 200 + 0.9 * 150, 1e-12);
    m.seen = 900; /* what is certain stays so, however large the share */
    m.peak = 3;
    assert_true(alqi_view_interval(&m).low == 900);
    m.seen = 100;
    m.part = 1;
    m.peak = 3;
    x = alqi_view_interval(&m);
    assert_true(x.low == 1000 && x.high > 3000);
    m.most = 0;
    x = alqi_view_interval(&m);
    assert_true(x.low == 1000 && x.high == 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_those_of_tables),
        cmocka_unit_test(large_shapes_continue_small_ones),
        cmocka_unit_test(poisson_counts_are_covered),
        cmocka_unit_test(mixed_weights_are_covered),
        cmocka_unit_test(what_was_not_seen_is_in_the_upper_end),
        cmocka_unit_test(it_is_no_wider_than_the_exact_one),
        cmocka_unit_test(the_certain_part_is_in_both_ends),
        cmocka_unit_test(a_peak_may_be_higher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
