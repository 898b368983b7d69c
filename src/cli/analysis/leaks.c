/* leaks.c -- growth and groups of a report of leaks
 *
 * [leaks.h] Phases: begin, before the analysis -> make, when sites are grouped
 * -> free. What leaks is what the analysis says, by stack of the index: filter
 * and suppressions have been applied to that. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/leaks.h"
#include "cli/tool/cli.h"

/* A group has at least that share of what leaks. */
static const double GROUP_SHARE = 0.05;

/* Ends the command. */
static _Noreturn void
give_up(const char *why)
{
    alqi_cli_die("leaks cannot be looked at: %s", why);
}

void
alqi_cli_leaks_begin(struct alqi_cli_leaks *l,
                     const struct alqi_cli_filter *filter,
                     struct alqi_cli_analysis *analysis,
                     struct alqi_cli_analysis_options *options)
{
    if (filter->text == NULL)
        alqi_cli_rows_begin(&l->rows, analysis, options);
}

/* By stack of the index. */
static struct alqi_view_growth *
growth_of_stacks(const struct alqi_view_index *x,
                 const struct alqi_cli_filter *filter)
{
    struct alqi_view_filter wanted = {.heap = ALQI_VIEW_HEAP_ALL};
    struct alqi_view_growth *stacks;
    struct alqi_view_scan scan;

    if (filter->text != NULL)
        wanted = filter->filter;
    alqi_view_filter_untime(&wanted);
    if (!alqi_view_scan_run(&scan, x, &wanted))
        give_up("there is no memory");
    stacks = alqi_view_growth_of_stacks(x, &scan);
    if (stacks == NULL)
        give_up("there is no memory");
    alqi_view_scan_free(&scan);
    return stacks;
}

/* ---- what leads to them -------------------------------------------------- */

/* What is entered where. */
struct reaching {
    struct alqi_cli_leaks *leaks;
    const struct alqi_cli_rows *rows;
    struct alqi_cli_analysis *analysis;
    const struct alqi_cli_groups *sites;
    struct alqi_view_scan scan;
    struct alqi_view_rows block;
};

/* The site of a stack of the index. */
static uint32_t
site_of_stack(const struct reaching *s, uint32_t stack)
{
    return s->analysis->site_of_node[alqi_cli_view_indexer_node(
               s->rows->indexer, stack)] -
           1;
}

static void
row_reach(struct reaching *s, uint32_t i)
{
    const struct alqi_view_index *x = s->leaks->x;
    const struct alqi_view_rows *r = &s->block;
    const struct alqi_view_class *c = &x->classes[r->class_[i]];
    struct alqi_view_stand stand = alqi_view_stand(x, &s->scan, r, i);
    struct alqi_cli_sum sum = alqi_cli_sum_of_stand(&stand, (double)r->life[i]);
    uint32_t site = site_of_stack(s, r->stack[i]);
    enum alqi_view_reach reach = alqi_view_reach_of(r->flags[i]);
    uint32_t group = s->sites->group_of_site[site];

    if (alqi_cli_suppress_of(s->analysis, &s->analysis->sites[site]) != NULL)
        return;
    sum.largest_bytes = c->p < 1 ? (double)c->size_bytes : 0;
    sum.is_peak = s->scan.filter.live_kind == ALQI_VIEW_LIVE_PEAK;
    alqi_cli_sum_join(&s->leaks->by_reach[reach], &sum);
    alqi_cli_sum_join(&s->leaks->reach[group][reach], &sum);
    if ((r->flags[i] & ALQI_VIEW_OLD) != 0)
        alqi_cli_sum_join(&s->leaks->may_be_old, &sum);
}

/* By group of sites, but for what rules take. */
static void
holdings_make(struct reaching *s)
{
    uint32_t n = s->leaks->x->n_stacks;
    uint32_t *groups = alqi_cli_zeros(n, sizeof *groups);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t site = site_of_stack(s, i);

        groups[i] =
            alqi_cli_suppress_of(s->analysis, &s->analysis->sites[site]) == NULL
                ? s->sites->group_of_site[site]
                : ALQI_VIEW_NO_GROUP;
    }
    if (!alqi_view_holdings_make(&s->leaks->holdings, s->leaks->x, &s->scan,
                                 groups, ALQI_VIEW_BY_BYTES))
        give_up("there is no memory");
    free(groups);
}

/* Of the rows that pass. */
static void
reach_make(struct alqi_cli_leaks *l, const struct alqi_cli_filter *filter,
           const struct alqi_cli_rows *rows, struct alqi_cli_analysis *a,
           const struct alqi_cli_groups *sites)
{
    static const struct alqi_view_filter all = {.heap = ALQI_VIEW_HEAP_ALL};
    struct reaching *s = alqi_cli_zeros(1, sizeof *s);

    *s = (struct reaching){
        .leaks = l, .rows = rows, .analysis = a, .sites = sites};
    l->reach = alqi_cli_zeros(sites->n_groups, sizeof *l->reach);
    if (!alqi_view_scan_run(&s->scan, l->x,
                            filter->text != NULL ? &filter->filter : &all))
        give_up("there is no memory");
    for (uint32_t b = 0; b < l->x->n_blocks; b++) {
        if (!alqi_view_rows_read(&s->block, l->x, &s->scan, b))
            continue;
        for (uint32_t i = 0; i < s->block.n; i++)
            if (s->block.passes[i] != 0 &&
                (s->block.flags[i] & ALQI_VIEW_LEFT) != 0)
                row_reach(s, i);
    }
    if (l->x->n_steps > 0)
        holdings_make(s);
    alqi_view_scan_free(&s->scan);
    free(s);
}

