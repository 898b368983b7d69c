/* bare.h -- what a copy of the process asks of the system
 *
 * A copy has one thread of the process's, and the locks as the others left
 * them.  So each call is a system call by the instruction: no libc, no lock, no
 * errno. */
#ifndef ALQI_PLAT_BARE_H
#define ALQI_PLAT_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plat/call.h"

static inline long
alqi_plat_bare_call3(long number, long a, long b, long c)
{
    const long arg[6] = {a, b, c};

    return alqi_plat_call(number, arg);
}

/* Zeroed private pages; NULL: no memory. */
void *alqi_plat_bare_map(size_t bytes);
/* The same, shared with copies of the process. */
void *alqi_plat_bare_map_shared(size_t bytes);
void alqi_plat_bare_unmap(void *pages, size_t bytes);

/* 0, or an errno.  A signal that comes with it is the caller's to block. */
int alqi_plat_bare_write(int fd, const void *bytes, size_t n_bytes);

/* Copies the process, as fork(2) does without the libc: 0 in the copy, which
 * has all signals blocked; its number; or -errno.  Its end sends no signal, and
 * waits pass it over that do not say __WCLONE. */
long alqi_plat_bare_copy(void);
/* In the copy: closes all descriptors but one (-1: all), leaves the working
 * directory, and takes the name aliquot-copy. */
void alqi_plat_bare_begin(int fd);
_Noreturn void alqi_plat_bare_exit(int status);
/* Waits for the copy's end: its exit status; -1: it was killed, or another wait
 * has taken it. */
int alqi_plat_bare_wait(long pid);
/* Waits so long at most: whether it has ended.  True at once where the system
 * cannot wait so. */
bool alqi_plat_bare_wait_ms(long pid, long ms);

/* Kills it; true. */
bool alqi_plat_bare_kill(long pid);

/* CLOCK_MONOTONIC. */
uint64_t alqi_plat_bare_mono_ns(void);

#endif
