/* ticks.h -- the processor's clock: counts up alike on every core
 *
 * Half the price of CLOCK_MONOTONIC.  How long a tick is, is for whoever reads
 * a recording to find out: pairs of ticks and nanoseconds stand in it.  Where
 * the processor has no such clock a tick is a nanosecond. */
#ifndef ALQI_PLAT_TICKS_H
#define ALQI_PLAT_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "plat/plat.h"

/* Looks, once, whether there is such a clock; before the first ticks. */
void alqi_plat_ticks_start(void);
/* Where reading it may be a fault from now on: then time stands still. */
void alqi_plat_ticks_stop(void);

#if defined(__x86_64__)
#pragma GCC visibility push(hidden)
extern bool alqi_plat_has_ticks;
#pragma GCC visibility pop

/* Not ordered with the loads and stores around it, which cost more than its
 * few nanoseconds of error to hold back. */
static inline uint64_t
alqi_plat_ticks_sigsafe(void)
{
    return __builtin_expect(alqi_plat_has_ticks, 1)
               ? __builtin_ia32_rdtsc()
               : alqi_plat_mono_ns_sigsafe();
}
#elif defined(__aarch64__)
static inline uint64_t
alqi_plat_ticks_sigsafe(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
#error "no tick counter for this architecture"
#endif

#endif
