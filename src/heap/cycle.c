#include "heap/area.h"
#include "heap/barrier.h"
#include "heap/cycle.h"
#include "heap/limit.h"
#include "heap/mark.h"
#include "heap/minor.h"
#include "heap/pace.h"
#include "heap/root.h"
#include "heap/sweep.h"
#include "heap/verify.h"

enum { WORK_STEP_WORDS = 16384 };

/* ---- phases ------------------------------------------------------------- */

static void
darken_root(void *arg, alq_value *slot)
{
    alqi_heap_mark_darken(arg, *slot);
}

static void
phase_set(struct alqi_domain *d, enum alqi_heap_phase phase)
{
    d->heap->phase = phase;
    d->alloc_colour =
        phase == ALQI_HEAP_MARK ? d->heap->marked : d->heap->unmarked;
    alqi_heap_store_max_set(d);
    alqi_heap_pace_phase(d);
}

/* SWEPT -> MARK, when nothing is young. */
static void
mark_begin(struct alqi_domain *d)
{
    ALQI_ASSERT(alqi_heap_minor_is_empty(d));
    alqi_heap_mark_begin(d);
    phase_set(d, ALQI_HEAP_MARK);
    alqi_heap_roots_visit(d, false, darken_root, d);
}

/* MARK -> SWEEP, when nothing is left to mark. */
static void
rotate(struct alqi_domain *d)
{
    struct alqi_heap *heap = d->heap;
    uintptr_t garbage = heap->garbage;

    alqi_heap_verify(d, ALQI_HEAP_VERIFY_MARKED);
    d->counts.major_cycles++;
    heap->garbage = heap->unmarked;
    heap->unmarked = heap->marked;
    heap->marked = garbage;
    phase_set(d, ALQI_HEAP_SWEEP);
    alqi_heap_sweep_begin(d);
}

/* Work of the phase, about; 0: it waits, for a minor collection, or, unless it
 * is forced, until marking is due. */
static size_t
work(struct alqi_domain *d, size_t words, bool forced)
{
    size_t done = 0;

    if (d->heap->phase == ALQI_HEAP_SWEEP) {
        done = alqi_heap_sweep(d, words);
        if (done < words) {
            phase_set(d, ALQI_HEAP_SWEPT);
            alqi_heap_verify(d, ALQI_HEAP_VERIFY_ANY);
        }
    }
    if (done < words && d->heap->phase == ALQI_HEAP_SWEPT) {
        if (!(forced || alqi_heap_pace_is_due(d)))
            return done;
        if (!alqi_heap_minor_is_empty(d))
            return done;
        mark_begin(d);
        done++;
    }
    if (done < words && d->heap->phase == ALQI_HEAP_MARK) {
        done += alqi_heap_mark(d, words - done);
        if (alqi_heap_mark_is_done(d)) {
            rotate(d);
            done++;
        }
    }
    return done;
}

void
alqi_heap_slice(struct alqi_domain *d, size_t work_words)
{
    size_t step, done;
    size_t left = alqi_heap_pace_slice(d, work_words);

    d->want_slice = false;
    d->counts.slices++;
    while (left > 0) {
        step = left < WORK_STEP_WORDS ? left : WORK_STEP_WORDS;
        done = work(d, step, work_words != 0);
        if (done == 0)
            break;
        left -= done < left ? done : left;
    }
    if (d->heap->phase == ALQI_HEAP_SWEPT && alqi_heap_pace_is_due(d))
        d->want_minor = true; /* even if only large blocks are allocated */
    alqi_heap_limit_reset(d);
}

/* The minor heap is empty and closed. */
static void
finish_cycle(struct alqi_domain *d)
{
    uint64_t cycle = d->counts.major_cycles;

    while (d->counts.major_cycles == cycle)
        work(d, SIZE_MAX / 2, true);
}

static void
sweep_all(struct alqi_domain *d)
{
    if (d->heap->phase == ALQI_HEAP_SWEEP)
        alqi_heap_sweep(d, SIZE_MAX);
}

/* Twice, for a cycle under way does not find what died since it began. */
static void
collect_all(struct alqi_domain *d)
{
    finish_cycle(d);
    finish_cycle(d);
    sweep_all(d);
}

/* ---- memory ------------------------------------------------------------- */

uint64_t
alqi_heap_bytes(const struct alqi_domain *d)
{
    return alqi_heap_area_used(&d->heap->area) * ALQI_HEAP_POOL_BYTES +
           d->heap->large_bytes;
}

bool
alqi_heap_is_within(const struct alqi_domain *d, size_t bytes)
{
    uint64_t limit = d->heap->limit_bytes;
    uint64_t used = alqi_heap_bytes(d);

    if (limit == SIZE_MAX)
        return true;
    if (d->pub.status != ALQ_OK)
        limit += d->heap->reserve_bytes;
    return used <= limit && bytes <= limit - used;
}

/* Memory to promote `bytes` of young blocks, and the reserve unless it is being
 * used. */
static bool
is_ready(struct alqi_domain *d, uintptr_t bytes)
{
    size_t reserve = d->pub.status == ALQ_OK
                         ? d->heap->reserve_bytes / ALQI_HEAP_POOL_BYTES
                         : 0;

    return alqi_heap_area_ready(&d->heap->area,
                                alqi_heap_minor_need(bytes, 1) + reserve);
}

/* The largest minor heap that can be emptied for sure; 0: none. */
static uintptr_t
safe_bytes(struct alqi_domain *d)
{
    uintptr_t bytes = d->minor_bytes;

    if (!alqi_heap_is_within(d, 0))
        return 0;
    while (!is_ready(d, bytes)) {
        if (bytes <= ALQI_HEAP_CHUNK_BYTES)
            return 0;
        bytes = bytes / 2 & ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);
    }
    return bytes;
}

static void
reopen(struct alqi_domain *d)
{
    uintptr_t bytes = safe_bytes(d);

    if (bytes == 0) {
        d->counts.emergencies++;
        collect_all(d);
        bytes = safe_bytes(d);
    }
    if (bytes > 0)
        alqi_heap_minor_begin(d, bytes);
}

static void
empty_minor(struct alqi_domain *d)
{
    alqi_heap_verify(d, ALQI_HEAP_VERIFY_REMEMBERED);
    alqi_heap_minor_prepare(d, 1);
    alqi_heap_minor_share(d, d);
    alqi_heap_minor_drain(d);
    alqi_heap_minor_finish(d, d);
    alqi_heap_verify(d, ALQI_HEAP_VERIFY_ANY);
}

void
alqi_heap_minor(struct alqi_domain *d)
{
    empty_minor(d);
    if (d->heap->phase == ALQI_HEAP_SWEPT && alqi_heap_pace_is_due(d))
        mark_begin(d);
    reopen(d);
}

void
alqi_heap_major(struct alqi_domain *d)
{
    empty_minor(d);
    finish_cycle(d);
    reopen(d);
}

void
alqi_heap_full_major(struct alqi_domain *d)
{
    empty_minor(d);
    collect_all(d);
    reopen(d);
}
