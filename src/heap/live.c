#include "heap/alarm.h"
#include "heap/ephe.h"
#include "heap/event.h"
#include "heap/final.h"
#include "heap/live.h"
#include "heap/mark.h"
#include "heap/weak.h"

/* Of those that ended the slots stay, with nothing in them. */
#define EACH_DOMAIN(heap, of, i)                                               \
    for (i = 0; i < (heap)->n_slots && (of = (heap)->domains[i], true); i++)

/* References emptied, since the heap began. */
static uint64_t
n_emptied(const struct alqi_heap *heap)
{
    uint64_t n = heap->live.n_emptied_ended;
    const struct alqi_domain *of;
    unsigned i;

    EACH_DOMAIN(heap, of, i)
    n += of->live.weak.n_emptied;
    return n;
}

/* ---- marking ------------------------------------------------------------ */

void
alqi_heap_live_begin(struct alqi_heap *heap)
{
    heap->live = (struct alqi_heap_live_common){
        .n_emptied_ended = heap->live.n_emptied_ended,
    };
}

static void
darken_root(void *arg, alq_value *slot)
{
    alqi_heap_mark_darken(arg, *slot);
}

void
alqi_heap_live_begin_share(struct alqi_domain *of)
{
    alqi_heap_weak_mark_begin(of);
    alqi_heap_final_visit_due(of, darken_root, of);
    alqi_heap_final_pass_begin(of);
}

/* What the step does when nothing is left to mark. */
static size_t
step_work(struct alqi_domain *of, size_t budget_words)
{
    size_t done;

    switch (of->heap->live.step) {
    case ALQI_HEAP_LIVE_EPHE:
    case ALQI_HEAP_LIVE_AGAIN:
        return alqi_heap_ephe_mark(of, budget_words);
    case ALQI_HEAP_LIVE_MARK:
    case ALQI_HEAP_LIVE_FIND:
    case ALQI_HEAP_LIVE_KEEP:
        return alqi_heap_final_pass(of, budget_words);
    case ALQI_HEAP_LIVE_CLEAN:
        done = alqi_heap_final_pass(of, budget_words);
        return done > 0 ? done : alqi_heap_weak_clean(of, budget_words);
    case ALQI_HEAP_LIVE_DONE:
        break;
    }
    return 0;
}

size_t
alqi_heap_live_work(struct alqi_domain *of, size_t budget_words)
{
    size_t more, done = alqi_heap_mark(of, budget_words);
    uint64_t marked;

    while (done < budget_words) {
        marked = of->counts.marked_words;
        more = step_work(of, budget_words - done);
        if (more == 0)
            break;
        of->live_words += more - (of->counts.marked_words - marked);
        done += more;
        if (done < budget_words && !alqi_heap_mark_is_done(of))
            done += alqi_heap_mark(of, budget_words - done);
    }
    return done;
}

/* ---- rounds ------------------------------------------------------------- */

static uint64_t
darkened(const struct alqi_domain *of)
{
    return of->live.weak.n_darkened - of->live.weak.n_darkened_before;
}

/* The domains whose ephemerons have to be looked at again have work: those that
 * have not come to an end, and all, if others may have marked since (also what
 * their own data lead to: spare.h). */
static bool
round_begin(struct alqi_heap *heap, bool first)
{
    uint64_t all = heap->live.n_darkened_ended;
    struct alqi_domain *of;
    unsigned i;

    EACH_DOMAIN(heap, of, i)
    all += darkened(of);
    EACH_DOMAIN(heap, of, i)
    {
        bool again = first || !alqi_heap_ephe_is_done(of) ||
                     (all > 0 && heap->n_slots > 1);

        of->live.weak.n_darkened_before = of->live.weak.n_darkened;
        if (!again || !alqi_heap_ephe_waits(of))
            continue;
        alqi_heap_ephe_begin(of);
        alqi_heap_mark_undone(of);
    }
    heap->live.n_darkened_ended = 0;
    return heap->todo > 0;
}

