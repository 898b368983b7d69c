/* json.c -- the report as one JSON object, documented in
 * aliquot-report(1)
 *
 * The object is put together whole but for its sites: they go out one by one,
 * since a compiler's recording has a hundred thousand call stacks.
 *
 * Every quantity is an integer with its unit in the key; a standard error
 * stands beside each estimate.  A change of meaning raises "schema". */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/json.h"
#include "cli/report/processes.h"
#include "cli/analysis/remarks.h"
#include "cli/report/draw.h"
#include "cli/report/report.h"
#include "cli/tool/text.h"

/* SCHEMA is raised when a member's meaning changes; the others count the keys
 * of KEYS_OF(). */
enum { SCHEMA = 1, SUM_KEYS = 11, ESTIMATE_KEYS = 8, TEXT_BYTES = 4096 };

/* A number of things: JSON's integers have 64 bits here. */
static json_t *
count(uint64_t n)
{
    return json_integer((json_int_t)n);
}

/* The keys of a sum: ESTIMATE_KEYS estimates, two counts, the average life;
 * put_sum() fills them in this order. */
#define KEYS_OF(prefix)                                                        \
    {                                                                          \
        prefix "_bytes", prefix "_bytes_stderr", prefix "_bytes_low",          \
            prefix "_bytes_high", prefix "_objects", prefix "_objects_stderr", \
            prefix "_objects_low", prefix "_objects_high", prefix "_samples",  \
            prefix "_sampled_blocks", prefix "_average_life_us"                \
    }

static const char *const measure_keys[ALQI_CLI_N_MEASURES][SUM_KEYS] = {
    [ALQI_CLI_ALLOCATED] = KEYS_OF("allocated"),
    [ALQI_CLI_LIVE] = KEYS_OF("live"),
    [ALQI_CLI_PEAK] = KEYS_OF("peak"),
    [ALQI_CLI_TEMPORARY] = KEYS_OF("temporary"),
};

static const char *const reach_keys[ALQI_VIEW_REACHES][SUM_KEYS] = {
    [ALQI_VIEW_UNTOLD] = KEYS_OF("unknown"),
    [ALQI_VIEW_LOST] = KEYS_OF("lost"),
    [ALQI_VIEW_INDIRECT] = KEYS_OF("indirect"),
    [ALQI_VIEW_POSSIBLE] = KEYS_OF("possible"),
    [ALQI_VIEW_HELD] = KEYS_OF("held"),
};

static const char *const mapped_keys[ALQI_CLI_N_MEASURES][SUM_KEYS] = {
    [ALQI_CLI_ALLOCATED] = KEYS_OF("mapped_allocated"),
    [ALQI_CLI_LIVE] = KEYS_OF("mapped_live"),
    [ALQI_CLI_PEAK] = KEYS_OF("mapped_peak"),
    [ALQI_CLI_TEMPORARY] = KEYS_OF("mapped_temporary"),
};

/* Keys are ours and need no check of their letters. */
static void
put_values(json_t *object, const char *const *keys, json_t *const *values,
           int n)
{
    for (int i = 0; i < n; i++)
        alqi_cli_json_set(object, keys[i], values[i]);
}

/* Puts the estimates of bytes, then those of blocks. */
static void
put_estimates(json_t *object, const char *const *keys,
              const struct alqi_cli_estimator *e, const struct alqi_cli_sum *s)
{
    struct alqi_view_interval bytes = alqi_cli_bytes_interval(e, s);
    struct alqi_view_interval objects = alqi_cli_objects_interval(e, s);
    json_t *values[ESTIMATE_KEYS] = {
        alqi_cli_json_whole(s->bytes),
        alqi_cli_json_whole(alqi_cli_stderr(s->bytes_var)),
        alqi_cli_json_whole(bytes.low),
        alqi_cli_json_whole(bytes.high),
        alqi_cli_json_whole(s->objects),
        alqi_cli_json_whole(alqi_cli_stderr(s->objects_var)),
        alqi_cli_json_whole(objects.low),
        alqi_cli_json_whole(objects.high),
    };

    put_values(object, keys, values, ESTIMATE_KEYS);
}

