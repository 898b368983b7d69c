/* minor_size.h -- the size of minor heaps    [doc/design/heap.md, Pacing]
 *
 * A larger minor heap promotes less where blocks die soon; elsewhere it only
 * makes pauses longer.  Programs differ, and change, so sizes are tried, a
 * window of collections each: half for shorter pauses, double and more for
 * fewer words promoted.  Domains whose programs leave the choice have one size
 * together while they are collected together, and one each while they are
 * collected alone (minor_local.h).
 *
 * .inv.size  A size is whole chunks, at least one, at most
 *            ALQI_HEAP_MINOR_BYTES_MAX. */
#ifndef ALQI_HEAP_MINOR_SIZE_H
#define ALQI_HEAP_MINOR_SIZE_H

#include "heap/state.h"

/* Sets the size to begin with; nothing is known of it. */
void alqi_heap_minor_size_start(struct alqi_heap_minor_size *n,
                                uintptr_t bytes);

/* Notes a minor collection of all domains, before minor heaps are opened
 * again. */
void alqi_heap_minor_size_note_stw(struct alqi_heap *heap);

/* Notes a minor collection by the domain alone, likewise; at any time. */
void alqi_heap_minor_size_note_local(struct alqi_domain *d);

/* Bytes to open the domain's minor heap with. */
uintptr_t alqi_heap_minor_size_bytes(const struct alqi_domain *d);

/* Gives back the memory of the domain's slice that no minor heap has used since
 * the last call, or that its fixed size will not use; the bytes. */
uintptr_t alqi_heap_minor_size_trim(struct alqi_domain *d);

#endif
