/* stop.c -- stops of the world, and the states of domains
 *
 * The leader takes the lock, requests the stop, raises all limits, and waits
 * until each RUNNING domain is PARKED and each BLOCKING one is HELD.
 * Participants then do the shares of each step, with a barrier after it.  The
 * last participant to leave gives all domains back, frees the lock and wakes
 * the others (tests/models/stop.pml, steps.pml).
 *
 * Keeps .inv.own: Data of a domain are touched by its holder.
 * Keeps .inv.stop: While a step runs no domain is RUNNING.
 * Keeps .inv.share: Each share of a step is done once.
 * Keeps .inv.back: A domain that its thread waits for is not taken again.
 * Keeps .inv.states: A state changes by the steps of stop.h alone. */
#include "heap/event.h"
#include "heap/alloc_limit.h"
#include "heap/domain_orphan.h"
#include "heap/root_stack.h"
#include "heap/stop.h"
#include "plat/wait.h"

static uint32_t
state_of(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->state, __ATOMIC_SEQ_CST);
}

/* Whether a plain store may take a domain from one state to the other: the
 * first is a state that no other thread changes. */
static bool
is_plain_step(uint32_t from, enum alqi_heap_domain_state to)
{
    switch (from) {
    case ALQI_HEAP_RUNNING:
        return to == ALQI_HEAP_PARKED || to == ALQI_HEAP_BLOCKING ||
               to == ALQI_HEAP_ENDING;
    case ALQI_HEAP_PARKED:
    case ALQI_HEAP_HELD_WANTED:
        return to == ALQI_HEAP_RUNNING;
    case ALQI_HEAP_ENDING:
        return to == ALQI_HEAP_VACANT;
    default:
        return false;
    }
}

static void
state_set(struct alqi_domain *d, enum alqi_heap_domain_state state)
{
    ALQI_ASSERT(is_plain_step(state_of(d), state)); /* .inv.states */
    __atomic_store_n(&d->state, state, __ATOMIC_SEQ_CST);
}

/* Moves the domain from one state to another; false: it was in a third state,
 * and stays there. */
