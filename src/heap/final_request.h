/* final_request.h -- asks for the calls that are due [heap/final_run.h] */
#ifndef ALQI_HEAP_FINAL_REQUEST_H
#define ALQI_HEAP_FINAL_REQUEST_H

#include "heap/alloc_limit.h"

/* Something has become due.  While a call runs that has not released, the loop
 * that called it sees to it. */
static inline void
alqi_heap_final_request(struct alqi_domain *d)
{
    if (d->weak_phase.caller != NULL)
        return;
    d->weak_phase.want_calls = true;
    alqi_heap_alloc_limit_raise(d);
}

#endif
