/* trend.h -- the slope of live bytes over several looks, and its error
 *                                                    [doc/design/leaks.md]
 *
 * Pure.  A slope by least squares is a sum over looks of bytes times levers, so
 * it is a sum over blocks, too: each adds its bytes times the levers of the
 * looks in which it is alive.  A block of all looks adds nothing, and its
 * chance to be sampled no error.
 *
 * .def.lever    (t - m) / sum of (t - m)^2, for a look at t; m: their mean.
 * .def.most     The levers of a block add up to the sum of those that are
 *               positive at most: it is alive in all looks from the middle on,
 *               and in none before.  At the other end it is as much, for all
 *               levers together are 0.  Of five looks at equal steps that is
 *               1.5 times the last lever, of many a quarter of their number.
 * .def.sampled  The 95 % interval of what sampling leaves open: blocks that add
 *               and blocks that take away are two sums (view/interval.h), whose
 *               ends are put together as of a difference.
 * .def.scatter  From three looks on, how far they lie off the line: Student's
 *               quantile times the slope's standard error.  It covers the ups
 *               and downs of the program itself, which sampling knows nothing
 *               of.  The whole interval adds both as squares.
 * .def.grows    The interval is above 0, and had nothing changed, sampling
 * would show such a slope in any of the rows with a chance of 5 % at most
 * (view/significance.h, corrected for their number). */
#ifndef ALQI_CLI_LEAKS_TREND_H
#define ALQI_CLI_LEAKS_TREND_H

#include <stdint.h>

#include "view/interval.h"

/* What the levers of some looks make of one row.  All zeros: of no blocks. */
struct alqi_cli_leak_trend {
    double certain;          /* what is known without sampling */
    double up, down;         /* of sampled blocks; both at least 0 */
    double up_var, down_var; /* variances */
    double up_third, down_third;
    double up_seen, down_seen; /* their own bytes */
    double largest;            /* of one block, its own bytes times its lever */
};

/* Of n looks at those times, n >= 2, which rise. */
void alqi_cli_leak_levers(const double *at, uint32_t n, double *levers);

/* .def.most */
double alqi_cli_leak_lever_most(const double *levers, uint32_t n);

/* Adds a sampled block of so many bytes, which was seen with the chance p, and
 * the sum of whose levers is known. */
void alqi_cli_leak_trend_add(struct alqi_cli_leak_trend *trend, double bytes,
                             double p, double lever);

double alqi_cli_leak_trend_slope(const struct alqi_cli_leak_trend *trend);

/* most: the largest weight of a block that was not seen, times .def.most; 0:
 * nothing is sampled.  .def.sampled */
struct alqi_view_interval
alqi_cli_leak_trend_sampled(const struct alqi_cli_leak_trend *trend,
                            double most);

/* The half of the interval of .def.scatter; 0 of two looks.  bytes: of each
 * look. */
double alqi_cli_leak_trend_scatter(const double *at, const double *bytes,
                                   uint32_t n);

/* That sampling alone makes the slope, if nothing changed. */
double alqi_cli_leak_trend_chance(const struct alqi_cli_leak_trend *trend);

#endif