static bool
state_change(struct alqi_domain *d, uint32_t from,
             enum alqi_heap_domain_state to)
{
    return __atomic_compare_exchange_n(&d->state, &from, to, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Makes the leader look at the states of the domains again.  The state is
 * stored before `arrived`: a leader that sleeps in collect() clears `arrived`
 * first and then reads the state, so no change is missed. */
static void
wake_leader(struct alqi_heap_stop *s)
{
    __atomic_store_n(&s->arrived, 1, __ATOMIC_SEQ_CST);
    alqi_plat_wake(&s->arrived, 1);
}

/* Wakes the leader of a stop that has raised this domain's limit, after the
 * domain has changed its state.  Without a request nobody sleeps on
 * `arrived`. */
static void
look_for_leader(struct alqi_domain *d)
{
    if (alqi_heap_alloc_limit_is_stop_asked(d))
        wake_leader(&d->heap->stop);
}

/* ---- the lock ----------------------------------------------------------- */

/* The lock's rank is also that of a stop: each participant has it, and so has
 * each poll, whether or not there is a stop to serve.  So a thread that polls
 * with a lock that the stop's work takes is found without the deadlock. */
static bool
lock_try(struct alqi_heap_stop *s)
{
    uint32_t idle = 0;

    if (!__atomic_compare_exchange_n(&s->lock, &idle, 1, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return false;
    alqi_base_rank_push_sigsafe(ALQI_RANK_HEAP_STOP);
    return true;
}

/* Frees the lock of stops, of which the caller need not be the taker.  The
 * system is called only if the lock says that a thread may sleep on it (value
 * 2). */
static void
lock_free(struct alqi_heap_stop *s)
{
    if (__atomic_exchange_n(&s->lock, 0, __ATOMIC_SEQ_CST) == 2)
        alqi_plat_wake(&s->lock, 1);
}

void
alqi_heap_stop_unlock(struct alqi_heap *heap)
{
    ALQI_ASSERT(
        alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP)); /* .inv.stop */
    alqi_base_rank_pop_sigsafe(ALQI_RANK_HEAP_STOP);
    lock_free(&heap->stop);
}

/* Takes the lock of stops, with which no stop can begin.
 *
 * A thread that runs no domain sleeps on the futex.  A thread that runs domain
 * d may not sleep: the holder may be a leader that waits for d to park.  So it
 * polls, which takes part in that stop. */
void
alqi_heap_stop_lock(struct alqi_heap *heap, struct alqi_domain *d)
{
    struct alqi_heap_stop *s = &heap->stop;

    if (d == NULL) {
        if (lock_try(s))
            return;
        alqi_base_rank_push_sigsafe(ALQI_RANK_HEAP_STOP);
        while (__atomic_exchange_n(&s->lock, 2, __ATOMIC_SEQ_CST) != 0)
            alqi_plat_sleep(&s->lock, 2);
        return;
    }
    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING); /* .inv.own */
    while (!lock_try(s)) {
        alqi_heap_stop_poll(d); /* the leader may wait for us */
        alqi_plat_yield();
    }
}

/* ---- giving back -------------------------------------------------------- */

/* Ends the hold of a domain: HELD -> BLOCKING, or, if its thread has come back
 * meanwhile, -> RUNNING.
 *
 * The caller holds `of`.  The thread that sleeps in alqi_heap_stop_come_back()
 * is woken, and the state goes straight to RUNNING: with BLOCKING in between
 * the next taker could be faster, and the thread would starve (.inv.back). */
void
alqi_heap_stop_give_back(struct alqi_domain *of)
{
    if (state_change(of, ALQI_HEAP_HELD, ALQI_HEAP_BLOCKING))
        return;
    ALQI_ASSERT(state_of(of) == ALQI_HEAP_HELD_WANTED); /* .inv.back */
    state_set(of, ALQI_HEAP_RUNNING);
    alqi_plat_wake(&of->state, 1);
}

/* Ends the stop: withdraws the request, gives each domain back to its thread,
 * frees the lock.
 *
 * The last participant calls it, when all others look at nothing but `over`.
 * The request is withdrawn before the first domain runs again, so no domain
 * parks for a stop that is over.  `over` is stored after the lock is freed: no
 * later stop can end before that, since it needs this thread and those that
 * wait here to park. */
static void
end_stop(struct alqi_heap *heap, uint32_t mine)
{
    struct alqi_heap_stop *s = &heap->stop;
    bool others = s->n_inside > 1;
    unsigned i;

    ALQI_ASSERT(s->step == NULL && s->waiting == 0); /* .inv.stop */
    __atomic_store_n(&s->request, 0, __ATOMIC_SEQ_CST);
    for (i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *d = heap->domains[i];

        if (state_of(d) == ALQI_HEAP_PARKED)
            state_set(d, ALQI_HEAP_RUNNING);
        else if (state_of(d) != ALQI_HEAP_VACANT)
            alqi_heap_stop_give_back(d);
    }
    lock_free(s);
    __atomic_store_n(&s->over, mine, __ATOMIC_SEQ_CST);
    if (others)
        alqi_plat_wake(&s->over, UINT32_MAX);
}

/* ---- a step ------------------------------------------------------------- */

/* Whether no program runs in the domain: it is parked, or the stop holds it. */
static bool
is_still(const struct alqi_domain *d)
{
    return state_of(d) == ALQI_HEAP_PARKED || alqi_heap_stop_is_held(d);
}

/* Whether the caller is the first to claim the share.  The exchange makes one
 * winner (.inv.share). */
static bool
claim(uint32_t *claimed)
{
    return __atomic_exchange_n(claimed, 1, __ATOMIC_SEQ_CST) == 0;
}

/* Does all shares of the step that are left: the domain's own first, whose data
 * are in this processor's cache, then the heap's, then those that the counter
 * hands out (.inv.share). */
static void
shares(struct alqi_domain *self, const struct alqi_heap_stop_work *w)
{
    struct alqi_heap *heap = self->heap;
    unsigned i;

    if (claim(&self->claimed))
        w->share(self, self);
    if (claim(&heap->stop.claimed))
        w->share(self, NULL);
    while ((i = __atomic_fetch_add(&heap->stop.next, 1, __ATOMIC_SEQ_CST)) <
           heap->n_slots)
        if (claim(&heap->domains[i]->claimed)) {
            ALQI_ASSERT(is_still(heap->domains[i])); /* .inv.stop */
            w->share(self, heap->domains[i]);
        }
}

/* Whether each share of the step was claimed.  By the last one at the
 * barrier. */
static bool
is_all_claimed(const struct alqi_heap *heap)
{
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        if (__atomic_load_n(&heap->domains[i]->claimed, __ATOMIC_RELAXED) == 0)
            return false;
    return __atomic_load_n(&heap->stop.claimed, __ATOMIC_RELAXED) != 0;
}

/* Makes each share of the next step claimable; vacant slots count as claimed.
 *
 * The caller runs alone: the leader before `go`, or the last participant at a
 * barrier before `turn`.  The release of these words publishes the relaxed
 * stores. */
static void
shares_reset(struct alqi_heap *heap)
{
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        __atomic_store_n(&heap->domains[i]->claimed,
                         state_of(heap->domains[i]) == ALQI_HEAP_VACANT,
                         __ATOMIC_RELAXED);
    __atomic_store_n(&heap->stop.claimed, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->stop.next, 0, __ATOMIC_RELAXED);
}

/* Waits until all participants have done the step; the last to arrive chooses
 * the next step.
 *
 * `waiting` is reset before `turn` moves, so a participant that arrives early
 * at the next barrier counts from 0.  The release of `turn` publishes the new
 * step and all that the step has written. */
static void
barrier(struct alqi_domain *self, const struct alqi_heap_stop_work *w)
{
    struct alqi_heap_stop *s = &self->heap->stop;
    uint32_t turn = __atomic_load_n(&s->turn, __ATOMIC_RELAXED);

    if (__atomic_add_fetch(&s->waiting, 1, __ATOMIC_ACQ_REL) != s->n_inside) {
        alqi_plat_wait_while(&s->turn, turn);
        return;
    }
    ALQI_ASSERT(w->share == NULL ||
                is_all_claimed(self->heap)); /* .inv.share */
    __atomic_store_n(&s->waiting, 0, __ATOMIC_RELAXED);
    s->step = w->last(self);
    if (s->step != NULL)
        shares_reset(self->heap);
    __atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
    if (s->n_inside > 1)
        alqi_plat_wake(&s->turn, UINT32_MAX);
}

/* Whether the domain does shares of a limited step.  The leader always does, so
 * `workers` counts from 1. */
static bool
is_worker(struct alqi_domain *self)
{
    struct alqi_heap_stop *s = &self->heap->stop;

    return self == s->leader ||
           __atomic_add_fetch(&s->workers, 1, __ATOMIC_RELAXED) < s->n_workers;
}

/* Goes through the steps of stop number `mine`, then leaves it.
 *
 * The domain is PARKED.  A participant that is no worker waits at the barrier
 * all the same.  The last to leave ends the stop; each other one sleeps until
 * `over` has its stop's number. */
static void
take_part(struct alqi_domain *self, uint32_t mine)
{
    struct alqi_heap_stop *s = &self->heap->stop;
    const struct alqi_heap_stop_work *w;

    while ((w = s->step) != NULL) {
        ALQI_ASSERT(state_of(self) == ALQI_HEAP_PARKED); /* .inv.stop */
        if (!w->is_limited || is_worker(self)) {
            if (w->share != NULL)
                shares(self, w);
            if (w->each != NULL)
                w->each(self);
        }
        barrier(self, w);
    }
    if (__atomic_sub_fetch(&s->inside, 1, __ATOMIC_SEQ_CST) == 0)
        end_stop(self->heap, mine);
    else
        alqi_plat_wait_until(&s->over, mine);
}

/* ---- participants ------------------------------------------------------- */

/* Parks the domain and takes part in the stop that is requested.
 *
 * `mine` is read while the domain is RUNNING: the stop cannot begin without it,
 * so the number is that of this stop.  The stack is noted in this function,
 * which does not return before the stop is over (root_stack.h). */
static void
serve(struct alqi_domain *d)
{
    struct alqi_heap_stop *s = &d->heap->stop;
    uint32_t mine = __atomic_load_n(&s->seq, __ATOMIC_SEQ_CST), n;

    alqi_heap_event_begin(d, ALQ_EVENT_STOP, 0, 0);
    alqi_heap_stack_note(d);
    state_set(d, ALQI_HEAP_PARKED);
    wake_leader(s);
    alqi_plat_wait_until(&s->go, mine);
    n = s->n_inside;
    ALQI_ASSERT(n >= 2 && s->leader != d); /* .inv.stop: the leader waited */
    take_part(d, mine);
    alqi_heap_event_end(d, ALQ_EVENT_STOP, n, 0);
}

/* Lowers the limit again and serves each stop that is requested.
 *
 * The limit is lowered before the request is read: a leader that comes in
 * between raises the limit once more (.inv.limit).  A forked child has no other
 * threads to stop for, and does nothing here. */
void
alqi_heap_stop_poll(struct alqi_domain *d)
{
    alqi_base_rank_push_sigsafe(ALQI_RANK_HEAP_STOP);
    while (!d->heap->life.is_lost) {
        alqi_heap_alloc_limit_reset(d);
        if (!alqi_heap_alloc_limit_is_stop_asked(d))
            break;
        serve(d);
    }
    alqi_base_rank_pop_sigsafe(ALQI_RANK_HEAP_STOP);
}

/* ---- the leader --------------------------------------------------------- */

/* Requests the stop: the request first, then the limits of all domains that
 * run.  A domain that is BLOCKING needs no raised limit, since it polls when it
 * comes back. */
static void
ask(struct alqi_heap *heap, struct alqi_domain *leader)
{
    unsigned i;

    __atomic_store_n(&heap->stop.request, 1, __ATOMIC_SEQ_CST);
    state_set(leader, ALQI_HEAP_PARKED);
    for (i = 0; i < heap->n_slots; i++)
        if (state_of(heap->domains[i]) == ALQI_HEAP_RUNNING)
            alqi_heap_alloc_limit_raise(heap->domains[i]);
}

/* Waits until the domain is PARKED, HELD by this leader, or VACANT.
 *
 * The leader has requested the stop and holds the lock, so no domain is
 * STARTING.  A BLOCKING domain is taken here.  One that another domain's slice
 * has taken is waited for: the taker gives it back before it parks, and its
 * parking wakes the leader.  `arrived` is cleared before the state is read,
 * else a wake-up in between would be lost. */
static void
collect(struct alqi_heap_stop *s, struct alqi_domain *d)
{
    uint32_t state;

    for (;;) {
        __atomic_exchange_n(&s->arrived, 0, __ATOMIC_SEQ_CST);
        state = state_of(d);
        ALQI_ASSERT(state != ALQI_HEAP_STARTING); /* .inv.states */
        if (state == ALQI_HEAP_PARKED || state == ALQI_HEAP_VACANT)
            return;
        if (state != ALQI_HEAP_BLOCKING)
            alqi_plat_wait_while(&s->arrived, 0);
        else if (state_change(d, ALQI_HEAP_BLOCKING, ALQI_HEAP_HELD))
            return;
    }
}

/* The number of domains that are PARKED: the participants. */
static uint32_t
count_here(struct alqi_heap *heap)
{
    uint32_t n = 0;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        n += state_of(heap->domains[i]) == ALQI_HEAP_PARKED;
    return n;
}

/* Stops the world with d as the leader and goes through the steps from `first`
 * on.  False: another thread had the lock.
 *
 * Then d has polled, so it has taken part in the other's stop, and the caller
 * looks whether its own reason still stands.  What ended domains left is
 * adopted as soon as the world stands still, before the first step can look for
 * work.  The poll at the end lowers the limit, which ask() of a later leader
 * may have raised. */
bool
alqi_heap_stop_try(struct alqi_domain *d,
                   const struct alqi_heap_stop_work *first)
{
    struct alqi_heap *heap = d->heap;
    struct alqi_heap_stop *s = &heap->stop;
    uint32_t mine, n;
    unsigned i;

    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING); /* .inv.own */
    if (!lock_try(s)) {
        alqi_heap_stop_poll(d);
        alqi_plat_yield();
        return false;
    }
    alqi_heap_event_begin(d, ALQ_EVENT_STOP, 0, 0);
    alqi_heap_stack_note(d);
    mine = __atomic_add_fetch(&s->seq, 1, __ATOMIC_SEQ_CST);
    ask(heap, d);
    for (i = 0; i < heap->n_slots; i++)
        collect(s, heap->domains[i]);
    alqi_heap_orphan_adopt_stw(d);
    ALQI_ASSERT(heap->orphans == NULL); /* .inv.handed: none ends in a stop */
    s->leader = d;
    s->step = first;
    s->n_inside = n = count_here(heap);
    ALQI_ASSERT(n >= 1); /* .inv.stop: the leader takes part */
    s->n_workers = n;
    s->workers = 0;
    __atomic_store_n(&s->inside, s->n_inside, __ATOMIC_RELAXED);
    shares_reset(heap);
    if (first->begin != NULL)
        first->begin(d);
    __atomic_store_n(&s->go, mine, __ATOMIC_SEQ_CST);
    if (s->n_inside > 1)
        alqi_plat_wake(&s->go, UINT32_MAX);
    take_part(d, mine);
    alqi_heap_event_end(d, ALQ_EVENT_STOP, n, 0);
    alqi_base_rank_pop_sigsafe(ALQI_RANK_HEAP_STOP);
    alqi_heap_stop_poll(d);
    return true;
}

/* ---- away and back ------------------------------------------------------ */

/* RUNNING -> BLOCKING.  A leader or a slice may take the domain at once, so the
 * thread touches none of its data afterwards. */
void
alqi_heap_stop_leave(struct alqi_domain *d)
{
    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING); /* .inv.own */
    state_set(d, ALQI_HEAP_BLOCKING);
    look_for_leader(d);
}

