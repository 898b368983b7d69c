/* interval.h -- where the truth is, when samples say so much
 *
 * An estimate is what was seen for certain and what was not seen; the second
 * part is a sum of Poisson counts, each with a weight.
 *
 * .def.gamma    The effective number of samples k of a sum with variance V and
 *               third cumulant K is V^3 / K^2: k samples of one weight, K / V,
 *               have that variance and that skewness.  The ends are those of
 *               k such samples, moved to the sum: gamma quantiles, as for a
 *               Poisson count (Fay and Feuer 1997).
 * .def.fifth    The lower end takes k and 0.2 of an observation, the upper one
 *               k and 0.8.  With 0 and 1 it is the exact Poisson interval,
 *               which covers 97.5 % at 10 expected samples; with 1/2 and 1/2
 *               at some counts it covers 91 %.  With a fifth it covers between
 *               94.2 and 98.8 % from one expected sample on, and at most 97 %
 *               from ten on.
 * .def.unseen   Blocks of the largest weight may be there, none of which was
 *               seen: the upper end is that of a sum with a fiftieth of a
 *               sample of that weight more.  It decides where there is little
 *               else; with many samples it is nothing.  With a whole one a
 *               count of mixed blocks would be 1.6 to 2 times as wide at 30
 *               effective samples; with a thousandth of one as few as 70 % are
 *               covered where some small blocks are beside many large ones. *
 * .def.peak     What was live at the peak was counted at moments that a part of
 *               the sample chose, so the highest point may lie above it: by the
 *               share that the analysis found (cli/analysis/churn.h .def.lack),
 *               and by what came between the moment and the next sample: the
 *               upper end is higher by all of that share and by half a sample
 *               of the sum's weight.  The lower end is higher by half of that
 *               share, which is itself an estimate.
 * .def.part     A part of the heap has its own ups and downs when the whole is
 *               highest: it may be below what the moments show as well as
 *               above.  So the more a part is of the whole, the more its ends
 *               move as the whole's do; a small one's upper end moves by three
 *               quarters of the share, and its lower end down by two fifths.
 *               With ends that only rise, one site in a hundred is covered in
 *               92 %. */
#ifndef ALQI_VIEW_INTERVAL_H
#define ALQI_VIEW_INTERVAL_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

/* With fewer effective samples an error is told as an interval, for it is far
 * from symmetric. */
enum { ALQI_VIEW_FEW = 20 };

/* An interval, and how many samples it rests on. */
struct alqi_view_interval {
    double low, high; /* of 95 % */
    /* effective number of samples, .def.gamma; infinite without sampling */
    double effective;
    /* the truth may lie above by much more than below: a peak's (.def.peak) */
    bool is_lopsided;
};

/* What is known of a sum of weighted samples. */
struct alqi_view_moments {
    /* of the sum */
    double estimate, variance;
    /* cumulant of the error; one block adds (1 - p) / p^3 */
    double third;
    /* the part of the estimate that is certain */
    double seen;
    /* the largest weight of an unseen sample; 0: every block is recorded */
    double most;
    /* of what was live at the peak, 1 and the share by which it may be more
     * (.def.peak); else 0 */
    double peak;
    /* of what was live at the peak, its part of the bytes of all */
    double part;
};

struct alqi_view_interval
alqi_view_interval(const struct alqi_view_moments *moments);

/* Of b - a, two sums of blocks that are not the same: the distances to the ends
 * add as standard errors do.  As many effective samples as the side with
 * fewer. */
struct alqi_view_interval alqi_view_interval_between(
    double a_estimate, const struct alqi_view_interval *a, double b_estimate,
    const struct alqi_view_interval *b);

/* Whether plus and minus are told apart. */
static inline bool
alqi_view_is_few(const struct alqi_view_interval *interval)
{
    return interval->effective < ALQI_VIEW_FEW || interval->is_lopsided;
}

/* What the smallest block stands for: of malloc, a byte; of a heap, a word
 * beside its header. */
static inline double
alqi_view_least_weight(double lambda, bool is_malloc)
{
    uint64_t words = is_malloc ? alqi_base_malloc_words(1) : 2;

    return 1 / -expm1((double)words * log1p(-lambda));
}

/* The x below which a gamma distribution of that shape and scale 1 has the
 * share p. */
double alqi_view_gamma_quantile(double shape, double p);

#endif