/* Estimates and, behind them, the samples that they rest on. */
static void
put_counts(json_t *object, const char *const *keys,
           const struct alqi_cli_estimator *e, const struct alqi_cli_sum *s)
{
    json_t *values[] = {count(s->n_samples), count(s->n_blocks)};

    put_estimates(object, keys, e, s);
    put_values(object, keys + ESTIMATE_KEYS, values, ALQI_COUNT_OF(values));
}

/* As put_counts(), with the average life. */
static void
put_sum(json_t *object, const char *const *keys,
        const struct alqi_cli_estimator *e, const struct alqi_cli_sum *s)
{
    json_t *life_us = alqi_cli_json_whole(alqi_cli_mean_life_us(s));

    put_counts(object, keys, e, s);
    put_values(object, keys + SUM_KEYS - 1, &life_us, 1);
}

/* The same of a sum of the index. */
static void
put_view_sum(json_t *object, const char *const *keys,
             const struct alqi_cli_estimator *e, const struct alqi_view_sum *s)
{
    struct alqi_cli_sum sum = alqi_cli_leaks_sum(s);

    put_sum(object, keys, e, &sum);
}

/* A sum for each measure, under the measure's own keys. */
static void
put_sums(json_t *object, const struct alqi_cli_estimator *e,
         const struct alqi_cli_sum *sums)
{
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
        put_sum(object, measure_keys[m], e, &sums[m]);
}

/* The same for each class of what was never freed. */
static void
put_reach(json_t *object, const struct alqi_cli_estimator *e,
          const struct alqi_cli_sum *sums)
{
    for (int i = 0; i < ALQI_VIEW_REACHES; i++)
        put_sum(object, reach_keys[i], e, &sums[i]);
}

/* A name of the analysis, which is clean. */
static json_t *
name(const struct alqi_cli_report *r, uint32_t number)
{
    return json_string(alqi_cli_names_text(r->analysis.names, number));
}

/* What ran: facts of the header and the command line. */
static json_t *
program(const struct alqi_cli_report *r)
{
    const struct alqi_ctf_info *info = r->analysis.info;
    json_t *o = json_object();

    alqi_cli_json_set(o, "executable", alqi_cli_json_clean(info->executable));
    alqi_cli_json_set(o, "command", name(r, r->analysis.notes.cmdline));
    alqi_cli_json_count(o, "pid", info->pid);
    alqi_cli_json_set(o, "host", alqi_cli_json_clean(info->host));
    alqi_cli_json_set(o, "context", alqi_cli_json_clean(info->context));
    alqi_cli_json_count(o, "start_us", info->start_us);
    return o;
}

/* How far the recording can be trusted: completeness, rates, and each counter
 * of the recorder. */
static json_t *
recording(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    const struct alqi_cli_notes *n = &a->notes;
    json_t *o = json_object();

    alqi_cli_json_set(o, "is_complete",
                      json_boolean(alqi_cli_input_damage(r->input)[0] == '\0' &&
                                   !alqi_cli_lacks_end(a)));
    alqi_cli_json_count(o, "warnings", alqi_cli_input_n_warnings(r->input));
    alqi_cli_json_count(o, "strange_events", a->n_strange);
    alqi_cli_json_set(o, "is_exact", json_boolean(alqi_cli_is_exact(a)));
    alqi_cli_json_set(o, "samples_per_word", json_real(a->info->rate));
    alqi_cli_json_count(o, "word_bits", a->info->word_bits);
    alqi_cli_json_put_whole(o, "interval_bytes", a->estimator.interval_bytes);
    alqi_cli_json_count(o, "rates", a->estimator.n_rates);
    alqi_cli_json_put_whole(o, "largest_interval_bytes",
                            a->estimator.word_bytes /
                                a->estimator.least_lambda);
    alqi_cli_json_set(o, "ended", name(r, n->ended));
    alqi_cli_json_set(o, "signal",
                      n->signal > 0 ? json_integer((json_int_t)n->signal)
                                    : json_null());
    for (size_t i = 0; i < ALQI_CLI_N_COUNTERS; i++)
        alqi_cli_json_count(o, alqi_cli_counters[i].key, n->counts[i]);
    return o;
}

