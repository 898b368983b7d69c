/* control.h -- switching the recorder while the program runs
 *                                                     [doc/design/preload.md]
 *
 * Three ways lead here: the control socket (serve.c), the signal that the user
 * named (signal.c), and what one of them could not do at once (pending). */
#ifndef ALQI_PRELOAD_CONTROL_H
#define ALQI_PRELOAD_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

enum { ALQI_PRELOAD_SAID_BYTES = 4096 };

/* Each writes what became of it to said[]: "state=... rate=... ..." as in
 * wire/side.h, or, when it returns false, why not.  Any thread that holds none
 * of our locks; async-signal-safe. */

/* Samples, at `rate` (0: as before) and, if there is no recording yet, to one
 * named by the pattern `out` (NULL: as configured). */
bool alqi_preload_control_start(double rate, const char *out, char *said);
/* Frees go on being recorded. */
bool alqi_preload_control_stop(char *said);
/* Another rate; of the next start, if nothing is sampled now. */
bool alqi_preload_control_rate(double rate, char *said);
/* Brings the recording's counters up to date. */
bool alqi_preload_control_status(char *said);

/* Starts what is stopped and stops what samples, once the calling thread is
 * out of the profiler; says on stderr what it did.  Async-signal-safe. */
void alqi_preload_control_toggle(void);

/* ---- signal.c ------------------------------------------------------------ */

/* Takes the configured signal, unless someone has it: then says so. */
void alqi_preload_signal_install(void);

/* ---- serve.c ------------------------------------------------------------- */

/* Opens the socket and makes the thread that serves it. */
void alqi_preload_serve(void);

#endif
