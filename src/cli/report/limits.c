/* limits.c -- aliquot limits: advice on limits, before there is one */
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

enum { ID_TASK = 256, ID_SAFE, ID_LIMIT, ID_INTERVAL, ID_PLOT, ID_JSON };

/* More than that between the task and its limit is worth a remark. */
static const double INACCURATE = 10;

const double alqi_cli_limits_targets[] = {1e-9, 4e-15, 1e-50};
const char *const alqi_cli_limits_chances[] = {"1e-9", "4e-15", "1e-50"};

const struct alqi_cli_option alqi_cli_limits_options[] = {
    {ID_TASK, "task", "WORDS", NULL,
     "words that the task allocates: 20kw, 1.5Mw, 300"},
    {ID_SAFE, "safe", "P", NULL,
     "accepted chance of a wrong stop; default 4e-15"},
    {ID_LIMIT, "limit", "WORDS", NULL, "show what this limit guarantees"},
    {ID_INTERVAL, "interval", "WORDS", NULL,
     "mean words between two samples; default 10kw"},
    {ID_PLOT, "plot", "OUT.svg", NULL, "draw how accurate limits are"},
    {ID_JSON, "json", NULL, NULL, "one JSON object instead of text"},
    {'f', "force", NULL, NULL, "overwrite OUT.svg"},
    {0, NULL, NULL, NULL, NULL},
};

struct options {
    struct alqi_cli_limits limits;
    const char *plot;
    bool is_json;
    bool overwrites;
};

/* ---- options ------------------------------------------------------------ */

static bool
words(const char *option, const char *value, uint64_t least, uint64_t *out)
{
    if (alqi_cli_parse_words(value, out) && *out >= least)
        return true;
    alqi_cli_say("limits: --%s %s: whole words from %d on, such as 20kw or "
                 "1.5Mw (units w kw Mw Gw, of 1000)",
                 option, value, (int)least);
    return false;
}

static bool
chance(const char *value, double *out)
{
    char *end;

    *out = strtod(value, &end);
    if (end != value && *end == '\0' && *out > 0 && *out < 1)
        return true;
    alqi_cli_say("limits: --safe %s: a probability above 0 and below 1, such "
                 "as 4e-15",
                 value);
    return false;
}

static bool
plot(const char *path, const char **out)
{
    const char *dot = strrchr(path, '.');

    *out = path;
    if (dot == NULL || strcasecmp(dot, ".png") != 0)
        return true;
    alqi_cli_say("limits: --plot %s: it is drawn as SVG; name it so, any "
                 "converter makes another of it",
                 path);
    return false;
}

static bool
set(void *arg, int id, const char *value)
{
    struct options *o = arg;
    struct alqi_cli_limits *l = &o->limits;

    switch (id) {
    case ID_TASK:
        l->has_task = true;
        return words("task", value, 1, &l->task_words);
    case ID_SAFE:
        return chance(value, &l->probability);
    case ID_LIMIT:
        l->has_limit = true;
        return words("limit", value, 0, &l->limit_words);
    case ID_INTERVAL:
        return words("interval", value, 1, &l->interval_words);
    case ID_PLOT:
        return plot(value, &o->plot);
    case ID_JSON:
        o->is_json = true;
        return true;
    default:
        o->overwrites = true;
        return true;
    }
}

/* ---- text --------------------------------------------------------------- */

struct alqi_cli_limits_row
alqi_cli_limits_row(uint64_t limit_words, uint64_t interval_words,
                    double probability)
{
    return (struct alqi_cli_limits_row){
        limit_words,
        alqi_limit_safe_words(limit_words, interval_words, probability),
        alqi_limit_stop_words(limit_words, interval_words, probability),
    };
}

static struct alqi_cli_text
in_words(uint64_t n)
{
    return alqi_cli_text_words((double)n);
}

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

static void
print_head(const struct alqi_cli_limits *l, const char *what)
{
    printf("%-10s %10s %12s %12s%s\n", what,
           l->has_limit ? "limit" : "least limit", "safe up to", "stopped by",
           l->has_task ? "  limit / task" : "");
}

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

int
alqi_cli_limits(int argc, char **argv)
{
    struct options o = {.limits = {.interval_words = ALQ_LIMIT_INTERVAL_WORDS,
                                   .probability = 4e-15}};
    struct alqi_cli_limits *l = &o.limits;
    int first, status;

    status = alqi_cli_parse("limits", argc, argv, set, &o, &first);
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
