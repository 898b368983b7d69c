/* proc.h -- a running process, as the kernel tells of it */
#ifndef ALQI_CLI_TOOL_PROC_H
#define ALQI_CLI_TOOL_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "plat/plat.h"

struct alqi_cli_proc {
    pid_t parent;
    char state;           /* as in ps: 'R', 'S', 'T', 'Z' ... */
    uint64_t start_ticks; /* since boot: tells a reused number apart */
    uint64_t age_us;      /* since it was started */
    uint64_t rss_bytes;   /* resident memory */
    char command[64];     /* the kernel's short name, cleaned */
};

/* False: there is none, or it has ended and only its parent has not looked, or
 * it is ending: it has been killed. */
bool alqi_cli_proc_read(pid_t pid, struct alqi_cli_proc *out);

/* The process's number as the process itself knows it; 0: there is none. */
pid_t alqi_cli_proc_inner_pid(pid_t pid);

/* The number that a process has here which knows itself as inner_pid, and was
 * started then; 0: none runs. */
pid_t alqi_cli_proc_here(pid_t inner_pid, uint64_t start_ticks);

/* A process, or a thread, is no more, or only its number is.  One that has been
 * killed and stands before it ends is there. */
bool alqi_cli_proc_is_over(pid_t pid);

/* A thread of the process that has not ended: the first one may have, and then
 * the process's memory is told of by the others alone.  Its own number, where
 * none is to be seen. */
pid_t alqi_cli_proc_living(pid_t pid);

/* Whether a piece of the process's file in /proc, each ended by `end`, has the
 * text in it. */
bool alqi_cli_proc_has(pid_t pid, const char *file, int end, const char *text);

/* False: there is no process. */
bool alqi_cli_proc_owner(pid_t pid, uid_t *uid);

/* Microseconds of CLOCK_MONOTONIC. */
static inline uint64_t
alqi_cli_mono_us(void)
{
    return alqi_plat_mono_ns_sigsafe() / 1000;
}

#endif
