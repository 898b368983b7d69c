/* leaks.h -- what a report of leaks has beside sums: growth, and groups
 *
 * The arithmetic is that of view/growth.h and view/groups.h, over an index in
 * memory: that of the filter, or one that is made for it. */
#ifndef ALQI_CLI_ANALYSIS_LEAKS_H
#define ALQI_CLI_ANALYSIS_LEAKS_H

#include "cli/analysis/filter.h"
#include "cli/analysis/groups.h"
#include "view/groups.h"
#include "view/growth.h"
#include "view/holdings.h"

/* All zeros: not asked for. */
struct alqi_cli_leaks {
    /* where no filter has rows */
    struct alqi_cli_rows rows;
    /* those, or the filter's; NULL: not asked for */
    const struct alqi_view_index *x;
    /* by group of sites; owned */
    struct alqi_view_growth *growth;
    /* by group of sites, and of all: never freed, by class; owned; NULL: the
     * trace tells no classes */
    struct alqi_cli_sum (*reach)[ALQI_VIEW_REACHES];
    struct alqi_cli_sum by_reach[ALQI_VIEW_REACHES];
    struct alqi_cli_sum may_be_old; /* as of the analysis */
    struct alqi_view_holdings holdings;
    /* time after which growth counts */
    uint64_t from_us;
    /* of call stacks with leaks; their folds are those of the shape */
    struct alqi_view_groups groups;
    struct alqi_view_shape shape;
};

/* Prepares the options of an analysis that is to be run, after the filter
 * has. */
void alqi_cli_leaks_begin(struct alqi_cli_leaks *leaks,
                          const struct alqi_cli_filter *filter,
                          struct alqi_cli_analysis *analysis,
                          struct alqi_cli_analysis_options *options);
/* When the analysis and the filter have ended, of what is not suppressed. Ends
 * the command without memory. */
void alqi_cli_leaks_make(struct alqi_cli_leaks *leaks,
                         const struct alqi_cli_filter *filter,
                         struct alqi_cli_analysis *analysis,
                         struct alqi_cli_input *input,
                         const struct alqi_cli_groups *sites);
void alqi_cli_leaks_free(struct alqi_cli_leaks *leaks);

/* The groups of sites that grow steadily, the fastest first; returns their
 * number. *order is to be freed. */
uint32_t alqi_cli_leaks_steady(const struct alqi_cli_leaks *leaks,
                               const struct alqi_cli_groups *sites,
                               uint32_t **order);

/* A sum of the index as those of the analysis are. */
struct alqi_cli_sum alqi_cli_leaks_sum(const struct alqi_view_sum *sum);

#endif
