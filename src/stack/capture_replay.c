/* capture_replay.c -- a walk that goes on with the last one's rows
 *
 * During a walk the frames found so far are, innermost first,
 *
 *      fresh[0 .. n_fresh)  then  kept rows [run_lo .. run_hi)
 *
 *   no run   run_lo == run_hi: each frame is stepped over and is fresh; where a
 *            kept row lies where the frame does, a run starts there
 *   run      its outer neighbours are verified and join; a row whose pc alone
 *            has changed is amended; at any other mismatch the run is flushed:
 *            its rows become fresh, and the walk goes on without one
 *
 * A row is looked for by a table of 256 slots over return addresses; a row
 * that lost its slot is found again from its outer neighbour (run_start).
 * Keeps .inv.kept, .inv.same and .inv.read. */
#include <string.h>

#include "stack/capture.h"
#include "stack/capture_rows.h"
#include "stack/capture_replay.h"
#include "stack/capture_cached.h"

/* One capture under way, on its thread's stack. */
struct replay {
    struct alqi_stack_walk walk;
    struct alqi_stack_frame *fresh;
    uint32_t max;     /* frames wanted, at most the cache's capacity */
    uint32_t n_fresh; /* frames in `fresh` */
    uint32_t first;   /* innermost kept row */
    uint32_t end;     /* behind the outermost one: the cache's capacity */
    uint32_t run_lo;  /* kept rows that are frames of this stack */
    uint32_t run_hi;
    uint32_t same_lo; /* rows from here out are as the last capture had them */
};

/* ---- the run ---------------------------------------------------------------
 */

/* A run that broke joins the fresh rows. */
static ALQI_NOINLINE void
run_flush(struct replay *r)
{
    const struct alqi_stack_cache *cache = r->walk.cache;
    struct alqi_stack_frame *f = &r->fresh[r->n_fresh];

    for (uint32_t i = r->run_lo; i < r->run_hi; i++, f++) {
        f->pc = cache->pc[i];
        f->ra_at = cache->ra_at[i];
        f->rule = cache->link[i].rule;
    }
    r->n_fresh += r->run_hi - r->run_lo;
    r->run_lo = r->run_hi = 0;
}

/* Starts a run at kept row `at`, the outermost frame found; fresh rows further
 * in may be kept ones, too. */
static void
run_start(struct replay *r, uint32_t at)
{
    r->run_lo = at;
    r->run_hi = at + 1;
    while (r->n_fresh > 0 && r->run_lo > r->first &&
           alqi_stack_rows_match(r->walk.cache, r->run_lo - 1,
                                 &r->fresh[r->n_fresh - 1])) {
        r->run_lo--;
        r->n_fresh--;
    }
}

/* Gives a kept row the pc of a frame that is laid out alike: all else of it
 * stays true. */
static void
row_amend(struct replay *r, uint32_t at, uintptr_t pc)
{
    r->walk.cache->pc[at] = pc;
    if (r->same_lo <= at)
        r->same_lo = at + 1;
}

/* Frames found so far. */
static uint32_t
n_found(const struct replay *r)
{
    return r->n_fresh + (r->run_hi - r->run_lo);
}

/* Puts the frame just found where it belongs. */
static void
frame_place(struct replay *r, const struct alqi_stack_frame *frame)
{
    const struct alqi_stack_cache *cache = r->walk.cache;
    uint32_t at = cache->at_slot[alqi_stack_slot_of(frame->ra_at)];

    if (r->run_hi != r->run_lo) {
        if (r->run_hi < r->end &&
            alqi_stack_rows_match(cache, r->run_hi, frame)) {
            r->run_hi++;
            return;
        }
        run_flush(r);
    }
    if (at >= r->first && alqi_stack_rows_match(cache, at, frame))
        run_start(r, at);
    else
        r->fresh[r->n_fresh++] = *frame;
}

/* ---- the walk --------------------------------------------------------------
 */

