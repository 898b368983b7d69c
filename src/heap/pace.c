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
allowed_words(const struct alqi_domain *d)
{
    uint64_t live = d->pace.live_words;

    return (double)(live < LIVE_LEAST_WORDS ? LIVE_LEAST_WORDS : live) *
           d->heap->space_overhead / 100;
}

bool
alqi_heap_pace_is_due(const struct alqi_domain *d)
{
    return (double)(allocated(d) - d->pace.marking_began) >=
           MARK_AT * allowed_words(d);
}

static void
sweep_rate(struct alqi_domain *d)
{
    double heap =
        (double)alqi_heap_area_used(&d->heap->area) * ALQI_HEAP_POOL_WORDS;
    double left = MARK_AT * allowed_words(d) -
                  (double)(allocated(d) - d->pace.marking_began);
    double least = MARK_IN * allowed_words(d);

    d->pace.rate = heap / (SWEPT_AT * (left < least ? least : left));
}

void
alqi_heap_pace_phase(struct alqi_domain *d)
{
    switch (d->heap->phase) {
    case ALQI_HEAP_SWEEP: /* a marking has ended */
        d->pace.live_words = d->counts.marked_words - d->pace.marked_before +
                             (allocated(d) - d->pace.marking_began);
        sweep_rate(d);
        break;
    case ALQI_HEAP_SWEPT:
        d->pace.rate = 0;
        break;
    case ALQI_HEAP_MARK:
        d->pace.marking_began = allocated(d);
        d->pace.marked_before = d->counts.marked_words;
        d->pace.rate =
            (double)d->pace.live_words / (MARK_IN * allowed_words(d)) + 2;
        break;
    }
    d->pace.debt_words = 0;
    d->pace.paid_words = allocated(d);
    d->pace.seen_work = worked(d);
}

size_t
alqi_heap_pace_slice(struct alqi_domain *d, size_t asked)
{
    struct alqi_heap_pace *p = &d->pace;

    p->debt_words += (double)(allocated(d) - p->paid_words) * p->rate -
                     (double)(worked(d) - p->seen_work);
    p->paid_words = allocated(d);
    p->seen_work = worked(d);
    d->direct_since_slice = 0;
    if (asked != 0)
        return asked;
    return p->debt_words > 0 ? (size_t)p->debt_words : 0;
}
