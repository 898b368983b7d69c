/* event.c -- events, pauses, and the listeners that are called for them
 *
 * Events of a domain nest; the outermost one is a pause, counted in a histogram
 * of the domain.  The histogram is valid for one epoch: a reset begins the next
 * one, and the owner clears its own when it counts again.  A slot is free, or
 * in use, or cleared while its listener still runs in another thread, which
 * removal waits for.
 *
 * Keeps .inv.slot: A listener runs only between ++running and --running of its
 *   slot.
 * Keeps .inv.nest: A domain that ends is in no event.
 * Keeps .inv.pause: Two readings of the clock a pause, one more for each event
 *   that a listener gets. */
#include <sched.h>
#include <string.h>

#include "heap/pool_area.h"
#include "heap/event.h"
#include "heap/large.h"
#include "heap/stat_pause.h"

/* This thread is in a listener's function. */
static __thread bool is_telling __attribute__((tls_model("initial-exec")));

/* ---- telling ------------------------------------------------------------ */

/* Whether the listener wants this kind; kinds = 0: all. */
static bool
wants(const struct alq_listener *listener, enum alq_event_kind kind)
{
    return listener->kinds == 0 || (listener->kinds >> kind & 1) != 0;
}

/* Calls the listener of the slot, if it wants the event (.inv.slot).
 *
 * The listener is read again after ++running.  If removal has cleared the slot
 * before, nothing is called; if the slot is cleared later, removal finds
 * `running` and waits.  The first read keeps free slots cheap. */
static void
tell_slot(struct alqi_heap_listener_slot *slot, const struct alq_event *event)
{
    const struct alq_listener *listener;

    if (__atomic_load_n(&slot->listener, __ATOMIC_RELAXED) == NULL)
        return;
    __atomic_fetch_add(&slot->running, 1, __ATOMIC_SEQ_CST);
    listener = __atomic_load_n(&slot->listener, __ATOMIC_SEQ_CST);
    if (listener != NULL && wants(listener, event->kind)) {
        listener->event(listener->arg, event);
        alqi_heap_program_returned();
    }
    ALQI_ASSERT(__atomic_load_n(&slot->running, __ATOMIC_SEQ_CST) >
                0); /* .inv.slot */
    __atomic_fetch_sub(&slot->running, 1, __ATOMIC_SEQ_CST);
}

/* Calls all listeners of the heap for the event. is_telling makes add and
 * remove refuse in a listener: removal would wait for itself. */
static ALQI_COLD void
tell(struct alqi_heap *heap, const struct alq_event *event)
{
    unsigned i;

    is_telling = true;
    for (i = 0; i < ALQ_LISTENERS_MAX; i++)
        tell_slot(&heap->listeners.slots[i], event);
    is_telling = false;
}

static void
tell_at(struct alqi_domain *d, enum alq_event_kind kind,
        enum alq_event_point point, uint64_t ns, uint64_t a, uint64_t b)
{
    struct alq_event event = {kind, point, d->slot, ns, {a, b}};

    tell(d->heap, &event);
}

void
alqi_heap_event_notify(struct alqi_domain *d, enum alq_event_kind kind,
                       enum alq_event_point point, uint64_t a, uint64_t b)
{
    tell_at(d, kind, point, alqi_plat_mono_ns_sigsafe(), a, b);
}

static uint64_t
used_bytes(const struct alqi_heap *heap)
{
    return alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_BYTES +
           alqi_heap_large_bytes(heap);
}

/* Bytes of pools that have memory, in use or not. */
static uint64_t
ready_bytes(const struct alqi_heap *heap)
{
    return (uint64_t)alqi_heap_area_backed(&heap->area) * ALQI_HEAP_POOL_BYTES;
}

/* ---- the heap's own ----------------------------------------------------- */

/* Sends an event that is the heap's, not a domain's.  The clock is read only if
 * some listener wants the kind (.inv.pause). */
static void
heap_event(struct alqi_heap *heap, enum alq_event_kind kind,
           enum alq_event_point point, uint64_t a)
{
    struct alq_event event = {kind, point, ALQ_EVENT_HEAP, 0, {a, 0}};

    if (!alqi_heap_event_is_heard(heap, kind))
        return;
    event.time_ns = alqi_plat_mono_ns_sigsafe();
    tell(heap, &event);
}

