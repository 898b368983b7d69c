/* limits_row.c -- a limit and what it promises, for text, JSON and drawing
 * alike
 *
 * limits.c asks, limits_json.c and limits_plot.c answer; what the three share
 * stands here and has no state. */
#include "cli/report/limits.h"
#include "limit/plan.h"

const double alqi_cli_limits_targets[] = {1e-9, 4e-15, 1e-50};
const char *const alqi_cli_limits_chances[] = {"1e-9", "4e-15", "1e-50"};

struct alqi_cli_limits_row
alqi_cli_limits_row(uint64_t limit_words, uint64_t interval_words,
                    double probability)
{
    return (struct alqi_cli_limits_row){
        limit_words,
        alqi_limit_safe_words(limit_words, interval_words, probability),
        alqi_limit_stop_words(limit_words, interval_words, probability),
    };
}
