/* growth.c -- from the growth of an index's stacks to that of groups
 *
 * [growth.h] Phases: begin, before the analysis -> make, when sites are
 * grouped -> free. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/growth.h"
#include "cli/tool/cli.h"

/* Ends the command. */
static _Noreturn void
give_up(const char *why)
{
    alqi_cli_die("growth cannot be found: %s", why);
}

void
alqi_cli_growth_begin(struct alqi_cli_growth *g,
                      const struct alqi_cli_filter *filter,
                      struct alqi_cli_analysis *analysis,
                      struct alqi_cli_analysis_options *options)
{
    if (filter->text == NULL)
        alqi_cli_rows_begin(&g->rows, analysis, options);
}

/* By stack of the index. */
static struct alqi_view_growth *
stacks_make(const struct alqi_view_index *x,
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

void
alqi_cli_growth_make(struct alqi_cli_growth *g,
                     const struct alqi_cli_filter *filter,
                     struct alqi_cli_analysis *a, struct alqi_cli_input *input,
                     const struct alqi_cli_groups *groups)
{
    const struct alqi_cli_rows *rows =
        filter->text != NULL ? &filter->rows : &g->rows;
    const char *error =
        filter->text != NULL ? NULL : alqi_cli_rows_end(&g->rows, input);
    struct alqi_view_growth *stacks;

    if (error != NULL)
        give_up(error);
    stacks = stacks_make(&rows->index, filter);
    g->groups = alqi_cli_zeros(groups->n_groups, sizeof *g->groups);
    g->from_us = alqi_view_window(rows->index.meta->end_us).from_us;
    for (uint32_t i = 0; i < rows->index.n_stacks; i++) {
        uint32_t node = alqi_cli_view_indexer_node(rows->indexer, i);
        uint32_t site = a->site_of_node[node] - 1;

        if (alqi_cli_suppress_of(a, &a->sites[site]) == NULL)
            alqi_view_growth_join(&g->groups[groups->group_of_site[site]],
                                  &stacks[i]);
    }
    free(stacks);
}

void
alqi_cli_growth_free(struct alqi_cli_growth *g)
{
    alqi_cli_rows_free(&g->rows);
    free(g->groups);
}

/* Faster groups first, then in the groups' order. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_growth *g = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double x = g->groups[a].slope, y = g->groups[b].slope;

    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

uint32_t
alqi_cli_growth_order(const struct alqi_cli_growth *g,
                      const struct alqi_cli_groups *groups, uint32_t **order)
{
    uint32_t n = 0;

    *order = alqi_cli_realloc(NULL, groups->n_groups, sizeof **order);
    for (uint32_t i = 0; i < groups->n_groups; i++)
        if (alqi_view_growth_is_steady(&g->groups[i]))
            (*order)[n++] = i;
    qsort_r(*order, n, sizeof **order, compare, (void *)g);
    return n;
}
