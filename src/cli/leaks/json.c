/* json.c -- the same as JSON, with every site and holder
 *
 * What is written is a look, too: growth.c reads some of one process. */
#include <stdlib.h>

#include "cli/analysis/groups.h"
#include "cli/leaks/leaks.h"
#include "cli/report/draw.h"
#include "cli/tool/cli.h"

enum { NAME_BYTES = 512 };

static void
sum_put(const struct alqi_cli_leaks_run *r, json_t *to,
        const struct alqi_cli_sum *sum)
{
    const struct alqi_cli_estimator *e = &r->found.analysis.estimator;
    struct alqi_view_interval bytes = alqi_cli_bytes_interval(e, sum),
                              blocks = alqi_cli_objects_interval(e, sum);

    alqi_cli_json_put_whole(to, "bytes", sum->bytes);
    alqi_cli_json_put_whole(to, "blocks", sum->objects);
    alqi_cli_json_count(to, "seen_blocks", sum->n_blocks);
    if (alqi_cli_is_sampled(e)) {
        alqi_cli_json_put_whole(to, "bytes_low", bytes.low);
        alqi_cli_json_put_whole(to, "bytes_high", bytes.high);
        alqi_cli_json_put_whole(to, "blocks_low", blocks.low);
        alqi_cli_json_put_whole(to, "blocks_high", blocks.high);
    }
}

/* The root and the blocks between it and the row's largest block. */
static json_t *
way_json(struct alqi_cli_leaks_run *r, const struct alqi_cli_leak_row *row)
{
    struct alqi_cli_leak_way way = alqi_cli_leak_way_of(&r->scan, row->largest);
    json_t *to = json_object(), *steps = json_array();
    char place[NAME_BYTES];

    if (way.root != ALQI_CLI_LEAK_BY_NONE) {
        alqi_cli_leak_place(r->places, r->scan.roots[way.root].at, place,
                            sizeof place);
        alqi_cli_json_set(to, "root", alqi_cli_json_clean(place));
    }
    for (uint32_t i = 0; i + 1 < way.n_blocks; i++) {
        uint32_t node = r->found.nodes[way.blocks[i]];
        struct alqi_cli_frame site = {0};
        json_t *step = json_object();

        if (node > 0)
            site = alqi_cli_leak_site(&r->found, node - 1);
        alqi_cli_json_count(step, "bytes",
                            r->scan.table.blocks[way.blocks[i]].bytes);
        if (node > 0)
            alqi_cli_json_set(step, "function",
                              json_string(alqi_cli_names_text(
                                  r->found.analysis.names, site.function)));
        json_array_append_new(steps, step);
    }
    alqi_cli_json_count(to, "left_out", way.n_left_out);
    alqi_cli_json_set(to, "blocks", steps);
    return to;
}

static json_t *
row_json(struct alqi_cli_leaks_run *r, const struct alqi_cli_leak_row *row)
{
    const struct alqi_cli_names *names = r->found.analysis.names;
    json_t *to = json_object();

    alqi_cli_json_set(to, "class",
                      json_string(alqi_cli_leak_class_name(row->class)));
    alqi_cli_json_set(
        to, "function",
        json_string(alqi_cli_names_text(names, row->frame.function)));
    alqi_cli_json_set(to, "file",
                      json_string(alqi_cli_names_text(names, row->frame.file)));
    alqi_cli_json_count(to, "line", (uint64_t)row->frame.line);
    alqi_cli_json_set(
        to, "module",
        json_string(alqi_cli_names_text(names, row->frame.module)));
    sum_put(r, to, &row->sum);
    alqi_cli_json_set(to, "way", way_json(r, row));
    return to;
}

/* ---- holders ------------------------------------------------------------- */

static void
site_put(struct alqi_cli_leaks_run *r, json_t *to,
         const struct alqi_cli_frame *site)
{
    const struct alqi_cli_names *names = r->found.analysis.names;

    if (site->function == ALQI_CLI_NO_NAME)
        return;
    alqi_cli_json_set(to, "function",
                      json_string(alqi_cli_names_text(names, site->function)));
    alqi_cli_json_set(to, "module",
                      json_string(alqi_cli_names_text(names, site->module)));
    if (site->file != ALQI_CLI_NO_NAME)
        alqi_cli_json_set(to, "file",
                          json_string(alqi_cli_names_text(names, site->file)));
}

/* The steps between root and blocks, the first one first. */
static json_t *
steps_json(struct alqi_cli_leaks_run *r, const struct alqi_cli_leak_step *last)
{
    const struct alqi_cli_leak_step *steps = r->holders.steps, *s;
    json_t *to = json_array();

    if (last->depth == 0)
        return to;
    for (s = &steps[last->parent]; s->depth > 0; s = &steps[s->parent]) {
        json_t *step = json_object();

        site_put(r, step, &s->site);
        alqi_cli_json_count(step, "most", s->most);
        json_array_insert_new(to, 0, step);
    }
    return to;
}

static json_t *
holding_json(struct alqi_cli_leaks_run *r,
             const struct alqi_cli_leak_holding *row)
{
    const struct alqi_cli_leak_step *s = &r->holders.steps[row->step];
    const struct alqi_cli_leak_step *root = &r->holders.steps[s->first];
    json_t *to = json_object();

    alqi_cli_json_set(to, "class",
                      json_string(alqi_cli_leak_class_name(row->class)));
    if (root->root != ALQI_CLI_NO_NAME)
        alqi_cli_json_set(to, "root",
                          json_string(alqi_cli_names_text(
                              r->found.analysis.names, root->root)));
    alqi_cli_json_set(to, "steps", steps_json(r, s));
    site_put(r, to, &s->site);
    alqi_cli_json_count(to, "most", s->most);
    sum_put(r, to, &row->sum);
    return to;
}

