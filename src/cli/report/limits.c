/* limits.c -- aliquot limits: advice on limits, before there is one
 *
 * A limit on a sampled task stops at its k-th sample, so it stops early or late
 * by chance. The command tells for a limit up to which size a task is safe and
 * from which size it is stopped, each but for a chance that the user accepts;
 * or, for a task, the least limit under which it is safe. No trace is read: the
 * answers are computed (limit/plan.h). Phases: options, the missing one of task
 * and limit, then a drawing, text or JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <aliquot/limit.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/report/limits.h"
#include "cli/tool/output.h"
#include "cli/tool/text.h"
#include "limit/plan.h"

/* More than that between the task and its limit is worth a remark. */
static const double INACCURATE = 10;

struct options {
    struct alqi_cli_limits limits;
    /* file of the drawing; NULL: none is wanted */
    const char *plot;
    bool is_json;
    bool overwrites;
};

/* ---- options ------------------------------------------------------------ */

/* Refuses PNG, which users of other tools expect here. */
static bool
plot_take(void *to, const char *verb, const char *value)
{
    const char **path = to;
    const char *dot = strrchr(value, '.');

    *path = value;
    if (dot == NULL || strcasecmp(dot, ".png") != 0)
        return true;
    return alqi_cli_refuse("%s: --plot %s: it is drawn as SVG; name it so, any "
                           "converter makes another of it",
                           verb, value);
}

#define WHOLE_WORDS(least)                                                     \
    "whole words from " least " on, such as 20kw or 1.5Mw (units w kw Mw Gw, " \
    "of 1000)"

/* A chance is neither 0 nor 1: the numbers beside them. */
#define CHANCE_LEAST 0x1p-1074
#define CHANCE_MOST 0x1.fffffffffffffp-1

const struct alqi_cli_option alqi_cli_limits_options[] = {
    {0, "task", "WORDS", NULL,
     "words that the task allocates: 20kw, 1.5Mw, 300",
     ALQI_CLI_WORDS(struct options, limits.task_words), .least = 1,
     .wants = WHOLE_WORDS("1"), ALQI_CLI_ALSO(struct options, limits.has_task)},
    {0, "safe", "P", NULL, "accepted chance of a wrong stop; default 4e-15",
     ALQI_CLI_NUMBER(struct options, limits.probability), .least = CHANCE_LEAST,
     .most = CHANCE_MOST,
     .wants = "a probability above 0 and below 1, such as 4e-15"},
    {0, "limit", "WORDS", NULL, "show what this limit guarantees",
     ALQI_CLI_WORDS(struct options, limits.limit_words),
     .wants = WHOLE_WORDS("0"),
     ALQI_CLI_ALSO(struct options, limits.has_limit)},
    {0, "interval", "WORDS", NULL,
     "mean words between two samples; default 10kw",
     ALQI_CLI_WORDS(struct options, limits.interval_words), .least = 1,
     .wants = WHOLE_WORDS("1")},
    {0, "plot", "OUT.svg", NULL, "draw how accurate limits are",
     ALQI_CLI_TAKEN(plot_take, offsetof(struct options, plot))},
    {0, "json", NULL, NULL, "one JSON object instead of text",
     ALQI_CLI_FLAG(struct options, is_json)},
    {'f', "force", NULL, NULL, "overwrite OUT.svg",
     ALQI_CLI_FLAG(struct options, overwrites)},
    {0},
};

/* ---- text --------------------------------------------------------------- */

/* A number of words with its unit. */
static struct alqi_cli_text
in_words(uint64_t n)
{
    return alqi_cli_text_words((double)n);
}

/* A limit and its promises. Without a given limit, the row's is the least one
 * for the task at that chance and interval. */
static void
print_row(const struct alqi_cli_limits *l, const char *head,
          uint64_t interval_words, double probability)
{
    uint64_t limit = l->has_limit ? l->limit_words
                                  : alqi_limit_for(l->task_words,
                                                   interval_words, probability);
    struct alqi_cli_limits_row row =
        alqi_cli_limits_row(limit, interval_words, probability);

    printf("%-10s %10s %12s %12s", head, in_words(row.limit_words).text,
           in_words(row.safe_words).text, in_words(row.stop_words).text);
    if (l->has_task)
        printf(" %13.3g", (double)row.limit_words / (double)l->task_words);
    putchar('\n');
}

/* The titles of the columns that print_row() fills. */
static void
print_head(const struct alqi_cli_limits *l, const char *what)
{
    printf("%-10s %10s %12s %12s%s\n", what,
           l->has_limit ? "limit" : "least limit", "safe up to", "stopped by",
           l->has_task ? "  limit / task" : "");
}

