/* copy.h -- what a command calls in the process     [doc/design/leaks.md] */
#ifndef ALQI_PRELOAD_COPY_H
#define ALQI_PRELOAD_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/copy.h"

extern struct alqi_copy_told alq_copy_told;

void alq_copy_make(const char *reader);

/* A copy of the process, which is no child of it, runs that, which does not
 * return; it has the caller's mask of signals.  The copy's
 * number, or -errno.  System calls by the instruction alone. */
typedef void alqi_preload_copy_fn(void *arg);
long alqi_preload_copy_clone(alqi_preload_copy_fn *run, void *arg);

/* In the copy: takes away what its functions have left on the stack below them,
 * for addresses of blocks are not the program's there. */
void alqi_preload_copy_wipe(void);

/* Sends a copy of the process through the connected socket (wire/copy.h), which
 * stays the caller's to close.  False: text, of n bytes, says why not; else
 * all has been said.  The caller holds no lock of ours; all of its signals are
 * blocked. */
bool alqi_preload_copy_send(int fd, char *text, size_t n);

/* Sends a copy to a command that has asked for it in the recording's header.
 * Any thread that records, in a malloc, too. */
void alqi_preload_copy_look(void);

#endif
