/* state.h -- the heap and a domain, each a struct of the parts that its files
 * describe                                               [doc/design/heap.md]
 *
 * What one idea needs stands in NAME_state.h beside NAME.c: there each field
 * has its meaning, its unit, its writer.  Where no other writer is named, a
 * domain's data are its holder's (.inv.own), and the heap's change in stops.
 *
 * .pair.slots  slot_find_locked() (release) -> slot_vacant() and others that
 *              go through the slots without the lock (acquire): the slot's
 *              domain.
 */
#ifndef ALQI_HEAP_STATE_H
#define ALQI_HEAP_STATE_H

#include <aliquot/gc.h>
#include <aliquot/heap.h>
#include <aliquot/root.h>

#include "base/base.h"
#include "heap/domain_state.h"
#include "heap/event_state.h"
#include "heap/hosted.h"
#include "heap/large_state.h"
#include "heap/layout.h"
#include "heap/limit_trigger.h"
#include "heap/major_state.h"
#include "heap/minor_state.h"
#include "heap/observe.h"
#include "heap/param_state.h"
#include "heap/pin_state.h"
#include "heap/pool_state.h"
#include "heap/root_state.h"
#include "heap/stat_state.h"
#include "heap/stop_state.h"
#include "heap/weak_state.h"
#include "plat/plat.h"

struct alqi_heap {
    struct alqi_heap_area area;
    struct alqi_heap_stop stop;
    struct alqi_domain *domains[ALQI_HEAP_DOMAINS_MAX]; /* a slot each; the
                                          struct stays until the heap ends */
    unsigned n_slots;     /* atomic; slots that were ever in use: .pair.slots */
    unsigned domains_max; /* domains; more are refused */
    struct alqi_heap_life life;
    struct alqi_heap_orphan *orphans; /* atomic: what ended domains have left:
                                       * .pair.orphans */
    struct alqi_heap_young_common young;
    struct alqi_heap_large_common large;
    struct alqi_heap_pins pins;
    struct alqi_heap_stacks stacks;
    struct alqi_heap_roots_common roots;
    struct alqi_heap_cycle cycle;
    struct alqi_heap_balance balance;
    struct alqi_heap_pace_common pace;
    struct alqi_heap_compact compact;
    struct alqi_heap_weak_phase_common weak_phase;
    struct alqi_heap_tuning tuning;
    struct alqi_heap_bound bound;
    struct alqi_heap_totals totals;
    struct alqi_heap_listeners listeners;
    struct alqi_heap_observer observer;
};

struct alqi_domain {
    struct alq_domain pub; /* first: the program's pointer is to it */
    struct alqi_heap *heap;
    unsigned slot; /* index in heap->domains */
    uint64_t id;   /* number of the domain in the process */

    /* Other threads write these, too. */
    uint32_t state;   /* atomic, a futex: enum alqi_heap_domain_state;
                       * .pair.state */
    uint32_t claimed; /* atomic; 1: its share of the step is claimed;
                       * .pair.alone */
    struct alqi_heap_requests requests;
    bool is_used; /* atomic: by a heap; else the next one may use it:
                   * .pair.ever */
    struct alqi_domain *next_ever; /* of all structs of the process: domain.c */
    bool done; /* with its work of this phase: .inv.todo; others read it */
    struct alqi_heap_event_state events;

    struct alqi_heap_threads threads;
    struct alqi_heap_orphan *orphan; /* memory for its end, made at its start */
    void *stop_arg;                  /* of a stop that it leads */

    struct alqi_heap_minor_sizes sizes;
    struct alqi_heap_young young;
    struct alqi_heap_ambiguous ambiguous;
    struct alqi_heap_copy copy;
    struct alqi_heap_own own;
    struct alqi_heap_remembered remembered;
    struct alqi_heap_remembered stays; /* during a collection: fields that hold
                                        * retained blocks */
    struct alqi_heap_customs customs;
    uint64_t n_points; /* hard: calls so far that may collect */

    uintptr_t alloc_colour; /* of blocks that are born old, in place */
    struct alqi_heap_sweeper sweep;
    struct alqi_heap_large_lists large;
    struct alqi_heap_marker marker;
    struct alqi_heap_moves moves;
    struct alqi_heap_roots roots;
    struct alqi_heap_weak_phase weak_phase;
    struct alqi_heap_pace pace;

