/* sample_test.c -- the sampling dist, judged by exact tests on fixed seeds
 *
 * What each judgement may wrongly refuse, per call, on a right sampler:
 *   entropy   n KL(observed || dist) over K cells.  P(n KL >= t) <=
 *             exp(-t) (e t / (K-1))^(K-1) for t > K-1, at every n (Agrawal,
 *             "Finite-sample concentration of the multinomial in relative
 *             entropy", 2020).  Refused when that bound is below FALSE_ALARM.
 *   chi2      Pearson's statistic over cells of at least 400 expected counts
 *             against the upper tail of its limit dist, by the incomplete gamma
 *             function; refused below FALSE_ALARM / 100, two decades being
 *             kept for the distance to the limit.
 *   ks        Dvoretzky-Kiefer-Wolfowitz with Massart's constant, valid for
 *             discrete laws too: P(D > e) <= 2 exp(-2 n e^2).
 *   mean      Chernoff: P(X/n beyond x) <= exp(-n KL(x || p)).
 * FALSE_ALARM is 1e-11.  Each judgement is also shown to refuse samplers with
 * a known flaw (biased_* below). */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "sample/sample.h"

static const double FALSE_ALARM = 1e-11;

enum { CELLS_MAX = 400, CELL_COUNT_MIN = 400 };

static uint64_t words_tried; /* over all tests of this program */

/* ---- judgements --------------------------------------------------------- */

/* ln Q(a, x), the upper regularised incomplete gamma function, x > a + 1:
 * Lentz's continued fraction; smaller x is far from any threshold. */
static double
log_gamma_tail(double a, double x)
{
    double b = x + 1 - a, c = 1 / DBL_MIN, d = 1 / b, h = d;

    if (x <= a + 1)
        return 0;
    for (int i = 1; i < 100000; i++) {
        double an = -i * (i - a), step;

        b += 2;
        d = 1 / (an * d + b);
        c = b + an / c;
        step = d * c;
        h *= step;
        if (fabs(step - 1) < 1e-15)
            break;
    }
    return -x + a * log(x) - lgamma(a) + log(h);
}

struct cells {
    unsigned n;
    double chance[CELLS_MAX];
    uint64_t seen[CELLS_MAX];
};

static bool
entropy_accepts(const struct cells *c, uint64_t n)
{
    double t = 0, dof = c->n - 1;

    for (unsigned i = 0; i < c->n; i++)
        if (c->seen[i] > 0)
            t += (double)c->seen[i] *
                 log((double)c->seen[i] / ((double)n * c->chance[i]));
    if (t <= dof)
        return true;
    return -t + dof * (1 + log(t / dof)) >= log(FALSE_ALARM);
}

static bool
chi2_accepts(const struct cells *c, uint64_t n)
{
    double t = 0;

    for (unsigned i = 0; i < c->n; i++) {
        double expected = (double)n * c->chance[i];
        double miss = (double)c->seen[i] - expected;

        t += miss * miss / expected;
    }
    return log_gamma_tail((c->n - 1) / 2.0, t / 2) >= log(FALSE_ALARM / 100);
}

static bool
ks_accepts(const struct cells *c, uint64_t n)
{
    double dist = 0, seen = 0, d = 0;

    for (unsigned i = 0; i < c->n; i++) {
        dist += c->chance[i];
        seen += (double)c->seen[i] / (double)n;
        d = fmax(d, fabs(dist - seen));
    }
    return log(2) - 2 * (double)n * d * d >= log(FALSE_ALARM);
}

static double
kl_part(double x, double p)
{
    return x == 0 ? 0 : x * log(x / p);
}

static bool
mean_accepts(uint64_t hits, uint64_t trials, double p)
{
    double x = (double)hits / (double)trials;
    double kl = kl_part(x, p) + kl_part(1 - x, 1 - p);

    return log(2) - (double)trials * kl >= log(FALSE_ALARM);
}

