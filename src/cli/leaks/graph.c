/* graph.c -- breadth first from the roots; what is left is lost
 *
 *   UNMET --from roots, by begins--> HELD
 *         (from those that stay first: .inv.stays)
 *         --what is left, from roots and from HELD, by any pointer--> POSSIBLE
 *         --what is left--> ENTERED --> LOST, and what it leads to: INDIRECT
 *
 * .inv.stays   A HELD block that a root which stays leads to, by begins, has a
 *              way from such a root, not from one that passes: what a request
 *              in work has in its hands is the cache's.
 * .inv.leader  No LOST block leads to another: of blocks that lead to each
 *              other in a ring, and which no others lead to, one is LOST. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/leaks/graph.h"

enum { UNMET = ALQI_CLI_LEAK_CLASSES, ENTERED };

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
    s->graph->classes[block] = (uint8_t) class;
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
held_find(struct search *s, bool is_passing)
{
    const struct alqi_cli_leak_graph *g = s->graph;

    for (uint32_t i = 0; i < g->n_roots; i++)
        if (!g->roots[i].is_weak && g->roots[i].is_passing == is_passing)
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

static void
possible_find(struct search *s, bool is_passing)
{
    const struct alqi_cli_leak_graph *g = s->graph;

    for (uint32_t i = 0; i < g->n_roots; i++)
        if (g->roots[i].is_passing == is_passing)
            possible_follow(s, g->roots[i].edge, i | ALQI_CLI_LEAK_BY_ROOT);
    while (s->queue.head < s->queue.tail) {
        uint32_t block = s->queue.blocks[s->queue.head++];

        for (size_t e = g->first[block]; e < g->first[block + 1]; e++)
            possible_follow(s, g->edges[e], block);
    }
}

/* ---- lost ---------------------------------------------------------------- */

/* A walk into the depth: blocks that are entered and not left yet, and at which
 * edge of each it stands. */
struct walk {
    uint32_t *blocks;
    size_t *edges;
    uint32_t n;
};

static void
walk_enter(struct search *s, struct walk *w, uint32_t block)
{
    s->graph->classes[block] = ENTERED;
    w->blocks[w->n] = block;
    w->edges[w->n++] = s->graph->first[block];
}

/* Enters what an edge of the block on top leads to, or leaves that block: it
 * then is the next in the queue. */
static void
walk_step(struct search *s, struct walk *w)
{
    const struct alqi_cli_leak_graph *g = s->graph;
    uint32_t block = w->blocks[w->n - 1];
    size_t *edge = &w->edges[w->n - 1];

    while (*edge < g->first[block + 1]) {
        uint32_t next = g->edges[(*edge)++];

        if (is_unmet(s, next)) {
            walk_enter(s, w, alqi_cli_leak_edge_block(next));
            return;
        }
    }
    s->queue.blocks[s->queue.tail++] = block;
    w->n--;
}

/* The queue becomes what is lost, in the order in which it is left. */
static void
lost_order(struct search *s, struct walk *w)
{
    s->queue.tail = 0;
    for (uint32_t i = 0; i < s->graph->n_blocks; i++) {
        if (s->graph->classes[i] != UNMET)
            continue;
        walk_enter(s, w, i);
        while (w->n > 0)
            walk_step(s, w);
    }
}

/* The lost block, and all that it leads to. */
static void
clique_find(struct search *s, struct walk *w, uint32_t leader)
{
    struct alqi_cli_leak_graph *g = s->graph;

    g->classes[leader] = ALQI_CLI_LEAK_LOST;
    g->by[leader] = ALQI_CLI_LEAK_BY_NONE;
    w->blocks[0] = leader;
    for (w->n = 1; w->n > 0;) {
        uint32_t block = w->blocks[--w->n];

        for (size_t e = g->first[block]; e < g->first[block + 1]; e++) {
            uint32_t next = alqi_cli_leak_edge_block(g->edges[e]);

            if (g->classes[next] != ENTERED)
                continue;
            g->classes[next] = ALQI_CLI_LEAK_INDIRECT;
            g->by[next] = leader;
            w->blocks[w->n++] = next;
        }
    }
}

/* .inv.leader: what was left before a block and leads to it is led to by it,
 * too, else it would have been left after it. */
static bool
lost_find(struct search *s)
{
    struct alqi_cli_leak_graph *g = s->graph;
    size_t n = g->n_blocks + (size_t)1;
    struct walk w = {.blocks = malloc(n * sizeof *w.blocks),
                     .edges = malloc(n * sizeof *w.edges)};
    bool ok = w.blocks != NULL && w.edges != NULL;

    if (ok) {
        lost_order(s, &w);
        while (s->queue.tail > 0) {
            uint32_t block = s->queue.blocks[--s->queue.tail];

            if (g->classes[block] == ENTERED)
                clique_find(s, &w, block);
        }
    }
    free(w.blocks);
    free(w.edges);
    return ok;
}

bool
alqi_cli_leak_classify(struct alqi_cli_leak_graph *g)
{
    struct search s = {.graph = g};
    size_t n = g->n_blocks + (size_t)1;
    bool ok;

    g->classes = malloc(n);
    g->by = malloc(n * sizeof *g->by);
    s.queue.blocks = malloc(n * sizeof *s.queue.blocks);
    if (g->classes == NULL || g->by == NULL || s.queue.blocks == NULL) {
        free(s.queue.blocks);
        return false;
    }
    memset(g->classes, UNMET, n);
    held_find(&s, false);
    held_find(&s, true);
    /* The queue has the held blocks still: each is looked into once more. */
    s.queue.head = 0;
    possible_find(&s, false);
    possible_find(&s, true);
    ok = lost_find(&s);
    free(s.queue.blocks);
    return ok;
}
