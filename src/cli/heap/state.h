/* state.h -- what is known of a snapshot of a heap
 *                                               [doc/design/heap-snapshot]
 *
 * Phases: opened (all records are known, blocks have numbers) -> solved
 * (dominators, retained sizes).
 *
 * A block or a holder is known by a number: of an inner block, below n_blocks
 * of the graph; of a holder, from there on; of a leaf, with the bit LEAF. Those
 * that are reached and no leaves have an order, too (graph.h).
 *
 * .inv.walks   Nothing is kept for a block but what arrays here have for its
 *              number; everything else is read again from the file.
 * .inv.garbage Blocks that no root leads to are counted, and are in no holder's
 *              figures. */
#ifndef ALQI_CLI_HEAP_STATE_H
#define ALQI_CLI_HEAP_STATE_H

#include "base/map.h"
#include "cli/heap/addresses.h"
#include "cli/heap/file.h"
#include "cli/heap/graph.h"
#include "cli/heap/symbols.h"
#include "cli/read/names.h"

/* A kind's number in the file; larger ones are one, the last. */
enum {
    ALQI_CLI_HEAP_KINDS = 65535,
    ALQI_CLI_HEAP_KIND_HOLDER = ALQI_CLI_HEAP_KINDS
};

struct alqi_cli_heap_sums {
    uint64_t n_blocks, words; /* headers included */
};

struct alqi_cli_heap_kind {
    uint32_t name; /* of names; 0: the file has none */
    struct alqi_cli_heap_sums all, held;
};

/* Roots of one name: a node of the graph. */
struct alqi_cli_heap_holder {
    uint32_t name; /* of names */
    enum alqi_dump_root kind;
    uint64_t n_roots;
};

struct alqi_cli_heap_root {
    uint64_t block; /* address */
    uint32_t holder;
};

struct alqi_cli_heap_sample {
    uint64_t block; /* address */
    uint64_t samples;
    double rate;   /* samples a word */
    uint32_t site; /* of sites; NOTHING: the file has it not */
};

/* A block of a trace, as that knows it (wire/dump.h). */
struct alqi_cli_heap_traced {
    uint64_t block; /* address */
    uint64_t stream : 8, object : 56;
};

struct alqi_cli_heap_site {
    uint64_t number;
    struct alqi_dump_record record; /* texts lie in the file */
    uint32_t function, file;        /* of names; 0 until they are asked for */
    uint64_t line;
};

/* What a node retains, itself included: 48 bits of words, in 12 bytes. */
struct alqi_cli_heap_size {
    uint32_t words_low;
    uint32_t n_blocks;
    uint16_t words_high;
    uint16_t kind; /* KIND_HOLDER: it is a holder, or the root */
};

struct alqi_cli_heap_snapshot {
    struct alqi_cli_heap_file file;
    const char *damage;    /* NULL, or what ends the file too early ... */
    uint64_t damage_bytes; /* ... and where */

    uint64_t pid, wall_us;
    struct alqi_dump_text command; /* arguments separated by NULs */
    bool has_end;
    uint64_t stop_ns;
    bool is_copied;

    struct alqi_cli_names *names;
    struct alqi_cli_heap_symbols *symbols;
    struct alqi_cli_heap_kind *kinds; /* by number */
    uint32_t n_kinds;
    struct alqi_cli_heap_holder *holders;
    uint32_t n_holders;
    struct alqi_base_map holders_by_key;
    struct alqi_cli_heap_root *roots; /* by holder, once opened */
    uint32_t n_roots;
    struct alqi_cli_heap_site *sites;
    uint32_t n_sites;
    struct alqi_base_map sites_by_number;
    struct alqi_cli_heap_sample *samples; /* by block, once opened */
    uint32_t n_samples;
    struct alqi_cli_heap_traced *traced; /* in the order of the file */
    uint32_t n_traced;

    bool is_flat;

    struct alqi_cli_heap_addresses addresses;
    struct alqi_cli_heap_sums all, held;
    uint64_t n_edges, n_edges_outside; /* those to no block */
    uint64_t n_roots_outside;

    /* solved */
    struct alqi_cli_heap_graph graph;
    uint32_t *leaf_idom;              /* by leaf: an order, or NOTHING */
    struct alqi_cli_heap_size *sizes; /* by order */
};

/* ---- of a block --------------------------------------------------------- */

static inline uint32_t
alqi_cli_heap_kind_number(const struct alqi_dump_block_read *block)
{
    uint64_t n = block->kind_plus_1 > 0 ? block->kind_plus_1 - 1 : block->tag;

    return n < ALQI_CLI_HEAP_KINDS ? (uint32_t)n : ALQI_CLI_HEAP_KINDS - 1;
}

static inline bool
alqi_cli_heap_is_leaf(uint32_t number)
{
    return (number & ALQI_CLI_HEAP_LEAF) != 0;
}

static inline uint64_t
alqi_cli_heap_words(const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    return s->sizes[order].words_low | (uint64_t)s->sizes[order].words_high
                                           << 32;
}

/* The order of what dominates it; NOTHING: it is garbage. */
static inline uint32_t
alqi_cli_heap_dominator(const struct alqi_cli_heap_snapshot *s, uint32_t number)
{
    uint32_t order;

    if (alqi_cli_heap_is_leaf(number))
        return s->leaf_idom[number & ~ALQI_CLI_HEAP_LEAF];
    order = s->graph.order[number];
    return order == ALQI_CLI_HEAP_NOTHING ? order : s->graph.idom[order];
}

static inline bool
alqi_cli_heap_is_holder(const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    return s->sizes[order].kind == ALQI_CLI_HEAP_KIND_HOLDER;
}

#endif
