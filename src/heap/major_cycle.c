/* major_cycle.c -- the major cycle as a state machine, and the stops for it
 *
 * SWEEP -> SWEPT -> MARK -> SWEEP, in stops only.  A stop has a goal: most
 * empty the minor heaps first; then `choose` names one step after another until
 * the goal is reached.  Between stops slices do the work of the phase, by the
 * holder of a domain, for itself and then for BLOCKING domains that it takes.
 *
 * Keeps .inv.cycle: phase_set makes each change.
 * Keeps .inv.colour: The colours rotate when marking is DONE.
 * Keeps .inv.snapshot: Marking begins with nothing young, from all roots.
 * Keeps .inv.phase: When cleaning begins all that is reachable is marked.
 * Keeps .inv.todo: A phase ends in a stop that finds no work.
 * Keeps .inv.own: A slice touches another domain only if it has taken it. */
#include "heap/final_alarm.h"
#include "heap/root_ambiguous.h"
#include "heap/write_barrier.h"
#include "heap/major_compact.h"
#include "heap/major_cycle.h"
#include "heap/event.h"
#include "heap/pin_retain.h"
#include "heap/alloc_limit.h"
#include "heap/weak_phase.h"
#include "heap/major_mark.h"
#include "heap/minor.h"
#include "heap/minor_size.h"
#include "heap/observe_calls.h"
#include "heap/minor_open.h"
#include "heap/major_pace.h"
#include "heap/pin.h"
#include "heap/minor_local.h"
#include "heap/root.h"
#include "heap/major_balance.h"
#include "heap/root_stale.h"
#include "heap/log.h"
#include "heap/stop.h"
#include "heap/major_sweep.h"
#include "heap/verify.h"
#include "heap/weak.h"

enum {
    WORK_STEP_WORDS = 2048, /* some microseconds */
    CHUNK_WORDS = 2048      /* for a domain that is away: it may be wanted */
};

/* With ALQ_EVENT_MAJOR. */
enum { BY_A_CALL, SHORT_OF_MEMORY };

/* ---- in a stop ---------------------------------------------------------- */

/* What the stop is for. */
enum goal {
    GOAL_PHASE,  /* the phase has come to its end                         */
    GOAL_MINOR,  /* nothing young                                         */
    GOAL_CYCLE,  /* and the cycle completed                               */
    GOAL_FULL,   /* and all that was unreachable is swept                 */
    GOAL_COMPACT /* and what lives moved together                        */
};

typedef const struct alqi_heap_stop_work *next_fn(struct alqi_domain *self);

static next_fn choose_stw;

/* Whether nothing is young in any domain, but for blocks that stay in place. */
static bool
is_empty_all(struct alqi_heap *heap)
{
    struct alqi_domain *of;
    unsigned i;

    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;)
        if (!alqi_heap_minor_is_empty(of))
            return false;
    return true;
}

/* Sets the phase, and gives each domain its work and its write barrier.
 *
 * Requires that no domain has work.  SWEPT has none; with any other phase all
 * domains are busy afterwards, even those that will find nothing to do.
 * n_working is 0 in SWEPT, so that nobody balances load there. */
static void
phase_set_stw(struct alqi_heap *heap, enum alqi_heap_phase phase)
{
    struct alqi_domain *of;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    ALQI_ASSERT(heap->cycle.n_busy == 0); /* .inv.todo */
    ALQI_ASSERT(phase == (heap->cycle.phase == ALQI_HEAP_MARK
                              ? ALQI_HEAP_SWEEP
                              : heap->cycle.phase + 1)); /* .inv.cycle */
    alqi_heap_event_phase_stw(heap, phase);
    heap->cycle.phase = phase;
    heap->balance.n_working = 0;
    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;) {
        heap->balance.n_working += phase != ALQI_HEAP_SWEPT;
        alqi_heap_barrier_phase(of);
        if (phase != ALQI_HEAP_SWEPT)
            alqi_heap_mark_undone(of);
    }
    /* .inv.todo: each domain has work now, or none has. */
    ALQI_ASSERT(heap->cycle.n_busy == heap->balance.n_working);
    alqi_heap_pace_phase_stw(heap);
}

