/* report.h -- the parts of `aliquot report` */
#ifndef ALQI_CLI_REPORT_REPORT_H
#define ALQI_CLI_REPORT_REPORT_H

#include "cli/analysis/analysis.h"
#include "cli/analysis/filter.h"
#include "cli/analysis/groups.h"
#include "cli/analysis/leaks.h"
#include "cli/analysis/phases.h"
#include "cli/tool/term.h"
#include "cli/analysis/tree.h"

/* One report: first the options, which the parser writes and nothing changes
 * later, then what the phases make of the input. The functions below print one
 * part each and require analysis, groups and term. */
struct alqi_cli_report {
    struct alqi_cli_analysis_options analysis_options;
    /* filter.text NULL: all blocks pass */
    struct alqi_cli_filter filter;
    struct alqi_cli_suppress suppress;
    /* of which blocks: rows are sorted by it */
    enum alqi_cli_measure measure;
    bool is_leaks; /* LIVE, said as what was never freed */
    enum alqi_cli_grouping grouping;
    enum alqi_cli_tree_kind tree;
    double min_share; /* of the tree's branches; 0: choose */
    uint64_t top;     /* rows; 0: all */
    /* --top was given; JSON has all sites without it */
    bool has_top;
    uint64_t n_stacks; /* of each site in JSON; 0: all */
    bool is_json;
    bool has_threads;  /* the table of them is asked for */
    bool has_reallocs; /* the table of realloc's sites is */
    bool has_phases;   /* the table of phases is */
    /* only what was allocated in it; NULL: in any */
    const char *phase;
    int color; /* index in ALQI_CLI_COLOR_CHOICES */
    bool has_no_pager;

    /* open from the parsing to the end */
    struct alqi_cli_input *input;
    struct alqi_cli_analysis analysis;
    /* sorted by measure */
    struct alqi_cli_groups groups;
    /* of --leaks, of all threads */
    struct alqi_cli_leaks leaks;
    struct alqi_cli_phases phases;
    /* the filter's text with the phase; owned */
    char *phase_filter;
    /* of text alone */
    struct alqi_cli_term term;
};

void alqi_cli_report_totals(struct alqi_cli_report *report);
void alqi_cli_report_table(struct alqi_cli_report *report);
/* The name, place and callers of a group, cut to `left` columns, and a newline;
 * the end of a row. */
void alqi_cli_report_site(struct alqi_cli_report *report,
                          const struct alqi_cli_group *group, int left);
/* Leaks by what leads to them, where the trace tells; by what their call stacks
 * have in common, and the sites that grow steadily, where they were asked for.
 */
void alqi_cli_report_reach(struct alqi_cli_report *report);
void alqi_cli_report_leak_groups(struct alqi_cli_report *report);
void alqi_cli_report_growth(struct alqi_cli_report *report);
void alqi_cli_report_threads(struct alqi_cli_report *report);
void alqi_cli_report_phases(struct alqi_cli_report *report);
void alqi_cli_report_histogram(struct alqi_cli_report *report);
void alqi_cli_report_reallocs(struct alqi_cli_report *report);
/* The rules that took leaks away. */
void alqi_cli_report_suppressed(struct alqi_cli_report *report);
void alqi_cli_report_tree(struct alqi_cli_report *report);
void alqi_cli_report_json(struct alqi_cli_report *report);

#endif
