/* graph.c -- orders, semidominators, dominators       [graph.h]
 *
 * Semi-NCA (Georgiadis 2005) after Lengauer and Tarjan (1979): a node's
 * dominator is the nearest common ancestor of its parent and its semidominator
 * in the tree that is made so far.  Nothing recurses: a list of ten million
 * pairs is ten million deep.
 *
 *   edges, by node -> search in depth: order, parent (first[] is where it is)
 *     -> edges that are not the search's own, by target -> semidominators
 *     -> dominators, with jumps
 *
 * Memory, in words of 4 bytes a node, e edges a node: 4 + 2 e while edges are
 * turned, 4 + e after that.
 *
 * Jumps (Myers 1983)  Each node knows an ancestor some power of two of steps
 *             up, so a climb takes a logarithm of the depth.  Two lists of a
 *             million elements each, which share these, climb a million times.
 * Halving     Of a path that is climbed each second node is led to the one
 * after the next: no stack is needed, as with compression. */
#include "cli/heap/graph.h"

#include <stdlib.h>
#include <string.h>

#define NOTHING ALQI_CLI_HEAP_NOTHING
#define LAST ALQI_CLI_HEAP_LAST
/* of first[]: its edge before it was gone along */
#define BEGUN ((uint32_t)1 << 31)

/* What lives during the calculation alone. */
struct work {
    struct alqi_cli_heap_graph *g;
    uint32_t *parent;  /* by node: node, or NOTHING for the root */
    uint32_t *above;   /* by order: the parent's, later an ancestor's */
    uint32_t *semi;    /* by order; before that where its sources begin */
    uint32_t *least;   /* by order: least semi from it to below `above` */
    uint32_t *sources; /* orders, by target */
};

static uint32_t *
numbers(size_t n)
{
    return malloc((n + 1) * sizeof(uint32_t));
}

bool
alqi_cli_heap_graph_init(struct alqi_cli_heap_graph *g, uint32_t n_blocks,
                         uint32_t n_holders)
{
    memset(g, 0, sizeof *g);
    if ((uint64_t)n_blocks + n_holders > ALQI_CLI_HEAP_NODES_MOST)
        return false;
    g->n_blocks = n_blocks;
    g->n_nodes = n_blocks + n_holders;
    g->first = numbers(g->n_nodes);
    if (g->first == NULL)
        return false;
    memset(g->first, 0xFF, g->n_nodes * sizeof *g->first);
    return true;
}

void
alqi_cli_heap_graph_free(struct alqi_cli_heap_graph *g)
{
    alqi_cli_heap_graph_ancestors_free(g);
    free(g->first);
    free(g->edges);
    free(g->order);
    free(g->idom);
    memset(g, 0, sizeof *g);
}

/* By a quarter: doubled, the edges alone might be half of all memory. */
bool
alqi_cli_heap_graph_grow(struct alqi_cli_heap_graph *g)
{
    uint64_t capacity = (uint64_t)g->edges_capacity * 5 / 4 + 1024;
    uint32_t *edges;

    if (capacity > BEGUN - 1)
        capacity = BEGUN - 1;
    if (capacity == g->edges_capacity)
        return false;
    edges = realloc(g->edges, capacity * sizeof *edges);
    if (edges == NULL)
        return false;
    g->edges = edges;
    g->edges_capacity = (uint32_t)capacity;
    return true;
}

/* ---- search in depth ----------------------------------------------------- */

static void
enter(struct work *w, uint32_t node, uint32_t parent)
{
    w->parent[node] = parent;
    w->g->order[node] = w->g->n_reached++;
}

/* Where the node's edges begin: behind the last one of another node. */
static void
first_restore(struct alqi_cli_heap_graph *g, uint32_t node)
{
    uint32_t at = (g->first[node] & ~BEGUN) - 1;

    while (at > 0 && (g->edges[at - 1] & LAST) == 0)
        at--;
    g->first[node] = at;
}

