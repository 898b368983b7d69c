/* top_json.c -- a picture as one line of JSON, as aliquot-top(1) tells
 *
 * The object has the process and its state, then, if there is a picture, the
 * figures of the whole, then the rows that the table would have. Quantities are
 * integers with their unit in the key, as in the report's. Nothing is kept
 * between two lines, and a changed meaning raises "schema". */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/json.h"
#include "cli/live/top.h"

/* Raised when a member's meaning changes. */
enum { SCHEMA = 1 };

#define US_A_SECOND 1e6

/* null for what is not known. */
static void
put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text[0] != '\0' ? json_string(text) : NULL;

    alqi_cli_json_set(object, key, value != NULL ? value : json_null());
}

/* An estimate, its standard error, and its interval. */
static void
put_estimate(json_t *o, const char *key, double estimate, double error,
             const struct alqi_view_interval *x)
{
    char name[64];

    alqi_cli_json_put_whole(o, key, estimate);
    snprintf(name, sizeof name, "%s_stderr", key);
    alqi_cli_json_put_whole(o, name, error);
    snprintf(name, sizeof name, "%s_low", key);
    alqi_cli_json_put_whole(o, name, x->low);
    snprintf(name, sizeof name, "%s_high", key);
    alqi_cli_json_put_whole(o, name, x->high);
}

/* The bytes of a sum, each figure times `scale`. */
static void
put_bytes(json_t *o, const char *key, const struct alqi_cli_top_part *p,
          const struct alqi_cli_sum *s, double scale)
{
    struct alqi_view_interval x =
        alqi_cli_bytes_interval(&p->picture.estimator, s);

    x.low *= scale;
    x.high *= scale;
    put_estimate(o, key, s->bytes * scale,
                 alqi_cli_stderr(s->bytes_var) * scale, &x);
}

/* The figures of a row or of the whole; a rate is 0 while it is not known. */
static void
put_figures(json_t *o, const struct alqi_cli_top_part *p,
            const struct alqi_cli_top_figures *f)
{
    double s = (double)p->recent_us / US_A_SECOND;
    struct alqi_view_interval blocks =
        alqi_cli_objects_interval(&p->picture.estimator, &f->live);

    put_bytes(o, "live_bytes", p, &f->live, 1);
    put_estimate(o, "live_objects", f->live.objects,
                 alqi_cli_stderr(f->live.objects_var), &blocks);
    alqi_cli_json_count(o, "live_sampled_blocks", f->live.n_blocks);
    put_bytes(o, "peak_bytes", p, &f->peak, 1);
    put_bytes(o, "allocated_bytes", p, &f->allocated, 1);
    alqi_cli_json_count(o, "sampled_blocks", f->allocated.n_blocks);
    put_bytes(o, "allocated_bytes_per_s", p, &f->recent, s > 0 ? 1 / s : 0);
}

/* One row; depth tells where it stands in the tree, as rows are a list. */
static json_t *
row_make(const struct alqi_cli_top *top, const struct alqi_cli_top_row *row)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    const struct alqi_cli_top_node *n = &top->tree.nodes[row->node];
    const struct alqi_cli_names *names = p->picture.names;
    json_t *o = json_object();

    put_text(o, "function", alqi_cli_names_text(names, n->frame.function));
    put_text(o, "file", alqi_cli_names_text(names, n->frame.file));
    if (n->frame.line > 0)
        alqi_cli_json_count(o, "line", (uint64_t)n->frame.line);
    put_text(o, "module", alqi_cli_names_text(names, n->frame.module));
    alqi_cli_json_set(o, "is_mapping", json_boolean(n->is_mapping));
    alqi_cli_json_count(o, "depth", row->depth);
    put_figures(o, p, &n->figures);
    return o;
}

/* The part itself: process, state, losses, and how long "lately" is. */
static void
put_process(json_t *o, const struct alqi_cli_top_part *p)
{
    alqi_cli_json_count(o, "pid", p->pid > 0 ? (uint64_t)p->pid : 0);
    put_text(o, "program", p->command);
    put_text(o, "heap", p->is_heap ? "managed" : "malloc");
    put_text(o, "state", p->is_gone ? "ended" : p->state);
    put_text(o, "trouble", p->trouble);
    put_text(o, "recording", p->path);
    alqi_cli_json_count(o, "age_us", p->proc.age_us);
    alqi_cli_json_count(o, "rss_bytes", p->proc.rss_bytes);
    if (p->is_heap)
        alqi_cli_json_count(o, "heap_bytes", p->heap_bytes);
    if (p->rate > 0)
        alqi_cli_json_put_whole(o, "interval_bytes", ALQI_WORD_BYTES / p->rate);
    alqi_cli_json_count(o, "dropped_samples", p->counts.n_dropped);
    alqi_cli_json_count(o, "lost_frees", p->counts.n_lost);
    alqi_cli_json_count(o, "window_us", p->recent_us);
}

/* Without a picture there are no figures, but the process and its state. */
void
alqi_cli_top_json(const struct alqi_cli_top *top,
                  const struct alqi_cli_top_row *rows, uint32_t n_rows)
{
    const struct alqi_cli_top_part *p = alqi_cli_top_now(top);
    json_t *o = json_object(), *sites = json_array();

    alqi_cli_json_count(o, "schema", SCHEMA);
    put_process(o, p);
    if (p->has_picture) {
        put_figures(o, p, &top->tree.nodes[0].figures);
        put_bytes(o, "heap_peak_bytes", p, &p->picture.totals[ALQI_CLI_PEAK],
                  1);
        alqi_cli_json_count(o, "heap_peak_us", alqi_cli_peak_us(&p->picture));
        alqi_cli_json_count(o, "recorded_us", p->picture.end_us);
    }
    for (uint32_t i = 0; i < n_rows; i++)
        json_array_append_new(sites, row_make(top, &rows[i]));
    alqi_cli_json_set(o, "sites", sites);
    json_dumpf(o, stdout, JSON_COMPACT);
    fputc('\n', stdout);
    json_decref(o);
}
