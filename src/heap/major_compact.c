/* major_compact.c -- compaction, in a stop, at the phase SWEPT
 *
 * Steps: MOVE (empty the emptiest pools) -> UPDATE (correct each pointer) ->
 * GIVE (emptied pools become free).  A share is one domain's pools; the heap's
 * share updates the roots that no domain has.  A block that has moved has
 * header 0 and its new address in field 0 until its pool is free.
 *
 * Keeps .inv.places: Pools that stay have a free slot for each block that
 *   moves; they are chosen before the first block moves.
 * Keeps .inv.stop: No program runs, so a block may be in neither place for a
 *   while. */
#include <inttypes.h>
#include <string.h>

#include "heap/root_ambiguous.h"
#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/major_compact.h"
#include "heap/event.h"
#include "heap/final.h"
#include "heap/large.h"
#include "heap/weak_phase.h"
#include "heap/major_mark.h"
#include "heap/minor.h"
#include "heap/observe_calls.h"
#include "heap/major_pace.h"
#include "heap/pin.h"
#include "heap/pool.h"
#include "heap/pool_policy.h"
#include "heap/root.h"
#include "heap/log.h"
#include "heap/major_balance.h"
#include "heap/major_sweep.h"
#include "heap/verify.h"
#include "heap/weak.h"

/* ---- pools that stay ---------------------------------------------------- */

/* The number of the next one, or the one that runs. */
static uint64_t
compaction(const struct alqi_heap *heap)
{
    return heap->compact.n + 1;
}

/* Makes the pool that the word points into stay as it is in the next
 * compaction, or the one that runs; a word that points elsewhere does nothing.
 * The stamp is the compaction's number, so that no stamp need be cleared. */
void
alqi_heap_compact_hold(struct alqi_heap *heap, uintptr_t word)
{
    const struct alqi_heap_area *area = &heap->area;
    size_t i = alqi_heap_area_index(area, word);

    if (alqi_heap_area_has(area, word) && i < area->n_frontier &&
        alqi_heap_area_kind(area, word) != 0)
        alqi_heap_area_pool(area, i)->held_in = compaction(heap);
}

/* ---- which pools are emptied -------------------------------------------- */

enum { SLOTS_MOST = ALQI_HEAP_POOL_WORDS / 2 }; /* of two words */

/* Pools with fewer free slots stay, and so many of those with as many, and
 * those that are held now. */
struct plan {
    unsigned n_free;
    unsigned n_there;
    uint64_t now;
};

/* Chooses the pools that stay: the fullest, until they have free slots for all
 * blocks of the others.
 *
 * n_pools[i] is the number of pools that may be emptied and have i free slots.
 * n_places are free slots of pools that stay anyway, n_live the blocks that
 * have to move.  Each pool that stays adds places and takes its own blocks
 * off. */
static struct plan
plan(const uint32_t *n_pools, unsigned n_slots, size_t n_places, size_t n_live)
{
    unsigned i;
    uint32_t n;

    for (i = 1; i <= n_slots; i++)
        for (n = 0; n < n_pools[i]; n++) {
            if (n_places >= n_live)
                return (struct plan){i, n, 0};
            n_places += i;
            n_live -= n_slots - i;
        }
    return (struct plan){n_slots + 1, 0, 0};
}

/* Returns the free range of the allocation buffer to its pool, and the pool to
 * the list: so it is planned and emptied like others. */
static void
close_lab(struct alqi_heap_lab *lab, struct alqi_heap_lists *lists, unsigned c)
{
    if (lab->pool == NULL)
        return;
    ALQI_ASSERT(lab->scan == lab->next); /* .inv.lab */
    if (lab->next < lab->end)
        alqi_heap_pool_range_return(
            lab->pool, c, (struct alqi_heap_range){lab->next, lab->end});
    alqi_heap_policy_add(lists, lab->pool);
    *lab = (struct alqi_heap_lab){0};
}

/* Counts the free slots of the class's pools, and plans. n_free of each
 * available pool is right from now on.  Full pools neither give places nor are
 * emptied. */
