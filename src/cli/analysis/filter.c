/* filter.c -- sums of the blocks that pass a filter
 *
 * [filter.h] Whether a block passes may depend on its end and on the peak,
 * which come later. So each block becomes a row of an index in memory while
 * the trace is read, and the rows are gone through once after that.
 *
 * Phases: take (the option) -> begin (before the analysis) -> end (after it:
 * the index is finished, opened, scanned; sites, totals and timeline are
 * replaced) -> free.
 *
 * .inv.once   With a filter a block becomes a row of the index and enters no
 *             sum of the analysis; without one it enters the sums. */
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/analysis/filter.h"
#include "view/levels.h"
#include "view/scan.h"

/* Ends the command. */
static _Noreturn void
give_up(const char *why)
{
    alqi_cli_die("the filter cannot be used: %s", why);
}

bool
alqi_cli_filter_take(struct alqi_cli_filter *f, const char *verb,
                     const char *option, const char *text)
{
    f->text = text;
    if (alqi_view_query_parse(&f->query, text) &&
        alqi_view_filter_take(&f->filter, &f->query, "", 1))
        alqi_view_query_done(&f->query);
    if (f->filter.hide.n > 0 || f->filter.has_stack ||
        f->filter.by != ALQI_VIEW_BY_BYTES)
        alqi_view_query_fail(&f->query, "hide, node and by are for the viewer");
    if (f->query.error[0] == '\0')
        return true;
    alqi_cli_usage(verb, "%s: --%s: %s", verb, option, f->query.error);
    alqi_view_query_free(&f->query);
    return false;
}

void
alqi_cli_filter_begin(struct alqi_cli_filter *f,
                      struct alqi_cli_analysis *analysis,
                      struct alqi_cli_analysis_options *options)
{
    if (f->text == NULL)
        return;
    options->is_held_wanted |= f->filter.reach != 0;
    alqi_cli_rows_begin(&f->rows, analysis, options);
    options->is_unsummed = true;
}

/* ---- sums ---------------------------------------------------------------- */

/* One run over the rows. */
struct run {
    /* its blocks are summed */
    struct alqi_cli_filter *filter;
    /* its sums are replaced */
    struct alqi_cli_analysis *a;
    /* the rows; the filter's */
    const struct alqi_view_index *x;
    /* which rows pass: the filter, and the other one if has_other */
    struct alqi_view_scan scan, other;
    bool has_other;
    /* scratch: one block of rows, decoded */
    struct alqi_view_rows rows;
};

struct alqi_cli_sum
alqi_cli_sum_of_stand(const struct alqi_view_stand *stand, double life_us)
{
    const struct alqi_view_weight *w = &stand->weight;

    return (struct alqi_cli_sum){
        .bytes = w->bytes,
        .bytes_var = w->bytes_var,
        .bytes_third = w->bytes_third,
        .objects = w->objects,
        .objects_var = w->objects_var,
        .objects_third = w->objects_third,
        .seen_bytes = w->seen_bytes,
        .seen_objects = w->seen_objects,
        .life_us = life_us * w->objects,
        .n_blocks = stand->n,
        .n_samples = stand->n_samples,
    };
}

/* What row i of a block stands for, at the peak or elsewhere. A row that
 * passes both filters is on both sides of a comparison, so it adds nothing to
 * the variance of their difference. */
static struct alqi_cli_sum
row_sum(const struct run *s, uint32_t block, uint32_t i, bool is_peak)
{
    const struct alqi_view_rows *r = &s->rows;
    const struct alqi_view_class *c = &s->x->classes[r->class_[i]];
    struct alqi_view_stand stand = {s->x->weights[r->class_[i]], 1,
                                    r->samples[i]};
    struct alqi_cli_sum sum;
    bool is_on_both =
        s->has_other &&
        alqi_view_scan_passes(&s->other, block * ALQI_VIEW_BLOCK_ROWS + i);

    if (is_peak)
        stand = alqi_view_stand_at_peak(s->x, r->class_[i], r->flags[i],
                                        r->samples[i]);
    sum = alqi_cli_sum_of_stand(&stand, (double)r->life[i]);
    sum.largest_bytes = c->p < 1 && !is_on_both ? (double)c->size_bytes : 0;
    sum.null_var = is_on_both ? 0 : stand.weight.bytes_var;
    sum.is_peak = is_peak;
    return sum;
}

/* Adds a row to the measures that it belongs to, by site, thread and size. A
 * filter on what lives at the peak weighs all of its rows as at the peak. */