/* Two tables: the same question at other chances, and at finer intervals. The
 * last row is exact counting. */
static void
print_tables(const struct alqi_cli_limits *l)
{
    static const uint64_t finer[] = {10, 100, 1000};

    print_head(l, "chance");
    for (int i = 0; i < ALQI_CLI_LIMITS_TARGETS; i++)
        print_row(l, alqi_cli_limits_chances[i], l->interval_words,
                  alqi_cli_limits_targets[i]);
    putchar('\n');
    print_head(l, "interval");
    print_row(l, in_words(l->interval_words).text, l->interval_words,
              l->probability);
    for (size_t i = 0; i < ALQI_COUNT_OF(finer); i++)
        if (l->interval_words / finer[i] > 1)
            print_row(l, in_words(l->interval_words / finer[i]).text,
                      l->interval_words / finer[i], l->probability);
    print_row(l, "1 (exact)", 1, l->probability);
}

/* Whether the task is safe under the limit, with the chance that it is
 * stopped. */
static void
print_task(const struct alqi_cli_limits *l)
{
    double reached =
        alqi_limit_reached(l->task_words, l->limit_words, l->interval_words);

    printf("A task of %s (%s)", in_words(l->task_words).text,
           alqi_cli_text_bytes((double)l->task_words * 8).text);
    if (!l->has_limit)
        printf(" needs a limit of %s: the chance that it is\nstopped all the "
               "same is %.3g, below %g.\n",
               in_words(l->limit_words).text, reached, l->probability);
    else if (reached < l->probability)
        printf(" is safe under a limit of %s: the chance that\nit is stopped "
               "all the same is %.3g, below %g.\n",
               in_words(l->limit_words).text, reached, l->probability);
    else
        printf(" is NOT safe under a limit of %s: the chance\nthat it is "
               "stopped is %.3g, not below %g.\n",
               in_words(l->limit_words).text, reached, l->probability);
}

/* The answer in sentences, then the tables. */
static void
print_text(const struct alqi_cli_limits *l)
{
    struct alqi_cli_limits_row row =
        alqi_cli_limits_row(l->limit_words, l->interval_words, l->probability);
    uint64_t k = alqi_limit_samples(l->limit_words, l->interval_words);

    if (l->has_task)
        print_task(l);
    printf("%sA limit of %s is reached at sample %llu, one in %s:\n"
           "  up to %-9s  not stopped   } but with a chance\n"
           "  from  %-9s  stopped       } below %g\n",
           l->has_task ? "\n" : "", in_words(l->limit_words).text,
           (unsigned long long)k, in_words(l->interval_words).text,
           in_words(row.safe_words).text, in_words(row.stop_words).text,
           l->probability);
    if ((double)l->limit_words > INACCURATE * (double)row.safe_words)
        printf("So few samples make it inaccurate: it lies above %g times what "
               "is safe.\nA smaller --interval helps.\n",
               INACCURATE);
    putchar('\n');
    print_tables(l);
}

/* ---- the verb ----------------------------------------------------------- */

/* Writes the drawing to o->plot. Returns ALQI_CLI_OK or the status to exit
 * with. */
static int
draw(const struct options *o)
{
    struct alqi_cli_output out;
    int status = alqi_cli_output_open(&out, o->plot, o->overwrites);

    if (status >= 0)
        return status;
    alqi_cli_limits_plot(&o->limits, out.file);
    return alqi_cli_output_close(&out);
}

/* A drawing needs neither task nor limit; text and JSON need one. The limit for
 * a task is computed before anything is printed. */
int
alqi_cli_limits(int argc, char **argv)
{
    struct options o = {.limits = {.interval_words = ALQ_LIMIT_INTERVAL_WORDS,
                                   .probability = 4e-15}};
    struct alqi_cli_limits *l = &o.limits;
    int first, status;

    status = alqi_cli_parse("limits", argc, argv, &o, &first);
    if (status >= 0)
        return status;
    if (first < argc)
        return alqi_cli_usage("limits", "limits: '%s' is too many",
                              argv[first]);
    if (!l->has_task && !l->has_limit && o.plot == NULL)
        return alqi_cli_usage("limits", "limits: for which --task, or what "
                                        "--limit?");
    if (!l->has_limit && l->has_task)
        l->limit_words =
            alqi_limit_for(l->task_words, l->interval_words, l->probability);
    if (o.plot != NULL) {
        status = draw(&o);
        if (status != ALQI_CLI_OK || (!l->has_task && !l->has_limit))
            return status;
    }
    if (o.is_json)
        alqi_cli_limits_json(l, stdout);
    else
        print_text(l);
    return ALQI_CLI_OK;
}
