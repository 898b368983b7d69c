/* final.c -- <aliquot/final.h>: finalisers and alarms, arguments checked
 *
 * A finaliser is an entry of the domain's list for its kind (src/heap/final.h);
 * an alarm is a block of its own, which is deleted once. Nothing is kept
 * here. */
#include <aliquot/final.h>

#include "heap/final_alarm.h"
#include "heap/final_run.h"
#include "heap/final.h"

/* OCaml's tags of a suspension that is forced, is not yet, and was. */
enum { TAG_FORCING = 244, TAG_LAZY = 246, TAG_FORWARD = 250 };

/* Whether a block cannot have a finaliser: a static one never dies, and a
 * double or a lazy value may stand elsewhere as another block or unboxed. */
static bool
is_refused(alq_value v)
{
    if (alqi_heap_colour(alq_header(v)) == ALQI_HEAP_COLOUR_STATIC)
        return true;
    switch (alq_tag(v)) {
    case ALQ_TAG_DOUBLE:
    case TAG_FORCING:
    case TAG_LAZY:
    case TAG_FORWARD:
        return true;
    default:
        return false;
    }
}

static enum alq_status
finalise(struct alq_domain *d, enum alqi_heap_final_kind kind, alq_value v,
         alq_finalise_fn *fn, alq_value with)
{
    struct alqi_heap_final_entry entry = {v, with, fn};

    if (d == NULL || fn == NULL || !alq_is_block(v) || is_refused(v))
        return ALQ_EINVAL;
    return alqi_heap_final_add(alqi_heap_domain(d), kind, &entry) ? ALQ_OK
                                                                  : ALQ_ENOMEM;
}

enum alq_status
alq_gc_finalise(struct alq_domain *d, alq_value v, alq_finalise_fn *fn,
                alq_value with)
{
    return finalise(d, ALQI_HEAP_FINAL_FIRST, v, fn, with);
}

enum alq_status
alq_gc_finalise_last(struct alq_domain *d, alq_value v, alq_finalise_fn *fn,
                     alq_value with)
{
    return finalise(d, ALQI_HEAP_FINAL_LAST, v, fn, with);
}

void
alq_gc_finalise_release(struct alq_domain *d)
{
    if (d != NULL)
        alqi_heap_final_release(alqi_heap_domain(d));
}

enum alq_status
alq_gc_create_alarm(struct alq_domain *d, alq_alarm_fn *fn, void *arg,
                    struct alq_alarm **out)
{
    struct alq_alarm *alarm;

    if (d == NULL || fn == NULL || out == NULL)
        return ALQ_EINVAL;
    alarm = alqi_heap_alarm_new(alqi_heap_domain(d), fn, arg);
    if (alarm == NULL)
        return ALQ_ENOMEM;
    *out = alarm;
    return ALQ_OK;
}

/* The exchange lets one of several callers delete: the pointer is the caller's
 * variable, which is NULL afterwards. */
void
alq_gc_delete_alarm(struct alq_alarm **alarm)
{
    struct alq_alarm *was;

    if (alarm == NULL)
        return;
    was = __atomic_exchange_n(alarm, NULL, __ATOMIC_ACQ_REL);
    if (was != NULL)
        alqi_heap_alarm_delete(was);
}