/* The next target of the node; NOTHING: there is none, and first[] is as it
 * was. */
static inline uint32_t
target_next(struct alqi_cli_heap_graph *g, uint32_t node)
{
    uint32_t at = g->first[node];

    if (at == NOTHING)
        return NOTHING;
    if ((at & BEGUN) != 0 && (g->edges[(at & ~BEGUN) - 1] & LAST) != 0) {
        first_restore(g, node);
        return NOTHING;
    }
    g->first[node] = (at + 1) | BEGUN;
    return g->edges[at & ~BEGUN] & ~LAST;
}

/* Everything that is met for the first time from this holder. */
static void
search(struct work *w, uint32_t holder)
{
    struct alqi_cli_heap_graph *g = w->g;
    uint32_t node = holder, to;

    enter(w, holder, NOTHING);
    while (node != NOTHING) {
        to = target_next(g, node);
        if (to == NOTHING) {
            node = w->parent[node];
        } else if (g->order[to] == NOTHING) {
            enter(w, to, node);
            node = to;
        }
    }
}

static bool
search_all(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;

    g->order = numbers(g->n_nodes);
    w->parent = numbers(g->n_nodes);
    if (g->order == NULL || w->parent == NULL)
        return false;
    memset(g->order, 0xFF, g->n_nodes * sizeof *g->order);
    g->n_reached = 1;
    for (uint32_t i = g->n_blocks; i < g->n_nodes; i++)
        search(w, i);
    return true;
}

/* ---- sources by target --------------------------------------------------- */

/* Calls step for each edge between reached nodes that the search did not go
 * along: `from` by order, `to` by order. */
static inline __attribute__((always_inline)) void
others_each(struct work *w, void (*step)(struct work *, uint32_t, uint32_t))
{
    const struct alqi_cli_heap_graph *g = w->g;

    for (uint32_t u = 0; u < g->n_nodes; u++) {
        uint32_t at = g->first[u], edge;

        if (at == NOTHING || g->order[u] == NOTHING)
            continue;
        do {
            edge = g->edges[at++];
            if (w->parent[edge & ~LAST] != u && (edge & ~LAST) != u)
                step(w, g->order[u], g->order[edge & ~LAST]);
        } while ((edge & LAST) == 0);
    }
}

static inline void
source_count(struct work *w, uint32_t from, uint32_t to)
{
    (void)from;
    w->semi[to]++;
}

static inline void
source_put(struct work *w, uint32_t from, uint32_t to)
{
    w->sources[--w->semi[to]] = from;
}

/* semi[v] is then where v's sources begin; those of v + 1 come behind. */
static bool
sources_gather(struct work *w)
{
    uint32_t n = w->g->n_reached, sum = 0;

    w->semi = calloc((size_t)n + 1, sizeof *w->semi);
    if (w->semi == NULL)
        return false;
    others_each(w, source_count);
    for (uint32_t v = 0; v <= n; v++)
        w->semi[v] = sum += w->semi[v];
    w->sources = numbers(sum);
    if (w->sources == NULL)
        return false;
    others_each(w, source_put);
    return true;
}

/* Parents by order; the edges and what is by node are done with. */
static bool
above_fill(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;

    free(g->edges);
    free(g->first);
    g->edges = g->first = NULL;
    w->above = numbers(g->n_reached);
    if (w->above == NULL)
        return false;
    w->above[0] = 0;
    for (uint32_t u = 0; u < g->n_nodes; u++)
        if (g->order[u] != NOTHING)
            w->above[g->order[u]] =
                w->parent[u] == NOTHING ? 0 : g->order[w->parent[u]];
    free(w->parent);
    w->parent = NULL;
    return true;
}

/* ---- semidominators ------------------------------------------------------ */

/* The least semidominator on the way from u up to below the first ancestor that
 * is v or before it. */
