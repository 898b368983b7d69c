/* held.c -- aliquot record --leaks: who holds the traced blocks of a heap
 *                                   [convert/heap_held.h,
 * doc/design/heap-snapshot]
 *
 *   open:   blocks have numbers (snapshot.c, walk 1)
 *   edges:  between inner blocks (walk 2)
 *   search: who leads to each inner block; edges are gone
 *   walk 3: kinds; who leads to each leaf: of several the one that was met
 * first told:   each traced block has its holder: the step of who leads to it
 *
 * A step is a root, or all blocks of a kind behind another step. Which blocks
 * are sampled is chance, so steps are told by kind, not by site.
 *
 * Bytes an inner block, with e edges: 12 + 4 e in the search, 18 at the end; a
 * leaf has 4, a traced block 48.
 *
 * .inv.stays_first  A block that a variable holds is held by it, whatever the
 *             stack leads to: what a frame holds goes with the frame.
 * .inv.held_once  A block's step is found once, so all ways together cost no
 *             more than there are blocks.
 * .inv.held_fold  No kind is twice among a step and its parents, and there are
 *             STEPS_MOST of them at most. */
#include <stdlib.h>
#include <string.h>

#include "cli/convert/heap_held.h"
#include "cli/heap/snapshot.h"
#include "cli/tool/cli.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum {
    STEPS_MOST = 32,
    KIND_ROOT = ALQI_CLI_HEAP_KINDS, /* of a step that is a root */
    KIND_FURTHER,                    /* of what comes behind STEPS_MOST */
    KEY_BITS = 32
};

struct holding {
    struct alqi_cli_heap_snapshot s;
    struct alqi_cli_reaches *out;
    /* by node: who leads to it; of a holder itself; NOTHING: it is garbage */
    uint32_t *by;
    uint32_t *queue;   /* nodes as they were met; later a way of them */
    uint32_t *ranks;   /* by node: its place in the queue; walk 3 needs it */
    uint16_t *kinds;   /* by inner block */
    uint32_t *leaf_by; /* by leaf: a node, or NOTHING */
    uint32_t *steps;   /* by node: its number; 0: not known yet */
    uint32_t *runs;    /* by node: blocks of its step in a row, up to it */
    struct alqi_base_map numbers; /* in << KEY_BITS | kind, or node -> step */
    struct place {
        uint32_t kind, depth;
    } * places; /* by step: [0] is none's */
};

/* ---- who leads to whom --------------------------------------------------- */

static bool
is_passing(const struct alqi_cli_heap_holder *holder)
{
    return holder->kind == ALQI_DUMP_ROOT_FRAME ||
           holder->kind == ALQI_DUMP_ROOT_STACK ||
           holder->kind == ALQI_DUMP_ROOT_TRANSFER;
}

/* .inv.stays_first: from these holders on. */
static uint32_t
search_from(struct holding *h, bool passing, uint32_t n)
{
    const struct alqi_cli_heap_graph *g = &h->s.graph;
    uint32_t since = n;

    for (uint32_t i = 0; i < h->s.n_holders; i++)
        if (is_passing(&h->s.holders[i]) == passing)
            h->by[g->n_blocks + i] = h->queue[n++] = g->n_blocks + i;
    return alqi_cli_heap_graph_breadth(g, h->by, h->queue, since, n);
}

static void
search(struct holding *h)
{
    struct alqi_cli_heap_graph *g = &h->s.graph;
    uint32_t n;

    h->by = alqi_cli_realloc(NULL, (size_t)g->n_nodes + 1, sizeof *h->by);
    h->queue = alqi_cli_realloc(NULL, (size_t)g->n_nodes + 1, sizeof *h->queue);
    memset(h->by, 0xFF, g->n_nodes * sizeof *h->by);
    n = search_from(h, true, search_from(h, false, 0));
    free(g->edges);
    free(g->first);
    g->edges = g->first = NULL;
    h->ranks = alqi_cli_realloc(NULL, (size_t)g->n_nodes + 1, sizeof *h->ranks);
    for (uint32_t i = 0; i < n; i++)
        h->ranks[h->queue[i]] = i;
}

/* One more node leads to what may be a leaf. */
static inline void
leaf_lead(struct holding *h, uint32_t from, uint64_t address)
{
    uint32_t leaf = alqi_cli_heap_find(&h->s.addresses, address), *by;

    if (leaf == ALQI_CLI_HEAP_NONE || !alqi_cli_heap_is_leaf(leaf))
        return;
    by = &h->leaf_by[leaf & ~ALQI_CLI_HEAP_LEAF];
    if (*by == NOTHING || h->ranks[from] < h->ranks[*by])
        *by = from;
}

/* An inner block: its kind, and the leaves that it leads to. */
static void
inner_take(struct holding *h, struct alqi_cli_heap_walk *walk,
           const struct alqi_dump_block_read *block)
{
    uint32_t node = alqi_cli_heap_find(&h->s.addresses, block->address);
    uint64_t target;

    h->kinds[node] = (uint16_t)alqi_cli_heap_kind_number(block);
    while (h->by[node] != NOTHING && alqi_dump_next_edge(&walk->d, &target))
        leaf_lead(h, node, target);
}

