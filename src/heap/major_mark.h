/* major_mark.h -- marking the major heap
 *
 * .inv.snapshot  What was reachable when marking began is marked when it ends:
 *                roots are darkened at its start, with nothing young but
 *                pinned blocks, which are roots, and so is each value that a
 *                field of the major heap loses (write_barrier.h).
 * .inv.stack     n <= size of a mark stack; the ring has at most ALQI_HEAP_RING
 *                blocks.
 * .inv.overflow  A marked block whose fields were not pushed is noted until
 *                they are read: its pool by a bit, a large one in a list.
 * .pair.overflow  overflow(), alqi_heap_large_overflow_add(): the mark, then
 *                the note -> recover(): takes the note, then reads the mark
 *                (tests/models/mark_weak.pml).
 * .pair.busy     alqi_heap_mark_continuation() (release) -> the same, of
 * another domain (acquire): what the stack holds is marked. */
#ifndef ALQI_HEAP_MAJOR_MARK_H
#define ALQI_HEAP_MAJOR_MARK_H

#include "heap/state.h"

/* Nothing is marked yet: the stack's bound follows the heap. */
void alqi_heap_mark_begin_stw(struct alqi_domain *d);
void alqi_heap_mark_drop(struct alqi_domain *d);

/* The domain ends: its marking work goes into *o.  The domain that adopts *o
 * takes over the work, and owns *o from then on. */
void alqi_heap_mark_leave(struct alqi_domain *d, struct alqi_heap_orphan *o);
void alqi_heap_mark_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o);

/* Whether nothing is left to mark of what the domain has. */
static inline bool
alqi_heap_mark_is_done(const struct alqi_domain *d)
{
    const struct alqi_heap_marker *m = &d->marker;

    return m->n == 0 && m->ring_n == 0 && m->inherited == NULL &&
           !m->overflowed && !m->is_recovering;
}

/* n_busy counts the domains that are not done with the work of the phase:
 * sweeping, then marking.  The holder of the domain counts it: not done before
 * there is work, done when there is none. */
static inline void
alqi_heap_mark_undone(struct alqi_domain *d)
{
    if (ALQI_LIKELY(!__atomic_load_n(&d->done, __ATOMIC_RELAXED)))
        return;
    __atomic_store_n(&d->done, false, __ATOMIC_RELAXED);
    __atomic_add_fetch(&d->heap->cycle.n_busy, 1, __ATOMIC_SEQ_CST);
}

static inline void
alqi_heap_mark_note_done(struct alqi_domain *d)
{
    if (__atomic_load_n(&d->done, __ATOMIC_RELAXED))
        return;
    /* .inv.todo: nothing is left to mark here, and it has been counted. */
    ALQI_ASSERT(alqi_heap_mark_is_done(d));
    ALQI_ASSERT(__atomic_load_n(&d->heap->cycle.n_busy, __ATOMIC_RELAXED) > 0);
    __atomic_store_n(&d->done, true, __ATOMIC_RELAXED);
    __atomic_sub_fetch(&d->heap->cycle.n_busy, 1, __ATOMIC_SEQ_CST);
}

/* The block's colour, from what its header was.  Another domain may do the
 * same: then both go on with its fields. */
static inline void
alqi_heap_mark_block(alq_value block, uintptr_t header, uintptr_t marked)
{
    if (ALQI_UNLIKELY(alqi_heap_is_retagged(header))) {
        while (!__atomic_compare_exchange_n(
            (alqi_heap_word *)block - 1, &header,
            alqi_heap_with_colour(header, marked), true, __ATOMIC_RELAXED,
            __ATOMIC_RELAXED))
            continue;
        return;
    }
    __atomic_store_n((alqi_heap_word *)block - 1,
                     alqi_heap_with_colour(header, marked), __ATOMIC_RELAXED);
}

/* Marks a continuation and what its stack holds, unless that is done; returns
 * when it is.
 *
 * BUSY says that a domain is at it: other markers pass
 * by, and a thread that resumes the continuation waits, as the stack must not
 * change meanwhile. */
void alqi_heap_mark_continuation(struct alqi_domain *d, alq_value v);

/* A block of the major heap is reachable.  Integers, young blocks, those out of
 * the heap may be given, too. */
void alqi_heap_mark_darken(struct alqi_domain *d, alq_value v);

/* Whether darkening it would do anything. */
static inline bool
alqi_heap_mark_is_white(const struct alqi_domain *d, alq_value v)
{
    return alq_is_block(v) && !alqi_heap_is_young(d, v) &&
           alqi_heap_colour(alqi_heap_header(alqi_heap_infix_block(v))) ==
               d->heap->cycle.colours.unmarked;
}

/* Marks until `budget_words` are done, about, or nothing is left. */
size_t alqi_heap_mark(struct alqi_domain *d, size_t budget_words);

#endif
