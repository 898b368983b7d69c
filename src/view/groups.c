/* groups.c -- finds the groups of stacks, and the answer `groups`
 *
 * [groups.h] Folds have larger numbers than their parents: backwards, each
 * fold that is no head gives what it has to its parent; forwards, each takes
 * its parent's head. */
#include <stdlib.h>
#include <string.h>

#include "view/ask.h"
#include "view/groups.h"
#include "view/sort.h"

enum { PERCENT_DEFAULT = 5, PATH_MOST = 64 };

/* The order in which a sum is made does not decide. */
static const double SLACK = 1 - 1e-9;

/* One run. */
struct maker {
    const struct alqi_view_shape *shape;
    enum alqi_view_by by;
    /* by fold: what ends there; owned */
    struct alqi_view_sum *self;
    /* by fold: what it has below it that is of no group further down; owned */
    double *values;
    /* by fold: its head; owned */
    uint32_t *heads;
    struct alqi_view_groups *out;
};

/* ---- heads --------------------------------------------------------------- */

/* Fills self: a stack ends at its site, where it has one. Returns the value of
 * all stacks. */
static double
self_sum(struct maker *m, const struct alqi_view_index *x,
         const struct alqi_view_scan *scan)
{
    double all = 0;

    memset(m->self, 0, m->shape->n_folds * sizeof *m->self);
    for (uint32_t i = 0; i < x->n_stacks; i++) {
        uint32_t site = m->shape->site_of_stack[i];
        uint32_t node = site != 0 ? site : x->stacks[i].node;

        if (scan->stacks[i].objects == 0)
            continue;
        alqi_view_sum_join(&m->self[m->shape->fold_of_node[node]],
                           &scan->stacks[i]);
        all += alqi_view_sum_value(&scan->stacks[i], m->by);
    }
    return all;
}

/* Fills values and heads; returns the number of heads, the root among them. */
static uint32_t
heads_find(struct maker *m, double least)
{
    const struct alqi_view_fold *folds = m->shape->folds;
    uint32_t n = 1;

    for (uint32_t i = 0; i < m->shape->n_folds; i++)
        m->values[i] = alqi_view_sum_value(&m->self[i], m->by);
    for (uint32_t i = m->shape->n_folds; i-- > 1;) {
        m->heads[i] = 0;
        if (m->values[i] > 0 && m->values[i] >= least) {
            m->heads[i] = i;
            n++;
        } else {
            m->values[folds[i].parent] += m->values[i];
        }
    }
    m->heads[0] = 0;
    for (uint32_t i = 1; i < m->shape->n_folds; i++)
        if (m->heads[i] == 0)
            m->heads[i] = m->heads[folds[i].parent];
    return n;
}

/* ---- groups -------------------------------------------------------------- */

/* Adds a part at its place; the smallest is not kept where there are many. */
static void
part_enter(struct alqi_view_group *g, struct alqi_view_part part)
{
    uint32_t i =
        g->n_parts < ALQI_VIEW_GROUP_PARTS ? g->n_parts : ALQI_VIEW_GROUP_PARTS;

    g->n_parts++;
    for (; i > 0 && g->parts[i - 1].value < part.value; i--)
        if (i < ALQI_VIEW_GROUP_PARTS)
            g->parts[i] = g->parts[i - 1];
    if (i < ALQI_VIEW_GROUP_PARTS)
        g->parts[i] = part;
}

/* What fold i adds to its group. */
static void
fold_enter(struct alqi_view_group *g, const struct maker *m, uint32_t i)
{
    const struct alqi_view_fold *fold = &m->shape->folds[i];

    if (m->self[i].n > 0) {
        alqi_view_sum_join(&g->sum, &m->self[i]);
        g->n_stacks++;
    }
    if (i != g->fold && fold->parent == g->fold && m->values[i] > 0)
        part_enter(g, (struct alqi_view_part){fold->function, m->values[i]});
}

/* Order by value, then by head; the rest last. */
static int
by_size(const void *left, const void *right, void *arg)
{
    const struct alqi_view_group *a = left, *b = right;
    enum alqi_view_by by = *(const enum alqi_view_by *)arg;
    double x = alqi_view_sum_value(&a->sum, by);
    double y = alqi_view_sum_value(&b->sum, by);

    if ((a->fold == 0) != (b->fold == 0))
        return a->fold == 0 ? 1 : -1;
    if (x != y)
        return x > y ? -1 : 1;
    return a->fold < b->fold ? -1 : a->fold > b->fold;
}

/* Makes the n rows, of which the rest may be empty and go. rows[0] is the rest;
 * numbers is scratch, by fold: row of a head. */