static void
row_enter(struct run *s, uint32_t block, uint32_t i)
{
    const struct alqi_view_rows *r = &s->rows;
    uint32_t node =
        alqi_cli_view_indexer_node(s->filter->rows.indexer, r->stack[i]);
    struct alqi_cli_site *site = &s->a->sites[s->a->site_of_node[node] - 1];
    uint32_t thread = s->x->origins[r->origin[i]].thread;
    unsigned size_class =
        alqi_cli_size_class(s->x->classes[r->class_[i]].size_bytes);
    bool is_left = (r->flags[i] & ALQI_VIEW_LEFT) != 0;
    struct alqi_cli_suppress_rule *rule =
        is_left ? alqi_cli_suppress_of(s->a, site) : NULL;
    bool is_in[ALQI_CLI_N_MEASURES] = {
        [ALQI_CLI_ALLOCATED] = true,
        [ALQI_CLI_LIVE] = is_left,
        [ALQI_CLI_PEAK] = (r->flags[i] & ALQI_VIEW_PEAK) != 0,
        [ALQI_CLI_TEMPORARY] =
            !is_left && (double)r->life[i] < s->a->options.temporary_us,
    };

    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        struct alqi_cli_sum sum;

        if (!is_in[m])
            continue;
        sum = row_sum(s, block, i,
                      m == ALQI_CLI_PEAK ||
                          s->filter->filter.live_kind == ALQI_VIEW_LIVE_PEAK);
        if (m == ALQI_CLI_LIVE)
            alqi_cli_sum_join(&s->a->by_reach[alqi_view_reach_of(r->flags[i])],
                              &sum);
        if (m == ALQI_CLI_LIVE && (r->flags[i] & ALQI_VIEW_OLD) != 0)
            alqi_cli_sum_join(&s->a->may_be_old, &sum);
        if (m == ALQI_CLI_LIVE && rule != NULL) {
            alqi_cli_sum_join(&rule->sum, &sum);
            continue;
        }
        alqi_cli_sum_join(&site->sums[m], &sum);
        if (thread < s->a->notes.threads_capacity)
            alqi_cli_sum_join(&s->a->by_thread[thread][m], &sum);
        if (s->a->by_size != NULL)
            alqi_cli_sum_join(&s->a->by_size[size_class][m], &sum);
    }
}

/* Sums all rows that pass. Moves by realloc are known of sites only, not of
 * blocks, so they are cleared. */
static void
sums_make(struct run *s)
{
    struct alqi_cli_analysis *a = s->a;

    for (uint32_t b = 0; b < s->x->n_blocks; b++) {
        if (!alqi_view_rows_read(&s->rows, s->x, &s->scan, b))
            continue;
        for (uint32_t i = 0; i < s->rows.n; i++)
            if (s->rows.passes[i] != 0)
                row_enter(s, b, i);
    }
    for (uint32_t i = 0; i < a->n_sites; i++) /* not known of single blocks */
        memset(&a->sites[i].moves, 0, sizeof a->sites[i].moves);
    alqi_cli_analysis_total(a);
}

/* The drawn path becomes that of the blocks that pass. False: no memory. */
static bool
timeline_replace(struct run *s)
{
    struct alqi_cli_timeline *t = &s->a->timeline;
    struct alqi_view_levels levels = {.n = t->n, .step_us = t->step_us};

    if (t->n == 0)
        return true;
    if (!alqi_view_levels_make(&levels, s->x, &s->scan, ALQI_VIEW_DRAW_BYTES,
                               NULL))
        return false;
    memcpy(t->live, levels.values, t->n * sizeof *t->live);
    free(levels.values);
    return true;
}

/* Runs the filters over the rows and replaces the sums. */
static void
filters_run(struct run *s, const struct alqi_cli_filter *other)
{
    if (!alqi_view_scan_run(&s->scan, s->x, &s->filter->filter) ||
        (other != NULL && !alqi_view_scan_run(&s->other, s->x, &other->filter)))
        give_up("there is no memory");
    s->has_other = other != NULL;
    sums_make(s);
    if (!timeline_replace(s))
        give_up("there is no memory");
    alqi_view_scan_free(&s->scan);
    alqi_view_scan_free(&s->other);
}

void
alqi_cli_filter_end(struct alqi_cli_filter *f, struct alqi_cli_analysis *a,
                    struct alqi_cli_input *input,
                    const struct alqi_cli_filter *other)
{
    struct run *s;
    const char *error;

    if (f->text == NULL)
        return;
    s = alqi_cli_realloc(NULL, 1, sizeof *s);
    memset(s, 0, sizeof *s);
    s->filter = f;
    s->x = &f->rows.index;
    s->a = a;
    error = alqi_cli_rows_end(&f->rows, input);
    if (error != NULL)
        give_up(error);
    filters_run(s, other);
    free(s);
}

void
alqi_cli_filter_free(struct alqi_cli_filter *f)
{
    alqi_cli_rows_free(&f->rows);
    alqi_view_query_free(&f->query);
}