/* The kernel's maximum of resident memory; null: nobody told. */
static void
put_most_rss(json_t *o, uint64_t bytes)
{
    alqi_cli_json_set(o, "rss_most_bytes",
                      bytes > 0 ? alqi_cli_json_whole((double)bytes)
                                : json_null());
}

/* One process of a merged trace, with its own sums. */
static json_t *
process(const struct alqi_cli_report *r, uint32_t number)
{
    const struct alqi_cli_process *p = &r->analysis.notes.processes[number];
    const struct alqi_cli_share *s =
        alqi_cli_process_share(&r->analysis, number);
    uint64_t ran_us = alqi_cli_process_ran_us(&r->analysis, number);
    struct alqi_cli_sum peak = alqi_cli_share_peak(s);
    json_t *o = json_object();

    alqi_cli_json_count(o, "pid", p->pid);
    alqi_cli_json_count(o, "parent", p->parent);
    alqi_cli_json_set(o, "executable", name(r, p->program));
    alqi_cli_json_set(o, "command", name(r, p->cmdline));
    alqi_cli_json_set(o, "host", name(r, p->host));
    alqi_cli_json_set(o, "ended", name(r, p->ended));
    alqi_cli_json_count(o, "start_us", p->start_us);
    alqi_cli_json_count(o, "duration_us", ran_us);
    put_most_rss(o, p->most_rss_bytes);
    put_counts(o, measure_keys[ALQI_CLI_ALLOCATED], &r->analysis.estimator,
               &s->allocated);
    put_counts(o, measure_keys[ALQI_CLI_LIVE], &r->analysis.estimator,
               &s->live);
    put_estimates(o, measure_keys[ALQI_CLI_PEAK], &r->analysis.estimator,
                  &peak);
    return o;
}

/* The processes by their start. */
static json_t *
processes(const struct alqi_cli_report *r)
{
    json_t *list = json_array();
    uint32_t *order;
    uint32_t n = alqi_cli_processes_order(&r->analysis, false, &order);

    for (uint32_t i = 0; i < n; i++)
        json_array_append_new(list, process(r, order[i]));
    free(order);
    return list;
}

/* The four members that name a place. */
static void
put_frame(const struct alqi_cli_report *r, json_t *o,
          const struct alqi_cli_frame *f)
{
    alqi_cli_json_set(o, "function", name(r, f->function));
    alqi_cli_json_set(o, "file", name(r, f->file));
    alqi_cli_json_count(o, "line", f->line);
    alqi_cli_json_set(o, "module", name(r, f->module));
}

/* Puts what realloc brought; the keys are in the order of the values. */
static void
put_moves(json_t *o, const struct alqi_cli_estimator *e,
          const struct alqi_cli_moves *m)
{
    static const char *const keys[] = {
        "realloc_bytes",         "realloc_bytes_stderr",
        "realloc_bytes_low",     "realloc_bytes_high",
        "realloc_objects",       "realloc_objects_stderr",
        "realloc_objects_low",   "realloc_objects_high",
        "realloc_from_bytes",    "realloc_sampled_links",
        "realloc_longest_chain", "realloc_sampled_blocks",
    };
    json_t *values[] = {
        alqi_cli_json_whole(m->old_bytes),
        count(m->n_links),
        count(m->longest),
        count(m->made.n_blocks),
    };

    put_estimates(o, keys, e, &m->made);
    put_values(o, keys + ESTIMATE_KEYS, values, ALQI_COUNT_OF(values));
}

