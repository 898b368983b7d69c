/* domain_spawn.h -- a domain on a thread of its own, with an argument and a
 * result */
#ifndef ALQI_HEAP_DOMAIN_SPAWN_H
#define ALQI_HEAP_DOMAIN_SPAWN_H

#include <aliquot/domain.h>

#include "heap/state.h"

/* As alq_domain_spawn; `by` is the domain that the calling thread runs. */
enum alq_status alqi_heap_spawn(struct alqi_domain *by, alq_domain_fn *fn,
                                alq_value arg, void *data,
                                const struct alq_domain_config *config,
                                struct alq_child **out);

/* Ends a domain that was started by `by`, and got no thread. */
void alqi_heap_spawn_undo(struct alqi_domain *by, struct alqi_domain *d);

/* Waits until the child has ended, outside of `by`, then *result is its
 * function's; ALQ_ESTATE: `by` is the child. */
enum alq_status alqi_heap_join(struct alqi_domain *by, struct alq_child *child,
                               alq_value *result);

/* Lets the child go, whether it has ended or not.  The struct, and the result's
 * root in it, go when the child's thread is done with it, too. */
void alqi_heap_child_drop(struct alq_child *child);

#endif
