/* graph.c -- breadth first from the roots, then block by block
 *
 *   UNMET --from roots, by begins--> HELD
 *         --what is left, from roots and from HELD, by any pointer--> POSSIBLE
 *         --what is left, block by block-->  LOST, and what it leads to:
 *                                            INDIRECT
 *
 * .inv.leader  Of blocks that lead to each other in a ring the first is LOST
 *              and the others go with it.  A LOST block that another lost block
 *              leads to, which does not go with it, becomes INDIRECT. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/leaks/graph.h"

enum { UNMET = ALQI_CLI_LEAK_CLASSES };

/* Blocks that are met and not looked into yet. */
struct queue {
    uint32_t *blocks;
    uint32_t head, tail;
};

struct search {
    struct alqi_cli_leak_graph *graph;
    struct queue queue;
};

static bool
is_unmet(const struct search *s, uint32_t edge)
{
    return s->graph->classes[alqi_cli_leak_edge_block(edge)] == UNMET;
}

static void
meet(struct search *s, uint32_t block, enum alqi_cli_leak_class class,
     uint32_t by)
{
    s->graph->classes[block] = (uint8_t)class;
    s->graph->by[block] = by;
    s->queue.blocks[s->queue.tail++] = block;
}

/* ---- held ---------------------------------------------------------------- */

static bool
is_begin(const struct search *s, uint32_t edge)
{
    enum alqi_cli_leak_into into = alqi_cli_leak_edge_into(edge);

    return into == ALQI_CLI_LEAK_BEGIN ||
           (into != ALQI_CLI_LEAK_INSIDE && s->graph->is_whole != NULL &&
            s->graph->is_whole(s->graph->arg, alqi_cli_leak_edge_block(edge),
                               into));
}

static void
held_follow(struct search *s, uint32_t edge, uint32_t by)
{
    if (is_unmet(s, edge) && is_begin(s, edge))
        meet(s, alqi_cli_leak_edge_block(edge), ALQI_CLI_LEAK_HELD, by);
}

static void
held_find(struct search *s)
{
    const struct alqi_cli_leak_graph *g = s->graph;

    for (uint32_t i = 0; i < g->n_roots; i++)
        if (!g->roots[i].is_weak)
            held_follow(s, g->roots[i].edge, i | ALQI_CLI_LEAK_BY_ROOT);
    while (s->queue.head < s->queue.tail) {
        uint32_t block = s->queue.blocks[s->queue.head++];

        for (size_t e = g->first[block]; e < g->first[block + 1]; e++)
            held_follow(s, g->edges[e], block);
    }
}

/* ---- possible ------------------------------------------------------------ */

static void
possible_follow(struct search *s, uint32_t edge, uint32_t by)
{
    if (is_unmet(s, edge))
        meet(s, alqi_cli_leak_edge_block(edge), ALQI_CLI_LEAK_POSSIBLE, by);
}

/* The queue has the held blocks still: each is looked into once more. */
static void
possible_find(struct search *s)
{
    const struct alqi_cli_leak_graph *g = s->graph;

    for (uint32_t i = 0; i < g->n_roots; i++)
        possible_follow(s, g->roots[i].edge, i | ALQI_CLI_LEAK_BY_ROOT);
    for (s->queue.head = 0; s->queue.head < s->queue.tail;) {
        uint32_t block = s->queue.blocks[s->queue.head++];

        for (size_t e = g->first[block]; e < g->first[block + 1]; e++)
            possible_follow(s, g->edges[e], block);
    }
}

/* ---- lost ---------------------------------------------------------------- */

/* What a lost block leads to; .inv.leader. */
static void
clique_follow(struct search *s, uint32_t edge, uint32_t leader)
{
    struct alqi_cli_leak_graph *g = s->graph;
    uint32_t block = alqi_cli_leak_edge_block(edge);

    if (block == leader)
        return;
    if (g->classes[block] == UNMET) {
        meet(s, block, ALQI_CLI_LEAK_INDIRECT, leader);
    } else if (g->classes[block] == ALQI_CLI_LEAK_LOST) {
        g->classes[block] = ALQI_CLI_LEAK_INDIRECT;
        g->by[block] = leader;
    }
}

static void
clique_find(struct search *s, uint32_t leader)
{
    const struct alqi_cli_leak_graph *g = s->graph;

    s->queue.head = s->queue.tail = 0;
    meet(s, leader, ALQI_CLI_LEAK_LOST, ALQI_CLI_LEAK_BY_NONE);
    while (s->queue.head < s->queue.tail) {
        uint32_t block = s->queue.blocks[s->queue.head++];

        for (size_t e = g->first[block]; e < g->first[block + 1]; e++)
            clique_follow(s, g->edges[e], leader);
    }
}

/* A block may go with one that came to go with another. */
static uint32_t
leader_of(const struct alqi_cli_leak_graph *g, uint32_t block)
{
    while (g->classes[block] == ALQI_CLI_LEAK_INDIRECT)
        block = g->by[block];
    return block;
}

static void
lost_find(struct search *s)
{
    struct alqi_cli_leak_graph *g = s->graph;

    for (uint32_t i = 0; i < g->n_blocks; i++)
        if (g->classes[i] == UNMET)
            clique_find(s, i);
    for (uint32_t i = 0; i < g->n_blocks; i++)
        if (g->classes[i] == ALQI_CLI_LEAK_INDIRECT)
            g->by[i] = leader_of(g, i);
}

bool
alqi_cli_leak_classify(struct alqi_cli_leak_graph *g)
{
    struct search s = {.graph = g};
    size_t n = g->n_blocks + (size_t)1;

    g->classes = malloc(n);
    g->by = malloc(n * sizeof *g->by);
    s.queue.blocks = malloc(n * sizeof *s.queue.blocks);
    if (g->classes == NULL || g->by == NULL || s.queue.blocks == NULL) {
        free(s.queue.blocks);
        return false;
    }
    memset(g->classes, UNMET, n);
    held_find(&s);
    possible_find(&s);
    lost_find(&s);
    free(s.queue.blocks);
    return true;
}
