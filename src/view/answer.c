/* answer.c -- from a path and a query to an answer, or to an error
 *
 * [answer.h] A question goes through: the table names the function that
 * answers; the query is parsed, its filter taken, its trace found; the
 * function writes the members of one object. If anything fails on the way,
 * what was written is thrown away and the object holds the error alone.
 *
 * Statuses: 200, 400 (the query is wrong), 404 (no such answer), 500 (no
 * memory, or too large). */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "view/answer.h"
#include "view/ask.h"

/* The answers by name. Names are paths behind /api/. */
static const struct {
    const char *name;
    alqi_view_answer_fn *answer;
} answers[] = {
    {"diff", alqi_view_diff},         {"difftree", alqi_view_difftree},
    {"function", alqi_view_function}, {"functions", alqi_view_functions},
    {"graph", alqi_view_graph},       {"groups", alqi_view_grouped},
    {"growth", alqi_view_growing},    {"heat", alqi_view_heat},
    {"held", alqi_view_held},         {"hot", alqi_view_hot},
    {"info", alqi_view_info},         {"reach", alqi_view_reached},
    {"samples", alqi_view_samples},   {"sites", alqi_view_sites},
    {"source", alqi_view_source},     {"timeline", alqi_view_timeline},
    {"tree", alqi_view_tree},
};

/* Replaces what was written by an error. */
static void
error_put(struct alqi_view_json *out, const char *text)
{
    out->n = 0;
    out->has_failed = out->needs_comma = false;
    alqi_view_json_open(out, '{');
    alqi_view_json_key_text(out, "error", text);
    alqi_view_json_close(out, '}');
}

/* Parses the query and runs the answer. False: the status or the query's error
 * says why. */
static bool
ask_run(struct alqi_view_ask *ask, alqi_view_answer_fn *answer,
        const char *query)
{
    if (!alqi_view_query_parse(&ask->query, query) ||
        !alqi_view_filter_take(&ask->filter, &ask->query, "",
                               ask->set->n_traces))
        return false;
    ask->trace = &ask->set->traces[ask->filter.trace];
    ask->x = &ask->trace->index;
    alqi_view_json_open(ask->out, '{');
    if (!answer(ask))
        return false;
    alqi_view_json_close(ask->out, '}');
    if (ask->out->has_failed)
        alqi_view_refuse(ask, 500, "the answer is too large");
    return ask->status == 200;
}

/* A failure without a status of its own is the query's. */
int
alqi_view_answer(struct alqi_view_set *set, const char *path, const char *query,
                 struct alqi_view_json *out)
{
    struct alqi_view_ask *ask = calloc(1, sizeof *ask);
    alqi_view_answer_fn *answer = NULL;
    int status;

    out->n = 0;
    out->most = ALQI_VIEW_ANSWER_MAX;
    out->has_failed = out->needs_comma = false;
    for (size_t i = 0; i < ALQI_COUNT_OF(answers); i++)
        if (strcmp(answers[i].name, path) == 0)
            answer = answers[i].answer;
    if (ask == NULL || answer == NULL || set == NULL || set->n_traces == 0) {
        error_put(out, ask == NULL      ? "there is no memory for the answer"
                       : answer == NULL ? "there is no such answer"
                                        : "there is no trace");
        free(ask);
        return ask == NULL ? 500 : 404;
    }
    ask->set = set;
    ask->out = out;
    ask->status = 200;
    if (!ask_run(ask, answer, query)) {
        ask->status = ask->status == 200 ? 400 : ask->status;
        error_put(out, ask->query.error);
    }
    status = ask->status;
    alqi_view_query_free(&ask->query);
    free(ask);
    return status;
}