/* ---- steps: marking begins ---------------------------------------------- */

static void
darken_root(void *arg, alq_value *slot)
{
    alqi_heap_mark_darken(arg, *slot);
}

/* Darkens what the domain's roots lead to.  The grey ranges go on the domain's
 * own mark stack, whoever does the share. */
static void
mark_begin_share(struct alqi_domain *self, struct alqi_domain *of)
{
    (void)self;
    if (of == NULL)
        return;
    alqi_heap_roots_visit(of, false, darken_root, of);
    alqi_heap_ambiguous_darken_stw(of);
    alqi_heap_weak_phase_begin_share_stw(of);
}

/* Darkens what the heap's roots lead to, on the stack of one domain.  After
 * this each reachable block is marked or lies behind a grey one
 * (.inv.snapshot). */
static const struct alqi_heap_stop_work *
mark_begin_last(struct alqi_domain *self)
{
    alqi_heap_roots_visit_common_stw(self->heap, darken_root, self);
    return choose_stw(self);
}

static const struct alqi_heap_stop_work mark_begin_step = {
    .share = mark_begin_share, .last = mark_begin_last};

/* SWEPT -> MARK.  Returns the step that darkens the roots.
 *
 * Requires that nothing is young but blocks that stay, which are roots.  All is
 * swept, so no block has the colour of garbage, which becomes that of marked
 * blocks at the next rotation. */
static const struct alqi_heap_stop_work *
mark_begin_stw(struct alqi_heap *heap)
{
    struct alqi_domain *of;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    ALQI_ASSERT(is_empty_all(heap)); /* .inv.snapshot */
    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;)
        alqi_heap_mark_begin_stw(of);
    phase_set_stw(heap, ALQI_HEAP_MARK);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_CYCLE, "major cycle %ju: marking begins",
                  (uintmax_t)heap->cycle.n);
    alqi_heap_weak_phase_begin_stw(heap);
    return &mark_begin_step;
}

/* ---- steps: to the end of the phase ------------------------------------- */

/* Sweeps all that the domain has left, and what it finds in the shared
 * queue. */
static void
sweep_share(struct alqi_domain *self, struct alqi_domain *of)
{
    (void)self;
    if (of == NULL)
        return;
    ALQI_ASSERT(of->heap->cycle.phase == ALQI_HEAP_SWEEP); /* .inv.cycle */
    alqi_heap_sweep(of, SIZE_MAX);
    alqi_heap_mark_note_done(of);
}

/* Does all marking of the domain, in steps: at the beginning of each step a
 * domain gives ranges to the queue if another one has nothing to do. */
static void
mark_all(struct alqi_domain *of)
{
    while (alqi_heap_weak_phase_work(of, WORK_STEP_WORDS) >= WORK_STEP_WORDS)
        continue;
    alqi_heap_mark_note_done(of);
}

/* Marks for one domain.  The participant whose own share this is may help
 * others afterwards: is_free says that its mark stack is its own to use. */
static void
mark_share(struct alqi_domain *self, struct alqi_domain *of)
{
    if (of == NULL)
        return;
    mark_all(of);
    if (of == self)
        self->marker.is_free = true;
}

/* Helps those that have more to mark, until no domain has any work.
 *
 * If another participant has claimed this one's share, it works on this
 * domain's stack, so this thread must stay away from it.  It spins while the
 * queue is empty: a domain that is busy may give ranges at any time. */
static void
mark_each(struct alqi_domain *self)
{
    unsigned spins = 0;

    if (!self->marker.is_free)
        return;
    self->marker.is_free = false;
    /* .inv.own: nobody else works on this domain's stack. */
    ALQI_ASSERT(alqi_heap_mark_is_done(self));
    while (!alqi_heap_balance_is_over(self->heap)) {
        if (alqi_heap_balance_is_there(self->heap))
            mark_all(self);
        else
            alqi_plat_spin(&spins);
    }
}

