/* groups.h -- sites put together by function, line, file or module
 *
 * A site is named after its innermost frame that is no allocation wrapper. */
#ifndef ALQI_CLI_ANALYSIS_GROUPS_H
#define ALQI_CLI_ANALYSIS_GROUPS_H

#include "cli/analysis/analysis.h"

#define ALQI_CLI_GROUPING_CHOICES "function line file module"

/* What tells groups apart. */
enum alqi_cli_grouping {
    ALQI_CLI_BY_FUNCTION,
    ALQI_CLI_BY_LINE,
    ALQI_CLI_BY_FILE,
    ALQI_CLI_BY_MODULE
};

struct alqi_cli_group {
    /* of its heaviest site; what the grouping does not tell apart varies
     * within the group */
    struct alqi_cli_frame frame;
    /* of all its sites */
    struct alqi_cli_sum sums[ALQI_CLI_N_MEASURES];
    struct alqi_cli_moves moves;
    /* sites of mmap: they form groups of their own */
    bool is_mapping;
    /* index of the site with the most of the measure */
    uint32_t heaviest;
    uint32_t n_sites;
};

struct alqi_cli_groups {
    /* by the measure's bytes, largest first; owned */
    struct alqi_cli_group *groups;
    uint32_t n_groups;
    /* by site: index into groups; owned */
    uint32_t *group_of_site;
};

/* Groups all sites of an analysis, whose names may grow by it. */
void alqi_cli_groups_make(struct alqi_cli_groups *groups,
                          struct alqi_cli_analysis *analysis,
                          enum alqi_cli_grouping grouping,
                          enum alqi_cli_measure measure);
void alqi_cli_groups_free(struct alqi_cli_groups *groups);

/* The part of a frame by which a grouping tells sites apart; the rest is 0. */
struct alqi_cli_frame alqi_cli_frame_masked(const struct alqi_cli_frame *frame,
                                            enum alqi_cli_grouping grouping);

/* Index of the frame that names a stack; n_frames >= 1. */
uint32_t alqi_cli_naming_frame(const struct alqi_cli_frame *frames,
                               uint32_t n_frames);

#endif
