/* domain_orphan.c -- what a domain that ends leaves, and its adoption
 *
 * The ending domain pushes one orphan, which was allocated at its start, so
 * ending needs no memory.  The leader of the next stop takes all orphans
 * and joins their tables to its own.
 *
 * Keeps .inv.handed: In a stop each table has one owner.
 * Keeps .inv.policy: Lists that were joined are sorted before they are used.
 * Keeps .inv.todo: An orphan with work counts in n_busy until its work is
 *   adopted. */
#include <stdlib.h>

#include "heap/pool_class.h"
#include "heap/weak_phase.h"
#include "heap/major_mark.h"
#include "heap/domain_orphan.h"
#include "heap/pool.h"
#include "heap/pool_policy.h"
#include "heap/stat_sums.h"

/* ---- pools -------------------------------------------------------------- */

/* Closes a local allocation buffer: its rest becomes a free range again, and
 * its pool goes back to a list.  Nothing in it is grey. */
static void
lab_close(struct alqi_domain *d, unsigned c, unsigned kind)
{
    struct alqi_heap_lab *lab = &d->copy.labs[kind][c];
    struct alqi_heap_lists *lists = &d->sweep.lists[kind][c];
    struct alqi_heap_pool *pool = lab->pool;

    if (pool == NULL)
        return;
    ALQI_ASSERT(lab->scan == lab->next); /* .inv.lab */
    if (lab->next < lab->end)
        alqi_heap_pool_range_return(
            pool, c, (struct alqi_heap_range){lab->next, lab->end});
    pool->n_free = alqi_heap_pool_count_free(pool);
    if (pool->first_range != 0) {
        alqi_heap_policy_add(lists, pool);
    } else {
        pool->next = lists->full;
        lists->full = pool;
    }
    *lab = (struct alqi_heap_lab){0};
}

/* Moves the domain's pools to the orphan. */
static void
pools_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    unsigned kind, c;

    for (kind = 0; kind < 2; kind++)
        for (c = 0; c < ALQI_HEAP_CLASSES; c++) {
            lab_close(d, c, kind);
            o->lists[kind][c] = d->sweep.lists[kind][c];
            d->sweep.lists[kind][c] = (struct alqi_heap_lists){0};
        }
}

/* Defines what puts the list `from` before or behind *to, for pools and for
 * large blocks.  The shorter of the two is walked, for the world stands
 * still. */
#define LISTS_JOIN(name, type)                                                 \
    static void name(type **to, type *from)                                    \
    {                                                                          \
        type *a = from, *b = *to;                                              \
                                                                               \
        if (a == NULL)                                                         \
            return;                                                            \
        if (b == NULL) {                                                       \
            *to = from;                                                        \
            return;                                                            \
        }                                                                      \
        while (a->next != NULL && b->next != NULL) {                           \
            a = a->next;                                                       \
            b = b->next;                                                       \
        }                                                                      \
        if (b->next == NULL) {                                                 \
            b->next = from;                                                    \
        } else {                                                               \
            a->next = *to;                                                     \
            *to = from;                                                        \
        }                                                                      \
    }

LISTS_JOIN(pools_join, struct alqi_heap_pool)
LISTS_JOIN(large_join, struct alqi_heap_large)

/* Joins the orphan's pools to the domain's, list by list (.inv.policy).  If
 * some are unswept, the sweeper starts over: it may stand behind their class.
 */
static void
pools_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    unsigned kind, c;

    for (kind = 0; kind < 2; kind++)
        for (c = 0; c < ALQI_HEAP_CLASSES; c++) {
            struct alqi_heap_lists *to = &d->sweep.lists[kind][c];

            if (o->lists[kind][c].avail != NULL)
                to->disordered = true;
            pools_join(&to->avail, o->lists[kind][c].avail);
            pools_join(&to->full, o->lists[kind][c].full);
            pools_join(&to->unswept, o->lists[kind][c].unswept);
            pools_join(&to->unswept_full, o->lists[kind][c].unswept_full);
        }
    if (!o->done) { /* the sweeper may stand behind them */
        d->sweep.kind = 0;
        d->sweep.size_class = 0;
    }
    /* .inv.swept: what is unswept comes from SWEEP. */
    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_SWEEP ||
                o->large.unswept == NULL);
}

/* ---- large blocks ------------------------------------------------------- */

/* Moves the domain's large blocks to the orphan. */
static void
large_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    o->large.all = d->large.all;
    o->large.unswept = d->large.unswept;
    d->large.all = d->large.unswept = NULL;
}

/* Joins the orphan's large blocks to the domain's. */
static void
large_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    large_join(&d->large.all, o->large.all);
    large_join(&d->large.unswept, o->large.unswept);
}

/* ---- work --------------------------------------------------------------- */

/* Leaves the work of marking and sweeping.  The orphan's work stays counted in
 * n_busy, so the phase does not end without it (.inv.todo). */
static void
work_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    alqi_heap_mark_leave(d, o);
    o->done = d->done;
    /* .inv.todo: work that is left counts in n_busy. */
    ALQI_ASSERT(!o->done || (o->n_stack == 0 && o->inherited == NULL &&
                             !o->overflowed && o->large.unswept == NULL));
    o->sums = d->sums;
}

/* Takes over the orphan's count of work: the adopter counts for itself, once,
 * and the orphan no longer. */
static void
work_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    if (o->done)
        return;
    alqi_heap_mark_undone(d);
    /* .inv.todo: the orphan is counted, and d, unless the heap ends. */
    ALQI_ASSERT(d->heap->cycle.n_busy > (uint32_t)alqi_heap_is_there(d));
    __atomic_sub_fetch(&d->heap->cycle.n_busy, 1, __ATOMIC_SEQ_CST);
}

/* ---- all ---------------------------------------------------------------- */

/* All that the domain has to leave; `adopt` has the same lines. */
static void
hand_over(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    pools_leave(d, o);
    large_leave(d, o);
    alqi_heap_weak_phase_leave(d, o);
    work_leave(d, o);
}

/* Takes over all that one orphan has.  Its mark stack may be in use for long:
 * the marker frees the orphan when that is empty. */
static void
adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    pools_adopt(d, o);
    large_adopt(d, o);
    alqi_heap_weak_phase_adopt(d, o);
    work_adopt(d, o);
    alqi_heap_sums_add(&d->heap->totals.ended, &o->sums);
    alqi_heap_mark_adopt(d, o); /* frees it, some time */
}

/* Hands everything over and pushes the orphan.  Two domains may end at once, so
 * by compare and swap; release: the adopter sees the tables. */
void
alqi_heap_orphan_leave(struct alqi_domain *d)
{
    struct alqi_heap_orphan *o = d->orphan;

    ALQI_ASSERT(d->state == ALQI_HEAP_ENDING);        /* .inv.handed */
    ALQI_ASSERT(o != NULL && d->roots.boxes == NULL); /* .inv.handed */
    d->orphan = NULL;
    hand_over(d, o);
    o->next = __atomic_load_n(&d->heap->orphans, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&d->heap->orphans, &o->next, o, true,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        continue;
}

/* Takes the whole list at once, and adopts each orphan.  As nobody pops one of
 * them, a push cannot meet an orphan that was removed and added again. */
void
alqi_heap_orphan_adopt_stw(struct alqi_domain *d)
{
    struct alqi_heap_orphan *next,
        *o = __atomic_exchange_n(&d->heap->orphans, NULL, __ATOMIC_ACQUIRE);

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    for (; o != NULL; o = next) {
        next = o->next;
        adopt(d, o);
    }
}
