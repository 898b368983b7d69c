/* work_queue.h -- a shared queue of work: ranges that any domain may take
 *
 * One lock, held while a few ranges are copied. */
#ifndef ALQI_HEAP_QUEUE_H
#define ALQI_HEAP_QUEUE_H

#include "plat/plat.h"

struct alqi_heap_range { /* of words */
    uintptr_t start;
    uintptr_t end;
};

struct alqi_heap_queue {
    struct alqi_plat_lock lock;
    _Atomic(size_t) n; /* changed under the lock, looked at by anybody */
    size_t size;
    struct alqi_heap_range *ranges;
};

/* Makes the empty queue one of at least `size` ranges; false: no memory, and it
 * is as it was.  The caller is alone with it. */
bool alqi_heap_queue_ready(struct alqi_heap_queue *queue, size_t size);
void alqi_heap_queue_close(struct alqi_heap_queue *queue);

/* How many of them there was room for: the first ones. */
size_t alqi_heap_queue_put(struct alqi_heap_queue *queue,
                           const struct alqi_heap_range *ranges, size_t n);

/* At most n_max, and no more than half of what there is (rounded up), so that
 * others find some, too. */
size_t alqi_heap_queue_take(struct alqi_heap_queue *queue,
                            struct alqi_heap_range *out, size_t n_max);
size_t alqi_heap_queue_take_locked(struct alqi_heap_queue *queue,
                                   struct alqi_heap_range *out, size_t n_max);

static inline size_t
alqi_heap_queue_n(const struct alqi_heap_queue *queue)
{
    return atomic_load_explicit(&queue->n, memory_order_relaxed);
}

#endif
