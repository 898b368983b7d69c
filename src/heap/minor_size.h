/* minor_size.h -- the size of minor heaps    [doc/design/heap.md, Pacing]
 *
 * A larger minor heap promotes less where blocks die soon; elsewhere it only
 * makes pauses longer.  Programs differ, and change, so sizes are tried, a
 * window of collections each: half for shorter pauses, double and more for
 * fewer words promoted.  Domains whose programs leave the choice have one size
 * together while they are collected together, and one each while they are
 * collected alone (minor_local.h). */
#ifndef ALQI_HEAP_MINOR_SIZE_H
#define ALQI_HEAP_MINOR_SIZE_H

#include "heap/state.h"

/* The size to begin with. */
void alqi_heap_minor_size_start(struct alqi_heap_minor_size *n,
                                uintptr_t bytes);

/* In a stop, after a minor collection, before minor heaps are opened again. */
void alqi_heap_minor_size_note(struct alqi_heap *heap);

/* At any time, after one by the domain alone, likewise. */
void alqi_heap_minor_size_note_own(struct alqi_domain *d);

/* What the domain's is to be opened with. */
uintptr_t alqi_heap_minor_size_bytes(const struct alqi_domain *d);

/* Gives back what lies behind the domain's, if it was larger, but not since
 * the last time, or is of a fixed size now; the bytes. */
uintptr_t alqi_heap_minor_size_trim(struct alqi_domain *d);

#endif
