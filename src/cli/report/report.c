/* report.c -- aliquot report: options, then the parts in order */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/merge/inputs.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

enum {
    ID_LIVE = 256,
    ID_PEAK,
    ID_ALLOCATED,
    ID_LEAKS,
    ID_MIN_LIFE,
    ID_SKIP,
    ID_TEMPORARY,
    ID_TREE,
    ID_MIN_SHARE,
    ID_JSON,
    ID_THREAD,
    ID_THREADS,
    ID_REALLOCS,
    ID_STACKS,
    ID_FILTER,
    ID_COLOR,
    ID_NO_PAGER,
    TOP_DEFAULT = 20,
    STACKS_DEFAULT = 10
};

static const double TEMPORARY_DEFAULT_US = 1000;

const struct alqi_cli_option alqi_cli_report_options[] = {
    {ID_PEAK, "peak", NULL, NULL,
     "blocks live when the most bytes were (default)"},
    {ID_LIVE, "live", NULL, NULL, "blocks live when the trace ends"},
    {ID_LEAKS, "leaks", NULL, NULL,
     "the same, with the share that each site keeps"},
    {ID_ALLOCATED, "allocated", NULL, NULL, "all blocks, freed or not"},
    {'g', "group", "BY", ALQI_CLI_GROUPING_CHOICES,
     "function (default), line, file or module"},
    {'n', "top", "N", NULL, "rows of each table (default 20; 0: all)"},
    {ID_SKIP, "skip", "F[,F]...", NULL,
     "treat these functions as allocation wrappers"},
    {ID_MIN_LIFE, "min-life", "T", NULL,
     "only blocks that lived at least T: 10ms, 1.5s, 2h"},
    {ID_TEMPORARY, "temporary", "T", NULL,
     "a block freed within T is temporary (default 1ms)"},
    {ID_THREAD, "thread", "T", NULL,
     "only blocks allocated by that thread (index or name)"},
    {ID_FILTER, "filter", "QUERY", NULL,
     "only blocks that pass; see aliquot-view(1)"},
    {ID_THREADS, "threads", NULL, NULL, "also a table of threads"},
    {ID_REALLOCS, "reallocs", NULL, NULL,
     "also a table of sites that grow blocks by realloc"},
    {ID_TREE, "tree", "KIND", ALQI_CLI_TREE_CHOICES,
     "top-down (default), bottom-up or none"},
    {ID_MIN_SHARE, "min-share", "P", NULL,
     "branches of the tree of at least P percent"},
    {ID_JSON, "json", NULL, NULL, "raw numbers as one JSON object"},
    {ID_STACKS, "stacks", "N", NULL,
     "stacks of each site in JSON (default 10; 0: all)"},
    {ID_COLOR, "color", "WHEN", ALQI_CLI_COLOR_CHOICES,
     "auto (default), always or never"},
    {ID_NO_PAGER, "no-pager", NULL, NULL, "do not start $PAGER"},
    {0, NULL, NULL, NULL, NULL},
};

const char *
alqi_cli_measure_name(enum alqi_cli_measure measure)
{
    static const char *const names[] = {"allocated", "live", "peak",
                                        "temporary"};

    return names[measure];
}

static bool
set_duration(double *us, const char *name, const char *value)
{
    if (alqi_cli_parse_duration(value, us))
        return true;
    alqi_cli_usage("report",
                   "report: --%s=%s: write a number and a unit: ns us ms s m h",
                   name, value);
    return false;
}

static bool
set_count(uint64_t *count, const char *name, const char *value)
{
    if (alqi_cli_parse_count(value, count))
        return true;
    alqi_cli_usage("report", "report: --%s=%s: write a whole number", name,
                   value);
    return false;
}

static bool
set_min_share(struct alqi_cli_report *r, const char *value)
{
    char *end;
    double percent = strtod(value, &end);

    r->min_share = percent / 100;
    if (end != value && (*end == '\0' || strcmp(end, "%") == 0) &&
        percent > 0 && percent <= 100)
        return true;
    alqi_cli_usage("report",
                   "report: --min-share=%s: write a number above 0, up to 100",
                   value);
    return false;
}

