#include <stdatomic.h>
#include <stdlib.h>

#include "heap/alarm.h"
#include "heap/ask.h"

/* Who holds it; the last one to let go frees it. */
enum { BY_DOMAIN = 1, BY_PROGRAM = 2 };

struct alq_alarm {
    struct alq_alarm *next;
    alq_alarm_fn *fn;
    void *arg;
    atomic_uint held;
};

static void
let_go(struct alq_alarm *alarm, unsigned who)
{
    if (atomic_fetch_and(&alarm->held, ~who) == who)
        free(alarm);
}

static void
push(struct alq_alarm **list, struct alq_alarm *alarm)
{
    alarm->next = *list;
    *list = alarm;
}

static struct alq_alarm *
pop(struct alq_alarm **list)
{
    struct alq_alarm *alarm = *list;

    if (alarm != NULL)
        *list = alarm->next;
    return alarm;
}

struct alq_alarm *
alqi_heap_alarm_new(struct alqi_domain *d, alq_alarm_fn *fn, void *arg)
{
    struct alq_alarm *alarm = calloc(1, sizeof *alarm);

    if (alarm == NULL)
        return NULL;
    alarm->fn = fn;
    alarm->arg = arg;
    atomic_init(&alarm->held, BY_DOMAIN | BY_PROGRAM);
    push(&d->live.alarms, alarm);
    return alarm;
}

void
alqi_heap_alarm_delete(struct alq_alarm *alarm)
{
    let_go(alarm, BY_PROGRAM);
}

/* Each list is the other one in reverse: calls are in the order of creation. */
void
alqi_heap_alarm_cycle_end(struct alqi_domain *d)
{
    struct alq_alarm *alarm;

    if (d->live.in_alarm)
        return;
    while ((alarm = pop(&d->live.alarms)) != NULL)
        push(&d->live.alarms_due, alarm);
    if (d->live.alarms_due != NULL)
        alqi_heap_ask(d);
}

/* It waits again before it is called: it may delete itself then. */
static enum alq_status
call(struct alqi_domain *d, struct alq_alarm *alarm)
{
    enum alq_status st;

    push(&d->live.alarms, alarm);
    d->live.in_alarm = true;
    st = alarm->fn(&d->pub, alarm->arg);
    d->live.in_alarm = false;
    return st;
}

bool
alqi_heap_alarm_call(struct alqi_domain *d, enum alq_status *st)
{
    struct alq_alarm *alarm;

    while ((alarm = pop(&d->live.alarms_due)) != NULL) {
        if ((atomic_load(&alarm->held) & BY_PROGRAM) == 0) {
            let_go(alarm, BY_DOMAIN);
            continue;
        }
        *st = call(d, alarm);
        return true;
    }
    return false;
}

void
alqi_heap_alarm_drop(struct alqi_domain *d)
{
    struct alq_alarm *alarm;

    while ((alarm = pop(&d->live.alarms)) != NULL ||
           (alarm = pop(&d->live.alarms_due)) != NULL)
        let_go(alarm, BY_DOMAIN);
}
