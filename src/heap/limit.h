/* limit.h -- the word that allocation compares with        [doc/design/heap.md]
 *
 * .inv.limit  Anybody may store all ones; only the owner anything else, here.
 */
#ifndef ALQI_HEAP_LIMIT_H
#define ALQI_HEAP_LIMIT_H

#include "heap/state.h"

/* The owner's next allocation or poll takes the slow way. */
static inline void
alqi_heap_limit_raise(struct alqi_domain *d)
{
    __atomic_store_n(&d->pub.young_limit, (char *)UINTPTR_MAX,
                     __ATOMIC_SEQ_CST);
}

static inline void
alqi_heap_limit_reset(struct alqi_domain *d)
{
    uintptr_t limit = d->middle > d->run_start ? d->middle : d->run_start;

    __atomic_store_n(&d->pub.young_limit, (char *)limit, __ATOMIC_SEQ_CST);
    if (d->want_minor || d->want_slice || ALQI_HEAP_IS_HARD)
        alqi_heap_limit_raise(d);
}

#endif
