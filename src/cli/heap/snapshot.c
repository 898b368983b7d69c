/* snapshot.c -- walks that make a snapshot's numbers, graph and sizes
 *                                                                 [state.h]
 *
 *   open:   walk 1  records; addresses; which blocks lead to others
 *   solve:  walk 2  edges between inner blocks; then dominators
 *           walk 3  leaves: the nearest dominator of all that lead to each
 *           walk 4  sizes, kinds; then sums up the tree of dominators
 *
 * Bytes a node, with e edges: 12 + 8 e while edges are turned, 20 at the end; a
 * leaf has 4, and each word of the heap 3 bits. */
#include "cli/heap/snapshot.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap/records.h"
#include "cli/tool/cli.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

static void
sums_add(struct alqi_cli_heap_sums *sums,
         const struct alqi_dump_block_read *block)
{
    sums->n_blocks++;
    sums->words += block->wosize + 1;
}

/* ---- walk 1 -------------------------------------------------------------- */

static bool
block_take(struct alqi_cli_heap_snapshot *s,
           const struct alqi_dump_block_read *block,
           const struct alqi_dump_decoder *d)
{
    uint32_t kind = alqi_cli_heap_kind_number(block);

    if (!alqi_cli_heap_addresses_add(&s->addresses, block->address,
                                     s->is_flat || alqi_dump_has_edge(d)))
        return false;
    if (kind >= s->n_kinds)
        s->kinds =
            alqi_cli_widen(s->kinds, &s->n_kinds, kind, sizeof *s->kinds);
    sums_add(&s->kinds[kind].all, block);
    sums_add(&s->all, block);
    return true;
}

/* -1, or the exit status. */
static int
records_read(struct alqi_cli_heap_snapshot *s)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    struct alqi_dump_record record;
    int got;

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while ((got = alqi_cli_heap_walk_on(&walk, &record, &block)) >= 0) {
        if (got > 0)
            alqi_cli_heap_record_take(s, &record);
        else if (!block_take(s, &block, &walk.d))
            return alqi_cli_unreadable(
                "%s: damaged at byte %zu: a block lies at 0x%" PRIx64
                ", where no process has memory",
                s->file.path, (size_t)(walk.d.at - walk.d.begin),
                block.address);
    }
    s->damage = walk.d.error;
    s->damage_bytes = walk.d.error_bytes;
    return -1;
}

int
alqi_cli_heap_open(struct alqi_cli_heap_snapshot *s, const char *path,
                   bool is_flat)
{
    int rc;

    memset(s, 0, sizeof *s);
    s->is_flat = is_flat;
    rc = alqi_cli_heap_file_open(&s->file, path);
    if (rc >= 0)
        return rc;
    s->names = alqi_cli_names_new();
    s->symbols = alqi_cli_heap_symbols_new();
    rc = records_read(s);
    if (rc >= 0)
        return rc;
    alqi_cli_heap_records_end(s);
    if (!alqi_cli_heap_addresses_seal(&s->addresses))
        return alqi_cli_unreadable("%s: more than 2^31 blocks", s->file.path);
    if (s->damage != NULL)
        alqi_cli_say("%s: damaged at byte %" PRIu64 ": %s; the %" PRIu64
                     " blocks before it are used",
                     s->file.path, s->damage_bytes, s->damage, s->all.n_blocks);
    if (s->addresses.n_twice > 0)
        alqi_cli_say("%s: %" PRIu64 " blocks lie where others do: damaged",
                     s->file.path, s->addresses.n_twice);
    return -1;
}

void
alqi_cli_heap_close(struct alqi_cli_heap_snapshot *s)
{
    alqi_cli_heap_graph_free(&s->graph);
    alqi_cli_heap_addresses_free(&s->addresses);
    alqi_cli_heap_records_free(s);
    alqi_cli_heap_file_close(&s->file);
    free(s->leaf_idom);
    free(s->sizes);
    memset(s, 0, sizeof *s);
}

/* ---- walk 2 -------------------------------------------------------------- */

static _Noreturn void
no_memory(const struct alqi_cli_heap_snapshot *s)
{
    alqi_cli_die("heap: no memory for the %" PRIu64 " blocks of %s, or they "
                 "have more than 2^31 pointers",
                 s->all.n_blocks, s->file.path);
}

/* Edges of the walk's block to inner blocks. */
static void
edges_take(struct alqi_cli_heap_snapshot *s, struct alqi_cli_heap_walk *walk,
           uint32_t number)
{
    uint32_t since = s->graph.n_edges, to;
    uint64_t target;

    while (alqi_dump_next_edge(&walk->d, &target)) {
        to = alqi_cli_heap_find(&s->addresses, target);
        s->n_edges++;
        s->n_edges_outside += to == ALQI_CLI_HEAP_NONE;
        if (!alqi_cli_heap_is_leaf(to) &&
            !alqi_cli_heap_graph_edge(&s->graph, to))
            no_memory(s);
    }
    alqi_cli_heap_graph_close(&s->graph, number, since);
}

static void
blocks_edges_take(struct alqi_cli_heap_snapshot *s)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        if (alqi_dump_has_edge(&walk.d))
            edges_take(s, &walk,
                       alqi_cli_heap_find(&s->addresses, block.address));
}