/* Innermost frame first. */
static json_t *
stack(struct alqi_cli_report *r, const struct alqi_cli_site *site,
      struct alqi_cli_frame **frames, uint32_t *capacity)
{
    json_t *o = json_object();
    json_t *list = json_array();
    uint32_t n =
        alqi_cli_stack_frames(&r->analysis, site->node, frames, capacity);

    put_sums(o, &r->analysis.estimator, site->sums);
    while (n-- > 0) {
        json_t *f = json_object();

        put_frame(r, f, &(*frames)[n]);
        json_array_append_new(list, f);
    }
    alqi_cli_json_set(o, "frames", list);
    return o;
}

/* How the group grows. */
static void
put_growth(json_t *o, const struct alqi_view_growth *g)
{
    alqi_cli_json_put_whole(o, "growth_bytes_per_minute",
                            alqi_view_growth_rate(g));
    alqi_cli_json_put_whole(o, "growth_bytes_per_minute_stderr",
                            alqi_view_growth_stderr(g));
    alqi_cli_json_set(o, "growth_is_steady",
                      json_boolean(alqi_view_growth_is_steady(g)));
}

/* The members that a group's sites have in common, and the group's sums. */
static json_t *
site_head(struct alqi_cli_report *r, const struct alqi_cli_group *g)
{
    struct alqi_cli_frame f = alqi_cli_frame_grouped(&g->frame, r->grouping);
    json_t *o = json_object();

    put_frame(r, o, &f);
    alqi_cli_json_set(o, "is_mapping", json_boolean(g->is_mapping));
    put_sums(o, &r->analysis.estimator, g->sums);
    put_moves(o, &r->analysis.estimator, &g->moves);
    if (r->leaks.x != NULL)
        put_growth(o, &r->leaks.growth[g - r->groups.groups]);
    if (r->leaks.reach != NULL)
        put_reach(o, &r->analysis.estimator,
                  r->leaks.reach[g - r->groups.groups]);
    return o;
}

/* Sites by their group, then the heaviest first; the site's place breaks a
 * tie. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_report *r = arg;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    uint32_t g = r->groups.group_of_site[a];
    uint32_t h = r->groups.group_of_site[b];
    double x = r->analysis.sites[a].sums[r->measure].bytes;
    double y = r->analysis.sites[b].sums[r->measure].bytes;

    if (g != h)
        return g < h ? -1 : 1;
    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The group's stacks, from order[0] on. */
static json_t *
stacks(struct alqi_cli_report *r, const uint32_t *order, uint32_t n_sites)
{
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0;
    json_t *list = json_array();

    if (r->n_stacks != 0 && r->n_stacks < n_sites)
        n_sites = (uint32_t)r->n_stacks;
    for (uint32_t i = 0; i < n_sites; i++)
        json_array_append_new(
            list, stack(r, &r->analysis.sites[order[i]], &frames, &capacity));
    free(frames);
    return list;
}

/* Facts of the whole run and the options that shaped the report. */
static void
put_run(json_t *o, const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;

    alqi_cli_json_count(o, "duration_us", a->end_us);
    alqi_cli_json_count(o, "threads", a->notes.n_threads);
    alqi_cli_json_count(o, "samples", a->n_samples);
    alqi_cli_json_count(o, "sampled_blocks", a->n_allocs);
    alqi_cli_json_count(o, "sampled_frees", a->n_frees);
    alqi_cli_json_set(o, "measure",
                      json_string(alqi_cli_measure_name(r->measure)));
    alqi_cli_json_set(o, "group",
                      json_string(alqi_cli_grouping_name(r->grouping)));
    if (r->filter.text != NULL)
        alqi_cli_json_set(o, "filter", alqi_cli_json_clean(r->filter.text));
    alqi_cli_json_put_whole(o, "min_life_us", a->options.min_life_us);
    alqi_cli_json_put_whole(o, "temporary_us", a->options.temporary_us);
}

