/* large.h -- blocks too large for a pool, each by itself from malloc */
#ifndef ALQI_HEAP_LARGE_H
#define ALQI_HEAP_LARGE_H

#include "heap/state.h"

/* A block with this header, its fields not set; ALQ_NULL: no memory. */
alq_value alqi_heap_large_new(struct alqi_domain *d, uintptr_t header);
/* The last one that the domain made, and nobody has seen, is free again. */
void alqi_heap_large_undo(struct alqi_domain *d);

/* Frees the first of the unswept blocks, in steps if it is very large, or keeps
 * it.  Returns the work in words; 0: none is left. */
size_t alqi_heap_large_sweep_one(struct alqi_domain *d);

/* Marked blocks whose fields are to be read again: a stack, and each is in it
 * at most once.  Any domain. */
void alqi_heap_large_overflow_add(struct alqi_heap *heap,
                                  struct alqi_heap_large *large);
struct alqi_heap_large *alqi_heap_large_overflow_take(struct alqi_heap *heap);

/* Finalises and frees all. */
void alqi_heap_large_drop(struct alqi_domain *d);

/* The block that the word points to: to its first field, behind it, up to its
 * end; ALQ_NULL. */
alq_value alqi_heap_large_around_stw(const struct alqi_heap *heap,
                                     uintptr_t word);

/* Bytes of all large blocks (.pair.bound). */
static inline uintptr_t
alqi_heap_large_bytes(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->large.bytes, __ATOMIC_SEQ_CST);
}

static inline struct alqi_heap_large *
alqi_heap_large_of(alq_value block)
{
    return (struct alqi_heap_large *)(block -
                                      offsetof(struct alqi_heap_large, fields));
}

static inline alq_value
alqi_heap_large_block(struct alqi_heap_large *large)
{
    return (alq_value)large->fields;
}

#endif
