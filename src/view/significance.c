/* significance.c -- Bennett's bound, its chance, and Holm's correction
 *
 * [significance.h] The formulas are .def.sigmas, .def.chance and .def.holm
 * there. Without memory only the correction can fail. */
#include <math.h>
#include <stdlib.h>

#include "view/significance.h"
#include "view/sort.h"

/* Below it the series is more exact than the difference of near numbers. */
static const double SERIES_BELOW = 1e-3;
/* Of .def.chance. */
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

/* A chance and the site that it belongs to. */
struct ranked {
    double p;
    uint32_t at;
};

/* Order by chance, then by site. */
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