/* Each thread that was seen, by its index. */
static json_t *
threads(const struct alqi_cli_report *r)
{
    const struct alqi_cli_analysis *a = &r->analysis;
    json_t *list = json_array();

    for (uint32_t i = 0; i < a->notes.threads_capacity; i++) {
        const struct alqi_cli_thread *t = &a->notes.threads[i];
        json_t *o;

        if (!t->is_seen)
            continue;
        o = json_object();
        alqi_cli_json_count(o, "index", i);
        alqi_cli_json_count(o, "tid", t->tid);
        alqi_cli_json_set(o, "name", name(r, t->name));
        put_sums(o, &a->estimator, a->by_thread[i]);
        json_array_append_new(list, o);
    }
    return list;
}

/* The classes of sizes that have a block. */
static json_t *
sizes(const struct alqi_cli_analysis *a)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < ALQI_CLI_SIZE_CLASSES; i++) {
        double most = alqi_cli_size_class_bytes(i);
        json_t *o;

        if (a->by_size[i][ALQI_CLI_ALLOCATED].n_blocks == 0)
            continue;
        o = json_object();
        alqi_cli_json_put_whole(o, "least_bytes", i > 0 ? most / 2 + 1 : 0);
        alqi_cli_json_put_whole(o, "most_bytes", most);
        put_sums(o, &a->estimator, a->by_size[i]);
        json_array_append_new(list, o);
    }
    return list;
}

/* Each rule, used or not. */
static json_t *
suppressions(const struct alqi_cli_report *r)
{
    static const char *const keys[] = KEYS_OF("suppressed");
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->suppress.n_rules; i++) {
        const struct alqi_cli_suppress_rule *rule = &r->suppress.rules[i];
        json_t *o = json_object();

        alqi_cli_json_set(o, "name", alqi_cli_json_clean(rule->name));
        alqi_cli_json_set(o, "file", alqi_cli_json_clean(rule->file));
        alqi_cli_json_count(o, "line", rule->line);
        put_sum(o, keys, &r->analysis.estimator, &rule->sum);
        json_array_append_new(list, o);
    }
    return list;
}

/* The members that name a function of the index. */
static void
put_function(const struct alqi_view_index *x, json_t *o, uint32_t function)
{
    const struct alqi_view_function *f = &x->functions[function];

    alqi_cli_json_set(o, "function", json_string(alqi_view_text(x, f->name)));
    alqi_cli_json_set(o, "file", json_string(alqi_view_text(x, f->file)));
    alqi_cli_json_set(o, "module", json_string(alqi_view_text(x, f->module)));
}

/* What the stacks of a group share, the innermost function first, and where
 * they part. */
static json_t *
leak_group(const struct alqi_cli_report *r, const struct alqi_view_group *g)
{
    const struct alqi_view_index *x = r->leaks.x;
    const struct alqi_view_fold *folds = r->leaks.shape.folds;
    json_t *o = json_object(), *frames = json_array(), *parts = json_array();

    put_view_sum(o, measure_keys[ALQI_CLI_LIVE], &r->analysis.estimator,
                 &g->sum);
    for (uint32_t i = g->fold; i != 0; i = folds[i].parent) {
        json_t *f = json_object();

        put_function(x, f, folds[i].function);
        json_array_append_new(frames, f);
    }
    for (uint32_t i = 0; i < g->n_parts && i < ALQI_VIEW_GROUP_PARTS; i++) {
        json_t *f = json_object();

        put_function(x, f, g->parts[i].function);
        alqi_cli_json_put_whole(f, "live_bytes", g->parts[i].value);
        json_array_append_new(parts, f);
    }
    alqi_cli_json_count(o, "n_stacks", g->n_stacks);
    alqi_cli_json_set(o, "frames", frames);
    alqi_cli_json_count(o, "n_parts", g->n_parts);
    alqi_cli_json_set(o, "parts", parts);
    return o;
}

static json_t *
leak_groups(const struct alqi_cli_report *r)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->leaks.groups.n; i++)
        json_array_append_new(list, leak_group(r, &r->leaks.groups.rows[i]));
    return list;
}

