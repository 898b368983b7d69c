/* verify.h -- walks the heap and stops the program at what cannot be
 *
 * In a stop, by one thread: all domains.
 * In dbg builds each time; in hard ones, which collect all the time, as often
 * as CREDIT_WORDS a collection pay for, and with V=1 in ALIQUOTPARAM each time;
 * in others with V=1 at the end of each cycle. */
#ifndef ALQI_HEAP_VERIFY_H
#define ALQI_HEAP_VERIFY_H

#include "heap/state.h"

enum alqi_heap_verify_what {
    ALQI_HEAP_VERIFY_ANY,        /* what holds at any moment */
    ALQI_HEAP_VERIFY_REMEMBERED, /* and .inv.remember        */
    ALQI_HEAP_VERIFY_MARKED /* and marked blocks lead to marked ones only */
};

void alqi_heap_verify_slow_stw(struct alqi_domain *d,
                               enum alqi_heap_verify_what what);

static inline void
alqi_heap_verify_stw(struct alqi_domain *d, enum alqi_heap_verify_what what)
{
    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    if (ALQI_CHECKS >= 2 ||
        (what == ALQI_HEAP_VERIFY_MARKED && d->heap->tuning.verify != 0))
        alqi_heap_verify_slow_stw(d, what);
}

#endif
