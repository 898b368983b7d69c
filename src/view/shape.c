/* shape.c -- folds the stacks of an index, and names their sites
 *
 * [shape.h] Nodes are gone through depth first, so that which functions are on
 * the path is one flag for each, however deep stacks are. The walk keeps no
 * stack of its own: it goes up by the nodes' parents. Folds are numbered as
 * they are met, parents before children (.inv.fold). */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "view/naming.h"
#include "view/shape.h"

/* A shape while it is made. */
struct folder {
    const struct alqi_view_index *x;
    struct alqi_view_shape *shape;
    /* by function: a word of hide matches it */
    uint8_t *is_hidden;
    /* by function: it is on the path to the present node */
    uint8_t *is_on_path;
    /* by node: it put its function on the path */
    uint8_t *is_outermost;
    /* [n_nodes + 1], into children */
    uint32_t *first_child;
    /* nodes, by parent */
    uint32_t *children;
    /* parent and function -> fold */
    struct alqi_base_map folds;
};

/* Makes the tables. False: no memory. */
static bool
folder_new(struct folder *f)
{
    uint32_t n = f->x->n_nodes;

    f->is_hidden = calloc(f->x->n_functions, 1);
    f->is_on_path = calloc(f->x->n_functions, 1);
    f->is_outermost = calloc(n, 1);
    f->first_child = calloc((size_t)n + 2, sizeof *f->first_child);
    f->children = calloc(n, sizeof *f->children);
    f->shape->fold_of_node = calloc(n, sizeof *f->shape->fold_of_node);
    f->shape->folds = calloc(n, sizeof *f->shape->folds);
    f->shape->site_of_stack =
        calloc((size_t)f->x->n_stacks + 1, sizeof *f->shape->site_of_stack);
    return f->is_hidden != NULL && f->is_on_path != NULL &&
           f->is_outermost != NULL && f->first_child != NULL &&
           f->children != NULL && f->shape->fold_of_node != NULL &&
           f->shape->folds != NULL && f->shape->site_of_stack != NULL;
}

static void
folder_free(struct folder *f)
{
    free(f->is_hidden);
    free(f->is_on_path);
    free(f->is_outermost);
    free(f->first_child);
    free(f->children);
    alqi_base_map_clear(&f->folds);
}

/* A counting sort: children[first_child[i]] up to first_child[i + 1] are those
 * of node i. */
static void
children_list(struct folder *f)
{
    uint32_t n = f->x->n_nodes;

    for (uint32_t i = 1; i < n; i++)
        f->first_child[f->x->nodes[i].parent + 2]++;
    for (uint32_t i = 2; i <= n; i++)
        f->first_child[i] += f->first_child[i - 1];
    for (uint32_t i = 1; i < n; i++)
        f->children[f->first_child[f->x->nodes[i].parent + 1]++] = i;
}

/* The fold of a function below another, made if it is new. 0, which is the
 * empty stack, without memory. */
static uint32_t
fold_at(struct folder *f, uint32_t parent, uint32_t function)
{
    bool is_new;
    uint64_t *fold =
        alqi_base_map_at(&f->folds, (uint64_t)parent << 32 | function, &is_new);

    if (fold == NULL)
        return 0;
    if (is_new) {
        *fold = ++f->shape->n_folds;
        f->shape->folds[*fold] = (struct alqi_view_fold){parent, function};
    }
    return (uint32_t)*fold;
}

/* The walk comes to a node from above: sets its fold. False: no memory. */
static bool
node_enter(struct folder *f, uint32_t node)
{
    uint32_t function = f->x->nodes[node].function;
    uint32_t above = f->shape->fold_of_node[f->x->nodes[node].parent];

    f->shape->fold_of_node[node] = above;
    if (f->is_hidden[function] || f->is_on_path[function])
        return true;
    f->is_outermost[node] = f->is_on_path[function] = 1;
    f->shape->fold_of_node[node] = fold_at(f, above, function);
    return f->shape->fold_of_node[node] != 0;
}

/* The walk leaves a node upward. */
static void
node_leave(struct folder *f, uint32_t node)
{
    if (f->is_outermost[node])
        f->is_on_path[f->x->nodes[node].function] = 0;
}

/* Walks all nodes. next[i] is the child of node i to enter next. False: no
 * memory. */
static bool
nodes_fold(struct folder *f)
{
    uint32_t node = 0;
    uint32_t *next = malloc(((size_t)f->x->n_nodes + 1) * sizeof *next);

    if (next == NULL)
        return false;
    memcpy(next, f->first_child, ((size_t)f->x->n_nodes + 1) * sizeof *next);
    for (;;) {
        if (next[node] < f->first_child[node + 1]) {
            node = f->children[next[node]++];
            if (!node_enter(f, node))
                break;
        } else if (node != 0) {
            node_leave(f, node);
            node = f->x->nodes[node].parent;
        } else {
            free(next);
            return true;
        }
    }
    free(next);
    return false;
}

bool
alqi_view_shape_make(struct alqi_view_shape *shape,
                     const struct alqi_view_index *x,
                     const struct alqi_view_words *hide)
{
    struct folder f = {.x = x, .shape = shape};
    bool is_made;

    memset(shape, 0, sizeof *shape);
    is_made = alqi_view_words_keep(&shape->hide, &shape->hide_texts, hide) &&
              folder_new(&f) &&
              alqi_view_words_mark(&shape->hide, x, f.is_hidden);
    if (is_made) {
        children_list(&f);
        is_made = nodes_fold(&f);
        for (uint32_t i = 0; i < x->n_stacks; i++)
            shape->site_of_stack[i] =
                alqi_view_naming(x, f.is_hidden, x->stacks[i].node);
    }
    shape->n_folds++; /* the empty stack */
    if (shape->folds != NULL)
        shape->folds[0].function = x->nodes[0].function;
    folder_free(&f);
    return is_made;
}

void
alqi_view_shape_free(struct alqi_view_shape *shape)
{
    free(shape->hide_texts);
    free(shape->fold_of_node);
    free(shape->site_of_stack);
    free(shape->folds);
    memset(shape, 0, sizeof *shape);
}

void
alqi_view_shape_sum(const struct alqi_view_shape *shape,
                    const struct alqi_view_index *x,
                    const struct alqi_view_scan *scan,
                    struct alqi_view_sum *self, struct alqi_view_sum *all)
{
    memset(self, 0, shape->n_folds * sizeof *self);
    for (uint32_t i = 0; i < x->n_stacks; i++)
        if (scan->stacks[i].objects > 0)
            alqi_view_sum_join(&self[shape->fold_of_node[x->stacks[i].node]],
                               &scan->stacks[i]);
    memcpy(all, self, shape->n_folds * sizeof *all);
    for (uint32_t i = shape->n_folds; i-- > 1;)
        alqi_view_sum_join(&all[shape->folds[i].parent], &all[i]);
}
