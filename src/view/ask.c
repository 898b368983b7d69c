/* ask.c -- what the answers share: refusals, the scan and shape, sums as JSON
 *
 * [ask.h] A refusal sets the status and keeps its text in the query's error,
 * from where answer.c takes it. Figures are whole numbers: estimates are
 * rounded once, here. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "view/ask.h"
#include "view/interval.h"

/* The query's own error, if there is one, is replaced: the refusal is what is
 * answered. */
bool
alqi_view_refuse(struct alqi_view_ask *ask, int status, const char *format, ...)
{
    va_list args;

    if (ask->status != 200)
        return false;
    ask->status = status;
    va_start(args, format);
    ask->query.error[0] = '\0';
    vsnprintf(ask->query.error, sizeof ask->query.error, format, args);
    va_end(args);
    return false;
}

bool
alqi_view_give_up(struct alqi_view_ask *ask)
{
    return alqi_view_refuse(ask, 500, "there is no memory for the answer");
}

bool
alqi_view_ready(struct alqi_view_ask *ask)
{
    return alqi_view_query_done(&ask->query);
}

/* UINT32_MAX is no function's number: it stands for a missing key or a wrong
 * one. */
bool
alqi_view_take_function(struct alqi_view_ask *ask, const char *key,
                        uint32_t *function)
{
    *function = (uint32_t)alqi_view_query_number(
        &ask->query, key, 0, ask->x->n_named - 1, UINT32_MAX);
    if (*function == UINT32_MAX)
        alqi_view_query_fail(&ask->query, "%s=N is missing", key);
    return *function != UINT32_MAX;
}

bool
alqi_view_look(struct alqi_view_ask *ask, const struct alqi_view_scan **scan,
               const struct alqi_view_shape **shape)
{
    *scan = alqi_view_scan_of(ask->trace, &ask->filter);
    *shape = alqi_view_shape_of(ask->trace, &ask->filter);
    return (*scan != NULL && *shape != NULL) || alqi_view_give_up(ask);
}

void
alqi_view_put_interval(struct alqi_view_json *out, const char *key,
                       const struct alqi_view_interval *x)
{
    char name[32];

    snprintf(name, sizeof name, "%s_range", key);
    alqi_view_json_key(out, name);
    alqi_view_json_open(out, '[');
    alqi_view_json_whole(out, x->low);
    alqi_view_json_whole(out, x->high);
    alqi_view_json_close(out, ']');
    snprintf(name, sizeof name, "%s_few", key);
    alqi_view_json_key(out, name);
    alqi_view_json_bool(out, alqi_view_is_few(x));
}

void
alqi_view_put_sum(struct alqi_view_json *out, const char *key,
                  const struct alqi_view_sum *s)
{
    struct alqi_view_interval bytes =
        alqi_view_sum_interval(s, ALQI_VIEW_BY_BYTES);
    struct alqi_view_interval blocks =
        alqi_view_sum_interval(s, ALQI_VIEW_BY_BLOCKS);

    alqi_view_json_key(out, key);
    alqi_view_json_open(out, '{');
    alqi_view_json_key(out, "bytes");
    alqi_view_json_whole(out, s->bytes);
    alqi_view_json_key(out, "bytes_se");
    alqi_view_json_whole(out, alqi_view_sum_stderr(s, ALQI_VIEW_BY_BYTES));
    alqi_view_put_interval(out, "bytes", &bytes);
    alqi_view_json_key(out, "blocks");
    alqi_view_json_whole(out, s->objects);
    alqi_view_json_key(out, "blocks_se");
    alqi_view_json_whole(out, alqi_view_sum_stderr(s, ALQI_VIEW_BY_BLOCKS));
    alqi_view_put_interval(out, "blocks", &blocks);
    alqi_view_json_key_int(out, "n", (int64_t)s->n);
    alqi_view_json_key_int(out, "samples", (int64_t)s->n_samples);
    alqi_view_json_close(out, '}');
}

void
alqi_view_put_rest(struct alqi_view_json *out, uint64_t n_rows,
                   const struct alqi_view_sum *sum)
{
    alqi_view_json_key(out, "rest");
    alqi_view_json_open(out, '{');
    alqi_view_json_key_int(out, "rows", (int64_t)n_rows);
    alqi_view_put_sum(out, "sum", sum);
    alqi_view_json_close(out, '}');
}
