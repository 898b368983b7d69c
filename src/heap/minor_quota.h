/* minor_quota.h -- young memory that the domains share
 * [doc/design/heap.md]
 *
 * Minor heaps are collected together, when the first one is full.  One domain
 * that allocates fast would have all collected while most are nearly empty:
 * more would be promoted, and the others would be stopped more often.  So a
 * minor heap begins with a piece of its size, the rest is the heap's, and a
 * domain that needs more takes another piece of it.
 *
 * .inv.quota  Bytes between young.start and young.end of all minor heaps, and
 *             those that are left, are at most those that memory was made
 *             ready for. */
#ifndef ALQI_HEAP_MINOR_QUOTA_H
#define ALQI_HEAP_MINOR_QUOTA_H

#include "heap/state.h"

/* The empty minor heap is opened for `bytes`, for which pools are promised.
 * Returns the bytes of its first piece, which lies at the upper end. */
uintptr_t alqi_heap_quota_open(struct alqi_domain *d, uintptr_t bytes);

/* Another piece for the minor heap, which has too little room; false: none is
 * left, or there is no address space below.  By the thread that runs the
 * domain. */
bool alqi_heap_quota_take(struct alqi_domain *d);

/* Bytes that fit in before a collection if other domains take no piece; an
 * estimate. */
uintptr_t alqi_heap_quota_room_bytes(const struct alqi_domain *d);

/* The domain ends, its minor heap is empty.  False: others have taken of what
 * was made ready for it. */
bool alqi_heap_quota_end(struct alqi_domain *d);

/* When all minor heaps are closed: nothing is left. */
void alqi_heap_quota_close_stw(struct alqi_heap *heap);

#endif
