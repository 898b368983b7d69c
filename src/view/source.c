/* source.c -- the answer `source`: lines of a source file with what each has
 *
 * The lines come from the set's reader (set.h), a window around the one that
 * is asked for; without a reader there is no answer. The figures are sums over
 * the functions of the whole file (function_sums.h). Lines that do not fit are
 * written empty, so that numbers stay right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/function_sums.h"

/* Bounds: lines before and after, the highest number, and the bytes that a sum
 * and all sums may take. */
enum {
    LINES_AROUND = 150,
    LINE_MAX = 1000000000,
    SUM_BYTES = 200,
    MOST_SUMS = 2 * LINES_AROUND + 1
};

/* Writes the sums of the lines in the window, by line number. */
static void
put_sums(struct alqi_view_json *out, const struct alqi_view_lines *lines,
         uint64_t from, int n)
{
    char key[24];

    alqi_view_json_key(out, "sums");
    alqi_view_json_open(out, '{');
    for (uint32_t i = 0; i < lines->n; i++) {
        int32_t line = lines->rows[i].line;

        if (line <= 0 || (uint64_t)line < from ||
            (uint64_t)line >= from + (uint64_t)n)
            continue;
        snprintf(key, sizeof key, "%d", line);
        alqi_view_put_sum(out, key, &lines->rows[i].sum);
    }
    alqi_view_json_close(out, '}');
}

/* Writes the lines, as far as there is room. */
static void
put_text(struct alqi_view_json *out, const char **lines, int n)
{
    alqi_view_json_key(out, "lines");
    alqi_view_json_open(out, '[');
    for (int i = 0; i < n; i++)
        alqi_view_json_text(
            out, out->n + alqi_view_json_bytes(lines[i]) + 2 * SUM_BYTES <
                         ALQI_VIEW_ROWS_BYTES - MOST_SUMS * SUM_BYTES
                     ? lines[i]
                     : "");
    alqi_view_json_close(out, ']');
}

/* Writes the window around a line of the function's file. False after a
 * refusal. */
static bool
put(struct alqi_view_ask *ask, uint32_t function, uint64_t line)
{
    const char *path = alqi_view_text(ask->x, ask->x->functions[function].file);
    uint64_t from = line > LINES_AROUND ? line - LINES_AROUND : 1;
    const char *text[MOST_SUMS];
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct alqi_view_lines lines;
    int n;

    if (ask->set->lines == NULL)
        return alqi_view_refuse(ask, 404, "there are no source files here");
    if (path[0] == '\0')
        return alqi_view_refuse(ask, 404,
                                "the trace names no file of this function");
    n = ask->set->lines(ask->set->lines_arg, path, from, text, MOST_SUMS);
    if (n < 0)
        return alqi_view_refuse(ask, 404, "%.200s cannot be read", path);
    if (!alqi_view_look(ask, &scan, &shape))
        return false;
    if (!alqi_view_lines_make(&lines, ask->x, shape, scan, function, true))
        return alqi_view_give_up(ask);
    alqi_view_json_key_text(ask->out, "path", path);
    alqi_view_json_key_int(ask->out, "from", (int64_t)from);
    put_text(ask->out, text, n);
    put_sums(ask->out, &lines, from, n);
    free(lines.rows);
    return true;
}

bool
alqi_view_source(struct alqi_view_ask *ask)
{
    uint64_t line = alqi_view_query_number(&ask->query, "line", 0, LINE_MAX, 1);
    uint32_t function;

    return alqi_view_take_function(ask, "file", &function) &&
           alqi_view_ready(ask) && put(ask, function, line);
}
