/* major_balance.c -- load balancing in marking and sweeping
 *
 * While some domain is done and another is not, the latter gives part of
 * its work to a queue of the heap, at the begin of a step: half of a long
 * mark stack, or pools to sweep.  A domain without work takes from the
 * queue before it is done.
 *
 * Keeps .inv.todo: The phase is over only when a stop finds n_busy = 0 and the
 *   queue empty.
 * Keeps .inv.given: Ranges are given and taken in MARK alone. */
#include <string.h>

#include "heap/major_balance.h"

enum {
    RANGES_MAX = 1024,
    RANGES_ENOUGH = 512, /* there: no more are given */
    GIVE_MOST = 128,
    TAKE_MOST = 32,
    SPLIT_BYTES = ALQI_HEAP_IS_HARD ? 32 : 4096 /* the only range is cut */
};

bool
alqi_heap_balance_open(struct alqi_heap *heap)
{
    return alqi_heap_queue_ready(&heap->balance.queue, RANGES_MAX);
}

void
alqi_heap_balance_close(struct alqi_heap *heap)
{
    alqi_heap_queue_close(&heap->balance.queue);
}

/* Gives half of the only range away, if the range is long: else one large array
 * would be marked by one domain.  The halves are whole words. */
static void
give_half(struct alqi_domain *d)
{
    struct alqi_heap_range *range = &d->marker.stack[0];
    uintptr_t half =
        (range->end - range->start) / 2 & ~(uintptr_t)(ALQ_WORD_BYTES - 1);
    struct alqi_heap_range given = {range->start + half, range->end};

    ALQI_ASSERT(range->start <= range->end); /* .inv.stack */
    if (half >= SPLIT_BYTES / 2 &&
        alqi_heap_queue_put(&d->heap->balance.queue, &given, 1) == 1)
        range->end = given.start;
}

/* Gives the oldest ranges away, at the bottom of the stack: they were pushed
 * first, so most is reachable from them.  The newest ranges take their places,
 * so that few are moved. */
static void
give_oldest(struct alqi_domain *d)
{
    struct alqi_heap_marker *m = &d->marker;
    size_t n = m->n / 2 < GIVE_MOST ? m->n / 2 : GIVE_MOST;

    n = alqi_heap_queue_put(&d->heap->balance.queue, m->stack, n);
    m->n -= n;
    memcpy(m->stack, m->stack + m->n, n * sizeof *m->stack);
}

/* Gives part of the mark stack away, unless the queue has enough: half of the
 * ranges, or half of the only one.  Requires that the caller holds the
 * domain. */
void
alqi_heap_balance_give_slow(struct alqi_domain *d)
{
    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_MARK); /* .inv.given */
    if (alqi_heap_queue_n(&d->heap->balance.queue) >= RANGES_ENOUGH)
        return;
    if (d->marker.n == 1)
        give_half(d);
    else if (d->marker.n > 1)
        give_oldest(d);
}

/* Takes ranges from the queue onto the empty mark stack; false: another domain
 * was faster.  Few at a time, so that several domains get some. */
bool
alqi_heap_balance_take(struct alqi_domain *d)
{
    struct alqi_heap_marker *m = &d->marker;

    ALQI_ASSERT(m->n == 0 && m->size > 0);               /* .inv.stack */
    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_MARK); /* .inv.given */
    ALQI_ASSERT(!d->done); /* .inv.todo: not done before it takes */
    m->n = alqi_heap_queue_take(&d->heap->balance.queue, m->stack,
                                m->size < TAKE_MOST ? m->size : TAKE_MOST);
    return m->n > 0;
}
