/* unwind_memory.c -- which memory of the stack may be read
 *
 * Keeps .inv.read: each page is asked for by a system call before it enters
 * [readable_lo, readable_hi).  The range is one stack's and grows page by
 * page. A frame elsewhere (another stack, or a frame so large that asking for
 * each of its pages would take too long) starts the range again at its own
 * page. */
#include <string.h>

#include "plat/plat.h"
#include "stack/unwind_walk.h"

/* A page, or a part of one where pages are larger: the system is asked for each
 * part then. */
enum { PAGE_BYTES = 4096, JUMP_BYTES = 1024 * PAGE_BYTES };

/* The range becomes the pages of [first, last]; false, and it stays, if one
 * cannot be read. */
static bool
range_start(struct alqi_stack_cache *cache, uintptr_t first, uintptr_t last)
{
    if (!alqi_plat_is_readable_sigsafe(first) ||
        (last != first && !alqi_plat_is_readable_sigsafe(last)))
        return false;
    cache->readable_lo = first;
    cache->readable_hi = last + PAGE_BYTES;
    return true;
}

bool
alqi_stack_make_readable_slow(struct alqi_stack_cache *cache, uintptr_t at)
{
    uintptr_t first = at & ~(uintptr_t)(PAGE_BYTES - 1);
    uintptr_t last = (at + sizeof at - 1) & ~(uintptr_t)(PAGE_BYTES - 1);

    if (last < first)
        return false;
    if (cache->readable_lo == cache->readable_hi ||
        (first < cache->readable_lo &&
         cache->readable_lo - first > JUMP_BYTES) ||
        (last >= cache->readable_hi && last - cache->readable_hi > JUMP_BYTES))
        return range_start(cache, first, last);
    while (first < cache->readable_lo) {
        if (!alqi_plat_is_readable_sigsafe(cache->readable_lo - PAGE_BYTES))
            return range_start(cache, first, last);
        cache->readable_lo -= PAGE_BYTES;
    }
    while (last >= cache->readable_hi) {
        if (!alqi_plat_is_readable_sigsafe(cache->readable_hi))
            return range_start(cache, first, last);
        cache->readable_hi += PAGE_BYTES;
    }
    return true;
}

/* Whether the aligned word can be read, by the range or by asking. */
static bool
is_readable_word(const struct alqi_stack_cache *cache, uintptr_t at)
{
    return (cache->readable_lo != cache->readable_hi &&
            alqi_stack_is_in_range(cache, at)) ||
           alqi_plat_is_readable_sigsafe(at);
}

__attribute__((no_sanitize("address"))) bool
alqi_stack_peek(const struct alqi_stack_cache *cache, uintptr_t at,
                unsigned n_bytes, uint64_t *out)
{
    /* by aligned words, so that none straddles two pages */
    uintptr_t lo = at & ~(uintptr_t)7;
    uintptr_t hi = (at + n_bytes - 1) & ~(uintptr_t)7;
    uint64_t word[2];

    if (hi < lo || !is_readable_word(cache, lo) ||
        (hi / PAGE_BYTES != lo / PAGE_BYTES && !is_readable_word(cache, hi)))
        return false;
    word[0] = alqi_stack_word(lo);
    word[1] = hi == lo ? 0 : alqi_stack_word(hi);
    *out = 0;
    memcpy(out, (const uint8_t *)word + (at - lo), n_bytes);
    return true;
}
