/* binomial.c -- see binomial.h
 *
 *   one term   saddle-point form (Loader, "Fast and accurate computation of
 *              binomial probabilities", 2000): Stirling's remainders and two
 *              deviances, each small and free of cancellation
 *   the tail   the term at its edge times the sum of the ratios of the others
 *              to it.  They are added up; many that fall slowly are integrated,
 *              with the first corrections of Euler and Maclaurin: neighbours
 *              differ too little for the next ones to count.
 *
 * Terms are those of the lesser tail; the greater one is 1 minus it. */
#include <math.h>
#include <stdbool.h>

#include "base/base.h"
#include "limit/binomial.h"

enum { GAUSS_POINTS = 8 };

static const double LN_2PI = 1.837877066409345483560659472811;
static const double NEGLIGIBLE = 1e-18;
static const double MANY = 2000; /* terms: as many are integrated */

struct binomial {
    double n;
    double k;        /* the edge: the tail's first term */
    double miss;     /* n - k, exact */
    double interval; /* 1 / p */
    double mean;     /* n p */
    double miss_mean;
    double sigma;
    double log_edge; /* ln of the edge's probability */
};

/* ---- one term ----------------------------------------------------------- */

/* ln n! - ln(sqrt(2 pi n) (n / e)^n), n > 0. */
static double
stirling_rest(double n)
{
    double nn = n * n;
    int sign;

    if (n < 16)
        return lgamma_r(n + 1, &sign) - (n + 0.5) * log(n) + n - LN_2PI / 2;
    return (1. / 12 - (1. / 360 - (1. / 1260 - 1. / 1680 / nn) / nn) / nn) / n;
}

/* x ln(x / m) + m - x: by its series in (x - m) / (x + m) where that is small,
 * since the terms cancel there. */
static double
deviance(double x, double m)
{
    double v = (x - m) / (x + m);
    double sum;
    double power = 2 * x * v;

    if (fabs(v) > 0.1)
        return x * log(x / m) + m - x;
    sum = (x - m) * v;
    for (int i = 3;; i += 2) {
        double before = sum;

        power *= v * v;
        sum += power / i;
        if (sum == before)
            return sum;
    }
}

/* ln P[X = k + by]. */
static double
log_term(const struct binomial *w, double by)
{
    double k = w->k + by;
    double miss = w->miss - by;

    if (k <= 0)
        return w->n * log1p(-1 / w->interval);
    if (miss <= 0)
        return -w->n * log(w->interval);
    return stirling_rest(w->n) - stirling_rest(k) - stirling_rest(miss) -
           deviance(k, w->mean) - deviance(miss, w->miss_mean) -
           (LN_2PI + log(k) + log(miss / w->n)) / 2;
}

/* Prepares the sums for the tail whose edge is k.  k <= n and interval > 1. */
static struct binomial
binomial_of(uint64_t n, uint64_t k, uint64_t interval)
{
    struct binomial w = {
        .n = (double)n,
        .k = (double)k,
        .miss = (double)(n - k),
        .interval = (double)interval,
        .mean = (double)n / (double)interval,
    };

    w.miss_mean = w.mean * (double)(interval - 1);
    w.sigma = sqrt(w.miss_mean / w.interval);
    w.log_edge = log_term(&w, 0);
    return w;
}

/* ---- the tail ----------------------------------------------------------- */

/* P[X = k + by + step] / P[X = k + by]; step is 1 or -1. */
static double
ratio(const struct binomial *w, double by, int step)
{
    double k = w->k + by;
    double miss = w->miss - by;

    return step > 0 ? miss / ((k + 1) * (w->interval - 1))
                    : k * (w->interval - 1) / (miss + 1);
}

/* The sum of the tail's terms by that of its edge. */
static double
summed(const struct binomial *w, int step)
{
    double term = 1;
    double sum = 1;

    for (double by = 0;; by += step) {
        double r = ratio(w, by, step);

        term *= r;
        sum += term;
        if (r <= 0 || (r < 1 && term < NEGLIGIBLE * sum * (1 - r)))
            return sum;
    }
}

/* Integrates the terms, by that of the edge, over `width` from `from` on, by
 * Gauss's rule; distances are counted from the edge, in the direction of
 * `step`. */
static double
panel(const struct binomial *w, double from, double width, int step)
{
    static const double x[GAUSS_POINTS / 2] = {
        0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
        0.9602898564975363};
    static const double weight[GAUSS_POINTS / 2] = {
        0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
        0.1012285362903763};
    double sum = 0;

    for (int i = 0; i < GAUSS_POINTS; i++) {
        double at = i % 2 == 0 ? x[i / 2] : -x[i / 2];
        double by = from + width * (1 + at) / 2;

        sum += weight[i / 2] * exp(log_term(w, step * by) - w->log_edge);
    }
    return sum * width / 2;
}

/* summed() by an integral: where thousands of terms count and neighbours hardly
 * differ.  The half and the slope's twelfth are Euler and Maclaurin's
 * correction of a sum's end. */
static double
integrated(const struct binomial *w, int step)
{
    double width = w->sigma / 4;
    double slope = log(ratio(w, 0, step));
    double sum = 0.5 - slope / 12;
    double left = step > 0 ? w->miss : w->k;
    double part;

    if (-slope * width >
        2) /* far out it falls faster than the distribution is wide */
        width = 2 / -slope;
    for (double from = 0; from < left; from += width) {
        part = panel(w, from, width < left - from ? width : left - from, step);
        sum += part;
        if (part < NEGLIGIBLE * sum && from > 2 * width)
            break;
    }
    return sum;
}

static double
log_tail(const struct binomial *w, int step)
{
    bool is_smooth = w->sigma > MANY && 1 - ratio(w, 0, step) < 1 / MANY;

    return w->log_edge + log(is_smooth ? integrated(w, step) : summed(w, step));
}

/* ---- both sides --------------------------------------------------------- */

/* ln(1 - e^x), x <= 0. */
static double
log_rest(double x)
{
    return x < -0.693 ? log1p(-exp(x)) : log(-expm1(x));
}

double
alqi_limit_log_reached(uint64_t n, uint64_t k, uint64_t interval)
{
    struct binomial w;

    if (k == 0)
        return 0;
    if (n < k)
        return -(double)INFINITY;
    if (interval == 1)
        return 0;
    w = binomial_of(n, k, interval);
    if (w.k < w.mean)
        return log_rest(alqi_limit_log_missed(n, k, interval));
    return log_tail(&w, 1);
}

double
alqi_limit_log_missed(uint64_t n, uint64_t k, uint64_t interval)
{
    struct binomial w;

    if (k == 0)
        return -(double)INFINITY;
    if (n < k)
        return 0;
    if (interval == 1)
        return -(double)INFINITY;
    w = binomial_of(n, k - 1, interval);
    if (w.k >= w.mean)
        return log_rest(alqi_limit_log_reached(n, k, interval));
    return log_tail(&w, -1);
}