/* The walk goes on at a caller: a return address, no interrupted frame. */
static void
walk_set(struct alqi_stack_walk *w, uintptr_t key, uintptr_t sp, uintptr_t fp)
{
    w->key = key;
    w->sp = sp;
    w->fp = fp;
    w->saved_at = 0;
    w->is_exact = false;
}

/* One frame of any kind. */
static ALQI_NOINLINE enum alqi_stack_outcome
walk_one(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    struct alqi_stack_frame frame;
    enum alqi_stack_outcome o;

    if (!w->is_exact && w->key + 1 < ALQI_STACK_NULL_PAGE)
        return w->key + 1 == 0 ? ALQI_STACK_DONE : ALQI_STACK_LOST;
    if (n_found(r) == r->max)
        return ALQI_STACK_FULL;
    o = alqi_stack_step(w, &frame);
    frame_place(r, &frame);
    return o;
}

/* The run's next row may have another pc where its function has laid out its
 * frame alike. */
static bool
run_amend(struct replay *r, uint32_t at)
{
    struct alqi_stack_walk *w = &r->walk;
    struct alqi_stack_cache *cache = w->cache;
    uintptr_t pc = w->key + 1;

    if (pc >> ALQI_STACK_KEY_BITS != 0 ||
        alqi_stack_rules_find(pc) != cache->link[at].rule)
        return false;
    row_amend(r, at, pc);
    return true;
}

/* Kept rows that follow the run, if they are what they were (.prop.replay). */
static enum alqi_stack_outcome
walk_run(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    const struct alqi_stack_cache *cache = w->cache;
    uint32_t at = r->run_hi, room = r->max - n_found(r);
    uint32_t n = cache->link[at].n_plain, n_same;
    uintptr_t fp;

    if (ALQI_UNLIKELY(room == 0 || at == r->end))
        return ALQI_STACK_OTHER;
    if (cache->pc[at] != w->key + 1 || (cache->link[at].fp_wanted != 0 &&
                                        cache->link[at].fp_wanted != w->fp)) {
        run_flush(r);
        return ALQI_STACK_GO;
    }
    if (cache->link[at].rule == ALQI_STACK_RULE_END) {
        r->run_hi++;
        return ALQI_STACK_DONE;
    }
    if (ALQI_UNLIKELY(n > room))
        n = room;
    if (ALQI_UNLIKELY(n == 0 || w->sp < cache->readable_lo ||
                      alqi_stack_rows_cfa(cache, at + n - 1) >
                          cache->readable_hi))
        return ALQI_STACK_OTHER;
    n_same = alqi_stack_rows_verify(cache, at, n, w->fp);
    if (ALQI_LIKELY(n_same > n && n < room) &&
        cache->link[at + n].rule == ALQI_STACK_RULE_END) {
        r->run_hi = at + n + 1;
        return ALQI_STACK_DONE;
    }
    if (n_same > n)
        n_same = n;
    r->run_hi = at + n_same;
    fp = alqi_stack_rows_fp(cache, at, n_same, w->fp);
    at += n_same;
    walk_set(w,
             alqi_arch_code_address(alqi_stack_word(cache->ra_at[at - 1])) - 1,
             alqi_stack_rows_cfa(cache, at - 1), fp);
    if (n_same < n && cache->pc[at] != w->key + 1 && !run_amend(r, at))
        run_flush(r);
    return ALQI_STACK_GO;
}

/* Where a walk by cached rules stands: the pc to report, the CFA of the frame
 * inside it, the frame pointer; and where its frames go. */
struct cursor {
    uintptr_t pc;
    uintptr_t sp;
    uintptr_t fp;
    struct alqi_stack_frame *frame; /* the next one's place              */
    uint32_t at;                    /* the kept row that *frame describes */
};

/* Steps over frames whose rules are in the rule cache and fit into a word,
 * until one lies where a kept row does, with the same rule and caller: true.
 * False: the next frame needs walk_one, which also judges a return address that
 * cannot be one.  Only words of the readable range are loaded (.inv.read). */
