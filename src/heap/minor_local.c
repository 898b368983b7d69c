/* minor_local.c -- a minor collection by one domain alone, while the others
 * run
 *
 * Possible while no young block has escaped; the domain stays RUNNING, so a
 * stop waits for it.  At the end of a stop, where nothing is young, the
 * flag is taken back (tests/models/minor_local.pml).
 *
 * Keeps .inv.private: While has_escaped is not set no other domain reaches a
 *   young block of this one. */
#include "heap/event.h"
#include "heap/alloc_limit.h"
#include "heap/weak_phase.h"
#include "heap/minor.h"
#include "heap/minor_size.h"
#include "heap/minor_open.h"
#include "heap/major_pace.h"
#include "heap/pin.h"
#include "heap/minor_local.h"
#include "heap/log.h"
#include "heap/minor_escape.h"
#include "heap/major_balance.h"
#include "heap/root_stack.h"

/* What is done in stops alone: blocks that stay, a client that is told. */
static bool
all_have_stop_work(const struct alqi_heap *heap)
{
    return alqi_heap_pin_has_retained(heap) || alqi_heap_stack_is_any(heap) ||
           heap->observer.hooks != NULL;
}

/* A global may be written by anybody at any time, as long as it is there. */
void
alqi_heap_minor_local_again_stw(struct alqi_heap *heap)
{
    heap->young.is_shared = heap->young.has_escaped || all_have_stop_work(heap);
    __atomic_store_n(&heap->young.has_escaped, heap->roots.globals != NULL,
                     __ATOMIC_RELAXED);
}

/* Of this domain: those whose death is told, another size. */
static bool
has_stop_work(const struct alqi_domain *d)
{
    return all_have_stop_work(d->heap) || alqi_heap_weak_phase_is_recent(d) ||
           d->sizes.is_requested ||
           __atomic_load_n(&d->heap->young.is_remember_lost, __ATOMIC_RELAXED);
}

/* Sweeping ends in the next stop for a minor collection; marking, and
 * compaction, begin when nothing at all is young.  And who has no work of a
 * phase that is late waits for those that do, which may not even run. */
static bool
is_phase_next(const struct alqi_domain *d)
{
    const struct alqi_heap *heap = d->heap;

    switch (heap->cycle.phase) {
    case ALQI_HEAP_SWEEP:
        return alqi_heap_balance_is_over(heap) || alqi_heap_pace_is_late(d);
    case ALQI_HEAP_SWEPT:
        return heap->compact.is_due || alqi_heap_pace_is_due(d);
    case ALQI_HEAP_MARK:
        return alqi_heap_pace_is_late(d);
    }
    return false;
}

/* .inv.room: the pools of one who empties a minor heap were promised to it. */
static bool
is_allowed(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           d->young.is_helper && !d->young.has_quota &&
           !alqi_heap_alloc_limit_is_stop_asked(d) && !has_stop_work(d) &&
           !is_phase_next(d) && !alqi_heap_has_escaped(d->heap);
}

static void
collect(struct alqi_domain *d)
{
    uint64_t promoted = alqi_heap_event_minor_local_begin(d);

    alqi_heap_minor_alone(d);
    alqi_heap_event_minor_local_end(d, promoted);
    __atomic_fetch_add(&d->heap->young.n_local_minors, 1, __ATOMIC_RELAXED);
    alqi_heap_minor_size_note_own(d);
    alqi_heap_pace_count_own(d);
    alqi_heap_reopen_minor(d);
}

bool
alqi_heap_minor_local_try(struct alqi_domain *d)
{
    if (!is_allowed(d))
        return false;
    alqi_heap_entry_begin(d);
    collect(d);
    ALQI_HEAP_LOG(
        d->heap, ALQ_GC_LOG_MINOR,
        "minor collection of domain %u alone: %ju words allocated by "
        "it, %ju promoted since it began",
        d->slot, (uintmax_t)d->sums.counts.minor_words,
        (uintmax_t)(d->sums.counts.promoted_words - d->sums.slack_words));
    alqi_heap_entry_end(d);
    return true;
}
