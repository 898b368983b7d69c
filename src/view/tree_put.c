/* tree_put.c -- writes of a tree what fits, largest first
 *
 * [tree.h] A node has at least what its children have, so the nodes above a
 * threshold are a tree. The threshold rises until their estimated bytes fit.
 * Then the nodes are written in pre-order, children by size, each with the
 * position of its parent. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/sort.h"
#include "view/tree.h"

/* The threshold grows by STEP; from FIRST_SHARE of the total if it was 0.
 * VALUE_MOST bounds a written number (json.h); INTERVAL_BYTES is what the ends
 * of an interval take at most of what most nodes have. */
enum { INTERVAL_BYTES = 2 * 10 };
static const double STEP = 1.25, FIRST_SHARE = 1e-7, VALUE_MOST = 9e18;

/* A tree while it is written. */
struct putter {
    const struct alqi_view_tree *tree;
    /* its functions are named even if nothing is below it */
    const struct alqi_view_focus *focus;
    struct alqi_view_used *used;
    struct alqi_view_json *out;
    enum alqi_view_by by;
    uint32_t most_depth;
    /* by node: 1 for the root; 0: not written; owned */
    uint32_t *depth;
    /* nodes that are written */
    uint32_t n;
    /* nodes that are written, siblings together, largest first; owned */
    uint32_t *order;
    /* by node: its children in order; used up while writing; owned */
    uint32_t *first_child, *n_children;
    /* by node: its place in the answer; owned */
    uint32_t *position;
};

/* A node's value, of both sides together. */
static double
value_of(const struct putter *p, uint32_t node)
{
    double value = alqi_view_sum_value(&p->tree->all[node], p->by);

    if (p->tree->b_all != NULL)
        value += alqi_view_sum_value(&p->tree->b_all[node], p->by);
    return value;
}

/* No side has anything of the node. */
static bool
is_empty(const struct alqi_view_tree *t, uint32_t node)
{
    return t->all[node].objects == 0 &&
           (t->b_all == NULL || t->b_all[node].objects == 0);
}

/* Digits that a number takes when it is written. */
static size_t
digits_of(double whole)
{
    size_t n = 1;

    for (whole = fmin(whole, VALUE_MOST); whole >= 9.5; whole /= 10)
        n++;
    return n;
}

/* Bytes of one side's figures: value, error, self and number of samples. */
static size_t
side_bytes(const struct putter *p, const struct alqi_view_sum *all,
           const struct alqi_view_sum *self)
{
    return digits_of(alqi_view_sum_value(all, p->by)) +
           digits_of(alqi_view_sum_stderr(all, p->by)) +
           digits_of(alqi_view_sum_value(self, p->by)) +
           digits_of((double)all->n) + 4;
}

/* Where the error of a node is told as an interval, that; else 0 to 0. In a
 * difference it is that of B - A. */
static struct alqi_view_interval
interval_of(const struct putter *p, uint32_t node)
{
    const struct alqi_view_tree *t = p->tree;
    struct alqi_view_interval x = alqi_view_sum_interval(&t->all[node], p->by);

    if (t->b_all != NULL) {
        struct alqi_view_interval b =
            alqi_view_sum_interval(&t->b_all[node], p->by);

        x = alqi_view_interval_between(
            alqi_view_sum_value(&t->all[node], p->by), &x,
            alqi_view_sum_value(&t->b_all[node], p->by), &b);
    }
    return alqi_view_is_few(&x) ? x : (struct alqi_view_interval){0, 0, 0};
}

/* Bytes of a node's row; its numbers of function and parent are below
 * n_shown. */
static size_t
node_bytes(const struct putter *p, uint32_t node, uint32_t n_shown)
{
    const struct alqi_view_tree *t = p->tree;
    size_t n = 5 + 2 * digits_of(n_shown) + INTERVAL_BYTES +
               side_bytes(p, &t->all[node], &t->self[node]);

    if (t->b_all != NULL)
        n += side_bytes(p, &t->b_all[node], &t->b_self[node]);
    return n;
}

/* Marks the nodes that have at least so much, and their functions as used;
 * returns the bytes that they take. */
static size_t
mark(struct putter *p, double least)
{
    size_t bytes = 0;

    alqi_view_used_clear(p->used);
    memset(p->depth, 0, p->tree->n * sizeof *p->depth);
    p->depth[0] = 1;
    p->n = 1;
    alqi_view_used_position(p->used, p->tree->nodes[0].function);
    for (uint32_t i = 0; i < p->focus->n; i++)
        alqi_view_used_position(p->used, p->focus->functions[i]);
    for (uint32_t i = 1; i < p->tree->n; i++) {
        uint32_t above = p->depth[p->tree->nodes[i].parent];

        if (above == 0 || above > p->most_depth || is_empty(p->tree, i) ||
            value_of(p, i) < least)
            continue;
        p->depth[i] = above + 1;
        p->n++;
        bytes += node_bytes(p, i, p->tree->n);
        alqi_view_used_position(p->used, p->tree->nodes[i].function);
    }
    return bytes + p->used->bytes;
}

