/* growth_print.c -- rows that grow as text, all rows as JSON
 *
 * Texts come from looks, which may come from files: they are cleaned before
 * they are shown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/analysis/errors.h"
#include "cli/leaks/growth.h"
#include "cli/report/draw.h"
#include "cli/tool/text.h"

enum {
    RATE = 13,
    INTERVAL = 22,
    NOW = 10,
    ERROR = 9,
    CLASS = 10,
    NAME_BYTES = 512
};

static const double US_A_MINUTE = 60e6, ROUNDING = 1e-9;

/* ---- text ---------------------------------------------------------------- */

/* Columns of figures, and the two behind them. */
static int
used(const struct alqi_cli_leak_growth *g)
{
    return RATE + INTERVAL + NOW +
           (alqi_cli_is_sampled(&g->estimator) ? ERROR : 0) + 2;
}

static void
text_of(const json_t *object, const char *key, char out[NAME_BYTES])
{
    const char *text = json_string_value(json_object_get(object, key));

    alqi_cli_clean(out, NAME_BYTES, text != NULL ? text : "");
}

static void
function_draw(const struct alqi_cli_term *t, enum alqi_cli_style style,
              const json_t *site, int *left)
{
    char text[NAME_BYTES], name[NAME_BYTES] = "memory that is not recorded";

    text_of(site, "function", text);
    if (text[0] != '\0')
        alqi_cli_draw_name(name, sizeof name, text);
    alqi_cli_draw_fit_name(t, style, name, left);
}

/* "← cache (server) → table_new"; of lost blocks nothing. */
static void
holder_draw(const struct alqi_cli_term *t, const json_t *row, int indent)
{
    int left = t->width - indent;
    char root[NAME_BYTES];
    const json_t *step;
    size_t i;

    text_of(row, "root", root);
    if (root[0] == '\0')
        return;
    fprintf(t->out, "%*s", indent, "");
    alqi_cli_draw_text(t, ALQI_CLI_DIM, &left, "← ");
    alqi_cli_draw_fit_name(t, ALQI_CLI_PLAIN, root, &left);
    json_array_foreach(json_object_get(row, "steps"), i, step)
    {
        alqi_cli_draw_text(t, ALQI_CLI_DIM, &left, " → ");
        function_draw(t, ALQI_CLI_DIM, step, &left);
    }
    fputc('\n', t->out);
}

/* "-1.2 KiB", which bytes as text have no sign for. */
static struct alqi_cli_text
signed_bytes(double bytes)
{
    struct alqi_cli_text size = alqi_cli_text_bytes(bytes < 0 ? -bytes : bytes);
    struct alqi_cli_text out;

    snprintf(out.text, sizeof out.text, "%s%.30s", bytes < 0 ? "-" : "",
             size.text);
    return out;
}

