/* graph.c -- the answer `graph`: who calls whom, each function once
 *
 * [paths.h] The paths are merged: a stack counts once for a function and once
 * for a call, however often it comes to them (.def.graph).
 *
 * What is too little to be drawn is left out in two steps. First functions: of
 * those with a least share the ones with the highest score stay (score_of). A
 * stack then goes from one function that stayed to the next, and where it
 * passes over some that did not, the call is marked: it stands for a way. Then
 * calls with less than their least share go. How much went is told.
 *
 * .def.graph  A function's own: of stacks that end in it. With all it calls: of
 *             stacks that it is on. A call's: of stacks on which the callee's
 *             frame stands right below the caller's, or with none between but
 *             of functions that were left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "view/sort.h"
#include "view/tree.h"
#include "view/walk.h"

enum { NODES_DEFAULT = 80, NODES_MAX = 1000, NO_NODE = UINT32_MAX };

/* Of the total: the least of a function, and of a call. */
static const double NODE_SHARE = 0.005, EDGE_SHARE = 0.001;

/* What a graph is asked for. */
struct wish {
    /* stacks that have it; empty: all */
    struct alqi_view_focus focus;
    double node_share, edge_share;
    uint32_t most_nodes;
};

/* A function of the graph. */
struct node {
    uint32_t function;
    struct alqi_view_sum self, all;
    double score;
};

/* Calls of one function by another. */
struct edge {
    /* functions */
    uint32_t from, to;
    double value;
    /* it passes over functions that were left out */
    bool is_way;
    /* times it stands on the path to the present fold, while walking */
    uint32_t n_on_path;
};

/* Edges by their functions. */
struct edges {
    /* from and to -> edge */
    struct alqi_base_map map;
    /* owned */
    struct edge *edges;
    uint32_t n, capacity;
};

/* A graph while it is made. */
struct grapher {
    const struct alqi_view_index *x;
    struct alqi_view_paths *paths;
    enum alqi_view_by by;
    /* by function: its node, NO_NODE: it has none; owned */
    uint32_t *node_of;
    /* largest score first, once they are chosen; owned */
    struct node *nodes;
    uint32_t n_nodes;
    /* by fold: the innermost fold down to it whose function has a node; owned
     */
    uint32_t *shown_of;
    /* by fold: the edge that ends at it, NO_NODE: none; owned */
    uint32_t *edge_of;
    /* by function: its frames on the path to the present fold; owned */
    uint32_t *n_on_path;
    struct edges edges;
    /* functions before any were left out */
    uint32_t n_all_nodes;
};

static double
value(const struct grapher *g, const struct alqi_view_sum *sum)
{
    return alqi_view_sum_value(sum, g->by);
}

/* ---- stacks -------------------------------------------------------------- */

/* Leaves the sums of stacks that have the focus. False: no memory. */
static bool
focus_keep(struct alqi_view_paths *p, const struct alqi_view_focus *focus)
{
    uint8_t *has = calloc(p->n, 1);

    if (has == NULL)
        return false;
    for (uint32_t i = 0; i < p->n; i++) {
        has[i] = (i > 0 && has[p->folds[i].parent]) ||
                 alqi_view_focus_above(focus, p->folds, i) != UINT32_MAX;
        if (!has[i])
            memset(&p->self[i], 0, sizeof p->self[i]);
    }
    free(has);
    alqi_view_paths_sum(p);
    return true;
}

/* ---- edges --------------------------------------------------------------- */

/* The edge of two functions, made if it is new. NO_NODE: no memory. */
static uint32_t
edge_at(struct edges *e, uint32_t from, uint32_t to)
{
    bool is_new;
    uint64_t *at =
        alqi_base_map_at(&e->map, (uint64_t)from << 32 | to, &is_new);

    if (at == NULL)
        return NO_NODE;
    if (is_new && e->n == e->capacity) {
        uint32_t capacity = 2 * e->capacity + 256;
        void *edges = realloc(e->edges, capacity * sizeof *e->edges);

        if (edges == NULL)
            return NO_NODE;
        e->edges = edges;
        e->capacity = capacity;
    }
    if (is_new) {
        e->edges[e->n] = (struct edge){.from = from, .to = to};
        *at = e->n++;
    }
    return (uint32_t)*at;
}

static void
edges_clear(struct edges *e)
{
    alqi_base_map_clear(&e->map);
    free(e->edges);
    *e = (struct edges){.n = 0};
}