/* Order by parent, then by size. */
static int
by_value(const void *left, const void *right, void *arg)
{
    const struct putter *p = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t parent_a = p->tree->nodes[a].parent;
    uint32_t parent_b = p->tree->nodes[b].parent;
    double x = value_of(p, a), y = value_of(p, b);

    if (parent_a != parent_b)
        return parent_a < parent_b ? -1 : 1;
    if (x != y)
        return x > y ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Lists the children of each node that is written, largest first. */
static void
children_order(struct putter *p)
{
    uint32_t n = 0;

    for (uint32_t i = 1; i < p->tree->n; i++) {
        p->n_children[i] = 0;
        if (p->depth[i] > 0)
            p->order[n++] = i;
    }
    p->n_children[0] = 0;
    alqi_view_sort(p->order, n, sizeof *p->order, by_value, p);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = p->tree->nodes[p->order[i]].parent;

        if (p->n_children[parent]++ == 0)
            p->first_child[parent] = i;
    }
}

/* Writes the other side's figures of a node. */
static void
put_other(struct putter *p, uint32_t node)
{
    const struct alqi_view_tree *t = p->tree;

    alqi_view_json_whole(p->out, alqi_view_sum_value(&t->b_all[node], p->by));
    alqi_view_json_whole(p->out, alqi_view_sum_stderr(&t->b_all[node], p->by));
    alqi_view_json_whole(p->out, alqi_view_sum_value(&t->b_self[node], p->by));
    alqi_view_json_int(p->out, (int64_t)t->b_all[node].n);
}

/* Writes a node as an array. */
static void
put_node(struct putter *p, uint32_t node)
{
    const struct alqi_view_tree *t = p->tree;
    const struct alqi_view_fold *f = &t->nodes[node];
    struct alqi_view_json *out = p->out;
    struct alqi_view_interval x = interval_of(p, node);

    alqi_view_json_open(out, '[');
    alqi_view_json_int(out, alqi_view_used_position(p->used, f->function));
    alqi_view_json_int(out, p->position[f->parent]);
    alqi_view_json_whole(out, alqi_view_sum_value(&t->self[node], p->by));
    alqi_view_json_whole(out, alqi_view_sum_value(&t->all[node], p->by));
    alqi_view_json_whole(out, alqi_view_sum_stderr(&t->all[node], p->by));
    alqi_view_json_int(out, (int64_t)t->all[node].n);
    alqi_view_json_whole(out, x.low);
    alqi_view_json_whole(out, x.high);
    if (t->b_all != NULL)
        put_other(p, node);
    alqi_view_json_close(out, ']');
}

/* In pre-order, without recursion: n_children counts down what is left. */
static void
put_nodes(struct putter *p)
{
    uint32_t node = 0, position = 0;

    alqi_view_json_key(p->out, "nodes");
    alqi_view_json_open(p->out, '[');
    p->position[0] = 0;
    put_node(p, 0);
    for (;;) {
        if (p->n_children[node] > 0) {
            p->n_children[node]--;
            node = p->order[p->first_child[node]++];
            p->position[node] = ++position;
            put_node(p, node);
        } else if (node != 0) {
            node = p->tree->nodes[node].parent;
        } else {
            break;
        }
    }
    alqi_view_json_close(p->out, ']');
}

/* Makes the tables. False: no memory. */
static bool
putter_new(struct putter *p)
{
    uint32_t n = p->tree->n;

    p->depth = malloc(n * sizeof *p->depth);
    p->order = malloc(n * sizeof *p->order);
    p->first_child = malloc(n * sizeof *p->first_child);
    p->n_children = malloc(n * sizeof *p->n_children);
    p->position = malloc(n * sizeof *p->position);
    return p->depth != NULL && p->order != NULL && p->first_child != NULL &&
           p->n_children != NULL && p->position != NULL;
}

static void
putter_free(struct putter *p)
{
    free(p->depth);
    free(p->order);
    free(p->first_child);
    free(p->n_children);
    free(p->position);
}

bool
alqi_view_tree_put(struct alqi_view_ask *ask, const struct alqi_view_tree *tree,
                   const struct alqi_view_tree_wish *wish,
                   struct alqi_view_used *used)
{
    struct putter p = {.tree = tree,
                       .focus = &wish->focus,
                       .used = used,
                       .out = ask->out,
                       .by = ask->filter.by,
                       .most_depth = wish->most_depth};
    double total = value_of(&p, 0), least = wish->min_share * total;
    bool is_made = putter_new(&p);

    if (is_made) {
        while (mark(&p, least) > ALQI_VIEW_ROWS_BYTES && p.n > 1)
            least = STEP * (least > 0 ? least : FIRST_SHARE * total);
        children_order(&p);
        put_nodes(&p);
        alqi_view_used_put(used, ask->out);
        alqi_view_json_key(ask->out, "least");
        alqi_view_json_whole(ask->out, least);
    }
    putter_free(&p);
    return is_made || alqi_view_give_up(ask);
}
