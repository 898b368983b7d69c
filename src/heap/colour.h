/* colour.h -- what the colour bits of a header mean: the one place
 *
 *   young block        NONE; IN_PROGRESS is a whole header: another worker of
 *                      the minor collection copies the block
 *   major heap         unmarked, marked, garbage: struct alqi_heap_colours
 *                      BUSY: a domain marks the stack of a continuation
 *   outside the heap   STATIC: no collector touches the block
 *
 * White is unmarked; grey is marked, with fields that are not read yet; black
 * is marked and read.  src/ocaml/alloc.c hands the colour of new blocks to
 * OCaml's own code.
 *
 * The three colours of the major heap rotate when marking has ended: unmarked
 * becomes garbage, marked becomes unmarked, and the old garbage colour, which
 * no block has after the sweep, becomes marked.  So a cycle writes no header of
 * a live block but to mark it.
 *
 * .inv.colour  The three colours differ.  Garbage is the colour of a block in
 *              SWEEP alone, and the block is not reachable then; marked in MARK
 *              alone. */
#ifndef ALQI_HEAP_COLOUR_H
#define ALQI_HEAP_COLOUR_H

#include <stdbool.h>

#include "heap/layout.h"

#define ALQI_HEAP_COLOUR_MASK ((uintptr_t)3 << ALQ_COLOUR_SHIFT)
#define ALQI_HEAP_COLOUR_NONE ((uintptr_t)0)
#define ALQI_HEAP_COLOUR_STATIC ALQI_HEAP_COLOUR_MASK
#define ALQI_HEAP_COLOUR_BUSY ALQI_HEAP_COLOUR_MASK
#define ALQI_HEAP_IN_PROGRESS ((uintptr_t)1 << ALQ_COLOUR_SHIFT)

/* The colours as bits of a header; they change in stops. */
struct alqi_heap_colours {
    uintptr_t marked;   /* reached in this cycle, or born while it marks */
    uintptr_t unmarked; /* not reached yet; dead when marking has ended  */
    uintptr_t garbage;  /* dead: to be swept                             */
};

static inline uintptr_t
alqi_heap_colour(uintptr_t header)
{
    return header & ALQI_HEAP_COLOUR_MASK;
}

static inline uintptr_t
alqi_heap_with_colour(uintptr_t header, uintptr_t colour)
{
    return (header & ~ALQI_HEAP_COLOUR_MASK) | colour;
}

/* The colours of a new heap. */
static inline struct alqi_heap_colours
alqi_heap_colours(void)
{
    return (struct alqi_heap_colours){
        .marked = 0,
        .unmarked = (uintptr_t)1 << ALQ_COLOUR_SHIFT,
        .garbage = (uintptr_t)2 << ALQ_COLOUR_SHIFT,
    };
}

/* Marking has ended.  No block has the garbage colour. */
static inline void
alqi_heap_colours_rotate(struct alqi_heap_colours *c)
{
    *c = (struct alqi_heap_colours){
        .marked = c->garbage,
        .unmarked = c->marked,
        .garbage = c->unmarked,
    };
}

/* The colour of a block that is born in the major heap or promoted: what is
 * born while the heap is marked lives to the end of the cycle. */
static inline uintptr_t
alqi_heap_colour_born(const struct alqi_heap_colours *c, bool is_marking)
{
    return is_marking ? c->marked : c->unmarked;
}

/* .inv.colour, of a block of the major heap. */
static inline bool
alqi_heap_colour_fits(const struct alqi_heap_colours *c, uintptr_t colour,
                      bool is_marking, bool is_sweeping)
{
    return colour == c->unmarked || (colour == c->marked && is_marking) ||
           (colour == c->garbage && is_sweeping);
}

#endif
