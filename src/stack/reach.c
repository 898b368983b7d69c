/* reach.c -- which memory of the stack may be read
 *
 * .inv.read    A page enters [readable_lo, readable_hi) only after the system
 *              has said that it can be read.
 *
 * The range is one stack's.  A frame elsewhere -- another stack, or a frame
 * so large that asking for each of its pages would take too long -- starts
 * the range again at its own page. */
#include <string.h>

#include "plat/plat.h"
#include "stack/walk.h"

enum { PAGE_BYTES = 4096, JUMP_BYTES = 1024 * PAGE_BYTES };

static bool
range_start(struct alqi_stack_memo *memo, uintptr_t first, uintptr_t last)
{
    if (!alqi_plat_is_readable_sigsafe(first) ||
        (last != first && !alqi_plat_is_readable_sigsafe(last)))
        return false;
    memo->readable_lo = first;
    memo->readable_hi = last + PAGE_BYTES;
    return true;
}

bool
alqi_stack_reach_slow(struct alqi_stack_memo *memo, uintptr_t at)
{
    uintptr_t first = at & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t last = (at + sizeof at - 1) & ~(uintptr_t)(PAGE_BYTES - 1);

    if (last < first)
        return false;
    if (memo->readable_lo == memo->readable_hi ||
        (first < memo->readable_lo && memo->readable_lo - first > JUMP_BYTES) ||
        (last >= memo->readable_hi && last - memo->readable_hi > JUMP_BYTES))
        return range_start(memo, first, last);
    while (first < memo->readable_lo) {
        if (!alqi_plat_is_readable_sigsafe(memo->readable_lo - PAGE_BYTES))
            return range_start(memo, first, last);
        memo->readable_lo -= PAGE_BYTES;
    }
    while (last >= memo->readable_hi) {
        if (!alqi_plat_is_readable_sigsafe(memo->readable_hi))
            return range_start(memo, first, last);
        memo->readable_hi += PAGE_BYTES;
    }
    return true;
}

static bool
is_readable_word(const struct alqi_stack_memo *memo, uintptr_t at)
{
    return (memo->readable_lo != memo->readable_hi &&
            alqi_stack_is_in_range(memo, at)) ||
           alqi_plat_is_readable_sigsafe(at);
}

__attribute__((no_sanitize("address"))) bool
alqi_stack_peek(const struct alqi_stack_memo *memo, uintptr_t at,
                unsigned n_bytes, uint64_t *out)
{
    /* by aligned words, so that none straddles two pages */
    uintptr_t lo = at & ~(uintptr_t)7;
    uintptr_t hi = (at + n_bytes - 1) & ~(uintptr_t)7;
    uint64_t word[2];

    if (hi < lo || !is_readable_word(memo, lo) ||
        (hi / PAGE_BYTES != lo / PAGE_BYTES && !is_readable_word(memo, hi)))
        return false;
    word[0] = alqi_stack_word(lo);
    word[1] = hi == lo ? 0 : alqi_stack_word(hi);
    *out = 0;
    memcpy(out, (const uint8_t *)word + (at - lo), n_bytes);
    return true;
}
