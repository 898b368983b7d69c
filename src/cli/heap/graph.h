/* graph.h -- who holds whom: dominators of a graph   [doc/design/heap-snapshot]
 *
 * Pure: nodes are numbers.  A node is an inner block, or, from n_blocks on, a
 * holder: a root by its name.  One root above all holders has no number here.
 * Leaves lead nowhere, so no way leads through them: they are no nodes; who
 * dominates one is the nearest node that dominates all that lead to it.
 *
 * A node that can be reached has an order, as a search in depth meets it; the
 * root's is 0.  Results are by order: idom[v] < v.
 *
 * States: edges (_edge, _close) -> dominated (_dominate) -> asked.
 *
 * .inv.last   The last edge of each node has the bit LAST, and no other.
 * .inv.order  A dominator's order is less than what it dominates. */
#ifndef ALQI_CLI_HEAP_GRAPH_H
#define ALQI_CLI_HEAP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALQI_CLI_HEAP_NOTHING UINT32_MAX
#define ALQI_CLI_HEAP_LAST ((uint32_t)1 << 31)

/* 31 bits number nodes, and 31 edges; the root has no number, and is one. */
enum { ALQI_CLI_HEAP_NODES_MOST = 0x7FFFFFF0 };

/* What a node knows of its dominators. */
struct alqi_cli_heap_up {
    union {
        uint32_t depth; /* steps from the root along idom */
        uint32_t least; /* graph.c's, before that */
    };
    uint32_t jump; /* an order farther up */
};

struct alqi_cli_heap_graph {
    uint32_t n_blocks, n_nodes;
    /* [n_nodes]: place of a node's first edge, NOTHING without one; until it is
     * dominated */
    uint32_t *first;
    uint32_t *edges; /* targets */
    uint32_t n_edges, edges_capacity;
    uint32_t at; /* node whose edges come next: it has some */

    /* of a dominated graph */
    uint32_t n_reached;           /* the root is one */
    uint32_t *order;              /* [n_nodes]; NOTHING: no root leads to it */
    uint32_t *idom;               /* [n_reached] */
    struct alqi_cli_heap_up *ups; /* [n_reached], until _ancestors_free */
};

/* Makes place for nodes; false: no memory. */
bool alqi_cli_heap_graph_init(struct alqi_cli_heap_graph *graph,
                              uint32_t n_blocks, uint32_t n_holders);
void alqi_cli_heap_graph_free(struct alqi_cli_heap_graph *graph);

/* False: no memory, or more edges than can be. */
bool alqi_cli_heap_graph_grow(struct alqi_cli_heap_graph *graph);

/* Edges of one node come together: all edges, then _close. */
static inline bool
alqi_cli_heap_graph_edge(struct alqi_cli_heap_graph *graph, uint32_t to)
{
    if (graph->n_edges == graph->edges_capacity &&
        !alqi_cli_heap_graph_grow(graph))
        return false;
    graph->edges[graph->n_edges++] = to;
    return true;
}

/* The node's edges are those from place `since` on.  A node that has edges
 * already keeps the new ones. */
static inline void
alqi_cli_heap_graph_close(struct alqi_cli_heap_graph *graph, uint32_t node,
                          uint32_t since)
{
    if (graph->n_edges == since)
        return;
    graph->edges[graph->n_edges - 1] |= ALQI_CLI_HEAP_LAST;
    graph->first[node] = since;
}

/* A search in breadth, of a graph that has its edges still: goes on from
 * queue[n_done] on and adds, up to [n_nodes], what is met for the first time;
 * returns how many are in the queue. by[node] is who leads to it, of a node
 * that began itself; NOTHING: it was not met. So what begins first comes first,
 * and each way is the shortest from there. */
uint32_t alqi_cli_heap_graph_breadth(const struct alqi_cli_heap_graph *graph,
                                     uint32_t *by, uint32_t *queue,
                                     uint32_t n_done, uint32_t n_queued);

/* Takes the edges, leaves the results; false: no memory. */
bool alqi_cli_heap_graph_dominate(struct alqi_cli_heap_graph *graph);

/* The nearest node that dominates both: orders. */
uint32_t alqi_cli_heap_graph_both(const struct alqi_cli_heap_graph *graph,
                                  uint32_t a, uint32_t b);
void alqi_cli_heap_graph_ancestors_free(struct alqi_cli_heap_graph *graph);

#endif
