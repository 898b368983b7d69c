/* malloc_limiter.c -- see malloc_limiter.h: malloc as limit's subject, and
 * limit as the hooks of the preload's limit trigger
 *
 * .inv.place  The trigger stands at the nearest of: the frame's trigger, and,
 *             while a limit is open that nothing announces (token, time, what
 * is alive), so many words from here that nobody waits for long. */
#include <stdatomic.h>

#include "base/base.h"
#include "glue/join/malloc_limiter.h"
#include "glue/join/profiler.h"
#include "glue/join/task.h"

enum { LOOK_WORDS = 2048 };

static const struct alqi_preload_limit_trigger_hooks hooks;

/* ---- the limit trigger -------------------------------------------------- */

/* Whether a limit is open that no trigger announces. */
static bool
looks(const struct alqi_limit_thread *t)
{
    const struct alqi_limit_frame *f = t->innermost;

    for (; f != NULL; f = f->outer)
        if (f->cause == ALQ_LIMIT_NOT &&
            (f->token != NULL ||
             alqi_limit_is_noticed(f, ALQI_LIMIT_BY_LOOKING)))
            return true;
    return false;
}

/* Puts the trigger where .inv.place wants it. */
void
alqi_glue_malloc_limiter_place(struct alqi_glue_malloc_limiter *l)
{
    uint64_t now = l->api->limit_trigger_words(), at = l->t.trigger_words;

    if (looks(&l->t) && now + LOOK_WORDS < at)
        at = now + LOOK_WORDS;
    (void)l->api->limit_trigger_set(&hooks, l, at,
                                    l->t.asks_each_time || l->is_woken);
}

/* A request passes the trigger: may the task have it? A wake-up is answered by
 * being here. */
static enum alq_status
permit(void *arg, uint64_t words)
{
    struct alqi_glue_malloc_limiter *l = arg;
    enum alq_status status;

    l->is_woken = false;
    alqi_glue_task_drop_left(&l->t);
    l->is_asked = true;
    status = alqi_limit_permit(&l->t, words);
    l->is_asked = false;
    alqi_glue_malloc_limiter_place(l);
    return status;
}

/* A sample of any profile, while a task runs: its stack is kept as one where
 * the task allocates. */
static void
sampled(void *arg, uint64_t n_samples, double interval_words,
        const uintptr_t *frames, size_t n_frames)
{
    struct alqi_glue_malloc_limiter *l = arg;

    alqi_limit_profile_sampled(&l->t, frames, n_frames, n_samples,
                               (double)n_samples * interval_words);
}

static const struct alqi_preload_limit_trigger_hooks hooks = {permit, sampled};

/* ---- the subject -------------------------------------------------------- */

static uint64_t
words(void *heap)
{
    const struct alqi_glue_malloc_limiter *l = heap;

    return l->api->limit_trigger_words();
}

static uint64_t
heap_bytes(void *heap)
{
    const struct alqi_glue_malloc_limiter *l = heap;

    return l->api->live_bytes();
}

/* Nothing to collect: what is dead was freed. */
static void
collect(void *heap, enum alqi_limit_collection what)
{
    (void)heap;
    (void)what;
}

static void
changed(void *heap)
{
    alqi_glue_malloc_limiter_place(heap);
}

/* By the thread itself: there is no timer. The next allocation asks. */
static void
wake(void *heap)
{
    struct alqi_glue_malloc_limiter *l = heap;

    l->is_woken = true;
    alqi_glue_malloc_limiter_place(l);
}

static void *
mark(void *heap)
{
    (void)heap;
    return NULL;
}

static void
cut(void *heap, void *none)
{
    (void)heap;
    (void)none;
}

/* Whether the task may be left by longjmp here; on true the preload is told
 * that its call will not return. */
static bool
leaves(void *heap, const struct alqi_limit_frame *to)
{
    struct alqi_glue_malloc_limiter *l = heap;

    if (!alqi_glue_malloc_may_leave(l, to))
        return false;
    l->is_asked = false;
    l->api->limit_trigger_leaves();
    return true;
}

static const struct alqi_limit_subject subject = {
    .words = words,
    .heap_bytes = heap_bytes,
    .collect = collect,
    .charge_begin = alqi_glue_malloc_charge_begin,
    .charge_end = alqi_glue_malloc_charge_end,
    .trigger_changed = changed,
    .wake_sigsafe = wake,
    .root_mark = mark,
    .root_restore = cut,
    .unwound = alqi_glue_task_left,
    .may_unwind = leaves,
    .polls_often = true,
    .sample_rate = 1.0 / ALQ_LIMIT_INTERVAL_WORDS,
};

/* ---- of a thread -------------------------------------------------------- */

/* Once a thread has had limits: heaps ask without looking for a preload. */
static _Atomic(const struct alqi_preload_api *) used;

/* The argument of this copy's hooks: another copy of the library in the process
 * has its own. */
struct alqi_glue_malloc_limiter *
alqi_glue_malloc_limiter_of(void)
{
    const struct alqi_preload_api *api =
        atomic_load_explicit(&used, memory_order_relaxed);

    return api != NULL ? api->limit_trigger_arg(&hooks) : NULL;
}

/* Until the release, allocations of the thread are not its task's. Returns what
 * release() is to be given; such holds nest. */
bool
alqi_glue_malloc_limiter_hold(void)
{
    struct alqi_glue_malloc_limiter *l = alqi_glue_malloc_limiter_of();
    bool was = l == NULL || l->is_asked || l->api->limit_trigger_hold();

    if (!was)
        l->is_asked = true;
    return was;
}

/* Ends a hold that was not within another one. */
void
alqi_glue_malloc_limiter_release(bool was)
{
    struct alqi_glue_malloc_limiter *l =
        was ? NULL : alqi_glue_malloc_limiter_of();

    if (l == NULL)
        return;
    l->is_asked = false;
    l->api->limit_trigger_release(was);
}

/* Takes the preload's trigger of the calling thread; refused while another copy
 * of the library has it. */
enum alq_status
alqi_glue_malloc_limiter_start(struct alqi_glue_malloc_limiter *l)
{
    enum alq_status status;

    l->api = alqi_glue_preload();
    if (l->api == NULL)
        return ALQ_ENOHEAP;
    atomic_store_explicit(&used, l->api, memory_order_relaxed);
    alqi_glue_profiler_limits();
    if (l->t.subject == NULL)
        alqi_limit_thread_init(&l->t, &subject, l);
    l->is_woken = l->is_asked = false;
    status = l->api->limit_trigger_set(&hooks, l, ALQ_LIMIT_NONE, false);
    return status == ALQ_EBUSY ? ALQ_ESTATE : status;
}

void
alqi_glue_malloc_limiter_end(struct alqi_glue_malloc_limiter *l)
{
    (void)l->api->limit_trigger_set(NULL, NULL, 0, false);
}

bool
alqi_glue_malloc_limiter_opens(const struct alqi_glue_malloc_limiter *l)
{
    return !l->is_asked && !l->api->limit_trigger_is_busy();
}

enum alq_status
alqi_glue_malloc_limiter_ready(struct alqi_glue_malloc_limiter *l,
                               const struct alq_limits *limits)
{
    if (limits == NULL || limits->heap_bytes == ALQ_LIMIT_NONE)
        return ALQ_OK;
    return l->api->live_start(1.0 / ALQ_LIMIT_INTERVAL_WORDS);
}
