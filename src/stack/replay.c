/* replay.c -- a walk that stops where it meets the last one
 *
 * See doc/design/stack.md.  During a walk the frames found so far are
 *
 *      fresh[0 .. n_fresh)  then  kept[run_lo .. run_hi)
 *
 * innermost first: `fresh` is the memo's second half, `kept` the rows of the
 * last capture, which nobody moves before the walk is over.  A row is looked
 * for among the kept ones by a small table of their CFAs; a row the table has
 * lost is found again from its outer neighbour (run_start).
 *
 * .inv.kept    The held rows end at kept[end]; that one has no pc, so that
 *              what follows a row can be looked at without asking.
 * .inv.same    A row joins the run only if it equals the frame the walk stands
 *              at; the run is one unbroken piece of the last capture. */
#include <string.h>

#include "stack/capture.h"
#include "stack/walk.h"

enum { COUNT_BATCH = 64 };

static struct {
    _Atomic(uint64_t) captures;
    _Atomic(uint64_t) replays;
    _Atomic(uint64_t) incomplete;
} counts;

struct replay {
    struct alqi_stack_walk walk;
    struct alqi_stack_row *kept;
    struct alqi_stack_row *fresh;
    uintptr_t *frames;
    uint32_t max;
    uint32_t n_fresh;
    uint32_t first; /* of kept[] */
    uint32_t end;
    uint32_t run_lo; /* no run: run_lo == run_hi */
    uint32_t run_hi;
};

static uint32_t
slot_of(uintptr_t cfa)
{
    return (uint32_t)(cfa >> 4) % ALQI_STACK_SLOTS;
}

/* Whether two rows are the same frame.  What the frame pointer held in it
 * may differ: given pc and CFA it is only passed on, to be looked at where it
 * makes a difference. */
static bool
is_same_frame(const struct alqi_stack_row *a, const struct alqi_stack_row *b)
{
    return a->pc == b->pc && a->cfa == b->cfa && a->fp_offset == b->fp_offset &&
           a->flags == b->flags;
}

/* A run that broke joins the fresh rows. */
static void
run_flush(struct replay *r)
{
    uint32_t n = r->run_hi - r->run_lo;

    memcpy(&r->fresh[r->n_fresh], &r->kept[r->run_lo], n * sizeof r->kept[0]);
    r->n_fresh += n;
    r->run_lo = r->run_hi = 0;
}

/* Starts a run at kept[at], the outermost frame found; fresh rows further in
 * may be kept ones, too. */
static void
run_start(struct replay *r, uint32_t at, uintptr_t fp)
{
    r->run_lo = at;
    r->run_hi = at + 1;
    r->kept[at].fp = fp;
    while (r->n_fresh > 0 && r->run_lo > r->first &&
           is_same_frame(&r->fresh[r->n_fresh - 1], &r->kept[r->run_lo - 1])) {
        r->kept[--r->run_lo].fp = r->fresh[--r->n_fresh].fp;
    }
}

static uint32_t
n_found(const struct replay *r)
{
    return r->n_fresh + (r->run_hi - r->run_lo);
}

/* Puts the row just made where it belongs. */
static void
row_place(struct replay *r, const struct alqi_stack_row *row)
{
    uint32_t at = r->walk.memo->at_cfa[slot_of(row->cfa)];

    r->frames[n_found(r)] = row->pc;
    if (r->run_hi != r->run_lo) {
        if (r->run_hi < r->end && is_same_frame(row, &r->kept[r->run_hi])) {
            r->kept[r->run_hi++].fp = row->fp;
            return;
        }
        run_flush(r);
    }
    if (at >= r->first && is_same_frame(row, &r->kept[at]))
        run_start(r, at, row->fp);
    else
        r->fresh[r->n_fresh++] = *row;
}

static uint32_t
row_flags(uint32_t payload, int32_t ra_offset)
{
    enum { SHIFT = 23 };

    _Static_assert(ALQI_STACK_PAYLOAD_SP >> SHIFT == ALQI_STACK_ROW_SP, "");
    return ALQI_STACK_ROW_FIXED | ALQI_STACK_ROW_PLAIN |
           (payload >> SHIFT & ALQI_STACK_ROW_SP) |
           (uint32_t)ra_offset << ALQI_STACK_ROW_SHIFT;
}

