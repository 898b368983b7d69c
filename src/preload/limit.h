/* limit.h -- limits on the whole process: ALIQUOT=limit_live=...,
 * limit_alloc=...
 */
#ifndef ALQI_PRELOAD_LIMIT_H
#define ALQI_PRELOAD_LIMIT_H

#include "preload/preload.h"

#pragma GCC visibility push(hidden)

/* Counts what they are about from now on, if any is configured. */
void alqi_preload_limit_start(void);

/* Does what is to be done about limits that are due (live.h).  The thread is
 * outside the engine.  errno is preserved; may not return. */
void alqi_preload_limit_reached(struct alqi_preload_thread *thread);

#pragma GCC visibility pop

#endif
