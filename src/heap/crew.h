/* crew.h -- the participants of a minor collection: work for the idle, the end
 *
 * Who copies scans the copies; who has none left takes filled spans that others
 * gave away, and waits for some as long as anybody is at work.  When all are
 * idle nothing is left: then the round is over, for all at once.
 *
 * Remembered fields are put there in spans of their addresses.
 *
 * .inv.bag  The bag never is full when a participant gives spans of blocks: it
 *           has a place for each block of all minor heaps, and PLACES more,
 *           since those of fields are put in only while it has fewer than
 *           OFFERS_MAX spans; each participant may put in one beyond, and give
 *           GET_MAX back. */
#ifndef ALQI_HEAP_CREW_H
#define ALQI_HEAP_CREW_H

#include "heap/bag.h"

enum {
    ALQI_HEAP_CREW_OFFERS_MAX = 1024,
    ALQI_HEAP_CREW_GET_MAX = 16,
    ALQI_HEAP_CREW_PLACES = 4096
};

struct alqi_heap_crew {
    struct alqi_heap_bag bag;
    unsigned n;               /* participants; set before they begin      */
    _Atomic(unsigned) n_idle; /* changed under the bag's lock */
    _Atomic(unsigned) round;  /* counts the ends */
};

/* Whether others may look at the headers of young blocks, too. */
static inline bool
alqi_heap_crew_is_shared(const struct alqi_heap_crew *crew)
{
    return crew->n > 1;
}

static inline bool
alqi_heap_crew_is_hungry(const struct alqi_heap_crew *crew)
{
    return atomic_load_explicit(&crew->n_idle, memory_order_relaxed) >
           alqi_heap_bag_n(&crew->bag);
}

/* The caller has nothing left: spans of others, at most n_max, or 0 when all
 * have nothing left.  Each participant calls it until it returns 0. */
size_t alqi_heap_crew_get(struct alqi_heap_crew *crew,
                          struct alqi_heap_span *out, size_t n_max);

#endif