/* Rows get their sampled blocks: what tells that a block of another look is the
 * same (address, and when it was made), its bytes, the chance that it is seen.
 * Bytes of blocks that are seen for certain are summed up. */
struct samples {
    struct alqi_cli_leaks_run *run;
    json_t **rows;         /* each row's blocks */
    double *certain_bytes; /* by row */
};

static void
sample_put(void *arg, uint32_t block, const struct alqi_cli_life *life)
{
    struct samples *s = arg;
    struct alqi_cli_estimator *e = &s->run->found.analysis.estimator;
    double bytes = alqi_cli_block_bytes(e, life->length);
    double p = e->rates[life->rate].lambda >= 1
                   ? 1
                   : alqi_cli_odds(e, life->rate, life->length).p;
    uint32_t row = s->run->holders.rows_of[block] - 1;
    json_t *to;

    if (p >= 1) {
        s->certain_bytes[row] += bytes;
        return;
    }
    to = json_array();
    json_array_append_new(
        to, json_integer((json_int_t)s->run->scan.table.blocks[block].start));
    json_array_append_new(to, json_integer((json_int_t)life->time_us));
    json_array_append_new(to, alqi_cli_json_whole(bytes));
    json_array_append_new(to, json_real(p));
    json_array_append_new(s->rows[row], to);
}

static json_t *
holders_json(struct alqi_cli_leaks_run *r)
{
    uint32_t n = r->holders.n_rows;
    struct samples s = {.run = r,
                        .rows = alqi_cli_zeros(n + 1, sizeof(json_t *)),
                        .certain_bytes = alqi_cli_zeros(n + 1, sizeof(double))};
    json_t *to = json_array();

    for (uint32_t i = 0; i < n; i++) {
        json_t *row = holding_json(r, &r->holders.rows[i]);

        s.rows[i] = json_array();
        alqi_cli_json_set(row, "samples", s.rows[i]);
        json_array_append_new(to, row);
    }
    alqi_cli_leak_found_each(&r->found, sample_put, &s);
    for (uint32_t i = 0; i < n; i++)
        alqi_cli_json_put_whole(json_array_get(to, i), "certain_bytes",
                                s.certain_bytes[i]);
    free(s.rows);
    free(s.certain_bytes);
    return to;
}

/* ---- all of it ----------------------------------------------------------- */

/* What tells looks of one recording from others, and their moments. */
static void
look_put(struct alqi_cli_leaks_run *r, json_t *to)
{
    const struct alqi_cli_estimator *e = &r->found.analysis.estimator;

    alqi_cli_json_count(to, "pid", (uint64_t)r->core.target.pid);
    alqi_cli_json_count(to, "recorded_since_us", r->found.start_us);
    alqi_cli_json_set(to, "moment", json_string(alqi_cli_leak_moment(r)));
    alqi_cli_json_count(to, "at_us", r->at_us);
    alqi_cli_json_set(to, "whole", json_boolean(r->is_whole));
    alqi_cli_json_put_whole(
        to, "interval_bytes",
        alqi_cli_is_sampled(e) ? e->word_bytes / e->least_lambda : 0);
}

json_t *
alqi_cli_leaks_json(struct alqi_cli_leaks_run *r)
{
    json_t *to = json_object(), *classes = json_object(), *sites = json_array();
    json_t *old = json_object();

    look_put(r, to);
    alqi_cli_json_count(to, "stopped_us", r->core.stopped_ns / 1000);
    alqi_cli_json_set(
        to, "copied_by",
        json_string(r->core.sent != NULL ? "process" : "command"));
    alqi_cli_json_count(to, "unknown_threads", r->core.n_unknown);
    alqi_cli_json_count(to, "scanned_bytes", r->scan.memory.n_words * 8);
    alqi_cli_json_count(to, "scan_us", r->scan_us);
    alqi_cli_json_count(to, "scan_cpu_us", r->scan_cpu_us);
    alqi_cli_json_count(to, "unread_bytes", r->scan.memory.unread_bytes);
    alqi_cli_json_count(to, "device_bytes", r->scan.device_bytes);
    alqi_cli_json_count(to, "unrecorded_blocks", r->scan.heap.n_found);
    alqi_cli_json_count(to, "unclassed_blocks", r->found.n_elsewhere);
    alqi_cli_json_set(to, "python_unrecorded",
                      json_boolean(alqi_cli_leaks_python(r) != NULL));
    for (int c = 0; c < ALQI_CLI_LEAK_CLASSES; c++) {
        json_t *sum = json_object();

        sum_put(r, sum, &r->found.totals[c]);
        alqi_cli_json_set(classes,
                          alqi_cli_leak_class_name((enum alqi_cli_leak_class)c),
                          sum);
    }
    alqi_cli_json_set(to, "classes", classes);
    alqi_cli_json_count(old, "scanned_bytes", r->scan.weak_bytes);
    sum_put(r, old, &r->found.may_be_old);
    alqi_cli_json_set(to, "may_be_old", old);
    for (uint32_t i = 0; i < r->found.n_rows; i++)
        json_array_append_new(sites, row_json(r, &r->found.rows[i]));
    alqi_cli_json_set(to, "sites", sites);
    alqi_cli_json_set(to, "holders", holders_json(r));
    return to;
}

void
alqi_cli_leaks_json_end(json_t *json)
{
    json_dumpf(json, stdout, JSON_INDENT(1));
    fputc('\n', stdout);
    json_decref(json);
}
