/* control.c -- start, stop, rate and status of the recorder, while it runs
 *
 *   off --start--> sampling --stop--> stopped --start--> sampling
 *    ^                 '-------- end -------' |
 *    '------------------ close ---------------'
 *
 * An operation runs on the server's thread, or on the thread that the user's
 * signal interrupted.  If that thread is inside the profiler, the toggle waits
 * in alqi_preload_pending until the thread leaves it.
 *
 * .inv.orphan  One operation at a time: it holds the orphan's lock, which fork
 *              takes first, so a child never finds half of one.
 * .inv.parked  An operation runs on a thread that holds none of our locks, with
 *              its countdown parked and its signals blocked: nothing of the
 *              program runs on the thread meanwhile, and what libc allocates
 *              is no trial. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/defaults.h"
#include "preload/control.h"
#include "preload/exact.h"
#include "preload/file.h"
#include "preload/mark.h"
#include "preload/preload.h"
#include "preload/stream.h"
#include "wire/side.h"

#define OUT_DEFAULT "aliquot.%e.%p.alqraw"

/* Toggles that came while their thread was inside the profiler. */
_Atomic(uint32_t) alqi_preload_pending; /* .pair.alone */

/* ---- .inv.parked --------------------------------------------------------- */

struct quiet {
    sigset_t mask;
    int64_t left;
    struct alqi_preload_thread *orphan;
};

bool
alqi_preload_control_is_quiet(void)
{
    const struct alqi_preload_hot *hot = &alqi_preload_hot;

    return !hot->is_orphan_held && !hot->is_controlling &&
           (hot->thread == NULL ||
            hot->thread->memprof.mode == ALQI_MEMPROF_IDLE);
}

/* Brings the calling thread into the state of .inv.parked and .inv.orphan.
 * False, with a reply: no memory. quiet_leave() is due in both cases. */
static bool
quiet_enter(struct quiet *q, char *reply)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &q->mask);
    hot->is_controlling = true;
    q->left = hot->left_words;
    hot->left_words = ALQI_PARKED;
    if (alqi_preload_is_fork_unprepared())
        alqi_preload_fork_child_unprepared();
    q->orphan = alqi_preload_orphan_lock();
    if (q->orphan == NULL)
        snprintf(reply, ALQI_PRELOAD_REPLY_BYTES,
                 "there is no memory for the profiler's tables");
    return q->orphan != NULL;
}

/* Undoes quiet_enter() in reverse.  Signals come last: their handlers find the
 * countdown restored. */
static void
quiet_leave(struct quiet *q)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    alqi_preload_orphan_unlock(q->orphan);
    hot->is_controlling = false;
    if (hot->thread != NULL)
        alqi_preload_unpark(hot->thread, q->left);
    else
        hot->left_words = q->left;
    sigprocmask(SIG_SETMASK, &q->mask, NULL);
}

/* ---- the reply ----------------------------------------------------------- */

/* The reply to each operation that succeeds: state, rate, counters and file as
 * one line of wire/side.h. */
static void
state_put(char *reply)
{
    static const struct {
        const char *key;
        enum alqi_raw_counter counter;
    } counts[] = {
        {"samples", ALQI_RAW_SAMPLES},
        {"frees", ALQI_RAW_FREES},
        {"dropped_nested", ALQI_RAW_DROPPED_NESTED},
        {"dropped_nomem", ALQI_RAW_DROPPED_NOMEM},
        {"dropped_space", ALQI_RAW_DROPPED_SPACE},
        {"dropped_cap", ALQI_RAW_DROPPED_CAP},
        {"lost_frees", ALQI_RAW_LOST_FREES},
    };
    struct alqi_side_line line = {reply, ALQI_PRELOAD_REPLY_BYTES, 0};
    const char *state = "stopped";

    alqi_preload_recorder_drops();
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        state = "exact";
    else if (alqi_preload_recorder_is_on())
        state = "sampling";
    else if (!alqi_preload_stream_has_file())
        state = "off";
    reply[0] = '\0';
    alqi_side_text(&line, "state", state);
    alqi_side_real(&line, "rate", alqi_preload_config.rate);
    for (size_t i = 0; i < ALQI_COUNT_OF(counts); i++)
        alqi_side_number(
            &line, counts[i].key,
            alqi_preload_file_header()->counters[counts[i].counter]);
    alqi_side_text(&line, "file", alqi_preload_file_path());
}

