/* pool_policy.c -- sorts the pools with free slots, for allocation_policy
 *
 * First fit fills the pool of the lowest address next, best fit the one with
 * the fewest free slots.  A bottom-up merge sort of the linked list `avail`,
 * once for each change, when the next pool is taken: no memory is needed, and
 * no recursion.
 *
 * Keeps .inv.policy: Sorting leaves the list in order. */
#include "heap/pool_policy.h"

/* The order of two pools.  Addresses decide between equals, so the order is
 * total. */
static bool
is_before(const struct alqi_heap_pool *a, const struct alqi_heap_pool *b,
          enum alq_gc_policy policy)
{
    if (policy == ALQ_GC_BEST_FIT && a->n_free != b->n_free)
        return a->n_free < b->n_free;
    return a < b;
}

/* Merges two sorted lists; of equals those of `a` come first. */
static struct alqi_heap_pool *
merge(struct alqi_heap_pool *a, struct alqi_heap_pool *b,
      enum alq_gc_policy policy)
{
    struct alqi_heap_pool *first = NULL, **end = &first;

    while (a != NULL && b != NULL) {
        struct alqi_heap_pool **from = is_before(b, a, policy) ? &b : &a;

        *end = *from;
        end = &(*from)->next;
        *from = (*from)->next;
    }
    *end = a != NULL ? a : b;
    return first;
}

/* Whether the list is in the policy's order. */
static bool
is_sorted(const struct alqi_heap_pool *pool, enum alq_gc_policy policy)
{
    for (; pool != NULL && pool->next != NULL; pool = pool->next)
        if (!is_before(pool, pool->next, policy))
            return false;
    return true;
}

/* Sorts `avail`.  sorted[i] has 2^i pools or none, as the digits of a number,
 * and each pool is an addition of one with its carries. */
void
alqi_heap_policy_sort(struct alqi_heap_lists *lists, enum alq_gc_policy policy)
{
    struct alqi_heap_pool *sorted[48] = {NULL}, *all = NULL;
    unsigned i;

    while (lists->avail != NULL) {
        struct alqi_heap_pool *run = lists->avail;

        lists->avail = run->next;
        run->next = NULL;
        for (i = 0; sorted[i] != NULL; i++) {
            run = merge(sorted[i], run, policy);
            sorted[i] = NULL;
        }
        sorted[i] = run;
    }
    for (i = 0; i < ALQI_COUNT_OF(sorted); i++)
        all = merge(sorted[i], all, policy);
    lists->avail = all;
    lists->disordered = false;
    if (ALQI_CHECKS >= 2)
        ALQI_ASSERT(is_sorted(all, policy)); /* .inv.policy */
}