/* Sums over the domains; in a stop. */
struct sums {
    uint64_t marked_words;
    uint64_t promoted_words;
    uint64_t young_words;
    uint64_t remembered;
};

/* Adds up what events of the heap report.  Words marked by domains
 * that have ended count: a difference over the whole marking needs them.  The
 * others are differences within one stop. */
static struct sums
sums_of_stw(const struct alqi_heap *heap)
{
    struct sums sums = {.marked_words = heap->totals.ended.counts.marked_words};
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    for (i = 0; i < heap->n_slots; i++) {
        const struct alqi_domain *d = heap->domains[i];

        if (!alqi_heap_is_there(d))
            continue;
        sums.marked_words += d->sums.counts.marked_words;
        sums.promoted_words +=
            d->sums.counts.promoted_words - d->sums.slack_words;
        sums.young_words +=
            (d->young.end - (uintptr_t)d->pub.young_ptr) / ALQ_WORD_BYTES;
        sums.remembered += d->remembered.n;
    }
    return sums;
}

/* Sends the events of a change of phase.  In the stop that changes it, before
 * the phase is set.  A cycle begins for listeners with its marking, and ends
 * when all is swept. */
void
alqi_heap_event_phase_stw(struct alqi_heap *heap, enum alqi_heap_phase next)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    switch (next) {
    case ALQI_HEAP_MARK:
        heap_event(heap, ALQ_EVENT_CYCLE, ALQ_EVENT_BEGIN,
                   ++heap->listeners.n_cycles);
        heap_event(heap, ALQ_EVENT_MARK, ALQ_EVENT_BEGIN, 0);
        heap->listeners.marked_before = sums_of_stw(heap).marked_words;
        break;
    case ALQI_HEAP_SWEEP:
        heap_event(heap, ALQ_EVENT_MARK, ALQ_EVENT_END,
                   sums_of_stw(heap).marked_words -
                       heap->listeners.marked_before);
        heap_event(heap, ALQ_EVENT_SWEEP, ALQ_EVENT_BEGIN, 0);
        break;
    case ALQI_HEAP_SWEPT:
        heap_event(heap, ALQ_EVENT_SWEEP, ALQ_EVENT_END, 0);
        heap_event(heap, ALQ_EVENT_CYCLE, ALQ_EVENT_END, heap->pace.live_words);
        break;
    }
}

void
alqi_heap_event_weak_phase_begin_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    heap_event(heap, ALQ_EVENT_EPHE, ALQ_EVENT_BEGIN, 0);
}

void
alqi_heap_event_weak_phase_end_stw(struct alqi_heap *heap, uint64_t n_emptied)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    heap_event(heap, ALQ_EVENT_EPHE, ALQ_EVENT_END, n_emptied);
}

/* Sends the begin of a minor collection of all domains, as the leader's event,
 * and notes what had been promoted before. */
void
alqi_heap_event_minor_begin_stw(struct alqi_domain *leader)
{
    struct sums sums = sums_of_stw(leader->heap);

    ALQI_ASSERT(alqi_heap_is_stopped(leader->heap));
    leader->heap->listeners.promoted_before = sums.promoted_words;
    alqi_heap_event_begin(leader, ALQ_EVENT_MINOR, sums.young_words,
                          sums.remembered);
}

void
alqi_heap_event_minor_end_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    alqi_heap_event_end(
        heap->stop.leader, ALQ_EVENT_MINOR,
        sums_of_stw(heap).promoted_words - heap->listeners.promoted_before, 0);
}

/* Sends the begin of a minor collection of one domain.  Returns the words
 * promoted before, which the end takes back: other domains may collect at the
 * same time, so the heap has no place for them. */
uint64_t
alqi_heap_event_minor_local_begin(struct alqi_domain *d)
{
    alqi_heap_event_begin(
        d, ALQ_EVENT_MINOR,
        (d->young.end - (uintptr_t)d->pub.young_ptr) / ALQ_WORD_BYTES, 0);
    return d->sums.counts.promoted_words - d->sums.slack_words;
}

void
alqi_heap_event_minor_local_end(struct alqi_domain *d, uint64_t promoted_before)
{
    alqi_heap_event_end(d, ALQ_EVENT_MINOR,
                        d->sums.counts.promoted_words - d->sums.slack_words -
                            promoted_before,
                        0);
}

