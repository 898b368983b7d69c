/* mark.h -- the program's phases in the recording        [doc/design/marks.md]
 *
 * Keeps .inv.phase (preload/mark.c): the calls, but for alqi_preload_mark_drop,
 * are made within an operation of control.c. */
#ifndef ALQI_PRELOAD_MARK_H
#define ALQI_PRELOAD_MARK_H

#include <aliquot/status.h>

/* A phase begins.  ALQ_EINVAL: the name is empty; ALQ_ENOTRUN: there is no
 * recording; ALQ_ETOOBIG: it has as many as it may have; ALQ_EIO: it has no
 * room.  The last two are counted in the recording. */
enum alq_status alqi_preload_mark(const char *name);

/* Counts one that is not in the recording. */
void alqi_preload_mark_drop(void);

/* What comes next is another recording. */
void alqi_preload_mark_close(void);
void alqi_preload_mark_fork_child(void);

#endif