/* BLOCKING -> RUNNING, on the domain's thread.
 *
 * If the domain is HELD, its thread leaves a note in the state that it waits,
 * and sleeps until the holder sets RUNNING (.inv.back).  The wait counts as a
 * pause.  The poll is last: a stop may have been requested while the limit was
 * not raised. */
void
alqi_heap_stop_come_back(struct alqi_domain *d)
{
    while (!state_change(d, ALQI_HEAP_BLOCKING, ALQI_HEAP_RUNNING))
        if (state_change(d, ALQI_HEAP_HELD, ALQI_HEAP_HELD_WANTED)) {
            alqi_heap_event_begin(d, ALQ_EVENT_STOP, 0, 0);
            alqi_plat_wait_until(&d->state, ALQI_HEAP_RUNNING);
            alqi_heap_event_end(d, ALQ_EVENT_STOP, 0, 0);
            break;
        }
    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING); /* .inv.back */
    alqi_heap_stop_poll(d);
}

/* BLOCKING -> HELD, for a slice of the calling thread's domain.  False: the
 * domain is not BLOCKING, or another taker was faster.  The plain read keeps
 * the cache line shared when there is nothing to take. */
bool
alqi_heap_stop_take(struct alqi_domain *of)
{
    return state_of(of) == ALQI_HEAP_BLOCKING &&
           state_change(of, ALQI_HEAP_BLOCKING, ALQI_HEAP_HELD);
}

/* ---- ending ------------------------------------------------------------- */

/* RUNNING -> ENDING.  The thread goes on to hand over all data; a leader waits
 * for VACANT. */
void
alqi_heap_stop_ending(struct alqi_domain *d)
{
    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING); /* .inv.own */
    state_set(d, ALQI_HEAP_ENDING);
}

/* ENDING -> VACANT, when all data are handed over.
 *
 * A leader may wait for this slot.  The heap is read into a local variable
 * first: after the store the slot may be another domain's. */
void
alqi_heap_stop_vacate(struct alqi_domain *d)
{
    struct alqi_heap *heap = d->heap;

    state_set(d, ALQI_HEAP_VACANT); /* the slot may be another's from now on */
    if (__atomic_load_n(&heap->stop.request, __ATOMIC_SEQ_CST) != 0)
        wake_leader(&heap->stop);
}