void
alqi_heap_event_heap_end(struct alqi_heap *heap)
{
    heap_event(heap, ALQ_EVENT_HEAP_END, ALQ_EVENT_MOMENT, 0);
}

/* Sends an event if the pools' part of the heap has changed since the last
 * pause of any domain. */
static void
look_at_size(struct alqi_domain *d, uint64_t ns)
{
    uint64_t now = ready_bytes(d->heap);
    uint64_t before = __atomic_exchange_n(&d->heap->listeners.ready_bytes, now,
                                          __ATOMIC_RELAXED);
    enum alq_event_kind kind = now > before ? ALQ_EVENT_GROW : ALQ_EVENT_SHRINK;

    if (now != before && alqi_heap_event_is_heard(d->heap, kind))
        tell_at(d, kind, ALQ_EVENT_MOMENT, ns, now, before);
}

/* ---- pauses ------------------------------------------------------------- */

/* Begins a pause; the outermost event or entry does that. */
void
alqi_heap_pause_begin(struct alqi_domain *d)
{
    d->events.began_ns = alqi_plat_mono_ns_sigsafe();
    if (alqi_heap_event_is_heard(d->heap, ALQ_EVENT_PAUSE))
        tell_at(d, ALQ_EVENT_PAUSE, ALQ_EVENT_BEGIN, d->events.began_ns, 0, 0);
}

/* Whether the domain's histogram is of the present epoch.  Acquire: a reader
 * that finds it current finds it cleared, too. */
static bool
is_current(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->events.pauses_epoch, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(&d->heap->listeners.pauses_epoch, __ATOMIC_RELAXED);
}

/* Counts a pause.  If there was a reset since the last one, the histogram is
 * cleared first: the owner alone writes it, so a reset leaves the clearing to
 * the owner. */
static void
count(struct alqi_domain *d, uint64_t ns)
{
    uint32_t epoch =
        __atomic_load_n(&d->heap->listeners.pauses_epoch, __ATOMIC_RELAXED);

    if (!is_current(d)) {
        alqi_heap_pauses_clear(&d->events.pauses);
        __atomic_store_n(&d->events.pauses_epoch, epoch, __ATOMIC_RELEASE);
    }
    alqi_heap_pauses_add(&d->events.pauses, ns);
}

/* Ends the pause and counts it; one reading of the clock serves for all events
 * that come with it. */
void
alqi_heap_pause_end(struct alqi_domain *d)
{
    uint64_t now = alqi_plat_mono_ns_sigsafe();

    ALQI_ASSERT(d->events.began_ns != 0); /* .inv.nest: a pause has begun */
    count(d, now - d->events.began_ns);
    d->events.began_ns = 0;
    look_at_size(d, now);
    if (alqi_heap_event_is_heard(d->heap, ALQ_EVENT_PAUSE))
        tell_at(d, ALQ_EVENT_PAUSE, ALQ_EVENT_END, now, used_bytes(d->heap),
                ready_bytes(d->heap) + alqi_heap_large_bytes(d->heap));
}

void
alqi_heap_pauses_get(const struct alqi_domain *d, struct alq_pauses *out)
{
    memset(out, 0, sizeof *out);
    if (is_current(d))
        alqi_heap_pauses_merge(out, &d->events.pauses);
}

/* Pauses of all domains, ended ones too.  The lock keeps a domain that ends
 * from being counted twice, in `ended` and in its own. */
void
alqi_heap_pauses_get_all(struct alqi_heap *heap, struct alq_pauses *out)
{
    struct alqi_heap_listeners *l = &heap->listeners;
    unsigned i, n = __atomic_load_n(&heap->n_slots, __ATOMIC_ACQUIRE);

    memset(out, 0, sizeof *out);
    alqi_plat_lock(&l->lock);
    alqi_heap_pauses_merge(out, &l->ended);
    for (i = 0; i < n; i++)
        if (is_current(heap->domains[i]))
            alqi_heap_pauses_merge(out, &heap->domains[i]->events.pauses);
    alqi_plat_unlock(&l->lock);
}

/* Forgets all pauses.  Those of running domains are forgotten by the new epoch:
 * a domain that is not current counts for nothing. */
