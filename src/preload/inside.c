/* inside.c -- the recorder switched by the program itself
 *
 * [aliquot/control.h] The operations are control.c's. To end a recording takes
 * two of them, between which threads leave the profiler:
 *
 *   recording --end--> ending --close--> none
 *                        '- close, while threads are inside: the next call
 *                           goes on from here
 *
 * .inv.caller  One call at a time is between the two: a second one is told that
 *              it is busy. Signals are blocked in it.
 * .pair.caller  leave() -> enter(), of the next call: what this one did. */
#include <aliquot/control.h>

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/pattern.h"
#include "preload/control.h"
#include "preload/exact.h"
#include "preload/file.h"
#include "preload/mark.h"
#include "preload/preload.h"
#include "preload/stream.h"

enum { OUT_BYTES = 1024, PATH_BYTES = 1200 };

static struct {
    _Atomic(bool) is_called; /* .inv.caller, .pair.caller; of what
                                follows */
    bool is_ending;
    /* of the recording that ends: it was sampling */
    bool was_on;
} inside;

/* ---- may it be ----------------------------------------------------------- */

static enum alq_status
check(void)
{
    if (!atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire))
        return ALQ_ENOHEAP;
    if (!alqi_preload_control_is_quiet())
        return ALQ_ESTATE;
    return alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF) ? ALQ_OK : ALQ_ENOTSUP;
}

/* ALQ_OK: leave is due. */
static enum alq_status
enter(sigset_t *mask)
{
    enum alq_status status = check();
    sigset_t all;

    if (status != ALQ_OK)
        return status;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, mask);
    if (!atomic_exchange(&inside.is_called, true))
        return ALQ_OK;
    sigprocmask(SIG_SETMASK, mask, NULL);
    return ALQ_EBUSY;
}

static void
leave(const sigset_t *mask)
{
    atomic_store(&inside.is_called, false);
    sigprocmask(SIG_SETMASK, mask, NULL);
}

/* The other thread of the parent that was in a call is not there. */
void
alqi_preload_inside_fork_child(void)
{
    atomic_store(&inside.is_called, false);
    inside.is_ending = false;
}

/* ---- within enter and leave ---------------------------------------------- */

static enum alq_status
start(double rate, const char *out)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];

    if (alqi_preload_control_start(rate, out, reply))
        return ALQ_OK;
    alqi_preload_log(reply);
    return ALQ_EIO;
}

static enum alq_status
end(void)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];

    if (!inside.is_ending) {
        if (!alqi_preload_stream_has_file())
            return ALQ_ENOTRUN;
        inside.was_on = alqi_preload_recorder_is_on();
        if (!alqi_preload_control_end(reply))
            return ALQ_ENOMEM;
        inside.is_ending = true;
    }
    if (!alqi_preload_control_close())
        return ALQ_EBUSY;
    inside.is_ending = false;
    return ALQ_OK;
}

/* The file that has ended goes, if its name still leads to it. */
static enum alq_status
forget(void)
{
    char path[PATH_BYTES], pattern[2 * PATH_BYTES];
    enum alq_status status = end();

    if (status != ALQ_OK)
        return status;
    alqi_preload_file_remove(path, sizeof path);
    alqi_base_pattern_quote(pattern, path, strlen(path));
    return inside.was_on ? start(0, pattern) : ALQ_OK;
}

/* ---- the calls ----------------------------------------------------------- */

enum alq_status
alq_recorder_start(double rate, const char *out)
{
    enum alq_status status;
    sigset_t mask;

    if (!(rate >= 0 && rate <= 1) ||
        (out != NULL && (*out == '\0' || strlen(out) >= OUT_BYTES)))
        return ALQ_EINVAL;
    status = enter(&mask);
    if (status != ALQ_OK)
        return status;
    if (inside.is_ending)
        status = end();
    if (status == ALQ_OK && out != NULL && alqi_preload_stream_has_file())
        status = ALQ_EBUSY;
    if (status == ALQ_OK)
        status = start(rate, out);
    leave(&mask);
    return status;
}

enum alq_status
alq_recorder_stop(void)
{
    char reply[ALQI_PRELOAD_REPLY_BYTES];
    enum alq_status status = check();

    if (status == ALQ_OK && !alqi_preload_control_stop(reply))
        status = ALQ_ENOTSUP; /* it has become exact meanwhile */
    return status;
}

static enum alq_status alone(enum alq_status (*call)(void))
{
    sigset_t mask;
    enum alq_status status = enter(&mask);

    if (status == ALQ_OK) {
        status = call();
        leave(&mask);
    }
    return status;
}

enum alq_status
alq_recorder_end(void)
{
    return alone(end);
}

enum alq_status
alq_recorder_forget(void)
{
    return alone(forget);
}

/* Where system calls may be forbidden no signal can be blocked (.inv.parked):
 * the mark is dropped. */
enum alq_status
alq_recorder_mark(const char *name)
{
    enum alq_status status = ALQ_OK;
    int saved = errno;

    if (name == NULL || *name == '\0')
        return ALQ_EINVAL;
    if (!atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire))
        return ALQ_ENOHEAP;
    if (!alqi_preload_control_is_quiet())
        status = ALQ_ESTATE;
    else if (alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        status = ALQ_ENOTSUP;
    if (status == ALQ_OK)
        status = alqi_preload_control_marks(name);
    else
        alqi_preload_mark_drop();
    errno = saved;
    return status;
}