/* ---- growth, groups ------------------------------------------------------ */

/* What sums of the report and of the viewer both have, as initialisers. */
#define FIGURES_OF(s)                                                          \
    .bytes = (s)->bytes, .bytes_var = (s)->bytes_var,                          \
    .bytes_third = (s)->bytes_third, .objects = (s)->objects,                  \
    .objects_var = (s)->objects_var, .objects_third = (s)->objects_third,      \
    .seen_bytes = (s)->seen_bytes, .seen_objects = (s)->seen_objects,          \
    .life_us = (s)->life_us, .n_samples = (s)->n_samples

/* What a site has never freed. */
static struct alqi_view_sum
left_of(const struct alqi_view_index *x, const struct alqi_cli_site *site)
{
    const struct alqi_cli_sum *s = &site->sums[ALQI_CLI_LIVE];

    return (struct alqi_view_sum){
        FIGURES_OF(s),
        .most_bytes = x->most_bytes,
        .most_objects = x->most_objects,
        .n = s->n_blocks,
    };
}

struct alqi_cli_sum
alqi_cli_leaks_sum(const struct alqi_view_sum *s)
{
    return (struct alqi_cli_sum){FIGURES_OF(s), .n_blocks = s->n,
                                 .is_peak = s->peak > 0};
}

/* `left` is by stack of the index. */
static void
groups_make(struct alqi_cli_leaks *l, struct alqi_view_sum *left)
{
    const struct alqi_view_look look = {.keeps_recursion = false};
    const struct alqi_view_scan scan = {.stacks = left};

    if (!alqi_view_shape_make(&l->shape, l->x, &look) ||
        !alqi_view_groups_make(&l->groups, l->x, &l->shape, &scan,
                               ALQI_VIEW_BY_BYTES, GROUP_SHARE))
        give_up("there is no memory");
}

void
alqi_cli_leaks_make(struct alqi_cli_leaks *l,
                    const struct alqi_cli_filter *filter,
                    struct alqi_cli_analysis *a, struct alqi_cli_input *input,
                    const struct alqi_cli_groups *sites)
{
    const struct alqi_cli_rows *rows =
        filter->text != NULL ? &filter->rows : &l->rows;
    const char *error =
        filter->text != NULL ? NULL : alqi_cli_rows_end(&l->rows, input);
    struct alqi_view_growth *stacks;
    struct alqi_view_sum *left;

    if (error != NULL)
        give_up(error);
    l->x = &rows->index;
    stacks = growth_of_stacks(l->x, filter);
    left = alqi_cli_zeros(l->x->n_stacks, sizeof *left);
    l->growth = alqi_cli_zeros(sites->n_groups, sizeof *l->growth);
    l->from_us = alqi_view_window(l->x->meta->end_us).from_us;
    for (uint32_t i = 0; i < l->x->n_stacks; i++) {
        uint32_t node = alqi_cli_view_indexer_node(rows->indexer, i);
        uint32_t site = a->site_of_node[node] - 1;

        left[i] = left_of(l->x, &a->sites[site]);
        if (alqi_cli_suppress_of(a, &a->sites[site]) == NULL)
            alqi_view_growth_join(&l->growth[sites->group_of_site[site]],
                                  &stacks[i]);
    }
    groups_make(l, left);
    if (a->has_reach)
        reach_make(l, filter, rows, a, sites);
    free(left);
    free(stacks);
}

void
alqi_cli_leaks_free(struct alqi_cli_leaks *l)
{
    alqi_view_groups_free(&l->groups);
    alqi_view_shape_free(&l->shape);
    alqi_cli_rows_free(&l->rows);
    free(l->growth);
    free(l->reach);
    alqi_view_holdings_free(&l->holdings);
}

/* Faster groups first, then in the groups' order. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_leaks *l = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = l->growth[a].slope, y = l->growth[b].slope;

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

uint32_t
alqi_cli_leaks_steady(const struct alqi_cli_leaks *l,
                      const struct alqi_cli_groups *sites, uint32_t **order)
{
    uint32_t n = 0;

    *order = alqi_cli_realloc(NULL, sites->n_groups, sizeof **order);
    for (uint32_t i = 0; i < sites->n_groups; i++)
        if (alqi_view_growth_is_steady(&l->growth[i]))
            (*order)[n++] = i;
    qsort_r(*order, n, sizeof **order, compare, (void *)(uintptr_t)l);
    return n;
}