static const struct alqi_heap_stop_work sweep_step = {.share = sweep_share,
                                                      .last = choose_stw};
static const struct alqi_heap_stop_work mark_step = {
    .share = mark_share, .each = mark_each, .last = choose_stw};

/* ---- steps: marking has ended ------------------------------------------- */

/* Moves the domain's pools to the lists of unswept ones, and makes its alarms
 * due. */
static void
rotate_share(struct alqi_domain *self, struct alqi_domain *of)
{
    (void)self;
    if (of == NULL)
        return;
    ALQI_ASSERT(alqi_heap_mark_is_done(of)); /* .inv.snapshot */
    of->sums.counts.major_cycles++;
    alqi_heap_sweep_begin_stw(of);
    alqi_heap_alarm_cycle_end_stw(of);
}

static const struct alqi_heap_stop_work rotate_step = {.share = rotate_share,
                                                       .last = choose_stw};

/* MARK -> SWEEP: the colours rotate, and what is unmarked becomes garbage.
 *
 * Requires that marking is DONE (weak_phase.h).  The verifier, retained blocks,
 * the observer and weak fields look at the colours now, while dead and live
 * blocks still differ and no memory is reused. */
static const struct alqi_heap_stop_work *
rotate_stw(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;
    struct alqi_domain *of;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    /* .inv.phase: what is white is dead, and weak references know. */
    ALQI_ASSERT(heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_DONE);
    ALQI_ASSERT((heap->cycle.colours.marked ^ heap->cycle.colours.unmarked ^
                 heap->cycle.colours.garbage) ==
                ALQI_HEAP_COLOUR_MASK); /* .inv.colour */
    alqi_heap_verify_stw(self, ALQI_HEAP_VERIFY_MARKED);
    alqi_heap_pin_retain_after_marking_stw(heap);
    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;) {
        alqi_heap_observed_after_major_stw(of);
        alqi_heap_weak_after_marking_stw(of);
    }
    alqi_heap_colours_rotate(&heap->cycle.colours);
    phase_set_stw(heap, ALQI_HEAP_SWEEP);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_CYCLE,
                  "major cycle %ju ends: %ju words live, about",
                  (uintmax_t)heap->cycle.n, (uintmax_t)heap->pace.live_words);
    alqi_heap_tick(&heap->cycle.n);
    alqi_heap_compact_note_cycle_stw(heap);
    if (heap->cycle.n_wanted > 0)
        heap->cycle.n_wanted--;
    return &rotate_step;
}

/* ---- what comes next ---------------------------------------------------- */

/* Returns the step that forces the phase to its end; the caller comes back to
 * choose_stw() after it. */
static const struct alqi_heap_stop_work *
force_stw(struct alqi_domain *self)
{
    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    switch (self->heap->cycle.phase) {
    case ALQI_HEAP_SWEEP:
        return &sweep_step;
    case ALQI_HEAP_SWEPT:
        return mark_begin_stw(self->heap);
    case ALQI_HEAP_MARK:
        return &mark_step;
    }
    return NULL;
}

/* Opens the minor heaps that are closed.  The count goes down, so each domain
 * gets an equal part of the room that is still left. */
static void
open_all_stw(struct alqi_heap *heap)
{
    struct alqi_domain *of;
    unsigned i, n = 0;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;)
        n++;
    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;)
        alqi_heap_open_minor(of, n--);
}

/* Whether blocks move now: compaction is due or asked for, and all is swept.
 * Compaction does not correct the fields of minor heaps, so these have to be
 * empty. */
static bool
is_compact_next(struct alqi_heap *heap)
{
    return heap->cycle.phase == ALQI_HEAP_SWEPT &&
           (heap->compact.is_due || heap->compact.is_asked) &&
           is_empty_all(heap);
}

/* Returns the next step of the stop, or NULL: its goal is reached.
 *
 * One participant runs it, after each step, when all others wait.  If no domain
 * has work, the phase ends, or marking goes on to its next step (.inv.todo).
 * Then, in this order: cycles that the stop has to complete are forced; a goal
 * that demands it is swept; compaction runs; marking begins if it is due.
 * Marking of a stop that has a cycle to complete is begun by force_stw(). Minor
 * heaps are opened last, since compaction and marking need them empty. */
