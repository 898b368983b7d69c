/* memo.c -- a capture by a memo: a trail that holds, or a replay */
#include <string.h>

#include "stack/capture.h"
#include "stack/held.h"
#include "stack/replay.h"
#include "stack/trail.h"

enum { COUNT_BATCH = 64 };

static struct {
    _Atomic(uint64_t) captures;
    _Atomic(uint64_t) walks;
    _Atomic(uint64_t) incomplete;
} counts;

/* ---- counting --------------------------------------------------------------
 */

static ALQI_NOINLINE void
counts_add(struct alqi_stack_memo *memo)
{
    atomic_fetch_add_explicit(&counts.captures,
                              memo->serial - memo->counted_serial,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.walks, memo->n_walks,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.incomplete, memo->n_incomplete,
                              memory_order_relaxed);
    memo->counted_serial = memo->serial;
    memo->n_walks = memo->n_incomplete = 0;
}

/* A memo's first captures are added one by one, later ones in batches. */
static inline void
count(struct alqi_stack_memo *memo)
{
    memo->serial++;
    if (ALQI_UNLIKELY(memo->serial < COUNT_BATCH ||
                      memo->serial % COUNT_BATCH == 0))
        counts_add(memo);
}

void
alqi_stack_counts(struct alqi_stack_counts *out)
{
    uint64_t walks = atomic_load_explicit(&counts.walks, memory_order_relaxed);

    out->captures =
        atomic_load_explicit(&counts.captures, memory_order_relaxed);
    out->replays = out->captures < walks ? 0 : out->captures - walks;
    out->incomplete =
        atomic_load_explicit(&counts.incomplete, memory_order_relaxed);
    out->rules_decoded = alqi_stack_rules_decoded();
}

/* ---- capturing -------------------------------------------------------------
 */

static inline uint32_t
n_same_outer(struct alqi_stack_memo *memo, struct alqi_stack_trail *trail)
{
    const struct alqi_stack_trail *last = memo->trails->last;
    uint32_t before;

    if (ALQI_LIKELY(last != NULL)) {
        before = last->id % ALQI_STACK_TRAIL_BEFORES;
        if (ALQI_LIKELY(trail->before[before] == last->id))
            return trail->n_same[before];
    }
    if (trail->note >= memo->told_from)
        return 0;
    return alqi_stack_trail_same(memo, trail);
}

static inline struct alqi_stack_result
trail_take(struct alqi_stack_memo *memo, struct alqi_stack_trail *trail)
{
    struct alqi_stack_result result = {
        .frames = trail->value,
        .n_frames = trail->n_frames,
        .n_same_outer = n_same_outer(memo, trail),
        .note = &trail->note,
    };

    memo->trails->last = trail;
    memo->trails->rows_are_last = false;
    count(memo);
    return result;
}

static inline bool
is_within(uintptr_t at, uintptr_t lo, uintptr_t hi)
{
    return at - lo < hi - lo;
}

static ALQI_NOINLINE struct alqi_stack_result
replay(struct alqi_stack_memo *memo, const struct alqi_stack_regs *start,
       uintptr_t skip_lo, uintptr_t skip_hi, uint32_t max_frames)
{
    struct alqi_stack_trails *t = memo->trails;
    struct alqi_stack_replayed r =
        alqi_stack_replay(memo, start, skip_lo, skip_hi, max_frames);

    if (!t->rows_are_last)
        r.result.n_same_outer =
            r.result.truncated ? 0 : alqi_stack_trail_same_rows(memo, t->last);
    t->rows_are_last = true;
    t->last = NULL;
    if (!r.result.incomplete && r.result.n_frames > 0 &&
        !is_within(start->pc - start->is_return, skip_lo, skip_hi))
        alqi_stack_trail_keep(memo, start->sp, start->fp);
    memo->n_walks += !r.is_replay;
    memo->n_incomplete += r.result.incomplete;
    count(memo);
    return r.result;
}

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_memo *memo,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    uintptr_t key = start->pc - start->is_return;
    struct alqi_stack_trail *trail;

    if (ALQI_LIKELY(
            is_within(start->sp, memo->readable_lo, memo->readable_hi) &&
            !is_within(key, skip_lo, skip_hi) &&
            memo->generation == atomic_load_explicit(&alqi_stack_generation,
                                                     memory_order_acquire))) {
        trail = alqi_stack_trail_find(memo, key + 1, start->sp, start->fp);
        if (ALQI_LIKELY(trail != NULL && trail->n_frames <= max_frames))
            return trail_take(memo, trail);
    }
    return replay(memo, start, skip_lo, skip_hi, max_frames);
}

uintptr_t
alqi_stack_frame_end(const struct alqi_stack_memo *memo, uint32_t i)
{
    ALQI_ASSERT(memo->serial == 1 && i < memo->n_rows);
    return alqi_stack_held_cfa(memo, memo->capacity - memo->n_rows + i);
}

/* ---- memory ----------------------------------------------------------------
 */

static uint32_t
capacity_of(uint32_t frames)
{
    return frames < ALQI_STACK_FRAMES_MAX ? frames : ALQI_STACK_FRAMES_MAX;
}

size_t
alqi_stack_memo_bytes(uint32_t capacity_frames)
{
    size_t n = capacity_of(capacity_frames);

    return sizeof(struct alqi_stack_memo) + 2 * sizeof(struct alqi_stack_room) +
           n * (sizeof(struct alqi_stack_frame) +
                sizeof(struct alqi_stack_check)) +
           (n + 1) * (2 * sizeof(uintptr_t) + sizeof(struct alqi_stack_link)) +
           sizeof(struct alqi_stack_trails);
}

void
alqi_stack_memo_init(struct alqi_stack_memo *memo, uint32_t capacity_frames)
{
    size_t n = capacity_of(capacity_frames);

    memset(memo, 0, sizeof *memo);
    memo->capacity = (uint32_t)n;
    memo->told_from = UINT64_MAX;
    memo->pc = (uintptr_t *)(memo + 1);
    memo->ra_at = memo->pc + n + 1;
    memo->link = (struct alqi_stack_link *)(memo->ra_at + n + 1);
    memo->check = (struct alqi_stack_check *)(memo->link + n + 1);
    memo->fresh = (struct alqi_stack_frame *)(memo->check + n);
    memo->trails = (struct alqi_stack_trails *)(memo->fresh + n);
    memo->rooms = (struct alqi_stack_room *)(memo->trails + 1);
    memo->pc[n] = memo->ra_at[n] = 0;
    memset(&memo->link[n], 0, sizeof memo->link[n]);
    alqi_stack_trails_init(memo->trails);
}
