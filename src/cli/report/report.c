/* report.c -- aliquot report: options, then the parts in order
 *
 * Phases: parse; open all inputs; analyse them in one pass, with the filter
 * around it; group the sites; print. Text is printed by totals.c, table.c,
 * leaks.c, more.c and calls.c in that order, JSON by json.c. What is freed in
 * alqi_cli_report() is what the phases before it have made. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/merge/inputs.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"
#include "view/phase.h"

/* Defaults of --top and --stacks. */
enum { TOP_DEFAULT = 20, STACKS_DEFAULT = 10 };

/* ---- options ------------------------------------------------------------- */

/* The option's value is in percent, the destination a share of 1. */
static bool
min_share_take(void *to, const char *verb, const char *value)
{
    char *end;
    double percent = strtod(value, &end);

    *(double *)to = percent / 100;
    if (end != value && (*end == '\0' || strcmp(end, "%") == 0) &&
        percent > 0 && percent <= 100)
        return true;
    alqi_cli_usage(verb,
                   "%s: --min-share=%s: write a number above 0, up to 100",
                   verb, value);
    return false;
}

static bool
filter_take(void *to, const char *verb, const char *value)
{
    return alqi_cli_filter_take(to, verb, "filter", value);
}

/* --live undoes an earlier --leaks. The last of such options decides; another
 * measure behind --leaks undoes it once all options are read. */
static bool
live_take(void *to, const char *verb, const char *value)
{
    struct alqi_cli_report *r = to;

    (void)verb;
    (void)value;
    r->measure = ALQI_CLI_LIVE;
    r->is_leaks = false;
    return true;
}

#define REPORT struct alqi_cli_report

const struct alqi_cli_option alqi_cli_report_options[] = {
    {0, "peak", NULL, NULL, "blocks live when the most bytes were (default)",
     ALQI_CLI_FIXED(REPORT, measure, ALQI_CLI_PEAK),
     ALQI_CLI_ONE_OF("measure")},
    {0, "live", NULL, NULL, "blocks live when the trace ends",
     ALQI_CLI_TAKEN(live_take, 0), ALQI_CLI_ONE_OF("measure")},
    {0, "leaks", NULL, NULL, "the same, with the share that each site keeps",
     ALQI_CLI_FIXED(REPORT, measure, ALQI_CLI_LIVE),
     ALQI_CLI_ALSO(REPORT, is_leaks), ALQI_CLI_ONE_OF("measure")},
    {0, "suppressions", "FILE", NULL,
     "with --leaks, without those that FILE names",
     ALQI_CLI_TAKEN(alqi_cli_suppress_take, offsetof(REPORT, suppress))},
    {0, "allocated", NULL, NULL, "all blocks, freed or not",
     ALQI_CLI_FIXED(REPORT, measure, ALQI_CLI_ALLOCATED),
     ALQI_CLI_ONE_OF("measure")},
    {'g', "group", "BY", ALQI_CLI_GROUPING_CHOICES,
     "function (default), line, file or module",
     ALQI_CLI_CHOICE(REPORT, grouping)},
    {'n', "top", "N", NULL, "rows of each table (default 20; 0: all)",
     ALQI_CLI_COUNT(REPORT, top), ALQI_CLI_ALSO(REPORT, has_top)},
    {0, "skip", "F[,F]...", NULL,
     "treat these functions as allocation wrappers",
     ALQI_CLI_TAKEN(alqi_cli_wrappers_take, 0)},
    {0, "min-life", "T", NULL,
     "only blocks that lived at least T: 10ms, 1.5s, 2h",
     ALQI_CLI_DURATION(REPORT, analysis_options.min_life_us)},
    {0, "temporary", "T", NULL,
     "a block freed within T is temporary (default 1ms)",
     ALQI_CLI_DURATION(REPORT, analysis_options.temporary_us), .least = 1e-3,
     .most = 1e15, .wants = "a time above 0, such as 1ms"},
    {0, "thread", "T", NULL,
     "only blocks allocated by that thread (index or name)",
     ALQI_CLI_TEXT(REPORT, analysis_options.thread)},
    {0, "filter", "QUERY", NULL, "only blocks that pass; see aliquot-view(1)",
     ALQI_CLI_TAKEN(filter_take, offsetof(REPORT, filter))},
    {0, "phase", "NAME", NULL, "only blocks of that phase; NAME#2: its second",
     ALQI_CLI_TEXT(REPORT, phase)},
    {0, "phases", NULL, NULL, "also a table of phases, from mark to mark",
     ALQI_CLI_FLAG(REPORT, has_phases)},
    {0, "threads", NULL, NULL, "also a table of threads",
     ALQI_CLI_FLAG(REPORT, has_threads)},
    {0, "histogram", NULL, NULL, "also a table of sizes, in powers of two",
     ALQI_CLI_FLAG(REPORT, analysis_options.is_by_size)},
    {0, "reallocs", NULL, NULL,
     "also a table of sites that grow blocks by realloc",
     ALQI_CLI_FLAG(REPORT, has_reallocs)},
    {0, "tree", "KIND", ALQI_CLI_TREE_CHOICES,
     "top-down (default), bottom-up or none", ALQI_CLI_CHOICE(REPORT, tree)},
    {0, "min-share", "P", NULL, "branches of the tree of at least P percent",
     ALQI_CLI_TAKEN(min_share_take, offsetof(REPORT, min_share))},
    {0, "json", NULL, NULL, "raw numbers as one JSON object",
     ALQI_CLI_FLAG(REPORT, is_json)},
    {0, "stacks", "N", NULL, "stacks of each site in JSON (default 10; 0: all)",
     ALQI_CLI_COUNT(REPORT, n_stacks)},
    {0, "color", "WHEN", ALQI_CLI_COLOR_CHOICES,
     "auto (default), always or never", ALQI_CLI_CHOICE(REPORT, color)},
    {0, "no-pager", NULL, NULL, "do not start $PAGER",
     ALQI_CLI_FLAG(REPORT, has_no_pager)},
    {0},
};

