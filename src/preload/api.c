/* api.c -- <aliquot/memprof.h> for this process's malloc, as libaliquot sees it
 *
 * Each call runs on the calling thread's state, attached if need be.  A thread
 * that is ending, or has no memory for a state, borrows the orphan's.
 *
 *   outside --enter: the countdown is parked--> in a call --leave--> outside
 *
 * .inv.borrow  Between enter and leave a borrowed orphan is locked; no call
 *              keeps it. */
#include <aliquot/control.h>

#include "memprof/preload_api.h"
#include "preload/limit_trigger.h"
#include "preload/file.h"
#include "preload/live.h"
#include "preload/preload.h"

static bool
is_up(void)
{
    return atomic_load_explicit(&alqi_preload_is_up, memory_order_acquire);
}

/* The state to act on, its countdown parked; *left is for leave.  NULL, with
 * *status, when there is none. */
static struct alqi_preload_thread *
enter(int64_t *left, enum alq_status *status)
{
    struct alqi_preload_thread *thread;

    *status = ALQ_ENOHEAP; /* before start-up, or switched off by it */
    if (!is_up())
        return NULL;
    *status = ALQ_ENOMEM;
    thread = alqi_preload_thread_attach();

    if (thread == NULL)
        thread = alqi_preload_orphan_lock();
    if (thread != NULL)
        *left = alqi_preload_park(thread);
    return thread;
}

static void
leave(struct alqi_preload_thread *thread, int64_t left)
{
    alqi_preload_unpark(thread, left);
    if (thread->hot == NULL)
        alqi_preload_orphan_unlock(thread);
}

/* The function's result is that of a call within enter and leave, on the thread
 * that the call names. */
#define RETURN_WITHIN(thread, call)                                            \
    int64_t left;                                                              \
    enum alq_status status;                                                    \
    struct alqi_preload_thread *thread = enter(&left, &status);                \
                                                                               \
    if (thread != NULL) {                                                      \
        status = (call);                                                       \
        leave(thread, left);                                                   \
    }                                                                          \
    return status

static enum alq_status
api_start(const struct alq_memprof_config *config,
          const struct alq_tracker *tracker, struct alq_profile **out)
{
    RETURN_WITHIN(thread, alqi_memprof_start(
                              alqi_preload_domain, &thread->memprof,
                              ALQI_MEMPROF_SLOT_USER, config, tracker, out));
}

/* Starts a profile that the threads which this one creates take over.  Refused
 * on the orphan's state: a thread without a state of its own creates none that
 * could be covered. */
static enum alq_status
api_tree_start(const struct alq_memprof_config *config,
               const struct alq_tracker *tracker, struct alq_profile **out)
{
    int64_t left;
    enum alq_status status;
    struct alqi_preload_thread *thread = enter(&left, &status);

    if (thread == NULL)
        return status;
    if (thread->hot == NULL) { /* the orphan is nobody's creator */
        status = ALQ_ENOMEM;
    } else {
        status =
            alqi_memprof_start(alqi_preload_domain, &thread->memprof,
                               ALQI_MEMPROF_SLOT_TREE, config, tracker, out);
        alqi_preload_redraw(thread);
    }
    leave(thread, left);
    return status;
}

static enum alq_status
stop(enum alqi_memprof_slot slot)
{
    RETURN_WITHIN(
        thread, alqi_memprof_stop(alqi_preload_domain, &thread->memprof, slot));
}

static enum alq_status
api_stop(void)
{
    return stop(ALQI_MEMPROF_SLOT_USER);
}

static enum alq_status
api_tree_stop(void)
{
    return stop(ALQI_MEMPROF_SLOT_TREE);
}

static enum alq_status
api_profile_stop(struct alq_profile *profile)
{
    RETURN_WITHIN(thread, alqi_memprof_profile_stop(&thread->memprof, profile));
}

