/* work_queue.h -- a shared queue of work: ranges that any domain may take
 *
 * One lock, held while a few ranges are copied.
 *
 * .inv.ranges  ranges[0] to ranges[n - 1] are in the queue; n <= size. */
#ifndef ALQI_HEAP_WORK_QUEUE_H
#define ALQI_HEAP_WORK_QUEUE_H

#include "plat/plat.h"

struct alqi_heap_range { /* of words, or what its user makes of it */
    uintptr_t start;     /* address; low bits may be marks */
    uintptr_t end;       /* address behind it */
};

struct alqi_heap_queue {
    struct alqi_plat_lock lock;
    _Atomic(size_t) n; /* changed under the lock, looked at by anybody */
    size_t size; /* ranges that there is memory for; changes while the queue is
                  * empty and its caller alone with it */
    struct alqi_heap_range *ranges; /* n of them; the last is taken first */
};

/* Makes the empty queue one of at least `size` ranges; false: no memory, and it
 * is as it was.  The caller is alone with it. */
bool alqi_heap_queue_ready(struct alqi_heap_queue *queue, size_t size);
void alqi_heap_queue_close(struct alqi_heap_queue *queue);

/* Puts ranges in, the first ones, as many as there is room for; how many. */
size_t alqi_heap_queue_put(struct alqi_heap_queue *queue,
                           const struct alqi_heap_range *ranges, size_t n);

/* Takes ranges: at most n_max, and no more than half of those there, rounded
 * up, so that others find some, too; how many. */
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