/* ---- skips --------------------------------------------------------------- */

typedef uint64_t skip_fn(struct alqi_sample_rng *,
                         const struct alqi_sample_dist *);

/* Gaps of about equal chance: cell i holds skips in (edge[i-1], edge[i]]. */
static void
skip_cells(struct cells *c, uint64_t *edge, double rate, uint64_t n)
{
    double log_miss = log1p(-rate), before = 0;
    uint64_t last = 0;
    unsigned want = 100;

    c->n = 0;
    for (unsigned i = 1; i < want; i++) {
        uint64_t at = (uint64_t)ceil(log1p(-(double)i / want) / log_miss);
        double upto;

        if (at <= last)
            continue;
        upto = -expm1((double)at * log_miss);
        if ((1 - upto) * (double)n < CELL_COUNT_MIN)
            break;
        edge[c->n] = last = at;
        c->chance[c->n++] = upto - before;
        before = upto;
    }
    edge[c->n] = UINT64_MAX;
    c->chance[c->n++] = 1 - before;
    memset(c->seen, 0, sizeof c->seen);
}

static bool
skips_accepted(skip_fn *draw, double rate, uint64_t seed, uint64_t n)
{
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;
    struct cells c;
    uint64_t edge[CELLS_MAX], total = 0;

    alqi_sample_seed(&rng, seed + alqi_base_test_seed());
    assert_true(alqi_sample_dist_set(&dist, rate));
    skip_cells(&c, edge, rate, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t g = draw(&rng, &dist);
        unsigned lo = 0, hi = c.n - 1;

        while (lo < hi) {
            unsigned mid = (lo + hi) / 2;

            if (g <= edge[mid])
                hi = mid;
            else
                lo = mid + 1;
        }
        c.seen[lo]++;
        total += g;
    }
    words_tried += total;
    return entropy_accepts(&c, n) && chi2_accepts(&c, n) && ks_accepts(&c, n) &&
           mean_accepts(n, total, rate);
}

static const double rates[] = {1e-6, 1.525878906e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5,
                               0.9,  0.999};

static void
skips_follow_the_geometric_distribution(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++)
        for (uint64_t seed = 1; seed <= 2; seed++)
            assert_true(skips_accepted(alqi_sample_skip_words, rates[i],
                                       seed * 77 + i, 500000));
}

/* Forgetting that the sampled word counts itself. */
static uint64_t
biased_skip_off_by_one(struct alqi_sample_rng *rng,
                       const struct alqi_sample_dist *dist)
{
    return 1 + alqi_sample_skip_words(rng, dist);
}

/* Clamping long skips, as a sampler of malloc once did. */
static uint64_t
biased_skip_clamped(struct alqi_sample_rng *rng,
                    const struct alqi_sample_dist *dist)
{
    uint64_t g = alqi_sample_skip_words(rng, dist);
    uint64_t most = (uint64_t)(3.0 / dist->rate);

    return g > most ? most : g;
}

/* 24 bits of uniform: the long skips are missing, the short ones coarse. */
static uint64_t
biased_skip_few_bits(struct alqi_sample_rng *rng,
                     const struct alqi_sample_dist *dist)
{
    double u = ((double)(alqi_sample_uniform(rng) >> 54) + 0.5) / 1024;

    return 1 + (uint64_t)(log(u) * dist->inv_log1m_rate);
}

static void
flawed_skips_are_refused(void **state)
{
    (void)state;
    assert_false(skips_accepted(biased_skip_off_by_one, 0.01, 1, 500000));
    assert_false(skips_accepted(biased_skip_clamped, 1e-4, 1, 500000));
    assert_false(skips_accepted(biased_skip_few_bits, 1e-4, 1, 500000));
}

/* ---- counts ------------------------------------------------------------- */

typedef uint64_t count_fn(struct alqi_sample_rng *,
                          const struct alqi_sample_dist *, uint64_t n);

