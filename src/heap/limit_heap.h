/* limit_heap.h -- the hard limit of the heap
 *
 * .inv.bound  Bytes in use, and those that promotion may take for the minor
 *             heaps that are open (.inv.room), are together within the limit;
 *             while a status stands, within limit and reserve.  So a
 *             collection does not pass it either.
 *
 * Outside of stops several domains may take memory at once.  A large block and
 * a minor heap are counted first, then compared, and given up if that is too
 * much.  A domain that looks for a pool leaves one pool for each other domain,
 * which may have looked just before.
 *
 * .pair.bound  large.bytes and n_promised: alqi_heap_large_new() or promise()
 *              counts what it takes -> alqi_heap_is_within() reads both.  All
 *              are sequentially consistent, so of two that take at once one
 *              sees the other (tests/models/bound_weak.pml). */
#ifndef ALQI_HEAP_LIMIT_HEAP_H
#define ALQI_HEAP_LIMIT_HEAP_H

#include "heap/state.h"

/* In use: pools and large blocks; of a moment. */
uint64_t alqi_heap_bytes(const struct alqi_heap *heap);

/* Whether `bytes` more keep to the limit; with a status standing the reserve
 * counts, too. */
bool alqi_heap_is_within(const struct alqi_domain *d, size_t bytes);

#endif
