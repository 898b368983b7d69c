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
 * young, and the stop takes has_escaped back (tests/models/minor_local.pml).
 *
 * .pair.escape  alqi_heap_escape(), then a store that releases the block ->
 *               alqi_heap_has_escaped(), behind a fence and what was read: the
 *               flag (tests/models/minor_local_weak.pml). */
#ifndef ALQI_HEAP_MINOR_ESCAPE_H
#define ALQI_HEAP_MINOR_ESCAPE_H

#include "heap/state.h"

/* Notes that young blocks escape; the caller then stores one where another
 * domain may find it, by a store that releases.  So a domain that finds the
 * block finds the flag, too.  The flag is read first because it is written
 * rarely, and a store would take the cache line from all others. */
static inline void
alqi_heap_escape(struct alqi_heap *heap)
{
    if (!__atomic_load_n(&heap->young.has_escaped, __ATOMIC_RELAXED))
        __atomic_store_n(&heap->young.has_escaped, true, __ATOMIC_RELAXED);
}

/* What the caller has read comes before what it does next (.pair.escape).
 * ThreadSanitizer knows no fences: without this one it takes each field for an
 * atomic one. */
static inline void
alqi_heap_fence_acquire(void)
{
#ifndef __SANITIZE_THREAD__
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
#endif
}

/* Whether a young block may have escaped.  The fence: if the caller has read a
 * value of another domain's, that domain's flag is read here, too. */
static inline bool
alqi_heap_has_escaped(const struct alqi_heap *heap)
{
    alqi_heap_fence_acquire();
    return __atomic_load_n(&heap->young.has_escaped, __ATOMIC_RELAXED);
}

/* Whether the minor heaps are opened for collections by each domain alone:
 * there are several domains, and the last stop found that no young block had
 * escaped and no work that needs a stop. */
static inline bool
alqi_heap_minor_local_is_usual(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           !heap->young.is_shared;
}

#endif
