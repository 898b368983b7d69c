/* stacks.h -- call stacks as nodes of a trie of (parent, code)
 *
 * .inv.root    Node 0 is the empty stack.
 * .inv.parent  A node's parent has a smaller number. */
#ifndef ALQI_CLI_ANALYSIS_STACKS_H
#define ALQI_CLI_ANALYSIS_STACKS_H

#include <stdint.h>

#include "wire/ctf.h"

/* A stack: a frame, called from the parent's stack. */
struct alqi_cli_node {
    /* of the node's own frame */
    uint64_t code;
    /* the caller's node */
    uint32_t parent;
    /* codes from the root to here */
    uint32_t depth;
};

/* A step of the trie that was looked up lately. */
struct alqi_cli_child {
    uint64_t code;
    /* node 0: the entry is empty */
    uint32_t parent, node;
};

enum { ALQI_CLI_RECENT = 16384, ALQI_CLI_NO_STREAM = UINT16_MAX + 1 };

/* All stacks so far. */
struct alqi_cli_stacks {
    /* by number; owned; moves when it grows */
    struct alqi_cli_node *nodes;
    uint32_t n_nodes, nodes_capacity;
    /* hash table by parent and code: node number; 0 is free */
    uint32_t *slots;
    /* a power of two, twice nodes_capacity */
    uint32_t n_slots;
    /* the stack added last, outermost first */
    uint64_t *path_codes;
    /* its nodes */
    uint32_t *path;
    uint32_t n_path, path_capacity;
    /* stream of the allocation that `path` is of, or NO_STREAM */
    uint32_t path_stream;
    /* [ALQI_CLI_RECENT], by hash of parent and code */
    struct alqi_cli_child *recent;
};

void alqi_cli_stacks_init(struct alqi_cli_stacks *stacks);
void alqi_cli_stacks_free(struct alqi_cli_stacks *stacks);

/* The node of a stack, outermost code first.  Costs one look-up for each
 * frame that differs from the stack of the call before. */
uint32_t alqi_cli_stacks_add(struct alqi_cli_stacks *stacks,
                             const uint64_t *codes, uint32_t n_codes);

/* As add, when frames [0, n_same) are known to be those of the call before. */
uint32_t alqi_cli_stacks_next(struct alqi_cli_stacks *stacks,
                              const uint64_t *codes, uint32_t n_codes,
                              uint32_t n_same);

/* The node of an allocation's stack. */
uint32_t alqi_cli_stacks_of_event(struct alqi_cli_stacks *stacks,
                                  const struct alqi_ctf_event *event);

/* Writes the codes of node, outermost first; room for its depth. */
void alqi_cli_stacks_codes(const struct alqi_cli_stacks *stacks, uint32_t node,
                           uint64_t *codes);

#endif
