/* final_run.c -- runs the finalisers and alarms that are due
 *
 * Finalisers come first, then alarms, one at a time, until one fails; the
 * rest stays due.
 *
 *   caller:  NULL -> thread T, at a call's begin -> NULL, when that call
 *            releases or returns
 *
 * The calls of one thread nest, so T's innermost call alone can be the one that
 * has not released.  A call that has released may return while another thread's
 * call runs: it leaves `caller`, and what is due, to that thread.
 *
 * Keeps .inv.calls: No call begins while another one runs that has not
 *   released. */
#include "heap/final_alarm.h"
#include "heap/final_request.h"
#include "heap/final_run.h"
#include "heap/event.h"
#include "heap/final.h"
#include "heap/observe_calls.h"
#include "heap/stop_handshake.h"

/* Calls the next finaliser that is due, or alarm if there is none; false:
 * nothing is due. */
static bool
call_next(struct alqi_domain *d, enum alq_status *st)
{
    struct alqi_heap_final_entry call;

    if (!alqi_heap_final_take(d, &call))
        return alqi_heap_alarm_call(d, st);
    *st = call.fn(&d->pub, call.value, call.with);
    return true;
}

/* Calls what is due until nothing is, or a call fails; returns that status, and
 * the rest stays due.
 *
 * want_calls is cleared before each call, so a request that comes during it is
 * not lost.  `caller` keeps other calls from beginning (.inv.calls); if another
 * thread's call has begun meanwhile, that thread goes on with what is due.  The
 * limit trigger is held back: a task that has to stop must not stop inside a
 * finaliser, which belongs to no task. */
static enum alq_status
call_all(struct alqi_domain *d)
{
    struct alqi_heap_weak_phase *l = &d->weak_phase;
    struct alq_thread *thread = d->threads.running;
    enum alq_status st = ALQ_OK;
    uint64_t n = 0;
    bool more;

    alqi_heap_event_log(d, ALQ_EVENT_FINALISE, ALQ_EVENT_BEGIN, 0, 0);
    do {
        ALQI_ASSERT(l->caller == NULL); /* .inv.calls */
        l->want_calls = false;
        l->caller = thread;
        l->n_calls++;
        thread->n_calls++;
        thread->limit_trigger_held++;
        more = call_next(d, &st);
        thread->limit_trigger_held--;
        thread->n_calls--;
        l->n_calls--;
        if (l->caller == thread)
            l->caller = NULL;
        n += more;
    } while (more && st == ALQ_OK && l->caller == NULL);
    alqi_heap_event_log(d, ALQ_EVENT_FINALISE, ALQ_EVENT_END, n, 0);
    if (more)
        alqi_heap_final_request(d);
    return st;
}

/* Serves what waits for the domain's thread: handshakes, then the observer,
 * then calls.  If the observer fails, calls stay due for the next poll. */
enum alq_status
alqi_heap_final_run(struct alqi_domain *d)
{
    enum alq_status st = ALQ_OK;

    ALQI_ASSERT(
        !alqi_heap_event_is_inside(d)); /* .inv.calls: in no collection */
    alqi_heap_handshake_serve(d);
    if (alqi_heap_observe_wants(&d->observed))
        st = alqi_heap_observed_poll(d);
    return st == ALQ_OK && d->weak_phase.want_calls ? call_all(d) : st;
}

/* Lets other calls begin before the calling thread's ends.  What became due
 * meanwhile has not been asked for, so it is asked for here. */
void
alqi_heap_final_release(struct alqi_domain *d)
{
    if (d->weak_phase.caller == NULL ||
        d->weak_phase.caller != d->threads.running)
        return;
    d->weak_phase.caller = NULL;
    alqi_heap_final_request(d);
}
