/* limit.c -- <aliquot/limit.h>: the planner
 *
 * The planner is arithmetic of src/limit/plan.h without state; these calls give
 * it public names. */
#include <aliquot/limit.h>

#include "limit/account.h"
#include "limit/plan.h"

double
alq_limit_miss(uint64_t words, uint64_t interval_words)
{
    return alqi_limit_miss(words, interval_words);
}

double
alq_limit_reached(uint64_t words, uint64_t limit_words, uint64_t interval_words)
{
    return alqi_limit_reached(words, limit_words, interval_words);
}

uint64_t
alq_limit_safe_words(uint64_t limit_words, uint64_t interval_words,
                     double probability)
{
    return alqi_limit_safe_words(limit_words, interval_words, probability);
}

uint64_t
alq_limit_stop_words(uint64_t limit_words, uint64_t interval_words,
                     double probability)
{
    return alqi_limit_stop_words(limit_words, interval_words, probability);
}

uint64_t
alq_limit_live_interval(uint64_t live_words)
{
    return alqi_limit_live_interval(live_words);
}

uint64_t
alq_limit_for(uint64_t task_words, uint64_t interval_words, double probability)
{
    return alqi_limit_for(task_words, interval_words, probability);
}