static int32_t
row_ra_offset(const struct alqi_stack_row *row)
{
    return (int32_t)row->flags >> ALQI_STACK_ROW_SHIFT;
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

/* One frame of any kind. */
static ALQI_NOINLINE enum alqi_stack_outcome
walk_one(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    struct alqi_stack_row row;
    enum alqi_stack_outcome o;

    if (!w->is_exact && w->key + 1 < ALQI_STACK_NULL_PAGE)
        return w->key + 1 == 0 ? ALQI_STACK_DONE : ALQI_STACK_LOST;
    if (n_found(r) == r->max)
        return ALQI_STACK_FULL;
    o = alqi_stack_step(w, &row);
    row_place(r, &row);
    return o;
}

/* Frames that equal the run's next row (.prop.replay). */
static enum alqi_stack_outcome
walk_run(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    uintptr_t pc = w->key + 1, fp = w->fp;
    uintptr_t lo = w->memo->readable_lo;
    uintptr_t span = w->memo->readable_hi - lo - sizeof lo;
    uint32_t room = r->max - r->n_fresh;
    struct alqi_stack_row *row = &r->kept[r->run_hi];
    const struct alqi_stack_row *stop =
        &r->kept[r->run_lo + room < r->end ? r->run_lo + room : r->end];
    const struct alqi_stack_row *first = row;
    uintptr_t *frame = &r->frames[n_found(r)];

    for (; row != stop && row->pc == pc; row++) {
        uintptr_t ra_at = row->cfa + (uintptr_t)(intptr_t)row_ra_offset(row);
        uintptr_t fp_at = row->cfa + (uintptr_t)(intptr_t)row->fp_offset;

        if (ALQI_UNLIKELY(
                (row->flags & ALQI_STACK_ROW_PLAIN) == 0 ||
                ((row->flags & ALQI_STACK_ROW_SP) == 0 && row->fp != fp) ||
                ra_at - lo > span))
            break;
        row->fp = fp;
        if (row->fp_offset != 0) {
            if (ALQI_UNLIKELY(fp_at - lo > span))
                break;
            fp = alqi_stack_word(fp_at);
        }
        *frame++ = row->pc;
        pc = alqi_arch_code_address(alqi_stack_word(ra_at));
    }
    if (row != first) {
        walk_stand(w, pc - 1, row[-1].cfa, fp);
        r->run_hi = (uint32_t)(row - r->kept);
    }
    if (row == stop)
        return ALQI_STACK_OTHER;
    if (row->pc != pc) {
        run_flush(r);
        return ALQI_STACK_GO;
    }
    if ((row->flags & ALQI_STACK_ROW_END) == 0)
        return ALQI_STACK_OTHER; /* not plain, another fp, out of reach */
    *frame = row->pc;
    r->run_hi++;
    return ALQI_STACK_DONE;
}

/* Frames of cached rules that fit into a word, until one is a kept row.  A
 * return address that cannot be one has no such rule; walk_one judges it. */
static enum alqi_stack_outcome
walk_fresh(struct replay *r)
{
    struct alqi_stack_walk *w = &r->walk;
    uintptr_t pc = w->key + 1, sp = w->sp, fp = w->fp;
    uintptr_t lo = w->memo->readable_lo;
    uintptr_t span = w->memo->readable_hi - lo - sizeof lo;
    struct alqi_stack_row *row = &r->fresh[r->n_fresh];
    struct alqi_stack_row *stop =
        &r->fresh[r->max < r->n_fresh ? r->n_fresh : r->max];
    uintptr_t *frame = &r->frames[r->n_fresh];
    const uint16_t *at_cfa = w->memo->at_cfa;
    uint32_t at = 0;
    const struct alqi_stack_row *kept = r->kept;
    bool is_match = false;

    for (; row != stop && pc >> ALQI_STACK_KEY_BITS == 0; row++) {
        uint32_t payload = alqi_stack_rules_hit(pc);
        uint32_t fp_words =
            payload >> ALQI_STACK_PAYLOAD_FP_SHIFT & ALQI_STACK_PAYLOAD_OFFSET;
        int32_t fp_offset = -8 * (int32_t)fp_words;
        uintptr_t cfa = 8 * (uintptr_t)(payload & ALQI_STACK_PAYLOAD_OFFSET);
        uintptr_t ra_at;

        if (ALQI_UNLIKELY(payload - 1 >= ALQI_STACK_PAYLOAD_TABLE - 1))
            break;
        if (ALQI_LIKELY((payload & ALQI_STACK_PAYLOAD_SP) != 0))
            cfa += sp;
        else if (ALQI_UNLIKELY((cfa += fp) <= sp))
            break;
        ra_at = cfa + (uintptr_t)(intptr_t)alqi_arch_usual_ra(fp_offset);
        if (ALQI_UNLIKELY(ra_at - lo > span))
            break;
        row->pc = pc;
        row->cfa = cfa;
        row->fp = fp;
        row->fp_offset = fp_offset;
        row->flags = row_flags(payload, alqi_arch_usual_ra(fp_offset));
        if (fp_words != 0) {
            if (ALQI_UNLIKELY(cfa - 8 * fp_words < lo))
                break; /* it lies below the return address, so below hi */
            fp = alqi_stack_word(cfa - 8 * fp_words);
        }
        sp = cfa;
        pc = alqi_arch_code_address(alqi_stack_word(ra_at));
        *frame++ = row->pc;
        at = at_cfa[slot_of(cfa)];
        /* The next one is asked as well, all in one branch: a frame of the
         * same function often lies at the same place by chance. */
        if (ALQI_UNLIKELY(((kept[at].pc ^ row->pc) | (kept[at].cfa ^ cfa) |
                           (kept[at + 1].pc ^ pc)) == 0) &&
            at >= r->first && is_same_frame(row, &kept[at])) {
            is_match = true;
            break;
        }
    }
    if (sp != w->sp)
        walk_stand(w, pc - 1, sp, fp);
    r->n_fresh = (uint32_t)(row - r->fresh);
    if (is_match)
        run_start(r, at, row->fp);
    return is_match ? ALQI_STACK_GO : ALQI_STACK_OTHER;
}

/* Leaves out the frames in [lo, hi) that come first. */
static enum alqi_stack_outcome
walk_skip(struct replay *r, uintptr_t lo, uintptr_t hi)
{
    enum alqi_stack_outcome o = ALQI_STACK_GO;
    struct alqi_stack_row row;

    while (o == ALQI_STACK_GO && r->walk.key >= lo && r->walk.key < hi)
        o = alqi_stack_step(&r->walk, &row);
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
    } while (o == ALQI_STACK_GO);
    return o;
}