void
alqi_heap_pauses_reset(struct alqi_heap *heap)
{
    struct alqi_heap_listeners *l = &heap->listeners;

    alqi_plat_lock(&l->lock);
    memset(&l->ended, 0, sizeof l->ended);
    __atomic_fetch_add(&l->pauses_epoch, 1, __ATOMIC_RELAXED);
    alqi_plat_unlock(&l->lock);
}

/* Adds the pauses of a domain that ends to those of ended ones.  Its own are
 * cleared, since the next domain in the slot goes on with them. */
void
alqi_heap_event_state_end(struct alqi_domain *d)
{
    struct alqi_heap_listeners *l = &d->heap->listeners;

    ALQI_ASSERT(d->events.depth == 0 && d->events.entries == 0 &&
                d->events.began_ns == 0); /* .inv.nest */
    alqi_heap_event_log(d, ALQ_EVENT_DOMAIN_END, ALQ_EVENT_MOMENT, 0, 0);
    alqi_plat_lock(&l->lock);
    if (is_current(d))
        alqi_heap_pauses_merge(&l->ended, &d->events.pauses);
    alqi_heap_pauses_clear(&d->events.pauses);
    alqi_plat_unlock(&l->lock);
}

/* ---- listeners ---------------------------------------------------------- */

static struct alqi_heap_listener_slot *
find_locked(struct alqi_heap_listeners *l, const struct alq_listener *listener)
{
    unsigned i;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_EVENTS));
    for (i = 0; i < ALQ_LISTENERS_MAX; i++)
        if (l->slots[i].listener == listener)
            return &l->slots[i];
    return NULL;
}

/* A free slot, but not one that a removal still waits for: a new listener's
 * calls would keep that waiting. */
static struct alqi_heap_listener_slot *
find_free_locked(struct alqi_heap_listeners *l)
{
    unsigned i;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_EVENTS));
    for (i = 0; i < ALQ_LISTENERS_MAX; i++)
        if (l->slots[i].listener == NULL &&
            __atomic_load_n(&l->slots[i].running, __ATOMIC_ACQUIRE) == 0)
            return &l->slots[i];
    return NULL;
}

/* Sets the slot's listener, and the kinds that some listener wants.  A domain
 * that reads the old kinds sends one event too few or looks at slots in
 * vain. */
static void
set_locked(struct alqi_heap_listeners *l, struct alqi_heap_listener_slot *slot,
           const struct alq_listener *listener)
{
    uint64_t heard = 0;
    unsigned i;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_EVENTS));
    __atomic_store_n(&slot->listener, listener, __ATOMIC_SEQ_CST);
    for (i = 0; i < ALQ_LISTENERS_MAX; i++)
        if (l->slots[i].listener != NULL)
            heard |= l->slots[i].listener->kinds == 0
                         ? UINT64_MAX
                         : l->slots[i].listener->kinds;
    __atomic_store_n(&l->heard, heard, __ATOMIC_RELAXED);
}

/* Adds a listener.  ALQ_EBUSY: it is there already, no slot is free, or the
 * caller is in a listener. */
enum alq_status
alqi_heap_listener_add(struct alqi_heap *heap,
                       const struct alq_listener *listener)
{
    struct alqi_heap_listeners *l = &heap->listeners;
    struct alqi_heap_listener_slot *slot;
    enum alq_status status = ALQ_EBUSY;

    if (is_telling)
        return ALQ_EBUSY;
    alqi_plat_lock(&l->lock);
    slot = find_free_locked(l);
    if (slot != NULL && find_locked(l, listener) == NULL) {
        set_locked(l, slot, listener);
        status = ALQ_OK;
    }
    alqi_plat_unlock(&l->lock);
    return status;
}

/* Removes a listener, which is not running any more when this returns.  The
 * lock is not held while it waits: the listener may run for long. */
enum alq_status
alqi_heap_listener_remove(struct alqi_heap *heap,
                          const struct alq_listener *listener)
{
    struct alqi_heap_listeners *l = &heap->listeners;
    struct alqi_heap_listener_slot *slot;

    if (is_telling)
        return ALQ_EBUSY;
    alqi_plat_lock(&l->lock);
    slot = find_locked(l, listener);
    if (slot != NULL)
        set_locked(l, slot, NULL);
    alqi_plat_unlock(&l->lock);
    if (slot == NULL)
        return ALQ_EINVAL;
    while (__atomic_load_n(&slot->running, __ATOMIC_SEQ_CST) != 0)
        sched_yield();
    return ALQ_OK;
}