static const struct alqi_heap_stop_work *
choose_stw(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;

    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    alqi_heap_pace_count_stw(heap);
    if (alqi_heap_balance_is_over(heap)) {
        if (heap->cycle.phase == ALQI_HEAP_MARK) {
            if (!alqi_heap_weak_phase_next_stw(heap))
                return rotate_stw(self);
        } else if (heap->cycle.phase == ALQI_HEAP_SWEEP) {
            phase_set_stw(heap, ALQI_HEAP_SWEPT);
            alqi_heap_compact_note_swept_stw(heap,
                                             heap->cycle.goal >= GOAL_FULL);
            alqi_heap_verify_stw(self, ALQI_HEAP_VERIFY_ANY);
        }
    }
    if (heap->cycle.n_wanted > 0)
        return force_stw(self);
    if (heap->cycle.goal >= GOAL_FULL && heap->cycle.phase == ALQI_HEAP_SWEEP)
        return &sweep_step;
    if (is_compact_next(heap))
        return alqi_heap_compact_begin_stw(self, choose_stw);
    if (heap->cycle.phase == ALQI_HEAP_SWEPT && heap->cycle.goal < GOAL_CYCLE &&
        (heap->cycle.is_mark_forced || alqi_heap_pace_is_due(self)) &&
        is_empty_all(heap))
        return mark_begin_stw(heap);
    if (heap->cycle.goal >= GOAL_FULL)
        alqi_heap_pace_give_all_stw(self);
    ALQI_ASSERT(heap->cycle.goal == GOAL_PHASE ||
                is_empty_all(heap)); /* .inv.open */
    if (heap->cycle.goal != GOAL_PHASE)
        open_all_stw(heap);
    return NULL;
}

/* ---- steps: nothing young ----------------------------------------------- */

/* Ends the minor collection: retained blocks look like others again, and sizes
 * and pace take what was promoted into account.  Then the stop goes on to its
 * goal. */
static const struct alqi_heap_stop_work *
finish_last(struct alqi_domain *self)
{
    struct alqi_heap *heap = self->heap;

    ALQI_ASSERT(is_empty_all(heap)); /* .inv.private: nothing young escapes */
    alqi_heap_pin_retain_end_stw(self);
    alqi_heap_minor_local_again_stw(heap);
    alqi_heap_event_minor_end_stw(heap);
    alqi_heap_verify_stw(self, ALQI_HEAP_VERIFY_ANY);
    alqi_heap_minor_size_note_stw(self->heap);
    alqi_heap_pace_count_stw(heap);
    ALQI_HEAP_LOG(heap, ALQ_GC_LOG_MINOR,
                  "minor collection %ju: %ju words allocated, %ju promoted "
                  "since the heap began",
                  (uintmax_t)heap->young.n_minors,
                  (uintmax_t)heap->totals.at_stop.counts.minor_words,
                  (uintmax_t)(heap->totals.at_stop.counts.promoted_words -
                              heap->totals.at_stop.slack_words));
    return choose_stw(self);
}

static void
finish_share(struct alqi_domain *self, struct alqi_domain *of)
{
    if (of != NULL)
        alqi_heap_minor_finish(self, of);
}

static const struct alqi_heap_stop_work finish_step = {.share = finish_share,
                                                       .last = finish_last};

/* Resolves what weak references and finalisers of the domain lead to.  Requires
 * that all domains have promoted, since it reads the old places. */
static void
after_share(struct alqi_domain *self, struct alqi_domain *of)
{
    (void)self;
    if (of != NULL)
        alqi_heap_weak_phase_after_minor_stw(of);
}

static const struct alqi_heap_stop_work *
after_last(struct alqi_domain *self)
{
    (void)self;
    return &finish_step;
}

static const struct alqi_heap_stop_work after_step = {.share = after_share,
                                                      .last = after_last};

