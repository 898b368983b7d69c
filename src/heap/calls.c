#include "heap/alarm.h"
#include "heap/ask.h"
#include "heap/calls.h"
#include "heap/final.h"

/* Finalisers before alarms. */
static bool
call_next(struct alqi_domain *d, enum alq_status *st)
{
    struct alqi_heap_final_entry call;

    if (!alqi_heap_final_take(d, &call))
        return alqi_heap_alarm_call(d, st);
    *st = call.fn(&d->pub, call.value, call.with);
    return true;
}

enum alq_status
alqi_heap_calls_run(struct alqi_domain *d)
{
    struct alqi_heap_live *l = &d->live;
    enum alq_status st = ALQ_OK;
    bool more;

    if (!l->want_calls)
        return ALQ_OK;
    do {
        l->want_calls = false;
        l->running = true;
        more = call_next(d, &st);
        l->running = false;
    } while (more && st == ALQ_OK);
    if (more)
        alqi_heap_ask(d);
    return st;
}

void
alqi_heap_calls_release(struct alqi_domain *d)
{
    if (!d->live.running)
        return;
    d->live.running = false;
    alqi_heap_ask(d);
}
