/* limit_trigger_check.h -- the allocator's side of limit_trigger.h
 *
 * Each call is one comparison while the trigger is down. */
#ifndef ALQI_HEAP_LIMIT_TRIGGER_CHECK_H
#define ALQI_HEAP_LIMIT_TRIGGER_CHECK_H

#include "heap/state.h"

/* The position: words that the domain has allocated since it began, those in
 * the open minor heap included. */
static inline uint64_t
alqi_heap_limit_trigger_reached(const struct alqi_domain *d)
{
    return d->sums.counts.minor_words + d->sums.counts.direct_words +
           (d->young.end - (uintptr_t)d->pub.young_ptr) / ALQ_WORD_BYTES;
}

/* The trigger as an address: the lowest young_ptr that does not pass it; 0: the
 * open minor heap ends before it. */
static inline uintptr_t
alqi_heap_limit_trigger_address(const struct alqi_domain *d)
{
    uint64_t words = alqi_heap_limit_trigger_reached(d);
    uint64_t left = d->limit_trigger.at_words > words
                        ? d->limit_trigger.at_words - words
                        : 0;
    uintptr_t room =
        ((uintptr_t)d->pub.young_ptr - d->young.start) / ALQ_WORD_BYTES;

    return left < room ? (uintptr_t)d->pub.young_ptr - left * ALQ_WORD_BYTES
                       : 0;
}

enum alq_status alqi_heap_limit_trigger_check_slow(struct alqi_domain *d,
                                                   uint64_t words);

/* Before anything is done for an allocation, or, 0, a poll. */
static inline enum alq_status
alqi_heap_limit_trigger_check(struct alqi_domain *d, uint64_t words)
{
    return ALQI_LIKELY(d->limit_trigger.hooks == NULL)
               ? ALQ_OK
               : alqi_heap_limit_trigger_check_slow(d, words);
}

enum alq_status alqi_heap_limit_trigger_external_slow(struct alqi_domain *d,
                                                      size_t bytes,
                                                      uint64_t *samples);

/* Before a block that holds so much outside of the heap.  *samples is what
 * alqi_heap_limit_trigger_external_made is to be given if the block is made. */
static inline enum alq_status
alqi_heap_limit_trigger_external(struct alqi_domain *d, size_t bytes,
                                 uint64_t *samples)
{
    *samples = 0;
    return ALQI_LIKELY(d->limit_trigger.hooks == NULL) || bytes == 0
               ? ALQ_OK
               : alqi_heap_limit_trigger_external_slow(d, bytes, samples);
}

/* The block is there.  The trigger is the thread's own still, unless its task
 * has taken it down. */
static inline void
alqi_heap_limit_trigger_external_made(struct alqi_domain *d, uint64_t samples)
{
    if (ALQI_UNLIKELY(samples != 0) && d->limit_trigger.hooks != NULL)
        d->limit_trigger.hooks->outside_made(d->limit_trigger.arg, samples);
}

/* The major heap has grown, or may have: notice is called soon.  The limit is
 * reset after this. */
static inline void
alqi_heap_limit_trigger_note_growth(struct alqi_domain *d)
{
    if (ALQI_UNLIKELY(d->limit_trigger.hooks != NULL))
        __atomic_store_n(&d->requests.want_notice, true, __ATOMIC_RELAXED);
}

void alqi_heap_limit_trigger_advance_slow(struct alqi_domain *d);

/* Words were allocated that young_ptr does not tell of: in the minor heap the
 * trigger is as much nearer. */
static inline void
alqi_heap_limit_trigger_advance(struct alqi_domain *d)
{
    if (ALQI_UNLIKELY(d->limit_trigger.hooks != NULL))
        alqi_heap_limit_trigger_advance_slow(d);
}

/* The thread has begun to run the domain: its hooks put its trigger up. */
static inline void
alqi_heap_limit_trigger_enter(struct alqi_domain *d)
{
    const struct alq_thread *thread = d->threads.running;

    if (ALQI_UNLIKELY(thread->limit_trigger != NULL))
        thread->limit_trigger->enter(thread->limit_trigger_arg);
}

/* The thread is about to leave the domain: its trigger goes down. */
static inline void
alqi_heap_limit_trigger_leave(struct alqi_domain *d)
{
    const struct alq_thread *thread = d->threads.running;

    if (ALQI_UNLIKELY(thread->limit_trigger != NULL)) {
        thread->limit_trigger->leave(thread->limit_trigger_arg);
        d->limit_trigger.hooks = NULL;
        d->limit_trigger.arg = NULL;
    }
}

#endif