/* Ends promotion: minor heaps are closed.  The step for weak references is left
 * out if no domain has recent ones: most programs have none, and a step is a
 * barrier. */
static const struct alqi_heap_stop_work *
promote_last(struct alqi_domain *self)
{
    struct alqi_domain *of;
    unsigned i;

    /* .inv.round: nothing waits to be scanned. */
    ALQI_ASSERT(alqi_heap_queue_n(&self->heap->young.workers.queue) == 0);
    ALQI_ASSERT(self->heap->young.workers.n_idle == 0); /* .inv.round */
    alqi_heap_open_close_all_stw(self->heap);
    alqi_heap_tick(&self->heap->young.n_minors);
    for (i = 0; (of = alqi_heap_next_there(self->heap, &i)) != NULL;)
        if (alqi_heap_weak_phase_is_recent(of))
            return &after_step;
    return &finish_step;
}

/* Sets how many participants promote.
 *
 * Keeps .inv.room: A participant may open a pool of each class.  That much
 *   memory was promised for as many participants as there are helpers, and the
 *   leader. */
static void
workers_set(struct alqi_heap *heap)
{
    struct alqi_domain *of;
    uint32_t n = 1;
    unsigned i;

    for (i = 0; (of = alqi_heap_next_there(heap, &i)) != NULL;)
        n += of->young.is_helper;
    if (n < heap->stop.n_workers)
        heap->stop.n_workers = n;
}

/* Begins the stop: the goal, the cycles it has to complete, and the minor
 * collection, if the goal asks for one.  By the leader, when the world stands
 * still, before the first share. */
static void
begin_stw(struct alqi_domain *leader, enum goal goal, unsigned cycles)
{
    struct alqi_heap *heap = leader->heap;

    ALQI_ASSERT(alqi_heap_is_stopped(leader->heap));
    /* .inv.cycle: the last stop has completed its cycles. */
    ALQI_ASSERT(heap->cycle.n_wanted == 0);
    heap->cycle.goal = goal;
    heap->cycle.n_wanted = cycles;
    heap->cycle.is_mark_forced = leader->pace.forces_mark;
    heap->compact.is_asked = goal == GOAL_COMPACT;
    if (goal == GOAL_PHASE)
        return;
    heap->young.is_any =
        !is_empty_all(heap) || alqi_heap_pin_has_retained(heap);
    alqi_heap_verify_stw(leader, ALQI_HEAP_VERIFY_REMEMBERED);
    alqi_heap_pin_retain_begin_stw(leader);
    workers_set(heap);
    alqi_heap_minor_prepare_stw(leader, heap->stop.n_workers);
    alqi_heap_event_minor_begin_stw(leader);
}

static void
begin_phase(struct alqi_domain *leader)
{
    begin_stw(leader, GOAL_PHASE, 0);
}

static void
begin_minor(struct alqi_domain *leader)
{
    begin_stw(leader, GOAL_MINOR, 0);
}

static void
begin_cycle(struct alqi_domain *leader)
{
    begin_stw(leader, GOAL_CYCLE, 1);
}

/* The cycle is completed, and what it found dead is swept. */
static void
begin_swept(struct alqi_domain *leader)
{
    begin_stw(leader, GOAL_FULL, 1);
}

static void
begin_compact(struct alqi_domain *leader)
{
    begin_stw(leader, GOAL_COMPACT, 1);
}

/* Memory is short: two cycles, then compaction.  One is not enough, since a
 * cycle under way keeps what died after its marking began. */
static void
begin_short(struct alqi_domain *leader)
{
    begin_stw(leader, GOAL_COMPACT, 2);
}

#define PROMOTE                                                                \
    .share = alqi_heap_minor_share_stw, .each = alqi_heap_minor_drain_stw,     \
    .last = promote_last, .is_limited = true

static const struct alqi_heap_stop_work phase_work = {.begin = begin_phase,
                                                      .last = choose_stw};
static const struct alqi_heap_stop_work minor_work = {.begin = begin_minor,
                                                      PROMOTE};
