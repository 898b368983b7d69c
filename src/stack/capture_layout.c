/* capture_layout.c -- captures of few frames by their layout
 *
 * What a capture does, cheapest first:
 *   equal    all return addresses are what they were: the layout is the answer
 *   seen     each is one of two that its row had (are_seen), compared without
 *            a branch, since nobody can foretell which way a program recurses
 *   alike    each has the rule that its row had (are_alike); the new pc is
 *            learned, unless more than two come and go (seen_add)
 *   walked   rows_walk goes on from the first row that differs, and the layout
 *            is that of this stack from then on
 *
 * Keeps .inv.layout and .inv.seen; a layout with a CFA of fp serves no capture
 * unwalked (layout_serve). */
#include "stack/capture_layout.h"
#include "stack/unwind_walk.h"

/* Where a walk stands: the pc of a frame, the CFA of the frame inside it, fp.
 */
struct cursor {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
};

enum {
    WORD = sizeof(uintptr_t),
    BLOCK = ALQI_STACK_LAYOUT_BLOCK,
    VARIES = 255,
    SKIPS_MOST = 255
};

/* Whether the rule is that of a thread's first frame. */
static bool
is_end(uint32_t rule)
{
    return !alqi_stack_is_plain(rule) &&
           alqi_stack_rules.rules[rule >> ALQI_STACK_PAYLOAD_CFA_SHIFT].kind ==
               ALQI_STACK_KIND_END;
}

/* 0: none is cached. */
static inline uint32_t
rule_of(uintptr_t pc)
{
    return ALQI_LIKELY(pc >> ALQI_STACK_KEY_BITS == 0)
               ? alqi_stack_rules_find(pc)
               : 0;
}

/* Steps over a plain frame with that rule; *ra_at: where its return address is.
 * False: it is not plain, or its words cannot be read (.inv.read). */
static inline __attribute__((always_inline)) bool
cursor_step(const struct alqi_stack_cache *cache, struct cursor *s,
            uint32_t rule, uintptr_t *ra_at)
{
    int32_t fp_offset = alqi_stack_payload_fp(rule);
    uintptr_t cfa = alqi_stack_payload_cfa(rule), fp_at;

    if (ALQI_LIKELY(alqi_stack_is_plain_by_sp(rule)))
        cfa += s->sp;
    else if (!alqi_stack_is_plain(rule) || rule == 0 ||
             (cfa += s->fp) < s->sp + WORD)
        return false;
    *ra_at = cfa + (uintptr_t)(intptr_t)alqi_arch_usual_ra(fp_offset);
    if (*ra_at > cache->readable_hi - WORD)
        return false;
    if (fp_offset != 0) {
        fp_at = cfa + (uintptr_t)(intptr_t)fp_offset;
        if (fp_at < s->sp)
            return false;
        s->fp = alqi_stack_word(fp_at);
    }
    s->sp = cfa;
    s->pc = alqi_arch_code_address(alqi_stack_word(*ra_at));
    return s->pc >= ALQI_STACK_NULL_PAGE;
}

/* ---- row by row ------------------------------------------------------------
 */

/* Rows from `at` on, of a walk that stands there, until there are `max`. */
static ALQI_NOINLINE bool
rows_walk(struct alqi_stack_layout *l, const struct alqi_stack_cache *cache,
          struct cursor s, uint32_t at, uint32_t max)
{
    l->is_whole = false;
    l->max = 0;
    for (;; at++) {
        uintptr_t ra_at, offset;

        l->pc[at] = s.pc;
        l->n = (uint16_t)(at + 1);
        if (at + 1 == max)
            return true;
        l->rule[at] = rule_of(s.pc);
        if (is_end(l->rule[at])) {
            l->is_whole = true;
            return true;
        }
        if (!cursor_step(cache, &s, l->rule[at], &ra_at))
            return false;
        offset = (ra_at - l->sp) / WORD;
        if ((ra_at - l->sp) % WORD != 0 || offset > UINT16_MAX)
            return false;
        l->offset[at] = (uint16_t)offset;
        l->has_fp |= !alqi_stack_is_plain_by_sp(l->rule[at]);
    }
}

