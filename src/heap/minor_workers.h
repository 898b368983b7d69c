/* minor_workers.h -- the workers of a minor collection: sharing work, and the
 * end
 *
 * A worker scans what it has copied.  A worker without work takes ranges that
 * others have put into the queue, and waits as long as some worker has work.
 * When all are idle nothing is left to scan, and the round ends for all at
 * once.
 *
 * Remembered fields are put into the queue, too, as ranges of their addresses.
 *
 * .inv.queue  The queue is never full when a worker gives ranges of blocks.
 *             It has a place for each block of all minor heaps, and PLACES
 *             more: ranges of fields are put in only while it has fewer than
 *             OFFERS_MAX ranges, and each worker may put in one beyond, and
 *             give GET_MAX back.
 * .inv.round  n_idle is 0 when a round begins and when it has ended, and n only
 *             when the queue is empty.
 * .pair.round  leave_locked() (release) -> alqi_heap_workers_get() (acquire):
 *             what all workers have copied. */
#ifndef ALQI_HEAP_MINOR_WORKERS_H
#define ALQI_HEAP_MINOR_WORKERS_H

#include "heap/layout.h"
#include "heap/work_queue.h"

enum {
    ALQI_HEAP_WORKERS_OFFERS_MAX = 1024,
    ALQI_HEAP_WORKERS_GET_MAX = 16,
    ALQI_HEAP_WORKERS_PLACES = ALQI_HOSTS_OCAML ? 8192 : 4096
};

/* The heap's.  round and n_idle change under the queue's lock. */
struct alqi_heap_workers {
    struct alqi_heap_queue queue;
    unsigned n;               /* participants; set before they begin      */
    _Atomic(unsigned) n_idle; /* changed under the queue's lock */
    _Atomic(unsigned) round;  /* counts the ends: .pair.round */
};

/* Whether others may look at the headers of young blocks, too. */
static inline bool
alqi_heap_workers_is_shared(const struct alqi_heap_workers *workers)
{
    return workers->n > 1;
}

/* Whether more workers are idle than the queue has ranges for: a hint, read
 * without the lock. */
static inline bool
alqi_heap_workers_want_work(const struct alqi_heap_workers *workers)
{
    return atomic_load_explicit(&workers->n_idle, memory_order_relaxed) >
           alqi_heap_queue_n(&workers->queue);
}

/* The caller has nothing left: ranges of others, at most n_max, or 0 when all
 * have nothing left.  Each participant calls it until it returns 0. */
size_t alqi_heap_workers_get(struct alqi_heap_workers *workers,
                             struct alqi_heap_range *out, size_t n_max);

#endif
