/* coverage_least.h -- the least mean width that any interval can have
 *
 * .def.least    The mean width of an interval is the integral, over all figures
 *               N', of the chance that N' lies in it (Pratt 1961).  Let Q be a
 *               heap whose figure is N'.  An interval that misses with chance
 *               at most a under every heap leaves N' out with chance at most a
 *               under Q, and so with at most the power of the best test of size
 *               a of Q against the true heap (Neyman and Pearson).  One less
 *               that power, integrated, is a lower bound of the mean width.
 * .def.other    The Q that are tried: the blocks up to some size are more, or
 *               fewer, by a factor, so that the number of samples in them
 *               decides; and blocks of the smallest size there may be are added
 *               that the true heap has none of. */
#ifndef BENCH_COVERAGE_LEAST_H
#define BENCH_COVERAGE_LEAST_H

/* The blocks of a figure up to some size. */
struct coverage_class {
    double samples; /* expected */
    double figure;  /* of them */
};

/* Of intervals that cover 94 %. classes: by growing size; the last is the
 * figure. weight: what a sample of the smallest block there may be stands
 * for. */
double coverage_least(const struct coverage_class *classes, unsigned n,
                      double weight);

#endif