/* ---- by the layout ---------------------------------------------------------
 */

/* The return address of row `at`, as the stack has it now. */
static inline uintptr_t
return_of(const struct alqi_stack_layout *l, uint32_t at)
{
    return alqi_arch_code_address(alqi_stack_word_at(l->sp, l->offset[at]));
}

/* The CFA of row `at`. */
static inline uintptr_t
row_cfa(const struct alqi_stack_layout *l, uint32_t at)
{
    int32_t fp_offset = alqi_stack_payload_fp(l->rule[at]);

    return l->sp + (uintptr_t)l->offset[at] * WORD -
           (uintptr_t)(intptr_t)alqi_arch_usual_ra(fp_offset);
}

/* How many of n rows have their CFA where it was, given *fp on entry to the
 * first of them; *fp is that on entry to the next row afterwards. */
static uint32_t
rows_follow(const struct alqi_stack_layout *l, uint32_t n, uintptr_t *fp)
{
    uint32_t at;

    for (at = 0; at < n; at++) {
        uint32_t rule = l->rule[at];
        int32_t fp_offset = alqi_stack_payload_fp(rule);
        uintptr_t cfa = row_cfa(l, at);

        if (!alqi_stack_is_plain_by_sp(rule) &&
            *fp + alqi_stack_payload_cfa(rule) != cfa)
            break;
        if (fp_offset != 0)
            *fp = alqi_stack_word(cfa + (uintptr_t)(intptr_t)fp_offset);
    }
    return at;
}

/* Fills the last block up with the first row, so that blocks are compared
 * whole. */
static void
rows_pad(struct alqi_stack_layout *l)
{
    for (uint32_t at = l->n; at > 1 && at % BLOCK != 1; at++) {
        l->offset[at - 1] = l->offset[0];
        l->pc[at] = l->pc[1];
    }
}

/* How many rows have a rule: the last one was not walked unless is_whole. */
static inline uint32_t
n_ruled(const struct alqi_stack_layout *l)
{
    return l->is_whole ? l->n : l->n - 1u;
}

/* Takes the last row's pc as it is, if it has no rule; false: it cannot be one.
 */
static inline bool
row_last_take(struct alqi_stack_layout *l)
{
    uintptr_t *last = &l->pc[l->n - 1];

    if (!l->is_whole)
        *last = return_of(l, l->n - 2u);
    return *last >= ALQI_STACK_NULL_PAGE;
}

/* Whether rows from `at` on have the rules they had, by words of the cache that
 * are where they are looked for first; pcs are made those of the stack. Without
 * a branch, since nobody can foretell which way a program recurses.  False: pcs
 * from there on may be anything. */
static inline bool
are_alike(struct alqi_stack_layout *l, uint32_t at)
{
    uint64_t strange = 0;
    uintptr_t high = 0, sp = l->sp;
    uint32_t n = n_ruled(l);
    const uint16_t *offset = &l->offset[at - 1];
    const uint32_t *rule = &l->rule[at];
    uintptr_t *to = &l->pc[at];

#pragma GCC unroll 2
    for (; at < n; at++) {
        uintptr_t pc =
            alqi_arch_code_address(alqi_stack_word_at(sp, *offset++));
        uint64_t word = atomic_load_explicit(
            &alqi_stack_rules.words[alqi_stack_rules_home(pc)],
            memory_order_relaxed);

        high |= pc;
        strange |=
            word ^ (alqi_stack_rules_tag(pc) & ALQI_STACK_TAG_MASK) ^ *rule++;
        *to++ = pc;
    }
    return strange == 0 && high >> ALQI_STACK_KEY_BITS == 0;
}

/* The pcs of the walk are the only ones seen. */
static void
seen_begin(struct alqi_stack_layout *l)
{
    for (uint32_t at = 1; at < n_ruled(l); at++)
        l->seen[0][at] = l->seen[1][at] = l->pc[at];
    l->n_skipped = l->skips = 0;
}

