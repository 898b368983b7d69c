/* event_state.h -- listeners, pauses and the census: the heap's and a domain's
 *
 * .inv.slot  A listener's function is called only between ++running and
 *            --running of its slot, which looks at the listener in between.
 *            So it is not running once its slot was cleared and `running` is
 *            then 0.
 * .pair.listener  tell_slot(): `running`, then the listener ->
 *            alqi_heap_listener_remove(): the listener, then `running`.
 *            Sequentially consistent, so one of the two sees the other.
 * .pair.pauses  count() (release) -> is_current() (acquire): the histogram of
 *            this epoch is cleared. */
#ifndef ALQI_HEAP_EVENT_STATE_H
#define ALQI_HEAP_EVENT_STATE_H

#include <aliquot/observe.h>

#include "plat/plat.h"

struct alqi_heap_census;

struct alqi_heap_listener_slot {
    const struct alq_listener *listener; /* atomic; NULL: free;
                                          * .pair.listener */
    uint32_t running;                    /* atomic: calls under way, by any
                                          * domain: .pair.listener */
};

/* The heap's. */
struct alqi_heap_listeners {
    uint64_t heard; /* atomic: a bit for each kind that some listener wants */
    struct alqi_plat_lock lock; /* to change slots, and `ended` */
    struct alqi_heap_listener_slot slots[ALQ_LISTENERS_MAX];
    uint64_t ready_bytes;            /* atomic: of pools, when last looked at */
    uint64_t n_cycles;               /* of these, what is written in stops */
    uint64_t marked_before;          /* words, when marking began */
    uint64_t promoted_before;        /* words, when the minor collection did */
    struct alqi_heap_census *census; /* while one is taken */
    uint32_t pauses_epoch;           /* atomic: how often they were reset */
    struct alq_pauses ended;         /* of domains that are gone */
};

/* A domain's. */
struct alqi_heap_event_state {
    unsigned depth;        /* events that have begun and not ended */
    unsigned entries;      /* calls under way that may enter the collector */
    uint64_t began_ns;     /* when the pause began; 0: the program runs */
    uint32_t pauses_epoch; /* atomic: of what `pauses` counts: .pair.pauses */
    struct alq_pauses pauses;
    struct alqi_heap_census *census; /* that this domain takes */
};

#endif
