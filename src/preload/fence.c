/* fence.c -- see fence.h */
#include <errno.h>

#include "memprof/preload_api.h"
#include "preload/exact.h"
#include "preload/fence.h"

/* Farther ahead than this no countdown is put. */
static const uint64_t FAR_WORDS = (uint64_t)1 << 40;

/* ---- positions ----------------------------------------------------------- */

static int64_t
unkicked(int64_t left)
{
    return alqi_preload_is_kicked(left) ? left - ALQI_KICKED : left;
}

/* In one instruction: a handler's allocation trips before it, or not at all. */
static int64_t
park(void)
{
    return __atomic_exchange_n(&alqi_preload_hot.left_words, ALQI_PARKED,
                               __ATOMIC_RELAXED);
}

void
alqi_preload_fence_settle(struct alqi_preload_thread *thread)
{
    struct alqi_preload_fence *f = &thread->fence;
    int64_t left = park();
    int64_t passed = f->from - unkicked(left);

    f->words += (uint64_t)passed;
    thread->engine_left_words -= passed;
    f->from = unkicked(left);
    atomic_signal_fence(memory_order_seq_cst);
    alqi_preload_unpark(thread, left);
}

int64_t
alqi_preload_fence_left(struct alqi_preload_thread *thread, int64_t left)
{
    const struct alqi_preload_fence *f = &thread->fence;
    uint64_t room =
        f->asks || f->words > f->at_words ? 0 : f->at_words - f->words;

    if (room > FAR_WORDS)
        room = FAR_WORDS;
    return left < (int64_t)room ? left : (int64_t)room;
}

void
alqi_preload_fence_pass(struct alqi_preload_thread *thread, uint64_t words)
{
    if (!alqi_preload_fence_is_up(thread) || thread->fence.is_asking)
        return;
    thread->fence.from -= (int64_t)words;
    thread->engine_left_words -= (int64_t)words;
}

/* ---- asking -------------------------------------------------------------- */

/* The calling thread's state, if it has a fence that may be asked now. */
static struct alqi_preload_thread *
fenced(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (!alqi_preload_fence_is_here())
        return NULL;
    if (alqi_preload_is_stray_fork())
        thread = alqi_preload_fork_child_unprepared();
    return thread->memprof.mode == ALQI_MEMPROF_IDLE && !thread->fence.is_asking
               ? thread
               : NULL;
}

/* Settled.  The countdown is parked meanwhile: what a handler or a callback
 * allocates is neither a trial nor asked for. */
static enum alq_status
ask(struct alqi_preload_thread *thread, uint64_t words)
{
    struct alqi_preload_fence *f = &thread->fence;
    bool was_kicked = alqi_preload_is_kicked(alqi_preload_hot.left_words);
    int saved = errno;
    enum alq_status status;

    f->is_asking = true;
    atomic_signal_fence(memory_order_seq_cst);
    alqi_preload_hot.left_words = ALQI_PARKED;
    status = f->hooks->permit(f->arg, words);
    f->is_asking = false;
    alqi_preload_rest(thread, thread->engine_left_words, was_kicked);
    errno = saved;
    return status;
}

bool
alqi_preload_fence_may_slow(uint64_t words)
{
    struct alqi_preload_thread *thread = fenced();
    struct alqi_preload_fence *f;

    if (thread == NULL)
        return true;
    f = &thread->fence;
    alqi_preload_fence_settle(thread);
    if (!f->asks && f->words <= f->at_words && words <= f->at_words - f->words)
        return true;
    if (ask(thread, words) == ALQ_OK)
        return true;
    errno = ENOMEM;
    return false;
}

bool
alqi_preload_fence_asked_slow(uint64_t words)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (fenced() == NULL)
        return true;
    hot->left_words += (int64_t)words;
    if (!alqi_preload_fence_may_slow(words))
        return false;
    hot->left_words -= (int64_t)words;
    return true;
}

enum alq_status
alqi_preload_fence_poll(void)
{
    struct alqi_preload_thread *thread = fenced();

    if (thread == NULL)
        return ALQ_OK;
    alqi_preload_fence_settle(thread);
    return ask(thread, 0);
}

void
alqi_preload_fence_leaves(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (thread == NULL || !thread->fence.is_asking)
        return;
    thread->fence.is_asking = false;
    alqi_preload_rest(thread, thread->engine_left_words, true);
}

