/* confine.c -- a program that forbids itself system calls [doc/design/preload]
 *
 * A filter (seccomp) is installed by prctl, or by syscall, for which the C
 * library has no function of its own.  Both stand here, so that the recorder
 * hears of it before, maps what it will need, and then keeps to .inv.few
 * (file.h).  One that is installed by the bare instruction is not seen:
 * `reserve` is for that, and confines from the start.
 *
 *   FREE -> FEW_CALLS   a filter is about to be installed, or `reserve`
 *   any  -> NO_CALLS    the strict mode: read, write and exit are left
 *   back                the call that was to install it has failed
 *
 * .inv.ready   What FEW_CALLS forbids is done, or given up, before the filter
 *              is there: the server has ended, exact streams write ticks.
 * .inv.lost    In NO_CALLS there is no new chunk, and no frame whose page was
 *              not read before: samples are lost, and counted. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "plat/call.h"
#include "preload/control.h"
#include "preload/exact.h"
#include "preload/file.h"
#include "preload/preload.h"

enum {
    FILE_BYTES = 256 << 20, /* of the recording, holes at first */
    FILE_BYTES_LEAST = 1 << 20,
    MEMORY_BYTES = 16 << 20
};

/* Reserves room in the recording, and memory, while the process may still map
 * any (.inv.ready).  Takes less where the disk has less; none is no error. */
static void
space_reserve(void)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;
    size_t bytes = FILE_BYTES;

    if (thread != NULL && thread->memprof.mode != ALQI_MEMPROF_IDLE)
        return; /* a handler: it may have interrupted the lock's holder */
    while (!alqi_preload_file_reserve(bytes) && bytes > FILE_BYTES_LEAST)
        bytes /= 2;
    (void)alqi_plat_pages_reserve(MEMORY_BYTES, false);
}

void
alqi_preload_confine(enum alqi_plat_confinement how)
{
    if (alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE) {
        int saved = errno;

        alqi_preload_serve_stop();
        if (!alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
            alqi_preload_exact_confine();
        if (alqi_preload_config.reserve_bytes == 0)
            space_reserve();
        errno = saved;
    }
    alqi_preload_flag(ALQI_RAW_CONFINED);
    alqi_plat_confine(how);
}

/* ---- the calls ----------------------------------------------------------- */

/* What the call would leave of system calls. */
static enum alqi_plat_confinement
confinement_by(long number, const long arg[6])
{
    bool is_filter, is_strict;

    if (number == SYS_prctl && arg[0] == PR_SET_SECCOMP) {
        is_strict = arg[1] == SECCOMP_MODE_STRICT;
        is_filter = arg[1] == SECCOMP_MODE_FILTER;
    } else {
        is_strict = number == SYS_seccomp && arg[0] == SECCOMP_SET_MODE_STRICT;
        is_filter = number == SYS_seccomp && arg[0] == SECCOMP_SET_MODE_FILTER;
    }
    if (is_strict)
        return ALQI_PLAT_NO_CALLS;
    return is_filter ? ALQI_PLAT_FEW_CALLS : ALQI_PLAT_FREE;
}

/* Makes a system call for the program.  Before a call that confines the process
 * the profiler is confined, since afterwards it could not prepare; if the call
 * fails, the former state comes back. */
static long
call(long number, const long arg[6])
{
    enum alqi_plat_confinement before = alqi_plat_confinement_sigsafe();
    enum alqi_plat_confinement then = confinement_by(number, arg);
    long result;

    if (ALQI_UNLIKELY(then > before) &&
        atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire))
        alqi_preload_confine(then);
    result = alqi_plat_call(number, arg);
    if (ALQI_LIKELY(result >= 0 || result < -4095))
        return result;
    if (then > before)
        alqi_plat_confine(before);
    errno = (int)-result;
    return -1;
}

/* prctl and syscall as the library's, but that their arguments have names: each
 * call takes as many as there may be, and the kernel looks at those that the
 * call knows. */
ALQI_EXPORT int preload_prctl(int option, long a, long b, long c,
                              long d) __asm__("prctl");
ALQI_EXPORT long preload_syscall(long number, long a, long b, long c, long d,
                                 long e, long f) __asm__("syscall");

int
preload_prctl(int option, long a, long b, long c, long d)
{
    return (int)call(SYS_prctl, (const long[6]){option, a, b, c, d});
}

long
preload_syscall(long number, long a, long b, long c, long d, long e, long f)
{
    return call(number, (const long[6]){a, b, c, d, e, f});
}
