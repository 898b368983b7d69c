/* limit_trigger.h -- where a thread's allocation asks a limit for permission
 *
 * The malloc family's counterpart of heap/limit_trigger.h: limits on tasks are
 * built on it, in libaliquot, which this library does not know
 * (memprof/preload_api.h).  The fast paths pay nothing: the countdown stands at
 * the trigger or at the engine's next sample, whichever is nearer, and the
 * other distance is kept beside (engine_left_words).
 *
 *      from                                    countdown 0
 *       |  allocated: from - left  |  left         |
 *       +--------------------------+---------------+--> words
 *       words                                      at_words, or a sample
 *
 * .inv.limit_trigger  While the trigger is set, its thread allocates a block
 *             beyond at_words, and with `asks` any block, only after permit has
 *             returned ALQ_OK for it.  Blocks allocated in callbacks of
 * profiles and while permit runs, and mappings, are not asked for and not
 *             counted.
 * .inv.update Before a new countdown is stored, the words that the old one
 *             passed are counted (update).  A parked countdown that is put back
 *             unchanged needs no count.
 * .inv.exact  A re-arm request keeps the countdown readable
 *             (alqi_preload_with_rearm). */
#ifndef ALQI_PRELOAD_LIMIT_TRIGGER_H
#define ALQI_PRELOAD_LIMIT_TRIGGER_H

#include "preload/preload.h"

#pragma GCC visibility push(hidden)

static inline bool
alqi_preload_limit_trigger_is_up(const struct alqi_preload_thread *thread)
{
    return ALQI_UNLIKELY(thread->limit_trigger.hooks != NULL);
}

/* Whether the calling thread may allocate so many words.  may: the countdown
 * has not passed the words yet; asked: it has, and a refusal takes them out
 * again. False: errno is ENOMEM.  May not return. */
bool alqi_preload_limit_trigger_may_slow(uint64_t words);
bool alqi_preload_limit_trigger_asked_slow(uint64_t words);

static inline bool
alqi_preload_limit_trigger_is_here(void)
{
    const struct alqi_preload_thread *thread = alqi_preload_hot.thread;

    return thread != NULL && alqi_preload_limit_trigger_is_up(thread);
}

static inline bool
alqi_preload_limit_trigger_may(uint64_t words)
{
    return !alqi_preload_limit_trigger_is_here() ||
           alqi_preload_limit_trigger_may_slow(words);
}

static inline bool
alqi_preload_limit_trigger_asked(uint64_t words)
{
    return !alqi_preload_limit_trigger_is_here() ||
           alqi_preload_limit_trigger_asked_slow(words);
}

/* Counts the words that the countdown has passed, in the trigger's words and in
 * the engine's countdown.  The countdown is not parked. */
void alqi_preload_limit_trigger_update(struct alqi_preload_thread *thread);

/* Where the countdown is to stand when the engine wants it at `left`. */
int64_t alqi_preload_limit_trigger_left(struct alqi_preload_thread *thread,
                                        int64_t left);

/* So many words that the countdown will pass are not allocated by malloc. */
void alqi_preload_limit_trigger_pass(struct alqi_preload_thread *thread,
                                     uint64_t words);

/* Unsets the trigger of a task that the thread has left by pthread_exit. */
void alqi_preload_limit_trigger_drop(struct alqi_preload_thread *thread);

/* subject.sampled */
void alqi_preload_limit_trigger_sampled(void *heap, uint64_t n_samples,
                                        double interval_words,
                                        const uintptr_t *frames,
                                        size_t n_frames);

/* For libaliquot: memprof/preload_api.h. */
enum alq_status alqi_preload_limit_trigger_set(
    const struct alqi_preload_limit_trigger_hooks *hooks, void *arg,
    uint64_t at_words, bool asks);
void *alqi_preload_limit_trigger_arg(
    const struct alqi_preload_limit_trigger_hooks *hooks);
uint64_t alqi_preload_limit_trigger_words(void);
bool alqi_preload_limit_trigger_is_busy(void);
enum alq_status alqi_preload_limit_trigger_poll(void);
void alqi_preload_limit_trigger_leaves(void);
bool alqi_preload_limit_trigger_hold(void);
void alqi_preload_limit_trigger_release(bool was);

#pragma GCC visibility pop

#endif
