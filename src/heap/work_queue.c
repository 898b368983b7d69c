/* work_queue.c -- a queue of ranges that several domains put in and take out
 *
 * A stack of fixed size under a lock that is held for the copying of a few
 * ranges (.inv.ranges).  n is stored under the lock and read without it, as a
 * hint.  If the queue is full, put takes fewer ranges, and the caller keeps the
 * others; minor collections never meet that (.inv.queue). */
#include <string.h>

#include "base/base.h"
#include "heap/work_queue.h"

static void
n_set(struct alqi_heap_queue *queue, size_t n)
{
    atomic_store_explicit(&queue->n, n, memory_order_relaxed);
}

/* Makes the empty queue larger.  The new memory is mapped before the old one
 * goes, so a failure changes nothing. */
bool
alqi_heap_queue_ready(struct alqi_heap_queue *queue, size_t size)
{
    struct alqi_heap_range *ranges;

    ALQI_ASSERT(alqi_heap_queue_n(queue) == 0); /* .inv.ranges */
    if (size <= queue->size)
        return true;
    ranges = alqi_plat_pages_map(size * sizeof *ranges);
    if (ranges == NULL)
        return false;
    if (queue->ranges == NULL)
        alqi_plat_lock_init(&queue->lock, ALQI_RANK_HEAP_QUEUE);
    alqi_heap_queue_close(queue);
    queue->ranges = ranges;
    queue->size = size;
    return true;
}

/* Gives the queue's memory back; it then has room for nothing. */
void
alqi_heap_queue_close(struct alqi_heap_queue *queue)
{
    if (queue->ranges != NULL)
        alqi_plat_pages_unmap(queue->ranges,
                              queue->size * sizeof *queue->ranges);
    queue->ranges = NULL;
    queue->size = 0;
    n_set(queue, 0);
}

/* Puts the first ranges in, as many as there is room for; how many. */
size_t
alqi_heap_queue_put(struct alqi_heap_queue *queue,
                    const struct alqi_heap_range *ranges, size_t n)
{
    size_t there;

    alqi_plat_lock(&queue->lock);
    there = alqi_heap_queue_n(queue);
    ALQI_ASSERT(there <= queue->size); /* .inv.ranges */
    if (n > queue->size - there)
        n = queue->size - there;
    if (n > 0)
        memcpy(queue->ranges + there, ranges, n * sizeof *ranges);
    n_set(queue, there + n);
    alqi_plat_unlock(&queue->lock);
    return n;
}

/* Takes the ranges that were put in last, at most n_max and half of what is
 * there, rounded up: so a single range is taken, and others find some. */
size_t
alqi_heap_queue_take_locked(struct alqi_heap_queue *queue,
                            struct alqi_heap_range *out, size_t n_max)
{
    size_t there = alqi_heap_queue_n(queue);
    size_t n = there - there / 2;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_QUEUE));
    ALQI_ASSERT(there <= queue->size); /* .inv.ranges */
    if (n > n_max)
        n = n_max;
    if (n > 0)
        memcpy(out, queue->ranges + (there - n), n * sizeof *out);
    n_set(queue, there - n);
    return n;
}

/* Takes ranges; an empty queue is seen without the lock. */
size_t
alqi_heap_queue_take(struct alqi_heap_queue *queue, struct alqi_heap_range *out,
                     size_t n_max)
{
    size_t n;

    if (alqi_heap_queue_n(queue) == 0)
        return 0;
    alqi_plat_lock(&queue->lock);
    n = alqi_heap_queue_take_locked(queue, out, n_max);
    alqi_plat_unlock(&queue->lock);
    return n;
}
