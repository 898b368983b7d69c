/* json.c -- the same as JSON, with every site */
#include "cli/tool/json.h"

#include "cli/analysis/groups.h"
#include "cli/leaks/leaks.h"
#include "cli/report/draw.h"

enum { NAME_BYTES = 512 };

static void
sum_put(const struct alqi_cli_leaks_run *r, json_t *to,
        const struct alqi_cli_sum *sum)
{
    const struct alqi_cli_estimator *e = &r->found.analysis.estimator;
    struct alqi_view_interval bytes = alqi_cli_bytes_interval(e, sum);

    alqi_cli_json_put_whole(to, "bytes", sum->bytes);
    alqi_cli_json_put_whole(to, "blocks", sum->objects);
    alqi_cli_json_count(to, "seen_blocks", sum->n_blocks);
    if (alqi_cli_is_sampled(e)) {
        alqi_cli_json_put_whole(to, "bytes_low", bytes.low);
        alqi_cli_json_put_whole(to, "bytes_high", bytes.high);
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

void
alqi_cli_leaks_json(struct alqi_cli_leaks_run *r)
{
    json_t *to = json_object(), *classes = json_object(), *sites = json_array();

    alqi_cli_json_count(to, "pid", (uint64_t)r->core.target.pid);
    alqi_cli_json_set(to, "moment", json_string(alqi_cli_leak_moment(r)));
    alqi_cli_json_set(to, "whole", json_boolean(r->is_whole));
    alqi_cli_json_count(to, "stopped_us", r->core.stopped_ns / 1000);
    alqi_cli_json_count(to, "scanned_bytes", r->scan.memory.n_words * 8);
    alqi_cli_json_count(to, "scan_us", r->scan_us);
    alqi_cli_json_count(to, "scan_cpu_us", r->scan_cpu_us);
    alqi_cli_json_count(to, "unread_bytes", r->scan.memory.unread_bytes);
    alqi_cli_json_count(to, "device_bytes", r->scan.device_bytes);
    alqi_cli_json_count(to, "unrecorded_blocks", r->scan.heap.n_found);
    alqi_cli_json_count(to, "unclassed_blocks", r->found.n_elsewhere);
    for (int c = 0; c < ALQI_CLI_LEAK_CLASSES; c++) {
        json_t *sum = json_object();

        sum_put(r, sum, &r->found.totals[c]);
        alqi_cli_json_set(classes,
                          alqi_cli_leak_class_name((enum alqi_cli_leak_class)c),
                          sum);
    }
    alqi_cli_json_set(to, "classes", classes);
    for (uint32_t i = 0; i < r->found.n_rows; i++)
        json_array_append_new(sites, row_json(r, &r->found.rows[i]));
    alqi_cli_json_set(to, "sites", sites);
    json_dumpf(to, stdout, JSON_INDENT(1));
    fputc('\n', stdout);
    json_decref(to);
}