static inline uint32_t
least_on_way(struct work *w, uint32_t u, uint32_t v)
{
    uint32_t *above = w->above, *least = w->least, found = UINT32_MAX;

    while (u > v) {
        uint32_t a = above[u];

        if (a > v) {
            if (least[a] < least[u])
                least[u] = least[a];
            above[u] = above[a];
        }
        if (least[u] < found)
            found = least[u];
        u = above[u];
    }
    return found;
}

static bool
semi_fill(struct work *w)
{
    uint32_t n = w->g->n_reached, end = w->semi[n], begin, semi;

    w->least = numbers(n);
    if (w->least == NULL)
        return false;
    for (uint32_t v = n - 1; v > 0; v--) {
        begin = w->semi[v];
        semi = w->above[v];
        for (uint32_t i = begin; i < end; i++) {
            uint32_t u = w->sources[i];

            if (u > v)
                u = least_on_way(w, u, v);
            if (u < semi)
                semi = u;
        }
        w->semi[v] = w->least[v] = semi;
        end = begin;
    }
    free(w->sources);
    w->sources = NULL;
    return true;
}

/* ---- dominators ---------------------------------------------------------- */

/* v hangs below its dominator: how deep, and where its jump leads. */
static inline void
hang(struct alqi_cli_heap_graph *g, uint32_t v, uint32_t dominator)
{
    uint32_t jump = g->jump[dominator];

    g->idom[v] = dominator;
    g->depth[v] = g->depth[dominator] + 1;
    g->jump[v] = g->depth[dominator] - g->depth[jump] ==
                         g->depth[jump] - g->depth[g->jump[jump]]
                     ? g->jump[jump]
                     : dominator;
}

/* idom[v] is v's parent in the search until it is v's dominator. */
static void
idom_fill(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;

    g->depth[0] = g->jump[0] = g->idom[0] = 0;
    for (uint32_t v = 1; v < g->n_reached; v++) {
        uint32_t u = g->idom[v];

        while (u > w->semi[v])
            u = g->jump[u] > w->semi[v] ? g->jump[u] : g->idom[u];
        hang(g, v, u);
    }
}

/* What semidominators needed is the place of depths and jumps. */
static bool
dominators_make(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;
    size_t bytes = g->n_reached * sizeof *g->idom;

    g->idom = numbers(g->n_reached);
    if (g->idom == NULL)
        return false;
    memcpy(g->idom, w->above, bytes);
    if (!semi_fill(w))
        return false;
    g->depth = w->least;
    g->jump = w->above;
    w->least = w->above = NULL;
    idom_fill(w);
    return true;
}

bool
alqi_cli_heap_graph_dominate(struct alqi_cli_heap_graph *g)
{
    struct work w = {.g = g};
    bool is_done = search_all(&w) && sources_gather(&w) && above_fill(&w) &&
                   dominators_make(&w);

    free(w.parent);
    free(w.above);
    free(w.semi);
    free(w.least);
    free(w.sources);
    return is_done;
}

uint32_t
alqi_cli_heap_graph_both(const struct alqi_cli_heap_graph *g, uint32_t a,
                         uint32_t b)
{
    while (a != b) {
        uint32_t *deeper = g->depth[a] >= g->depth[b] ? &a : &b;
        uint32_t jump = g->jump[*deeper];

        if (g->depth[a] == g->depth[b]) {
            bool is_common = g->jump[a] == g->jump[b];

            a = is_common ? g->idom[a] : g->jump[a];
            b = is_common ? g->idom[b] : g->jump[b];
        } else {
            uint32_t level = deeper == &a ? g->depth[b] : g->depth[a];

            *deeper = g->depth[jump] >= level ? jump : g->idom[*deeper];
        }
    }
    return a;
}

void
alqi_cli_heap_graph_ancestors_free(struct alqi_cli_heap_graph *g)
{
    free(g->depth);
    free(g->jump);
    g->depth = g->jump = NULL;
}
