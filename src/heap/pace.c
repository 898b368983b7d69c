#include "heap/area.h"
#include "heap/pace.h"

/* Shares of the allowed overhead. */
#define MARK_AT 0.75
#define MARK_IN 0.15
#define SWEPT_AT 0.8 /* of the way to MARK_AT */

/* A smaller heap is treated as one of this size: cycles have fixed costs. */
enum { LIVE_LEAST_WORDS = ALQI_HEAP_IS_HARD ? 1 << 10 : 1 << 18 };

static uint64_t
allocated(const struct alqi_domain *d)
{
    return d->counts.promoted_words + d->counts.direct_words;
}

static uint64_t
worked(const struct alqi_domain *d)
{
    return d->counts.marked_words + d->counts.swept_words;
}

static double
allowed_words(const struct alqi_heap *heap)
{
    uint64_t live = heap->pace.live_words;

    return (double)(live < LIVE_LEAST_WORDS ? LIVE_LEAST_WORDS : live) *
           heap->space_overhead / 100;
}

/* What the others have allocated since the last count is not known. */
bool
alqi_heap_pace_is_due(const struct alqi_domain *d)
{
    const struct alqi_heap_pace_common *p = &d->heap->pace;
    uint64_t all = p->counted_words + allocated(d) - d->pace.counted_words;

    return (double)(all - p->marking_began) >= MARK_AT * allowed_words(d->heap);
}

/* ---- all domains, in a stop --------------------------------------------- */

static bool
is_there(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->state, __ATOMIC_RELAXED) != ALQI_HEAP_VACANT;
}

void
alqi_heap_pace_count(struct alqi_heap *heap)
{
    uint64_t words = heap->ended_allocated_words;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        if (is_there(heap->domains[i])) {
            struct alqi_domain *d = heap->domains[i];

            d->pace.counted_words = allocated(d);
            words += allocated(d);
        }
    heap->pace.counted_words = words;
}

static uint64_t
marked_by_all(const struct alqi_heap *heap)
{
    uint64_t words = heap->ended_marked_words;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        if (is_there(heap->domains[i]))
            words += heap->domains[i]->counts.marked_words;
    return words;
}

static void
debts_clear(struct alqi_heap *heap)
{
    unsigned i;

    for (i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *d = heap->domains[i];

        d->pace.debt_words = 0;
        d->pace.paid_words = allocated(d);
        d->pace.seen_work = worked(d);
    }
}

static double
sweep_rate(struct alqi_heap *heap)
{
    const struct alqi_heap_pace_common *p = &heap->pace;
    double words =
        (double)alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_WORDS;
    double left = MARK_AT * allowed_words(heap) -
                  (double)(p->counted_words - p->marking_began);
    double least = MARK_IN * allowed_words(heap);

    return words / (SWEPT_AT * (left < least ? least : left));
}

void
alqi_heap_pace_phase(struct alqi_heap *heap)
{
    struct alqi_heap_pace_common *p = &heap->pace;

    alqi_heap_pace_count(heap);
    switch (heap->phase) {
    case ALQI_HEAP_SWEEP: /* a marking has ended */
        p->live_words = marked_by_all(heap) - p->marked_before +
                        (p->counted_words - p->marking_began);
        p->rate = sweep_rate(heap);
        break;
    case ALQI_HEAP_SWEPT:
        p->rate = 0;
        break;
    case ALQI_HEAP_MARK:
        p->marking_began = p->counted_words;
        p->marked_before = marked_by_all(heap);
        p->rate = (double)p->live_words / (MARK_IN * allowed_words(heap)) + 2;
        break;
    }
    debts_clear(heap);
}

/* ---- slices ------------------------------------------------------------- */

size_t
alqi_heap_pace_slice(struct alqi_domain *d, size_t asked)
{
    struct alqi_heap_pace *p = &d->pace;

    p->debt_words +=
        (double)(allocated(d) - p->paid_words) * d->heap->pace.rate -
        (double)(worked(d) - p->seen_work);
    p->paid_words = allocated(d);
    p->seen_work = worked(d);
    d->direct_since_slice = 0;
    if (asked != 0)
        return asked;
    return p->debt_words > 0 ? (size_t)p->debt_words : 0;
}