/* A fold whose function has a node is come to from above: its call counts, if
 * it is not on the path yet. False: no memory. */
static bool
edge_enter(struct grapher *g, uint32_t fold, uint32_t above)
{
    const struct alqi_view_fold *folds = g->paths->folds;
    uint32_t at =
        edge_at(&g->edges, folds[above].function, folds[fold].function);
    struct edge *edge;

    if (at == NO_NODE)
        return false;
    g->edge_of[fold] = at;
    edge = &g->edges.edges[at];
    if (edge->n_on_path++ == 0)
        edge->value += value(g, &g->paths->all[fold]);
    edge->is_way = edge->is_way || folds[fold].parent != above;
    return true;
}

/* A fold is come to from above. False: no memory. */
static bool
fold_enter(struct grapher *g, uint32_t fold)
{
    const struct alqi_view_fold *f = &g->paths->folds[fold];
    uint32_t above = g->shown_of[f->parent];
    uint32_t node = g->node_of[f->function];

    g->edge_of[fold] = NO_NODE;
    g->shown_of[fold] = above;
    if (node == NO_NODE)
        return true;
    g->shown_of[fold] = fold;
    alqi_view_sum_join(&g->nodes[node].self, &g->paths->self[fold]);
    if (g->n_on_path[f->function]++ == 0)
        alqi_view_sum_join(&g->nodes[node].all, &g->paths->all[fold]);
    return above == 0 || edge_enter(g, fold, above);
}

static void
fold_leave(struct grapher *g, uint32_t fold)
{
    uint32_t function = g->paths->folds[fold].function;

    if (g->node_of[function] != NO_NODE)
        g->n_on_path[function]--;
    if (g->edge_of[fold] != NO_NODE)
        g->edges.edges[g->edge_of[fold]].n_on_path--;
}

/* Sums functions that have nodes, and the calls between them. Paths without
 * anything are passed over. False: no memory. */
static bool
paths_merge(struct grapher *g)
{
    struct alqi_view_walk walk;
    bool is_made = alqi_view_walk_make(&walk, g->paths->folds,
                                       sizeof *g->paths->folds, g->paths->n);
    enum alqi_view_step step = ALQI_VIEW_ENTER;

    edges_clear(&g->edges);
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        memset(&g->nodes[i].self, 0, sizeof g->nodes[i].self);
        memset(&g->nodes[i].all, 0, sizeof g->nodes[i].all);
    }
    g->shown_of[0] = 0;
    while (is_made && step != ALQI_VIEW_END) {
        step = alqi_view_walk_step(&walk);
        if (step == ALQI_VIEW_END || g->paths->all[walk.row].objects == 0)
            continue;
        if (step == ALQI_VIEW_ENTER)
            is_made = fold_enter(g, walk.row);
        else
            fold_leave(g, walk.row);
    }
    alqi_view_walk_free(&walk);
    return is_made;
}

/* ---- choosing ------------------------------------------------------------ */

/* What a part of a whole adds to the whole's entropy, in bits. */
static double
entropy(double part, double whole)
{
    return part > 0 && whole > part ? -part / whole * log2(part / whole) : 0;
}

/* Threads and the focus were asked for. */
static bool
stays(const struct grapher *g, uint32_t function,
      const struct alqi_view_focus *focus)
{
    bool is_asked = function >= g->x->wholes.from[ALQI_VIEW_WHOLE_THREAD];

    for (uint32_t i = 0; i < focus->n; i++)
        is_asked = is_asked || focus->functions[i] == function;
    return is_asked;
}

/* Scores the nodes. A function tells more, the more it has itself, and the more
 * ways meet in it and leave it: one that only hands on what a single caller
 * asks of it says little, however much goes through it. */
static void
nodes_score(struct grapher *g, const struct alqi_view_focus *focus)
{
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        double all = value(g, &g->nodes[i].all);
        double self = value(g, &g->nodes[i].self);

        g->nodes[i].score = self + all * entropy(self, all);
    }
    for (uint32_t i = 0; i < g->edges.n; i++) {
        const struct edge *e = &g->edges.edges[i];
        struct node *from = &g->nodes[g->node_of[e->from]];
        struct node *to = &g->nodes[g->node_of[e->to]];
        double above = value(g, &from->all), below = value(g, &to->all);

        from->score += above * entropy(e->value, above);
        to->score += below * entropy(e->value, below);
    }
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (stays(g, g->nodes[i].function, focus))
            g->nodes[i].score = (double)INFINITY;
}