static enum alq_status
api_discard(struct alq_profile *profile)
{
    RETURN_WITHIN(thread, alqi_memprof_discard(&thread->memprof, profile));
}

static enum alq_status
api_flush(int *code)
{
    RETURN_WITHIN(thread, alqi_memprof_flush(&thread->memprof, code));
}

static int
api_is_sampling(void)
{
    return is_up() && alqi_memprof_is_sampling(alqi_preload_domain,
                                               ALQI_MEMPROF_SLOT_USER);
}

static int
api_tree_is_sampling(void)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && alqi_memprof_tree_is_sampling(&thread->memprof);
}

static enum alq_status
api_each(struct alq_profile *profile,
         int (*visit)(void *arg, const struct alq_allocation *alloc,
                      uintptr_t data),
         void *arg)
{
    RETURN_WITHIN(thread,
                  alqi_memprof_each(&thread->memprof, profile, visit, arg));
}

/* The last reference's way back to the pool takes a lock. */
static void
api_drop(struct alq_profile *profile)
{
    uint32_t was = alqi_preload_bypass_begin();

    alqi_memprof_profile_drop(profile);
    alqi_preload_bypass_end(was);
}

/* What a managed heap of this process is to record, and the path of its
 * recording.  False: the configuration asks for none. */
static bool
api_heap_trace(char *path, size_t capacity, double *rate,
               size_t *callstack_frames, uint64_t *seed)
{
    const struct alqi_preload_config *c = &alqi_preload_config;

    if (!is_up() || !c->is_tracing_heap || c->is_off || !(c->rate > 0))
        return false;
    *rate = c->is_exact ? 1 : c->rate;
    *callstack_frames = c->depth_frames;
    *seed = c->seed;
    return alqi_preload_heap_name(path, capacity);
}

static bool
api_heap_holders(void)
{
    return alqi_preload_config.has_leaks;
}

static enum alq_status
api_live_start(double rate)
{
    RETURN_WITHIN(thread, alqi_preload_live_start(thread, rate));
}

static bool
api_heap_control(char *path, size_t capacity)
{
    const struct alqi_preload_config *c = &alqi_preload_config;

    return is_up() && c->is_tracing_heap && c->has_control &&
           alqi_preload_heap_name(path, capacity);
}

ALQI_EXPORT const struct alqi_preload_api alq_preload_api = {
    .version = ALQI_PRELOAD_API_VERSION,
    .bytes = sizeof(struct alqi_preload_api),
    .start = api_start,
    .stop = api_stop,
    .discard = api_discard,
    .flush = api_flush,
    .is_sampling = api_is_sampling,
    .each = api_each,
    .counts = alqi_memprof_counts,
    .seed = alqi_memprof_seed,
    .drop = api_drop,
    .tree_start = api_tree_start,
    .tree_stop = api_tree_stop,
    .tree_is_sampling = api_tree_is_sampling,
    .profile_stop = api_profile_stop,
    .heap_trace = api_heap_trace,
    .limit_trigger_set = alqi_preload_limit_trigger_set,
    .limit_trigger_arg = alqi_preload_limit_trigger_arg,
    .limit_trigger_words = alqi_preload_limit_trigger_words,
    .limit_trigger_is_busy = alqi_preload_limit_trigger_is_busy,
    .limit_trigger_poll = alqi_preload_limit_trigger_poll,
    .limit_trigger_leaves = alqi_preload_limit_trigger_leaves,
    .limit_trigger_hold = alqi_preload_limit_trigger_hold,
    .limit_trigger_release = alqi_preload_limit_trigger_release,
    .live_start = api_live_start,
    .live_bytes = alqi_preload_live_bytes,
    .heap_control = api_heap_control,
    .recorder_start = alq_recorder_start,
    .recorder_stop = alq_recorder_stop,
    .recorder_end = alq_recorder_end,
    .recorder_forget = alq_recorder_forget,
    .recorder_mark = alq_recorder_mark,
    .heap_holders = api_heap_holders,
};
