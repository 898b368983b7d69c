/* control.h -- switching the recorder while the program runs
 *                                                     [doc/design/preload.md]
 *
 * The callers are the control server (serve.c), the handler of the user's
 * signal (signal.c), and a thread that leaves the profiler with a toggle
 * pending. */
#ifndef ALQI_PRELOAD_CONTROL_H
#define ALQI_PRELOAD_CONTROL_H

#include <aliquot/status.h>
#include <stdbool.h>

enum { ALQI_PRELOAD_REPLY_BYTES = 4096 };

/* Each writes the state to reply[], of ALQI_PRELOAD_REPLY_BYTES: "state=...
 * rate=... ..." as in wire/request.h; or, when it returns false, why not.  Any
 * thread that holds none of our locks; async-signal-safe. */

/* Samples, at `rate` (0: as before) and, if there is no recording yet, to one
 * named by the pattern `out` (NULL: as configured). */
bool alqi_preload_control_start(double rate, const char *out, char *reply);
/* Frees go on being recorded. */
bool alqi_preload_control_stop(char *reply);
/* Ends the recording (attach.c): no event is written any more but by threads
 * that are inside the profiler. */
bool alqi_preload_control_end(char *reply);
/* Unmaps the ended recording; false: a thread was inside all the time. */
bool alqi_preload_control_close(void);
/* Another rate; of the next start, if nothing is sampled now. */
bool alqi_preload_control_rate(double rate, char *reply);
/* A phase begins (mark.h). */
bool alqi_preload_control_mark(const char *name, char *reply);
enum alq_status alqi_preload_control_marks(const char *name);
/* Brings the recording's counters up to date. */
bool alqi_preload_control_status(char *reply);

/* Whether the calling thread may call these: it is out of the profiler, and
 * holds none of our locks. */
bool alqi_preload_control_is_quiet(void);

/* Starts a stopped recorder and stops one that samples, once the calling thread
 * is out of the profiler; logs what it did.  Async-signal-safe. */
void alqi_preload_control_toggle(void);

/* ---- inside.c ------------------------------------------------------------ */

void alqi_preload_inside_fork_child(void);

/* ---- signal.c ------------------------------------------------------------ */

/* Takes the configured signal; logs it where the program has a handler. */
void alqi_preload_signal_install(void);

#endif