/* Order by score, then by value, then by number. */
static int
by_score(const void *left, const void *right, void *arg)
{
    const struct node *a = left, *b = right;
    double x = value(arg, &a->all), y = value(arg, &b->all);

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (x != y)
        return x > y ? -1 : 1;
    return a->function < b->function ? -1 : a->function > b->function;
}

/* Order by value, then by number. */
static int
by_value(const void *left, const void *right, void *arg)
{
    const struct node *a = left, *b = right;
    double x = value(arg, &a->all), y = value(arg, &b->all);

    if (x != y)
        return x > y ? -1 : 1;
    return a->function < b->function ? -1 : a->function > b->function;
}

/* Gives a node to each function that is on a path with anything. */
static void
nodes_all(struct grapher *g)
{
    memset(g->node_of, 0xFF, g->x->n_functions * sizeof *g->node_of);
    for (uint32_t i = 1; i < g->paths->n; i++) {
        uint32_t function = g->paths->folds[i].function;

        if (g->paths->all[i].objects == 0 || g->node_of[function] != NO_NODE)
            continue;
        g->node_of[function] = g->n_nodes;
        g->nodes[g->n_nodes++] = (struct node){.function = function};
    }
    g->n_all_nodes = g->n_nodes;
}

/* Leaves the nodes that the wish asks for. */
static void
nodes_choose(struct grapher *g, const struct wish *wish)
{
    double least = wish->node_share * value(g, &g->paths->all[0]);
    uint32_t n = 0;

    nodes_score(g, &wish->focus);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (value(g, &g->nodes[i].all) >= least)
            g->nodes[n++] = g->nodes[i];
    alqi_view_sort(g->nodes, n, sizeof *g->nodes, by_score, g);
    g->n_nodes = n < wish->most_nodes ? n : wish->most_nodes;
    alqi_view_sort(g->nodes, g->n_nodes, sizeof *g->nodes, by_value, g);
    memset(g->node_of, 0xFF, g->x->n_functions * sizeof *g->node_of);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        g->node_of[g->nodes[i].function] = i;
}

