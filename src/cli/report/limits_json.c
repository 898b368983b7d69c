/* limits_json.c -- the advice as one JSON object, documented in
 * aliquot-limits(1)
 *
 * The object has the question, the advice at the accepted chance, and a table
 * of the same at the three chances of limits_row.c. Numbers of words are
 * integers, chances are reals. A change of meaning raises "schema". */
#include "cli/tool/cli.h"
#include "cli/tool/json.h"
#include "cli/report/limits.h"
#include "limit/plan.h"

/* Raised when a member's meaning changes. */
enum { SCHEMA = 1 };

/* JSON's integers are signed: a limit near 2^64 becomes the largest one. */
static json_t *
count(uint64_t n)
{
    return json_integer(n < INT64_MAX ? (json_int_t)n : INT64_MAX);
}

/* A limit and its promises at one probability; as in the text, the least limit
 * for the task if none is given. */
static json_t *
row_of(const struct alqi_cli_limits *l, double probability)
{
    uint64_t limit =
        l->has_limit
            ? l->limit_words
            : alqi_limit_for(l->task_words, l->interval_words, probability);
    struct alqi_cli_limits_row row =
        alqi_cli_limits_row(limit, l->interval_words, probability);
    json_t *o = json_object();

    alqi_cli_json_set(o, "probability", json_real(probability));
    alqi_cli_json_set(o, "limit_words", count(row.limit_words));
    alqi_cli_json_set(o, "safe_words", count(row.safe_words));
    alqi_cli_json_set(o, "stop_words", count(row.stop_words));
    if (l->has_task)
        alqi_cli_json_set(
            o, "reached",
            json_real(alqi_limit_reached(l->task_words, row.limit_words,
                                         l->interval_words)));
    return o;
}

/* The members keep their order, so that two outputs can be compared by line. */
void
alqi_cli_limits_json(const struct alqi_cli_limits *l, FILE *out)
{
    json_t *o = json_object();
    json_t *rows = json_array();

    alqi_cli_json_set(o, "schema", json_integer(SCHEMA));
    alqi_cli_json_set(o, "interval_words", count(l->interval_words));
    if (l->has_task)
        alqi_cli_json_set(o, "task_words", count(l->task_words));
    alqi_cli_json_set(
        o, "samples",
        count(alqi_limit_samples(l->limit_words, l->interval_words)));
    alqi_cli_json_set(o, "advice", row_of(l, l->probability));
    for (int i = 0; i < ALQI_CLI_LIMITS_TARGETS; i++)
        json_array_append_new(rows, row_of(l, alqi_cli_limits_targets[i]));
    alqi_cli_json_set(o, "table", rows);
    json_dumpf(o, out, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
    putc('\n', out);
    json_decref(o);
}