/* ---- the verb ------------------------------------------------------------ */

/* Prints the report as text or JSON; the pager, if any, has ended on return. */
static void
show(struct alqi_cli_report *r)
{
    if (r->is_json) {
        alqi_cli_report_json(r);
        return;
    }
    alqi_cli_term_start(&r->term, r->color, !r->has_no_pager);
    alqi_cli_report_totals(r);
    alqi_cli_report_table(r);
    if (r->leaks.x != NULL) {
        alqi_cli_report_reach(r);
        alqi_cli_report_leak_groups(r);
        alqi_cli_report_growth(r);
    }
    if (r->has_phases)
        alqi_cli_report_phases(r);
    if (r->has_threads)
        alqi_cli_report_threads(r);
    if (r->analysis_options.is_by_size)
        alqi_cli_report_histogram(r);
    if (r->has_reallocs)
        alqi_cli_report_reallocs(r);
    alqi_cli_report_tree(r);
    if (r->suppress.is_given)
        alqi_cli_report_suppressed(r);
    alqi_cli_term_stop(&r->term);
}

/* True: said. A report of nothing would look like one of a thread that
 * allocates nothing. */
static bool
is_thread_missing(const struct alqi_cli_report *r)
{
    if (r->analysis_options.thread == NULL || r->analysis.n_threads_matched > 0)
        return false;
    alqi_cli_say("report: --thread=%s: no thread has that index or name; "
                 "--threads lists them",
                 r->analysis_options.thread);
    return true;
}

/* Those of the filter, or of the leaks; NULL: neither has any. */
static const struct alqi_view_index *
rows_of(const struct alqi_cli_report *r)
{
    return r->filter.text != NULL ? &r->filter.rows.index : r->leaks.x;
}

/* The same of a phase. */
static bool
is_phase_missing(const struct alqi_cli_report *r)
{
    const struct alqi_view_index *x = &r->filter.rows.index;
    uint8_t *is_meant;
    bool is_missing;

    if (r->phase == NULL)
        return false;
    is_meant = alqi_cli_zeros(alqi_view_phases(x), 1);
    is_missing = alqi_view_phase_find(x, r->phase, is_meant) == 0;
    free(is_meant);
    if (is_missing)
        alqi_cli_say("report: --phase=%s: no phase has that name; --phases "
                     "lists them",
                     alqi_cli_shown(r->phase).text);
    return is_missing;
}

/* --phase is a key of the filter, beside those of --filter.  -1 to go on, or
 * the exit status. */
