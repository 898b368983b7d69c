/* compare.h -- two analyses side by side, site by site
 *
 * Sites match by name (view/match.h .inv.match), as far as the grouping tells
 * them apart. */
#ifndef ALQI_CLI_ANALYSIS_COMPARE_H
#define ALQI_CLI_ANALYSIS_COMPARE_H

#include "cli/analysis/filter.h"
#include "cli/analysis/groups.h"
#include "cli/read/paths.h"

/* One side of a comparison. */
struct alqi_cli_side {
    /* the traces; owned */
    struct alqi_cli_paths paths;
    /* as named on the command line */
    const char *path;
    /* open until the side is freed */
    struct alqi_cli_input *input;
    /* of the traces, read to the end */
    struct alqi_cli_analysis analysis;
    /* of the analysis's sites; made by alqi_cli_compare */
    struct alqi_cli_groups groups;
    /* time of the run, as given; NULL: the whole of it */
    const char *at;
    /* all zeros without one */
    struct alqi_cli_filter filter;
};

/* One quantity: two estimates and what their difference means. */
struct alqi_cli_change {
    /* all zeros where there was nothing */
    struct alqi_cli_sum a, b;
    /* b - a; 0 when it is no more than rounding */
    double bytes;
    /* of bytes, if nothing had changed (view/significance.h) */
    double variance;
    /* bytes in standard errors, with their sign */
    double sigmas;
    /* that chance alone does it; corrected for the number of sites */
    double chance;
};

/* A site on both sides, or on one. */
struct alqi_cli_pair {
    /* NULL: not on that side */
    const struct alqi_cli_group *a, *b;
    /* of the measure */
    struct alqi_cli_change change;
};

/* Two sides, matched. */
struct alqi_cli_comparison {
    /* the caller's; both are grouped */
    struct alqi_cli_side *a, *b;
    enum alqi_cli_grouping grouping;
    /* that pairs are made of */
    enum alqi_cli_measure measure;
    /* two filters of one recording: variances are in null_var alone
     * (filter.h) */
    bool is_one_run;
    /* of all measures */
    struct alqi_cli_change totals[ALQI_CLI_N_MEASURES];
    /* of what is lost; valid where both traces tell classes */
    struct alqi_cli_change lost;
    bool has_lost;
    /* sites that have something of the measure, by the size of the change;
     * owned */
    struct alqi_cli_pair *pairs;
    uint32_t n_pairs;
};

/* The change between two sums; NULL is a sum of nothing. */
void alqi_cli_change_make(struct alqi_cli_change *change,
                          const struct alqi_cli_sum *a,
                          const struct alqi_cli_sum *b, bool is_one_run);

/* Where the change is: the errors of both sides add up as squares, those that
 * make it larger apart from those that make it smaller (Zou and Donner 2008).
 * Of one run, whose sides share blocks, by the standard error. */
struct alqi_view_interval
alqi_cli_change_interval(const struct alqi_cli_comparison *comparison,
                         const struct alqi_cli_change *change);

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