static const struct alqi_heap_stop_work cycle_work = {.begin = begin_cycle,
                                                      PROMOTE};
static const struct alqi_heap_stop_work swept_work = {.begin = begin_swept,
                                                      PROMOTE};
static const struct alqi_heap_stop_work compact_work = {.begin = begin_compact,
                                                        PROMOTE};
static const struct alqi_heap_stop_work short_work = {.begin = begin_short,
                                                      PROMOTE};

/* ---- collections -------------------------------------------------------- */

/* Whether the process was forked without the threads of its domains.  No stop
 * would ever begin, so nothing is collected there. */
static bool
is_lost(const struct alqi_domain *d)
{
    return d->heap->life.is_lost;
}

/* Runs one stop that ends an explicit collection, and reports it as one event.
 * Unlike a minor collection it is tried until it was led by d: another's stop
 * may have had a lesser goal. */
static void
stop(struct alqi_domain *d, const struct alqi_heap_stop_work *work,
     uint64_t why)
{
    uint64_t n = d->sums.counts.major_cycles;

    alqi_heap_event_begin(d, ALQ_EVENT_MAJOR, why, 0);
    while (!alqi_heap_stop_try(d, work))
        continue;
    alqi_heap_event_end(d, ALQ_EVENT_MAJOR, d->sums.counts.major_cycles - n, 0);
}

static void
collect_all(struct alqi_domain *d)
{
    d->sums.counts.emergencies++;
    stop(d, &short_work, SHORT_OF_MEMORY);
}

/* Collects all that there is to collect if the minor heap could not be opened.
 * A minor heap that is fragmented by pinned blocks stays closed: memory is not
 * short. */
static void
reopen(struct alqi_domain *d)
{
    if (alqi_heap_open_is_closed(d) && !d->young.is_fragmented)
        collect_all(d);
}

/* Empties all minor heaps, in a stop of its own or of another domain, and
 * leaves d's minor heap open if there is memory.
 *
 * A minor collection that another domain leads while d tries is d's, too.
 * alqi_heap_stale comes last: in hard builds local references that are no roots
 * are useless from there on. */
void
alqi_heap_minor(struct alqi_domain *d)
{
    uint64_t n = d->heap->young.n_minors;

    if (is_lost(d))
        return;
    alqi_heap_entry_begin(d);
    while (!alqi_heap_stop_try(d, &minor_work))
        if (d->heap->young.n_minors != n)
            break; /* another's was this domain's, too */
    reopen(d);
    alqi_heap_entry_end(d);
    alqi_heap_stale(d, true);
}

/* Empties the minor heaps and completes the cycle that is under way, or a whole
 * one.  Garbage is known afterwards, not yet swept. */
void
alqi_heap_major(struct alqi_domain *d)
{
    if (is_lost(d))
        return;
    alqi_heap_entry_begin(d);
    stop(d, &cycle_work, BY_A_CALL);
    reopen(d);
    alqi_heap_entry_end(d);
    alqi_heap_stale(d, true);
}

/* As alqi_heap_major(), and what the cycle found dead is swept in the same
 * stop. */
void
alqi_heap_major_swept(struct alqi_domain *d)
{
    if (is_lost(d))
        return;
    alqi_heap_entry_begin(d);
    stop(d, &swept_work, BY_A_CALL);
    reopen(d);
    alqi_heap_entry_end(d);
    alqi_heap_stale(d, true);
}

/* As alqi_heap_major_swept(), and the blocks that live are moved together. */
void
alqi_heap_compact(struct alqi_domain *d)
{
    if (is_lost(d))
        return;
    alqi_heap_entry_begin(d);
    stop(d, &compact_work, BY_A_CALL);
    reopen(d);
    alqi_heap_entry_end(d);
    alqi_heap_stale(d, true);
}

/* Collects all that there is to collect, since memory is short; counted as an
 * emergency.  Does not reopen the minor heap by another collection: this one
 * was all that can be done. */
