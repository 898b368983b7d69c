/* minor_escape.h -- whether young blocks have escaped
 * [doc/design/heap.md]
 *
 * A young block has escaped when a domain may reach it that did not allocate
 * it.
 *
 * .inv.private  While has_escaped is not set no domain has a reference to a
 *               young block of another one, and only a domain's own roots and
 *               young blocks lead to its young blocks.
 *
 * A store that lets a young block escape sets has_escaped before it.  Then
 * minor heaps are emptied together, in a stop; at the end of that nothing is
 * young, and the stop takes has_escaped back (tests/models/minor_local.pml). */
#ifndef ALQI_HEAP_SHOWN_H
#define ALQI_HEAP_SHOWN_H

#include "heap/state.h"

/* Before a young value gets to where another domain may find it: who finds it
 * there, by a store that releases, finds this, too. */
static inline void
alqi_heap_escape(struct alqi_heap *heap)
{
    if (!__atomic_load_n(&heap->young.has_escaped, __ATOMIC_RELAXED))
        __atomic_store_n(&heap->young.has_escaped, true, __ATOMIC_RELAXED);
}

/* The fence: what the caller has read of others' stores was escaped before. */
static inline bool
alqi_heap_has_escaped(const struct alqi_heap *heap)
{
#ifndef __SANITIZE_THREAD__ /* which knows no fences */
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
    return __atomic_load_n(&heap->young.has_escaped, __ATOMIC_RELAXED);
}

/* Whether minor heaps are opened for collections by each domain alone: if the
 * last one of all found nothing that was escaped. */
static inline bool
alqi_heap_minor_local_is_usual(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           !heap->young.is_shared;
}

#endif
