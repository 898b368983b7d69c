/* weak_phase.c -- the steps that end a marking
 *
 * MARK -> EPHE -> FIND -> RESURRECT -> AGAIN -> CLEAN -> DONE.  The step
 * changes in a stop, when no domain has work, and goes on to the next one that
 * gives some domain work.  EPHE and AGAIN go on in rounds.  The work of a step
 * is done in slices.
 *
 * Keeps .inv.phase: Nothing unmarked is reachable but through weak references
 *   when CLEAN begins. */
#include "heap/final_alarm.h"
#include "heap/weak_ephe.h"
#include "heap/event.h"
#include "heap/final.h"
#include "heap/weak_phase.h"
#include "heap/major_mark.h"
#include "heap/weak.h"

/* References emptied since the heap began, by all domains, ended ones too: for
 * the event. */
static uint64_t
n_emptied(const struct alqi_heap *heap)
{
    uint64_t n = heap->weak_phase.n_emptied_ended;

    for (unsigned i = 0; i < heap->n_slots; i++)
        n += heap->domains[i]->weak_phase.weak.n_emptied;
    return n;
}

/* ---- marking ------------------------------------------------------------ */

/* Begins with step MARK, in the stop in which marking begins.  The count of
 * emptied references goes on; all else begins at 0. */
void
alqi_heap_weak_phase_begin_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    /* .inv.phase: the last marking went through all steps. */
    ALQI_ASSERT(heap->cycle.n == 0 ||
                heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_DONE);
    heap->weak_phase = (struct alqi_heap_weak_phase_common){
        .n_emptied_ended = heap->weak_phase.n_emptied_ended,
    };
}

static void
darken_root(void *arg, alq_value *slot)
{
    alqi_heap_mark_darken(arg, *slot);
}

/* Begins for one domain: its ephemerons wait, calls that are due are roots, and
 * the pass over its finalisers starts. */
void
alqi_heap_weak_phase_begin_share_stw(struct alqi_domain *of)
{
    ALQI_ASSERT(alqi_heap_is_stopped(of->heap));
    alqi_heap_weak_mark_begin_stw(of);
    alqi_heap_final_visit_due(of, darken_root, of);
    alqi_heap_final_pass_begin_stw(of);
}

/* Does the work of the step, when nothing is left to mark; returns the words
 * done, 0: the step is over for this domain. */
static size_t
step_work(struct alqi_domain *of, size_t budget_words)
{
    size_t done;

    switch (of->heap->weak_phase.step) {
    case ALQI_HEAP_WEAK_PHASE_EPHE:
    case ALQI_HEAP_WEAK_PHASE_AGAIN:
        return alqi_heap_ephe_mark(of, budget_words);
    case ALQI_HEAP_WEAK_PHASE_MARK:
    case ALQI_HEAP_WEAK_PHASE_FIND:
    case ALQI_HEAP_WEAK_PHASE_RESURRECT:
        return alqi_heap_final_pass(of, budget_words);
    case ALQI_HEAP_WEAK_PHASE_CLEAN:
        done = alqi_heap_final_pass(of, budget_words);
        return done > 0 ? done : alqi_heap_weak_clean(of, budget_words);
    case ALQI_HEAP_WEAK_PHASE_DONE:
        break;
    }
    return 0;
}

/* Does about budget_words of marking and of the step's work; less only if the
 * domain is through with both.
 *
 * Marking comes first, and again after each part of the step's work, which may
 * have darkened blocks. live_words counts the step's work without the marking
 * in it, which the marker counts itself. */
size_t
alqi_heap_weak_phase_work(struct alqi_domain *of, size_t budget_words)
{
    size_t more, done = alqi_heap_mark(of, budget_words);
    uint64_t marked;

    while (done < budget_words) {
        marked = of->sums.counts.marked_words;
        more = step_work(of, budget_words - done);
        if (more == 0)
            break;
        of->sums.live_words += more - (of->sums.counts.marked_words - marked);
        done += more;
        if (done < budget_words && !alqi_heap_mark_is_done(of))
            done += alqi_heap_mark(of, budget_words - done);
    }
    /* .inv.todo: a domain that does less than the budget is done. */
    ALQI_ASSERT(done >= budget_words || alqi_heap_mark_is_done(of));
    return done;
}

/* ---- rounds ------------------------------------------------------------- */

/* Blocks that the domain has darkened in this round through weak references. */
static uint64_t
darkened(const struct alqi_domain *of)
{
    return of->weak_phase.weak.n_darkened -
           of->weak_phase.weak.n_darkened_before;
}

/* Begins a round of passes: domains whose ephemerons have to be looked at once
 * more become busy.  False: none has to, so the round before was the last.
 *
 * With one domain its own pass knows whether it marked anything.  With several
 * each pass may have missed what others marked meanwhile, be it what the
 * domain's own data lead to, since ranges change hands (major_balance.h).  So
 * all look again until a round has darkened nothing anywhere. */
static bool
round_begin(struct alqi_heap *heap, bool first)
{
    uint64_t all = heap->weak_phase.n_darkened_ended;

    ALQI_ASSERT(heap->cycle.n_busy == 0); /* .inv.todo */
    for (unsigned i = 0; i < heap->n_slots; i++)
        all += darkened(heap->domains[i]);
    for (unsigned i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *of = heap->domains[i];
        bool again = first || !alqi_heap_ephe_is_done(of) ||
                     (all > 0 && heap->n_slots > 1);

        of->weak_phase.weak.n_darkened_before = of->weak_phase.weak.n_darkened;
        if (!again || !alqi_heap_ephe_any_waits(of))
            continue;
        alqi_heap_ephe_begin(of);
        alqi_heap_mark_undone(of);
    }
    heap->weak_phase.n_darkened_ended = 0;
    return heap->cycle.n_busy > 0;
}

