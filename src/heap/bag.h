/* bag.h -- spans that anybody may take: work that its finder gives away
 *
 * One short lock, held for the copying of a few spans. */
#ifndef ALQI_HEAP_BAG_H
#define ALQI_HEAP_BAG_H

#include "plat/plat.h"

struct alqi_heap_span { /* of words */
    uintptr_t start;
    uintptr_t end;
};

struct alqi_heap_bag {
    struct alqi_plat_lock lock;
    _Atomic(size_t) n; /* changed under the lock, looked at by anybody */
    size_t size;
    struct alqi_heap_span *spans;
};

/* Makes the empty bag one of at least `size` spans; false: no memory, and it is
 * as it was.  The caller is alone with it. */
bool alqi_heap_bag_ready(struct alqi_heap_bag *bag, size_t size);
void alqi_heap_bag_close(struct alqi_heap_bag *bag);

/* How many of them there was room for: the first ones. */
size_t alqi_heap_bag_put(struct alqi_heap_bag *bag,
                         const struct alqi_heap_span *spans, size_t n);

/* At most n_max, and no more than half of what there is (rounded up), so that
 * others find some, too. */
size_t alqi_heap_bag_take(struct alqi_heap_bag *bag, struct alqi_heap_span *out,
                          size_t n_max);
size_t alqi_heap_bag_take_locked(struct alqi_heap_bag *bag,
                                 struct alqi_heap_span *out, size_t n_max);

static inline size_t
alqi_heap_bag_n(const struct alqi_heap_bag *bag)
{
    return atomic_load_explicit(&bag->n, memory_order_relaxed);
}

#endif
