/* stop.h -- work that needs the world stopped              [doc/design/heap.md]
 *
 * A stop goes through steps.  A step's work is cut into shares, one a domain
 * and one for what is the heap's own; participants claim them.  A participant
 * is a domain whose thread has arrived: `self`.
 *
 * .inv.stop   While a step runs no domain is RUN.
 * .inv.share  Each share of a step is done once, by who claimed it; in it that
 *             participant holds the domain's data (.inv.own). */
#ifndef ALQI_HEAP_STOP_H
#define ALQI_HEAP_STOP_H

#include "heap/state.h"

struct alqi_heap_stop_work {
    /* Once for each domain that is not vacant, and once with of = NULL for what
     * is the heap's own.  May be NULL. */
    void (*share)(struct alqi_domain *self, struct alqi_domain *of);
    /* Once by each participant that may take shares, when none is left to
     * claim.  May be NULL. */
    void (*each)(struct alqi_domain *self);
    /* By one, when all are through; returns the next step, NULL: it is over. */
    const struct alqi_heap_stop_work *(*last)(struct alqi_domain *self);
    /* Only the leader takes shares. */
    bool alone;
};

/* Stops the world and goes through the steps.  false: not run, as somebody
 * else stopped it or starts a domain; if it was a stop, this domain took part.
 * The caller looks whether its reason still stands, and asks again. */
bool alqi_heap_stop_try(struct alqi_domain *d,
                        const struct alqi_heap_stop_work *first);

#endif
