/* diff.c -- aliquot diff A B: what changed, and is it more than chance
 *
 * Phases: options; open both sides; read each (side_read), with the sampling
 * rate of the other, so that equal rates can be told; pair the sites and
 * compute the changes; print; judge the limit. With --at both sides are one
 * trace, each filtered to what is live at its moment, and what the filter
 * leaves is compared as if it were all that was allocated. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/analysis/remarks.h"
#include "cli/diff/diff.h"
#include "cli/merge/inputs.h"
#include "cli/tool/rate.h"
#include "cli/tool/text.h"

/* Defaults of --top and --min-sigma. */
enum { TOP_DEFAULT = 20 };

static const double MIN_SIGMA_DEFAULT = 3;

/* ---- options ------------------------------------------------------------- */

/* Reads "5%" as a share of A's total, else a size in bytes. The last limit
 * counts, so what an earlier one set is cleared. */
static bool
limit_take(void *to, const char *verb, const char *value)
{
    struct alqi_cli_limit *limit = to;
    char *end;
    double percent = strtod(value, &end);

    *limit = (struct alqi_cli_limit){.text = value};
    if (end != value && strcmp(end, "%") == 0 && percent >= 0 &&
        isfinite(percent)) {
        limit->share = percent / 100;
        return true;
    }
    if (alqi_cli_bytes_parse(value, &limit->bytes) && limit->bytes >= 0)
        return true;
    alqi_cli_usage(verb,
                   "%s: --fail-over=%s: write a percentage, as 5%%, or a "
                   "size, as 200K",
                   verb, value);
    return false;
}

/* Makes the filter of a side of a moment. */
static bool
set_moment(struct alqi_cli_side *side, char *text, char *query, size_t n)
{
    double us;

    side->at = text;
    if (strcmp(text, "peak") == 0 || strcmp(text, "end") == 0)
        snprintf(query, n, "live=%s", text);
    else if (alqi_cli_parse_duration(text, &us) && us >= 0 && us < 9e18)
        snprintf(query, n, "live=%.0f", floor(us));
    else
        return false;
    return alqi_cli_filter_take(&side->filter, "diff", "at", query);
}

/* Cuts "T,T" at its comma. The texts and queries must outlive the filters: the
 * texts are in d, the queries are static. */
static bool
moments_take(void *to, const char *verb, const char *value)
{
    static char queries[2][64];
    struct alqi_cli_diff *d = to;
    char *comma;

    snprintf(d->at_text, sizeof d->at_text, "%s", value);
    comma = strchr(d->at_text, ',');
    if (comma != NULL) {
        *comma = '\0';
        if (set_moment(&d->a, d->at_text, queries[0], sizeof queries[0]) &&
            set_moment(&d->b, comma + 1, queries[1], sizeof queries[1]))
            return true;
    }
    alqi_cli_usage(verb,
                   "%s: --at=%s: write two moments, as 10ms,1.5s or "
                   "peak,end",
                   verb, value);
    return false;
}

/* The rows of options; MEASURE rows also say that one was chosen. */
#define DIFF struct alqi_cli_diff
#define MEASURE(n)                                                             \
    ALQI_CLI_FIXED(DIFF, measure, n), ALQI_CLI_ONE_OF("measure"),              \
        ALQI_CLI_ALSO(DIFF, has_measure)

