/* graph_test.c -- ways and dominators of random graphs against their
 * definition
 *
 * v dominates w: without v no way leads from the roots to w.  That is asked for
 * each v by a search that leaves v out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_seed.h"
#include "cli/heap/graph.h"

enum { NODES = 24, EDGES = 60, ROUNDS = 20000, NONE = -1 };

struct random_graph {
    struct alqi_cli_heap_graph graph;
    unsigned n_blocks, n_nodes;
    bool leads[NODES][NODES];
    bool without[NODES + 1][NODES]; /* reached though v is left out; the last
                                     * row: nothing is */
};

/* Nodes get their edges in any order, as blocks come in a file. */
static void
make(struct random_graph *r)
{
    unsigned start, n_edges = alqi_base_test_below(EDGES);

    memset(r, 0, sizeof *r);
    r->n_blocks = 1 + alqi_base_test_below(NODES - 4);
    r->n_nodes = r->n_blocks + alqi_base_test_below(4);
    assert_true(alqi_cli_heap_graph_init(&r->graph, r->n_blocks,
                                         r->n_nodes - r->n_blocks));
    for (unsigned i = 0; i < n_edges; i++)
        r->leads[alqi_base_test_below(r->n_nodes)]
                [alqi_base_test_below(r->n_blocks)] = true;
    start = alqi_base_test_below(r->n_nodes);
    for (unsigned i = 0; i < r->n_nodes; i++) {
        unsigned from = (start + i) % r->n_nodes;
        uint32_t since = r->graph.n_edges;

        for (unsigned to = 0; to < r->n_blocks; to++)
            for (unsigned k = r->leads[from][to] ? 1 + alqi_base_test_below(2)
                                                 : 0;
                 k > 0; k--)
                assert_true(alqi_cli_heap_graph_edge(&r->graph, to));
        alqi_cli_heap_graph_close(&r->graph, from, since);
    }
}

static void
visit(const struct random_graph *r, bool *seen, unsigned node, unsigned left)
{
    if (node == left || seen[node])
        return;
    seen[node] = true;
    for (unsigned to = 0; to < r->n_blocks; to++)
        if (r->leads[node][to])
            visit(r, seen, to, left);
}

static void
search(struct random_graph *r)
{
    for (unsigned left = 0; left <= r->n_nodes; left++)
        for (unsigned i = r->n_blocks; i < r->n_nodes; i++)
            visit(r, r->without[left == r->n_nodes ? NODES : left], i, left);
}

/* Whether v dominates w, and is not w. */
static bool
dominates(const struct random_graph *r, unsigned v, unsigned w)
{
    return v != w && !r->without[v][w];
}

/* The dominator of w that all its others dominate; NONE: the root. */
static int
dominator(const struct random_graph *r, unsigned w)
{
    for (unsigned v = 0; v < r->n_nodes; v++) {
        bool is_nearest = dominates(r, v, w) && r->without[NODES][v];

        for (unsigned u = 0; is_nearest && u < r->n_nodes; u++)
            is_nearest = u == v || !dominates(r, u, w) || dominates(r, u, v);
        if (is_nearest)
            return (int)v;
    }
    return NONE;
}

/* The node of an order; NONE: the root. */
static int
node_of(const struct random_graph *r, uint32_t order)
{
    for (unsigned i = 0; i < r->n_nodes; i++)
        if (r->graph.order[i] == order)
            return (int)i;
    assert_int_equal(order, 0);
    return NONE;
}

static void
dominators_are_right(const struct random_graph *r)
{
    const struct alqi_cli_heap_graph *g = &r->graph;

    for (unsigned w = 0; w < r->n_nodes; w++) {
        uint32_t order = g->order[w];

        assert_int_equal(order != ALQI_CLI_HEAP_NOTHING, r->without[NODES][w]);
        if (order == ALQI_CLI_HEAP_NOTHING)
            continue;
        assert_true(order < g->n_reached && g->idom[order] < order);
        assert_int_equal(node_of(r, g->idom[order]), dominator(r, w));
    }
}

/* ---- ways ---------------------------------------------------------------- */