static double
binomial_chance(double k, double n, double p)
{
    return exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
               (n - k) * log1p(-p));
}

/* Cells of one count each where the chance allows it, else of several. */
static void
count_cells(struct cells *c, uint64_t *edge, uint64_t words, double p,
            uint64_t n)
{
    double mean = (double)words * p, sd = sqrt(mean * (1 - p));
    double least = fmax(CELL_COUNT_MIN / (double)n, 1.0 / 200), sum = 0,
           all = 0;
    uint64_t lo = mean > 12 * sd + 12 ? (uint64_t)(mean - 12 * sd) : 0;
    uint64_t hi = (uint64_t)(mean + 12 * sd + 60);

    if (hi > words)
        hi = words;
    c->n = 0;
    for (uint64_t k = lo; k <= hi; k++) {
        sum += binomial_chance((double)k, (double)words, p);
        if (sum < least || 1 - all - sum < least)
            continue;
        edge[c->n] = k;
        c->chance[c->n++] = sum;
        all += sum;
        sum = 0;
    }
    edge[c->n] = UINT64_MAX;
    c->chance[c->n++] = 1 - all;
    memset(c->seen, 0, sizeof c->seen);
}

static bool
counts_accepted(count_fn *count, double rate, uint64_t words, uint64_t seed,
                uint64_t n)
{
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;
    struct cells c;
    uint64_t edge[CELLS_MAX], hits = 0;

    alqi_sample_seed(&rng, seed + alqi_base_test_seed());
    assert_true(alqi_sample_dist_set(&dist, rate));
    count_cells(&c, edge, words, rate, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k = count(&rng, &dist, words);
        unsigned at = 0;

        while (k > edge[at])
            at++;
        c.seen[at]++;
        hits += k;
    }
    words_tried += n * words;
    if (c.n > 1 &&
        !(entropy_accepts(&c, n) && chi2_accepts(&c, n) && ks_accepts(&c, n)))
        return false;
    return mean_accepts(hits, n * words, rate);
}

/* A block's count as a heap takes it: a countdown of words that each block
 * runs down, and on a trip one more draw for the words after the hit. */
static struct {
    uint64_t left;
} stream;

static uint64_t
count_by_stream(struct alqi_sample_rng *rng,
                const struct alqi_sample_dist *dist, uint64_t words)
{
    uint64_t k;

    if (stream.left > words) {
        stream.left -= words;
        return 0;
    }
    k = 1 + alqi_sample_binomial(rng, dist, words - stream.left);
    stream.left = alqi_sample_skip_words(rng, dist);
    return k;
}

static const uint64_t block_words[] = {1,   2,    3,     10,     33,
                                       250, 1000, 10000, 100000, 1000000};

static void
counts_follow_the_binomial_distribution(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++)
        for (unsigned j = 0; j < ALQI_COUNT_OF(block_words); j++)
            assert_true(counts_accepted(alqi_sample_binomial, rates[i],
                                        block_words[j], 1000 + i * 100 + j,
                                        40000));
}

static void
block_counts_of_a_stream_follow_the_distribution(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++)
        for (unsigned j = 0; j < ALQI_COUNT_OF(block_words); j++) {
            struct alqi_sample_rng rng;
            struct alqi_sample_dist dist;

            alqi_sample_seed(&rng, i + j + alqi_base_test_seed());
            assert_true(alqi_sample_dist_set(&dist, rates[i]));
            stream.left = alqi_sample_skip_words(&rng, &dist);
            assert_true(counts_accepted(count_by_stream, rates[i],
                                        block_words[j], 7000 + i * 100 + j,
                                        40000));
        }
}

/* The rejection draw where its squeeze, tail and mirror all matter, with
 * enough draws to see an error of a percent in any cell. */