static void
class_draw(const struct alqi_cli_term *t, const json_t *row, int *left)
{
    char class[NAME_BYTES];

    text_of(row, "class", class);
    for (char *c = class; *c != '\0'; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    alqi_cli_draw_text(t, ALQI_CLI_PLAIN, left, "%-*.*s", CLASS, CLASS, class);
}

static void
row_draw(const struct alqi_cli_leak_growth *g,
         const struct alqi_cli_leak_growing *r, const struct alqi_cli_term *t)
{
    int left = t->width - used(g);
    char text[2 * sizeof(struct alqi_cli_text) + 8] = "", file[NAME_BYTES];

    alqi_cli_draw_right(t, alqi_cli_text_growth(r->rate, -1).text, RATE);
    if (r->interval.high - r->interval.low > ROUNDING * r->rate)
        snprintf(text, sizeof text, "[%s, %s]",
                 signed_bytes(r->interval.low).text,
                 signed_bytes(r->interval.high).text);
    alqi_cli_draw_right(t, text, INTERVAL);
    alqi_cli_draw_right(t, alqi_cli_text_bytes(r->bytes[g->n_looks - 1]).text,
                        NOW);
    if (alqi_cli_is_sampled(&g->estimator))
        alqi_cli_draw_right(
            t, alqi_cli_error_percent(&g->estimator, &r->now).text, ERROR);
    fputs("  ", t->out);
    class_draw(t, r->row, &left);
    function_draw(t, ALQI_CLI_BOLD, r->row, &left);
    text_of(r->row, "file", file);
    if (file[0] != '\0' && left > 4) {
        alqi_cli_draw_fit(t, ALQI_CLI_PLAIN, "  ", &left);
        alqi_cli_draw_fit(t, ALQI_CLI_PLAIN, alqi_base_file_name(file), &left);
    }
    fputc('\n', t->out);
    holder_draw(t, r->row, used(g) + 2);
}

static void
heads(const struct alqi_cli_leak_growth *g, const struct alqi_cli_term *t)
{
    fputs(alqi_cli_style(t, ALQI_CLI_DIM), t->out);
    alqi_cli_draw_right(t, "grows by", RATE);
    alqi_cli_draw_right(t, "95 %", INTERVAL);
    alqi_cli_draw_right(t, "now", NOW);
    if (alqi_cli_is_sampled(&g->estimator))
        alqi_cli_draw_right(t, "±", ERROR);
    fprintf(t->out, "  class, site, and what holds its blocks%s\n",
            alqi_cli_style(t, ALQI_CLI_PLAIN));
}

/* What is not listed, and what two looks cannot tell. */
static void
others_say(const struct alqi_cli_leak_growth *g, const struct alqi_cli_term *t)
{
    uint32_t n = g->n_rows - g->n_growing;

    if (n > 0)
        fprintf(t->out, "%u%s row%s not grow beyond chance%s", n,
                g->n_growing > 0 ? " other" : "", n == 1 ? " does" : "s do",
                g->n_shrinking > 0 ? "" : "\n");
    if (g->n_shrinking > 0)
        fprintf(t->out, "; %u of them shrink%s\n", g->n_shrinking,
                g->n_shrinking == 1 ? "s" : "");
    if (g->n_looks == 2)
        fputs("two looks tell growth from sampling's chance, but not from ups "
              "and downs: three or more do\n",
              t->out);
    if (alqi_cli_is_sampled(&g->estimator))
        fprintf(t->out, "what has no sample in any look grows by %s at most\n",
                alqi_cli_text_growth(g->unseen_rate, -1).text);
}

void
alqi_cli_leak_growth_print(const struct alqi_cli_leak_growth *g,
                           const struct alqi_cli_term *t, uint64_t top)
{
    const json_t *last = g->looks[g->n_looks - 1];
    uint32_t n = g->n_growing;

    if (top > 0 && n > top)
        n = (uint32_t)top;
    fprintf(
        t->out, "process %" PRIu64 ", %u looks in %s; ",
        (uint64_t)json_number_value(json_object_get(last, "pid")), g->n_looks,
        alqi_cli_text_duration(g->at_min[g->n_looks - 1] * US_A_MINUTE).text);
    if (g->interval_bytes > 0)
        fprintf(t->out, "a sample for each %s is recorded\n\n",
                alqi_cli_text_bytes(g->interval_bytes).text);
    else
        fputs("every block is recorded\n\n", t->out);
    alqi_cli_print(t, ALQI_CLI_BOLD, "GROWTH");
    fputs(" by class, holder and site\n", t->out);
    if (n > 0)
        heads(g, t);
    for (uint32_t i = 0; i < n; i++)
        row_draw(g, &g->rows[i], t);
    if (n < g->n_growing)
        fprintf(t->out, "   %u more (--top=0 shows all)\n", g->n_growing - n);
    if (g->n_growing == 0)
        fputs("   nothing\n", t->out);
    fputc('\n', t->out);
    others_say(g, t);
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *
row_json(const struct alqi_cli_leak_growth *g,
         const struct alqi_cli_leak_growing *r)
{
    static const char *const keys[] = {"class",    "root",   "steps",
                                       "function", "module", "file"};
    struct alqi_view_interval now =
        alqi_cli_bytes_interval(&g->estimator, &r->now);
    json_t *to = json_object(), *bytes = json_array();

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_object_get(r->row, keys[i]) != NULL)
            alqi_cli_json_set(to, keys[i],
                              json_incref(json_object_get(r->row, keys[i])));
    for (uint32_t k = 0; k < g->n_looks; k++)
        json_array_append_new(bytes, alqi_cli_json_whole(r->bytes[k]));
    alqi_cli_json_set(to, "bytes", bytes);
    if (alqi_cli_is_sampled(&g->estimator)) {
        alqi_cli_json_put_whole(to, "now_bytes_low", now.low);
        alqi_cli_json_put_whole(to, "now_bytes_high", now.high);
    }
    alqi_cli_json_set(to, "grows", json_boolean(r->grows));
    alqi_cli_json_set(to, "shrinks", json_boolean(r->shrinks));
    alqi_cli_json_put_whole(to, "bytes_per_min", r->rate);
    alqi_cli_json_put_whole(to, "bytes_per_min_low", r->interval.low);
    alqi_cli_json_put_whole(to, "bytes_per_min_high", r->interval.high);
    alqi_cli_json_set(to, "chance", json_real(r->chance));
    return to;
}

json_t *
alqi_cli_leak_growth_json(const struct alqi_cli_leak_growth *g)
{
    const json_t *first = g->looks[0];
    json_t *to = json_object(), *rows = json_array();

    alqi_cli_json_set(to, "pid", json_incref(json_object_get(first, "pid")));
    alqi_cli_json_count(to, "looks", g->n_looks);
    alqi_cli_json_put_whole(to, "duration_us",
                            g->at_min[g->n_looks - 1] * US_A_MINUTE);
    alqi_cli_json_put_whole(to, "interval_bytes", g->interval_bytes);
    if (alqi_cli_is_sampled(&g->estimator))
        alqi_cli_json_put_whole(to, "unseen_bytes_per_min_high",
                                g->unseen_rate);
    for (uint32_t i = 0; i < g->n_rows; i++)
        json_array_append_new(rows, row_json(g, &g->rows[i]));
    alqi_cli_json_set(to, "rows", rows);
    return to;
}
