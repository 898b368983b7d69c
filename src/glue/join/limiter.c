/* limiter.c -- see limiter.h: the heap as limit's subject, and limit as the
 * hooks of the heap's limit trigger
 *
 * .inv.words  A thread's words are those that its domain allocated while the
 *             thread ran it: `offset` changes when it begins to. */
#include <aliquot/gc.h>

#include "base/base.h"
#include "glue/join/charger.h"
#include "glue/join/limiter.h"
#include "glue/join/profiler.h"
#include "glue/join/task.h"
#include "heap/alloc.h"
#include "heap/limit_heap.h"
#include "heap/major_cycle.h"
#include "heap/limit_trigger.h"
#include "heap/observe.h"
#include "heap/domain_thread.h"
#include "plat/plat.h"

/* ---- the subject -------------------------------------------------------- */

/* Words that the thread has allocated, by .inv.words. */
static uint64_t
words(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    return alqi_heap_limit_trigger_position(l->d) + l->offset;
}

static uint64_t
heap_bytes(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    return alqi_heap_bytes(l->d->heap);
}

/* Collects what could bring a task below its limit, then takes what died off
 * the accounts. Finalisers and callbacks of profiles wait for the next poll. */
static void
collect(void *heap, enum alqi_limit_collection what)
{
    struct alqi_glue_limiter *l = heap;

    if (l->d->heap->life.is_lost)
        return;
    if (what == ALQI_LIMIT_YOUNG) {
        alqi_heap_minor(l->d);
    } else if (what == ALQI_LIMIT_ALL) {
        alqi_heap_major(l->d); /* of what died while it marked, the next one */
        alqi_heap_major(l->d);
    } else {
        alqi_heap_collect_all(l->d);
    }
    alqi_glue_charger_settle(l->d);
}

static void changed(void *heap);

static void
wake_sigsafe(void *heap)
{
    struct alqi_glue_limiter *l = heap;

    alqi_heap_limit_trigger_wake_sigsafe(l->d);
}

static void *
mark(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    return l->d->pub.frames;
}

/* The task is left: its root frames go with it. A sample that was asked for in
 * a request is drawn anew. */
static void
cut(void *heap, void *frames)
{
    struct alqi_glue_limiter *l = heap;

    l->d->pub.frames = frames;
    alqi_heap_observe_redraw_sigsafe(l->d); /* it may be left in a request */
}

/* A task of the heap may always be left. The status is set as after a failed
 * allocation, so that clean-ups have the heap's reserve. */
static bool
leaves(void *heap, const struct alqi_limit_frame *to)
{
    struct alqi_glue_limiter *l = heap;

    (void)to;
    (void)alqi_heap_fail(l->d, ALQ_ELIMIT);
    return true;
}

static enum alq_status
charge_begin(void *heap, uint64_t interval_words, uint64_t seed)
{
    const struct alqi_glue_limiter *l = heap;

    return alqi_glue_charger_begin(l->d, interval_words, seed);
}

static void
charge_end(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    alqi_glue_charger_end(l->d);
}

static const struct alqi_limit_subject subject = {
    .words = words,
    .heap_bytes = heap_bytes,
    .collect = collect,
    .charge_begin = charge_begin,
    .charge_end = charge_end,
    .trigger_changed = changed,
    .wake_sigsafe = wake_sigsafe,
    .root_mark = mark,
    .root_restore = cut,
    .unwound = alqi_glue_task_left,
    .may_unwind = leaves,
    .sample_rate = 1.0 / ALQ_LIMIT_INTERVAL_WORDS,
};

/* ---- the limit trigger -------------------------------------------------- */

/* A request of n words passes the trigger: may the task have them? Allocations
 * of a callback are not the task's. */
static enum alq_status
permit(void *arg, uint64_t n)
{
    struct alqi_glue_limiter *l = arg;

    alqi_glue_task_drop_left(&l->t);
    if (alqi_glue_profiled_is_inside(l->d))
        return ALQ_OK; /* of a callback, not of the task */
    return alqi_limit_permit(&l->t, n);
}

/* As permit(), for memory outside of the heap. */
static enum alq_status
outside(void *arg, uint64_t n, uint64_t *samples)
{
    struct alqi_glue_limiter *l = arg;

    alqi_glue_task_drop_left(&l->t);
    if (alqi_glue_profiled_is_inside(l->d))
        return ALQ_OK;
    return alqi_limit_outside(&l->t, n, samples);
}

static void
outside_made(void *arg, uint64_t samples)
{
    struct alqi_glue_limiter *l = arg;

    alqi_limit_sampled(&l->t, samples, ALQ_LIMIT_INTERVAL_WORDS);
}

/* A token or a timer has woken the thread: the limits are looked at. In a
 * callback nothing is taken off accounts, so the thread is woken once more. */
static void
notice(void *arg)
{
    struct alqi_glue_limiter *l = arg;

    alqi_glue_task_drop_left(&l->t);
    if (alqi_glue_profiled_is_inside(l->d))
        alqi_heap_limit_trigger_wake_sigsafe(l->d);
    else
        alqi_limit_check(&l->t);
}

/* The thread begins to run the domain: its words go on from where they were. */
static void
enter(void *arg)
{
    struct alqi_glue_limiter *l = arg;

    l->offset = l->words - alqi_heap_limit_trigger_position(l->d);
    changed(l);
    alqi_heap_limit_trigger_wake_sigsafe(
        l->d); /* much may have happened meanwhile */
}

/* The thread stops running the domain: its words are kept. */
static void
leave(void *arg)
{
    struct alqi_glue_limiter *l = arg;

    l->words = words(l);
    l->d->pub.is_interrupted = 0; /* the next thread is another */
}

static const struct alqi_heap_limit_trigger_hooks hooks = {
    permit, outside, outside_made, notice, enter, leave};

/* The thread's trigger as a position of its domain; and what the program looks
 * at. */
static void
changed(void *heap)
{
    struct alqi_glue_limiter *l = heap;
    uint64_t at = l->t.trigger_words;

    if (at != ALQ_LIMIT_NONE)
        at -= l->offset;
    alqi_heap_limit_trigger_set(l->d, &hooks, l, at, l->t.asks_each_time);
    l->d->pub.is_interrupted = l->t.is_interrupted;
}

/* ---- of a thread -------------------------------------------------------- */

/* Once a process: code that sets tokens, and the profiler, learn of limits with
 * the first frame, so that programs without limits pay nothing. */
static void
tell_others(void)
{
    if (ALQI_LIKELY(__atomic_load_n(&alqi_limit_wake_all_sigsafe,
                                    __ATOMIC_SEQ_CST) != NULL))
        return;
    alqi_glue_profiler_limits();
    __atomic_store_n(&alqi_limit_wake_all_sigsafe,
                     alqi_heap_limit_trigger_wake_all_sigsafe,
                     __ATOMIC_SEQ_CST);
}

/* The thread's state is initialised once and serves each domain that the thread
 * runs tasks in, one at a time. */
void
alqi_glue_limiter_start(struct alqi_glue_limiter *l, struct alqi_domain *d)
{
    if (l->t.subject == NULL)
        alqi_limit_thread_init(&l->t, &subject, l);
    l->d = d;
    l->offset = 0;
    l->t.domain = &d->pub;
    tell_others();
    alqi_heap_limit_trigger_set(d, &hooks, l, ALQ_LIMIT_NONE, false);
}

void
alqi_glue_limiter_end(struct alqi_glue_limiter *l)
{
    alqi_heap_limit_trigger_set(l->d, NULL, NULL, ALQ_LIMIT_NONE, false);
}