static void
large_counts_follow_the_distribution(void **state)
{
    (void)state;
    assert_true(counts_accepted(alqi_sample_binomial, 0.5, 32, 11, 2000000));
    assert_true(
        counts_accepted(alqi_sample_binomial, 0.016, 1001, 12, 2000000));
    assert_true(counts_accepted(alqi_sample_binomial, 0.7, 1000, 13, 2000000));
    assert_true(
        counts_accepted(alqi_sample_binomial, 1e-6, 100000000, 14, 2000000));
}

static void
counts_of_huge_blocks_have_the_right_mean_and_spread(void **state)
{
    /* lgamma is too coarse here; by Chernoff on the sum, and on the number
     * beyond one standard deviation (0.3173 of a normal dist; the dist's own
     * distance to it is below 1e-4 at this mean). */
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;
    const uint64_t n = (uint64_t)1 << 40, draws = 200000;
    const double rate = 1e-4, mean = (double)n * rate, sd = sqrt(mean);
    uint64_t beyond = 0;
    double sum = 0;

    (void)state;
    alqi_sample_seed(&rng, 99);
    assert_true(alqi_sample_dist_set(&dist, rate));
    for (uint64_t i = 0; i < draws; i++) {
        double k = (double)alqi_sample_binomial(&rng, &dist, n);

        sum += (k - mean) / sd;
        beyond += fabs(k - mean) > sd * sqrt(1 - rate);
    }
    /* Bernstein: |sum| of draws unit variances beyond 7 sd has chance
     * < 2 exp(-24). */
    assert_true(fabs(sum) < 7 * sqrt((double)draws));
    assert_true(mean_accepts(beyond, draws, 0.31731));
    words_tried += n * draws;
}

static uint64_t
biased_count_no_header(struct alqi_sample_rng *rng,
                       const struct alqi_sample_dist *dist, uint64_t words)
{
    return alqi_sample_binomial(rng, dist, words - 1);
}

/* All of a block's words tried again after a hit, instead of those below. */
static uint64_t
biased_count_retries(struct alqi_sample_rng *rng,
                     const struct alqi_sample_dist *dist, uint64_t words)
{
    uint64_t k;

    if (stream.left > words) {
        stream.left -= words;
        return 0;
    }
    k = 1 + alqi_sample_binomial(rng, dist, words - 1);
    stream.left = alqi_sample_skip_words(rng, dist);
    return k;
}

/* A normal variate in place of the binomial one. */
static uint64_t
biased_count_normal(struct alqi_sample_rng *rng,
                    const struct alqi_sample_dist *dist, uint64_t words)
{
    double u = ((double)(alqi_sample_uniform(rng) >> 11) + 0.5) / 0x1p53;
    double w = (double)(alqi_sample_uniform(rng) >> 11) / 0x1p53;
    double mean = (double)words * dist->rate;
    double z = sqrt(-2 * log(u)) * cos(6.283185307179586 * w);

    return (uint64_t)fmax(0, mean + z * sqrt(mean * (1 - dist->rate)) + 0.5);
}

static void
flawed_counts_are_refused(void **state)
{
    (void)state;
    assert_false(counts_accepted(biased_count_no_header, 0.1, 10, 1, 40000));
    assert_false(counts_accepted(biased_count_retries, 0.1, 10, 1, 40000));
    assert_false(counts_accepted(biased_count_normal, 1e-3, 33000, 1, 200000));
}

/* ---- exact corners ------------------------------------------------------ */

static void
rate_one_is_exact(void **state)
{
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;

    (void)state;
    alqi_sample_seed(&rng, 5);
    assert_true(alqi_sample_dist_set(&dist, 1.0));
    for (uint64_t n = 0; n < 10000; n++) {
        assert_int_equal(alqi_sample_skip_words(&rng, &dist), 1);
        assert_int_equal(alqi_sample_binomial(&rng, &dist, n), n);
    }
    assert_int_equal(alqi_sample_binomial(&rng, &dist, UINT64_MAX), UINT64_MAX);
}

