/* significance.h -- is a difference of two estimates more than chance?
 *
 * What is asked: had the two recordings the same blocks, how likely would
 * sampling alone tell them so far apart?  Only sampling is judged: two runs of
 * one program may truly differ.
 *
 * .def.variance  The larger of two estimates of the difference's variance.
 *                One is the sum of those of both sides, each from its own
 *                blocks; it is right for a side that has many.  The other
 *                takes the blocks of both sides for a sample of one common
 *                population,
 *                  sum over all blocks seen of
 *                  bytes^2 ((1 - p)/p + (1 - q)/q) / (p + q)
 *                with p and q the chances of a block to be seen here and
 *                there; it is right for a side that saw none.  At equal rates
 *                they are the same.
 * .def.sigmas    z = sqrt(2 (V/c^2) h(x c/V)), h(u) = (1+u) log(1+u) - u
 *                (Bennett's inequality), for the difference x, its variance V,
 *                and the largest block c.  It is x / sqrt(V) wherever many
 *                blocks were missed, and smaller where one big block, seen
 *                nearly always, makes the difference by being missed once.
 * .def.chance    p = min(1, 3.18 erfc(z / sqrt 2)): twice the normal tail, by
 *                the factor that makes it a bound for sums of symmetric
 *                two-valued terms of any number and any sizes (Bentkus and
 *                Dzindzalieta 2015), so that ten blocks are not judged as if
 *                they were normal.
 * .def.holm      Over m sites the ordered p are multiplied by m, m - 1, ... and
 *                kept from falling (Holm 1979): the chance that any of m sites
 *                that did not change gets a corrected p below a level is at
 *                most that level, however the sites hang together.
 *
 * With every block recorded V is 0: any difference has z = inf and p = 0. */
#ifndef ALQI_VIEW_SIGNIFICANCE_H
#define ALQI_VIEW_SIGNIFICANCE_H

#include <stdbool.h>
#include <stdint.h>

/* .def.sigmas, with the sign of x.  c >= 0. */
double alqi_view_sigmas(double x, double variance, double largest);

/* .def.chance, of z or of -z. */
double alqi_view_chance(double sigmas);

/* .def.holm: p[0] ... p[n - 1] in place; false when there is no memory. */
bool alqi_view_holm(double *p, uint32_t n);

#endif
