/* final_alarm.c -- alarms: calls at the end of each major cycle
 *
 * A list a domain.  The end of a cycle makes all alarms due and sets
 * `alarm_next` to the first; the walk calls those that are due, and frees those
 * that the program has deleted.  So a deleted alarm stays in the list until a
 * walk comes by, at the next end of a cycle, or the domain ends.
 *
 * .inv.alarm  An alarm is held by its domain's list, by the program, or by
 *             both.  Each lets go once; the last one frees it.
 *
 * Keeps .inv.calls: Alarms run where finalisers do: final_run.c. */
#include <stdatomic.h>
#include <stdlib.h>

#include "heap/final_alarm.h"
#include "heap/final_request.h"

/* The holders of an alarm; the last one to let go frees it. */
enum { BY_DOMAIN = 1, BY_PROGRAM = 2 };

struct alq_alarm {
    struct alq_alarm *next;
    alq_alarm_fn *fn;
    void *arg;
    bool is_due;
    atomic_uint held; /* .pair.alarm */
};

/* .pair.alarm  let_go() -> let_go(), of the last holder: what the other one
 *              did with the alarm.
 *
 * Takes one holder off the alarm; the last one frees it.  The program may
 * delete an alarm from any thread, so the holders are atomic. */
static void
let_go(struct alq_alarm *alarm, unsigned who)
{
    unsigned held = atomic_fetch_and(&alarm->held, ~who);

    ALQI_ASSERT((held & who) != 0); /* .inv.alarm */
    if (held == who)
        free(alarm);
}

/* Adds the alarm at the end.  A walk that is at the end of the list comes to
 * it, and finds that it is not due. */
static void
append(struct alqi_heap_weak_phase *l, struct alq_alarm *alarm)
{
    if (l->alarms == NULL)
        l->alarms_end = &l->alarms;
    *l->alarms_end = alarm;
    l->alarms_end = &alarm->next;
}

/* Makes an alarm; NULL: no memory.  It is first called at the end of the next
 * cycle. */
struct alq_alarm *
alqi_heap_alarm_new(struct alqi_domain *d, alq_alarm_fn *fn, void *arg)
{
    struct alq_alarm *alarm = calloc(1, sizeof *alarm);

    if (alarm == NULL)
        return NULL;
    alarm->fn = fn;
    alarm->arg = arg;
    atomic_init(&alarm->held, BY_DOMAIN | BY_PROGRAM);
    append(&d->weak_phase, alarm);
    return alarm;
}

void
alqi_heap_alarm_delete(struct alq_alarm *alarm)
{
    let_go(alarm, BY_PROGRAM);
}

/* Makes all alarms due, by the holder of the domain, in the stop that ends the
 * cycle.  Cycles that end inside an alarm's call are left out, else two alarms
 * that collect would call each other for ever. */
void
alqi_heap_alarm_cycle_end_stw(struct alqi_domain *d)
{
    struct alqi_heap_weak_phase *l = &d->weak_phase;
    struct alq_alarm *alarm;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    if (l->n_in_alarms > 0 || l->alarms == NULL)
        return;
    for (alarm = l->alarms; alarm != NULL; alarm = alarm->next)
        alarm->is_due = true;
    l->alarm_next = &l->alarms;
    alqi_heap_final_request(d);
}

/* Calls the alarm.  Calls that let others begin may be around this one, and
 * with several threads end before it does: so alarms under way are counted. */
static enum alq_status
call(struct alqi_domain *d, const struct alq_alarm *alarm)
{
    enum alq_status st;

    ALQI_ASSERT(d->weak_phase.caller == d->threads.running); /* .inv.calls */
    d->weak_phase.n_in_alarms++;
    st = alarm->fn(&d->pub, alarm->arg);
    d->weak_phase.n_in_alarms--;
    return st;
}

/* Takes an alarm out that the program has deleted, and lets go of it. */
static void
unlink_next(struct alqi_heap_weak_phase *l)
{
    struct alq_alarm *alarm = *l->alarm_next;

    *l->alarm_next = alarm->next;
    if (l->alarms_end == &alarm->next)
        l->alarms_end = l->alarm_next;
    let_go(alarm, BY_DOMAIN);
}

/* Calls the next alarm that is due; false: none is.
 *
 * The walk's place is behind the alarm before it is called, since the call may
 * delete it, collect, or have others called. */
bool
alqi_heap_alarm_call(struct alqi_domain *d, enum alq_status *st)
{
    struct alqi_heap_weak_phase *l = &d->weak_phase;
    struct alq_alarm *alarm;

    while (l->alarm_next != NULL && (alarm = *l->alarm_next) != NULL) {
        if ((atomic_load(&alarm->held) & BY_PROGRAM) == 0) {
            unlink_next(l);
            continue;
        }
        l->alarm_next = &alarm->next;
        if (!alarm->is_due)
            continue;
        alarm->is_due = false;
        *st = call(d, alarm);
        return true;
    }
    return false;
}

/* Lets go of all alarms, when the domain ends; those that the program still
 * holds are freed when it deletes them. */
void
alqi_heap_alarm_drop(struct alqi_domain *d)
{
    struct alq_alarm *alarm;

    d->weak_phase.alarm_next = NULL;
    while ((alarm = d->weak_phase.alarms) != NULL) {
        d->weak_phase.alarms = alarm->next;
        let_go(alarm, BY_DOMAIN);
    }
}
