/* replay.c -- a walk that stops where it meets the last one
 *
 * See doc/design/stack.md.  During a walk the frames found so far are
 *
 *      fresh[0 .. n_fresh)  then  kept[run_lo .. run_hi)
 *
 * innermost first: `fresh` is the memo's second half, `kept` the rows of the
 * last capture, which nobody moves before the walk is over.
 *
 * .inv.kept    kept[] ends at rows[capacity], whose CFA is the highest there
 *              is, so that a search needs no other bound.
 * .inv.same    A row joins the run only if it equals the frame the walk stands
 *              at; the run is one unbroken piece of the last capture. */
#include <string.h>

#include "stack/capture.h"
#include "stack/walk.h"

enum { N_SHARDS = 16 };

/* Counters, spread so that threads rarely share a line. */
static struct {
    _Alignas(64) _Atomic(uint64_t) captures;
    _Atomic(uint64_t) replays;
    _Atomic(uint64_t) incomplete;
} counts[N_SHARDS];

struct replay {
    struct alqi_stack_walk walk;
    struct alqi_stack_row *kept; /* rows[0]; the held ones end at `end` */
    struct alqi_stack_row *fresh;
    uint32_t max;
    uint32_t n_fresh;
    uint32_t end;    /* of kept[] */
    uint32_t run_lo; /* no run: run_lo == run_hi */
    uint32_t run_hi;
    uint32_t cursor; /* kept rows before it lie further in than the walk */
};

static bool
is_same_row(const struct alqi_stack_row *a, const struct alqi_stack_row *b)
{
    return a->pc == b->pc && a->cfa == b->cfa && a->fp == b->fp &&
           a->fp_offset == b->fp_offset && a->flags == b->flags;
}

/* A run that broke joins the fresh rows. */
static void
run_flush(struct replay *r)
{
    uint32_t n = r->run_hi - r->run_lo;

    memcpy(&r->fresh[r->n_fresh], &r->kept[r->run_lo], n * sizeof r->kept[0]);
    r->n_fresh += n;
    r->cursor = r->run_hi;
    r->run_lo = r->run_hi = 0;
}

static void
run_start(struct replay *r, uint32_t at)
{
    r->run_lo = at;
    r->run_hi = at + 1;
}

static uint32_t
row_flags(const struct alqi_stack_rule *rule)
{
    return ALQI_STACK_ROW_FIXED | ALQI_STACK_ROW_PLAIN |
           (uint32_t)rule->ra_offset << ALQI_STACK_ROW_SHIFT;
}

/* The frame that was just made has a return address no code can have. */
static enum alqi_stack_outcome
run_ends(struct replay *r, enum alqi_stack_outcome outcome,
         const struct alqi_stack_row *kept, uintptr_t ra)
{
    if (outcome == ALQI_STACK_MATCH)
        run_start(r, (uint32_t)(kept - r->kept));
    return ra == 0 ? ALQI_STACK_DONE : ALQI_STACK_LOST;
}

static void
walk_stand(struct alqi_stack_walk *w, uintptr_t key, uintptr_t sp, uintptr_t fp)
{
    w->key = key;
    w->sp = sp;
    w->fp = fp;
    w->saved_at = 0;
    w->is_exact = false;
}

/* Puts the row just made, fresh[at], where it belongs. */
static enum alqi_stack_outcome
row_place(struct replay *r, uint32_t at)
{
    struct alqi_stack_row row = r->fresh[at];

    if (r->run_hi != r->run_lo) {
        if (r->run_hi < r->end && is_same_row(&row, &r->kept[r->run_hi])) {
            r->run_hi++;
            return ALQI_STACK_MATCH;
        }
        run_flush(r);
    }
    while (r->kept[r->cursor].cfa < row.cfa)
        r->cursor++;
    if (r->cursor < r->end && is_same_row(&row, &r->kept[r->cursor])) {
        run_start(r, r->cursor);
        return ALQI_STACK_MATCH;
    }
    r->fresh[r->n_fresh++] = row;
    return ALQI_STACK_GO;
}

static uint32_t
n_found(const struct replay *r)
{
    return r->n_fresh + (r->run_hi - r->run_lo);
}

/* One frame of any kind. */
static ALQI_NOINLINE enum alqi_stack_outcome
walk_one(struct replay *r)
{
    uint32_t switches = r->walk.n_switches;
    enum alqi_stack_outcome step, place;

    if (n_found(r) == r->max)
        return ALQI_STACK_FULL;
    /* fresh[] has a row to spare for this */
    step = alqi_stack_step(&r->walk, &r->fresh[r->max]);
    place = row_place(r, r->max);
    if (r->walk.n_switches != switches)
        r->cursor = r->end - r->walk.memo->n_rows;
    return step == ALQI_STACK_GO ? place : step;
}

