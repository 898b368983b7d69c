/* limiter.c -- see limiter.h: the heap as limit's subject, and limit as the
 * hooks of the heap's fence
 *
 * .inv.words  A thread's words are those that its domain allocated while the
 *             thread ran it: `offset` changes when it begins to. */
#include <aliquot/gc.h>

#include "base/base.h"
#include "glue/charger.h"
#include "glue/limiter.h"
#include "glue/profiler.h"
#include "heap/alloc.h"
#include "heap/bound.h"
#include "heap/cycle.h"
#include "heap/fence.h"
#include "heap/observe.h"
#include "heap/thread.h"
#include "plat/plat.h"

/* ---- the subject -------------------------------------------------------- */

static uint64_t
words(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    return alqi_heap_fence_position(l->d) + l->offset;
}

static uint64_t
heap_bytes(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    return alqi_heap_bytes(l->d->heap);
}

/* Finalisers that it finds wait for the next poll, and so do the callbacks of
 * what is dead, before the fence is passed. */
static void
collect(void *heap, enum alqi_limit_collection what)
{
    struct alqi_glue_limiter *l = heap;

    if (what == ALQI_LIMIT_YOUNG) {
        alqi_heap_minor(l->d);
    } else if (what == ALQI_LIMIT_ALL) {
        alqi_heap_major(l->d); /* of what died while it marked, the next one */
        alqi_heap_major(l->d);
    } else {
        alqi_heap_collect_all(l->d);
    }
}

static void changed(void *heap);

static void
wake_sigsafe(void *heap)
{
    struct alqi_glue_limiter *l = heap;

    alqi_heap_fence_wake_sigsafe(l->d);
}

static void *
mark(void *heap)
{
    const struct alqi_glue_limiter *l = heap;

    return l->d->pub.frames;
}

static void
cut(void *heap, void *frames)
{
    struct alqi_glue_limiter *l = heap;

    l->d->pub.frames = frames;
    alqi_heap_observe_redraw_sigsafe(l->d); /* it may be left in a request */
}

/* As after a failure: clean-ups have the heap's reserve. */
static bool
leaves(void *heap, const struct alqi_limit_frame *to)
{
    struct alqi_glue_limiter *l = heap;

    (void)to;
    (void)alqi_heap_fail(l->d, ALQ_ELIMIT);
    return true;
}

static enum alq_status
charge_begin(void *heap, uint64_t interval_words)
{
    const struct alqi_glue_limiter *l = heap;

    return alqi_glue_charger_begin(l->d, interval_words);
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
    .changed = changed,
    .wake_sigsafe = wake_sigsafe,
    .mark = mark,
    .cut = cut,
    .leaves = leaves,
};

/* ---- the fence ---------------------------------------------------------- */

static enum alq_status
permit(void *arg, uint64_t n)
{
    struct alqi_glue_limiter *l = arg;

    if (alqi_glue_profiled_is_inside(l->d))
        return ALQ_OK; /* of a callback, not of the task */
    return alqi_limit_permit(&l->t, n);
}

static void
notice(void *arg)
{
    struct alqi_glue_limiter *l = arg;

    alqi_limit_notice(&l->t);
}

static void
enter(void *arg)
{
    struct alqi_glue_limiter *l = arg;

    l->offset = l->words - alqi_heap_fence_position(l->d);
    changed(l);
    alqi_heap_fence_wake_sigsafe(l->d); /* much may have happened meanwhile */
}

static void
leave(void *arg)
{
    struct alqi_glue_limiter *l = arg;

    l->words = words(l);
    l->d->pub.is_interrupted = 0; /* the next thread is another */
}

static const struct alqi_heap_fence_hooks hooks = {permit, notice, enter,
                                                   leave};

/* The thread's trigger as a position of its domain; and what the program looks
 * at. */
static void
changed(void *heap)
{
    struct alqi_glue_limiter *l = heap;
    uint64_t at = l->t.trigger_words;

    if (at != ALQ_LIMIT_NONE)
        at -= l->offset;
    alqi_heap_fence_set(l->d, &hooks, l, at, l->t.watches);
    l->d->pub.is_interrupted = l->t.is_interrupted;
}

/* ---- of a thread -------------------------------------------------------- */

enum alq_status
alqi_glue_limiter_permit(struct alqi_domain *d, uint64_t n)
{
    return d->fence.hooks != NULL ? permit(d->fence.arg, n) : ALQ_OK;
}

/* ---- samples ------------------------------------------------------------ */

/* The thread in whose name a callback runs is the one that sampled, or, for
 * what the heap itself allocated, one of its domain. */
static int
count_sample(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct alqi_domain *d = alqi_heap_thread_domain();
    struct alqi_glue_limiter *l = d != NULL ? alqi_glue_limiter_of(d) : NULL;

    (void)arg;
    (void)data;
    if (l == NULL)
        return ALQ_TRACK_DROP;
    alqi_limit_sampled(&l->t, alloc->n_samples, ALQ_LIMIT_INTERVAL_WORDS);
    /* At a poll the fence will ask, which has just gone up. */
    return l->is_requesting && alqi_limit_refuses(&l->t)
               ? ALQI_GLUE_LIMITER_CODE
               : ALQ_TRACK_DROP;
}

enum alq_status
alqi_glue_limiter_sample(struct alqi_domain *d, uint64_t seed)
{
    static const struct alq_tracker tracker = {.alloc_minor = count_sample,
                                               .alloc_major = count_sample};
    const struct alq_memprof_config config = {1.0 / ALQ_LIMIT_INTERVAL_WORDS, 0,
                                              seed, 0, 0};

    return seed == 0 && alqi_glue_profiler_samples(d, ALQI_MEMPROF_SLOT_LIMIT)
               ? ALQ_OK
               : alqi_glue_profiler_sample(d, ALQI_MEMPROF_SLOT_LIMIT, &config,
                                           &tracker);
}

/* Who sets tokens, and the profiler, know of limits from the first frame on. */
static void
tell_others(void)
{
    if (ALQI_LIKELY(__atomic_load_n(&alqi_limit_wake_all_sigsafe,
                                    __ATOMIC_SEQ_CST) != NULL))
        return;
    alqi_glue_profiler_limits();
    __atomic_store_n(&alqi_limit_wake_all_sigsafe,
                     alqi_heap_fence_wake_all_sigsafe, __ATOMIC_SEQ_CST);
}

void
alqi_glue_limiter_start(struct alqi_glue_limiter *l, struct alqi_domain *d)
{
    l->d = d;
    l->offset = 0;
    l->is_requesting = false;
    alqi_limit_thread_init(&l->t, &subject, l, &d->pub);
    tell_others();
    alqi_heap_fence_set(d, &hooks, l, ALQ_LIMIT_NONE, false);
}

void
alqi_glue_limiter_end(struct alqi_glue_limiter *l)
{
    alqi_heap_fence_set(l->d, NULL, NULL, ALQ_LIMIT_NONE, false);
}
