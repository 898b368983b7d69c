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

static inline uint64_t
alqi_base_test_seed(void)
{
    const char *given = getenv("ALQ_TEST_SEED");

    if (given == NULL)
        return 0;
    fprintf(stderr, "ALQ_TEST_SEED=%s\n", given);
    return strtoull(given, NULL, 10);
}

#endif