static inline __attribute__((always_inline)) bool
frames_find(const struct alqi_stack_cache *cache, uint32_t first,
            struct cursor *s, const struct alqi_stack_frame *stop)
{
    const uintptr_t *kept_next = cache->pc + 1, *kept_ra_at = cache->ra_at;
    uintptr_t top = cache->readable_hi - sizeof top;
    uintptr_t pc = s->pc, sp = s->sp, fp = s->fp;
    struct alqi_stack_frame *frame = s->frame;
    bool is_found = false;

    for (; frame != stop && pc >> ALQI_STACK_KEY_BITS == 0; frame++) {
        uint32_t rule = alqi_stack_rules_find(pc), at;
        int32_t fp_offset = alqi_stack_payload_fp(rule);
        uintptr_t cfa = alqi_stack_payload_cfa(rule);
        uintptr_t fp_at, ra_at;

        if (ALQI_LIKELY(alqi_stack_is_plain_by_sp(rule)))
            cfa += sp;
        else if (!alqi_stack_is_plain(rule) || rule == 0 ||
                 (cfa += fp) < sp + sizeof sp)
            break;
        ra_at = cfa + (uintptr_t)(intptr_t)alqi_arch_usual_ra(fp_offset);
        if (ALQI_UNLIKELY(ra_at > top))
            break;
        if (fp_offset != 0) {
            fp_at = cfa + (uintptr_t)(intptr_t)fp_offset;
            if (ALQI_UNLIKELY(fp_at < sp))
                break;
            fp = alqi_stack_word(fp_at);
        }
        frame->pc = pc;
        frame->ra_at = ra_at;
        frame->rule = rule;
        sp = cfa;
        at = cache->at_slot[alqi_stack_slot_of(ra_at)];
        pc = alqi_arch_code_address(alqi_stack_word(ra_at));
        /* The branch asks for the frame's caller, too: a frame of the same size
         * often lies at the same place by chance. */
        if (ALQI_UNLIKELY(((kept_ra_at[at] ^ ra_at) | (kept_next[at] ^ pc)) ==
                          0) &&
            at >= first && cache->link[at].rule == rule) {
            s->at = at;
            is_found = true;
            break;
        }
    }
    s->pc = pc;
    s->sp = sp;
    s->fp = fp;
    s->frame = frame;
    return is_found;
}

/* The walk goes on where the cursor stands; a kept row that was found starts a
 * run. */
static void
cursor_take(struct replay *r, const struct cursor *s, bool is_found)
{
    if (s->sp != r->walk.sp)
        walk_set(&r->walk, s->pc - 1, s->sp, s->fp);
    r->n_fresh = (uint32_t)(s->frame - r->fresh);
    if (!is_found)
        return;
    if (r->walk.cache->pc[s->at] != s->frame->pc)
        row_amend(r, s->at, s->frame->pc);
    run_start(r, s->at);
}

/* Frames by cached rules: GO when a run has started, OTHER when the next frame
 * needs walk_one. */
static enum alqi_stack_outcome
walk_fresh(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    struct cursor s = {w->key + 1, w->sp, w->fp, &r->fresh[r->n_fresh], 0};
    bool is_found;

    if (ALQI_UNLIKELY(w->sp < w->cache->readable_lo || r->n_fresh > r->max))
        return ALQI_STACK_OTHER;
    is_found = frames_find(w->cache, r->first, &s, &r->fresh[r->max]);
    cursor_take(r, &s, is_found);
    return is_found ? ALQI_STACK_GO : ALQI_STACK_OTHER;
}

