/* limit_trigger.c -- the allocation limit trigger of a thread
 *
 *   unset --set--> set --set NULL, or drop at the thread's end--> unset
 *                   | an allocation passes it           ^
 *                   +--> asking: permit runs, or held --+
 *
 * The thread itself moves the state.  While it is asking, its countdown is
 * parked.  Keeps .inv.limit_trigger, .inv.update and .inv.exact of
 * limit_trigger.h. */
#include <errno.h>

#include "memprof/preload_api.h"
#include "preload/exact.h"
#include "preload/limit_trigger.h"

/* Farther ahead than this no countdown is put. */
static const uint64_t FAR_WORDS = (uint64_t)1 << 40;

/* ---- positions ----------------------------------------------------------- */

static int64_t
without_rearm(int64_t left)
{
    return alqi_preload_is_rearm_due(left) ? left - ALQI_REARM : left;
}

/* In one instruction: a handler's allocation trips before it, or not at all. */
static int64_t
park(void)
{
    return __atomic_exchange_n(&alqi_preload_hot.left_words, ALQI_PARKED,
                               __ATOMIC_RELAXED);
}

/* .pair.handler */
void
alqi_preload_limit_trigger_update(struct alqi_preload_thread *thread)
{
    struct alqi_preload_limit_trigger *t = &thread->limit_trigger;
    int64_t left = park();
    int64_t passed = t->from - without_rearm(left);

    t->words += (uint64_t)passed;
    thread->engine_left_words -= passed;
    t->from = without_rearm(left);
    atomic_signal_fence(memory_order_seq_cst);
    alqi_preload_unpark(thread, left);
}

int64_t
alqi_preload_limit_trigger_left(struct alqi_preload_thread *thread,
                                int64_t left)
{
    const struct alqi_preload_limit_trigger *t = &thread->limit_trigger;
    uint64_t room =
        t->asks || t->words > t->at_words ? 0 : t->at_words - t->words;

    if (room > FAR_WORDS)
        room = FAR_WORDS;
    return left < (int64_t)room ? left : (int64_t)room;
}

void
alqi_preload_limit_trigger_pass(struct alqi_preload_thread *thread,
                                uint64_t words)
{
    if (!alqi_preload_limit_trigger_is_up(thread) ||
        thread->limit_trigger.is_asking)
        return;
    thread->limit_trigger.from -= (int64_t)words;
    thread->engine_left_words -= (int64_t)words;
}

/* ---- asking -------------------------------------------------------------- */

/* The calling thread's state, if its trigger is set and may ask now. */
static struct alqi_preload_thread *
triggered(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (!alqi_preload_limit_trigger_is_here())
        return NULL;
    if (alqi_preload_is_fork_unprepared())
        thread = alqi_preload_fork_child_unprepared();
    return thread->memprof.mode == ALQI_MEMPROF_IDLE &&
                   !thread->limit_trigger.is_asking
               ? thread
               : NULL;
}

/* Settled.  The countdown is parked meanwhile: what a handler or a callback
 * allocates is neither a trial nor asked for. */
static enum alq_status
ask(struct alqi_preload_thread *thread, uint64_t words)
{
    struct alqi_preload_limit_trigger *t = &thread->limit_trigger;
    bool was_rearm_due = alqi_preload_is_rearm_due(alqi_preload_hot.left_words);
    int saved = errno;
    enum alq_status status;

    t->is_asking = true;
    atomic_signal_fence(memory_order_seq_cst); /* .pair.handler */
    alqi_preload_hot.left_words = ALQI_PARKED;
    status = t->hooks->permit(t->arg, words);
    t->is_asking = false;
    alqi_preload_rest(thread, thread->engine_left_words, was_rearm_due);
    errno = saved;
    return status;
}

bool
alqi_preload_limit_trigger_may_slow(uint64_t words)
{
    struct alqi_preload_thread *thread = triggered();
    struct alqi_preload_limit_trigger *t;

    if (thread == NULL)
        return true;
    t = &thread->limit_trigger;
    alqi_preload_limit_trigger_update(thread);
    if (!t->asks && t->words <= t->at_words && words <= t->at_words - t->words)
        return true;
    if (ask(thread, words) == ALQ_OK)
        return true;
    errno = ENOMEM;
    return false;
}

bool
alqi_preload_limit_trigger_asked_slow(uint64_t words)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (triggered() == NULL)
        return true;
    hot->left_words += (int64_t)words;
    if (!alqi_preload_limit_trigger_may_slow(words))
        return false;
    hot->left_words -= (int64_t)words;
    return true;
}

enum alq_status
alqi_preload_limit_trigger_poll(void)
{
    struct alqi_preload_thread *thread = triggered();

    if (thread == NULL)
        return ALQ_OK;
    alqi_preload_limit_trigger_update(thread);
    return ask(thread, 0);
}

void
alqi_preload_limit_trigger_leaves(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (thread == NULL || !thread->limit_trigger.is_asking)
        return;
    thread->limit_trigger.is_asking = false;
    alqi_preload_rest(thread, thread->engine_left_words, true);
}