/* Rows from `at` on are alike, and some of them new.  Where more than two come
 * and go it is not looked here for a while, longer each time. */
static ALQI_COLD void
seen_add(struct alqi_stack_layout *l, uint32_t at)
{
    for (; at < n_ruled(l); at++) {
        uintptr_t pc = l->pc[at];

        if (pc == l->seen[0][at] || pc == l->seen[1][at])
            continue;
        l->seen[1][at] = l->seen[0][at];
        l->seen[0][at] = pc;
    }
    l->n_skipped = l->skips;
    l->skips = l->skips < SKIPS_MOST ? l->skips * 2 + 1 : SKIPS_MOST;
}

/* As are_alike, where each row has been seen with its pc (.inv.seen). */
static inline bool
are_seen(struct alqi_stack_layout *l, uint32_t from)
{
    uint64_t strange = 0;
    uintptr_t sp = l->sp;
    size_t n = n_ruled(l);

#pragma GCC unroll 2
    for (size_t at = from; at < n; at++) {
        uintptr_t pc =
            alqi_arch_code_address(alqi_stack_word_at(sp, l->offset[at - 1]));
        uint64_t a = pc ^ l->seen[0][at], b = pc ^ l->seen[1][at];

        strange |= a < b ? a : b;
        l->pc[at] = pc;
    }
    return strange == 0;
}

/* How many of n rows have the rules they had; the first one is known.  Their
 * pcs are made those of the stack. */
static uint32_t
rows_alike(struct alqi_stack_layout *l, uint32_t n)
{
    uint32_t at;

    for (at = 1; at < n; at++) {
        uintptr_t pc = return_of(l, at - 1);

        if (pc < ALQI_STACK_NULL_PAGE ||
            (at < n_ruled(l) && rule_of(pc) != l->rule[at]))
            break;
        l->pc[at] = pc;
    }
    return at;
}

/* The walk goes on where rows are no longer what they were, `at` of them, or
 * where there are no more. */
static bool
rows_renew(struct alqi_stack_layout *l, const struct alqi_stack_cache *cache,
           struct cursor s, uint32_t at, uint32_t max)
{
    if (rows_follow(l, at, &s.fp) < at)
        return rows_walk(l, cache, s, 0, max);
    if (at > 0) {
        s.sp = row_cfa(l, at - 1);
        s.pc = return_of(l, at - 1);
        if (s.pc < ALQI_STACK_NULL_PAGE)
            return false;
    }
    return rows_walk(l, cache, s, at, max);
}

/* Whether the layout begins where the capture does. */
static inline bool
is_of(const struct alqi_stack_layout *l, const struct cursor *s)
{
    return l->sp == s->sp && l->pc[0] == s->pc && l->n != 0;
}

/* Whether the words of its first n rows can be read. */
static bool
is_readable(const struct alqi_stack_layout *l,
            const struct alqi_stack_cache *cache, uint32_t n)
{
    return n < 2 || l->sp + (uintptr_t)l->offset[n - 2] * WORD <=
                        cache->readable_hi - WORD;
}

/* Makes the layout that of the stack, of `max` rows if it has as many. */
static bool
layout_follow(struct alqi_stack_layout *l, const struct alqi_stack_cache *cache,
              const struct cursor *s, uint32_t max)
{
    uint32_t n = l->n < max ? l->n : max, same;
    uintptr_t fp = s->fp;

    if (!is_of(l, s) || !is_readable(l, cache, n)) {
        l->sp = s->sp;
        l->has_fp = false;
        return rows_walk(l, cache, *s, 0, max);
    }
    same = rows_alike(l, n);
    if (l->has_fp && rows_follow(l, same - 1, &fp) < same - 1)
        return rows_walk(l, cache, *s, 0, max);
    if (same == max || (same == l->n && l->is_whole))
        return true;
    return rows_renew(l, cache, *s, same - 1, max);
}

/* The layout serves captures of `max` frames from now on: what they have to
 * compare is prepared. */
