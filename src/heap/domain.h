/* domain.h -- domains begin and end, and with the first and last one the heap
 *
 * The process has one heap at a time.
 *
 * .inv.users  The heap lives while it has users: its domains, and those about
 * to start. */
#ifndef ALQI_HEAP_DOMAIN_H
#define ALQI_HEAP_DOMAIN_H

#include "heap/state.h"

/* Whether all members are within their ranges. */
bool alqi_heap_domain_is_config(const struct alq_domain_config *c);

/* A domain, of a config whose members are within their ranges; the heap's
 * members count with the first one.  `by` is the domain that the calling thread
 * runs.  NULL: it runs none, and this one from now on.  Else the new one is
 * BLOCKING, and the first thread of d->threads may enter it.
 *
 * ALQ_EBUSY: domains_max is reached.  ALQ_ENOMEM.  ALQ_ESTATE: the process was
 * forked without the threads of its domains. */
enum alq_status alqi_heap_domain_start(const struct alq_domain_config *c,
                                       struct alqi_domain *by,
                                       struct alqi_domain **out);

/* Whether the heap has a slot for one more, as far as others leave it. */
bool alqi_heap_domain_has_slot(const struct alqi_heap *heap);

/* Whether the domain is the heap's only one, and none is about to start. */
bool alqi_heap_domain_is_last(const struct alqi_domain *d);

/* Ends the domain that the calling thread runs as its only thread.  Its young
 * blocks are promoted or die; the old ones are left to other domains.  If the
 * heap is lost, also by a fork in a finaliser of this end, the domain stays as
 * it is: .inv.fork, domain_lost.h. */
void alqi_heap_domain_end(struct alqi_domain *d);

/* fork(2); ALQ_EBUSY unless the caller runs the only domain and is its only
 * thread.  ALQ_ENOMEM: the system refuses. */
enum alq_status alqi_heap_domain_fork(struct alqi_domain *d, int *pid);

#endif
