/* graph.h -- which blocks are held, and which are lost  [doc/design/leaks.md]
 *
 * Pure: blocks are numbers, pointers are edges.  The classes are those of
 * memcheck (terms of valgrind's manual in brackets). */
#ifndef ALQI_CLI_LEAKS_GRAPH_H
#define ALQI_CLI_LEAKS_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum alqi_cli_leak_class {
    ALQI_CLI_LEAK_LOST,     /* no root leads to it [definitely lost]       */
    ALQI_CLI_LEAK_INDIRECT, /* a lost block leads to it [indirectly lost]  */
    ALQI_CLI_LEAK_POSSIBLE, /* held by a pointer into a block, or by a place
                             * that may be no root [possibly lost]         */
    ALQI_CLI_LEAK_HELD,     /* a root leads to it, by pointers to the begin of
                             * each block [still reachable]                */
    ALQI_CLI_LEAK_CLASSES
};

/* Where in a block a pointer leads. */
enum alqi_cli_leak_into {
    ALQI_CLI_LEAK_BEGIN,
    ALQI_CLI_LEAK_AT_8, /* bytes from the begin: some libraries keep such
                         * pointers alone */
    ALQI_CLI_LEAK_AT_16,
    ALQI_CLI_LEAK_AT_24,
    ALQI_CLI_LEAK_AT_32,
    ALQI_CLI_LEAK_BEFORE, /* the byte in front of one of these */
    ALQI_CLI_LEAK_INSIDE
};

enum {
    ALQI_CLI_LEAK_BLOCK_BITS = 29,
    ALQI_CLI_LEAK_BLOCKS_MOST = (1 << ALQI_CLI_LEAK_BLOCK_BITS) - 1
};

/* A pointer to a block: the block's number, and where it leads. */
static inline uint32_t
alqi_cli_leak_edge(uint32_t block, enum alqi_cli_leak_into into)
{
    return block | (uint32_t)into << ALQI_CLI_LEAK_BLOCK_BITS;
}

static inline uint32_t
alqi_cli_leak_edge_block(uint32_t edge)
{
    return edge & ALQI_CLI_LEAK_BLOCKS_MOST;
}

static inline enum alqi_cli_leak_into
alqi_cli_leak_edge_into(uint32_t edge)
{
    return (enum alqi_cli_leak_into)(edge >> ALQI_CLI_LEAK_BLOCK_BITS);
}

/* A pointer in memory that is no block. */
struct alqi_cli_leak_root {
    uint64_t at; /* its address, or what else the caller knows it by */
    uint32_t edge;
    bool is_weak;    /* what it leads to is possible at most */
    bool is_passing; /* a stack or a register: others name a holder before it */
};

/* Who leads to a block; with a bit: a root's number, else a block's. */
#define ALQI_CLI_LEAK_BY_ROOT ((uint32_t)1 << 31)
#define ALQI_CLI_LEAK_BY_NONE UINT32_MAX

/* The graph; all but the last two is the caller's.  Those are made by
 * _classify: to be freed. */
struct alqi_cli_leak_graph {
    uint32_t n_blocks;
    const size_t *first; /* [n_blocks + 1], of each block's edges */
    const uint32_t *edges;
    const struct alqi_cli_leak_root *roots;
    uint32_t n_roots;
    /* Whether a pointer to such a place behind the block's begin holds the
     * whole of it; not asked of INSIDE. */
    bool (*is_whole)(void *arg, uint32_t block, enum alqi_cli_leak_into into);
    void *arg;
    uint8_t *classes; /* enum alqi_cli_leak_class */
    /* of a held or possible block: who leads to it, by as few steps as can be
     * from a root that stays, and only if there is none from one that passes;
     * of an indirect one: the lost block that it goes with */
    uint32_t *by;
};

/* False: there is no memory. */
bool alqi_cli_leak_classify(struct alqi_cli_leak_graph *graph);

#endif
