/* capture_take.c -- one capture by a thread's capture cache
 *
 * A capture is, in this order:
 *   a cached stack that holds   found and verified, nothing is unwound
 *   a replay                    a walk that stops where it meets the last one's
 *                               rows; what it found may become a cached stack
 *
 * The cache is the calling thread's alone; only the counters are shared.
 * Keeps .inv.kept (by replay) and .inv.cached: a capture that begins in the
 * skipped range, outside the readable range or in another generation is
 * walked. */
#include <string.h>

#include "stack/capture.h"
#include "stack/capture_rows.h"
#include "stack/capture_replay.h"
#include "stack/capture_cached.h"

enum { COUNT_BATCH = 64 }; /* captures between two additions to the counters */

/* Counters of all threads; relaxed additions, read for statistics only. */
static struct {
    _Atomic(uint64_t) captures;
    _Atomic(uint64_t) walks;      /* that met no row of the last one */
    _Atomic(uint64_t) incomplete; /* that lost the stack */
} counts;

/* ---- counting --------------------------------------------------------------
 */

/* Adds what the cache has counted since the last time. */
static ALQI_NOINLINE void
counts_add(struct alqi_stack_cache *cache)
{
    atomic_fetch_add_explicit(&counts.captures,
                              cache->serial - cache->counted_serial,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.walks, cache->n_walks,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&counts.incomplete, cache->n_incomplete,
                              memory_order_relaxed);
    cache->counted_serial = cache->serial;
    cache->n_walks = cache->n_incomplete = 0;
}

/* A cache's first captures are added one by one, later ones in batches. */
static inline void
count(struct alqi_stack_cache *cache)
{
    cache->serial++;
    if (ALQI_UNLIKELY(cache->serial < COUNT_BATCH ||
                      cache->serial % COUNT_BATCH == 0))
        counts_add(cache);
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

/* The outermost frames that the cached stack shares with the last capture:
 * known of a pair that came in this order before, else compared. */
static inline uint32_t
n_same_outer(struct alqi_stack_cache *cache, struct alqi_stack_cached *cached)
{
    const struct alqi_stack_cached *last = cache->stacks->last;
    uint32_t before;

    if (ALQI_LIKELY(last != NULL)) {
        before = last->id % ALQI_STACK_CACHED_BEFORES;
        if (ALQI_LIKELY(cached->before[before] == last->id))
            return cached->n_same[before];
    }
    if (cached->note >= cache->same_below)
        return 0;
    return alqi_stack_cached_same(cache, cached);
}

/* The result is the cached stack, which holds; it is the last capture now. */
static inline struct alqi_stack_result
cached_take(struct alqi_stack_cache *cache, struct alqi_stack_cached *cached)
{
    struct alqi_stack_result result = {
        .frames = cached->value,
        .n_frames = cached->n_frames,
        .n_same_outer = n_same_outer(cache, cached),
        .note = &cached->note,
    };

    cache->stacks->last = cached;
    cache->stacks->rows_are_last = false;
    count(cache);
    return result;
}

static inline bool
is_within(uintptr_t at, uintptr_t lo, uintptr_t hi)
{
    return at - lo < hi - lo;
}

/* By a walk.  Rows know what they share with the rows before them; after a
 * cached stack they are compared with that. */
static ALQI_NOINLINE struct alqi_stack_result
replay(struct alqi_stack_cache *cache, const struct alqi_stack_regs *start,
       uintptr_t skip_lo, uintptr_t skip_hi, uint32_t max_frames)
{
    struct alqi_stack_cached_set *t = cache->stacks;
    struct alqi_stack_replayed r =
        alqi_stack_replay(cache, start, skip_lo, skip_hi, max_frames);

    if (!t->rows_are_last)
        r.result.n_same_outer =
            r.result.truncated ? 0
                               : alqi_stack_cached_same_rows(cache, t->last);
    t->rows_are_last = true;
    t->last = NULL;
    if (!r.result.incomplete && r.result.n_frames > 0 &&
        !is_within(start->pc - start->is_return, skip_lo, skip_hi))
        alqi_stack_cached_keep(cache, start->sp, start->fp);
    cache->n_walks += !r.is_replay;
    cache->n_incomplete += r.result.incomplete;
    count(cache);
    return r.result;
}

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_cache *cache,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    uintptr_t key = start->pc - start->is_return;
    struct alqi_stack_cached *cached;

    if (ALQI_LIKELY(
            is_within(start->sp, cache->readable_lo, cache->readable_hi) &&
            !is_within(key, skip_lo, skip_hi) &&
            cache->generation == atomic_load_explicit(&alqi_stack_generation,
                                                      memory_order_acquire))) {
        cached = alqi_stack_cached_find(cache, key + 1, start->sp, start->fp);
        if (ALQI_LIKELY(cached != NULL && cached->n_frames <= max_frames))
            return cached_take(cache, cached);
    }
    return replay(cache, start, skip_lo, skip_hi, max_frames);
}