static struct plan
make_plan(struct alqi_heap_lists *lists, unsigned c, uint64_t now)
{
    uint32_t n_pools[SLOTS_MOST + 1] = {0};
    unsigned n_slots = alqi_heap_class_slots(c);
    size_t n_places = 0, n_live = 0;
    struct alqi_heap_pool *pool;
    struct plan p;

    for (pool = lists->avail; pool != NULL; pool = pool->next) {
        pool->n_free = alqi_heap_pool_count_free(pool);
        ALQI_ASSERT(pool->n_free <= n_slots); /* .inv.free */
        if (pool->n_free == 0)
            continue; /* that of the buffer */
        if (pool->held_in == now) {
            n_places += pool->n_free;
        } else {
            n_pools[pool->n_free]++;
            n_live += n_slots - pool->n_free;
        }
    }
    p = plan(n_pools, n_slots, n_places, n_live);
    p.now = now;
    return p;
}

/* Whether the pool stays.  The border has some pools too many: n_there of them
 * stay, and the count goes down here. */
static bool
stays(const struct alqi_heap_pool *pool, struct plan *p)
{
    if (pool->held_in == p->now || pool->n_free < p->n_free)
        return true;
    if (pool->n_free > p->n_free || p->n_there == 0)
        return false;
    p->n_there--;
    return true;
}

/* ---- MOVE --------------------------------------------------------------- */

static void
push(struct alqi_heap_pool **list, struct alqi_heap_pool *pool)
{
    pool->next = *list;
    *list = pool;
}

/* Divides the available pools into those that stay, which are listed again, and
 * those to be emptied, which are returned. */
static struct alqi_heap_pool *
divide(struct alqi_heap_lists *lists, struct plan p)
{
    struct alqi_heap_pool *pool, *next, *emptied = NULL;

    pool = lists->avail;
    lists->avail = NULL;
    for (; pool != NULL; pool = next) {
        next = pool->next;
        if (pool->n_free == 0)
            push(&lists->full, pool);
        else if (stays(pool, &p))
            alqi_heap_policy_add(lists, pool);
        else
            push(&emptied, pool);
    }
    return emptied;
}

/* A free slot for a block that moves, from the class's allocation buffer.
 * There is one (.inv.places), so the refill cannot fail, sweeps nothing and
 * takes no fresh pool. */