/* Order by value, then by functions. */
static int
by_weight(const void *left, const void *right, void *arg)
{
    const struct edge *a = left, *b = right;

    (void)arg;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* Makes the graph: all of it first, for the scores, then what stays. False: no
 * memory. */
static bool
graph_make(struct grapher *g, const struct wish *wish)
{
    nodes_all(g);
    if (!paths_merge(g))
        return false;
    nodes_choose(g, wish);
    if (!paths_merge(g))
        return false;
    alqi_view_sort(g->edges.edges, g->edges.n, sizeof *g->edges.edges,
                   by_weight, NULL);
    return true;
}

/* ---- the answer ---------------------------------------------------------- */

/* Takes the question's keys. False: an error. */
static bool
wish_take(struct alqi_view_ask *ask, struct wish *wish)
{
    wish->node_share = alqi_view_take_share(ask, "min", NODE_SHARE);
    wish->edge_share = alqi_view_take_share(ask, "edge", EDGE_SHARE);
    wish->most_nodes = (uint32_t)alqi_view_query_number(
        &ask->query, "nodes", 1, NODES_MAX, NODES_DEFAULT);
    return alqi_view_focus_take(ask, &wish->focus) && alqi_view_ready(ask);
}

/* Writes a node as an array, with its figures as those of a tree's node. */
static void
put_node(struct alqi_view_json *out, const struct grapher *g,
         const struct node *node, struct alqi_view_used *used)
{
    struct alqi_view_interval x = alqi_view_sum_interval(&node->all, g->by);
    bool is_few = alqi_view_is_few(&x);

    alqi_view_json_open(out, '[');
    alqi_view_json_int(out, alqi_view_used_position(used, node->function));
    alqi_view_json_whole(out, value(g, &node->self));
    alqi_view_json_whole(out, value(g, &node->all));
    alqi_view_json_whole(out, alqi_view_sum_stderr(&node->all, g->by));
    alqi_view_json_int(out, (int64_t)node->all.n);
    alqi_view_json_whole(out, is_few ? x.low : 0);
    alqi_view_json_whole(out, is_few ? x.high : 0);
    alqi_view_json_close(out, ']');
}

/* Writes the nodes, largest first. */
static void
put_nodes(struct alqi_view_json *out, struct grapher *g,
          struct alqi_view_used *used)
{
    alqi_view_json_key(out, "nodes");
    alqi_view_json_open(out, '[');
    for (uint32_t i = 0; i < g->n_nodes; i++) {
        /* One without blocks has no weight of an unseen sample of its own. */
        alqi_view_tree_most(&g->nodes[i].all, 1, g->paths->total);
        put_node(out, g, &g->nodes[i], used);
    }
    alqi_view_json_close(out, ']');
}

/* Writes edges by the places of their nodes, as many as are large enough and
 * find room; returns how many. */
static uint32_t
put_edges(struct alqi_view_json *out, const struct grapher *g, double least,
          size_t most_bytes)
{
    uint32_t n = 0;

    alqi_view_json_key(out, "edges");
    alqi_view_json_open(out, '[');
    while (n < g->edges.n && g->edges.edges[n].value >= least &&
           out->n < most_bytes) {
        const struct edge *edge = &g->edges.edges[n++];

        alqi_view_json_open(out, '[');
        alqi_view_json_int(out, g->node_of[edge->from]);
        alqi_view_json_int(out, g->node_of[edge->to]);
        alqi_view_json_whole(out, edge->value);
        alqi_view_json_int(out, edge->is_way);
        alqi_view_json_close(out, ']');
    }
    alqi_view_json_close(out, ']');
    return n;
}

/* Writes the graph and what is not in it. Calls that went with a function are
 * none of the rest's. */
static void
put(struct alqi_view_ask *ask, struct grapher *g, const struct wish *wish,
    struct alqi_view_used *used)
{
    double whole = value(g, &g->paths->all[0]);
    double own = value(g, &g->paths->self[0]);
    uint32_t n;

    alqi_view_put_sum(ask->out, "total", g->paths->total);
    alqi_view_tree_most(&g->paths->all[0], 1, g->paths->total);
    alqi_view_put_sum(ask->out, "focus", &g->paths->all[0]);
    put_nodes(ask->out, g, used);
    n = put_edges(ask->out, g, wish->edge_share * whole,
                  ALQI_VIEW_ROWS_BYTES - used->bytes);
    for (uint32_t i = 0; i < g->n_nodes; i++)
        own += value(g, &g->nodes[i].self);
    for (uint32_t i = 0; i < wish->focus.n; i++)
        alqi_view_used_position(used, wish->focus.functions[i]);
    alqi_view_used_put(used, ask->out);
    alqi_view_json_key(ask->out, "rest");
    alqi_view_json_open(ask->out, '{');
    alqi_view_json_key_int(ask->out, "nodes", g->n_all_nodes - g->n_nodes);
    alqi_view_json_key(ask->out, "self");
    alqi_view_json_whole(ask->out, fmax(whole - own, 0));
    alqi_view_json_key_int(ask->out, "edges", g->edges.n - n);
    alqi_view_json_close(ask->out, '}');
}

/* Makes the tables. False: no memory. */
static bool
grapher_new(struct grapher *g)
{
    size_t n_functions = g->x->n_functions, n = g->paths->n;

    g->node_of = malloc(n_functions * sizeof *g->node_of);
    g->nodes = malloc(n_functions * sizeof *g->nodes);
    g->n_on_path = calloc(n_functions, sizeof *g->n_on_path);
    g->shown_of = malloc(n * sizeof *g->shown_of);
    g->edge_of = malloc(n * sizeof *g->edge_of);
    return g->node_of != NULL && g->nodes != NULL && g->n_on_path != NULL &&
           g->shown_of != NULL && g->edge_of != NULL;
}

static void
grapher_free(struct grapher *g)
{
    free(g->node_of);
    free(g->nodes);
    free(g->n_on_path);
    free(g->shown_of);
    free(g->edge_of);
    edges_clear(&g->edges);
}

bool
alqi_view_graph(struct alqi_view_ask *ask)
{
    struct wish wish;
    struct alqi_view_paths paths;
    struct alqi_view_used used = {.n = 0};
    struct grapher g = {.x = ask->x, .paths = &paths, .by = ask->filter.by};
    bool is_made;

    if (!wish_take(ask, &wish))
        return false;
    is_made = alqi_view_paths_draw(&paths, ask->trace, &ask->filter) &&
              (wish.focus.n == 0 || focus_keep(&paths, &wish.focus)) &&
              grapher_new(&g) && alqi_view_used_new(&used, ask->x) &&
              graph_make(&g, &wish);
    if (is_made)
        put(ask, &g, &wish, &used);
    grapher_free(&g);
    alqi_view_used_free(&used);
    alqi_view_paths_free(&paths);
    return is_made || alqi_view_give_up(ask);
}
