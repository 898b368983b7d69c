/* minor_local.c -- a minor collection by one domain alone, while the others run
 *
 *   alone -> a young block escapes: in stops -> the end of a stop: alone
 *
 * The domain stays RUNNING, so a stop waits for it.  At the end of a stop
 * nothing is young, and has_escaped is taken back, unless there are global
 * roots (tests/models/minor_local.pml).  Work that needs a stop (pins,
 * conservative stacks, the next phase) makes the collection a stop, too.
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
#include "heap/hosted.h"
#include "heap/log.h"
#include "heap/minor_escape.h"
#include "heap/major_balance.h"
#include "heap/root_stack.h"

/* Whether minor collections do what needs a stop, in every domain: for retained
 * blocks, and for conservative stacks.  A client of the hooks needs none: what
 * it has of a domain is the domain's own, as the domain's roots are. */
static bool
all_have_stop_work(const struct alqi_heap *heap)
{
    return alqi_heap_pin_has_retained(heap) || alqi_heap_stack_is_any(heap);
}

/* Takes has_escaped back at the end of a stop, when nothing is young.
 *
 * With global roots it stays set: any domain may write a young value into one
 * at any time, without a barrier.  So it does with those of a host.  is_shared
 * tells minor_open.c what to expect of the next collections. */
void
alqi_heap_minor_local_again_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    heap->young.is_shared = heap->young.has_escaped || all_have_stop_work(heap);
    __atomic_store_n(&heap->young.has_escaped,
                     heap->roots.globals != NULL ||
                         (ALQI_HOSTS_OCAML && alqi_heap_host_shares()),
                     __ATOMIC_RELAXED);
}

/* Whether this domain's collection does what needs a stop: recent weak blocks
 * and finalisers, another size, a lost remembered set. */
static bool
has_stop_work(const struct alqi_domain *d)
{
    return all_have_stop_work(d->heap) || alqi_heap_weak_phase_is_recent(d) ||
           d->sizes.is_requested ||
           __atomic_load_n(&d->heap->young.is_remember_lost, __ATOMIC_RELAXED);
}

/* Whether the major cycle waits for a stop, so that the collection had better
 * be one.
 *
 * Sweeping ends, and marking and compaction begin, in stops for minor
 * collections alone, when nothing is young.  A phase that is late also takes
 * the stop: a domain without work of that phase would otherwise go on
 * collecting alone, while domains that have the work may not even run. */
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

/* Whether the domain may collect by itself now.
 *
 * is_helper: the pools of a worker were promised with its minor heap
 * (.inv.room).  Without has_quota its bytes are its own.  The escape flag is
 * read last, with acquire, after everything else of the domain. */
static bool
is_allowed(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           d->young.is_helper && !d->young.has_quota &&
           !alqi_heap_alloc_limit_is_stop_asked(d) && !has_stop_work(d) &&
           !is_phase_next(d) && !alqi_heap_has_escaped(d->heap);
}

/* Collects, tells the policies of size and pace what came of it, opens the
 * minor heap again. */
static void
collect(struct alqi_domain *d)
{
    uint64_t promoted = alqi_heap_event_minor_local_begin(d);

    alqi_heap_minor_run_local(d);
    alqi_heap_event_minor_local_end(d, promoted);
    __atomic_fetch_add(&d->heap->young.n_local_minors, 1, __ATOMIC_RELAXED);
    alqi_heap_minor_size_note_local(d);
    alqi_heap_pace_count_local(d);
    alqi_heap_reopen_minor(d);
}

/* Empties the minor heap by the domain alone; false: the caller needs a stop.
 * Leaves the minor heap open, unless memory is short. */
bool
alqi_heap_minor_local_try(struct alqi_domain *d)
{
    if (!is_allowed(d))
        return false;
    /* .inv.own: it stays RUNNING, so that a stop waits for it. */
    ALQI_ASSERT(__atomic_load_n(&d->state, __ATOMIC_RELAXED) ==
                ALQI_HEAP_RUNNING);
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
