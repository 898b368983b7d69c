/* binomial.h -- tails of the binomial distribution, exact to the last unit of n
 * A limit of k samples is reached by n words with probability P[X >= k], where
 * X is Bin(n, 1/interval).  Plans ask for the n at which that crosses 1e-14 or
 * 1e-50, and one word more changes its logarithm by 1e-5 or less: lgamma, whose
 * absolute error grows with n, is not enough. */
#ifndef ALQI_LIMIT_BINOMIAL_H
#define ALQI_LIMIT_BINOMIAL_H

#include <stdint.h>

/* ln P[X >= k] and ln P[X < k]; -INFINITY is certainly not.  interval >= 1. */
double alqi_limit_log_reached(uint64_t n, uint64_t k, uint64_t interval);
double alqi_limit_log_missed(uint64_t n, uint64_t k, uint64_t interval);

#endif
