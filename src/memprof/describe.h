/* describe.h -- an entry as callbacks and alq_memprof_each see it
 *
 * Inline, as each callback of a sample describes its block.  `cycle` is the
 * heap's major cycle now; 0 in a notified heap. */
#ifndef ALQI_MEMPROF_DESCRIBE_H
#define ALQI_MEMPROF_DESCRIBE_H

#include <stdbool.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#include "base/base.h"
#include "memprof/entry.h"

/* Major cycles since the block's birth.  In a notified heap the bytes are the
 * filter's levels: its blocks have no age. */
static inline uint32_t
alqi_entry_age(const struct alqi_memprof_entry *e, uint64_t cycle)
{
    return (e->birth & ALQI_BIRTH_SCANNED) != 0
               ? (uint32_t)(cycle - alqi_entry_born(e)) & ALQI_CYCLE_MASK
               : 0;
}

/* Fills what a callback sees of the block; its call stack is empty, and `block`
 * is NULL unless the address is still the block's. */
static inline void
alqi_entry_describe(const struct alqi_memprof_entry *e, uint64_t cycle,
                    struct alq_allocation *a)
{
    a->n_samples = e->n_samples;
    a->size_bytes = alqi_entry_size_bytes(e);
    a->size_words = alqi_base_malloc_words(a->size_bytes) - 1;
    a->source = alqi_entry_source(e);
    a->callstack.frames = NULL;
    a->callstack.n_frames = 0;
    a->block = e->block;
    a->age = alqi_entry_age(e, cycle);
    /* The address of a dead scanned block may be another block's by now. */
    if ((e->birth & ALQI_BIRTH_OFFSET) ||
        ((e->birth & ALQI_BIRTH_SCANNED) && (e->flags & ALQI_ENTRY_DEAD)))
        a->block = NULL;
}

/* Describes the entry to `visit` of alq_memprof_each; returns its answer. */
static inline int
alqi_entry_visit(const struct alqi_memprof_entry *e, uint64_t cycle,
                 int (*visit)(void *arg, const struct alq_allocation *a,
                              uintptr_t data),
                 void *arg)
{
    struct alq_allocation a;

    alqi_entry_describe(e, cycle, &a);
    return visit(arg, &a, e->data);
}

#endif