static void
never_is_never(double rate)
{
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;

    alqi_sample_seed(&rng, 5);
    assert_true(alqi_sample_dist_set(&dist, rate));
    for (uint64_t n = 0; n < 10000; n++) {
        assert_int_equal(alqi_sample_skip_words(&rng, &dist),
                         ALQI_SAMPLE_NEVER_WORDS);
        assert_int_equal(alqi_sample_binomial(&rng, &dist, n << 40), 0);
    }
}

static void
rate_zero_and_tiny_rates_never_sample(void **state)
{
    (void)state;
    never_is_never(0.0);
    never_is_never(-0.0);
    never_is_never(5e-324);
    never_is_never(DBL_MIN);
    never_is_never(1e-300);
    never_is_never(1e-100);
}

static void
the_rate_just_below_one(void **state)
{
    /* A miss has chance 2^-53 a word: none may show in 1e5 skips (chance of
     * one: 1.2e-11, on a fixed seed), yet the rate is not 1. */
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;

    (void)state;
    alqi_sample_seed(&rng, 6);
    assert_true(alqi_sample_dist_set(&dist, 1.0 - 0x1p-53));
    assert_true(dist.inv_log1m_rate < 0);
    for (unsigned i = 0; i < 50000; i++) {
        assert_int_equal(alqi_sample_skip_words(&rng, &dist), 1);
        assert_int_equal(alqi_sample_binomial(&rng, &dist, 1000), 1000);
    }
    /* 2^60 trials: 2^7 misses expected; beyond 12 sd below 1e-11. */
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t n = (uint64_t)1 << 60;
        uint64_t misses = n - alqi_sample_binomial(&rng, &dist, n);

        assert_in_range(misses, 1, 128 + 12 * 12);
    }
}

static void
rates_out_of_range_are_refused(void **state)
{
    const double nan = (double)NAN, inf = (double)INFINITY;
    const double bad[] = {nan,  -nan,   inf, -inf,         -5e-324,
                          -0.1, 1.0001, 2.0, 1.0 + 0x1p-52};
    struct alqi_sample_dist dist = {0.25, -3.5};

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(bad); i++) {
        assert_false(alqi_sample_dist_set(&dist, bad[i]));
        assert_true(dist.rate == 0.25); /* nothing changed */
    }
    assert_true(alqi_sample_dist_set(&dist, -0.0));
    assert_true(!signbit(dist.rate));
}

static void
the_distribution_agrees_with_libm(void **state)
{
    struct alqi_sample_dist dist;

    (void)state;
    for (double rate = 1e-290; rate < 1; rate *= 1.37) {
        double want = (double)(1 / log1pl(-(long double)rate));

        assert_true(alqi_sample_dist_set(&dist, rate));
        assert_true(fabs(dist.inv_log1m_rate / want - 1) < 2e-15);
    }
}

static void
a_skip_is_the_uniform_seen_through_libm(void **state)
{
    /* The same bits through long double logarithms: equal but where the exact
     * value lies within 1e-13 of an integer. */
    struct alqi_sample_rng a, b;
    struct alqi_sample_dist dist;

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++) {
        alqi_sample_seed(&a, i);
        b = a;
        assert_true(alqi_sample_dist_set(&dist, rates[i]));
        for (unsigned j = 0; j < 20000; j++) {
            long double u = (long double)alqi_sample_uniform(&b) + 0.5L;
            long double x =
                log1pl(-u / 0x1p64L) / log1pl(-(long double)rates[i]);
            uint64_t g = alqi_sample_skip_words(&a, &dist);

            if (fabsl(x - roundl(x)) > 1e-13L * (1 + x))
                assert_int_equal(g, 1 + (uint64_t)x);
        }
    }
}