/* Joins fresh rows and run where the kept rows end. */
static void
rows_keep(struct replay *r)
{
    uint32_t n_run = r->run_hi - r->run_lo, at = r->end - n_run;
    uint32_t first = at - r->n_fresh;
    uint16_t *at_cfa = r->walk.memo->at_cfa;

    if (n_run != 0 && r->run_hi != r->end) {
        memmove(&r->kept[at], &r->kept[r->run_lo], n_run * sizeof r->kept[0]);
        at = r->end; /* all are at a new place */
    }
    memcpy(&r->kept[first], r->fresh, r->n_fresh * sizeof r->kept[0]);
    /* every other row: to find one in two costs less than to note all, and
     * run_start extends a run inwards */
    for (uint32_t i = first + (at - first) % 2; i < at; i += 2)
        at_cfa[slot_of(r->kept[i].cfa)] = (uint16_t)i;
}

static ALQI_NOINLINE void
counts_add(struct alqi_stack_memo *memo)
{
    atomic_fetch_add_explicit(&counts.captures, memo->n_uncounted,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.replays, memo->n_replays,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.incomplete, memo->n_incomplete,
                              memory_order_relaxed);
    memo->n_uncounted = memo->n_replays = memo->n_incomplete = 0;
}

/* A memo's first captures are added one by one, later ones in batches. */
static void
count(const struct replay *r, enum alqi_stack_outcome outcome)
{
    struct alqi_stack_memo *memo = r->walk.memo;

    memo->n_uncounted++;
    memo->n_replays += r->run_hi != r->run_lo;
    memo->n_incomplete += outcome == ALQI_STACK_LOST;
    if (memo->n_uncounted == COUNT_BATCH || memo->serial < COUNT_BATCH)
        counts_add(memo);
}

/* Behind the rows: what is bulky is kept off the stack. */
static struct alqi_stack_room *
memo_rooms(struct alqi_stack_memo *memo)
{
    return (struct alqi_stack_room *)&memo->rows[2 * (memo->capacity + 1)];
}