static void
rows_fill(struct maker *m, uint32_t *numbers)
{
    struct alqi_view_groups *out = m->out;
    enum alqi_view_by by = m->by;

    out->n = 1;
    for (uint32_t i = 1; i < m->shape->n_folds; i++)
        if (m->heads[i] == i) {
            numbers[i] = out->n;
            out->rows[out->n++].fold = i;
        }
    numbers[0] = 0;
    for (uint32_t i = 0; i < m->shape->n_folds; i++)
        fold_enter(&out->rows[numbers[m->heads[i]]], m, i);
    alqi_view_sort(out->rows, out->n, sizeof *out->rows, by_size, &by);
    if (out->rows[out->n - 1].n_stacks == 0)
        out->n--;
}

bool
alqi_view_groups_make(struct alqi_view_groups *out,
                      const struct alqi_view_index *x,
                      const struct alqi_view_shape *shape,
                      const struct alqi_view_scan *scan, enum alqi_view_by by,
                      double share)
{
    size_t n = shape->n_folds;
    uint32_t *numbers = malloc(n * sizeof *numbers);
    struct maker m = {
        .shape = shape,
        .by = by,
        .self = malloc(n * sizeof *m.self),
        .values = malloc(n * sizeof *m.values),
        .heads = malloc(n * sizeof *m.heads),
        .out = out,
    };

    *out = (struct alqi_view_groups){NULL, 0};
    if (numbers != NULL && m.self != NULL && m.values != NULL &&
        m.heads != NULL) {
        double all = self_sum(&m, x, scan);

        out->rows =
            calloc(heads_find(&m, share * all * SLACK), sizeof *out->rows);
        if (out->rows != NULL)
            rows_fill(&m, numbers);
    }
    free(numbers);
    free(m.self);
    free(m.values);
    free(m.heads);
    return out->rows != NULL;
}

void
alqi_view_groups_free(struct alqi_view_groups *groups)
{
    free(groups->rows);
    groups->rows = NULL;
}

/* ---- the answer ---------------------------------------------------------- */

/* The functions from the program to the head; of a long way its inner end. */
static void
put_path(struct alqi_view_json *out, const struct alqi_view_shape *shape,
         uint32_t fold, struct alqi_view_used *used)
{
    uint32_t path[PATH_MOST], n = 0;

    for (; fold != 0 && n < PATH_MOST; fold = shape->folds[fold].parent)
        path[n++] = shape->folds[fold].function;
    alqi_view_json_key(out, "path");
    alqi_view_json_open(out, '[');
    while (n > 0)
        alqi_view_json_int(out, alqi_view_used_position(used, path[--n]));
    alqi_view_json_close(out, ']');
}

static void
put_parts(struct alqi_view_json *out, const struct alqi_view_group *g,
          struct alqi_view_used *used)
{
    alqi_view_json_key(out, "parts");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < g->n_parts && i < ALQI_VIEW_GROUP_PARTS; i++) {
        alqi_view_json_open(out, '[');
        alqi_view_json_int(out,
                           alqi_view_used_position(used, g->parts[i].function));
        alqi_view_json_whole(out, g->parts[i].value);
        alqi_view_json_close(out, ']');
    }
    alqi_view_json_close(out, ']');
    alqi_view_json_key_int(out, "n_parts", g->n_parts);
}

static void
put_groups(struct alqi_view_json *out, const struct alqi_view_groups *groups,
           const struct alqi_view_shape *shape, struct alqi_view_used *used)
{
    alqi_view_json_key(out, "rows");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0;
         i < groups->n && out->n + used->bytes < ALQI_VIEW_ROWS_BYTES; i++) {
        const struct alqi_view_group *g = &groups->rows[i];

        alqi_view_json_open(out, '{');
        put_path(out, shape, g->fold, used);
        alqi_view_put_sum(out, "sum", &g->sum);
        alqi_view_json_key_int(out, "stacks", g->n_stacks);
        put_parts(out, g, used);
        alqi_view_json_close(out, '}');
    }
    alqi_view_json_close(out, ']');
}

bool
alqi_view_grouped(struct alqi_view_ask *ask)
{
    uint64_t percent =
        alqi_view_query_number(&ask->query, "percent", 1, 100, PERCENT_DEFAULT);
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct alqi_view_groups groups;
    struct alqi_view_used used;
    bool is_put;

    if (!alqi_view_ready(ask) || !alqi_view_look(ask, &scan, &shape))
        return false;
    is_put = alqi_view_groups_make(&groups, ask->x, shape, scan, ask->filter.by,
                                   (double)percent / 100);
    is_put = alqi_view_used_new(&used, ask->x) && is_put;
    if (is_put) {
        alqi_view_put_sum(ask->out, "total", &scan->total);
        put_groups(ask->out, &groups, shape, &used);
        alqi_view_used_put(&used, ask->out);
    }
    alqi_view_used_free(&used);
    alqi_view_groups_free(&groups);
    return is_put || alqi_view_give_up(ask);
}
