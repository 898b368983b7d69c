/* filter.h -- a report of the blocks that pass a filter of the viewer
 *
 * The analysis reads the trace and sums nothing: an index is made in memory,
 * and the sums are those of its rows that pass.  The peak stays that of all
 * blocks. */
#ifndef ALQI_CLI_ANALYSIS_FILTER_H
#define ALQI_CLI_ANALYSIS_FILTER_H

#include <stdio.h>

#include "cli/analysis/analysis.h"
#include "view/filter.h"

struct alqi_cli_view_indexer;

/* All zeros is none. */
struct alqi_cli_filter {
    const char *text; /* as given; NULL: none */
    struct alqi_view_query query;
    struct alqi_view_filter filter;
    struct alqi_cli_watch watch;
    struct alqi_cli_view_indexer *indexer;
    FILE *out;   /* writes the index to memory */
    char *bytes; /* of the index, when all is written */
    size_t n_bytes;
};

/* False when it is no filter, which was said as an error of the option. */
bool alqi_cli_filter_take(struct alqi_cli_filter *filter, const char *verb,
                          const char *option, const char *text);
/* Before the analysis runs with the options. */
void alqi_cli_filter_begin(struct alqi_cli_filter *filter,
                           struct alqi_cli_analysis *analysis,
                           struct alqi_cli_analysis_options *options);
/* When it has run.  With another filter of the same recording, null_var and
 * largest_bytes of the sums are those of the blocks that do not pass it, and
 * the sums' difference has no other variance (significance.h).  Ends the
 * command without memory. */
void alqi_cli_filter_end(struct alqi_cli_filter *filter,
                         struct alqi_cli_analysis *analysis,
                         struct alqi_cli_input *input,
                         const struct alqi_cli_filter *other);
void alqi_cli_filter_free(struct alqi_cli_filter *filter);

#endif
