/* function_sums.c -- sums by function, and by line
 *
 * [function_sums.h] A function's sum as a site comes from the stacks; its sum
 * with all that it calls comes from the folds, on which it stands once a path.
 * Lines come from the nodes: a node counts if its fold differs from its
 * parent's, so recursion counts once. */
#include <stdlib.h>
#include <string.h>

#include "view/function_sums.h"
#include "view/sort.h"

struct alqi_view_sum *
alqi_view_sums_self(const struct alqi_view_index *x,
                    const struct alqi_view_shape *shape,
                    const struct alqi_view_scan *scan)
{
    struct alqi_view_sum *sums = calloc(x->n_functions, sizeof *sums);

    for (uint32_t i = 0; sums != NULL && i < x->n_stacks; i++)
        if (scan->stacks[i].objects > 0)
            alqi_view_sum_join(
                &sums[x->nodes[shape->site_of_stack[i]].function],
                &scan->stacks[i]);
    return sums;
}

struct alqi_view_sum *
alqi_view_sums_all(const struct alqi_view_index *x,
                   const struct alqi_view_shape *shape,
                   const struct alqi_view_sum *fold_all)
{
    struct alqi_view_sum *sums = calloc(x->n_functions, sizeof *sums);

    for (uint32_t i = 1; sums != NULL && i < shape->n_folds; i++)
        alqi_view_sum_join(&sums[shape->folds[i].function], &fold_all[i]);
    return sums;
}

struct alqi_view_sum *
alqi_view_sums_of_folds(const struct alqi_view_index *x,
                        const struct alqi_view_shape *shape,
                        const struct alqi_view_scan *scan)
{
    struct alqi_view_sum *self = malloc(shape->n_folds * sizeof *self);
    struct alqi_view_sum *all = malloc(shape->n_folds * sizeof *all);

    if (self != NULL && all != NULL) {
        alqi_view_shape_sum(shape, x, scan, self, all);
    } else {
        free(all);
        all = NULL;
    }
    free(self);
    return all;
}

/* Order by what the query asks for, then by number. */
static int
by_value(const void *left, const void *right, void *arg)
{
    const struct alqi_view_named *a = left, *b = right;
    enum alqi_view_by by = *(const enum alqi_view_by *)arg;
    double x = alqi_view_sum_value(&a->sum, by);
    double y = alqi_view_sum_value(&b->sum, by);

    if (x != y)
        return x > y ? -1 : 1;
    return a->function < b->function ? -1 : a->function > b->function;
}

uint32_t
alqi_view_sums_list(const struct alqi_view_index *x,
                    const struct alqi_view_sum *sums, enum alqi_view_by by,
                    struct alqi_view_named *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < x->n_functions; i++)
        if (sums[i].objects > 0)
            list[n++] = (struct alqi_view_named){i, sums[i]};
    alqi_view_sort(list, n, sizeof *list, by_value, &by);
    return n;
}

/* ---- lines --------------------------------------------------------------- */

/* What each node has, children included, to be freed by the caller. NULL: no
 * memory. */
static struct alqi_view_sum *
node_sums(const struct alqi_view_index *x, const struct alqi_view_scan *scan)
{
    struct alqi_view_sum *sums = calloc(x->n_nodes, sizeof *sums);

    if (sums == NULL)
        return NULL;
    for (uint32_t i = 0; i < x->n_stacks; i++)
        if (scan->stacks[i].objects > 0)
            alqi_view_sum_join(&sums[x->stacks[i].node], &scan->stacks[i]);
    for (uint32_t i = x->n_nodes; i-- > 1;)
        if (sums[i].objects > 0)
            alqi_view_sum_join(&sums[x->nodes[i].parent], &sums[i]);
    return sums;
}

/* Order by line. */
static int
by_line(const void *left, const void *right, void *arg)
{
    const struct alqi_view_line *a = left, *b = right;

    (void)arg;
    return a->line < b->line ? -1 : a->line > b->line;
}

/* Sorts the rows, and makes one of those that are of one line. */
static void
lines_join(struct alqi_view_lines *l)
{
    uint32_t n = 0;

    alqi_view_sort(l->rows, l->n, sizeof *l->rows, by_line, NULL);
    for (uint32_t i = 1; i < l->n; i++) {
        if (l->rows[i].line == l->rows[n].line)
            alqi_view_sum_join(&l->rows[n].sum, &l->rows[i].sum);
        else
            l->rows[++n] = l->rows[i];
    }
    l->n = l->n > 0 ? n + 1 : 0;
}

bool
alqi_view_lines_make(struct alqi_view_lines *l, const struct alqi_view_index *x,
                     const struct alqi_view_shape *shape,
                     const struct alqi_view_scan *scan, uint32_t function,
                     bool is_whole_file)
{
    struct alqi_view_sum *sums = node_sums(x, scan);
    uint32_t file = x->functions[function].file;

    l->n = 0;
    l->rows = malloc(x->n_nodes * sizeof *l->rows);
    for (uint32_t i = 1; sums != NULL && l->rows != NULL && i < x->n_nodes;
         i++) {
        const struct alqi_view_node *node = &x->nodes[i];
        bool is_wanted = is_whole_file
                             ? x->functions[node->function].file == file
                             : node->function == function;

        if (is_wanted && sums[i].objects > 0 &&
            shape->fold_of_node[i] != shape->fold_of_node[node->parent])
            l->rows[l->n++] = (struct alqi_view_line){node->line, sums[i]};
    }
    if (sums != NULL && l->rows != NULL)
        lines_join(l);
    free(sums);
    return sums != NULL && l->rows != NULL;
}
