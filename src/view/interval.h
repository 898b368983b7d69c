/* interval.h -- where the truth is, when samples say so much
 *
 * An estimate is what was seen for certain and what was not seen; the second
 * part is a sum of Poisson counts, each with a weight.
 *
 * .def.gamma   Two gamma laws with the mean and the variance of that part give
 *              its ends (Fay and Feuer 1997): the lower one with 0.2 of an
 *              observation more, of the mean weight; the upper one with 0.8
 * more, of the largest weight that an unseen sample may have. .def.fifth   With
 * 0 and 1 in place of 0.2 and 0.8, and equal weights, it is the exact Poisson
 * interval, which covers 97.5 % at 10 expected samples; with 1/2 and 1/2 at
 * some counts it covers 91 %.  With a fifth it covers between 94.2 and 98.8 %
 * from one expected sample on, and at most 97 % from ten on. */
#ifndef ALQI_VIEW_INTERVAL_H
#define ALQI_VIEW_INTERVAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* With fewer sampled blocks an error is told as an interval, for it is far
 * from symmetric. */
enum { ALQI_VIEW_FEW = 20 };

struct alqi_view_interval {
    double low, high; /* of 95 % */
};

/* seen: the part of the estimate that is certain; weight: the largest that an
 * unseen sample may have, 0 where every block is recorded. */
struct alqi_view_interval alqi_view_interval(double estimate, double variance,
                                             double seen, double weight);

/* What the smallest block stands for: of malloc, a byte; of a heap, a word
 * beside its header. */
static inline double
alqi_view_least_weight(double lambda, bool is_malloc)
{
    uint64_t words = is_malloc ? alqi_base_malloc_words(1) : 2;

    return 1 / -expm1((double)words * log1p(-lambda));
}

/* The x below which a gamma law of that shape and scale 1 has the share p. */
double alqi_view_gamma_quantile(double shape, double p);

#endif