void
alqi_heap_collect_all(struct alqi_domain *d)
{
    if (is_lost(d))
        return;
    alqi_heap_entry_begin(d);
    collect_all(d);
    alqi_heap_entry_end(d);
    alqi_heap_stale(d, true);
}

/* ---- slices ------------------------------------------------------------- */

/* Does work of the phase for a domain whose holder is the caller; returns the
 * words done.  If less is done than was asked for, the domain has none left,
 * and is noted as done.  A domain that is done looks into the shared queue
 * alone. */
static size_t
own_work(struct alqi_domain *of, size_t words)
{
    size_t done;

    if (__atomic_load_n(&of->done, __ATOMIC_RELAXED) &&
        !alqi_heap_balance_is_there(of->heap))
        return 0;
    done = of->heap->cycle.phase == ALQI_HEAP_SWEEP
               ? alqi_heap_sweep(of, words)
               : alqi_heap_weak_phase_work(of, words);
    if (done < words)
        alqi_heap_mark_note_done(of);
    return done;
}

/* Does the work of a HELD domain, in small chunks, until it is done or its
 * thread waits for it.
 *
 * The counters of work that the domain got are moved to d: d's pace pays with
 * them, and d's slice reports them. */
static size_t
work_for(struct alqi_domain *d, struct alqi_domain *of, size_t words)
{
    uint64_t marked = of->sums.counts.marked_words;
    uint64_t swept = of->sums.counts.swept_words;
    uint64_t live = of->sums.live_words;
    size_t step, done = 0;

    ALQI_ASSERT(alqi_heap_stop_is_held(of)); /* .inv.own */
    while (done < words && !of->done && !alqi_heap_stop_is_wanted(of)) {
        step = words - done < CHUNK_WORDS ? words - done : CHUNK_WORDS;
        done += own_work(of, step);
    }
    d->sums.counts.marked_words += of->sums.counts.marked_words - marked;
    d->sums.counts.swept_words += of->sums.counts.swept_words - swept;
    d->sums.live_words += of->sums.live_words - live;
    of->sums.counts.marked_words = marked;
    of->sums.counts.swept_words = swept;
    of->sums.live_words = live;
    return done;
}

/* Does the work of domains that are BLOCKING, which have no thread to do it.  A
 * domain that a leader or another slice has taken is left out. */
static size_t
others_work(struct alqi_domain *d, size_t words)
{
    struct alqi_heap *heap = d->heap;
    size_t done = 0;
    unsigned i, n = __atomic_load_n(&heap->n_slots, __ATOMIC_ACQUIRE);

    for (i = 0; i < n && done < words; i++) {
        struct alqi_domain *of = heap->domains[i];

        if (of == d || __atomic_load_n(&of->done, __ATOMIC_RELAXED) ||
            !alqi_heap_stop_take(of))
            continue;
        done += work_for(d, of, words - done);
        alqi_heap_stop_give_back(of);
    }
    return done;
}

/* Whether a stop by this domain would change the phase now.
 *
 * The counts may be old, so the stop looks again.  While d's minor heap has
 * blocks nothing is asked for but the end of marking: the next minor collection
 * stops the world anyway and sees to it. */
static bool
is_phase_over(struct alqi_domain *d)
{
    enum alqi_heap_phase phase = d->heap->cycle.phase;

    if (!alqi_heap_balance_is_over(d->heap))
        return false;
    if (phase == ALQI_HEAP_MARK)
        return true;
    /* The next minor collection will see it: unless that has just been. */
    return alqi_heap_minor_is_empty(d) &&
           (phase == ALQI_HEAP_SWEEP || d->pace.forces_mark ||
            alqi_heap_pace_is_due(d));
}

/* Does about so many words of work of the phase; 0: there is none that d may do
 * now.
 *
 * If nothing is left to do, d stops the world to change the phase.  The stop
 * counts as one word of work, so that the slice goes on with what it has
 * brought. */
