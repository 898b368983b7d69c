/* minor_escape.h -- whether domains know young blocks of others
 * [doc/design/heap.md]
 *
 * .inv.private  While `escaped` is not set no domain has a reference to a young
 *               block of another one, and nothing but a domain's own roots and
 *               young blocks leads to its young blocks.
 *
 * What would show a young block to others sets it before it does so.  Then
 * minor heaps are emptied together, in a stop; at the end of that nothing is
 * young, and it is taken back (tests/models/minor_local.pml). */
#ifndef ALQI_HEAP_SHOWN_H
#define ALQI_HEAP_SHOWN_H

#include "heap/state.h"

/* Before a young value gets to where another domain may find it: who finds it
 * there, by a store that releases, finds this, too. */
static inline void
alqi_heap_escape(struct alqi_heap *heap)
{
    if (!__atomic_load_n(&heap->has_escaped, __ATOMIC_RELAXED))
        __atomic_store_n(&heap->has_escaped, true, __ATOMIC_RELAXED);
}

/* The fence: what the caller has read of others' stores was escaped before. */
static inline bool
alqi_heap_has_escaped(const struct alqi_heap *heap)
{
#ifndef __SANITIZE_THREAD__ /* which knows no fences */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    return __atomic_load_n(&heap->has_escaped, __ATOMIC_RELAXED);
}

/* Whether minor heaps are opened for collections by each domain alone: if the
 * last one of all found nothing that was escaped. */
static inline bool
alqi_heap_minor_local_is_usual(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           !heap->is_shared;
}

#endif