bool
alqi_preload_fence_hold(void)
{
    struct alqi_preload_thread *thread = fenced();

    if (thread == NULL)
        return true;
    alqi_preload_fence_settle(thread);
    thread->fence.is_asking = true;
    atomic_signal_fence(memory_order_seq_cst);
    alqi_preload_hot.left_words = ALQI_PARKED;
    return false;
}

void
alqi_preload_fence_release(bool was)
{
    if (!was)
        alqi_preload_fence_leaves();
}

/* ---- up and down --------------------------------------------------------- */

static bool
is_mine(const struct alqi_preload_fence *f,
        const struct alqi_preload_fence_hooks *hooks)
{
    return hooks == NULL || f->hooks == NULL || f->hooks == hooks;
}

static bool
is_busy(const struct alqi_preload_thread *thread)
{
    return thread->memprof.mode != ALQI_MEMPROF_IDLE || thread->fence.is_asking;
}

bool
alqi_preload_fence_is_busy(void)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && is_busy(thread);
}

/* The countdown is parked: whoever puts it back, or draws anew, sees. */
static void
move(struct alqi_preload_thread *thread, uint64_t at_words, bool asks)
{
    thread->fence.at_words = at_words;
    thread->fence.asks = asks;
    if (!thread->fence.is_asking)
        alqi_preload_redraw(thread);
}

/* Parked. */
static void
put_up(struct alqi_preload_thread *thread, int64_t left)
{
    struct alqi_preload_fence *f = &thread->fence;

    f->words = 0;
    if (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL))
        return; /* the engine's is beside already */
    f->from = unkicked(left);
    thread->engine_left_words = f->from;
}

/* A handler that allocates meanwhile does not meet it half changed. */
static void
change(struct alqi_preload_thread *thread,
       const struct alqi_preload_fence_hooks *hooks, void *arg,
       uint64_t at_words, bool asks)
{
    struct alqi_preload_fence *f = &thread->fence;
    int64_t left;

    if (f->hooks != NULL)
        alqi_preload_fence_settle(thread);
    left = park();
    if (f->hooks == NULL)
        put_up(thread, left);
    f->is_asking = true;
    atomic_signal_fence(memory_order_seq_cst);
    f->hooks = hooks;
    f->arg = arg;
    f->at_words = at_words;
    f->asks = asks;
    atomic_signal_fence(memory_order_seq_cst);
    f->is_asking = false;
    alqi_preload_rest(thread, thread->engine_left_words,
                      alqi_preload_is_kicked(left));
}

enum alq_status
alqi_preload_fence_set(const struct alqi_preload_fence_hooks *hooks, void *arg,
                       uint64_t at_words, bool asks)
{
    struct alqi_preload_thread *thread;
    struct alqi_preload_fence *f;

    if (!atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire))
        return ALQ_ENOHEAP;
    thread = alqi_preload_thread_attach();
    if (thread == NULL)
        return ALQ_ENOMEM;
    f = &thread->fence;
    if (f->hooks == NULL && hooks == NULL)
        return ALQ_OK;
    if (f->hooks != NULL && f->hooks == hooks && is_busy(thread)) {
        move(thread, at_words, asks);
        return ALQ_OK;
    }
    if (!is_mine(f, hooks) || is_busy(thread))
        return ALQ_EBUSY;
    alqi_preload_limits_begin();
    change(thread, hooks, arg, at_words, asks);
    return ALQ_OK;
}

void
alqi_preload_fence_drop(struct alqi_preload_thread *thread)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (!alqi_preload_fence_is_up(thread))
        return;
    thread->fence.hooks = NULL;
    hot->left_words = alqi_preload_kicked(hot->left_words);
}

void *
alqi_preload_fence_arg(const struct alqi_preload_fence_hooks *hooks)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && hooks != NULL && thread->fence.hooks == hooks
               ? thread->fence.arg
               : NULL;
}

uint64_t
alqi_preload_fence_words(void)
{
    struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    if (thread == NULL || !alqi_preload_fence_is_up(thread))
        return 0;
    if (thread->memprof.mode == ALQI_MEMPROF_IDLE && !thread->fence.is_asking)
        alqi_preload_fence_settle(thread);
    return thread->fence.words;
}

void
alqi_preload_fence_sampled(void *heap, uint64_t n_samples,
                           double interval_words, const uintptr_t *frames,
                           size_t n_frames)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    (void)heap;
    if (thread != NULL && alqi_preload_fence_is_up(thread))
        thread->fence.hooks->sampled(thread->fence.arg, n_samples,
                                     interval_words, frames, n_frames);
}