static void
same_seed_same_draws(void **state)
{
    /* Values kept from the first release: a trace's seed stays meaningful. */
    struct alqi_sample_rng rng;
    struct alqi_sample_dist dist;
    uint64_t hash = 0;

    (void)state;
    alqi_sample_seed(&rng, 42);
    assert_true(alqi_sample_dist_set(&dist, 0.001));
    for (unsigned i = 0; i < 100000; i++) {
        hash = alqi_base_mix(hash ^ alqi_sample_skip_words(&rng, &dist));
        hash = alqi_base_mix(hash ^ alqi_sample_binomial(&rng, &dist, 50000));
    }
    assert_int_equal(hash, 0x967a3f47222c83efu);
}

static void
uniform_is_xoshiro256plusplus(void **state)
{
    /* The generator's authors' reference: state {1, 2, 3, 4}. */
    struct alqi_sample_rng rng = {{1, 2, 3, 4}};

    (void)state;
    assert_int_equal(alqi_sample_uniform(&rng), 41943041);
    assert_int_equal(alqi_sample_uniform(&rng), 58720359);
    assert_int_equal(alqi_sample_uniform(&rng), 3588806011781223u);
    /* SplitMix64 from 1234567. */
    alqi_sample_seed(&rng, 1234567);
    assert_int_equal(rng.s[0], 6457827717110365317u);
    assert_int_equal(rng.s[1], 3203168211198807973u);
}

static void
the_chance_of_a_block_is_that_of_libm(void **state)
{
    static const double some[] = {1e-18, 1e-9, 8 / 524288.0, 1e-3,
                                  0.25,  0.5,  0.9,          1 - 1e-9};
    struct alqi_sample_dist dist;

    (void)state;
    for (unsigned i = 0; i < sizeof some / sizeof some[0]; i++) {
        assert_true(alqi_sample_dist_set(&dist, some[i]));
        for (uint64_t words = 1; words < (uint64_t)1 << 61;
             words += words / 3 + 1) {
            double p = -expm1((double)words * log1p(-some[i]));

            assert_true(fabs(alqi_sample_chance(&dist, words) - p) <=
                        1e-13 * p);
        }
        assert_true(alqi_sample_chance(&dist, 0) == 0.0);
        assert_true(alqi_sample_chance(&dist, 1) == dist.rate);
    }
    assert_true(alqi_sample_dist_set(&dist, 1.0));
    assert_true(alqi_sample_chance(&dist, 1) == 1.0);
    assert_true(alqi_sample_chance(&dist, 12345) == 1.0);
    assert_true(alqi_sample_dist_set(&dist, 0.0));
    assert_true(alqi_sample_chance(&dist, 12345) == 0.0);
}

static void
enough_words_were_tried(void **state)
{
    (void)state;
    assert_true(words_tried >= 100000000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_is_xoshiro256plusplus),
        cmocka_unit_test(rate_one_is_exact),
        cmocka_unit_test(rate_zero_and_tiny_rates_never_sample),
        cmocka_unit_test(the_rate_just_below_one),
        cmocka_unit_test(rates_out_of_range_are_refused),
        cmocka_unit_test(the_distribution_agrees_with_libm),
        cmocka_unit_test(a_skip_is_the_uniform_seen_through_libm),
        cmocka_unit_test(the_chance_of_a_block_is_that_of_libm),
        cmocka_unit_test(skips_follow_the_geometric_distribution),
        cmocka_unit_test(flawed_skips_are_refused),
        cmocka_unit_test(counts_follow_the_binomial_distribution),
        cmocka_unit_test(block_counts_of_a_stream_follow_the_distribution),
        cmocka_unit_test(large_counts_follow_the_distribution),
        cmocka_unit_test(counts_of_huge_blocks_have_the_right_mean_and_spread),
        cmocka_unit_test(flawed_counts_are_refused),
        cmocka_unit_test(same_seed_same_draws),
        cmocka_unit_test(enough_words_were_tried),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