const struct alqi_cli_option alqi_cli_diff_options[] = {
    {0, "peak", NULL, NULL, "blocks live when the most bytes were (default)",
     MEASURE(ALQI_CLI_PEAK)},
    {0, "live", NULL, NULL, "blocks live when the trace ends",
     MEASURE(ALQI_CLI_LIVE)},
    {0, "leaks", NULL, NULL, "blocks never freed; the same",
     MEASURE(ALQI_CLI_LIVE)},
    {0, "allocated", NULL, NULL, "all blocks, freed or not",
     MEASURE(ALQI_CLI_ALLOCATED)},
    {0, "at", "T,T", NULL, "two moments of one trace: 10ms, 1.5s, peak, end",
     ALQI_CLI_TAKEN(moments_take, 0)},
    {'g', "group", "BY", ALQI_CLI_GROUPING_CHOICES,
     "function (default), line, file or module",
     ALQI_CLI_CHOICE(DIFF, grouping)},
    {'n', "top", "N", NULL, "rows of the table (default 20; 0: all)",
     ALQI_CLI_COUNT(DIFF, top), ALQI_CLI_ALSO(DIFF, has_top)},
    {0, "skip", "F[,F]...", NULL,
     "treat these functions as allocation wrappers",
     ALQI_CLI_TAKEN(alqi_cli_wrappers_take, 0)},
    {0, "min-sigma", "S", NULL,
     "show only changes of S standard errors or more",
     ALQI_CLI_NUMBER(DIFF, min_sigma), .most = 30,
     .wants = "write a number from 0 to 30", ALQI_CLI_ALSO(DIFF, hides_chance)},
    {0, "fail-over", "P%|N[KMG]", NULL,
     "exit with 1 if a site grew by more, beyond chance",
     ALQI_CLI_TAKEN(limit_take, offsetof(DIFF, limit))},
    {0, "json", NULL, NULL, "raw numbers as one JSON object",
     ALQI_CLI_FLAG(DIFF, is_json)},
    {0, "color", "WHEN", ALQI_CLI_COLOR_CHOICES,
     "auto (default), always or never", ALQI_CLI_CHOICE(DIFF, color)},
    {0, "no-pager", NULL, NULL, "do not start $PAGER",
     ALQI_CLI_FLAG(DIFF, has_no_pager)},
    {0},
};

/* ---- running ------------------------------------------------------------- */

/* The sampling rate that the trace's header tells, before anything is read. */
static double
lambda_of(struct alqi_cli_input *input)
{
    struct alqi_cli_estimator e;
    double lambda;

    alqi_cli_estimator_init(&e,
                            alqi_ctf_reader_info(alqi_cli_input_reader(input)));
    lambda = e.lambda;
    alqi_cli_estimator_free(&e);
    return lambda;
}

/* Opens a side. Returns -1, or the status to exit with; nothing of the side is
 * open then. */
static int
side_open(struct alqi_cli_side *side, const char *operand)
{
    int rc = alqi_cli_paths_add(&side->paths, operand);

    side->path = operand;
    if (rc < 0)
        rc = alqi_cli_inputs_open(&side->paths, &side->input);
    if (rc >= 0)
        alqi_cli_paths_free(&side->paths);
    return rc;
}

static void
side_close(struct alqi_cli_side *side)
{
    alqi_cli_filter_free(&side->filter);
    alqi_cli_analysis_free(&side->analysis);
    alqi_cli_input_drop(side->input);
    alqi_cli_paths_free(&side->paths);
}

/* Analyses a side, and says if its recording has no end. A trace without an end
 * is still compared, but the command ends with UNREADABLE. */
static int
side_read(struct alqi_cli_side *side, const struct alqi_cli_side *other,
          double other_lambda)
{
    struct alqi_cli_analysis_options options = {
        .other_lambda = other_lambda,
        .is_held_wanted = true, /* of leaks it says what is lost */
    };
    int rc;

    alqi_cli_filter_begin(&side->filter, &side->analysis, &options);
    alqi_cli_analysis_run(&side->analysis, side->input, &options);
    alqi_cli_filter_end(&side->filter, &side->analysis, side->input,
                        &other->filter);
    rc = alqi_cli_input_finish(side->input);
    if (rc != ALQI_CLI_OK || !alqi_cli_lacks_end(&side->analysis))
        return rc;
    if (!side->paths.has_many) /* else which one has been said */
        alqi_cli_end_say(&side->analysis.notes, side->input);
    return ALQI_CLI_UNREADABLE;
}

/* Reads, compares and prints. A side that cannot be read whole decides the
 * status before the limit does. */