/* ---- operations, within quiet -------------------------------------------- */

/* Exactness is for the whole recording, or it is none. */
static bool
exact_refuse(char *reply)
{
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        return false;
    snprintf(reply, ALQI_PRELOAD_REPLY_BYTES,
             alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL)
                 ? "this process records every block (exact mode); that cannot "
                   "be switched"
                 : "this process began in the exact mode, whose tables are "
                   "full; that cannot be switched");
    return true;
}

/* Starts the recorder, or gives it another rate.  A recording that is made here
 * is flagged LATE: it lacks earlier blocks.  False: the reply says why. */
static bool
recorder_begin(struct quiet *q, double rate, const char *out, char *reply)
{
    bool had_file = alqi_preload_stream_has_file();
    enum alq_status status = alqi_preload_recorder_rate(q->orphan, rate, out);

    if (status == ALQ_OK && !had_file)
        alqi_preload_flag(ALQI_RAW_LATE);
    if (status == ALQ_OK) {
        state_put(reply);
        return true;
    }
    if (status == ALQ_EIO)
        snprintf(reply, ALQI_PRELOAD_REPLY_BYTES,
                 "the process cannot make the recording: %s",
                 alqi_preload_file_error());
    else
        snprintf(reply, ALQI_PRELOAD_REPLY_BYTES, "%s",
                 alq_status_text(status));
    return false;
}

/* Starts the recorder; rate 0: as configured.  `out` names a recording that is
 * still to be made.  A recorder that samples at that rate goes on undisturbed.
 */
static bool
start(struct quiet *q, double rate, const char *out, char *reply)
{
    bool has_file = alqi_preload_stream_has_file();

    if (exact_refuse(reply))
        return false;
    if (out != NULL && has_file) {
        snprintf(reply, ALQI_PRELOAD_REPLY_BYTES,
                 "there is a recording already, %s; a start goes on with it, "
                 "and a snapshot copies it",
                 alqi_preload_file_path());
        return false;
    }
    if (out == NULL && alqi_preload_config.out[0] == '\0')
        out = OUT_DEFAULT;
    if (rate == 0)
        rate = alqi_preload_config.rate;
    if (rate == 0)
        rate = ALQI_DEFAULT_RATE;
    if (alqi_preload_recorder_is_on() && rate == alqi_preload_config.rate) {
        state_put(reply);
        return true;
    }
    return recorder_begin(q, rate, out, reply);
}

/* Stops the recorder, if it samples.  The recording stays open for the next
 * start. */
static bool
stop(struct quiet *q, char *reply)
{
    enum alq_status status = ALQ_OK;

    if (exact_refuse(reply))
        return false;
    if (alqi_preload_recorder_is_on())
        status = alqi_preload_recorder_stop(q->orphan);
    if (status == ALQ_OK) {
        state_put(reply);
        return true;
    }
    snprintf(reply, ALQI_PRELOAD_REPLY_BYTES, "%s", alq_status_text(status));
    return false;
}

bool
alqi_preload_control_start(double rate, const char *out, char *reply)
{
    struct quiet q;
    bool ok = quiet_enter(&q, reply) && start(&q, rate, out, reply);

    quiet_leave(&q);
    return ok;
}

bool
alqi_preload_control_stop(char *reply)
{
    struct quiet q;
    bool ok = quiet_enter(&q, reply) && stop(&q, reply);

    quiet_leave(&q);
    return ok;
}

