/* ask.h -- asks for the calls that are due                   [heap/calls.h] */
#ifndef ALQI_HEAP_ASK_H
#define ALQI_HEAP_ASK_H

#include "heap/limit.h"

/* Something has become due.  While a call runs that has not released, the loop
 * that called it sees to it. */
static inline void
alqi_heap_ask(struct alqi_domain *d)
{
    if (d->live.running)
        return;
    d->live.want_calls = true;
    alqi_heap_limit_raise(d);
}

#endif
