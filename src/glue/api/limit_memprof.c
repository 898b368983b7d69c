/* limit_memprof.c -- <aliquot/limit.h>: profiles beside limits
 *
 * .inv.interval  The interval is an integer that is kept, and the rate is made
 *                of it: recovered from 1 / rate it would lose one for hundreds
 *                of intervals. */
#include <aliquot/limit.h>

#include "base/base.h"

/* 1 / rate, rounded; 0: rate is refused. */
static uint64_t
interval_of(double rate)
{
    if (!(rate >= 1.0 / ALQ_LIMIT_INTERVAL_WORDS && rate <= 1))
        return 0;
    return (uint64_t)(1 / rate + 0.5);
}

/* *interval_words is set only if the profile was started. */
enum alq_status
alq_limit_memprof_start(struct alq_domain *d,
                        const struct alq_memprof_config *config,
                        const struct alq_tracker *tracker,
                        struct alq_profile **out, uint64_t *interval_words)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    uint64_t interval;
    enum alq_status status;

    if (config != NULL)
        c = *config;
    interval = interval_of(c.rate);
    if (interval == 0 || (c.flags & ALQ_MEMPROF_BESIDE) != 0)
        return ALQ_EINVAL;
    c.rate = 1.0 / (double)interval;
    c.flags |= ALQ_MEMPROF_STRICT;
    status = alq_memprof_start(d, &c, tracker, out);
    if (status == ALQ_OK && interval_words != NULL)
        *interval_words = interval;
    return status;
}

enum alq_status
alq_limit_memprof_stop(struct alq_domain *d)
{
    return alq_memprof_stop(d);
}

enum alq_status
alq_limit_memprof_discard(struct alq_profile *profile)
{
    return alq_memprof_discard(profile);
}
