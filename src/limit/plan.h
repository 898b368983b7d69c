/* plan.h -- <aliquot/limit.h>'s planner, for those who do not link the library
 *
 * The same calls with the library's inner names; see there. */
#ifndef ALQI_LIMIT_PLAN_H
#define ALQI_LIMIT_PLAN_H

#include <stdint.h>

double alqi_limit_miss(uint64_t words, uint64_t interval_words);
double alqi_limit_reached(uint64_t words, uint64_t limit_words,
                          uint64_t interval_words);
uint64_t alqi_limit_safe_words(uint64_t limit_words, uint64_t interval_words,
                               double probability);
uint64_t alqi_limit_stop_words(uint64_t limit_words, uint64_t interval_words,
                               double probability);
uint64_t alqi_limit_for(uint64_t task_words, uint64_t interval_words,
                        double probability);

/* The sample that reaches a limit: ceil(limit / interval), 1 at least. */
uint64_t alqi_limit_samples(uint64_t limit_words, uint64_t interval_words);

#endif
