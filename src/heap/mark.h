/* mark.h -- which blocks of the major heap are reachable
 *
 * .inv.snapshot  Whatever was reachable when marking began is marked when it
 *                ends: roots are darkened at its start, with nothing young, and
 *                each value that a field of the major heap loses (barrier.h).
 */
#ifndef ALQI_HEAP_MARK_H
#define ALQI_HEAP_MARK_H

#include "heap/state.h"

/* Nothing is marked yet: the stack's bound follows the heap. */
void alqi_heap_mark_begin(struct alqi_domain *d);
void alqi_heap_mark_drop(struct alqi_domain *d);

/* A block of the major heap is reachable.  Integers, young blocks, those out of
 * the heap may be given, too. */
void alqi_heap_mark_darken(struct alqi_domain *d, alq_value v);

/* Whether darkening it would do anything. */
static inline bool
alqi_heap_mark_is_white(const struct alqi_domain *d, alq_value v)
{
    return alq_is_block(v) && !alqi_heap_is_young(d, v) &&
           (alqi_heap_header(v) & ALQI_HEAP_COLOUR_MASK) == d->heap->unmarked;
}

/* Marks until `budget_words` are done, about, or nothing is left. */
size_t alqi_heap_mark(struct alqi_domain *d, size_t budget_words);

static inline bool
alqi_heap_mark_is_done(const struct alqi_domain *d)
{
    const struct alqi_heap_marker *m = &d->marker;

    return m->n == 0 && m->ring_n == 0 && !m->overflowed && !m->rescanning;
}

#endif
