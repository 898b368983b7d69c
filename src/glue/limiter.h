/* limiter.h -- limits joined to the managed heap         [doc/design/limit.md]
 */
#ifndef ALQI_GLUE_LIMITER_H
#define ALQI_GLUE_LIMITER_H

#include "glue/limited.h"

/* What the sampler's callback fails with when the thread is to be stopped. */
enum { ALQI_GLUE_LIMITER_CODE = INT32_MIN };

/* Samples of this domain count for limits from now on; unless it is 0, they
 * begin anew from this seed. */
enum alq_status alqi_glue_limiter_sample(struct alqi_domain *d, uint64_t seed);

/* Whether the thread that runs d may allocate, as its fence asks. */
enum alq_status alqi_glue_limiter_permit(struct alqi_domain *d, uint64_t words);

/* The thread that runs d has limits from now on, and no longer. */
void alqi_glue_limiter_start(struct alqi_glue_limiter *l,
                             struct alqi_domain *d);
void alqi_glue_limiter_end(struct alqi_glue_limiter *l);

#endif
