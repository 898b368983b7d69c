/* still.h -- the other threads of the process stand still, by a signal
 *                                                    [doc/design/leaks.md]
 *
 * For a copy of the process where no command may stop it from outside. */
#ifndef ALQI_PRELOAD_STILL_H
#define ALQI_PRELOAD_STILL_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/copy.h"

struct alqi_preload_still;

/* Brings the other threads to stand: 0, or an errno, and then none stands.  Of
 * the calling thread's memory and locks nothing may be held by others: what it
 * does until _end is system calls by the instruction.  One caller at a time. */
int alqi_preload_still_begin(struct alqi_preload_still **out);
/* Lets them go. */
void alqi_preload_still_end(struct alqi_preload_still *still);

/* So many threads did not come to stand within the time. */
uint32_t alqi_preload_still_unknown(const struct alqi_preload_still *still);
/* The calling thread's number and thread pointer. */
void alqi_preload_still_caller(const struct alqi_preload_still *still,
                               struct alqi_copy_thread *out);
/* The next thread that stands; *at is 0 at first.  False: there is no more. */
bool alqi_preload_still_thread(const struct alqi_preload_still *still,
                               uint32_t *at, struct alqi_copy_thread *out);

#endif
