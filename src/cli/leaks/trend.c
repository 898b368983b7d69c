/* trend.c -- sums over blocks, and Student's distribution
 *
 * With no sampled block the slope is certain; with two looks nothing is known
 * of what lies between. */
#include "cli/leaks/trend.h"

#include <math.h>

#include "cli/analysis/estimate.h"
#include "view/significance.h"

enum { HALVINGS = 200 };

static const double PI = 3.14159265358979323846;
static const double INSIDE = 0.95;
/* Above every quantile that is asked for: that of one degree is 12.7. */
static const double QUANTILE_MOST = 16;

static double
mean(const double *x, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += x[i] - x[0];
    return x[0] + sum / n;
}

void
alqi_cli_leak_levers(const double *at, uint32_t n, double *levers)
{
    double middle = mean(at, n), squares = 0;

    for (uint32_t i = 0; i < n; i++)
        squares += (at[i] - middle) * (at[i] - middle);
    for (uint32_t i = 0; i < n; i++)
        levers[i] = (at[i] - middle) / squares;
}

double
alqi_cli_leak_lever_most(const double *levers, uint32_t n)
{
    double sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += fmax(levers[i], 0);
    return sum;
}

void
alqi_cli_leak_trend_add(struct alqi_cli_leak_trend *t, double bytes, double p,
                        double lever)
{
    struct alqi_cli_weight w = alqi_cli_weight(bytes * fabs(lever), p);

    if (lever > 0) {
        t->up += w.bytes;
        t->up_var += w.bytes_var;
        t->up_third += w.bytes_third;
        t->up_seen += w.seen_bytes;
    } else {
        t->down += w.bytes;
        t->down_var += w.bytes_var;
        t->down_third += w.bytes_third;
        t->down_seen += w.seen_bytes;
    }
    t->largest = fmax(t->largest, bytes * fabs(lever));
}

double
alqi_cli_leak_trend_slope(const struct alqi_cli_leak_trend *t)
{
    return t->certain + t->up - t->down;
}

struct alqi_view_interval
alqi_cli_leak_trend_sampled(const struct alqi_cli_leak_trend *t, double most)
{
    const struct alqi_view_moments up = {.estimate = t->up,
                                         .variance = t->up_var,
                                         .third = t->up_third,
                                         .seen = t->up_seen,
                                         .most = most};
    const struct alqi_view_moments down = {.estimate = t->down,
                                           .variance = t->down_var,
                                           .third = t->down_third,
                                           .seen = t->down_seen,
                                           .most = most};
    struct alqi_view_interval more = alqi_view_interval(&up),
                              less = alqi_view_interval(&down);
    struct alqi_view_interval out =
        alqi_view_interval_between(t->down, &less, t->up, &more);

    out.low += t->certain;
    out.high += t->certain;
    return out;
}

/* The share of Student's distribution between -x and x, by its finite sums for
 * whole degrees of freedom. */
static double
student_inside(double x, uint32_t degrees)
{
    double angle = atan(x / sqrt(degrees)), c = cos(angle), s = sin(angle);
    double term = degrees % 2 == 0 ? 1 : c, sum = 0;

    for (uint32_t k = degrees % 2; k + 2 <= degrees; k += 2) {
        sum += term;
        term *= c * c * (k + 1) / (k + 2);
    }
    return degrees % 2 == 0 ? s * sum : 2 / PI * (angle + s * sum);
}

static double
student_quantile(uint32_t degrees)
{
    double low = 0, high = QUANTILE_MOST;

    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;

        if (student_inside(middle, degrees) < INSIDE)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double
alqi_cli_leak_trend_scatter(const double *at, const double *bytes, uint32_t n)
{
    double middle = mean(at, n), level = mean(bytes, n);
    double squares = 0, slope = 0, off = 0;

    if (n < 3)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        squares += (at[i] - middle) * (at[i] - middle);
        slope += (at[i] - middle) * (bytes[i] - level);
    }
    slope /= squares;
    for (uint32_t i = 0; i < n; i++) {
        double rest = bytes[i] - level - slope * (at[i] - middle);

        off += rest * rest;
    }
    return student_quantile(n - 2) * sqrt(off / (n - 2) / squares);
}

double
alqi_cli_leak_trend_chance(const struct alqi_cli_leak_trend *t)
{
    return alqi_view_chance(alqi_view_sigmas(
        alqi_cli_leak_trend_slope(t), t->up_var + t->down_var, t->largest));
}
