/* ticks.c -- see ticks.h */
#include "plat/ticks.h"

#if defined(__x86_64__)
#include <cpuid.h>

enum { LEAF_POWER = 0x80000007, INVARIANT_TSC = 1 << 8 };

bool alqi_plat_has_ticks;

void
alqi_plat_ticks_start(void)
{
    unsigned a, b, c, d;

    alqi_plat_has_ticks =
        __get_cpuid(LEAF_POWER, &a, &b, &c, &d) != 0 && (d & INVARIANT_TSC);
}

void
alqi_plat_ticks_stop(void)
{
    alqi_plat_has_ticks = false;
}
#else
void
alqi_plat_ticks_start(void)
{
}

void
alqi_plat_ticks_stop(void)
{
}
#endif
