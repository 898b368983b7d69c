/* sample.c -- draws: uniform, geometric skip, binomial [doc/design/sampling.md]
 *
 * Uniform bits become an exponential variate, and that a geometric skip.  The
 * count of a block that is large for its rate is one rejection draw.  The state
 * is the generator alone; all functions are pure otherwise.
 *
 * Keeps .inv.bits, .inv.same, .inv.corners. */
#include "base/base.h"
#include "sample/sample.h"

#define LN2 0.69314718055994530942
#define HALF_LN_2PI 0.91893853320467274178

enum {
    SKIP_BELOW = 16,    /* expected successes up to which skips are drawn */
    FACTORIALS = 16,    /* n! below this is computed, above approximated  */
    DOUBLE_BIAS = 1023, /* of the exponent field                          */
    DOUBLE_FRACTION = 52
};

static inline uint64_t
rotl(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void
alqi_sample_seed(struct alqi_sample_rng *rng, uint64_t seed)
{
    /* SplitMix64's outputs are distinct, so the state is never all zero. */
    for (unsigned i = 0; i < 4; i++) {
        seed += 0x9E3779B97F4A7C15u;
        rng->s[i] = alqi_base_mix(seed);
    }
}

uint64_t
alqi_sample_uniform(struct alqi_sample_rng *rng)
{
    uint64_t *s = rng->s;
    uint64_t result = rotl(s[0] + s[3], 23) + s[0];
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotl(s[3], 45);
    return result;
}

/* 2 atanh(s) for |s| <= 0.172: the series to s^23.  The sum is a tree because
 * the chain of a Horner sum would be most of a draw's time. */
static inline double
twice_atanh(double s)
{
    double z = s * s, z2 = z * z, z4 = z2 * z2, z8 = z4 * z4;
    double a = (2.0 / 3 + z * (2.0 / 5)) + z2 * (2.0 / 7 + z * (2.0 / 9));
    double b = (2.0 / 11 + z * (2.0 / 13)) + z2 * (2.0 / 15 + z * (2.0 / 17));
    double c = (2.0 / 19 + z * (2.0 / 21)) + z2 * (2.0 / 23);

    return 2.0 * s + s * (z * (a + z4 * b + z8 * c));
}

/* ln x for a positive, normal x. */
static inline double
ln_normal(double x)
{
    union {
        double d;
        uint64_t u;
    } v = {x};
    int e = (int)(v.u >> DOUBLE_FRACTION) - DOUBLE_BIAS;

    v.u = (v.u & (((uint64_t)1 << DOUBLE_FRACTION) - 1)) |
          ((uint64_t)DOUBLE_BIAS << DOUBLE_FRACTION);
    if (v.d > 1.41421356237309504880) {
        v.d *= 0.5;
        e++;
    }
    return (double)e * LN2 + twice_atanh((v.d - 1.0) / (v.d + 1.0));
}

/* ln(1 + t), t > -1, with relative accuracy also where t is near 0. */
static inline double
ln_1p(double t)
{
    if (t > -0.29 && t < 0.41)
        return twice_atanh(t / (2.0 + t));
    return ln_normal(1.0 + t);
}

/* -ln(1 - (x + 1/2) / 2^64): exponential with mean 1. */
static inline double
exponential(uint64_t x)
{
    const double scale = 1.0 / 18446744073709551616.0;
    const uint64_t near_zero = (uint64_t)(0.29 * 18446744073709551616.0);

    if (x < near_zero) {
        double v = ((double)x + 0.5) * scale;

        return twice_atanh(v / (2.0 - v));
    }
    return -ln_normal(((double)~x + 0.5) * scale);
}

static double
uniform_open(struct alqi_sample_rng *rng)
{
    const double scale = 1.0 / 9007199254740992.0;

    return ((double)(alqi_sample_uniform(rng) >> 11) + 0.5) * scale;
}

int
alqi_sample_dist_set(struct alqi_sample_dist *dist, double rate)
{
    double slope;

    if (!(rate >= 0.0 && rate <= 1.0))
        return 0;
    dist->rate = rate == 0.0 ? 0.0 : rate;
    if (rate == 1.0) {
        dist->inv_log1m_rate = 0.0;
        return 1;
    }
    /* Below this every skip is clamped anyway, and 1/ln would overflow. */
    slope = rate < 1e-300 ? -0.0 : 1.0 / ln_1p(-rate);
    dist->inv_log1m_rate = slope;
    return 1;
}

uint64_t
alqi_sample_skip_words(struct alqi_sample_rng *rng,
                       const struct alqi_sample_dist *dist)
{
    double words;

    ALQI_DEBUG(dist->inv_log1m_rate <= 0.0); /* [spec statmemprof 1.15, 9] */
    if (dist->inv_log1m_rate == 0.0)
        return dist->rate == 1.0 ? 1 : ALQI_SAMPLE_NEVER_WORDS;
    words = exponential(alqi_sample_uniform(rng)) * -dist->inv_log1m_rate;
    ALQI_DEBUG(words >= 0.0); /* 9: so the skip is 1 or more */
    if (words >= (double)(ALQI_SAMPLE_NEVER_WORDS - 1))
        return ALQI_SAMPLE_NEVER_WORDS;
    return 1 + (uint64_t)words;
}

/* By doubling the words: every term is positive, so nothing cancels. */
double
alqi_sample_chance(const struct alqi_sample_dist *dist, uint64_t words)
{
    double chance = 0.0, doubled = dist->rate;

    for (; words != 0; words >>= 1) {
        if (words & 1)
            chance += doubled * (1.0 - chance);
        doubled *= 2.0 - doubled;
    }
    return chance;
}

uint64_t
alqi_sample_weight(const struct alqi_sample_dist *dist, uint64_t words,
                   uint64_t size_bytes)
{
    double weight;

    if (dist->rate == 1.0)
        return size_bytes; /* a double may not hold it */
    weight = (double)size_bytes / alqi_sample_chance(dist, words);
    return weight < (double)INT64_MAX ? (uint64_t)(weight + 0.5) : INT64_MAX;
}

/* Counts successes among n trials by drawing the skip to each. */
static uint64_t
binomial_by_skips(struct alqi_sample_rng *rng,
                  const struct alqi_sample_dist *dist, uint64_t n)
{
    uint64_t k = 0;

    for (;;) {
        uint64_t skip = alqi_sample_skip_words(rng, dist);

        if (skip > n)
            return k;
        n -= skip;
        k++;
    }
}

/* ln k! minus Stirling's main term, k >= 1. */
static double
stirling_error(double k)
{
    double f = 1.0, k2 = k * k;

    if (k >= FACTORIALS)
        return (1.0 / 12 -
                (1.0 / 360 - (1.0 / 1260 - 1.0 / (1680 * k2)) / k2) / k2) /
               k;
    for (double i = 2.0; i <= k; i += 1.0)
        f *= i;
    return ln_normal(f) - ((k + 0.5) * ln_normal(k) - k + HALF_LN_2PI);
}

/* x ln(x/m) + m - x: the deviance of x where m is expected.  Written with
 * t = (x-m)/m as m ((1+t) ln(1+t) - t), and as a series where that cancels. */
static double
deviance(double x, double m)
{
    double t = (x - m) / m, sum = 0.0, power;

    if (t < -0.1 || t > 0.1)
        return x * ln_1p(t) + m - x;
    power = 1.0;
    for (int j = 2; j < 20; j++) {
        sum += power / (double)(j * (j - 1));
        power *= -t;
    }
    return m * t * t * sum;
}

/* ln of the chance of k successes, but for a term that n fixes. */
static double
log_chance(double k, double n, double p)
{
    if (k == 0.0)
        return n * ln_1p(-p) + HALF_LN_2PI - stirling_error(n);
    if (k == n)
        return n * ln_normal(p) + HALF_LN_2PI - stirling_error(n);
    return -stirling_error(k) - stirling_error(n - k) - deviance(k, n * p) -
           deviance(n - k, n * (1.0 - p)) -
           0.5 * (ln_normal(k) + ln_1p(-k / n));
}

/* Transformed rejection with squeeze (W. Hörmann, "The generation of binomial
 * random variates", 1993, algorithm BTRS), for p <= 1/2 and n p >= 10.  The
 * full test compares densities in Loader's saddle-point form, which keeps its
 * accuracy at any n. */
static uint64_t
binomial_by_rejection(struct alqi_sample_rng *rng, double p, uint64_t trials)
{
    double n = (double)trials, sd = __builtin_sqrt(n * p * (1.0 - p));
    double b = 1.15 + 2.53 * sd, a = -0.0873 + 0.0248 * b + 0.01 * p;
    double c = n * p + 0.5, squeeze = 0.92 - 4.2 / b;
    double alpha = (2.83 + 5.1 / b) * sd;
    double mode = (double)(uint64_t)((n + 1.0) * p);
    double log_mode = log_chance(mode, n, p);

    for (;;) {
        double v = uniform_open(rng), u = uniform_open(rng) - 0.5;
        double us = 0.5 - (u < 0 ? -u : u);
        double x = (2.0 * a / us + b) * u + c;
        uint64_t k;

        if (x < 0.0 || x >= n + 1.0)
            continue;
        k = (uint64_t)x;
        if (k > trials) /* n was rounded up */
            continue;
        if (us >= 0.07 && v <= squeeze)
            return k;
        v *= alpha / (a / (us * us) + b);
        if (ln_normal(v) <= log_chance((double)k, n, p) - log_mode)
            return k;
    }
}

uint64_t
alqi_sample_binomial(struct alqi_sample_rng *rng,
                     const struct alqi_sample_dist *dist, uint64_t n)
{
    struct alqi_sample_dist misses;

    if (dist->inv_log1m_rate == 0.0)
        return dist->rate == 1.0 ? n : 0;
    if ((double)n * dist->rate < SKIP_BELOW)
        return binomial_by_skips(rng, dist, n);
    if (dist->rate <= 0.5)
        return binomial_by_rejection(rng, dist->rate, n);
    if ((double)n * (1.0 - dist->rate) >= SKIP_BELOW)
        return n - binomial_by_rejection(rng, 1.0 - dist->rate, n);
    /* 1 - rate is exact, as rate is above 1/2, and so above 0. */
    if (!alqi_sample_dist_set(&misses, 1.0 - dist->rate))
        return n;
    return n - binomial_by_skips(rng, &misses, n);
}
