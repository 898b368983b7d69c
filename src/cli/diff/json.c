/* json.c -- the comparison as one JSON object, see aliquot-diff(1)
 *
 * The tree is made whole and printed at once: there are no stacks in it, so it
 * stays small. Members are those of the table, unrounded. A change of meaning
 * raises "schema". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/diff/diff.h"
#include "cli/analysis/remarks.h"
#include "cli/report/draw.h"
#include "cli/tool/json.h"

/* SCHEMA is raised when a member's meaning changes. */
enum { SCHEMA = 1, TEXT_BYTES = 4096 };

/* Facts of one recording, in the order of the table's head. */
static json_t *
side(const struct alqi_cli_side *s)
{
    const struct alqi_cli_analysis *a = &s->analysis;
    char command[TEXT_BYTES];
    json_t *o = json_object();

    alqi_cli_diff_command(s, command, sizeof command);
    alqi_cli_json_set(o, "path", alqi_cli_json_clean(s->path));
    if (s->at != NULL)
        alqi_cli_json_set(o, "at", alqi_cli_json_clean(s->at));
    alqi_cli_json_set(o, "executable",
                      alqi_cli_json_clean(a->info->executable));
    alqi_cli_json_set(o, "command", alqi_cli_json_clean(command));
    alqi_cli_json_count(o, "pid", a->info->pid);
    alqi_cli_json_count(o, "start_us", a->info->start_us);
    alqi_cli_json_count(o, "duration_us", a->end_us);
    alqi_cli_json_count(o, "processes",
                        a->notes.n_processes == 0 ? 1 : a->notes.n_processes);
    alqi_cli_json_count(o, "samples", a->n_samples);
    alqi_cli_json_count(o, "sampled_blocks", a->n_allocs);
    alqi_cli_json_put_whole(o, "interval_bytes", a->estimator.interval_bytes);
    alqi_cli_json_set(o, "is_exact", json_boolean(alqi_cli_is_exact(a)));
    return o;
}

/* The texts that the table prints, too. */
static json_t *
warnings(const struct alqi_cli_diff *d)
{
    json_t *list = json_array();
    unsigned at = 0;
    const char *text;

    while ((text = alqi_cli_diff_warning(d, &at)) != NULL)
        json_array_append_new(list, json_string(text));
    return list;
}

/* side: "a" or "b". */
static void
put_side(json_t *o, const char *side, const struct alqi_cli_estimator *e,
         const struct alqi_cli_sum *s)
{
    struct alqi_view_interval x = alqi_cli_bytes_interval(e, s);
    const struct {
        const char *key;
        json_t *value;
    } figures[] = {
        {"bytes", alqi_cli_json_whole(s->bytes)},
        {"bytes_stderr", alqi_cli_json_whole(alqi_cli_stderr(s->bytes_var))},
        {"bytes_low", alqi_cli_json_whole(x.low)},
        {"bytes_high", alqi_cli_json_whole(x.high)},
        {"objects", alqi_cli_json_whole(s->objects)},
        {"sampled_blocks", json_integer((json_int_t)s->n_blocks)},
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(figures); i++) {
        char key[32];

        snprintf(key, sizeof key, "%s_%s", side, figures[i].key);
        alqi_cli_json_set(o, key, figures[i].value);
    }
}

/* Both sides, the change, and how sure it is. "sigmas" is null where the
 * variance is 0: the division has no value. */
static void
put_change(json_t *o, const struct alqi_cli_diff *d,
           const struct alqi_cli_change *c)
{
    const struct alqi_cli_comparison *both = &d->comparison;
    struct alqi_view_interval change = alqi_cli_change_interval(both, c);

    put_side(o, "a", &both->a->analysis.estimator, &c->a);
    put_side(o, "b", &both->b->analysis.estimator, &c->b);
    alqi_cli_json_put_whole(o, "change_bytes", c->bytes);
    alqi_cli_json_put_whole(o, "change_bytes_stderr",
                            alqi_cli_stderr(c->variance));
    alqi_cli_json_put_whole(o, "change_bytes_low", change.low);
    alqi_cli_json_put_whole(o, "change_bytes_high", change.high);
    alqi_cli_json_set(o, "sigmas",
                      isfinite(c->sigmas) ? json_real(c->sigmas) : json_null());
    alqi_cli_json_set(o, "p", json_real(c->chance));
}

/* All measures; of two moments of one run only what is live then. */
static json_t *
totals(const struct alqi_cli_diff *d)
{
    json_t *o = json_object();

    if (alqi_cli_diff_is_one_run(d)) {
        json_t *change = json_object();

        put_change(change, d, &d->comparison.totals[d->measure]);
        alqi_cli_json_set(o, "live", change);
        return o;
    }
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        json_t *change = json_object();

        put_change(change, d, &d->comparison.totals[m]);
        alqi_cli_json_set(o, alqi_cli_measure_name((enum alqi_cli_measure)m),
                          change);
    }
    if (d->comparison.has_lost) {
        json_t *change = json_object();

        put_change(change, d, &d->comparison.lost);
        alqi_cli_json_set(o, "lost", change);
    }
    return o;
}