static void
blocks_walk(struct holding *h)
{
    size_t n = h->s.addresses.n_leaves;
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    h->kinds =
        alqi_cli_zeros((size_t)h->s.graph.n_blocks + 1, sizeof *h->kinds);
    h->leaf_by = alqi_cli_realloc(NULL, n + 1, sizeof *h->leaf_by);
    memset(h->leaf_by, 0xFF, n * sizeof *h->leaf_by);
    for (uint32_t i = 0; i < h->s.n_roots; i++)
        leaf_lead(h, h->s.graph.n_blocks + h->s.roots[i].holder,
                  h->s.roots[i].block);
    alqi_cli_heap_walk_begin(&walk, &h->s.file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        if (alqi_dump_has_edge(&walk.d))
            inner_take(h, &walk, &block);
    free(h->ranks);
    h->ranks = NULL;
}

/* ---- steps --------------------------------------------------------------- */

/* The step of that key, made if it is new. */
static uint32_t
step_at(struct holding *h, uint32_t in, uint32_t key, uint32_t kind,
        const char *name)
{
    bool is_new;
    uint64_t *number =
        alqi_cli_map_at(&h->numbers, (uint64_t)in << KEY_BITS | key, &is_new);

    if (is_new) {
        *number = alqi_cli_reaches_step(h->out, in, name, 1);
        h->places =
            alqi_cli_grow(h->places, (uint32_t)*number, sizeof *h->places);
        h->places[*number] = (struct place){
            .kind = kind, .depth = in == 0 ? 0 : h->places[in].depth + 1};
    }
    return (uint32_t)*number;
}

static const char *
kind_name(struct holding *h, uint32_t kind)
{
    return kind == KIND_FURTHER ? "further blocks"
                                : alqi_cli_heap_kind_name(&h->s, kind);
}

/* .inv.held_fold */
static uint32_t
step_below(struct holding *h, uint32_t in, uint32_t kind)
{
    for (uint32_t at = in; h->places[at].kind != KIND_ROOT;
         at = h->out->steps[at - 1].in)
        if (h->places[at].kind == kind)
            return at;
    if (h->places[in].kind == KIND_FURTHER)
        return in;
    if (h->places[in].depth + 1 == STEPS_MOST)
        kind = KIND_FURTHER;
    return step_at(h, in, kind, kind, kind_name(h, kind));
}

/* Roots have no step before them: their keys are nodes. */
static uint32_t
root_step(struct holding *h, uint32_t node)
{
    return step_at(
        h, 0, node, KIND_ROOT,
        alqi_cli_heap_holder_name(&h->s, node - h->s.graph.n_blocks));
}

/* A node whose `by` has its step. */
static void
step_take(struct holding *h, uint32_t node)
{
    uint32_t by = h->by[node], *most;

    h->runs[node] = 1;
    if (by == node) {
        h->steps[node] = root_step(h, node);
        return;
    }
    h->steps[node] = step_below(h, h->steps[by], h->kinds[node]);
    if (h->steps[node] == h->steps[by])
        h->runs[node] += h->runs[by];
    most = &h->out->steps[h->steps[node] - 1].most;
    if (h->runs[node] > *most)
        *most = h->runs[node];
}

/* .inv.held_once: the step of a node that was met. */
static uint32_t
step_of(struct holding *h, uint32_t node)
{
    uint32_t *way = h->queue, n = 0;

    for (uint32_t at = node; h->steps[at] == 0; at = h->by[at]) {
        way[n++] = at;
        if (h->by[at] == at)
            break;
    }
    while (n > 0)
        step_take(h, way[--n]);
    return h->steps[node];
}

/* ---- what is told -------------------------------------------------------- */

/* Who leads to the block; NOTHING: no root does. */
static uint32_t
leader_of(const struct holding *h, uint64_t address)
{
    uint32_t number = alqi_cli_heap_find(&h->s.addresses, address);

    if (number == ALQI_CLI_HEAP_NONE)
        return NOTHING;
    return alqi_cli_heap_is_leaf(number)
               ? h->leaf_by[number & ~ALQI_CLI_HEAP_LEAF]
               : h->by[number];
}

static void
traced_tell(struct holding *h, const struct alqi_cli_heap_traced *traced)
{
    uint32_t leader = leader_of(h, traced->block);
    struct alqi_cli_reached *told;

    alqi_cli_reaches_add(h->out, traced->block, traced->stream, traced->object);
    told = &h->out->at[h->out->n - 1];
    told->reach = leader == NOTHING ? ALQI_VIEW_LOST : ALQI_VIEW_HELD;
    if (leader != NOTHING)
        told->holder = step_of(h, leader);
}

static void
all_tell(struct holding *h)
{
    size_t n = (size_t)h->s.graph.n_nodes + 1;

    h->steps = alqi_cli_zeros(n, sizeof *h->steps);
    h->runs = alqi_cli_zeros(n, sizeof *h->runs);
    h->places = alqi_cli_grow(NULL, 0, sizeof *h->places);
    h->places[0] = (struct place){.kind = KIND_ROOT};
    for (uint32_t i = 0; i < h->s.n_traced; i++)
        traced_tell(h, &h->s.traced[i]);
}

static void
drop(struct holding *h)
{
    alqi_cli_heap_close(&h->s);
    alqi_base_map_clear(&h->numbers);
    free(h->by);
    free(h->queue);
    free(h->kinds);
    free(h->leaf_by);
    free(h->steps);
    free(h->runs);
    free(h->places);
}

/* Of a file without its end what is missing might hold what is there. */
bool
alqi_cli_heap_held(const char *path, struct alqi_cli_reaches *out)
{
    struct holding h = {.out = out};
    bool is_whole = alqi_cli_heap_open(&h.s, path, false) < 0 &&
                    h.s.damage == NULL && h.s.has_end;

    *out = (struct alqi_cli_reaches){0};
    if (is_whole) {
        alqi_cli_heap_edges(&h.s);
        search(&h);
        blocks_walk(&h);
        all_tell(&h);
    }
    drop(&h);
    return is_whole;
}