/* Frames that equal the run's next row (.prop.replay). */
static enum alqi_stack_outcome
walk_run(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    struct alqi_stack_memo *memo = w->memo;
    uintptr_t key = w->key, fp = w->fp;
    uint32_t at = r->run_hi;
    uint32_t stop = r->run_lo + (r->max - r->n_fresh);
    enum alqi_stack_outcome outcome = ALQI_STACK_OTHER;

    if (stop > r->end)
        stop = r->end;
    for (; at < stop; at++) {
        const struct alqi_stack_row *row = &r->kept[at];
        uintptr_t ra_at =
            row->cfa +
            (uintptr_t)(intptr_t)((int32_t)row->flags >> ALQI_STACK_ROW_SHIFT);
        uintptr_t fp_at = row->cfa + (uintptr_t)(intptr_t)row->fp_offset;
        uintptr_t ra;

        if (row->pc != key + 1 || row->fp != fp ||
            (row->flags & ALQI_STACK_ROW_PLAIN) == 0 ||
            !alqi_stack_is_in_range(memo, ra_at) ||
            (row->fp_offset != 0 && !alqi_stack_is_in_range(memo, fp_at)))
            break;
        ra = alqi_arch_code_address(alqi_stack_word(ra_at));
        if (row->fp_offset != 0)
            fp = alqi_stack_word(fp_at);
        key = ra - 1;
        if (ALQI_UNLIKELY(ra < ALQI_STACK_NULL_PAGE)) {
            outcome = ra == 0 ? ALQI_STACK_DONE : ALQI_STACK_LOST;
            at++;
            break;
        }
    }
    if (at != r->run_hi) {
        walk_stand(w, key, r->kept[at - 1].cfa, fp);
        r->run_hi = at;
    }
    return outcome;
}

/* Frames of cached REGISTER rules, until one is a kept row. */
static enum alqi_stack_outcome
walk_fresh(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    struct alqi_stack_memo *memo = w->memo;
    uintptr_t key = w->key, sp = w->sp, fp = w->fp;
    struct alqi_stack_row *row = &r->fresh[r->n_fresh];
    struct alqi_stack_row *stop = &r->fresh[r->max];
    const struct alqi_stack_row *kept = &r->kept[r->cursor];
    enum alqi_stack_outcome outcome = ALQI_STACK_OTHER;

    while (row != stop && outcome == ALQI_STACK_OTHER) {
        const struct alqi_stack_rule *rule = alqi_stack_rules_hit(key);
        uintptr_t cfa, ra_at, fp_at, ra;

        if (ALQI_UNLIKELY(rule == NULL ||
                          rule->kind != ALQI_STACK_KIND_REGISTER))
            break;
        cfa = (rule->cfa_reg == ALQI_ARCH_SP ? sp : fp) +
              (uintptr_t)(intptr_t)rule->cfa_offset;
        ra_at = cfa + (uintptr_t)(intptr_t)rule->ra_offset;
        fp_at = cfa + (uintptr_t)(intptr_t)rule->fp_offset;
        if (ALQI_UNLIKELY(
                cfa <= sp || !alqi_stack_is_in_range(memo, ra_at) ||
                (rule->fp_offset != 0 && !alqi_stack_is_in_range(memo, fp_at))))
            break;
        row->pc = key + 1;
        row->cfa = cfa;
        row->fp = fp;
        row->fp_offset = rule->fp_offset;
        row->flags = row_flags(rule);
        ra = alqi_arch_code_address(alqi_stack_word(ra_at));
        if (rule->fp_offset != 0)
            fp = alqi_stack_word(fp_at);
        sp = cfa;
        key = ra - 1;
        while (kept->cfa < cfa)
            kept++;
        if (is_same_row(row, kept))
            outcome = ALQI_STACK_MATCH;
        else
            row++;
        if (ALQI_UNLIKELY(ra < ALQI_STACK_NULL_PAGE))
            outcome = run_ends(r, outcome, kept, ra);
    }
    if (sp != w->sp)
        walk_stand(w, key, sp, fp);
    r->n_fresh = (uint32_t)(row - r->fresh);
    r->cursor = (uint32_t)(kept - r->kept);
    if (outcome == ALQI_STACK_MATCH)
        run_start(r, r->cursor);
    return outcome;
}

/* Leaves out the frames in [lo, hi) that come first. */
static enum alqi_stack_outcome
walk_skip(struct replay *r, uintptr_t lo, uintptr_t hi)
{
    enum alqi_stack_outcome o = ALQI_STACK_GO;

    while (o == ALQI_STACK_GO && r->walk.key >= lo && r->walk.key < hi)
        o = alqi_stack_step(&r->walk, &r->fresh[r->max]);
    return o;
}

static enum alqi_stack_outcome
walk_all(struct replay *r)
{
    enum alqi_stack_outcome o;

    do {
        o = r->run_lo == r->run_hi ? walk_fresh(r) : walk_run(r);
        if (o == ALQI_STACK_OTHER)
            o = walk_one(r);
    } while (o == ALQI_STACK_GO || o == ALQI_STACK_MATCH);
    return o;
}

