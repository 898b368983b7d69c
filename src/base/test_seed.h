/* test_seed.h -- randomised tests on other paths than those of their seeds
 *
 * A test adds the number to each seed that it has fixed: 0 in a run of the
 * suite, ALQ_TEST_SEED where that is in the environment.  A test that uses it
 * holds for any seed, so that devtools/soak, which runs all that include this
 * file again and again, finds nothing but defects. */
#ifndef ALQI_BASE_TEST_SEED_H
#define ALQI_BASE_TEST_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

static inline uint64_t
alqi_base_test_seed(void)
{
    const char *given = getenv("ALQ_TEST_SEED");

    if (given == NULL)
        return 0;
    fprintf(stderr, "ALQ_TEST_SEED=%s\n", given);
    return strtoull(given, NULL, 10);
}

/* Of the numbers that come next; of each test that includes this file. */
static uint64_t alqi_base_test_state;

/* Begins the numbers of that seed, of the test's own. */
static inline void
alqi_base_test_begin(uint64_t seed)
{
    alqi_base_test_state = seed + alqi_base_test_seed();
}

/* The next number; below n. */
static inline uint64_t
alqi_base_test_below(uint64_t n)
{
    alqi_base_test_state += 0x9E3779B97F4A7C15u;
    return alqi_base_mix(alqi_base_test_state) % n;
}

#endif
