/* major_balance.h -- load balancing in the phases of the major cycle
 *
 * While some domain is done with the phase's work and another is not, the
 * latter puts some of its work into a queue, at the beginning of a step:
 * ranges to mark, or pools to sweep, which become the sweeper's.  A domain
 * without work takes from the queue before it is done, the giver, too.  So
 * what was given gets done, unless the giver ended.
 *
 * .inv.todo  The phase is over when a stop finds that no domain has work
 *            (cycle.n_busy is 0) and the queue empty.  Outside of a stop
 *            n_busy is a hint: a write barrier may have marked a block that it
 *            has not pushed yet.
 * .inv.given What is in the queue is work of the phase: grey ranges in MARK,
 *            unswept pools in SWEEP. */
#ifndef ALQI_HEAP_MAJOR_BALANCE_H
#define ALQI_HEAP_MAJOR_BALANCE_H

#include "heap/state.h"

bool alqi_heap_balance_open(struct alqi_heap *heap);
void alqi_heap_balance_close(struct alqi_heap *heap);

static inline bool
alqi_heap_balance_is_there(const struct alqi_heap *heap)
{
    return alqi_heap_queue_n(&heap->balance.queue) > 0;
}

/* In a stop the truth. */
static inline bool
alqi_heap_balance_is_over(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->cycle.n_busy, __ATOMIC_SEQ_CST) == 0 &&
           !alqi_heap_balance_is_there(heap);
}

void alqi_heap_balance_give_slow(struct alqi_domain *d);

/* Somebody has nothing to do. */
static inline bool
alqi_heap_balance_is_asked(const struct alqi_heap *heap)
{
    return ALQI_UNLIKELY(
        __atomic_load_n(&heap->cycle.n_busy, __ATOMIC_RELAXED) <
        heap->balance.n_working);
}

static inline void
alqi_heap_balance_give(struct alqi_domain *d)
{
    if (alqi_heap_balance_is_asked(d->heap))
        alqi_heap_balance_give_slow(d);
}

/* The stack is empty, and has room for at least one. */
bool alqi_heap_balance_take(struct alqi_domain *d);

#endif
