/* malloc.c -- <aliquot/malloc_limit.h>: limits on tasks of malloc
 *
 * The preload counts; without one there are no such limits. The calls go
 * through its table of functions (join/preload.h). */
#include <aliquot/malloc_limit.h>

#include "base/base.h"
#include "glue/join/malloc_limiter.h"

/* May be left by longjmp, if a limit is reached: nothing is held across the
 * poll. */
ALQI_GLUE_LEAVABLE enum alq_status
alq_malloc_poll(void)
{
    const struct alqi_glue_malloc_limiter *l = alqi_glue_malloc_limiter_of();
    enum alq_status status = ALQ_OK;

    if (l != NULL)
        status = l->api->limit_trigger_poll();
    return status;
}

/* The first call starts the count of live bytes, which goes on until the
 * process ends. */
enum alq_status
alq_malloc_live_bytes(uint64_t *bytes)
{
    const struct alqi_preload_api *api;
    enum alq_status status;

    if (bytes == NULL)
        return ALQ_EINVAL;
    api = alqi_glue_preload();
    if (api == NULL)
        return ALQ_ENOHEAP;
    status = api->live_start(1.0 / ALQ_LIMIT_INTERVAL_WORDS);
    if (status == ALQ_OK)
        *bytes = api->live_bytes();
    return status;
}

int
alq_malloc_is_interrupted(void)
{
    const struct alqi_glue_malloc_limiter *l = alqi_glue_malloc_limiter_of();

    return l != NULL && l->t.is_interrupted;
}
