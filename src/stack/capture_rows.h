/* capture_rows.h -- the rows of a cache's last walk, and how they are verified
 *
 * Row i is pc[i], ra_at[i] and link[i], i from `capacity - n_rows` to
 * `capacity`, innermost first (.inv.kept).  Rows end where the arrays end, so
 * outer rows stay where they are when inner ones come and go; pc is what the
 * result shows.  What a row keeps is about itself and the rows outside it:
 *
 *      ra_at[i]   the word there was the return address pc[i + 1]
 *      fp_wanted  on entry to row i, fp had this value, and a CFA of row i or
 *                 beyond depends on it; 0: none does
 *      check[]    saved frame pointers that a CFA further out depends on; the
 *                 last n_checks belong to row i and those outside it
 *
 * Keeps .inv.within and .inv.wanted: as long as a stretch of plain rows is
 * entered with fp_wanted, and its return addresses and checks hold their
 * values, each of its rows has the pc and CFA it had (.prop.stretch). */
#ifndef ALQI_STACK_CAPTURE_ROWS_H
#define ALQI_STACK_CAPTURE_ROWS_H

#include "stack/unwind_walk.h"

/* What a row keeps of itself and the rows outside it. */
struct alqi_stack_link {
    uintptr_t fp_wanted; /* 0: no CFA of the stretch depends on fp */
    uint32_t rule;       /* of the row: alqi_stack_frame.rule */
    uint16_t n_plain;  /* rows from this one out, until one that is not plain */
    uint16_t n_checks; /* of this row and those outside it, in its stretch */
};

/* A saved frame pointer: the word at `at` had this value. */
struct alqi_stack_check {
    uintptr_t at;
    uintptr_t value;
};

/* The slot of at_slot for a row's ra_at; return addresses lie 16 bytes apart
 * at least, mostly. */
static inline uint32_t
alqi_stack_slot_of(uintptr_t ra_at)
{
    return (uint32_t)(ra_at >> 4) % ALQI_STACK_SLOTS;
}

/* The CFA of row `at`. */
static inline uintptr_t
alqi_stack_rows_cfa(const struct alqi_stack_cache *cache, uint32_t at)
{
    return alqi_stack_frame_cfa(cache->ra_at[at], cache->link[at].rule);
}

/* Whether row `at` describes the frame (.inv.same). */
static inline bool
alqi_stack_rows_match(const struct alqi_stack_cache *cache, uint32_t at,
                      const struct alqi_stack_frame *frame)
{
    return cache->pc[at] == frame->pc && cache->ra_at[at] == frame->ra_at &&
           cache->link[at].rule == frame->rule;
}

/* Puts n frames, innermost first, inside row `at`: rows [at - n, at) then. */
void alqi_stack_rows_prepend(struct alqi_stack_cache *cache, uint32_t at,
                             const struct alqi_stack_frame *frames, uint32_t n);

/* How many rows from `at` on are what they were, given that the walk stands
 * there with the row's pc, and with fp_wanted in fp.  The first n are plain,
 * and their words within the readable range; n + 1 says that the last of them
 * returns to where it did. */
uint32_t alqi_stack_rows_verify(const struct alqi_stack_cache *cache,
                                uint32_t at, uint32_t n, uintptr_t fp);

/* The frame pointer outside the plain rows [at, at + n), given `fp` on entry
 * to the first. */
uintptr_t alqi_stack_rows_fp(const struct alqi_stack_cache *cache, uint32_t at,
                             uint32_t n, uintptr_t fp);

#endif
