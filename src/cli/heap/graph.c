/* graph.c -- orders, semidominators, dominators       [graph.h]
 *
 * Semi-NCA (Georgiadis 2005) after Lengauer and Tarjan (1979): a node's
 * dominator is the nearest common ancestor of its parent and its semidominator
 * in the tree that is made so far.  Nothing recurses: a list of ten million
 * pairs is ten million deep.
 *
 *   edges, by node -> search in depth: order, parent (first[] is where it is);
 *     each edge becomes its target's order, or 0 where the search went along it
 *     -> those that are not 0, by target -> semidominators -> dominators, with
 *     jumps
 *
 * Memory, in words of 4 bytes a node, e edges a node: 3 + 2 e while edges are
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
    uint32_t *parent; /* by node: node, or NOTHING for the root */
    /* by order; before that how many sources it has, then where they begin */
    uint32_t *semi;
    uint32_t *sources;            /* orders, by target */
    struct alqi_cli_heap_up *ups; /* by order, as semi_fill says */
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

/* ---- search in breadth --------------------------------------------------- */

uint32_t
alqi_cli_heap_graph_breadth(const struct alqi_cli_heap_graph *g, uint32_t *by,
                            uint32_t *queue, uint32_t n_done, uint32_t n_queued)
{
    for (; n_done < n_queued; n_done++) {
        uint32_t node = queue[n_done], edge = g->first[node], to;

        for (bool is_last = edge == NOTHING; !is_last; edge++) {
            is_last = (g->edges[edge] & LAST) != 0;
            to = g->edges[edge] & ~LAST;
            if (by[to] == NOTHING) {
                by[to] = node;
                queue[n_queued++] = to;
            }
        }
    }
    return n_queued;
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

/* The next edge of the node; NULL: there is none, and first[] is as it was. */
static inline uint32_t *
edge_next(struct alqi_cli_heap_graph *g, uint32_t node)
{
    uint32_t at = g->first[node];

    if (at == NOTHING)
        return NULL;
    if ((at & BEGUN) != 0 && (g->edges[(at & ~BEGUN) - 1] & LAST) != 0) {
        first_restore(g, node);
        return NULL;
    }
    g->first[node] = (at + 1) | BEGUN;
    return &g->edges[at & ~BEGUN];
}

/* Everything that is met for the first time from this holder. */
static void
search(struct work *w, uint32_t holder)
{
    struct alqi_cli_heap_graph *g = w->g;
    uint32_t node = holder, *edge, to, order;

    enter(w, holder, NOTHING);
    while (node != NOTHING) {
        edge = edge_next(g, node);
        if (edge == NULL) {
            node = w->parent[node];
            continue;
        }
        to = *edge & ~LAST;
        order = g->order[to];
        if (order == NOTHING) {
            *edge &= LAST;
            enter(w, to, node);
            node = to;
        } else {
            *edge = (*edge & LAST) | order;
            w->semi[order]++;
        }
    }
}

static bool
search_all(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;

    g->order = numbers(g->n_nodes);
    w->parent = numbers(g->n_nodes);
    w->semi = calloc((size_t)g->n_nodes + 2, sizeof *w->semi);
    if (g->order == NULL || w->parent == NULL || w->semi == NULL)
        return false;
    memset(g->order, 0xFF, g->n_nodes * sizeof *g->order);
    g->n_reached = 1;
    for (uint32_t i = g->n_blocks; i < g->n_nodes; i++)
        search(w, i);
    return true;
}

/* ---- sources by target --------------------------------------------------- */

static void
node_sources_put(struct work *w, uint32_t node)
{
    const struct alqi_cli_heap_graph *g = w->g;
    uint32_t at = g->first[node], edge;

    do {
        edge = g->edges[at++];
        if ((edge & ~LAST) != 0)
            w->sources[--w->semi[edge & ~LAST]] = g->order[node];
    } while ((edge & LAST) == 0);
}

/* semi[v] is then where v's sources begin; those of v + 1 come behind. */
static bool
sources_gather(struct work *w)
{
    const struct alqi_cli_heap_graph *g = w->g;
    uint32_t sum = 0;

    for (uint32_t v = 0; v <= g->n_reached; v++) {
        sum += w->semi[v];
        w->semi[v] = sum;
    }
    w->sources = numbers(sum);
    if (w->sources == NULL)
        return false;
    for (uint32_t u = 0; u < g->n_nodes; u++)
        if (g->first[u] != NOTHING && g->order[u] != NOTHING)
            node_sources_put(w, u);
    return true;
}

/* Parents by order; the edges and what is by node are done with. */
static bool
parents_turn(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;

    free(g->edges);
    free(g->first);
    g->edges = g->first = NULL;
    g->idom = numbers(g->n_reached);
    if (g->idom == NULL)
        return false;
    g->idom[0] = 0;
    for (uint32_t u = 0; u < g->n_nodes; u++)
        if (g->order[u] != NOTHING)
            g->idom[g->order[u]] =
                w->parent[u] == NOTHING ? 0 : g->order[w->parent[u]];
    free(w->parent);
    w->parent = NULL;
    return true;
}

/* ---- semidominators ------------------------------------------------------ */

/* The least semidominator on the way from u up to below the first ancestor that
 * is v or before it. */
static inline uint32_t
least_on_way(struct alqi_cli_heap_up *ups, uint32_t u, uint32_t v)
{
    uint32_t found = UINT32_MAX;

    while (u > v) {
        struct alqi_cli_heap_up *up = &ups[u];
        uint32_t above = up->jump;

        if (above > v) {
            if (ups[above].least < up->least)
                up->least = ups[above].least;
            up->jump = ups[above].jump;
        }
        if (up->least < found)
            found = up->least;
        u = up->jump;
    }
    return found;
}

/* ups[v].jump is v's parent, later an ancestor; least, once v is done, the
 * least semidominator from v to below that. */
static bool
semi_fill(struct work *w)
{
    uint32_t n = w->g->n_reached, end = w->semi[n];

    w->ups = malloc(n * sizeof *w->ups);
    if (w->ups == NULL)
        return false;
    for (uint32_t v = 0; v < n; v++)
        w->ups[v].jump = w->g->idom[v];
    for (uint32_t v = n - 1; v > 0; v--) {
        uint32_t begin = w->semi[v], semi = w->ups[v].jump;

        for (uint32_t i = begin; i < end; i++) {
            uint32_t u = w->sources[i];

            if (u > v)
                u = least_on_way(w->ups, u, v);
            if (u < semi)
                semi = u;
        }
        w->semi[v] = w->ups[v].least = semi;
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
    const struct alqi_cli_heap_up *up = &g->ups[dominator];
    const struct alqi_cli_heap_up *far = &g->ups[up->jump];

    g->idom[v] = dominator;
    g->ups[v].depth = up->depth + 1;
    g->ups[v].jump =
        up->depth - far->depth == far->depth - g->ups[far->jump].depth
            ? far->jump
            : dominator;
}

/* idom[v] is v's parent in the search until it is v's dominator; what
 * semidominators needed becomes depths and jumps. */
static void
idom_fill(struct work *w)
{
    struct alqi_cli_heap_graph *g = w->g;

    g->ups = w->ups;
    w->ups = NULL;
    g->ups[0] = (struct alqi_cli_heap_up){.depth = 0, .jump = 0};
    for (uint32_t v = 1; v < g->n_reached; v++) {
        uint32_t u = g->idom[v];

        while (u > w->semi[v])
            u = g->ups[u].jump > w->semi[v] ? g->ups[u].jump : g->idom[u];
        hang(g, v, u);
    }
}

bool
alqi_cli_heap_graph_dominate(struct alqi_cli_heap_graph *g)
{
    struct work w = {.g = g};
    bool is_done = search_all(&w) && sources_gather(&w) && parents_turn(&w) &&
                   semi_fill(&w);

    if (is_done)
        idom_fill(&w);
    free(w.parent);
    free(w.semi);
    free(w.ups);
    free(w.sources);
    return is_done;
}

/* One step towards the other: from the deeper one, not above the other's depth;
 * from equal depths both, not above what they have in common. */
uint32_t
alqi_cli_heap_graph_both(const struct alqi_cli_heap_graph *g, uint32_t a,
                         uint32_t b)
{
    const struct alqi_cli_heap_up *ups = g->ups;

    while (a != b) {
        uint32_t *deeper = ups[a].depth >= ups[b].depth ? &a : &b;
        uint32_t jump = ups[*deeper].jump;

        if (ups[a].depth == ups[b].depth) {
            bool is_common = jump == ups[b].jump;

            a = is_common ? g->idom[a] : jump;
            b = is_common ? g->idom[b] : ups[b].jump;
        } else {
            uint32_t level = ups[deeper == &a ? b : a].depth;

            *deeper = ups[jump].depth >= level ? jump : g->idom[*deeper];
        }
    }
    return a;
}

void
alqi_cli_heap_graph_ancestors_free(struct alqi_cli_heap_graph *g)
{
    free(g->ups);
    g->ups = NULL;
}
