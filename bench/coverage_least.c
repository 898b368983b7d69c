/* coverage_least.c -- the least mean width that any interval can have
 *
 * [coverage_least.h] Powers are sums over Poisson counts; the integral is a sum
 * over STEPS differences on either side. The integrand falls with the
 * difference, so the sum over the far ends of the steps is a lower bound. */
#include <math.h>
#include <stdbool.h>

#include "coverage_least.h"

enum { STEPS = 150 };

static const double MISS = 0.06;
/* Standard errors, beyond which no power is wanting. */
static const double FAR = 8;
/* Of a class with fewer samples, only that blocks may be added is asked. */
static const double SAMPLES_LEAST = 0.1;

static double
poisson(double mean, double k)
{
    return mean > 0 ? exp(k * log(mean) - mean - lgamma(k + 1)) : k == 0;
}

/* The largest chance, where `here` samples are expected, of a set of counts
 * that has the chance MISS where `there` are: the set is of small counts if
 * more are expected there, else of large ones. */
static double
power(double here, double there)
{
    const double spread = 9 * sqrt(fmax(here, there)) + 20;
    const bool is_up = there > here;
    double k = is_up ? fmax(floor(here - spread), 0) : ceil(here + spread);
    double p = poisson(here, k), q = poisson(there, k), sum = 0, left = MISS;

    if (fabs(there - here) > spread)
        return 1;
    while (q < left && k >= 0 && sum < 1 - 1e-9) {
        left -= q;
        sum += p;
        k += is_up ? 1 : -1;
        p *= is_up ? here / k : (k + 1) / here;
        q *= is_up ? there / k : (k + 1) / there;
    }
    return k < 0 ? 1 : fmin(sum + p * left / q, 1);
}

/* The least chance that a figure so much larger lies in the interval. */
static double
kept(const struct coverage_class *classes, unsigned n, double weight,
     double more)
{
    double most = more > 0 ? 1 - MISS * exp(more / weight) : 0;

    for (unsigned i = 0; i < n; i++) {
        const struct coverage_class *c = &classes[i];

        if (more >= -c->figure && c->samples > SAMPLES_LEAST)
            most = fmax(most, 1 - power(c->samples,
                                        c->samples * (1 + more / c->figure)));
    }
    return fmax(most, 0);
}

double
coverage_least(const struct coverage_class *classes, unsigned n, double weight)
{
    const struct coverage_class *all = &classes[n - 1];
    double up = -weight * log(MISS), sum = 0;

    for (unsigned i = 0; i < n; i++)
        if (classes[i].samples > SAMPLES_LEAST)
            up = fmax(up, FAR * classes[i].figure / sqrt(classes[i].samples));
    for (int i = 1; i <= STEPS; i++) {
        sum += up / STEPS * kept(classes, n, weight, up * i / STEPS);
        sum += all->figure / STEPS *
               kept(classes, n, weight, -all->figure * i / STEPS);
    }
    return sum;
}