/* Leaves out the frames in [lo, hi) that come first. */
static enum alqi_stack_outcome
walk_skip(struct replay *r, uintptr_t lo, uintptr_t hi)
{
    enum alqi_stack_outcome o = ALQI_STACK_GO;
    struct alqi_stack_frame frame;

    while (o == ALQI_STACK_GO && r->walk.key >= lo && r->walk.key < hi)
        o = alqi_stack_step(&r->walk, &frame);
    return o;
}

/* From where the walk stands to the stack's end, or to `max` frames. */
static enum alqi_stack_outcome
walk_all(struct replay *r)
{
    enum alqi_stack_outcome o;

    do {
        o = r->run_lo == r->run_hi ? walk_fresh(r) : walk_run(r);
        if (o == ALQI_STACK_OTHER)
            o = walk_one(r);
    } while (o == ALQI_STACK_GO);
    return o;
}

/* ---- beginning and end -----------------------------------------------------
 */

/* Rows and cached stacks of another generation are dropped. */
static void
replay_begin(struct replay *r, struct alqi_stack_cache *cache,
             const struct alqi_stack_regs *start, uint32_t max)
{
    struct alqi_stack_walk *w = &r->walk;

    alqi_stack_walk_begin(w, cache, start);
    if (cache->generation != w->generation) {
        cache->generation = w->generation;
        cache->n_rows = 0;
        alqi_stack_cached_clear(cache->stacks);
    }
    r->fresh = cache->fresh;
    r->max = max < cache->capacity ? max : cache->capacity;
    r->n_fresh = 0;
    r->end = cache->capacity;
    r->first = r->end - cache->n_rows;
    r->run_lo = r->run_hi = 0;
    r->same_lo = 0;
}

/* The frames become the cache's rows.  A run that does not end where the kept
 * rows end is moved there. */
static void
rows_join(struct replay *r)
{
    if (ALQI_UNLIKELY(r->run_hi != r->end))
        run_flush(r);
    alqi_stack_rows_prepend(r->walk.cache,
                            r->run_lo == r->run_hi ? r->end : r->run_lo,
                            r->fresh, r->n_fresh);
}

/* Joins what was found and makes the result of it (.inv.kept). */
static struct alqi_stack_replayed
replay_finish(struct replay *r, enum alqi_stack_outcome outcome)
{
    struct alqi_stack_cache *cache = r->walk.cache;
    bool is_replay;
    struct alqi_stack_result result = {
        .n_frames = n_found(r),
        .truncated = outcome == ALQI_STACK_FULL,
        .incomplete = outcome == ALQI_STACK_LOST,
    };

    if (r->run_lo == r->run_hi && r->n_fresh > 0 && r->first < r->end &&
        alqi_stack_rows_match(cache, r->end - 1, &r->fresh[r->n_fresh - 1])) {
        r->n_fresh--;
        run_start(r, r->end - 1);
    }
    if (r->run_hi == r->end && !result.truncated && !cache->was_truncated)
        result.n_same_outer =
            r->end - (r->run_lo > r->same_lo ? r->run_lo : r->same_lo);
    is_replay = r->run_hi != r->run_lo;
    rows_join(r);
    result.frames = &cache->pc[r->end - result.n_frames];
    cache->n_rows = result.n_frames;
    cache->was_truncated = result.truncated;
    return (struct alqi_stack_replayed){result, is_replay};
}

/* From the beginning, when the usual case does not apply: nothing is kept, the
 * start is outside of the readable range, or frames are to be skipped. */
static struct alqi_stack_replayed
replay_slow(struct alqi_stack_cache *cache, const struct alqi_stack_regs *start,
            uintptr_t skip_lo, uintptr_t skip_hi, uint32_t max)
{
    enum alqi_stack_outcome outcome = ALQI_STACK_LOST;
    struct replay r;

    replay_begin(&r, cache, start, max);
    if (start->sp - cache->readable_lo <
            cache->readable_hi - cache->readable_lo ||
        alqi_stack_make_readable_slow(cache, start->sp))
        outcome = walk_skip(&r, skip_lo, skip_hi);
    if (outcome == ALQI_STACK_GO)
        outcome = walk_all(&r);
    return replay_finish(&r, outcome);
}

