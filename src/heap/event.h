/* event.h -- events, and the listeners that are called    [aliquot/observe.h]
 *
 * The collector calls alqi_heap_event_begin and _end around each thing that
 * happens; they nest in a domain.  The outermost pair makes a pause.  A call
 * that may enter the collector more than once has alqi_heap_entry_begin and
 * _end around it: then it is one pause, and none if it never does.
 *
 * .inv.pause  The clock is read twice a pause, once more for each event that
 *             has a listener, and not otherwise.
 * .inv.nest   Events and entries of a domain end in the reverse order of their
 *             begins.  `depth` and `entries` are 0 while the program runs, and
 *             began_ns is 0 just then. */
#ifndef ALQI_HEAP_EVENT_H
#define ALQI_HEAP_EVENT_H

#include "heap/state.h"

/* alqi_heap_event_*: the slow parts */
void alqi_heap_pause_begin(struct alqi_domain *d);
void alqi_heap_pause_end(struct alqi_domain *d);
void alqi_heap_event_notify(struct alqi_domain *d, enum alq_event_kind kind,
                            enum alq_event_point point, uint64_t a, uint64_t b);

static inline bool
alqi_heap_event_is_heard(const struct alqi_heap *heap, enum alq_event_kind kind)
{
    uint64_t kinds = __atomic_load_n(&heap->listeners.heard, __ATOMIC_RELAXED);

    return ALQI_UNLIKELY(kinds >> kind & 1);
}

static inline void
alqi_heap_event_begin(struct alqi_domain *d, enum alq_event_kind kind,
                      uint64_t a, uint64_t b)
{
    if (d->events.depth++ == 0 && d->events.began_ns == 0)
        alqi_heap_pause_begin(d);
    if (alqi_heap_event_is_heard(d->heap, kind))
        alqi_heap_event_notify(d, kind, ALQ_EVENT_BEGIN, a, b);
}

static inline void
alqi_heap_event_end(struct alqi_domain *d, enum alq_event_kind kind, uint64_t a,
                    uint64_t b)
{
    ALQI_ASSERT(d->events.depth > 0); /* .inv.nest */
    if (alqi_heap_event_is_heard(d->heap, kind))
        alqi_heap_event_notify(d, kind, ALQ_EVENT_END, a, b);
    if (--d->events.depth == 0 && d->events.entries == 0)
        alqi_heap_pause_end(d);
}

/* What is no pause: a moment, or user functions that run between pauses.  These
 * must nest with the entries, too. */
static inline void
alqi_heap_event_log(struct alqi_domain *d, enum alq_event_kind kind,
                    enum alq_event_point point, uint64_t a, uint64_t b)
{
    if (alqi_heap_event_is_heard(d->heap, kind))
        alqi_heap_event_notify(d, kind, point, a, b);
}

static inline void
alqi_heap_entry_begin(struct alqi_domain *d)
{
    d->events.entries++;
}

static inline void
alqi_heap_entry_end(struct alqi_domain *d)
{
    ALQI_ASSERT(d->events.entries > 0); /* .inv.nest */
    if (--d->events.entries == 0 && d->events.depth == 0 &&
        d->events.began_ns != 0)
        alqi_heap_pause_end(d);
}

/* In the collector: what it calls there (listeners, scanners, the finalisers of
 * custom blocks) must not call the heap. */
static inline bool
alqi_heap_event_is_inside(const struct alqi_domain *d)
{
    return d->events.depth > 0;
}

/* By one thread at a time: the phase is about to change; what weak
 * references lead to is looked for (weak_phase.h), until that is over; a minor
 * collection, an event of the leader's, by whoever is there. */
void alqi_heap_event_phase_stw(struct alqi_heap *heap,
                               enum alqi_heap_phase next);
void alqi_heap_event_weak_phase_begin_stw(struct alqi_heap *heap);
void alqi_heap_event_weak_phase_end_stw(struct alqi_heap *heap,
                                        uint64_t n_emptied);
void alqi_heap_event_minor_begin_stw(struct alqi_domain *leader);
void alqi_heap_event_minor_end_stw(struct alqi_heap *heap);
/* By a domain alone; what the first one returns is for the second. */
uint64_t alqi_heap_event_minor_local_begin(struct alqi_domain *d);
void alqi_heap_event_minor_local_end(struct alqi_domain *d,
                                     uint64_t promoted_before);

/* A domain ends: its pauses become the heap's.  The heap ends. */
void alqi_heap_event_state_end(struct alqi_domain *d);
void alqi_heap_event_heap_end(struct alqi_heap *heap);

/* As the calls of <aliquot/observe.h>, whose arguments are checked by then. */
enum alq_status alqi_heap_listener_add(struct alqi_heap *heap,
                                       const struct alq_listener *listener);
enum alq_status alqi_heap_listener_remove(struct alqi_heap *heap,
                                          const struct alq_listener *listener);
void alqi_heap_pauses_get(const struct alqi_domain *d, struct alq_pauses *out);
void alqi_heap_pauses_get_all(struct alqi_heap *heap, struct alq_pauses *out);
void alqi_heap_pauses_reset(struct alqi_heap *heap);

#endif
