/* nodes.h -- call stacks as numbers: a tree in one table
 *
 * A node is its parent and a return address; the stack it names is the path to
 * it.  The table is open addressing, append-only, read without a lock.
 *
 * .inv.node   A node's record stands in the recording before its number is
 *             given out.
 * .inv.fresh  After a module went, every node is forgotten; numbers are never
 *             used twice in one recording. */
#ifndef ALQI_PRELOAD_NODES_H
#define ALQI_PRELOAD_NODES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct alqi_preload_node {
    uintptr_t pc;
    uint32_t parent;
    _Atomic(uint32_t) id; /* 0: free; stored last */
};

struct alqi_preload_nodes {
    uint32_t shift; /* 64 - log2 of the number of entries */
    uint32_t n;
    struct alqi_preload_nodes *older; /* smaller; may be read still */
    struct alqi_preload_node entries[];
};

extern _Atomic(struct alqi_preload_nodes *) alqi_preload_nodes;
/* Goes up when all are forgotten: numbers known before are of no use. */
extern _Atomic(uint32_t) alqi_preload_nodes_generation;

/* Bytes that the tables may take; 0: no cap. */
void alqi_preload_nodes_start(uint64_t max_bytes);

/* Adds the node; 0 when there is no memory, or no space in the file. */
uint32_t alqi_preload_nodes_add(uint32_t parent, uintptr_t pc);

/* Whether a node was refused for want of memory. */
bool alqi_preload_nodes_is_full(void);

void alqi_preload_nodes_forget(void);
/* In a forked child: another recording, which knows none of them. */
void alqi_preload_nodes_fork_child(void);

static inline uint64_t
alqi_preload_node_hash(uint32_t parent, uintptr_t pc)
{
    return (pc ^ parent * UINT64_C(0x9E3779B97F4A7C15)) *
           UINT64_C(0xD6E8FEB86659FD93);
}

/* The number of (parent, pc), or 0. */
static inline uint32_t
alqi_preload_node(uint32_t parent, uintptr_t pc)
{
    const struct alqi_preload_nodes *t =
        atomic_load_explicit(&alqi_preload_nodes, memory_order_acquire);
    uint64_t last, i;
    uint32_t id;

    if (ALQI_UNLIKELY(t == NULL))
        return alqi_preload_nodes_add(parent, pc);
    last = UINT64_MAX >> t->shift;
    i = alqi_preload_node_hash(parent, pc) >> t->shift;
    while ((id = atomic_load_explicit(&t->entries[i].id,
                                      memory_order_acquire)) != 0) {
        if (t->entries[i].pc == pc && t->entries[i].parent == parent)
            return id;
        i = (i + 1) & last;
    }
    return alqi_preload_nodes_add(parent, pc);
}

#pragma GCC visibility pop

#endif
