/* least.h -- an array of pointers whose first is the least: a binary heap
 *
 * The order is a function of two elements, which the compiler knows where these
 * are called: they are inlined into merges of millions of events. */
#ifndef ALQI_CLI_TOOL_LEAST_H
#define ALQI_CLI_TOOL_LEAST_H

#include <stdbool.h>
#include <stddef.h>

typedef bool alqi_cli_before_fn(const void *a, const void *b);

/* Element i may be too large for its place: moves it down to where it
 * belongs. */
static inline __attribute__((always_inline)) void
alqi_cli_least_sink(void **all, size_t n, size_t i, alqi_cli_before_fn *before)
{
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        void *held = all[i];

        for (size_t k = left; k < left + 2 && k < n; k++)
            if (before(all[k], all[least]))
                least = k;
        if (least == i)
            return;
        all[i] = all[least];
        all[least] = held;
        i = least;
    }
}

/* All n elements may be anywhere. */
static inline void
alqi_cli_least_order(void **all, size_t n, alqi_cli_before_fn *before)
{
    for (size_t i = n / 2; i-- > 0;)
        alqi_cli_least_sink(all, n, i, before);
}

#endif