/* What the pair's sites have in common under the grouping; the rest is
 * empty. */
static void
put_place(json_t *o, const struct alqi_cli_diff *d,
          const struct alqi_cli_pair *pair)
{
    const struct alqi_cli_names *names;
    const struct alqi_cli_frame f = alqi_cli_frame_grouped(
        alqi_cli_pair_frame(&d->comparison, pair, &names), d->grouping);

    alqi_cli_json_set(o, "function",
                      json_string(alqi_cli_names_text(names, f.function)));
    alqi_cli_json_set(o, "file",
                      json_string(alqi_cli_names_text(names, f.file)));
    alqi_cli_json_set(o, "line", json_integer(f.line));
    alqi_cli_json_set(o, "module",
                      json_string(alqi_cli_names_text(names, f.module)));
    alqi_cli_json_set(o, "is_mapping",
                      json_boolean(alqi_cli_pair_is_mapping(pair)));
}

/* "same" is decided by the estimate alone; whether a change is chance is
 * is_significant. */
static const char *
state(const struct alqi_cli_change *c)
{
    if (c->a.objects == 0)
        return "new";
    if (c->b.objects == 0)
        return "gone";
    return c->bytes == 0 ? "same" : "changed";
}

/* Pairs as they are sorted, down to --top if it is given; without --top all. */
static json_t *
sites(const struct alqi_cli_diff *d)
{
    const struct alqi_cli_comparison *c = &d->comparison;
    json_t *list = json_array();
    uint64_t left = d->has_top && d->top != 0 ? d->top : UINT64_MAX;

    for (uint32_t i = 0; i < c->n_pairs && left > 0; i++) {
        const struct alqi_cli_pair *pair = &c->pairs[i];
        bool is_more = pair->change.bytes != 0 &&
                       pair->change.chance <= alqi_cli_diff_level(d);
        json_t *o;

        if (d->hides_chance && !is_more)
            continue;
        o = json_object();
        put_place(o, d, pair);
        alqi_cli_json_set(o, "state", json_string(state(&pair->change)));
        put_change(o, d, &pair->change);
        alqi_cli_json_set(o, "is_significant", json_boolean(is_more));
        json_array_append_new(list, o);
        left--;
    }
    return list;
}

/* What grew beyond the limit; is_exceeded is what the exit status tells. */
static json_t *
limit(const struct alqi_cli_diff *d)
{
    json_t *o = json_object(), *list = json_array();
    struct alqi_cli_growth *growths;
    uint32_t n = alqi_cli_limit_check(d, &growths);
    bool is_over = false;

    for (uint32_t i = 0; i < n; i++) {
        bool is_more = growths[i].chance <= alqi_cli_diff_level(d);
        json_t *g = json_object();

        is_over = is_over || is_more;
        alqi_cli_json_set(
            g, "what", json_string(growths[i].pair == NULL ? "total" : "site"));
        if (growths[i].pair != NULL)
            put_place(g, d, growths[i].pair);
        alqi_cli_json_put_whole(g, "change_bytes", growths[i].bytes);
        alqi_cli_json_set(g, "p", json_real(growths[i].chance));
        alqi_cli_json_set(g, "is_significant", json_boolean(is_more));
        json_array_append_new(list, g);
    }
    alqi_cli_json_set(o, "limit", json_string(d->limit.text));
    alqi_cli_json_put_whole(o, "limit_bytes", alqi_cli_limit_bytes(d));
    alqi_cli_json_set(o, "is_exceeded", json_boolean(is_over));
    alqi_cli_json_set(o, "growths", list);
    free(growths);
    return o;
}

/* Everything that decides is_significant stands in front of the sites: level,
 * min_sigma, and how p is corrected. */
void
alqi_cli_diff_json(struct alqi_cli_diff *d)
{
    json_t *o = json_object();

    alqi_cli_json_count(o, "schema", SCHEMA);
    alqi_cli_json_set(o, "a", side(&d->a));
    alqi_cli_json_set(o, "b", side(&d->b));
    alqi_cli_json_set(o, "warnings", warnings(d));
    alqi_cli_json_set(o, "measure",
                      json_string(alqi_cli_diff_is_one_run(d)
                                      ? "live"
                                      : alqi_cli_measure_name(d->measure)));
    alqi_cli_json_set(o, "group",
                      json_string(alqi_cli_grouping_name(d->grouping)));
    alqi_cli_json_set(o, "min_sigma", json_real(d->min_sigma));
    alqi_cli_json_set(o, "level", json_real(alqi_cli_diff_level(d)));
    alqi_cli_json_set(o, "correction", json_string("holm"));
    alqi_cli_json_count(o, "sites_compared", d->comparison.n_pairs);
    alqi_cli_json_set(o, "totals", totals(d));
    if (d->limit.text != NULL)
        alqi_cli_json_set(o, "fail_over", limit(d));
    alqi_cli_json_set(o, "sites", sites(d));
    json_dumpf(o, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(o);
}