/* Addresses go out as text: JSON numbers lose the low bits of 64. */
static json_t *
hexadecimal(uint64_t value)
{
    char text[32];

    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}

/* The modules in the order of their mapping; symbols_lack is "" where none are
 * missing. */
static json_t *
modules(const struct alqi_cli_report *r)
{
    const struct alqi_cli_notes *n = &r->analysis.notes;
    json_t *list = json_array();

    for (uint32_t i = 0; i < n->n_modules; i++) {
        const struct alqi_cli_module_note *m = &n->modules[i];
        json_t *o = json_object();

        alqi_cli_json_set(o, "start", hexadecimal(m->start));
        alqi_cli_json_set(o, "end", hexadecimal(m->end));
        alqi_cli_json_set(o, "bias", hexadecimal(m->bias));
        alqi_cli_json_set(o, "build_id", name(r, m->build_id));
        alqi_cli_json_set(o, "path", name(r, m->path));
        alqi_cli_json_set(o, "symbols_lack",
                          m->is_bare ? name(r, m->missing) : json_string(""));
        json_array_append_new(list, o);
    }
    return list;
}

/* Resident memory, as the recorder looked at it from time to time. */
static void
put_rss(json_t *o, const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_rss *rss = &a->rss;
    double at_peak;

    alqi_cli_json_count(o, "rss_looks", rss->n_told);
    alqi_cli_json_put_whole(o, "rss_peak_bytes", rss->peak_bytes);
    alqi_cli_json_count(o, "rss_peak_time_us", rss->peak_us);
    alqi_cli_json_put_whole(o, "rss_peak_live_bytes", rss->live_at_peak_bytes);
    alqi_cli_json_set(o, "rss_at_peak_bytes",
                      alqi_cli_rss_at_peak(rss, &at_peak)
                          ? alqi_cli_json_whole(at_peak)
                          : json_null());
    put_most_rss(o, a->notes.most_rss_bytes);
}

/* The curve over time in equal steps. rss_bytes is null in steps without a
 * look. */
static json_t *
timeline(const struct alqi_cli_timeline *t)
{
    json_t *o = json_object(), *live = json_array(), *rss = json_array();

    for (uint32_t i = 0; i < t->n; i++) {
        json_array_append_new(live, alqi_cli_json_whole(t->live[i]));
        json_array_append_new(
            rss, t->rss[i] > 0 ? alqi_cli_json_whole(t->rss[i]) : json_null());
    }
    alqi_cli_json_count(o, "step_us", t->step_us);
    alqi_cli_json_set(o, "live_bytes", live);
    alqi_cli_json_set(o, "rss_bytes", rss);
    return o;
}

static json_t *
marks(const struct alqi_cli_report *r)
{
    const struct alqi_cli_marks *m = &r->analysis.marks;
    json_t *list = json_array();

    for (uint32_t i = 0; i < m->n; i++) {
        json_t *o = json_object();

        alqi_cli_json_count(o, "time_us", m->at[i].us);
        alqi_cli_json_set(o, "name", name(r, m->at[i].name));
        json_array_append_new(list, o);
    }
    return list;
}

/* peak_... are absent where a filter leaves a heap out. */
static json_t *
phases(const struct alqi_cli_report *r)
{
    static const char *const kept_keys[SUM_KEYS] = KEYS_OF("kept");
    const struct alqi_cli_estimator *e = &r->analysis.estimator;
    json_t *list = json_array();

    for (uint32_t i = 0; i < r->phases.n; i++) {
        const struct alqi_cli_phase *p = &r->phases.phases[i];
        json_t *o = json_object();

        alqi_cli_json_set(o, "name", json_string(p->name));
        alqi_cli_json_count(o, "number", p->number);
        alqi_cli_json_count(o, "begin_us", p->begin_us);
        alqi_cli_json_count(o, "end_us", p->end_us);
        put_sum(o, measure_keys[ALQI_CLI_ALLOCATED], e, &p->allocated);
        put_sum(o, kept_keys, e, &p->kept);
        put_sum(o, measure_keys[ALQI_CLI_LIVE], e, &p->live);
        if (r->phases.has_peak) {
            put_counts(o, measure_keys[ALQI_CLI_PEAK], e, &p->peak);
            alqi_cli_json_count(o, "peak_time_us", p->peak_us);
        }
        json_array_append_new(list, o);
    }
    return list;
}

