/* limited.h -- a thread of the heap that has limits
 *
 * The state of its limits is the thread's; the heap has it as the argument of
 * the thread's limit trigger while a frame is open. */
#ifndef ALQI_GLUE_JOIN_LIMITED_H
#define ALQI_GLUE_JOIN_LIMITED_H

#include "heap/state.h"
#include "limit/limit.h"

struct alqi_glue_limiter {
    struct alqi_limit_thread t; /* first: limit's pointer is ours */
    /* the one that it runs, or ran last */
    struct alqi_domain *d;
    uint64_t offset; /* thread's words = the domain's position + this, modulo */
    uint64_t words;  /* of the thread, while it does not run the domain       */
};

/* The limiter of the thread that runs d; NULL: no frame is open. */
static inline struct alqi_glue_limiter *
alqi_glue_limiter_of(const struct alqi_domain *d)
{
    return d->limit_trigger.arg;
}

#endif