static struct alqi_stack_frames
layout_serve(struct alqi_stack_layout *l, uint32_t max)
{
    if (l->n > max) { /* fewer are wanted than before */
        l->n = (uint16_t)max;
        l->is_whole = false;
    }
    l->max = l->has_fp ? 0 : max;
    l->top = l->sp;
    if (l->n > 1)
        l->top += ((uintptr_t)l->offset[l->n - 2] + 1) * WORD;
    l->varies = 0;
    rows_pad(l);
    if (l->max != 0)
        seen_begin(l);
    return (struct alqi_stack_frames){l->pc, l->n};
}

/* Rules may be others since a module has gone (.inv.gen). */
static void
generation_follow(struct alqi_stack_layouts *few)
{
    uint64_t now =
        atomic_load_explicit(&alqi_stack_generation, memory_order_acquire);

    if (few->generation == now)
        return;
    few->generation = now;
    for (uint32_t i = 0; i < ALQI_STACK_LAYOUTS; i++)
        few->layout[i].n = few->layout[i].max = 0;
}

struct alqi_stack_frames
alqi_stack_layout_capture_slow(struct alqi_stack_layouts *few,
                               const struct alqi_stack_cache *cache,
                               const struct alqi_stack_regs *start,
                               uintptr_t skip_lo, uintptr_t skip_hi,
                               uint32_t max_frames)
{
    const struct alqi_stack_frames none = {NULL, 0};
    struct cursor s = {start->pc + !start->is_return, start->sp, start->fp};
    uint32_t max = max_frames < ALQI_STACK_LAYOUT_FRAMES_MAX
                       ? max_frames
                       : ALQI_STACK_LAYOUT_FRAMES_MAX;
    struct alqi_stack_layout *l;
    uintptr_t ra_at;

    if (s.sp - cache->readable_lo >= cache->readable_hi - cache->readable_lo ||
        max == 0)
        return none;
    while (s.pc - 1 - skip_lo < skip_hi - skip_lo)
        if (!cursor_step(cache, &s, rule_of(s.pc), &ra_at))
            return none;
    generation_follow(few);
    l = alqi_stack_layout_of(few, s.pc, s.sp);
    if (!layout_follow(l, cache, &s, max) ||
        (l->n >= max && max < max_frames && !l->is_whole))
        return none;
    return layout_serve(l, max_frames);
}

/* The layout's pcs are those of the stack, but not those of the last one: the
 * next captures do not compare all pcs first. */
static inline struct alqi_stack_frames
layout_varied(struct alqi_stack_layout *l)
{
    if (l->varies == 0)
        l->varies = VARIES;
    else if (ALQI_UNLIKELY(--l->varies == 0))
        rows_pad(l); /* not kept up meanwhile */
    return (struct alqi_stack_frames){l->pc, l->n};
}

/* Rows from `at` on have pcs that were not seen: by their rules, or anew. */
static ALQI_NOINLINE struct alqi_stack_frames
capture_alike(struct alqi_stack_layouts *few,
              const struct alqi_stack_cache *cache,
              const struct alqi_stack_regs *start, struct alqi_stack_layout *l,
              uint32_t at, uint32_t max_frames)
{
    if (ALQI_UNLIKELY(!are_alike(l, at) || !row_last_take(l))) {
        at = rows_alike(l, l->n);
        if (at < l->n) {
            l->n = (uint16_t)at;
            l->is_whole = false;
        }
        return alqi_stack_layout_capture_slow(few, cache, start, 0, 0,
                                              max_frames);
    }
    if (l->n_skipped > 0)
        l->n_skipped--;
    else
        seen_add(l, at);
    return layout_varied(l);
}

struct alqi_stack_frames
alqi_stack_layout_capture_changed(struct alqi_stack_layouts *few,
                                  const struct alqi_stack_cache *cache,
                                  const struct alqi_stack_regs *start,
                                  struct alqi_stack_layout *l, uint32_t at,
                                  uint32_t max_frames)
{
    if (ALQI_LIKELY(l->n_skipped == 0 && are_seen(l, at) && row_last_take(l)))
        return layout_varied(l);
    return capture_alike(few, cache, start, l, at, max_frames);
}
