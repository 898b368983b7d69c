/* tree.c -- trees of functions, down from the program or up to callers
 *
 * [tree.h] Down, the folds (paths.h) are the tree already; below a focus they
 * are put together once more. Where a stack comes to the focus more than once,
 * it is the innermost time that counts, down and up. Up, stacks are parted by
 * the function at which each has arrived, one caller further at each level.
 * Parts that are too small to be written are not parted further, so the work
 * stays in proportion to what is written. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "view/tree.h"
#include "view/whole.h"

enum { NO_NODE = UINT32_MAX };

void
alqi_view_tree_free(struct alqi_view_tree *t)
{
    free(t->nodes);
    free(t->self);
    free(t->all);
    free(t->b_self);
    free(t->b_all);
    memset(t, 0, sizeof *t);
}

/* Makes room for so many nodes. False: no memory; the tree is as it was. */
static bool
tree_room(struct alqi_view_tree *t, uint32_t capacity)
{
    void *nodes = realloc(t->nodes, capacity * sizeof *t->nodes);
    void *self, *all;

    if (nodes != NULL)
        t->nodes = nodes;
    self = realloc(t->self, capacity * sizeof *t->self);
    if (self != NULL)
        t->self = self;
    all = realloc(t->all, capacity * sizeof *t->all);
    if (all != NULL)
        t->all = all;
    if (nodes == NULL || self == NULL || all == NULL)
        return false;
    t->capacity = capacity;
    return true;
}

uint32_t
alqi_view_tree_add(struct alqi_view_tree *t, uint32_t parent, uint32_t function)
{
    if (t->n == t->capacity &&
        !tree_room(t, t->capacity == 0 ? 256 : 2 * t->capacity))
        return NO_NODE;
    t->nodes[t->n] = (struct alqi_view_fold){parent, function};
    memset(&t->self[t->n], 0, sizeof *t->self);
    memset(&t->all[t->n], 0, sizeof *t->all);
    return t->n++;
}

/* ---- focus --------------------------------------------------------------- */

bool
alqi_view_focus_take(struct alqi_view_ask *ask, struct alqi_view_focus *focus)
{
    const char *text = alqi_view_query_get(&ask->query, "focus"), *at = text;
    uint64_t id;
    uint32_t function;

    focus->n = 0;
    while (at != NULL && focus->n < ALQI_VIEW_FOCUS_MAX &&
           alqi_view_number_parse(&at, &id) &&
           (function = alqi_view_function_of(ask->x, id)) != UINT32_MAX) {
        focus->functions[focus->n++] = function;
        if (*at == '\0')
            return true;
        if (*at++ != ',')
            break;
    }
    if (text != NULL)
        alqi_view_query_fail(&ask->query,
                             "focus=%.60s: numbers of functions, at most %d",
                             text, ALQI_VIEW_FOCUS_MAX);
    return text == NULL;
}

uint32_t
alqi_view_focus_above(const struct alqi_view_focus *focus,
                      const struct alqi_view_fold *folds, uint32_t fold)
{
    for (uint32_t k = focus->n; k-- > 0;) {
        if (fold == 0 || folds[fold].function != focus->functions[k])
            return NO_NODE;
        fold = folds[fold].parent;
    }
    return fold;
}

static uint32_t
above_focus(const struct alqi_view_tree_input *in, uint32_t fold)
{
    return alqi_view_focus_above(in->focus, in->paths->folds, fold);
}

/* ---- down ---------------------------------------------------------------- */

/* Joins what stands below each occurrence of the focus into one tree. node_of
 * is scratch, by fold. False: no memory. */
static bool
below_focus(struct alqi_view_tree *t, const struct alqi_view_tree_input *in,
            uint32_t *node_of)
{
    const struct alqi_view_paths *p = in->paths;
    struct alqi_base_map children = {0};
    bool is_made = alqi_view_tree_add(t, 0, in->focus->functions[0]) == 0;

    node_of[0] = NO_NODE;
    for (uint32_t i = 1; is_made && i < p->n; i++) {
        const struct alqi_view_fold *f = &p->folds[i];
        uint64_t *child;
        bool is_new;

        node_of[i] = node_of[f->parent];
        if (above_focus(in, i) != NO_NODE) {
            node_of[i] = 0;
        } else if (node_of[i] != NO_NODE) {
            child = alqi_base_map_at(
                &children, (uint64_t)node_of[i] << 32 | f->function, &is_new);
            if (child != NULL && is_new)
                *child = alqi_view_tree_add(t, node_of[i], f->function);
            node_of[i] = child != NULL ? (uint32_t)*child : NO_NODE;
            is_made = node_of[i] != NO_NODE;
        }
        if (node_of[i] != NO_NODE)
            alqi_view_sum_join(&t->self[node_of[i]], &p->self[i]);
    }
    alqi_base_map_clear(&children);
    for (uint32_t i = 0; is_made && i < t->n; i++)
        t->all[i] = t->self[i];
    for (uint32_t i = t->n; is_made && i-- > 1;)
        alqi_view_sum_join(&t->all[t->nodes[i].parent], &t->all[i]);
    return is_made;
}