static alqi_heap_word *
place_find(struct alqi_domain *d, unsigned c, unsigned kind)
{
    struct alqi_heap_lab *lab = &d->copy.labs[kind][c];
    alqi_heap_word *place;

    if (lab->next == lab->end) {
        ALQI_ASSERT((lab->pool != NULL && lab->pool->first_range != 0) ||
                    d->sweep.lists[kind][c].avail != NULL); /* .inv.places */
        alqi_heap_sweep_refill(d, c, kind);
    }
    place = (alqi_heap_word *)lab->next;
    ALQI_ASSERT(*place == 0); /* .inv.free */
    ALQI_DEBUG(!alqi_heap_area_is_emptied(&d->heap->area,
                                          (uintptr_t)place)); /* .inv.places */
    lab->next += (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
    lab->scan = lab->counted = lab->next;
    return place;
}

/* Moves all blocks of the pool, and leaves a forwarding address in each slot.
 * The pool is flagged in the area: UPDATE asks the flag first, and mostly reads
 * no header. */
static void
empty_pool(struct alqi_domain *d, struct alqi_heap_pool *pool, unsigned c,
           unsigned kind)
{
    alqi_heap_word *slot = alqi_heap_pool_slots(pool), *place;
    size_t words = alqi_heap_class_words[c];
    unsigned i, n = alqi_heap_class_slots(c);

    /* .inv.places: what holds the pool cannot be corrected. */
    ALQI_ASSERT(pool->held_in != compaction(d->heap));
    for (i = 0; i < n; i++, slot += words) {
        if (*slot == 0)
            continue;
        place = place_find(d, c, kind);
        memcpy(place, slot, alqi_heap_words(*slot) * ALQ_WORD_BYTES);
        d->moves.moved_words += alqi_heap_words(*slot);
        slot[0] = 0;
        slot[1] = (alqi_heap_word)(place + 1);
    }
    alqi_heap_area_emptied_set(&d->heap->area, pool);
    push(&d->moves.emptied, pool);
}

/* Empties pools of one class and kind. */
static void
move_class(struct alqi_domain *d, unsigned c, unsigned kind)
{
    struct alqi_heap_lists *lists = &d->sweep.lists[kind][c];
    struct alqi_heap_pool *pool, *next;

    ALQI_ASSERT(lists->unswept == NULL &&
                lists->unswept_full == NULL); /* .inv.swept */
    close_lab(&d->copy.labs[kind][c], lists, c);
    if (lists->avail == NULL)
        return;
    pool = divide(lists, make_plan(lists, c, compaction(d->heap)));
    for (; pool != NULL; pool = next) {
        next = pool->next;
        empty_pool(d, pool, c, kind);
    }
}

/* Moves the domain's blocks.  Requires that nothing is young but blocks that
 * stay, that nothing is being marked, and that all is swept: then a slot is
 * free or holds a live block. */
static void
move_share(struct alqi_domain *self, struct alqi_domain *of)
{
    unsigned kind, c;

    (void)self;
    if (of == NULL)
        return;
    ALQI_ASSERT(alqi_heap_minor_is_empty(of)); /* .inv.open */
    ALQI_ASSERT(of->remembered.n == 0);        /* .inv.remember */
    ALQI_ASSERT(!alqi_heap_weak_phase_is_recent(of) ||
                alqi_heap_pin_has_retained(of->heap)); /* .inv.weak */
    ALQI_ASSERT(alqi_heap_mark_is_done(of));           /* .inv.todo */
    ALQI_ASSERT(of->large.unswept == NULL);            /* .inv.swept */
    ALQI_ASSERT(of->moves.emptied == NULL);            /* .inv.places */
    of->moves.moved_words = 0;
    for (kind = 0; kind < 2; kind++)
        for (c = 0; c < ALQI_HEAP_CLASSES; c++)
            move_class(of, c, kind);
}

/* ---- UPDATE ------------------------------------------------------------- */

/* Corrects the slot, if it leads to a block that has moved.  The new place is
 * in a pool that stays, so one step is enough. */
static inline void
update(const struct alqi_heap_area *area, alqi_heap_word *slot)
{
    alq_value v = *slot;

    if (alq_is_block(v) && alqi_heap_area_has(area, v) &&
        alqi_heap_area_is_emptied(area, v)) {
        uintptr_t infix = alqi_heap_infix_bytes(v);

        ALQI_DEBUG(alqi_heap_header(v - infix) ==
                   0); /* .inv.places: it moved */
        *slot = ((alqi_heap_word *)(v - infix))[0] + infix;
        ALQI_DEBUG(!alqi_heap_area_is_emptied(area, *slot)); /* .inv.places */
    }
}

static void
update_root(void *arg, alq_value *slot)
{
    update(arg, (alqi_heap_word *)slot);
}

static inline void
update_block(const struct alqi_heap_area *area, alqi_heap_word *block,
             uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    if (ALQI_UNLIKELY(alqi_heap_is_continuation(header)))
        alqi_heap_host_fiber_visit((alq_value)block, update_root,
                                   (void *)(uintptr_t)area);
    for (i = alqi_heap_raw_fields(block, header); i < n; i++)
        update(area, block + i);
}

/* Corrects the fields of each block in a pool that stays. */
static void
update_pool(const struct alqi_heap_area *area, struct alqi_heap_pool *pool,
            unsigned c)
{
    alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    size_t words = alqi_heap_class_words[c];
    unsigned i, n = alqi_heap_class_slots(c);

    for (i = 0; i < n; i++, slot += words)
        if (*slot != 0)
            update_block(area, slot + 1, *slot);
}

/* Corrects the fields of all blocks of a class that have fields.  A pool is in
 * one of the two lists, or is that of the buffer which MOVE has filled. */
static void
update_class(struct alqi_domain *d, unsigned c)
{
    const struct alqi_heap_area *area = &d->heap->area;
    struct alqi_heap_pool *pool;

    for (pool = d->sweep.lists[0][c].avail; pool != NULL; pool = pool->next)
        update_pool(area, pool, c);
    for (pool = d->sweep.lists[0][c].full; pool != NULL; pool = pool->next)
        update_pool(area, pool, c);
    if (d->copy.labs[0][c].pool != NULL)
        update_pool(area, d->copy.labs[0][c].pool, c);
}

/* Corrects the fields of large blocks, which do not move themselves. */
static void
update_large(struct alqi_domain *d)
{
    struct alqi_heap_large *large;

    for (large = d->large.all; large != NULL; large = large->next)
        if (alqi_heap_is_scannable(large->header))
            update_block(&d->heap->area, large->fields, large->header);
}

/* Corrects all that the domain has: roots, finalisers, weak blocks, what the
 * observer tracks, and fields.  What no domain has is the heap's share. */
static void
update_share(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_area *area = &self->heap->area;
    unsigned c;

    if (of == NULL) {
        alqi_heap_roots_visit_common_stw(self->heap, update_root, area);
        return;
    }
    alqi_heap_roots_visit(of, false, update_root, area);
    alqi_heap_final_visit_stw(of, update_root, area);
    alqi_heap_weak_visit_stw(of, update_root, area);
    alqi_heap_observed_weak(of, update_root, area);
    for (c = 0; c < ALQI_HEAP_CLASSES; c++)
        update_class(of, c);
    update_large(of);
}

/* ---- GIVE --------------------------------------------------------------- */

/* Frees the domain's emptied pools.  Each of their slots has header 0 already,
 * so they are as good as swept.  Checking builds overwrite them, so that a
 * pointer that was not corrected is noticed. */
static void
give_share(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_pool *pool;

    (void)self;
    if (of == NULL)
        return;
    while ((pool = of->moves.emptied) != NULL) {
        of->moves.emptied = pool->next;
        /* .inv.places: UPDATE has seen that its blocks moved. */
        ALQI_ASSERT(
            alqi_heap_area_is_emptied(&of->heap->area, (uintptr_t)pool));
        if (ALQI_CHECKS >= 2)
            alqi_heap_pool_poison_all(
                pool, alqi_heap_area_class(&of->heap->area, (uintptr_t)pool));
        alqi_heap_area_give(&of->heap->area, pool);
    }
    of->sums.counts.compactions++;
    of->sums.counts.compacted_words += of->moves.moved_words;
}

/* Words moved by all domains: for the message and the event. */
static uint64_t
moved_words(const struct alqi_heap *heap)
{
    uint64_t words = 0;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i]))
            words += heap->domains[i]->moves.moved_words;
    return words;
}

