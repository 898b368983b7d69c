/* significance.c -- see significance.h */
#include <math.h>
#include <stdlib.h>

#include "view/significance.h"
#include "view/sort.h"

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
alqi_view_sigmas(double x, double variance, double largest)
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
alqi_view_chance(double sigmas)
{
    double p = SYMMETRIC_FACTOR * erfc(fabs(sigmas) / sqrt(2));

    return p < 1 ? p : 1;
}

struct ranked {
    double p;
    uint32_t at;
};

static int
compare(const void *left, const void *right, void *arg)
{
    const struct ranked *a = left, *b = right;

    (void)arg;
    if (a->p != b->p)
        return a->p < b->p ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

bool
alqi_view_holm(double *p, uint32_t n)
{
    struct ranked *ranked = malloc(((size_t)n + 1) * sizeof *ranked);
    double least = 0;

    if (ranked == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++)
        ranked[i] = (struct ranked){p[i], i};
    alqi_view_sort(ranked, n, sizeof *ranked, compare, NULL);
    for (uint32_t i = 0; i < n; i++) {
        double corrected = ranked[i].p * (n - i);

        if (corrected > least)
            least = corrected < 1 ? corrected : 1;
        p[ranked[i].at] = least;
    }
    free(ranked);
    return true;
}