/* ---- steps -------------------------------------------------------------- */

/* Whoever has work of the step. */
static void
step_begin(struct alqi_heap *heap, enum alqi_heap_live_step step)
{
    struct alqi_domain *of;
    unsigned i;

    heap->live.step = step;
    EACH_DOMAIN(heap, of, i)
    {
        bool has_work = alqi_heap_final_pass_begin(of);

        if (step == ALQI_HEAP_LIVE_CLEAN)
            has_work |= alqi_heap_weak_clean_begin(of);
        if (has_work)
            alqi_heap_mark_undone(of);
    }
}

static void
step_next(struct alqi_heap *heap)
{
    enum alqi_heap_live_step step = heap->live.step;

    switch (step) {
    case ALQI_HEAP_LIVE_MARK:
        alqi_heap_event_live_begin(heap);
        heap->live.n_emptied_before = n_emptied(heap);
        heap->live.step = ALQI_HEAP_LIVE_EPHE;
        round_begin(heap, true);
        break;
    case ALQI_HEAP_LIVE_EPHE:
        if (!round_begin(heap, false))
            step_begin(heap, ALQI_HEAP_LIVE_FIND);
        break;
    case ALQI_HEAP_LIVE_FIND:
        step_begin(heap, ALQI_HEAP_LIVE_KEEP);
        break;
    case ALQI_HEAP_LIVE_KEEP:
        heap->live.step = ALQI_HEAP_LIVE_AGAIN;
        round_begin(heap, heap->live.n_found > 0);
        break;
    case ALQI_HEAP_LIVE_AGAIN:
        if (!round_begin(heap, false))
            step_begin(heap, ALQI_HEAP_LIVE_CLEAN);
        break;
    case ALQI_HEAP_LIVE_CLEAN:
    case ALQI_HEAP_LIVE_DONE:
        heap->live.step = ALQI_HEAP_LIVE_DONE;
        break;
    }
}

bool
alqi_heap_live_next(struct alqi_heap *heap)
{
    ALQI_ASSERT(heap->todo == 0);
    while (heap->todo == 0 && heap->live.step != ALQI_HEAP_LIVE_DONE)
        step_next(heap);
    if (heap->todo > 0)
        return true;
    alqi_heap_event_live_end(heap,
                             n_emptied(heap) - heap->live.n_emptied_before);
    return false;
}

/* ---- minor collection --------------------------------------------------- */

void
alqi_heap_live_promote(struct alqi_domain *self, struct alqi_domain *of)
{
    alqi_heap_weak_promote(self, of);
    alqi_heap_final_promote(self, of);
}

bool
alqi_heap_live_is_recent(const struct alqi_domain *of)
{
    return alqi_heap_weak_is_recent(of) || alqi_heap_final_is_recent(of);
}

void
alqi_heap_live_after_minor(struct alqi_domain *of)
{
    alqi_heap_weak_after_minor(of, alqi_heap_live_is_cleaning(of));
    alqi_heap_final_after_minor(of);
}

/* ---- ends --------------------------------------------------------------- */

void
alqi_heap_live_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    alqi_heap_weak_leave(d, o);
    alqi_heap_final_leave(d, o);
    alqi_heap_alarm_drop(d);
}

void
alqi_heap_live_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    bool is_looked_for = d->heap->live.step == ALQI_HEAP_LIVE_EPHE ||
                         d->heap->live.step == ALQI_HEAP_LIVE_AGAIN;

    alqi_heap_weak_adopt(d, o);
    alqi_heap_final_adopt(d, o);
    if (d->heap->phase != ALQI_HEAP_MARK || !is_looked_for ||
        !alqi_heap_ephe_waits(d))
        return;
    alqi_heap_ephe_begin(d);
    alqi_heap_mark_undone(d);
}

void
alqi_heap_live_drop(struct alqi_domain *d)
{
    alqi_heap_weak_drop(d);
    alqi_heap_final_drop(d);
    alqi_heap_alarm_drop(d);
}