/* Tells the host of step n (heap/hosted.h). */
static void
step_tell_stw(struct alqi_domain *leader, unsigned n)
{
    ALQI_ASSERT(alqi_heap_is_stopped(leader->heap));
    if (ALQI_HOSTS_OCAML)
        alqi_heap_host_compacts_stw(leader, n);
}

/* Ends the compaction: memory goes back to the system, at once if the program
 * has asked, else by the slices to come.  Then the stop goes on. */
static const struct alqi_heap_stop_work *
give_last(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;
    size_t before = heap->compact.used_before;
    size_t after = alqi_heap_area_used(&heap->area);
    uint64_t words = moved_words(heap),
             returned = self->sums.counts.returned_bytes;

    ALQI_ASSERT(after <= before); /* .inv.places: no pool was taken */
    if (heap->compact.was_asked)
        alqi_heap_pace_give_unpromised_stw(self);
    else
        alqi_heap_pace_give_later(heap); /* no program waits for it */
    alqi_heap_tick(&heap->compact.n);
    alqi_heap_verify_stw(self, ALQI_HEAP_VERIFY_ANY);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_COMPACT,
                  "compaction %" PRIu64 ": %zu of %zu pools emptied, %" PRIu64
                  " words moved",
                  heap->compact.n, before - after, before, words);
    step_tell_stw(heap->stop.leader, 3);
    alqi_heap_event_end(heap->stop.leader, ALQ_EVENT_COMPACT,
                        self->sums.counts.returned_bytes - returned,
                        words * ALQ_WORD_BYTES);
    return heap->compact.after(self);
}

/* ---- steps -------------------------------------------------------------- */

static const struct alqi_heap_stop_work give_step = {.share = give_share,
                                                     .last = give_last};

static const struct alqi_heap_stop_work *
update_last(struct alqi_domain *self)
{
    step_tell_stw(self->heap->stop.leader, 2);
    return &give_step;
}

static const struct alqi_heap_stop_work update_step = {.share = update_share,
                                                       .last = update_last};

