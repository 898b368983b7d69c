/* stop.c -- stops of the world, and the states of domains
 *
 * The leader takes the lock, requests the stop, raises all limits, and
 * waits until each RUNNING domain is PARKED or BLOCKING; BLOCKING ones it
 * takes (HELD).  Then participants do the shares of each step; the last to
 * leave gives all domains back and frees the lock (tests/models/stop.pml,
 * steps.pml).
 *
 * Keeps .inv.own: Data of a domain are touched by its holder.
 * Keeps .inv.stop: While a step runs no domain is RUNNING.
 * Keeps .inv.share: Each share of a step is done once.
 * Keeps .inv.back: A domain that its thread waits for is not taken once more.
 */
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

static void
state_set(struct alqi_domain *d, enum alqi_heap_domain_state state)
{
    __atomic_store_n(&d->state, state, __ATOMIC_SEQ_CST);
}

static bool
state_change(struct alqi_domain *d, uint32_t from,
             enum alqi_heap_domain_state to)
{
    return __atomic_compare_exchange_n(&d->state, &from, to, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* The leader looks again. */
static void
wake_leader(struct alqi_heap_stop *s)
{
    __atomic_store_n(&s->arrived, 1, __ATOMIC_SEQ_CST);
    alqi_plat_wake(&s->arrived, 1);
}

static void
look_for_leader(struct alqi_domain *d)
{
    if (alqi_heap_alloc_limit_is_stop_asked(d))
        wake_leader(&d->heap->stop);
}

/* ---- the lock ----------------------------------------------------------- */

static bool
lock_try(struct alqi_heap_stop *s)
{
    uint32_t idle = 0;

    return __atomic_compare_exchange_n(&s->lock, &idle, 1, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

void
alqi_heap_stop_unlock(struct alqi_heap *heap)
{
    struct alqi_heap_stop *s = &heap->stop;

    if (__atomic_exchange_n(&s->lock, 0, __ATOMIC_SEQ_CST) == 2)
        alqi_plat_wake(&s->lock, 1);
}

void
alqi_heap_stop_lock(struct alqi_heap *heap, struct alqi_domain *d)
{
    struct alqi_heap_stop *s = &heap->stop;

    if (d == NULL) {
        if (!lock_try(s))
            while (__atomic_exchange_n(&s->lock, 2, __ATOMIC_SEQ_CST) != 0)
                alqi_plat_sleep(&s->lock, 2);
        return;
    }
    while (!lock_try(s)) {
        alqi_heap_stop_poll(d); /* the leader may wait for us */
        alqi_plat_yield();
    }
}

/* ---- giving back -------------------------------------------------------- */

void
alqi_heap_stop_give_back(struct alqi_domain *of)
{
    if (state_change(of, ALQI_HEAP_HELD, ALQI_HEAP_BLOCKING))
        return;
    ALQI_ASSERT(state_of(of) == ALQI_HEAP_HELD_WANTED);
    state_set(of, ALQI_HEAP_RUNNING); /* .inv.back */
    alqi_plat_wake(&of->state, 1);
}

/* The last one out; nobody else looks at anything but `over`. */
static void
end_stop(struct alqi_heap *heap, uint32_t mine)
{
    struct alqi_heap_stop *s = &heap->stop;
    bool others = s->n_inside > 1;
    unsigned i;

    __atomic_store_n(&s->request, 0, __ATOMIC_SEQ_CST);
    for (i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *d = heap->domains[i];

        if (state_of(d) == ALQI_HEAP_PARKED)
            state_set(d, ALQI_HEAP_RUNNING);
        else if (state_of(d) != ALQI_HEAP_VACANT)
            alqi_heap_stop_give_back(d);
    }
    alqi_heap_stop_unlock(heap);
    __atomic_store_n(&s->over, mine, __ATOMIC_SEQ_CST);
    if (others)
        alqi_plat_wake(&s->over, UINT32_MAX);
}

/* ---- a step ------------------------------------------------------------- */

static bool
claim(uint32_t *claimed)
{
    return __atomic_exchange_n(claimed, 1, __ATOMIC_SEQ_CST) == 0;
}

/* .inv.share: one's own first, then those that the counter hands out. */
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
        if (claim(&heap->domains[i]->claimed))
            w->share(self, heap->domains[i]);
}

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

/* Returns when all have come; the last one goes on to the next step before. */
static void
barrier(struct alqi_domain *self, const struct alqi_heap_stop_work *w)
{
    struct alqi_heap_stop *s = &self->heap->stop;
    uint32_t turn = __atomic_load_n(&s->turn, __ATOMIC_RELAXED);

    if (__atomic_add_fetch(&s->waiting, 1, __ATOMIC_ACQ_REL) != s->n_inside) {
        alqi_plat_wait_while(&s->turn, turn);
        return;
    }
    __atomic_store_n(&s->waiting, 0, __ATOMIC_RELAXED);
    s->step = w->last(self);
    if (s->step != NULL)
        shares_reset(self->heap);
    __atomic_store_n(&s->turn, turn + 1, __ATOMIC_RELEASE);
    if (s->n_inside > 1)
        alqi_plat_wake(&s->turn, UINT32_MAX);
}

static bool
is_worker(struct alqi_domain *self)
{
    struct alqi_heap_stop *s = &self->heap->stop;

    return self == s->leader ||
           __atomic_add_fetch(&s->workers, 1, __ATOMIC_RELAXED) < s->n_workers;
}

static void
take_part(struct alqi_domain *self, uint32_t mine)
{
    struct alqi_heap_stop *s = &self->heap->stop;
    const struct alqi_heap_stop_work *w;

    while ((w = s->step) != NULL) {
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

/* ---- who is asked ------------------------------------------------------- */

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
    take_part(d, mine);
    alqi_heap_event_end(d, ALQ_EVENT_STOP, n, 0);
}

void
alqi_heap_stop_poll(struct alqi_domain *d)
{
    while (!d->heap->life.is_lost) {
        alqi_heap_alloc_limit_reset(d);
        if (!alqi_heap_alloc_limit_is_stop_asked(d))
            return;
        serve(d);
    }
}

/* ---- the leader --------------------------------------------------------- */

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

/* Until the domain is PARKED, HELD by us, or VACANT. */
static void
collect(struct alqi_heap_stop *s, struct alqi_domain *d)
{
    uint32_t state;

    for (;;) {
        __atomic_exchange_n(&s->arrived, 0, __ATOMIC_SEQ_CST);
        state = state_of(d);
        ALQI_ASSERT(state != ALQI_HEAP_STARTING);
        if (state == ALQI_HEAP_PARKED || state == ALQI_HEAP_VACANT)
            return;
        if (state != ALQI_HEAP_BLOCKING)
            alqi_plat_wait_while(&s->arrived, 0);
        else if (state_change(d, ALQI_HEAP_BLOCKING, ALQI_HEAP_HELD))
            return;
    }
}

static uint32_t
count_here(struct alqi_heap *heap)
{
    uint32_t n = 0;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        n += state_of(heap->domains[i]) == ALQI_HEAP_PARKED;
    return n;
}

bool
alqi_heap_stop_try(struct alqi_domain *d,
                   const struct alqi_heap_stop_work *first)
{
    struct alqi_heap *heap = d->heap;
    struct alqi_heap_stop *s = &heap->stop;
    uint32_t mine, n;
    unsigned i;

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
    alqi_heap_orphan_adopt(d);
    s->leader = d;
    s->step = first;
    s->n_inside = n = count_here(heap);
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
    alqi_heap_stop_poll(d);
    return true;
}

/* ---- away and back ------------------------------------------------------ */

void
alqi_heap_stop_leave(struct alqi_domain *d)
{
    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING);
    state_set(d, ALQI_HEAP_BLOCKING);
    look_for_leader(d);
}

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
    alqi_heap_stop_poll(d);
}

bool
alqi_heap_stop_take(struct alqi_domain *of)
{
    return state_of(of) == ALQI_HEAP_BLOCKING &&
           state_change(of, ALQI_HEAP_BLOCKING, ALQI_HEAP_HELD);
}

/* ---- ending ------------------------------------------------------------- */

void
alqi_heap_stop_ending(struct alqi_domain *d)
{
    ALQI_ASSERT(state_of(d) == ALQI_HEAP_RUNNING);
    state_set(d, ALQI_HEAP_ENDING);
}

void
alqi_heap_stop_vacate(struct alqi_domain *d)
{
    struct alqi_heap *heap = d->heap;

    state_set(d, ALQI_HEAP_VACANT); /* the slot may be another's from now on */
    if (__atomic_load_n(&heap->stop.request, __ATOMIC_SEQ_CST) != 0)
        wake_leader(&heap->stop);
}