    struct alqi_heap_sums sums;    /* counters, up to date for the holder */
    struct alqi_heap_sums at_stop; /* as of the last stop */
    struct alqi_heap_observed observed;
    struct alqi_heap_limit_trigger limit_trigger;
};

/* The one that the calling thread runs; domain_thread.h reads it. */
extern __thread struct alqi_domain *alqi_heap_thread_current
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline struct alqi_domain *
alqi_heap_domain(struct alq_domain *d)
{
    return (struct alqi_domain *)d;
}

/* Whether the slot has a domain.  In a stop, too, a state may change: from
 * HELD to HELD_WANTED, by a thread that comes back. */
static inline bool
alqi_heap_is_there(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->state, __ATOMIC_RELAXED) != ALQI_HEAP_VACANT;
}

/* The domain that is there of the slots from *i on, which goes behind it; NULL:
 * there is none. */
static inline struct alqi_domain *
alqi_heap_next_there(const struct alqi_heap *heap, unsigned *i)
{
    while (*i < heap->n_slots) {
        struct alqi_domain *d = heap->domains[(*i)++];

        if (alqi_heap_is_there(d))
            return d;
    }
    return NULL;
}

/* Whether the caller takes part in a stop whose domains all stand still
 * (.inv.stop), or the heap has no user any more: what a function requires whose
 * name ends in _stw.  The holder of the lock of stops who starts a domain
 * requests no stop. */
static inline bool
alqi_heap_is_stopped(const struct alqi_heap *heap)
{
    return (alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP) &&
            __atomic_load_n(&heap->stop.request, __ATOMIC_RELAXED) != 0) ||
           heap->life.n_users == 0;
}

/* No thread runs the domain, and a program that uses it is stopped:
 * .inv.quiet (glue/api/rule.h). */
static inline bool
alqi_heap_is_quiet(const struct alqi_domain *d)
{
    return ALQI_CHECKS >= 1 && !ALQI_HOSTS_OCAML && d->threads.running == NULL;
}

/* Counts one more, in a stop; a thread that has no domain may read the number
 * at any time. */
static inline void
alqi_heap_tick(uint64_t *n)
{
    __atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
}

/* Marking looks at headers and fields while others mark or store.  That a
 * block's words are read after the pointer to it follows from the address;
 * acquire costs nothing on x86, and says so to the thread sanitizer. */
#if defined(__x86_64__) || defined(__SANITIZE_THREAD__)
#define ALQI_HEAP_DEPENDS __ATOMIC_ACQUIRE
#else
#define ALQI_HEAP_DEPENDS __ATOMIC_RELAXED
#endif

static inline uintptr_t
alqi_heap_header(alq_value block)
{
    return __atomic_load_n((const alqi_heap_word *)block - 1, __ATOMIC_RELAXED);
}

static inline bool
alqi_heap_is_young(const struct alqi_domain *d, alq_value v)
{
    return alq_is_young(&d->pub, v);
}

static inline bool
alqi_heap_is_scannable(uintptr_t header)
{
    return (header & 0xFF) < ALQ_TAG_NO_SCAN;
}

/* With its header. */
static inline size_t
alqi_heap_words(uintptr_t header)
{
    return (header >> ALQ_WOSIZE_SHIFT) + 1;
}

/* Ends a forked child that cannot go on with the stop that it was forked in
 * (domain_lost.h).  Requires that the heap is lost. */
void alqi_heap_lost_returned(const struct alqi_domain *self);

/* Behind each function of the program that the collector may call in a stop. */
static inline void
alqi_heap_program_returned(void)
{
    const struct alqi_domain *self = alqi_heap_thread_current;

    if (ALQI_UNLIKELY(self != NULL && self->heap->life.is_lost))
        alqi_heap_lost_returned(self);
}

/* Whether the heap has had one domain alone, up to now: no other has marked,
 * swept or allocated. */
static inline bool
alqi_heap_has_one_domain(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->n_slots, __ATOMIC_RELAXED) == 1;
}

/* A block that the collector may find dead: its memory is given back. */
static inline void
alqi_heap_finalise(alq_value block, uintptr_t header)
{
    const struct alq_custom_ops *ops;

    if ((header & 0xFF) != ALQ_TAG_CUSTOM)
        return;
    ops = (const struct alq_custom_ops *)((const alqi_heap_word *)block)[0];
    if (ops->finalise == NULL)
        return;
    ops->finalise(block);
    alqi_heap_program_returned();
}

#endif
