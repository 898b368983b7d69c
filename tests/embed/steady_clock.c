/* steady_clock.c -- time that is work: for tests that judge what a heap holds
 *
 * Slices are cut by time (heap/major_pace.h, .inv.pace), so how much garbage
 * waits for them depends on the machine's speed, and on what else it runs.  A
 * test that is linked with this, and with -Wl,--wrap=alqi_plat_mono_ns_sigsafe,
 * has a clock in each thread that goes on by LOOK_NS whenever the thread looks
 * at it; a slice looks after each step of its work. */
#include <stdint.h>

#include "plat/plat.h"

/* What a step of a slice takes where nothing else runs, about. */
enum { LOOK_NS = 10000 };

uint64_t __wrap_alqi_plat_mono_ns_sigsafe(void);

uint64_t
__wrap_alqi_plat_mono_ns_sigsafe(void)
{
    static _Thread_local uint64_t now_ns = 1000000000;

    now_ns += LOOK_NS;
    return now_ns;
}
