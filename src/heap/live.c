#include "heap/alarm.h"
#include "heap/ephe.h"
#include "heap/final.h"
#include "heap/live.h"
#include "heap/mark.h"
#include "heap/weak.h"

/* Of those that ended the slots stay, with nothing in them. */
#define EACH_DOMAIN(heap, of, i)                                               \
    for (i = 0; i < (heap)->n_slots && (of = (heap)->domains[i], true); i++)

/* ---- marking ------------------------------------------------------------ */

void
alqi_heap_live_begin(struct alqi_heap *heap)
{
    heap->live = (struct alqi_heap_live_common){0};
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
    alqi_heap_final_visit(of, false, darken_root, of);
}

size_t
alqi_heap_live_work(struct alqi_domain *of, size_t budget_words)
{
    size_t done = alqi_heap_mark(of, budget_words);

    if (done >= budget_words)
        return done;
    switch (of->heap->live.step) {
    case ALQI_HEAP_LIVE_EPHE:
    case ALQI_HEAP_LIVE_AGAIN:
        return done + alqi_heap_ephe_mark(of, budget_words - done);
    case ALQI_HEAP_LIVE_CLEAN:
        return done + alqi_heap_weak_clean(of, budget_words - done);
    default:
        return done;
    }
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

static enum alqi_heap_live_next
step_set(struct alqi_heap *heap, enum alqi_heap_live_step step,
         enum alqi_heap_live_next next)
{
    heap->live.step = step;
    return next;
}

enum alqi_heap_live_next
alqi_heap_live_next(struct alqi_heap *heap)
{
    enum alqi_heap_live_step step = heap->live.step;

    ALQI_ASSERT(heap->todo == 0);
    switch (step) {
    case ALQI_HEAP_LIVE_MARK:
    case ALQI_HEAP_LIVE_EPHE:
        heap->live.step = ALQI_HEAP_LIVE_EPHE;
        if (round_begin(heap, step == ALQI_HEAP_LIVE_MARK))
            return ALQI_HEAP_LIVE_WORK;
        return step_set(heap, ALQI_HEAP_LIVE_FIND, ALQI_HEAP_LIVE_SHARES);
    case ALQI_HEAP_LIVE_FIND:
        if (heap->live.n_found == 0)
            break;
        return step_set(heap, ALQI_HEAP_LIVE_KEEP, ALQI_HEAP_LIVE_SHARES);
    case ALQI_HEAP_LIVE_KEEP:
    case ALQI_HEAP_LIVE_AGAIN:
        heap->live.step = ALQI_HEAP_LIVE_AGAIN;
        if (round_begin(heap, step == ALQI_HEAP_LIVE_KEEP))
            return ALQI_HEAP_LIVE_WORK;
        break;
    case ALQI_HEAP_LIVE_CLEAN:
    case ALQI_HEAP_LIVE_DONE:
        return step_set(heap, ALQI_HEAP_LIVE_DONE, ALQI_HEAP_LIVE_END);
    }
    return step_set(heap, ALQI_HEAP_LIVE_CLEAN, ALQI_HEAP_LIVE_SHARES);
}

void
alqi_heap_live_share(struct alqi_domain *of)
{
    switch (of->heap->live.step) {
    case ALQI_HEAP_LIVE_FIND:
        alqi_heap_final_find(of, ALQI_HEAP_FINAL_FIRST);
        break;
    case ALQI_HEAP_LIVE_KEEP:
        alqi_heap_final_keep(of);
        break;
    case ALQI_HEAP_LIVE_CLEAN:
        alqi_heap_final_find(of, ALQI_HEAP_FINAL_LAST);
        alqi_heap_weak_clean_begin(of);
        if (!alqi_heap_weak_is_clean(of))
            alqi_heap_mark_undone(of);
        break;
    default:
        ALQI_ASSERT(false);
    }
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
    alqi_heap_weak_after_minor(of);
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
