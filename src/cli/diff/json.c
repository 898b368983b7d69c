/* json.c -- the comparison as one JSON object, see aliquot-diff(1)
 *
 * The tree is made whole and printed at once: there are no stacks in it, so it
 * stays small. Members are those of the table, unrounded. A change of meaning
 * raises "schema". */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/diff/diff.h"
#include "cli/analysis/remarks.h"
#include "cli/report/draw.h"
#include "cli/tool/text.h"

/* SCHEMA is raised when a member's meaning changes. */
enum { SCHEMA = 1, TEXT_BYTES = 4096 };

/* Takes the value's reference. */
static void
put(json_t *o, const char *key, json_t *value)
{
    json_object_set_new(o, key, value);
}

/* A value that no integer holds becomes the largest one. */
static json_t *
whole(double x)
{
    return json_integer(fabs(x) < 9e18 ? llround(x) : INT64_MAX);
}

/* A text of a trace's header or of the command line, as valid UTF-8. */
static json_t *
clean(const char *text)
{
    char out[TEXT_BYTES];

    alqi_cli_clean(out, sizeof out, text);
    return json_string(out);
}

/* Facts of one recording, in the order of the table's head. */
static json_t *
side(const struct alqi_cli_side *s)
{
    const struct alqi_cli_analysis *a = &s->analysis;
    char command[TEXT_BYTES];
    json_t *o = json_object();

    alqi_cli_diff_command(s, command, sizeof command);
    put(o, "path", clean(s->path));
    if (s->at != NULL)
        put(o, "at", clean(s->at));
    put(o, "executable", clean(a->info->executable));
    put(o, "command", clean(command));
    put(o, "pid", json_integer((json_int_t)a->info->pid));
    put(o, "start_us", json_integer((json_int_t)a->info->start_us));
    put(o, "duration_us", json_integer((json_int_t)a->end_us));
    put(o, "processes",
        json_integer(a->notes.n_processes == 0 ? 1 : a->notes.n_processes));
    put(o, "samples", json_integer((json_int_t)a->n_samples));
    put(o, "sampled_blocks", json_integer((json_int_t)a->n_allocs));
    put(o, "interval_bytes", whole(a->estimator.interval_bytes));
    put(o, "is_exact", json_boolean(alqi_cli_is_exact(a)));
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
        {"bytes", whole(s->bytes)},
        {"bytes_stderr", whole(alqi_cli_stderr(s->bytes_var))},
        {"bytes_low", whole(x.low)},
        {"bytes_high", whole(x.high)},
        {"objects", whole(s->objects)},
        {"sampled_blocks", json_integer((json_int_t)s->n_blocks)},
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(figures); i++) {
        char key[32];

        snprintf(key, sizeof key, "%s_%s", side, figures[i].key);
        put(o, key, figures[i].value);
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
    put(o, "change_bytes", whole(c->bytes));
    put(o, "change_bytes_stderr", whole(alqi_cli_stderr(c->variance)));
    put(o, "change_bytes_low", whole(change.low));
    put(o, "change_bytes_high", whole(change.high));
    put(o, "sigmas", isfinite(c->sigmas) ? json_real(c->sigmas) : json_null());
    put(o, "p", json_real(c->chance));
}

/* All measures; of two moments of one run only what is live then. */
static json_t *
totals(const struct alqi_cli_diff *d)
{
    json_t *o = json_object();

    if (alqi_cli_diff_is_one_run(d)) {
        json_t *change = json_object();

        put_change(change, d, &d->comparison.totals[d->measure]);
        put(o, "live", change);
        return o;
    }
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        json_t *change = json_object();

        put_change(change, d, &d->comparison.totals[m]);
        put(o, alqi_cli_measure_name((enum alqi_cli_measure)m), change);
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
    const struct alqi_cli_frame *f =
        alqi_cli_pair_frame(&d->comparison, pair, &names);
    enum alqi_cli_grouping g = d->grouping;
    uint32_t function = g <= ALQI_CLI_BY_LINE ? f->function : ALQI_CLI_NO_NAME;
    uint32_t file = g != ALQI_CLI_BY_MODULE ? f->file : ALQI_CLI_NO_NAME;

    put(o, "function", json_string(alqi_cli_names_text(names, function)));
    put(o, "file", json_string(alqi_cli_names_text(names, file)));
    put(o, "line", json_integer(g == ALQI_CLI_BY_LINE ? f->line : 0));
    put(o, "module", json_string(alqi_cli_names_text(names, f->module)));
    put(o, "is_mapping", json_boolean(alqi_cli_pair_is_mapping(pair)));
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
        put(o, "state", json_string(state(&pair->change)));
        put_change(o, d, &pair->change);
        put(o, "is_significant", json_boolean(is_more));
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
        put(g, "what", json_string(growths[i].pair == NULL ? "total" : "site"));
        if (growths[i].pair != NULL)
            put_place(g, d, growths[i].pair);
        put(g, "change_bytes", whole(growths[i].bytes));
        put(g, "p", json_real(growths[i].chance));
        put(g, "is_significant", json_boolean(is_more));
        json_array_append_new(list, g);
    }
    put(o, "limit", json_string(d->limit.text));
    put(o, "limit_bytes", whole(alqi_cli_limit_bytes(d)));
    put(o, "is_exceeded", json_boolean(is_over));
    put(o, "growths", list);
    free(growths);
    return o;
}

/* Everything that decides is_significant stands in front of the sites: level,
 * min_sigma, and how p is corrected. */
void
alqi_cli_diff_json(struct alqi_cli_diff *d)
{
    static const char *const groupings[] = {"function", "line", "file",
                                            "module"};
    json_t *o = json_object();

    put(o, "schema", json_integer(SCHEMA));
    put(o, "a", side(&d->a));
    put(o, "b", side(&d->b));
    put(o, "warnings", warnings(d));
    put(o, "measure",
        json_string(alqi_cli_diff_is_one_run(d)
                        ? "live"
                        : alqi_cli_measure_name(d->measure)));
    put(o, "group", json_string(groupings[d->grouping]));
    put(o, "min_sigma", json_real(d->min_sigma));
    put(o, "level", json_real(alqi_cli_diff_level(d)));
    put(o, "correction", json_string("holm"));
    put(o, "sites_compared", json_integer(d->comparison.n_pairs));
    put(o, "totals", totals(d));
    if (d->limit.text != NULL)
        put(o, "fail_over", limit(d));
    put(o, "sites", sites(d));
    json_dumpf(o, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(o);
}
