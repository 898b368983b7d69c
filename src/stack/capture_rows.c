/* capture_rows.c -- the rows of a capture cache: joining and verifying
 *
 * Joining computes what each new row keeps from what its outer neighbour keeps
 * (link_step), so a row is right whatever rows come inside it.  Verifying
 * compares words in blocks, without a branch inside a block.  Keeps .inv.kept,
 * .inv.within, .inv.wanted; relies on its caller for .inv.read. */
#include "stack/capture_rows.h"

enum { BLOCK = 8 }; /* return addresses compared without a branch */

/* ---- joining ---------------------------------------------------------------
 */

/* The row saves the frame pointer that a CFA further out depends on. */
static inline void
check_put(struct alqi_stack_cache *cache, struct alqi_stack_link *l,
          uintptr_t ra_at, uint32_t rule)
{
    struct alqi_stack_check *c = &cache->check[cache->capacity - ++l->n_checks];

    c->at = alqi_stack_frame_cfa(ra_at, rule) +
            (uintptr_t)(intptr_t)alqi_stack_payload_fp(rule);
    c->value = l->fp_wanted;
}

/* From what the caller's row is to those inside it, what this row is. */
static inline void
link_step(struct alqi_stack_cache *cache, struct alqi_stack_link *l,
          uintptr_t ra_at, uint32_t rule)
{
    l->rule = rule;
    l->n_plain++;
    if (ALQI_UNLIKELY(l->fp_wanted != 0) && alqi_stack_payload_fp(rule) != 0) {
        check_put(cache, l, ra_at, rule);
        l->fp_wanted = 0;
    }
    if (ALQI_LIKELY(alqi_stack_is_plain_by_sp(rule)))
        return;
    l->fp_wanted =
        alqi_stack_frame_cfa(ra_at, rule) - alqi_stack_payload_cfa(rule);
    if (!alqi_stack_is_plain(rule)) {
        /* stepped over anew each time, whatever fp is */
        l->fp_wanted = 0;
        l->n_plain = 0;
    }
}

void
alqi_stack_rows_prepend(struct alqi_stack_cache *cache, uint32_t at,
                        const struct alqi_stack_frame *frames, uint32_t n)
{
    struct alqi_stack_link l = cache->link[at];

    while (n-- > 0) {
        const struct alqi_stack_frame *f = &frames[n];

        at--;
        link_step(cache, &l, f->ra_at, f->rule);
        cache->pc[at] = f->pc;
        cache->ra_at[at] = f->ra_at;
        cache->link[at] = l;
        cache->at_slot[alqi_stack_slot_of(f->ra_at)] = (uint16_t)at;
    }
}

/* ---- verifying ------------------------------------------------------------
 */

/* 0: the word still is the return address pc. */
static inline uintptr_t
return_difference(const uintptr_t *ra_at, const uintptr_t *pc)
{
    return alqi_arch_code_address(alqi_stack_word(*ra_at)) ^ *pc;
}

/* How many of n rows return to where they did. */
static inline uint32_t
returns_same(const uintptr_t *ra_at, const uintptr_t *pc, uint32_t n)
{
    uint32_t i = 0;

    for (; n - i >= BLOCK; i += BLOCK) {
        uintptr_t difference = 0;

        for (unsigned k = 0; k < BLOCK; k++)
            difference |= return_difference(&ra_at[i + k], &pc[i + k]);
        if (difference != 0)
            break;
    }
    while (i < n && return_difference(&ra_at[i], &pc[i]) == 0)
        i++;
    return i;
}

/* Whether n saved frame pointers are what they were. */
static inline bool
checks_hold(const struct alqi_stack_check *c, uint32_t n)
{
    uintptr_t difference = 0;

    for (; n > 0; n--, c++)
        difference |= alqi_stack_word(c->at) ^ c->value;
    return difference == 0;
}

/* Verifies row by row, for a stretch where a saved fp has changed: how many
 * rows are what they were, n + 1 if the last one also returns to where it did.
 */
static ALQI_NOINLINE uint32_t
verify_slow(const struct alqi_stack_cache *cache, uint32_t at, uint32_t n,
            uintptr_t fp)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rule = cache->link[at + i].rule;
        uintptr_t cfa = alqi_stack_rows_cfa(cache, at + i);
        int32_t fp_offset = alqi_stack_payload_fp(rule);

        if ((rule & ALQI_STACK_PAYLOAD_SP) == 0 &&
            cfa - alqi_stack_payload_cfa(rule) != fp)
            return i;
        if (fp_offset != 0)
            fp = alqi_stack_word(cfa + (uintptr_t)(intptr_t)fp_offset);
        if (return_difference(&cache->ra_at[at + i], &cache->pc[at + i + 1]) !=
            0)
            return i + 1;
    }
    return n + 1;
}

uint32_t
alqi_stack_rows_verify(const struct alqi_stack_cache *cache, uint32_t at,
                       uint32_t n, uintptr_t fp)
{
    uint32_t same = returns_same(&cache->ra_at[at], &cache->pc[at + 1], n);
    uint32_t n_in = cache->link[at].n_checks;
    uint32_t n_checks = n_in - cache->link[at + same].n_checks;

    if (ALQI_UNLIKELY(
            !checks_hold(&cache->check[cache->capacity - n_in], n_checks)))
        return verify_slow(cache, at, n, fp);
    return same + 1;
}

uintptr_t
alqi_stack_rows_fp(const struct alqi_stack_cache *cache, uint32_t at,
                   uint32_t n, uintptr_t fp)
{
    while (n-- > 0) {
        int32_t fp_offset = alqi_stack_payload_fp(cache->link[at + n].rule);

        if (fp_offset != 0)
            return alqi_stack_word(alqi_stack_rows_cfa(cache, at + n) +
                                   (uintptr_t)(intptr_t)fp_offset);
    }
    return fp;
}
