/* pool_policy.h -- which pool with free slots is filled next
 * [allocation_policy]
 *
 * Pools come into `avail` as sweeping finds them, first the last one.  Where
 * another order is asked for, a list that has changed is sorted when the next
 * pool is taken from it: n log n steps for n pools, once a slice or so.
 *
 * .inv.policy  `avail` is in the order of the policy, or `disordered` is set.
 *             Whoever adds pools uses the functions below. */
#ifndef ALQI_HEAP_POOL_POLICY_H
#define ALQI_HEAP_POOL_POLICY_H

#include "heap/state.h"

/* Adds a swept pool with free slots. */
static inline void
alqi_heap_policy_add(struct alqi_heap_lists *lists, struct alqi_heap_pool *pool)
{
    pool->next = lists->avail;
    lists->avail = pool;
    lists->disordered = true;
}

/* Sorts lists->avail by the policy, which is not ALQ_GC_NEXT_FIT. */
void alqi_heap_policy_sort(struct alqi_heap_lists *lists,
                           enum alq_gc_policy policy);

/* Puts lists->avail in the order of the policy, if it has changed since it was
 * sorted.  Before a pool is taken from it. */
static inline void
alqi_heap_policy_order(const struct alqi_heap *heap,
                       struct alqi_heap_lists *lists)
{
    intptr_t policy = heap->tuning.control.allocation_policy;

    if (ALQI_UNLIKELY(policy != ALQ_GC_NEXT_FIT) && lists->disordered)
        alqi_heap_policy_sort(lists, (enum alq_gc_policy)policy);
}

#endif
