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

/* Notifies the aliquot that records this process by the recording's name in
 * its pipe, if that is configured.  False: no process reads the pipe. */
bool alqi_preload_recorder_notify(void);
/* Whether a process reads it. */
bool alqi_preload_recorder_is_there(void);

#pragma GCC visibility pop

#endif