/* Joins fresh rows and run, at the end of the kept rows' place. */
static void
rows_keep(struct replay *r)
{
    uint32_t n_run = r->run_hi - r->run_lo;
    struct alqi_stack_row *run = &r->kept[r->end - n_run];

    if (n_run != 0 && r->run_hi != r->end)
        memmove(run, &r->kept[r->run_lo], n_run * sizeof *run);
    memcpy(run - r->n_fresh, r->fresh, r->n_fresh * sizeof *run);
}

static void
count(const struct replay *r, enum alqi_stack_outcome outcome)
{
    size_t shard = ((uintptr_t)r->walk.memo >> 12) % N_SHARDS;

    atomic_fetch_add_explicit(&counts[shard].captures, 1, memory_order_relaxed);
    if (r->run_hi != r->run_lo)
        atomic_fetch_add_explicit(&counts[shard].replays, 1,
                                  memory_order_relaxed);
    if (outcome == ALQI_STACK_LOST)
        atomic_fetch_add_explicit(&counts[shard].incomplete, 1,
                                  memory_order_relaxed);
}

static void
replay_begin(struct replay *r, struct alqi_stack_memo *memo,
             const struct alqi_stack_regs *start, uint32_t max)
{
    struct alqi_stack_walk *w = &r->walk;

    w->memo = memo;
    w->key = start->pc;
    w->sp = start->sp;
    w->fp = start->fp;
    w->saved_at = 0;
    w->is_exact = true;
    w->n_switches = 0;
    w->generation =
        atomic_load_explicit(&alqi_stack_generation, memory_order_acquire);
    if (memo->generation != w->generation) {
        memo->generation = w->generation;
        memo->n_rows = 0;
    }
    r->kept = memo->rows;
    r->fresh = memo->rows + memo->capacity + 1;
    r->max = max < memo->capacity ? max : memo->capacity;
    r->n_fresh = 0;
    r->end = memo->capacity;
    r->run_lo = r->run_hi = 0;
    r->cursor = r->end - memo->n_rows;
}

static struct alqi_stack_result
replay_finish(struct replay *r, enum alqi_stack_outcome outcome,
              uintptr_t *frames)
{
    struct alqi_stack_memo *memo = r->walk.memo;
    struct alqi_stack_result result = {
        .n_frames = n_found(r),
        .truncated = outcome == ALQI_STACK_FULL,
        .incomplete = outcome == ALQI_STACK_LOST,
    };
    const struct alqi_stack_row *row;

    if (r->run_hi == r->end && !result.truncated && !memo->was_truncated)
        result.n_same_outer = r->run_hi - r->run_lo;
    rows_keep(r);
    memo->n_rows = result.n_frames;
    memo->was_truncated = result.truncated;
    memo->serial++;
    row = &r->kept[r->end - result.n_frames];
    for (uint32_t i = 0; i < result.n_frames; i++)
        frames[i] = row[i].pc;
    return result;
}

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_memo *memo,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uintptr_t *frames, uint32_t max_frames)
{
    enum alqi_stack_outcome outcome = ALQI_STACK_LOST;
    struct replay r;

    replay_begin(&r, memo, start, max_frames);
    if (start->sp - memo->readable_lo < memo->readable_hi - memo->readable_lo ||
        alqi_stack_reach_slow(memo, start->sp))
        outcome = walk_skip(&r, skip_lo, skip_hi);
    if (outcome == ALQI_STACK_GO)
        outcome = walk_all(&r);
    count(&r, outcome);
    return replay_finish(&r, outcome, frames);
}

size_t
alqi_stack_memo_bytes(uint32_t capacity_frames)
{
    size_t n = capacity_frames < ALQI_STACK_FRAMES_MAX ? capacity_frames
                                                       : ALQI_STACK_FRAMES_MAX;

    return sizeof(struct alqi_stack_memo) +
           2 * (n + 1) * sizeof(struct alqi_stack_row);
}

void
alqi_stack_memo_init(struct alqi_stack_memo *memo, uint32_t capacity_frames)
{
    memset(memo, 0, sizeof *memo);
    memo->capacity = capacity_frames < ALQI_STACK_FRAMES_MAX
                         ? capacity_frames
                         : ALQI_STACK_FRAMES_MAX;
    memset(&memo->rows[memo->capacity], 0, sizeof memo->rows[0]);
    memo->rows[memo->capacity].cfa = UINTPTR_MAX;
}

void
alqi_stack_counts(struct alqi_stack_counts *out)
{
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < N_SHARDS; i++) {
        out->captures +=
            atomic_load_explicit(&counts[i].captures, memory_order_relaxed);
        out->replays +=
            atomic_load_explicit(&counts[i].replays, memory_order_relaxed);
        out->incomplete +=
            atomic_load_explicit(&counts[i].incomplete, memory_order_relaxed);
    }
    out->rules_decoded = alqi_stack_rules_decoded();
}
