/* minor_remember.h -- the remembered set: major fields that hold young values
 *
 * .inv.remember  Each such field is in the set of some domain, or that set is
 *                lost: then the whole major heap is read. */
#ifndef ALQI_HEAP_MINOR_REMEMBER_H
#define ALQI_HEAP_MINOR_REMEMBER_H

#include "heap/minor_escape.h"
#include "heap/state.h"

/* Adds the field to a full set, which grows or is lost. */
void alqi_heap_remember_slow(struct alqi_domain *d,
                             struct alqi_heap_remembered *r,
                             alqi_heap_word *field);
/* The set has `enough` fields: requests a minor collection. */
void alqi_heap_remember_enough(struct alqi_domain *d);

/* Adds the field to a set that asks for no collection: not the domain's own. */
static inline void
alqi_heap_remember_in(struct alqi_domain *d, struct alqi_heap_remembered *r,
                      alqi_heap_word *field)
{
    if (ALQI_UNLIKELY(r->n == r->size))
        alqi_heap_remember_slow(d, r, field);
    else
        r->fields[r->n++] = field;
}

/* Adds the field to the domain's set.  The field holds no young value, and is
 * about to get one.  Inline: programs that store into old blocks do little
 * else. */
static inline void
alqi_heap_remember(struct alqi_domain *d, alqi_heap_word *field)
{
    struct alqi_heap_remembered *r = &d->remembered;

    /* .inv.remember: the field is of the major heap. */
    ALQI_DEBUG((uintptr_t)field - d->pub.young_base >= d->pub.young_bytes);
    alqi_heap_escape(d->heap);
    alqi_heap_remember_in(d, r, field);
    if (ALQI_UNLIKELY(r->n >= r->enough))
        alqi_heap_remember_enough(d);
}

/* The next minor collection reads the whole heap instead. */
void alqi_heap_remember_lose(struct alqi_domain *d,
                             struct alqi_heap_remembered *r);

/* Nothing is young any more, but what is pinned: pin.h. */
void alqi_heap_remember_clear(struct alqi_domain *d);
void alqi_heap_remember_drop(struct alqi_domain *d);

#endif
