/* fence.h -- a place in a thread's allocation that is not passed unasked
 *
 * The malloc family's counterpart of heap/limit_trigger.h: limits on tasks are
 * built on it, in libaliquot, which this library does not know
 * (memprof/preload_api.h). It costs the fast paths nothing: the countdown
 * stands at the fence or at the engine's next sample, whichever is nearer, and
 * the other one is kept beside.
 *
 *      from                                    countdown 0
 *       |  allocated: from - left  |  left         |
 *       +--------------------------+---------------+--> words
 *       words                                      at_words, or a sample
 *
 * .inv.fence   While it is up its thread allocates no block beyond at_words,
 * and with `asks` none at all, but permit has said ALQ_OK to it; what is
 * allocated in callbacks of profiles, and while permit is asked, is neither
 * asked for nor counted, nor are mappings. .inv.settle  Who stores a new
 * countdown has counted what the old one passed (settle); who stores the old
 * one again has not. .inv.exact   Kicks keep the countdown readable
 * (alqi_preload_kicked). */
#ifndef ALQI_PRELOAD_FENCE_H
#define ALQI_PRELOAD_FENCE_H

#include "preload/preload.h"

#pragma GCC visibility push(hidden)

static inline bool
alqi_preload_fence_is_up(const struct alqi_preload_thread *thread)
{
    return ALQI_UNLIKELY(thread->fence.hooks != NULL);
}

/* May the calling thread allocate so many words, which are not in its countdown
 * yet (may), or are (asked), and are taken out of it if not?  errno is then
 * ENOMEM.  May not return. */
bool alqi_preload_fence_may_slow(uint64_t words);
bool alqi_preload_fence_asked_slow(uint64_t words);

static inline bool
alqi_preload_fence_is_here(void)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && alqi_preload_fence_is_up(thread);
}

static inline bool
alqi_preload_fence_may(uint64_t words)
{
    return !alqi_preload_fence_is_here() || alqi_preload_fence_may_slow(words);
}

static inline bool
alqi_preload_fence_asked(uint64_t words)
{
    return !alqi_preload_fence_is_here() ||
           alqi_preload_fence_asked_slow(words);
}

/* Brings the fence's words, and the engine's countdown beside it, up to now.
 * The countdown is not parked. */
void alqi_preload_fence_settle(struct alqi_preload_thread *thread);

/* Where the countdown is to stand when the engine wants it at `left`. */
int64_t alqi_preload_fence_left(struct alqi_preload_thread *thread,
                                int64_t left);

/* So many words of the countdown are about to be no malloc's. */
void alqi_preload_fence_pass(struct alqi_preload_thread *thread,
                             uint64_t words);

/* Of a task that the thread has left by pthread_exit. */
void alqi_preload_fence_drop(struct alqi_preload_thread *thread);

/* subject.sampled */
void alqi_preload_fence_sampled(void *heap, uint64_t n_samples,
                                double interval_words, const uintptr_t *frames,
                                size_t n_frames);

/* For libaliquot: memprof/preload_api.h. */
enum alq_status
alqi_preload_fence_set(const struct alqi_preload_fence_hooks *hooks, void *arg,
                       uint64_t at_words, bool asks);
void *alqi_preload_fence_arg(const struct alqi_preload_fence_hooks *hooks);
uint64_t alqi_preload_fence_words(void);
bool alqi_preload_fence_is_busy(void);
enum alq_status alqi_preload_fence_poll(void);
void alqi_preload_fence_leaves(void);
bool alqi_preload_fence_hold(void);
void alqi_preload_fence_release(bool was);

#pragma GCC visibility pop

#endif