bool
alqi_preload_limit_trigger_hold(void)
{
    struct alqi_preload_thread *thread = triggered();

    if (thread == NULL)
        return true;
    alqi_preload_limit_trigger_update(thread);
    thread->limit_trigger.is_asking = true;
    atomic_signal_fence(memory_order_seq_cst); /* .pair.handler */
    alqi_preload_hot.left_words = ALQI_PARKED;
    return false;
}

void
alqi_preload_limit_trigger_release(bool was)
{
    if (!was)
        alqi_preload_limit_trigger_leaves();
}

/* ---- set and unset ------------------------------------------------------- */

static bool
is_mine(const struct alqi_preload_limit_trigger *t,
        const struct alqi_preload_limit_trigger_hooks *hooks)
{
    return hooks == NULL || t->hooks == NULL || t->hooks == hooks;
}

static bool
is_busy(const struct alqi_preload_thread *thread)
{
    return thread->memprof.mode != ALQI_MEMPROF_IDLE ||
           thread->limit_trigger.is_asking;
}

bool
alqi_preload_limit_trigger_is_busy(void)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && is_busy(thread);
}

/* The countdown is parked: whoever puts it back, or draws anew, sees. */
static void
move(struct alqi_preload_thread *thread, uint64_t at_words, bool asks)
{
    thread->limit_trigger.at_words = at_words;
    thread->limit_trigger.asks = asks;
    if (!thread->limit_trigger.is_asking)
        alqi_preload_redraw(thread);
}

/* Parked. */
static void
set_parked(struct alqi_preload_thread *thread, int64_t left)
{
    struct alqi_preload_limit_trigger *t = &thread->limit_trigger;

    t->words = 0;
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        return; /* the engine's is beside already */
    t->from = without_rearm(left);
    thread->engine_left_words = t->from;
}

/* A handler that allocates meanwhile does not meet it half changed. */
static void
change(struct alqi_preload_thread *thread,
       const struct alqi_preload_limit_trigger_hooks *hooks, void *arg,
       uint64_t at_words, bool asks)
{
    struct alqi_preload_limit_trigger *t = &thread->limit_trigger;
    int64_t left;

    if (t->hooks != NULL)
        alqi_preload_limit_trigger_update(thread);
    left = park();
    if (t->hooks == NULL)
        set_parked(thread, left);
    t->is_asking = true;
    atomic_signal_fence(memory_order_seq_cst); /* .pair.handler */
    t->hooks = hooks;
    t->arg = arg;
    t->at_words = at_words;
    t->asks = asks;
    atomic_signal_fence(memory_order_seq_cst);
    t->is_asking = false;
    alqi_preload_rest(thread, thread->engine_left_words,
                      alqi_preload_is_rearm_due(left));
}

enum alq_status
alqi_preload_limit_trigger_set(
    const struct alqi_preload_limit_trigger_hooks *hooks, void *arg,
    uint64_t at_words, bool asks)
{
    struct alqi_preload_thread *thread;
    struct alqi_preload_limit_trigger *t;

    if (!atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire))
        return ALQ_ENOHEAP;
    thread = alqi_preload_thread_attach();
    if (thread == NULL)
        return ALQ_ENOMEM;
    t = &thread->limit_trigger;
    if (t->hooks == NULL && hooks == NULL)
        return ALQ_OK;
    if (t->hooks != NULL && t->hooks == hooks && is_busy(thread)) {
        move(thread, at_words, asks);
        return ALQ_OK;
    }
    if (!is_mine(t, hooks) || is_busy(thread))
        return ALQ_EBUSY;
    alqi_preload_limits_begin();
    change(thread, hooks, arg, at_words, asks);
    return ALQ_OK;
}

void
alqi_preload_limit_trigger_drop(struct alqi_preload_thread *thread)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (!alqi_preload_limit_trigger_is_up(thread))
        return;
    thread->limit_trigger.hooks = NULL;
    hot->left_words = alqi_preload_with_rearm(hot->left_words);
}

void *
alqi_preload_limit_trigger_arg(
    const struct alqi_preload_limit_trigger_hooks *hooks)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && hooks != NULL &&
                   thread->limit_trigger.hooks == hooks
               ? thread->limit_trigger.arg
               : NULL;
}

uint64_t
alqi_preload_limit_trigger_words(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (thread == NULL || !alqi_preload_limit_trigger_is_up(thread))
        return 0;
    if (thread->memprof.mode == ALQI_MEMPROF_IDLE &&
        !thread->limit_trigger.is_asking)
        alqi_preload_limit_trigger_update(thread);
    return thread->limit_trigger.words;
}

void
alqi_preload_limit_trigger_sampled(void *heap, uint64_t n_samples,
                                   double interval_words,
                                   const uintptr_t *frames, size_t n_frames)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    (void)heap;
    if (thread != NULL && alqi_preload_limit_trigger_is_up(thread))
        thread->limit_trigger.hooks->sampled(thread->limit_trigger.arg,
                                             n_samples, interval_words, frames,
                                             n_frames);
}
