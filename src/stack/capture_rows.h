/* capture_rows.h -- the rows of a cache's last capture, and how they are
 * checked
 *
 * Row i of the held ones is pc[i], ra_at[i] and link[i], i from `capacity -
 * n_rows` to `capacity`, innermost first.  They end where the arrays end, so
 * outer rows stay where they are when inner ones come and go; pc is what the
 * result shows.  What a row keeps is about itself and those outside it:
 *
 *      ra_at[i]   the word there was the return address pc[i + 1]
 *      fp_wanted  on entry to row i, fp had this value, and a CFA of row i or
 *                 beyond depends on it; 0: none does
 *      check[]    saved frame pointers that a CFA further out depends on; the
 *                 last n_checks belong to row i and those outside it
 *
 * .inv.kept    Row `capacity` has no pc.
 * .inv.within  The words a plain row reads lie at or above the CFA of the row
 *              inside it, and below its own CFA.
 * .inv.wanted  As long as a stretch of plain rows is entered with fp_wanted,
 *              and its return addresses and checks hold their values, each of
 *              its rows has the pc and CFA it had. */
#ifndef ALQI_STACK_CAPTURE_ROWS_H
#define ALQI_STACK_CAPTURE_ROWS_H

#include "stack/unwind_walk.h"

struct alqi_stack_link {
    uintptr_t fp_wanted;
    uint32_t rule;
    uint16_t n_plain; /* rows from this one out, until one that is not plain */
    uint16_t n_checks;
};

struct alqi_stack_check {
    uintptr_t at;
    uintptr_t value;
};

/* Of at_slot, for a row's ra_at. */
static inline uint32_t
alqi_stack_slot_of(uintptr_t ra_at)
{
    return (uint32_t)(ra_at >> 4) % ALQI_STACK_SLOTS;
}

static inline uintptr_t
alqi_stack_rows_cfa(const struct alqi_stack_cache *cache, uint32_t at)
{
    return alqi_stack_frame_cfa(cache->ra_at[at], cache->link[at].rule);
}

static inline bool
alqi_stack_rows_match(const struct alqi_stack_cache *cache, uint32_t at,
                      const struct alqi_stack_frame *frame)
{
    return cache->pc[at] == frame->pc && cache->ra_at[at] == frame->ra_at &&
           cache->link[at].rule == frame->rule;
}

/* Puts n frames, innermost first, inside the held row `at`. */
void alqi_stack_rows_prepend(struct alqi_stack_cache *cache, uint32_t at,
                             const struct alqi_stack_frame *frames, uint32_t n);

/* How many rows from `at` on are what they were, given that the walk stands
 * there with the row's pc, and with fp_wanted in fp.  The first n are plain,
 * and their words within the readable range; n + 1 says that the last of them
 * returns to where it did. */
uint32_t alqi_stack_rows_verify(const struct alqi_stack_cache *cache,
                                uint32_t at, uint32_t n, uintptr_t fp);

/* What fp is outside the plain rows [at, at + n), `fp` on entry. */
uintptr_t alqi_stack_rows_fp(const struct alqi_stack_cache *cache, uint32_t at,
                             uint32_t n, uintptr_t fp);

#endif