/* The tree of all paths: their folds and sums, which it takes. False: no
 * memory. */
static bool
take_all(struct alqi_view_tree *t, struct alqi_view_paths *p)
{
    t->nodes = malloc(p->n * sizeof *t->nodes);
    if (t->nodes == NULL)
        return false;
    memcpy(t->nodes, p->folds, p->n * sizeof *t->nodes);
    t->self = p->self;
    t->all = p->all;
    t->n = t->capacity = p->n;
    p->self = p->all = NULL;
    return true;
}

/* The tree from the program, or from a focus, down. False: no memory. */
static bool
down(struct alqi_view_tree *t, const struct alqi_view_tree_input *in)
{
    uint32_t *node_of;
    bool is_made;

    if (in->focus->n == 0)
        return take_all(t, in->paths);
    node_of = malloc(in->paths->n * sizeof *node_of);
    is_made = node_of != NULL && below_focus(t, in, node_of);
    free(node_of);
    return is_made;
}

/* ---- up ------------------------------------------------------------------ */

/* A stack on its way up: the fold at which it has arrived, and its sum. */
struct item {
    /* fold; 0: the stack is at its end */
    uint32_t at;
    /* index in sums */
    uint32_t sum;
};

/* One run upward. The items of a node lie together; parting a node puts those
 * of each child together inside the node's range. */
struct climb {
    struct alqi_view_tree *tree;
    const struct alqi_view_tree_input *in;
    /* all items, by the node they are at; a copy while they are moved; owned */
    struct item *items, *scratch;
    /* by fold: what an item counts */
    const struct alqi_view_sum *sums;
    /* parts with less get no node */
    double least;
    /* by node: first item, and end; owned */
    uint32_t (*range)[2];
    uint32_t range_capacity;
    /* by function: scratch; n is 0 between nodes; owned */
    struct part *part_of;
    /* functions that have a part of the present node; owned */
    uint32_t *functions;
};

/* Items of one node that are at one function. */
struct part {
    /* items; the new node or NO_NODE; where the next item goes */
    uint32_t n, node, to;
    struct alqi_view_sum sum;
};

/* Sets the items of a node. False: no memory. */
static bool
range_set(struct climb *c, uint32_t node, uint32_t first, uint32_t end)
{
    if (node >= c->range_capacity) {
        uint32_t capacity = 2 * node + 256;
        void *range = realloc(c->range, capacity * sizeof *c->range);

        if (range == NULL)
            return false;
        c->range = range;
        c->range_capacity = capacity;
    }
    c->range[node][0] = first;
    c->range[node][1] = end;
    return true;
}

/* Sums the items of a node by the function at which they are; returns how many
 * functions there are. Items at their end are the node's own. */
static uint32_t
items_part(struct climb *c, uint32_t node)
{
    uint32_t n = 0;

    for (uint32_t i = c->range[node][0]; i < c->range[node][1]; i++) {
        const struct item *item = &c->items[i];
        struct part *part;

        if (item->at == 0) {
            alqi_view_sum_join(&c->tree->self[node], &c->sums[item->sum]);
            continue;
        }
        part = &c->part_of[c->in->paths->folds[item->at].function];
        if (part->n++ == 0) {
            memset(&part->sum, 0, sizeof part->sum);
            c->functions[n++] = c->in->paths->folds[item->at].function;
        }
        alqi_view_sum_join(&part->sum, &c->sums[item->sum]);
    }
    return n;
}

/* Gives each part that is large enough a node and a range of its own. */
static bool
parts_place(struct climb *c, uint32_t node, uint32_t n)
{
    uint32_t to = c->range[node][0];

    for (uint32_t i = 0; i < n; i++) {
        struct part *part = &c->part_of[c->functions[i]];

        part->node = NO_NODE;
        if (alqi_view_sum_value(&part->sum, c->in->by) < c->least)
            continue;
        part->node = alqi_view_tree_add(c->tree, node, c->functions[i]);
        if (part->node == NO_NODE ||
            !range_set(c, part->node, to, to + part->n))
            return false;
        c->tree->all[part->node] = part->sum;
        part->to = to;
        to += part->n;
    }
    return true;
}

/* Moves the items of each part together, one caller further. Items of parts
 * without a node are dropped. */