/* Roots come by holder. */
static void
holders_edges_take(struct alqi_cli_heap_snapshot *s)
{
    uint32_t since = s->graph.n_edges;

    for (uint32_t i = 0; i < s->n_roots; i++) {
        const struct alqi_cli_heap_root *root = &s->roots[i];
        uint32_t to = alqi_cli_heap_find(&s->addresses, root->block);

        s->n_roots_outside += to == ALQI_CLI_HEAP_NONE;
        if (!alqi_cli_heap_is_leaf(to) &&
            !alqi_cli_heap_graph_edge(&s->graph, to))
            no_memory(s);
        if (i + 1 == s->n_roots || root[1].holder != root->holder) {
            alqi_cli_heap_graph_close(&s->graph,
                                      s->graph.n_blocks + root->holder, since);
            since = s->graph.n_edges;
        }
    }
}

/* ---- walk 3 -------------------------------------------------------------- */

/* One more node leads to what may be a leaf. */
static inline void
leaf_lead(struct alqi_cli_heap_snapshot *s, uint32_t from, uint64_t address)
{
    uint32_t leaf = alqi_cli_heap_find(&s->addresses, address), *idom;

    if (leaf == ALQI_CLI_HEAP_NONE || !alqi_cli_heap_is_leaf(leaf))
        return;
    idom = &s->leaf_idom[leaf & ~ALQI_CLI_HEAP_LEAF];
    *idom = *idom == NOTHING ? from
                             : alqi_cli_heap_graph_both(&s->graph, *idom, from);
}

static void
leaves_solve(struct alqi_cli_heap_snapshot *s)
{
    size_t n = s->addresses.n_leaves;
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    uint64_t target;

    s->leaf_idom = alqi_cli_realloc(NULL, n + 1, sizeof *s->leaf_idom);
    memset(s->leaf_idom, 0xFF, n * sizeof *s->leaf_idom);
    for (uint32_t i = 0; i < s->n_roots; i++)
        leaf_lead(s, s->graph.order[s->graph.n_blocks + s->roots[i].holder],
                  s->roots[i].block);
    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t from = NOTHING;

        if (alqi_dump_has_edge(&walk.d))
            from = s->graph
                       .order[alqi_cli_heap_find(&s->addresses, block.address)];
        while (from != NOTHING && alqi_dump_next_edge(&walk.d, &target))
            leaf_lead(s, from, target);
    }
    alqi_cli_heap_graph_ancestors_free(&s->graph);
}

/* ---- walk 4 -------------------------------------------------------------- */

static inline void
size_add(struct alqi_cli_heap_snapshot *s, uint32_t order, uint64_t words,
         uint32_t n_blocks)
{
    struct alqi_cli_heap_size *size = &s->sizes[order];

    words += alqi_cli_heap_words(s, order);
    size->words_low = (uint32_t)words;
    size->words_high = (uint16_t)(words >> 32);
    size->n_blocks += n_blocks;
}

/* A block's own words, where they count: at itself, or at a leaf's dominator.
 */
static inline void
size_take(struct alqi_cli_heap_snapshot *s,
          const struct alqi_dump_block_read *block)
{
    uint32_t number = alqi_cli_heap_find(&s->addresses, block->address);
    uint32_t kind = alqi_cli_heap_kind_number(block), order;

    order = alqi_cli_heap_is_leaf(number)
                ? s->leaf_idom[number & ~ALQI_CLI_HEAP_LEAF]
                : s->graph.order[number];
    if (order == NOTHING)
        return; /* .inv.garbage */
    size_add(s, order, block->wosize + 1, 1);
    if (!alqi_cli_heap_is_leaf(number))
        s->sizes[order].kind = (uint16_t)kind;
    sums_add(&s->kinds[kind].held, block);
    sums_add(&s->held, block);
}

static void
sizes_solve(struct alqi_cli_heap_snapshot *s)
{
    uint32_t n = s->graph.n_reached;
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    s->sizes = alqi_cli_zeros(n, sizeof *s->sizes);
    s->sizes[0].kind = ALQI_CLI_HEAP_KIND_HOLDER;
    for (uint32_t i = s->graph.n_blocks; i < s->graph.n_nodes; i++)
        s->sizes[s->graph.order[i]].kind = ALQI_CLI_HEAP_KIND_HOLDER;
    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        size_take(s, &block);
    for (uint32_t v = n - 1; v > 0; v--)
        size_add(s, s->graph.idom[v], alqi_cli_heap_words(s, v),
                 s->sizes[v].n_blocks);
}

void
alqi_cli_heap_edges(struct alqi_cli_heap_snapshot *s)
{
    if (!alqi_cli_heap_graph_init(&s->graph, s->addresses.n_inner,
                                  s->n_holders))
        no_memory(s);
    blocks_edges_take(s);
    holders_edges_take(s);
}

void
alqi_cli_heap_solve(struct alqi_cli_heap_snapshot *s)
{
    alqi_cli_heap_edges(s);
    if (!alqi_cli_heap_graph_dominate(&s->graph))
        no_memory(s);
    leaves_solve(s);
    sizes_solve(s);
}
