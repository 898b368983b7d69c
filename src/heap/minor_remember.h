/* minor_remember.h -- the remembered set: major fields that hold young values
 *
 * .inv.remember  Each such field is in the set of some domain, or that set is
 *                lost: then the whole major heap is read. */
#ifndef ALQI_HEAP_MINOR_REMEMBER_H
#define ALQI_HEAP_MINOR_REMEMBER_H

#include "heap/state.h"

/* Adds the field to the domain's set.  The field holds no young value, and is
 * about to get one. */
void alqi_heap_remember(struct alqi_domain *d, alqi_heap_word *field);

/* In a set that is not the domain's own, which asks for no collection. */
void alqi_heap_remember_in(struct alqi_domain *d,
                           struct alqi_heap_remembered *r,
                           alqi_heap_word *field);
/* The next minor collection reads the whole heap instead. */
void alqi_heap_remember_lose(struct alqi_domain *d,
                             struct alqi_heap_remembered *r);

/* Nothing is young any more, but what is pinned: pin.h. */
void alqi_heap_remember_clear(struct alqi_domain *d);
void alqi_heap_remember_drop(struct alqi_domain *d);

#endif
