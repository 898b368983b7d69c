/* significance.c -- see significance.h */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/significance.h"

static const double SERIES_BELOW = 1e-3;
static const double SYMMETRIC_FACTOR = 3.18;

/* 2 h(u) / u^2, which is 1 at u = 0. */
static double
bennett(double u)
{
    if (u < SERIES_BELOW)
        return 1 - u / 3 + u * u / 6;
    return 2 * ((1 + u) * log1p(u) - u) / (u * u);
}

double
alqi_cli_sigmas(double x, double variance, double largest)
{
    double size = fabs(x);
    double z;

    if (x == 0)
        return 0;
    if (!(variance > 0))
        return copysign(HUGE_VAL, x);
    z = size / sqrt(variance) * sqrt(bennett(size * largest / variance));
    return copysign(z, x);
}

double
alqi_cli_chance(double sigmas)
{
    double p = SYMMETRIC_FACTOR * erfc(fabs(sigmas) / sqrt(2));

    return p < 1 ? p : 1;
}

struct ranked {
    double p;
    uint32_t at;
};

static int
compare(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;

    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

void
alqi_cli_holm(double *p, uint32_t n)
{
    struct ranked *ranked = alqi_cli_realloc(NULL, n, sizeof *ranked);
    double least = 0;

    for (uint32_t i = 0; i < n; i++)
        ranked[i] = (struct ranked){p[i], i};
    qsort(ranked, n, sizeof *ranked, compare);
    for (uint32_t i = 0; i < n; i++) {
        double corrected = ranked[i].p * (n - i);

        if (corrected > least)
            least = corrected < 1 ? corrected : 1;
        p[ranked[i].at] = least;
    }
    free(ranked);
}