/* ---- steps -------------------------------------------------------------- */

/* Begins a step that goes through finalisers, or cleans: domains with work of
 * it become busy. */
static void
step_begin(struct alqi_heap *heap, enum alqi_heap_weak_phase_step step)
{
    ALQI_ASSERT(heap->cycle.n_busy == 0);           /* .inv.todo */
    ALQI_ASSERT(step == heap->weak_phase.step + 1); /* .inv.phase */
    heap->weak_phase.step = step;
    for (unsigned i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *of = heap->domains[i];
        bool has_work = alqi_heap_final_pass_begin_stw(of);

        if (step == ALQI_HEAP_WEAK_PHASE_CLEAN)
            has_work |= alqi_heap_weak_clean_begin(of);
        if (has_work)
            alqi_heap_mark_undone(of);
    }
}

/* Goes on to the next step, or to the next round of the same one.  If FIND has
 * found no dead value, nothing was resurrected, so AGAIN looks only at what was
 * darkened since. */
static void
step_next(struct alqi_heap *heap)
{
    enum alqi_heap_weak_phase_step step = heap->weak_phase.step;

    switch (step) {
    case ALQI_HEAP_WEAK_PHASE_MARK:
        alqi_heap_event_weak_phase_begin_stw(heap);
        heap->weak_phase.n_emptied_before = n_emptied(heap);
        heap->weak_phase.step = ALQI_HEAP_WEAK_PHASE_EPHE;
        round_begin(heap, true);
        break;
    case ALQI_HEAP_WEAK_PHASE_EPHE:
        if (!round_begin(heap, false))
            step_begin(heap, ALQI_HEAP_WEAK_PHASE_FIND);
        break;
    case ALQI_HEAP_WEAK_PHASE_FIND:
        step_begin(heap, ALQI_HEAP_WEAK_PHASE_RESURRECT);
        break;
    case ALQI_HEAP_WEAK_PHASE_RESURRECT:
        heap->weak_phase.step = ALQI_HEAP_WEAK_PHASE_AGAIN;
        round_begin(heap, heap->weak_phase.n_found > 0);
        break;
    case ALQI_HEAP_WEAK_PHASE_AGAIN:
        if (!round_begin(heap, false))
            step_begin(heap, ALQI_HEAP_WEAK_PHASE_CLEAN);
        break;
    case ALQI_HEAP_WEAK_PHASE_CLEAN:
    case ALQI_HEAP_WEAK_PHASE_DONE:
        heap->weak_phase.step = ALQI_HEAP_WEAK_PHASE_DONE;
        break;
    }
}

/* Goes on until some domain has work, by one participant of a stop; false: the
 * step is DONE, and the cycle may end. */
bool
alqi_heap_weak_phase_next_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    ALQI_ASSERT(heap->cycle.n_busy == 0); /* .inv.todo */
    while (heap->cycle.n_busy == 0 &&
           heap->weak_phase.step != ALQI_HEAP_WEAK_PHASE_DONE)
        step_next(heap);
    if (heap->cycle.n_busy > 0)
        return true;
    alqi_heap_event_weak_phase_end_stw(
        heap, n_emptied(heap) - heap->weak_phase.n_emptied_before);
    return false;
}

/* ---- minor collection --------------------------------------------------- */

void
alqi_heap_weak_phase_promote_stw(struct alqi_domain *self,
                                 struct alqi_domain *of)
{
    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    alqi_heap_weak_promote(self, of);
    alqi_heap_final_promote(self, of);
}

bool
alqi_heap_weak_phase_is_recent(const struct alqi_domain *of)
{
    return alqi_heap_weak_is_recent(of) || alqi_heap_final_is_recent(of);
}

void
alqi_heap_weak_phase_after_minor_stw(struct alqi_domain *of)
{
    ALQI_ASSERT(alqi_heap_is_stopped(of->heap));
    alqi_heap_weak_after_minor_stw(of, alqi_heap_weak_phase_is_cleaning(of));
    alqi_heap_final_after_minor(of);
}

/* ---- ends --------------------------------------------------------------- */

void
alqi_heap_weak_phase_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    alqi_heap_weak_leave(d, o);
    alqi_heap_final_leave(d, o);
    alqi_heap_alarm_drop(d);
}

/* Takes over what *o has.  Adopted ephemerons that wait have to be looked at in
 * the round under way, since no pass of their old domain does: so this domain
 * begins its pass anew. */
void
alqi_heap_weak_phase_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    bool is_looked_for =
        d->heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_EPHE ||
        d->heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_AGAIN;

    alqi_heap_weak_adopt(d, o);
    alqi_heap_final_adopt(d, o);
    if (d->heap->cycle.phase != ALQI_HEAP_MARK || !is_looked_for ||
        !alqi_heap_ephe_any_waits(d))
        return;
    alqi_heap_ephe_begin(d);
    alqi_heap_mark_undone(d);
}

void
alqi_heap_weak_phase_drop(struct alqi_domain *d)
{
    alqi_heap_weak_drop(d);
    alqi_heap_final_drop(d);
    alqi_heap_alarm_drop(d);
}
