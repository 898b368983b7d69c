/* domain_lost.c -- a heap in a forked child that lacks threads of its domains
 *
 *   heap:  whole -> lost, by a plain fork(): after_fork_child of domain.c
 *
 * A lost heap stays lost.  Its values may be read; the child may end in any
 * way.  A fork within a stop is another matter: the child's thread is about to
 * return into a step whose other participants are missing, with half of the
 * blocks moved.  Neither can the step end nor can the stop be left, so the
 * child is aborted where the program's function returns.
 *
 * Keeps .inv.fork: No participant waits for threads that a fork left
 * behind. */
#include <stdlib.h>
#include <unistd.h>

#include "heap/domain_lost.h"
#include "heap/log.h"

enum alq_status
alqi_heap_lost_status(struct alqi_heap *heap)
{
    if (!heap->life.has_said_lost)
        alqi_heap_log_slow("process %ld was forked without the threads of its "
                           "other domains: what allocates in the managed heap "
                           "fails (alq_fork)",
                           (long)getpid());
    heap->life.has_said_lost = true;
    return ALQ_ESTATE;
}

/* A leader that is alone in its stop goes on: it has the domains of the missing
 * threads as their taker. */
void
alqi_heap_lost_returned(const struct alqi_domain *self)
{
    if (__atomic_load_n(&self->state, __ATOMIC_RELAXED) != ALQI_HEAP_PARKED ||
        self->heap->stop.n_inside == 1)
        return;
    alqi_heap_log_slow("process %ld was forked within a collection of several "
                       "domains, and has returned into it: it cannot go on",
                       (long)getpid());
    abort();
}