static void
items_step(struct climb *c, uint32_t node)
{
    uint32_t first = c->range[node][0], end = c->range[node][1];

    memcpy(c->scratch + first, c->items + first,
           (end - first) * sizeof *c->items);
    for (uint32_t i = first; i < end; i++) {
        const struct item *item = &c->scratch[i];
        const struct alqi_view_fold *f = &c->in->paths->folds[item->at];
        struct part *part = &c->part_of[f->function];

        if (item->at != 0 && part->node != NO_NODE)
            c->items[part->to++] = (struct item){f->parent, item->sum};
    }
}

/* Parts one node. False: no memory. */
static bool
node_climb(struct climb *c, uint32_t node)
{
    uint32_t n = items_part(c, node);
    bool is_placed = parts_place(c, node, n);

    if (is_placed)
        items_step(c, node);
    for (uint32_t i = 0; i < n; i++)
        c->part_of[c->functions[i]].n = 0;
    return is_placed;
}

/* What is below each end of the focus, up to the next one: by fold, to be freed
 * by the caller. NULL: no memory. */
static struct alqi_view_sum *
focus_sums(const struct alqi_view_tree_input *in)
{
    const struct alqi_view_paths *p = in->paths;
    struct alqi_view_sum *sums = calloc(p->n, sizeof *sums);
    uint32_t *end_of = calloc(p->n, sizeof *end_of);
    bool is_made = sums != NULL && end_of != NULL;

    for (uint32_t i = 1; is_made && i < p->n; i++) {
        end_of[i] =
            above_focus(in, i) != NO_NODE ? i : end_of[p->folds[i].parent];
        if (end_of[i] != 0)
            alqi_view_sum_join(&sums[end_of[i]], &p->self[i]);
    }
    free(end_of);
    if (is_made)
        return sums;
    free(sums);
    return NULL;
}

/* The stacks to climb: each from where it ends, or from above the focus with
 * all that is below it. Returns their number. */
static uint32_t
items_begin(struct climb *c)
{
    bool has_focus = c->in->focus->n > 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->in->paths->n; i++) {
        uint32_t at = has_focus ? above_focus(c->in, i) : i;

        if (at == NO_NODE || c->sums[i].objects == 0)
            continue;
        c->items[n++] = (struct item){at, i};
        alqi_view_sum_join(&c->tree->all[0], &c->sums[i]);
    }
    return n;
}

/* Parts node after node; new nodes are appended, so the loop goes on until
 * none has parts. False: no memory. */
static bool
climb_run(struct climb *c)
{
    uint32_t function = c->in->focus->n > 0 ? c->in->focus->functions[0] : 0;

    if (alqi_view_tree_add(c->tree, 0, function) != 0 ||
        !range_set(c, 0, 0, items_begin(c)))
        return false;
    c->least =
        c->in->min_share * alqi_view_sum_value(&c->tree->all[0], c->in->by);
    for (uint32_t node = 0; node < c->tree->n; node++)
        if (!node_climb(c, node))
            return false;
    return true;
}

/* The tree from what allocates, or from a focus, up. False: no memory. */
static bool
up(struct alqi_view_tree *t, const struct alqi_view_tree_input *in)
{
    uint32_t n = in->paths->n;
    struct climb c = {.tree = t, .in = in};
    struct alqi_view_sum *below = in->focus->n > 0 ? focus_sums(in) : NULL;
    bool is_made;

    c.sums = in->focus->n > 0 ? below : in->paths->self;
    c.items = malloc(n * sizeof *c.items);
    c.scratch = malloc(n * sizeof *c.scratch);
    c.part_of = calloc(in->x->n_functions, sizeof *c.part_of);
    c.functions = malloc(in->x->n_functions * sizeof *c.functions);
    is_made = c.sums != NULL && c.items != NULL && c.scratch != NULL &&
              c.part_of != NULL && c.functions != NULL && climb_run(&c);
    free(below);
    free(c.items);
    free(c.scratch);
    free(c.part_of);
    free(c.functions);
    free(c.range);
    return is_made;
}

void
alqi_view_tree_most(struct alqi_view_sum *sums, uint32_t n,
                    const struct alqi_view_sum *total)
{
    for (uint32_t i = 0; i < n; i++) {
        sums[i].most_bytes = total->most_bytes;
        sums[i].most_objects = total->most_objects;
        sums[i].peak = total->peak;
        sums[i].peak_bytes = total->peak_bytes;
    }
}

bool
alqi_view_tree_make(struct alqi_view_tree *tree,
                    const struct alqi_view_tree_input *in)
{
    bool is_made;

    memset(tree, 0, sizeof *tree);
    is_made = in->is_up ? up(tree, in) : down(tree, in);
    if (is_made)
        alqi_view_tree_most(tree->all, tree->n, in->paths->total);
    return is_made;
}