static uintptr_t *
memo_frames(struct alqi_stack_memo *memo)
{
    return (uintptr_t *)(memo_rooms(memo) + 2);
}

static void
replay_begin(struct replay *r, struct alqi_stack_memo *memo,
             const struct alqi_stack_regs *start, uint32_t max)
{
    struct alqi_stack_walk *w = &r->walk;

    w->memo = memo;
    w->key = start->pc - start->is_return;
    w->sp = start->sp;
    w->fp = start->fp;
    w->saved_at = 0;
    w->is_exact = !start->is_return;
    w->n_switches = 0;
    w->tracked_reg = ALQI_STACK_NO_REG;
    w->has_tracked = false;
    w->room = memo_rooms(memo);
    w->generation =
        atomic_load_explicit(&alqi_stack_generation, memory_order_acquire);
    if (memo->generation != w->generation) {
        memo->generation = w->generation;
        memo->n_rows = 0;
    }
    r->kept = memo->rows;
    r->fresh = memo->rows + memo->capacity + 1;
    r->frames = memo_frames(memo);
    r->max = max < memo->capacity ? max : memo->capacity;
    r->n_fresh = 0;
    r->end = memo->capacity;
    r->first = r->end - memo->n_rows;
    r->run_lo = r->run_hi = 0;
}

static struct alqi_stack_result
replay_finish(struct replay *r, enum alqi_stack_outcome outcome)
{
    struct alqi_stack_memo *memo = r->walk.memo;
    struct alqi_stack_result result = {
        .frames = r->frames,
        .n_frames = n_found(r),
        .truncated = outcome == ALQI_STACK_FULL,
        .incomplete = outcome == ALQI_STACK_LOST,
    };

    if (r->run_lo == r->run_hi && r->n_fresh > 0 && r->first < r->end &&
        is_same_frame(&r->fresh[r->n_fresh - 1], &r->kept[r->end - 1])) {
        r->n_fresh--;
        run_start(r, r->end - 1, r->fresh[r->n_fresh].fp);
    }
    if (r->run_hi == r->end && !result.truncated && !memo->was_truncated)
        result.n_same_outer = r->run_hi - r->run_lo;
    count(r, outcome);
    rows_keep(r);
    memo->n_rows = result.n_frames;
    memo->was_truncated = result.truncated;
    memo->serial++;
    return result;
}

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_memo *memo,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    enum alqi_stack_outcome outcome = ALQI_STACK_LOST;
    struct replay r;

    replay_begin(&r, memo, start, max_frames);
    if (start->sp - memo->readable_lo < memo->readable_hi - memo->readable_lo ||
        alqi_stack_reach_slow(memo, start->sp))
        outcome = walk_skip(&r, skip_lo, skip_hi);
    if (outcome == ALQI_STACK_GO)
        outcome = walk_all(&r);
    return replay_finish(&r, outcome);
}

size_t
alqi_stack_memo_bytes(uint32_t capacity_frames)
{
    size_t n = capacity_frames < ALQI_STACK_FRAMES_MAX ? capacity_frames
                                                       : ALQI_STACK_FRAMES_MAX;

    return sizeof(struct alqi_stack_memo) +
           2 * (n + 1) * sizeof(struct alqi_stack_row) +
           2 * sizeof(struct alqi_stack_room) + n * sizeof(uintptr_t);
}

void
alqi_stack_memo_init(struct alqi_stack_memo *memo, uint32_t capacity_frames)
{
    memset(memo, 0, sizeof *memo);
    memo->capacity = capacity_frames < ALQI_STACK_FRAMES_MAX
                         ? capacity_frames
                         : ALQI_STACK_FRAMES_MAX;
    memset(&memo->rows[memo->capacity], 0, sizeof memo->rows[0]);
}

void
alqi_stack_counts(struct alqi_stack_counts *out)
{
    out->captures =
        atomic_load_explicit(&counts.captures, memory_order_relaxed);
    out->replays = atomic_load_explicit(&counts.replays, memory_order_relaxed);
    out->incomplete =
        atomic_load_explicit(&counts.incomplete, memory_order_relaxed);
    out->rules_decoded = alqi_stack_rules_decoded();
}
