/* control.c -- see control.h
 *
 * .inv.orphan  One operation at a time: it holds the orphan's lock, which fork
 *              takes first, so a child never meets half of one.
 * .inv.quiet   An operation runs on a thread that holds none of our locks, with
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
#include "preload/preload.h"
#include "preload/stream.h"
#include "wire/side.h"

#define OUT_DEFAULT "aliquot.%e.%p.alqraw"

/* Toggles that came while their thread was inside the profiler. */
_Atomic(uint32_t) alqi_preload_pending;

/* ---- .inv.quiet ---------------------------------------------------------- */

struct quiet {
    sigset_t mask;
    int64_t left;
    struct alqi_preload_thread *orphan;
};

static bool
is_quiet(void)
{
    const struct alqi_preload_hot *hot = &alqi_preload_hot;

    return !hot->is_orphan_held && !hot->is_controlling &&
           (hot->thread == NULL ||
            hot->thread->memprof.mode == ALQI_MEMPROF_IDLE);
}

static bool
quiet_enter(struct quiet *q, char *said)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &q->mask);
    hot->is_controlling = true;
    q->left = hot->left_words;
    hot->left_words = ALQI_PARKED;
    if (alqi_preload_is_stray_fork())
        alqi_preload_fork_child_unprepared();
    q->orphan = alqi_preload_orphan_lock();
    if (q->orphan == NULL)
        snprintf(said, ALQI_PRELOAD_SAID_BYTES,
                 "there is no memory for the profiler's tables");
    return q->orphan != NULL;
}

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

/* ---- what is said -------------------------------------------------------- */

static size_t
put(char *said, size_t n, const char *key, const char *value)
{
    return alqi_side_put(said, ALQI_PRELOAD_SAID_BYTES, n, key, value);
}

static size_t
put_count(char *said, size_t n, const char *key, enum alqi_raw_counter counter)
{
    char text[24];

    snprintf(text, sizeof text, "%llu",
             (unsigned long long)alqi_preload_file_header()->counters[counter]);
    return put(said, n, key, text);
}

static void
state_say(char *said)
{
    const char *state = "stopped";
    char text[40];
    size_t n;

    alqi_preload_recorder_drops();
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        state = "exact";
    else if (alqi_preload_recorder_is_on())
        state = "sampling";
    else if (!alqi_preload_stream_has_file())
        state = "off";
    said[0] = '\0';
    n = put(said, 0, "state", state);
    snprintf(text, sizeof text, "%.17g", alqi_preload_config.rate);
    n = put(said, n, "rate", text);
    n = put_count(said, n, "samples", ALQI_RAW_SAMPLES);
    n = put_count(said, n, "frees", ALQI_RAW_FREES);
    n = put_count(said, n, "dropped_nested", ALQI_RAW_DROPPED_NESTED);
    n = put_count(said, n, "dropped_nomem", ALQI_RAW_DROPPED_NOMEM);
    n = put_count(said, n, "dropped_space", ALQI_RAW_DROPPED_SPACE);
    n = put_count(said, n, "dropped_cap", ALQI_RAW_DROPPED_CAP);
    n = put_count(said, n, "lost_frees", ALQI_RAW_LOST_FREES);
    put(said, n, "file", alqi_preload_file_path());
}

/* ---- operations, within quiet -------------------------------------------- */

/* Exactness is for the whole recording, or it is none. */
static bool
exact_refuse(char *said)
{
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF))
        return false;
    snprintf(said, ALQI_PRELOAD_SAID_BYTES,
             alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL)
                 ? "this process records every block (exact mode); that cannot "
                   "be switched"
                 : "this process began in the exact mode, whose tables are "
                   "full; that cannot be switched");
    return true;
}

static bool
recorder_begin(struct quiet *q, double rate, const char *out, char *said)
{
    bool had_file = alqi_preload_stream_has_file();
    enum alq_status status = alqi_preload_recorder_rate(q->orphan, rate, out);

    if (status == ALQ_OK && !had_file)
        alqi_preload_flag(ALQI_RAW_LATE);
    if (status == ALQ_OK) {
        state_say(said);
        return true;
    }
    if (status == ALQ_EIO)
        snprintf(said, ALQI_PRELOAD_SAID_BYTES,
                 "the process cannot make the recording: %s",
                 alqi_preload_file_error());
    else
        snprintf(said, ALQI_PRELOAD_SAID_BYTES, "%s", alq_status_text(status));
    return false;
}

static bool
start(struct quiet *q, double rate, const char *out, char *said)
{
    bool has_file = alqi_preload_stream_has_file();

    if (exact_refuse(said))
        return false;
    if (out != NULL && has_file) {
        snprintf(said, ALQI_PRELOAD_SAID_BYTES,
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
        state_say(said);
        return true;
    }
    return recorder_begin(q, rate, out, said);
}

static bool
stop(struct quiet *q, char *said)
{
    enum alq_status status = ALQ_OK;

    if (exact_refuse(said))
        return false;
    if (alqi_preload_recorder_is_on())
        status = alqi_preload_recorder_stop(q->orphan);
    if (status == ALQ_OK) {
        state_say(said);
        return true;
    }
    snprintf(said, ALQI_PRELOAD_SAID_BYTES, "%s", alq_status_text(status));
    return false;
}

bool
alqi_preload_control_start(double rate, const char *out, char *said)
{
    struct quiet q;
    bool ok = quiet_enter(&q, said) && start(&q, rate, out, said);

    quiet_leave(&q);
    return ok;
}

bool
alqi_preload_control_stop(char *said)
{
    struct quiet q;
    bool ok = quiet_enter(&q, said) && stop(&q, said);

    quiet_leave(&q);
    return ok;
}

bool
alqi_preload_control_rate(double rate, char *said)
{
    struct quiet q;
    bool ok = quiet_enter(&q, said) && !exact_refuse(said);

    if (ok && alqi_preload_recorder_is_on()) {
        ok = recorder_begin(&q, rate, NULL, said);
    } else if (ok) {
        alqi_preload_config.rate = rate;
        state_say(said);
    }
    quiet_leave(&q);
    return ok;
}

bool
alqi_preload_control_status(char *said)
{
    struct quiet q;
    bool ok = quiet_enter(&q, said);

    if (ok)
        state_say(said);
    quiet_leave(&q);
    return ok;
}

/* ---- toggle -------------------------------------------------------------- */

static void
toggle_say(bool ok, const char *said)
{
    char text[ALQI_PRELOAD_SAID_BYTES], samples[24];

    if (!ok) {
        alqi_preload_say(said);
        return;
    }
    if (!alqi_preload_recorder_is_on()) {
        alqi_side_get(said, "samples", samples, sizeof samples);
        snprintf(text, sizeof text, "stopped; %s sampled blocks so far in %s",
                 samples, alqi_preload_file_path());
    } else {
        snprintf(text, sizeof text, "sampling, recorded to %s",
                 alqi_preload_file_path());
    }
    alqi_preload_say(text);
}

static void
toggle(void)
{
    char said[ALQI_PRELOAD_SAID_BYTES];
    struct quiet q;
    bool ok = quiet_enter(&q, said);

    if (ok)
        ok = alqi_preload_recorder_is_on() ? stop(&q, said)
                                           : start(&q, 0, NULL, said);
    toggle_say(ok, said);
    quiet_leave(&q);
}

void
alqi_preload_pending_run(void)
{
    int saved = errno;

    while (is_quiet() && atomic_load(&alqi_preload_pending) != 0)
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
