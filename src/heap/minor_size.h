/* minor_size.h -- how large minor heaps are            [doc/design/heap.md,
 * Pacing]
 *
 * A larger one promotes less where blocks die soon, and only pauses longer
 * where they do not.  Which is the case changes between programs and within
 * one, so sizes are tried, a window of collections each: half for shorter
 * pauses, double and far more for fewer words promoted.  All domains whose
 * programs leave the choice have the same while they are collected together,
 * and each its own while it is collected alone (minor_local.h). */
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
