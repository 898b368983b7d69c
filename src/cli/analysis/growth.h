/* growth.h -- which groups of a report grow steadily, and how fast
 *
 * The arithmetic is that of view/growth.h, over an index in memory: that of the
 * filter, or one that is made for it. */
#ifndef ALQI_CLI_ANALYSIS_GROWTH_H
#define ALQI_CLI_ANALYSIS_GROWTH_H

#include "cli/analysis/filter.h"
#include "cli/analysis/groups.h"
#include "view/growth.h"

/* All zeros: not asked for. */
struct alqi_cli_growth {
    /* where no filter has rows */
    struct alqi_cli_rows rows;
    /* by group; owned; NULL: not asked for */
    struct alqi_view_growth *groups;
    /* time after which growth counts */
    uint64_t from_us;
};

/* Prepares the options of an analysis that is to be run, after the filter
 * has. */
void alqi_cli_growth_begin(struct alqi_cli_growth *growth,
                           const struct alqi_cli_filter *filter,
                           struct alqi_cli_analysis *analysis,
                           struct alqi_cli_analysis_options *options);
/* When the analysis and the filter have ended: the growth of each group,
 * without suppressed call stacks. Ends the command without memory. */
void alqi_cli_growth_make(struct alqi_cli_growth *growth,
                          const struct alqi_cli_filter *filter,
                          struct alqi_cli_analysis *analysis,
                          struct alqi_cli_input *input,
                          const struct alqi_cli_groups *groups);
void alqi_cli_growth_free(struct alqi_cli_growth *growth);

/* The groups that grow steadily, the fastest first; returns their number.
 * *order is to be freed. */
uint32_t alqi_cli_growth_order(const struct alqi_cli_growth *growth,
                               const struct alqi_cli_groups *groups,
                               uint32_t **order);

#endif