/* Steps from the nearest holder to each node; NONE: no way leads there. */
static void
distances(const struct random_graph *r, int *out)
{
    for (unsigned i = 0; i < r->n_nodes; i++)
        out[i] = i < r->n_blocks ? NONE : 0;
    for (unsigned steps = 0; steps < r->n_nodes; steps++)
        for (unsigned from = 0; from < r->n_nodes; from++)
            for (unsigned to = 0; to < r->n_blocks; to++)
                if (out[from] == (int)steps && r->leads[from][to] &&
                    out[to] == NONE)
                    out[to] = (int)steps + 1;
}

/* From all holders at once, or, in parts, from one after the other: then what
 * the first one leads to is its own, however near it is to the others. */
static void
ways_are_shortest(const struct random_graph *r, bool in_parts)
{
    uint32_t by[NODES], queue[NODES], n = 0;
    int shortest[NODES], length[NODES];

    memset(by, 0xFF, sizeof by);
    for (unsigned i = r->n_blocks; i < r->n_nodes; i++) {
        by[i] = queue[n++] = i;
        if (in_parts)
            n = alqi_cli_heap_graph_breadth(&r->graph, by, queue, n - 1, n);
    }
    if (!in_parts)
        n = alqi_cli_heap_graph_breadth(&r->graph, by, queue, 0, n);
    distances(r, shortest);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t node = queue[i];

        length[node] = by[node] == node ? 0 : length[by[node]] + 1;
        assert_true(by[node] == node || r->leads[by[node]][node]);
        assert_true(in_parts || length[node] == shortest[node]);
    }
    for (unsigned i = 0; i < r->n_nodes; i++)
        assert_int_equal(by[i] != ALQI_CLI_HEAP_NOTHING, shortest[i] != NONE);
}

/* ---- dominators ---------------------------------------------------------- */

/* The nearest common dominator of two nodes, by their chains. */
static uint32_t
both_naive(const struct alqi_cli_heap_graph *g, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = g->idom[a];
        else
            b = g->idom[b];
    return a;
}

static void
common_ones_are_right(const struct random_graph *r)
{
    const struct alqi_cli_heap_graph *g = &r->graph;

    for (uint32_t a = 0; a < g->n_reached; a++)
        for (uint32_t b = 0; b < g->n_reached; b++)
            assert_int_equal(alqi_cli_heap_graph_both(g, a, b),
                             both_naive(g, a, b));
}

static void
random_graphs(void **unused)
{
    (void)unused;
    alqi_base_test_begin(1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct random_graph r;

        make(&r);
        search(&r);
        ways_are_shortest(&r, false);
        ways_are_shortest(&r, true);
        assert_true(alqi_cli_heap_graph_dominate(&r.graph));
        dominators_are_right(&r);
        common_ones_are_right(&r);
        alqi_cli_heap_graph_free(&r.graph);
    }
}

/* Two lists that share their elements: a search for each element's dominator
 * that goes step by step would take 10^10 steps. */
static void
deep_lists(void **unused)
{
    enum { LONG = 200000 };
    struct alqi_cli_heap_graph g;
    uint32_t a = 0, b = LONG, x = 2 * LONG, holders = 3 * LONG;

    (void)unused;
    assert_true(alqi_cli_heap_graph_init(&g, holders, 2));
    for (uint32_t i = 0; i < 2 * LONG; i++) {
        uint32_t since = g.n_edges;

        if (i % LONG + 1 < LONG)
            assert_true(alqi_cli_heap_graph_edge(&g, i + 1));
        assert_true(alqi_cli_heap_graph_edge(&g, x + i % LONG));
        alqi_cli_heap_graph_close(&g, i, since);
    }
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t since = g.n_edges;

        assert_true(alqi_cli_heap_graph_edge(&g, i == 0 ? a : b));
        alqi_cli_heap_graph_close(&g, holders + i, since);
    }
    assert_true(alqi_cli_heap_graph_dominate(&g));
    for (uint32_t i = 0; i < LONG; i++)
        assert_int_equal(g.idom[g.order[x + i]], 0);
    for (uint32_t i = 1; i < LONG; i++)
        assert_int_equal(g.idom[g.order[b + i]], g.order[b + i - 1]);
    alqi_cli_heap_graph_free(&g);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
        cmocka_unit_test(deep_lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
