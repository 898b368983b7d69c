/* limit_heap.c -- the hard limit of the heap
 *
 * A large block and a minor heap are counted first, then compared, and
 * given up if the limit is passed.  A look for a pool leaves one pool for
 * each other domain.  So domains that take memory at once never pass it
 * together.
 *
 * Keeps .inv.bound: Bytes in use and promised are within the limit. */
#include "heap/pool_area.h"
#include "heap/limit_heap.h"
#include "heap/large.h"

/* Bytes of pools in use and of large blocks.  The two are read one after the
 * other: outside of a stop the sum is an estimate. */
uint64_t
alqi_heap_bytes(const struct alqi_heap *heap)
{
    return alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_BYTES +
           alqi_heap_large_bytes(heap);
}

/* The limit for this domain: with a status standing the reserve counts, too, so
 * that the program can clean up. */
static uint64_t
limit_of(const struct alqi_domain *d)
{
    uint64_t limit = d->heap->bound.limit_bytes,
             reserve = d->heap->bound.reserve_bytes;

    if (d->pub.status == ALQ_OK)
        return limit;
    return reserve < UINT64_MAX - limit ? limit + reserve : UINT64_MAX;
}

/* Whether `bytes` more keep to the limit, with all that is promised.  No
 * comparison here can wrap, whatever `bytes` is. */
bool
alqi_heap_is_within(const struct alqi_domain *d, size_t bytes)
{
    const struct alqi_heap *heap = d->heap;
    uint64_t limit = limit_of(d), taken;

    if (heap->bound.limit_bytes == SIZE_MAX)
        return true;
    taken = alqi_heap_bytes(heap) +
            __atomic_load_n(&heap->area.n_promised, __ATOMIC_SEQ_CST) *
                ALQI_HEAP_POOL_BYTES;
    return taken <= limit && bytes <= limit - taken;
}