/* ---- writing --------------------------------------------------------- */

/* An object as text; ends the command without memory. */
static char *
text_of(const json_t *object)
{
    char *text = json_dumps(object, JSON_INDENT(1));

    if (text != NULL)
        return text;
    alqi_cli_die("out of memory for the report");
}

/* Writes an object that lies two levels deep: each line but the first gets two
 * blanks more. */
static void
write_deeper(const json_t *object)
{
    char *text = text_of(object);
    const char *at = text;
    const char *end;

    for (; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        fwrite_unlocked(at, 1, (size_t)(end + 1 - at), stdout);
        fwrite_unlocked("  ", 1, 2, stdout);
    }
    fputs(at, stdout);
    free(text);
}

/* A group with its stacks, from order[0] on. */
static json_t *
site(struct alqi_cli_report *r, const struct alqi_cli_group *g,
     const uint32_t *order)
{
    json_t *o = site_head(r, g);

    alqi_cli_json_count(o, "n_stacks", g->n_sites);
    alqi_cli_json_set(o, "stacks", stacks(r, order, g->n_sites));
    return o;
}

/* Writes each group as it is made, so that only one is in memory. Sites are
 * sorted by group first: a group's sites then stand together in `order`, and
 * the groups in their own order. */
static void
write_sites(struct alqi_cli_report *r)
{
    uint32_t n = r->groups.n_groups;
    uint32_t *order =
        alqi_cli_realloc(NULL, r->analysis.n_sites, sizeof *order);
    uint32_t at = 0;

    for (uint32_t i = 0; i < r->analysis.n_sites; i++)
        order[i] = i;
    qsort_r(order, r->analysis.n_sites, sizeof *order, compare, r);
    if (r->has_top && r->top != 0 && r->top < n)
        n = (uint32_t)r->top;
    for (uint32_t i = 0; i < n; i++) {
        const struct alqi_cli_group *g = &r->groups.groups[i];
        json_t *o = site(r, g, order + at);

        fputs(i == 0 ? "\n  " : ",\n  ", stdout);
        write_deeper(o);
        json_decref(o);
        at += g->n_sites;
    }
    if (n > 0)
        fputs("\n ", stdout);
    free(order);
}

/* The object without the brace that ends it, then the sites. */
static void
write_all(struct alqi_cli_report *r, json_t *object)
{
    char *head = text_of(object);

    head[strlen(head) - strlen("\n}")] = '\0';
    fputs(head, stdout);
    free(head);
    fputs(",\n \"sites\": [", stdout);
    write_sites(r);
    fputs("]\n}\n", stdout);
}

/* The steps from the root on; none: nobody told. */
static json_t *
way(const struct alqi_cli_report *r, uint32_t step)
{
    json_t *steps = json_array();

    while (step != ALQI_CLI_NO_STEP) {
        const struct alqi_cli_holder_step *s = &r->analysis.holders.steps[step];
        json_t *o = json_object();

        alqi_cli_json_set(o, "name", name(r, s->name));
        alqi_cli_json_count(o, "most", s->most);
        json_array_insert_new(steps, 0, o);
        step = s->in;
    }
    return steps;
}

