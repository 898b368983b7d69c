/* limiter.h -- limits joined to the managed heap         [doc/design/limit.md]
 */
#ifndef ALQI_GLUE_JOIN_LIMITER_H
#define ALQI_GLUE_JOIN_LIMITER_H

#include "glue/join/limited.h"

/* The thread that runs d has limits from now on; requires that none is open
 * there. */
void alqi_glue_limiter_start(struct alqi_glue_limiter *l,
                             struct alqi_domain *d);
/* The thread of *l has no limits from now on; requires that no frame of it is
 * open. */
void alqi_glue_limiter_end(struct alqi_glue_limiter *l);

#endif