static const struct alqi_heap_stop_work *
move_last(struct alqi_domain *self)
{
    step_tell_stw(self->heap->stop.leader, 1);
    return &update_step;
}

static const struct alqi_heap_stop_work move_step = {.share = move_share,
                                                     .last = move_last};

/* Begins a compaction; returns its first step.  `after` chooses the step behind
 * the last one.
 *
 * Requires the phase SWEPT, in which no domain has work.  Pools that pins or
 * ambiguous references lead into are held first: nobody may change those
 * words. */
const struct alqi_heap_stop_work *
alqi_heap_compact_begin_stw(
    struct alqi_domain *self,
    const struct alqi_heap_stop_work *(*after)(struct alqi_domain *self))
{
    struct alqi_heap *heap = self->heap;

    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    ALQI_ASSERT(heap->cycle.phase == ALQI_HEAP_SWEPT); /* .inv.swept */
    ALQI_ASSERT(alqi_heap_balance_is_over(heap));      /* .inv.todo */
    heap->compact.was_asked = heap->compact.is_asked;
    heap->compact.is_asked = heap->compact.is_due = false;
    heap->compact.used_before = alqi_heap_area_used(&heap->area);
    heap->compact.after = after;
    alqi_heap_pin_words_stw(heap, alqi_heap_compact_hold);
    alqi_heap_ambiguous_words_stw(heap, alqi_heap_compact_hold);
    alqi_heap_event_begin(heap->stop.leader, ALQ_EVENT_COMPACT, 0, 0);
    step_tell_stw(heap->stop.leader, 0);
    return &move_step;
}

/* ---- whether it is due -------------------------------------------------- */

enum {
    CYCLES_LEAST = 3, /* OCaml's, as is the next: below them a heap that no */
    POOLS_LEAST = 64, /* program waits for is too young, too small (2 MiB)  */
    PERCENT_MOST = ALQI_HEAP_COMPACT_NEVER - 1
};

/* Notes when sweeping began, which free_words() counts from. */
void
alqi_heap_compact_note_cycle_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    heap->compact.allocated_then = heap->pace.heap_words;
}

/* Words that are free in pools, about: those that the sweep has found, less
 * what was allocated since.  Nothing is walked for it.  Allocation may have
 * taken fresh pools instead, then the heap is emptier than it looks. */
static uint64_t
free_words(const struct alqi_heap *heap)
{
    uint64_t found = 0,
             taken = heap->pace.heap_words - heap->compact.allocated_then;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i]))
            found += heap->domains[i]->sweep.found_words;
    return found > taken ? found - taken : 0;
}

/* Free words in percent of the live ones, at most PERCENT_MOST, so that a
 * max_overhead of ALQI_HEAP_COMPACT_NEVER is never reached.  The first test is
 * for few live words, or none. */
static uint64_t
percent(uint64_t free, uint64_t used)
{
    uint64_t live = used > free ? used - free : 0;

    if (free / 10000 >= live) /* also of nothing */
        return free == 0 ? 0 : PERCENT_MOST;
    return free * 100 / live > PERCENT_MOST ? PERCENT_MOST : free * 100 / live;
}

/* Decides whether compaction is due, when sweeping has ended.  In a collection
 * that was asked for a small or young heap is compacted, too. */
void
alqi_heap_compact_note_swept_stw(struct alqi_heap *heap, bool asked)
{
    uint64_t most = (uint64_t)heap->tuning.control.max_overhead;
    uint64_t pools = alqi_heap_area_used(&heap->area);
    uint64_t words = pools * ALQI_HEAP_POOL_WORDS +
                     alqi_heap_large_bytes(heap) / ALQ_WORD_BYTES;
    uint64_t overhead = percent(free_words(heap), words);
    bool is_small = heap->cycle.n < CYCLES_LEAST || pools <= POOLS_LEAST;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    heap->compact.is_due =
        overhead >= most && (asked || most == 0 || !is_small);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_DUE,
                  "compaction is %sdue: %" PRIu64 " percent of the live words "
                  "are free in pools, max_overhead is %" PRIu64 "%s",
                  heap->compact.is_due ? "" : "not ", overhead, most,
                  overhead >= most && !heap->compact.is_due
                      ? ", but the heap is small"
                      : "");
}