static int
run(struct alqi_cli_diff *d)
{
    double a = lambda_of(d->a.input), b = lambda_of(d->b.input);
    int rc = side_read(&d->a, &d->b, b);
    int rc_b = side_read(&d->b, &d->a, a);
    int rc_limit;

    alqi_cli_compare(&d->comparison, &d->a, &d->b, d->grouping, d->measure,
                     alqi_cli_diff_is_one_run(d));
    if (d->is_json) {
        alqi_cli_diff_json(d);
    } else {
        alqi_cli_term_start(&d->term, d->color, !d->has_no_pager);
        alqi_cli_diff_table(d);
        alqi_cli_term_stop(&d->term);
    }
    rc_limit = alqi_cli_limit_say(d);
    alqi_cli_comparison_free(&d->comparison);
    side_close(&d->a);
    side_close(&d->b);
    if (rc != ALQI_CLI_OK || rc_b != ALQI_CLI_OK)
        return rc != ALQI_CLI_OK ? rc : rc_b;
    return rc_limit;
}

/* Two moments are of one recording, which is read twice; so it is a file. -1,
 * or the status to exit with. */
static int
one_operand(const struct alqi_cli_diff *d, int argc, char **argv, int first)
{
    if (d->has_measure)
        return alqi_cli_usage("diff", "diff: --at compares what is live then: "
                                      "leave out --peak, --live, --allocated");
    if (first + 1 != argc)
        return alqi_cli_usage("diff", "diff: --at compares two moments of one "
                                      "recording: name one");
    if (strcmp(argv[first], "-") == 0)
        return alqi_cli_usage("diff", "diff: --at reads the recording twice, "
                                      "and standard input cannot be");
    return -1;
}

/* -1 if two traces are named; standard input may be one of them. */
static int
two_operands(int argc, char **argv, int first)
{
    if (first + 2 > argc)
        return alqi_cli_usage("diff", "diff: name two traces, or "
                                      "directories of traces");
    if (first + 2 < argc)
        return alqi_cli_usage("diff", "diff: two at a time; '%s' is too many",
                              argv[first + 2]);
    if (strcmp(argv[first], "-") == 0 && strcmp(argv[first + 1], "-") == 0)
        return alqi_cli_usage("diff",
                              "diff: standard input can be one of the two");
    return -1;
}

/* For an exit before the sides are open; later side_close() does it. */
static void
filters_free(struct alqi_cli_diff *d)
{
    alqi_cli_filter_free(&d->a.filter);
    alqi_cli_filter_free(&d->b.filter);
}

/* The operands are checked before anything is opened. With --at the measure
 * becomes ALLOCATED, as the filters leave only what is live at their
 * moments. */
int
alqi_cli_diff(int argc, char **argv)
{
    struct alqi_cli_diff d;
    int first;
    int rc;

    memset(&d, 0, sizeof d);
    d.measure = ALQI_CLI_PEAK;
    d.top = TOP_DEFAULT;
    d.min_sigma = MIN_SIGMA_DEFAULT;
    rc = alqi_cli_parse("diff", argc, argv, &d, &first);
    if (rc < 0)
        rc = alqi_cli_diff_is_one_run(&d) ? one_operand(&d, argc, argv, first)
                                          : two_operands(argc, argv, first);
    if (rc < 0)
        rc = side_open(&d.a, argv[first]);
    if (rc >= 0) {
        filters_free(&d);
        return rc;
    }
    if (alqi_cli_diff_is_one_run(&d))
        d.measure = ALQI_CLI_ALLOCATED; /* all that the filters leave */
    rc =
        side_open(&d.b, argv[alqi_cli_diff_is_one_run(&d) ? first : first + 1]);
    if (rc >= 0) {
        alqi_cli_input_drop(d.a.input);
        alqi_cli_paths_free(&d.a.paths);
        filters_free(&d);
        return rc;
    }
    return run(&d);
}