/* After the usual case has failed at some frame: the walk goes on from the
 * cursor, what was found stays found. */
static ALQI_NOINLINE struct alqi_stack_replayed
replay_from(struct alqi_stack_cache *cache, const struct alqi_stack_regs *start,
            uint32_t max, const struct cursor *s, bool is_found)
{
    struct replay r;

    replay_begin(&r, cache, start, max);
    cursor_take(&r, s, is_found);
    return replay_finish(&r, walk_all(&r));
}

/* ---- the usual case --------------------------------------------------------
 *
 * Plain frames up to a kept row, then one stretch of rows that are what they
 * were, then the thread's first: without a word of state but the spot.
 */

/* Whether all rows outside the one found are what they were. */
static inline bool
is_rest_same(const struct alqi_stack_cache *cache, const struct cursor *s)
{
    uint32_t at = s->at + 1, n = cache->link[at].n_plain;
    uintptr_t fp_wanted = cache->link[at].fp_wanted;

    return cache->link[at + n].rule == ALQI_STACK_RULE_END &&
           (fp_wanted == 0 || fp_wanted == s->fp) &&
           alqi_stack_rows_cfa(cache, at + n - 1) <= cache->readable_hi &&
           alqi_stack_rows_verify(cache, at, n, s->fp) > n;
}

/* The frames found, then the kept rows from the one found on, all verified. */
static inline struct alqi_stack_replayed
replay_usual(struct alqi_stack_cache *cache, const struct cursor *s)
{
    struct alqi_stack_frame *frame = s->frame;
    uint32_t end = cache->capacity, at = s->at, first = end - cache->n_rows;
    struct alqi_stack_result result = {0};
    uint32_t same_lo = at;

    if (cache->pc[at] != frame->pc) {
        cache->pc[at] = frame->pc;
        same_lo = at + 1;
    }
    for (; frame != cache->fresh && at > first &&
           alqi_stack_rows_match(cache, at - 1, frame - 1);
         at--, frame--)
        same_lo -= same_lo == at;
    alqi_stack_rows_prepend(cache, at, cache->fresh,
                            (uint32_t)(frame - cache->fresh));
    at -= (uint32_t)(frame - cache->fresh);
    if (!cache->was_truncated)
        result.n_same_outer = end - same_lo;
    result.frames = &cache->pc[at];
    result.n_frames = end - at;
    cache->n_rows = result.n_frames;
    cache->was_truncated = false;
    return (struct alqi_stack_replayed){result, true};
}

struct alqi_stack_replayed
alqi_stack_replay(struct alqi_stack_cache *cache,
                  const struct alqi_stack_regs *start, uintptr_t skip_lo,
                  uintptr_t skip_hi, uint32_t max_frames)
{
    struct cursor s = {start->pc + !start->is_return, start->sp, start->fp,
                       cache->fresh, 0};
    uint32_t max = max_frames < cache->capacity ? max_frames : cache->capacity;
    bool is_found;

    if (ALQI_UNLIKELY(cache->n_rows == 0 ||
                      start->sp - cache->readable_lo >
                          cache->readable_hi - cache->readable_lo ||
                      s.pc - 1 - skip_lo < skip_hi - skip_lo ||
                      cache->generation !=
                          atomic_load_explicit(&alqi_stack_generation,
                                               memory_order_acquire)))
        return replay_slow(cache, start, skip_lo, skip_hi, max);
    is_found = frames_find(cache, cache->capacity - cache->n_rows, &s,
                           &cache->fresh[max]);
    if (ALQI_UNLIKELY(
            !is_found ||
            (uint32_t)(s.frame - cache->fresh) + cache->capacity - s.at > max ||
            !is_rest_same(cache, &s)))
        return replay_from(cache, start, max, &s, is_found);
    return replay_usual(cache, &s);
}