static bool
set(void *arg, int id, const char *value)
{
    struct alqi_cli_report *r = arg;

    switch (id) {
    case ID_LIVE:
    case ID_LEAKS:
        r->measure = ALQI_CLI_LIVE;
        r->is_leaks = id == ID_LEAKS;
        break;
    case ID_PEAK:
        r->measure = ALQI_CLI_PEAK;
        break;
    case ID_ALLOCATED:
        r->measure = ALQI_CLI_ALLOCATED;
        break;
    case 'g':
        r->grouping = (enum alqi_cli_grouping)alqi_cli_choice(
            ALQI_CLI_GROUPING_CHOICES, value);
        break;
    case 'n':
        r->has_top = true;
        return set_count(&r->top, "top", value);
    case ID_STACKS:
        return set_count(&r->n_stacks, "stacks", value);
    case ID_SKIP:
        alqi_cli_wrappers_add(value);
        break;
    case ID_MIN_LIFE:
        return set_duration(&r->analysis_options.min_life_us, "min-life",
                            value);
    case ID_TEMPORARY:
        return set_duration(&r->analysis_options.temporary_us, "temporary",
                            value);
    case ID_TREE:
        r->tree = (enum alqi_cli_tree_kind)alqi_cli_choice(
            ALQI_CLI_TREE_CHOICES, value);
        break;
    case ID_MIN_SHARE:
        return set_min_share(r, value);
    case ID_JSON:
        r->is_json = true;
        break;
    case ID_THREAD:
        r->analysis_options.thread = value;
        break;
    case ID_FILTER:
        return alqi_cli_filter_take(&r->filter, "report", "filter", value);
    case ID_THREADS:
        r->has_threads = true;
        break;
    case ID_REALLOCS:
        r->has_reallocs = true;
        break;
    case ID_COLOR:
        r->color = alqi_cli_choice(ALQI_CLI_COLOR_CHOICES, value);
        break;
    case ID_NO_PAGER:
        r->has_no_pager = true;
        break;
    }
    return true;
}

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
    if (r->has_threads)
        alqi_cli_report_threads(r);
    if (r->has_reallocs)
        alqi_cli_report_reallocs(r);
    alqi_cli_report_tree(r);
    alqi_cli_term_stop(&r->term);
}

/* A report of nothing would look like one of a thread that allocates
 * nothing. */
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

int
alqi_cli_report(int argc, char **argv)
{
    struct alqi_cli_report r;
    struct alqi_cli_paths paths;
    int first;
    int rc;

    memset(&r, 0, sizeof r);
    r.measure = ALQI_CLI_PEAK;
    r.top = TOP_DEFAULT;
    r.n_stacks = STACKS_DEFAULT;
    r.analysis_options.temporary_us = TEMPORARY_DEFAULT_US;
    rc = alqi_cli_parse("report", argc, argv, set, &r, &first);
    if (rc < 0 && r.filter.text != NULL &&
        (r.analysis_options.thread != NULL ||
         r.analysis_options.min_life_us > 0))
        rc = alqi_cli_usage("report", "report: --filter cannot be used with "
                                      "--thread and --min-life: write "
                                      "thread=N and life=N..");
    if (rc < 0)
        rc = alqi_cli_paths_from(&paths, "report", argc, argv, first);
    if (rc < 0) {
        rc = alqi_cli_inputs_open(&paths, &r.input);
        if (rc >= 0)
            alqi_cli_paths_free(&paths);
    }
    if (rc >= 0) {
        alqi_cli_filter_free(&r.filter);
        return rc;
    }
    alqi_cli_filter_begin(&r.filter, &r.analysis, &r.analysis_options);
    alqi_cli_analysis_run(&r.analysis, r.input, &r.analysis_options);
    alqi_cli_filter_end(&r.filter, &r.analysis, r.input, NULL);
    rc = alqi_cli_input_finish(r.input);
    if (is_thread_missing(&r)) {
        rc = rc == ALQI_CLI_OK ? ALQI_CLI_USAGE : rc;
    } else {
        alqi_cli_groups_make(&r.groups, &r.analysis, r.grouping, r.measure);
        show(&r);
        alqi_cli_groups_free(&r.groups);
    }
    alqi_cli_filter_free(&r.filter);
    alqi_cli_analysis_free(&r.analysis);
    alqi_cli_input_drop(r.input);
    alqi_cli_paths_free(&paths);
    return rc;
}
