/* filter.h -- a report of the blocks that pass a filter of the viewer
 *
 * The analysis reads the trace and sums nothing: an index is made in memory,
 * and the sums are those of its rows that pass.  The peak stays that of all
 * blocks. */
#ifndef ALQI_CLI_ANALYSIS_FILTER_H
#define ALQI_CLI_ANALYSIS_FILTER_H

#include "cli/analysis/view_index.h"
#include "view/filter.h"
#include "view/scan.h"

/* All zeros is none. */
struct alqi_cli_filter {
    /* as given on the command line; NULL: no filter */
    const char *text;
    /* the text, decoded; holds what the filter points into */
    struct alqi_view_query query;
    /* the conditions */
    struct alqi_view_filter filter;
    /* the blocks, made while the trace is read */
    struct alqi_cli_rows rows;
};

/* Parses a filter. False: it is none, which has been said as an error of the
 * option. */
bool alqi_cli_filter_take(struct alqi_cli_filter *filter, const char *verb,
                          const char *option, const char *text);
/* Prepares the options for an analysis that runs with the filter. Without one
 * nothing happens. */
void alqi_cli_filter_begin(struct alqi_cli_filter *filter,
                           struct alqi_cli_analysis *analysis,
                           struct alqi_cli_analysis_options *options);
/* Replaces the sums of the analysis, which has run, by those of the blocks
 * that pass. With another filter of the same recording, null_var and
 * largest_bytes of the sums are those of the blocks that do not pass it, and
 * the sums' difference has no other variance (view/significance.h). Ends the
 * command without memory. */
void alqi_cli_filter_end(struct alqi_cli_filter *filter,
                         struct alqi_cli_analysis *analysis,
                         struct alqi_cli_input *input,
                         const struct alqi_cli_filter *other);

/* What a row of an index stands for, as sums of the analysis are; its blocks
 * live so long. */
struct alqi_cli_sum alqi_cli_sum_of_stand(const struct alqi_view_stand *stand,
                                          double life_us);

void alqi_cli_filter_free(struct alqi_cli_filter *filter);

#endif
