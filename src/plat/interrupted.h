/* interrupted.h -- waits in the system that come back for nothing (signal(7))
 *
 * With EINTR, and nothing done yet: so they may be made again as they were. */
#ifndef ALQI_PLAT_INTERRUPTED_H
#define ALQI_PLAT_INTERRUPTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "base/base.h"

#if defined(__x86_64__)

static inline bool
alqi_plat_is_call_of(unsigned long call, const uint16_t *calls, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* By a stop, as by a signal: those of sockets, where a timeout is set. */
static inline bool
alqi_plat_is_given_up_by_stop(unsigned long call)
{
    static const uint16_t calls[] = {
        SYS_epoll_wait,   SYS_epoll_pwait,     SYS_epoll_pwait2,
        SYS_semop,        SYS_rt_sigtimedwait, SYS_semtimedop,
        SYS_io_getevents, SYS_io_pgetevents,   SYS_read,
        SYS_write,        SYS_recvfrom,        SYS_recvmsg,
        SYS_recvmmsg,     SYS_sendto,          SYS_sendmsg,
        SYS_accept,       SYS_accept4,         SYS_connect};

    return alqi_plat_is_call_of(call, calls, ALQI_COUNT_OF(calls));
}

/* By a signal that has a handler, one that has other calls made again. */
static inline bool
alqi_plat_is_given_up_by_handler(unsigned long call)
{
    static const uint16_t calls[] = {
        SYS_poll,   SYS_ppoll,         SYS_select,    SYS_pselect6,
        SYS_pause,  SYS_rt_sigsuspend, SYS_nanosleep, SYS_clock_nanosleep,
        SYS_msgsnd, SYS_msgrcv,        SYS_futex};

    return alqi_plat_is_given_up_by_stop(call) ||
           alqi_plat_is_call_of(call, calls, ALQI_COUNT_OF(calls));
}

#endif

#endif