static int
phase_take(struct alqi_cli_report *r)
{
    const char *filter = r->filter.text != NULL ? r->filter.text : "";
    size_t capacity;
    char *at;

    if (r->phase == NULL)
        return -1;
    capacity = strlen(filter) + sizeof "&phase=" + 3 * strlen(r->phase);
    at = r->phase_filter = alqi_cli_zeros(capacity, 1);
    at += snprintf(at, capacity, "%s%sphase=", filter,
                   filter[0] != '\0' ? "&" : "");
    for (const char *c = r->phase; *c != '\0'; c++)
        at += snprintf(at, 4, isalnum((unsigned char)*c) ? "%c" : "%%%02X",
                       (unsigned char)*c);
    alqi_view_query_free(&r->filter.query);
    memset(&r->filter, 0, sizeof r->filter);
    return alqi_cli_filter_take(&r->filter, "report", "phase", r->phase_filter)
               ? -1
               : ALQI_CLI_USAGE;
}

/* --filter is a query that has words for thread and life, so the two options
 * beside it are refused: their order would matter. */
int
alqi_cli_report(int argc, char **argv)
{
    struct alqi_cli_report r;
    struct alqi_cli_paths paths;
    int first;
    int rc;
    bool has_leaks;

    memset(&r, 0, sizeof r);
    r.measure = ALQI_CLI_PEAK;
    r.top = TOP_DEFAULT;
    r.n_stacks = STACKS_DEFAULT;
    rc = alqi_cli_parse("report", argc, argv, &r, &first);
    r.is_leaks = r.is_leaks && r.measure == ALQI_CLI_LIVE;
    r.analysis_options.is_held_wanted = r.is_leaks;
    if (r.suppress.is_given)
        r.analysis_options.suppress = &r.suppress;
    if (rc < 0 && r.suppress.is_given && !r.is_leaks)
        rc = alqi_cli_usage("report", "report: --suppressions is for --leaks: "
                                      "give that, too");
    if (rc < 0)
        rc = phase_take(&r);
    if (rc < 0 && r.filter.text != NULL &&
        (r.analysis_options.thread != NULL ||
         r.analysis_options.min_life_us > 0))
        rc = alqi_cli_usage("report",
                            "report: --%s cannot be used with --thread and "
                            "--min-life: write --filter with thread=N and "
                            "life=N..",
                            r.phase != NULL ? "phase" : "filter");
    if (rc < 0)
        rc = alqi_cli_paths_from(&paths, "report", argc, argv, first);
    if (rc < 0) {
        rc = alqi_cli_inputs_open(&paths, &r.input);
        if (rc >= 0)
            alqi_cli_paths_free(&paths);
    }
    if (rc >= 0) {
        alqi_cli_filter_free(&r.filter);
        alqi_cli_suppress_free(&r.suppress);
        free(r.phase_filter);
        return rc;
    }
    has_leaks = r.is_leaks && r.analysis_options.thread == NULL;
    alqi_cli_filter_begin(&r.filter, &r.analysis, &r.analysis_options);
    if (has_leaks)
        alqi_cli_leaks_begin(&r.leaks, &r.filter, &r.analysis,
                             &r.analysis_options);
    else if (r.has_phases && r.filter.text == NULL)
        alqi_cli_phases_begin(&r.phases, &r.analysis, &r.analysis_options);
    alqi_cli_analysis_run(&r.analysis, r.input, &r.analysis_options);
    alqi_cli_filter_end(&r.filter, &r.analysis, r.input, NULL);
    rc = alqi_cli_input_finish(r.input);
    if (is_thread_missing(&r) || is_phase_missing(&r)) {
        rc = rc == ALQI_CLI_OK ? ALQI_CLI_USAGE : rc;
    } else {
        alqi_cli_groups_make(&r.groups, &r.analysis, r.grouping, r.measure);
        if (has_leaks)
            alqi_cli_leaks_make(&r.leaks, &r.filter, &r.analysis, r.input,
                                &r.groups);
        if (r.has_phases)
            alqi_cli_phases_make(&r.phases, rows_of(&r), &r.filter, r.input);
        show(&r);
        alqi_cli_groups_free(&r.groups);
    }
    alqi_cli_phases_free(&r.phases);
    alqi_cli_leaks_free(&r.leaks);
    alqi_cli_filter_free(&r.filter);
    free(r.phase_filter);
    alqi_cli_suppress_free(&r.suppress);
    alqi_cli_analysis_free(&r.analysis);
    alqi_cli_input_drop(r.input);
    alqi_cli_paths_free(&paths);
    return rc;
}