/* Quiescence takes the orphan's lock itself, so each step has its own quiet. */
bool
alqi_preload_control_end(char *reply)
{
    struct quiet q;
    bool ok = quiet_enter(&q, reply);

    if (ok)
        alqi_preload_recorder_end(q.orphan);
    quiet_leave(&q);
    return ok;
}

bool
alqi_preload_control_close(void)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];
    struct quiet q;
    bool ok = alqi_preload_threads_quiesce_callbacks();

    if (!ok)
        return false;
    ok = quiet_enter(&q, reply);
    if (ok)
        alqi_preload_recorder_close();
    quiet_leave(&q);
    return ok;
}

bool
alqi_preload_control_rate(double rate, char *reply)
{
    struct quiet q;
    bool ok = quiet_enter(&q, reply) && !exact_refuse(reply);

    if (ok && alqi_preload_recorder_is_on()) {
        ok = recorder_begin(&q, rate, NULL, reply);
    } else if (ok) {
        alqi_preload_config.rate = rate;
        state_put(reply);
    }
    quiet_leave(&q);
    return ok;
}

/* The status alone. */
enum alq_status
alqi_preload_control_marks(const char *name)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];
    struct quiet q;
    enum alq_status status =
        quiet_enter(&q, reply) ? alqi_preload_mark(name) : ALQ_ENOMEM;

    quiet_leave(&q);
    return status;
}

bool
alqi_preload_control_mark(const char *name, char *reply)
{
    enum alq_status status = alqi_preload_control_marks(name);

    if (status == ALQ_OK)
        return alqi_preload_control_status(reply);
    snprintf(reply, ALQI_PRELOAD_REPLY_BYTES, "%s",
             status == ALQ_ENOTRUN ? "nothing is recorded: there is no "
                                     "recording that a mark could be in"
             : status == ALQ_ETOOBIG
                 ? "the recording has as many marks as it may have"
                 : alq_status_text(status));
    return false;
}

bool
alqi_preload_control_status(char *reply)
{
    struct quiet q;
    bool ok = quiet_enter(&q, reply);

    if (ok)
        state_put(reply);
    quiet_leave(&q);
    return ok;
}

/* ---- toggle -------------------------------------------------------------- */

/* Logs the result of a toggle: a signal's sender reads no reply. */
static void
toggle_log(bool ok, const char *reply)
{
    char text[ALQI_PRELOAD_REPLY_BYTES], samples[24];

    if (!ok) {
        alqi_preload_log(reply);
        return;
    }
    if (!alqi_preload_recorder_is_on()) {
        alqi_side_get(reply, "samples", samples, sizeof samples);
        snprintf(text, sizeof text, "stopped; %s sampled blocks so far in %s",
                 samples, alqi_preload_file_path());
    } else {
        snprintf(text, sizeof text, "sampling, recorded to %s",
                 alqi_preload_file_path());
    }
    alqi_preload_log(text);
}

/* Stops the recorder if it samples, else starts it.  Requires
 * alqi_preload_control_is_quiet(). */
static void
toggle(void)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];
    struct quiet q;
    bool ok = quiet_enter(&q, reply);

    if (ok)
        ok = alqi_preload_recorder_is_on() ? stop(&q, reply)
                                           : start(&q, 0, NULL, reply);
    toggle_log(ok, reply);
    quiet_leave(&q);
}

void
alqi_preload_pending_run(void)
{
    int saved = errno;

    while (alqi_preload_control_is_quiet() &&
           atomic_load(&alqi_preload_pending) != 0)
        if (atomic_exchange(&alqi_preload_pending, 0) % 2 != 0)
            toggle();
    errno = saved;
}

void
alqi_preload_control_toggle(void)
{
    atomic_fetch_add(&alqi_preload_pending, 1);
    alqi_preload_pending_run();
}