static size_t
work(struct alqi_domain *d, size_t words)
{
    size_t done = 0;
    enum alqi_heap_phase phase = d->heap->cycle.phase;

    if (phase != ALQI_HEAP_SWEPT) {
        done = own_work(d, words);
        if (done < words)
            done += others_work(d, words - done);
    }
    if (done < words && is_phase_over(d) &&
        alqi_heap_stop_try(d, &phase_work) &&
        (d->heap->cycle.phase != phase ||
         __atomic_load_n(&d->heap->cycle.n_busy, __ATOMIC_RELAXED) > 0))
        done++;
    return done;
}

/* Does a slice of the major cycle: so many words, or, with 0, what the pace
 * asks for.
 *
 * It ends when the words are done, the time is over, or no work is left here;
 * then the debt is passed on to domains that have some.  At its end it gives
 * memory back, and asks for a minor collection if marking is due, since marking
 * begins in one.  The poll is for stops that were requested during the
 * slice. */
void
alqi_heap_slice(struct alqi_domain *d, size_t work_words)
{
    struct alqi_heap_share share = alqi_heap_pace_slice(d, work_words);
    size_t step, done, left = share.words;
    uint64_t marked = d->sums.counts.marked_words,
             swept = d->sums.counts.swept_words;

    if (is_lost(d))
        return;
    ALQI_ASSERT(d->threads.running != NULL); /* .inv.own: d runs, and works */
    alqi_heap_event_begin(d, ALQ_EVENT_SLICE, left, 0);
    alqi_heap_alloc_limit_take(&d->requests.want_slice);
    d->pace.forces_mark = work_words != 0;
    d->sums.counts.slices++;
    while (left > 0) {
        step = left < WORK_STEP_WORDS ? left : WORK_STEP_WORDS;
        done = work(d, step);
        if (done == 0) {
            alqi_heap_pace_pass_on(d);
            break;
        }
        left -= done < left ? done : left;
        if (left > 0 && alqi_heap_pace_is_over(d, &share))
            break;
    }
    d->pace.forces_mark = false;
    alqi_heap_pace_give_some(d);
    ALQI_HEAP_LOG(d->heap, ALQ_GC_LOG_MINOR,
                  "slice %ju of domain %u: %ju words marked, %ju swept by it",
                  (uintmax_t)d->sums.counts.slices, d->slot,
                  (uintmax_t)d->sums.counts.marked_words,
                  (uintmax_t)d->sums.counts.swept_words);
    /* Without this a program that allocates large blocks alone never has a
     * minor collection, and so would never begin to mark. */
    if (d->heap->cycle.phase != ALQI_HEAP_MARK &&
        __atomic_load_n(&d->heap->cycle.n_busy, __ATOMIC_RELAXED) == 0 &&
        alqi_heap_pace_is_due(d)) /* even if only large blocks are allocated */
        __atomic_store_n(&d->requests.want_minor, true, __ATOMIC_RELAXED);
    alqi_heap_stop_poll(d);
    alqi_heap_event_end(d, ALQ_EVENT_SLICE,
                        d->sums.counts.marked_words - marked,
                        d->sums.counts.swept_words - swept);
}

/* Empties the minor heaps, then does work in advance for n_words of allocation.
 * With n_words marking may begin before it is due: forces_mark says so to the
 * stop. */
void
alqi_heap_major_slice(struct alqi_domain *d, size_t n_words)
{
    size_t work_words;

    alqi_heap_entry_begin(d);
    d->pace.forces_mark = n_words != 0;
    alqi_heap_minor(d);
    work_words = alqi_heap_pace_advance(d, n_words);
    if (work_words > 0)
        alqi_heap_slice(d, work_words);
    d->pace.forces_mark = false;
    alqi_heap_entry_end(d);
}

/* Changes the size of d's minor heap; false: it has another size afterwards,
 * since memory is short.  Only an empty minor heap can change its size, so
 * there is a minor collection first. */
bool
alqi_heap_minor_set(struct alqi_domain *d, size_t words)
{
    if (is_lost(d))
        return false;
    d->sizes.requested_bytes = words * ALQ_WORD_BYTES;
    d->sizes.is_requested = true;
    alqi_heap_minor(d);
    return d->sizes.fixed_bytes == d->sizes.requested_bytes;
}
