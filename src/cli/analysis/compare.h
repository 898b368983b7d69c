/* compare.h -- two analyses side by side, site by site
 *
 * Sites match by name (view/match.h .inv.match), as far as the grouping tells
 * them apart. */
#ifndef ALQI_CLI_ANALYSIS_COMPARE_H
#define ALQI_CLI_ANALYSIS_COMPARE_H

#include "cli/analysis/filter.h"
#include "cli/analysis/groups.h"
#include "cli/read/paths.h"

/* One side. */
struct alqi_cli_side {
    struct alqi_cli_paths paths;
    const char *path; /* as named */
    struct alqi_cli_input *input;
    struct alqi_cli_analysis analysis;
    struct alqi_cli_groups groups;
    const char *at; /* moment of the run, as given; NULL: the whole of it */
    struct alqi_cli_filter filter;
};

/* Of one quantity: two estimates and what their difference means. */
struct alqi_cli_change {
    struct alqi_cli_sum a, b; /* all zeros where there was nothing */
    double bytes;             /* b - a */
    double variance;          /* significance.h */
    double sigmas;            /* with the sign of bytes */
    double chance;            /* corrected for the number of sites */
};

struct alqi_cli_pair {
    const struct alqi_cli_group *a, *b; /* NULL: not on that side */
    struct alqi_cli_change change;      /* of the measure */
};

struct alqi_cli_comparison {
    struct alqi_cli_side *a, *b;
    enum alqi_cli_grouping grouping;
    enum alqi_cli_measure measure;
    bool is_one_run; /* filter.h: variances are in null_var alone */
    struct alqi_cli_change totals[ALQI_CLI_N_MEASURES];
    struct alqi_cli_pair *pairs; /* with something of the measure on a side,
                                    by the size of the change */
    uint32_t n_pairs;
};

void alqi_cli_change_make(struct alqi_cli_change *change,
                          const struct alqi_cli_sum *a,
                          const struct alqi_cli_sum *b, bool is_one_run);

/* Groups both sides and matches them.  The sides stay the caller's. */
void alqi_cli_compare(struct alqi_cli_comparison *comparison,
                      struct alqi_cli_side *a, struct alqi_cli_side *b,
                      enum alqi_cli_grouping grouping,
                      enum alqi_cli_measure measure, bool is_one_run);
void alqi_cli_comparison_free(struct alqi_cli_comparison *comparison);

/* A frame of the pair, and the names its numbers are of. */
const struct alqi_cli_frame *
alqi_cli_pair_frame(const struct alqi_cli_comparison *comparison,
                    const struct alqi_cli_pair *pair,
                    const struct alqi_cli_names **names);

/* Its sites are mmap's. */
bool alqi_cli_pair_is_mapping(const struct alqi_cli_pair *pair);

#endif
