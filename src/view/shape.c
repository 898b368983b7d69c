/* shape.c -- folds the stacks of an index, and names their sites
 *
 * [shape.h] Nodes are gone through depth first, so that which functions are on
 * the path is one flag for each, however deep stacks are. Folds are numbered as
 * they are met, parents before children (.inv.fold). A node tells those below
 * it in which rule's run of frames they stand (.inv.drawn). */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "view/naming.h"
#include "view/shape.h"
#include "view/walk.h"
#include "view/whole.h"

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
    /* by function: 1 + the rule that takes it; 0: none */
    uint8_t *rule_of;
    /* by node: 1 + the rule of the innermost frame down to it that is shown; 0:
     * no rule took it */
    uint8_t *run_of;
    struct alqi_view_walk walk;
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
    f->rule_of = calloc(f->x->n_functions, 1);
    f->is_outermost = calloc(n, 1);
    f->run_of = calloc(n, 1);
    f->shape->fold_of_node = calloc(n, sizeof *f->shape->fold_of_node);
    f->shape->folds = calloc(n, sizeof *f->shape->folds);
    f->shape->site_of_stack =
        calloc((size_t)f->x->n_stacks + 1, sizeof *f->shape->site_of_stack);
    return alqi_view_walk_make(&f->walk, f->x->nodes, sizeof *f->x->nodes, n) &&
           f->is_hidden != NULL && f->is_on_path != NULL &&
           f->rule_of != NULL && f->is_outermost != NULL && f->run_of != NULL &&
           f->shape->fold_of_node != NULL && f->shape->folds != NULL &&
           f->shape->site_of_stack != NULL;
}

static void
folder_free(struct folder *f)
{
    free(f->is_hidden);
    free(f->is_on_path);
    free(f->rule_of);
    free(f->is_outermost);
    free(f->run_of);
    alqi_view_walk_free(&f->walk);
    alqi_base_map_clear(&f->folds);
}

/* Gives each function the first rule that takes it. False: no memory. */
static bool
rules_take(struct folder *f)
{
    const struct alqi_view_words *fold = &f->shape->look.fold;
    uint8_t *is_taken = calloc(f->x->n_functions, 1);
    bool is_done = is_taken != NULL;

    for (uint32_t r = fold->n; is_done && r-- > 0;) {
        memset(is_taken, 0, f->x->n_functions);
        is_done = alqi_view_word_mark(&fold->words[r], f->x, is_taken);
        for (uint32_t i = 0; i < f->x->n_functions; i++)
            if (is_taken[i])
                f->rule_of[i] = (uint8_t)(r + 1);
    }
    free(is_taken);
    return is_done;
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

/* What a rule's run of frames is shown as, from its outermost frame: the
 * module, if a rule is of modules or the module is a library; else the
 * directory of the source file, since a program has templates of libraries
 * within. Where a trace knows no modules, paths of source files stand in their
 * place, and are none. */
static uint32_t
whole_of(const struct folder *f, uint32_t rule, uint32_t function)
{
    uint32_t module = alqi_view_module_of(f->x, function);
    const struct alqi_view_function *whole = &f->x->functions[module];

    return f->shape->look.fold.words[rule - 1].of == ALQI_VIEW_OF_MODULE ||
                   ((whole->flags & ALQI_VIEW_LIBRARY) != 0 &&
                    strchr(alqi_view_text(f->x, whole->module), '/') == NULL)
               ? module
               : alqi_view_directory_of(f->x, function);
}

/* Sets the fold of a node that a rule takes: that above it, or a new one.
 * False: no memory. */
static bool
node_fold(struct folder *f, uint32_t node, uint32_t rule)
{
    uint32_t *fold = &f->shape->fold_of_node[node];
    uint32_t whole = whole_of(f, rule, f->x->nodes[node].function);
    bool goes_on = f->run_of[node] == rule ||
                   (*fold != 0 && f->shape->folds[*fold].function == whole);

    f->run_of[node] = (uint8_t)rule;
    if (!goes_on)
        *fold = fold_at(f, *fold, whole);
    return goes_on || *fold != 0;
}

/* The walk comes to a node from above: sets its fold. False: no memory. */
static bool
node_enter(struct folder *f, uint32_t node)
{
    uint32_t function = f->x->nodes[node].function;
    uint32_t parent = f->x->nodes[node].parent;
    uint32_t above = f->shape->fold_of_node[parent];

    f->shape->fold_of_node[node] = above;
    f->run_of[node] = f->run_of[parent];
    if (f->is_hidden[function])
        return true;
    if (f->rule_of[function] != 0)
        return node_fold(f, node, f->rule_of[function]);
    if (f->is_on_path[function] && !f->shape->look.keeps_recursion)
        return true;
    f->is_outermost[node] = !f->is_on_path[function];
    f->is_on_path[function] = 1;
    f->run_of[node] = 0;
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

/* Walks all nodes. False: no memory. */
static bool
nodes_fold(struct folder *f)
{
    for (;;)
        switch (alqi_view_walk_step(&f->walk)) {
        case ALQI_VIEW_ENTER:
            if (!node_enter(f, f->walk.row))
                return false;
            break;
        case ALQI_VIEW_LEAVE:
            node_leave(f, f->walk.row);
            break;
        case ALQI_VIEW_END:
            return true;
        }
}

bool
alqi_view_shape_make(struct alqi_view_shape *shape,
                     const struct alqi_view_index *x,
                     const struct alqi_view_look *look)
{
    struct folder f = {.x = x, .shape = shape};
    bool is_made;

    memset(shape, 0, sizeof *shape);
    shape->look.keeps_recursion = look->keeps_recursion;
    is_made = alqi_view_words_keep(&shape->look.hide, &shape->hide_texts,
                                   &look->hide) &&
              alqi_view_words_keep(&shape->look.fold, &shape->fold_texts,
                                   &look->fold) &&
              folder_new(&f) &&
              alqi_view_words_mark(&shape->look.hide, x, f.is_hidden) &&
              rules_take(&f);
    if (is_made) {
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

bool
alqi_view_looks_are_same(const struct alqi_view_look *a,
                         const struct alqi_view_look *b)
{
    return a->keeps_recursion == b->keeps_recursion &&
           alqi_view_words_are_same(&a->hide, &b->hide) &&
           alqi_view_words_are_same(&a->fold, &b->fold);
}

void
alqi_view_shape_free(struct alqi_view_shape *shape)
{
    free(shape->hide_texts);
    free(shape->fold_texts);
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