uintptr_t
alqi_stack_frame_cfa_at(const struct alqi_stack_cache *cache, uint32_t i)
{
    ALQI_ASSERT(cache->serial == 1 && i < cache->n_rows);
    return alqi_stack_rows_cfa(cache, cache->capacity - cache->n_rows + i);
}

bool
alqi_stack_last_is_plain(const struct alqi_stack_cache *cache)
{
    uint32_t first = cache->capacity - cache->n_rows;

    return cache->stacks->last != NULL ||
           (cache->n_rows > 0 && !cache->was_truncated &&
            cache->link[first].n_plain == cache->n_rows - 1 &&
            cache->link[cache->capacity - 1].rule == ALQI_STACK_RULE_END);
}

/* Frames of a cached stack are plain, but for the thread's first. */
uintptr_t
alqi_stack_last_end_of(const struct alqi_stack_cache *cache, uint32_t i)
{
    const struct alqi_stack_cached *last = cache->stacks->last;
    uint32_t row = cache->capacity - cache->n_rows + i;

    if (last != NULL)
        return i + 1 < last->n_frames
                   ? last->sp +
                         sizeof(uintptr_t) * alqi_stack_cached_offsets(last)[i]
                   : UINTPTR_MAX;
    return row < cache->capacity && cache->link[row].rule != ALQI_STACK_RULE_END
               ? cache->ra_at[row]
               : UINTPTR_MAX;
}

/* ---- memory ----------------------------------------------------------------
 */

static uint32_t
capacity_of(uint32_t frames)
{
    return frames < ALQI_STACK_FRAMES_MAX ? frames : ALQI_STACK_FRAMES_MAX;
}

size_t
alqi_stack_cache_bytes(uint32_t capacity_frames)
{
    size_t n = capacity_of(capacity_frames);

    return sizeof(struct alqi_stack_cache) +
           2 * sizeof(struct alqi_stack_scratch) +
           n * (sizeof(struct alqi_stack_frame) +
                sizeof(struct alqi_stack_check)) +
           (n + 1) * (2 * sizeof(uintptr_t) + sizeof(struct alqi_stack_link)) +
           sizeof(struct alqi_stack_cached_set);
}

void
alqi_stack_cache_init(struct alqi_stack_cache *cache, uint32_t capacity_frames)
{
    size_t n = capacity_of(capacity_frames);

    memset(cache, 0, sizeof *cache);
    cache->capacity = (uint32_t)n;
    cache->same_below = UINT64_MAX;
    cache->pc = (uintptr_t *)(cache + 1);
    cache->ra_at = cache->pc + n + 1;
    cache->link = (struct alqi_stack_link *)(cache->ra_at + n + 1);
    cache->check = (struct alqi_stack_check *)(cache->link + n + 1);
    cache->fresh = (struct alqi_stack_frame *)(cache->check + n);
    cache->stacks = (struct alqi_stack_cached_set *)(cache->fresh + n);
    cache->scratch = (struct alqi_stack_scratch *)(cache->stacks + 1);
    cache->pc[n] = cache->ra_at[n] = 0;
    memset(&cache->link[n], 0, sizeof cache->link[n]);
    alqi_stack_cached_init(cache->stacks);
}