/* What was never freed by class and holder, each with its sites. */
static json_t *
holders(const struct alqi_cli_report *r)
{
    static const char *const keys[] = KEYS_OF("live");
    const struct alqi_cli_estimator *e = &r->analysis.estimator;
    const struct alqi_view_holding *sum = NULL;
    json_t *all = json_array();

    while ((sum = alqi_view_holdings_next(&r->leaks.holdings, sum)) != NULL) {
        json_t *o = json_object(), *sites = json_array();

        alqi_cli_json_set(o, "class",
                          json_string(alqi_view_reach_name(sum->reach)));
        alqi_cli_json_set(o, "way", way(r, sum->step));
        put_view_sum(o, keys, e, &sum->sum);
        for (uint32_t i = 1; i <= sum->n; i++) {
            const struct alqi_cli_group *g = &r->groups.groups[sum[i].group];
            struct alqi_cli_frame f =
                alqi_cli_frame_grouped(&g->frame, r->grouping);
            json_t *site = json_object();

            put_frame(r, site, &f);
            alqi_cli_json_set(site, "is_mapping", json_boolean(g->is_mapping));
            put_view_sum(site, keys, e, &sum[i].sum);
            json_array_append_new(sites, site);
        }
        alqi_cli_json_set(o, "sites", sites);
        json_array_append_new(all, o);
    }
    return all;
}

/* The classes of all, and what of POSSIBLE is so for an allocator alone. */
static void
put_reaches(json_t *o, const struct alqi_cli_report *r)
{
    static const char *const old[] = KEYS_OF("may_be_old");
    const struct alqi_cli_analysis *a = &r->analysis;
    bool is_of_leaks = r->leaks.reach != NULL;

    put_reach(o, &a->estimator, is_of_leaks ? r->leaks.by_reach : a->by_reach);
    put_sum(o, old, &a->estimator,
            is_of_leaks ? &r->leaks.may_be_old : &a->may_be_old);
}

/* "leaked" repeats what is live at the end under a name that tools look for. */
void
alqi_cli_report_json(struct alqi_cli_report *r)
{
    static const char *const leaked[] = KEYS_OF("leaked");
    const struct alqi_cli_analysis *a = &r->analysis;
    json_t *o = json_object();

    alqi_cli_json_count(o, "schema", SCHEMA);
    alqi_cli_json_set(o, "program", program(r));
    alqi_cli_json_set(o, "recording", recording(r));
    if (a->notes.n_processes > 0)
        alqi_cli_json_set(o, "processes", processes(r));
    put_run(o, r);
    put_sums(o, &a->estimator, a->totals);
    put_sum(o, leaked, &a->estimator, &a->totals[ALQI_CLI_LIVE]);
    if (a->has_reach && a->options.thread == NULL)
        put_reaches(o, r);
    if (a->has_reach)
        alqi_cli_json_set(o, "reach_is_early", json_boolean(a->is_reach_early));
    if (r->leaks.holdings.n_rows > 0)
        alqi_cli_json_set(o, "holders", holders(r));
    alqi_cli_json_count(o, "peak_time_us", alqi_cli_peak_us(a));
    alqi_cli_json_count(o, "peak_last_time_us", alqi_cli_peak_last_us(a));
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
        put_sum(o, mapped_keys[m], &a->estimator, &a->mapped[m]);
    put_moves(o, &a->estimator, &a->moves);
    put_rss(o, a);
    alqi_cli_json_set(o, "timeline", timeline(&a->timeline));
    alqi_cli_json_set(o, "thread_list", threads(r));
    if (a->marks.n > 0)
        alqi_cli_json_set(o, "marks", marks(r));
    if (r->has_phases)
        alqi_cli_json_set(o, "phases", phases(r));
    if (a->by_size != NULL)
        alqi_cli_json_set(o, "size_classes", sizes(a));
    if (r->suppress.is_given) {
        alqi_cli_json_set(o, "suppressions", suppressions(r));
        alqi_cli_json_count(o, "suppressions_skipped", r->suppress.n_skipped);
    }
    if (r->leaks.x != NULL) {
        alqi_cli_json_count(o, "growth_from_us", r->leaks.from_us);
        alqi_cli_json_set(o, "leak_groups", leak_groups(r));
    }
    alqi_cli_json_set(o, "modules", modules(r));
    write_all(r, o);
    json_decref(o);
}
