/* firefox.c -- the Firefox Profiler's processed format, version 47
 *
 * Every block is an allocation and, if it died, a deallocation in the thread
 * that allocated it, paired by an address that is its number plus one.  The
 * viewer upgrades the version by itself; it is old enough for every viewer,
 * and has all that is needed.  Each thread has its own tables, whose stacks are
 * nodes of the shared trie that its blocks use. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/blocks.h"
#include "cli/export/firefox.h"
#include "cli/tool/json.h"

enum { COUNTER_STEPS = 8192 };

/* ---- counter ---------------------------------------------------------- */

struct counter {
    FILE *out;
    bool is_counts; /* else times are put */
    uint64_t n_put;
    int64_t put_bytes; /* sum of the counts put */
};

static void
point_put(struct counter *c, uint64_t us, int64_t bytes)
{
    if (bytes == c->put_bytes && c->n_put > 0)
        return;
    alqi_cli_json_next(c->out, &c->n_put);
    if (c->is_counts)
        fprintf(c->out, "%" PRId64, bytes - c->put_bytes);
    else
        alqi_cli_json_ms(c->out, us);
    c->put_bytes = bytes;
}

static int64_t
change(const struct alqi_cli_firefox *f, uint32_t i)
{
    const struct alqi_cli_block_event *e = &f->events[i];
    int64_t bytes = f->whole.bytes[e->block];

    return ALQI_CLI_IS_BIRTH(e) ? bytes : -bytes;
}

/* The first event that brings the path to its highest. */
static uint32_t
highest(const struct alqi_cli_firefox *f, int64_t *most)
{
    int64_t bytes = 0;
    uint32_t at = UINT32_MAX;

    *most = 0;
    for (uint32_t i = 0; i < f->n_events; i++) {
        bytes += change(f, i);
        if (bytes > *most) {
            *most = bytes;
            at = i;
        }
    }
    return at;
}

/* What is live over time, in steps: the last value of each that differs from
 * the one before, and the highest.  Of samples it is drawn as they have it,
 * since the peak is an estimate of its own (view/peak.h); else the peak stands
 * where it was, and no other value exceeds it. */
static void
points_put(const struct alqi_cli_firefox *f, bool is_counts)
{
    const struct alqi_cli_analysis *a = &f->export->analysis;
    struct counter c = {f->out, is_counts, 0, 0};
    uint64_t step_us = a->end_us / COUNTER_STEPS + 1;
    bool has_peak = alqi_cli_is_sampled(&a->estimator);
    uint64_t peak_us = alqi_cli_peak_us(a);
    int64_t peak, bytes = 0;
    uint32_t at = highest(f, &peak);

    if (!has_peak)
        peak = f->whole.peak_bytes;
    point_put(&c, 0, 0);
    for (uint32_t i = 0; i < f->n_events; i++) {
        uint64_t us = f->events[i].us;

        if (!has_peak && us > peak_us) {
            point_put(&c, peak_us, peak);
            has_peak = true;
        }
        bytes += change(f, i);
        if (i == at || i + 1 == f->n_events ||
            f->events[i + 1].us / step_us != us / step_us)
            point_put(&c, us, bytes < peak ? bytes : peak);
    }
    if (!has_peak)
        point_put(&c, peak_us, peak);
    point_put(&c, a->end_us, bytes < peak ? bytes : peak);
    if (!is_counts)
        fprintf(f->out, "],\"length\":%" PRIu64, c.n_put);
}

static void
resident_put(const struct alqi_cli_firefox *f, bool is_counts)
{
    const struct alqi_cli_blocks *b = f->export->analysis.options.blocks;
    struct counter c = {f->out, is_counts, 0, 0};

    for (uint32_t i = 0; i < b->n_resident; i++)
        point_put(&c, b->resident[i].us,
                  alqi_cli_whole((double)b->resident[i].bytes));
    if (!is_counts)
        fprintf(f->out, "],\"length\":%" PRIu64, c.n_put);
}

typedef void samples_fn(const struct alqi_cli_firefox *f, bool is_counts);

static void
counter_put(const struct alqi_cli_firefox *f, const char *name,
            const char *description, samples_fn *samples)
{
    fprintf(f->out,
            "{\"name\":\"%s\",\"category\":\"Memory\",\"description\":\"%s\","
            "\"pid\":\"%" PRIu64 "\",\"mainThreadIndex\":0,"
            "\"sampleGroups\":[{\"id\":0,\"samples\":{\"time\":[",
            name, description, f->export->analysis.info->pid);
    samples(f, false);
    fputs(",\n\"count\":[", f->out);
    samples(f, true);
    fputs("]}}]}", f->out);
}

static void
counters_put(const struct alqi_cli_firefox *f)
{
    fputs("\"counters\":[", f->out);
    counter_put(f, "malloc", "Live bytes, estimated from samples", points_put);
    if (f->export->analysis.options.blocks->n_resident > 0) {
        fputs(",\n", f->out);
        counter_put(f, "resident", "Resident memory of the process",
                    resident_put);
    }
    fputs("],\n", f->out);
}

/* ---- head ------------------------------------------------------------- */

static void
meta_put(const struct alqi_cli_firefox *f)
{
    const struct alqi_cli_analysis *a = &f->export->analysis;

    fputs("{\"meta\":{\"preprocessedProfileVersion\":47,\"version\":28,"
          "\"interval\":1,\"processType\":0,\"stackwalk\":1,\"debug\":false,"
          "\"startTime\":",
          f->out);
    alqi_cli_json_ms(f->out, a->info->start_us);
    fputs(",\"profilingStartTime\":0,\"profilingEndTime\":", f->out);
    alqi_cli_json_ms(f->out, a->end_us + 1); /* which it leaves out */
    fputs(",\n\"product\":", f->out);
    alqi_cli_json_text(f->out, f->export->program);
    fputs(",\"importedFrom\":\"aliquot " ALQI_VERSION "\","
          "\"symbolicated\":true,\"usesOnlyOneStackType\":true,"
          "\"doesNotUseFrameImplementation\":true,"
          "\"sourceCodeIsNotOnSearchfox\":true,\n"
          "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\","
          "\"subcategories\":[\"Other\"]}],\"markerSchema\":[],"
          "\"extensions\":{\"length\":0,\"baseURL\":[],\"id\":[],\"name\":[]}},"
          "\n\"pages\":[],\n",
          f->out);
}

/* ---- all -------------------------------------------------------------- */

static void
firefox_make(struct alqi_cli_firefox *f, struct alqi_cli_export *x, FILE *out)
{
    memset(f, 0, sizeof *f);
    f->export = x;
    f->out = out;
    alqi_cli_export_stacks_make(&f->stacks, &x->analysis);
    alqi_cli_whole_blocks_make(&f->whole, &x->analysis);
    f->events =
        alqi_cli_blocks_events(x->analysis.options.blocks, &f->n_events);
    alqi_cli_firefox_libs_find(f);
}

static void
firefox_free(struct alqi_cli_firefox *f)
{
    free(f->events);
    free(f->lib_of_module);
    free(f->module_of_lib);
    alqi_cli_whole_blocks_free(&f->whole);
    alqi_cli_export_stacks_free(&f->stacks);
}

void
alqi_cli_export_firefox(struct alqi_cli_export *x, FILE *out)
{
    struct alqi_cli_firefox f;

    firefox_make(&f, x, out);
    meta_put(&f);
    alqi_cli_firefox_libs_put(&f);
    counters_put(&f);
    alqi_cli_firefox_threads_put(&f);
    fputs("}\n", out);
    firefox_free(&f);
}
