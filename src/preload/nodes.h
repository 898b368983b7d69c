/* nodes.h -- call stacks as numbers: a tree in one table
 *
 * A node is its parent and a return address; the stack it names is the path to
 * it.  The table finds a node by the hash of that path, so that a stack is one
 * look-up, however deep it is: open addressing, append-only, read without a
 * lock.
 *
 * .inv.node   A node's record stands in the recording before its number is
 *             given out.
 * .inv.fresh  After a module went, every node is forgotten; numbers are never
 *             used twice in one recording.
 * .inv.hash   Two stacks are taken for one only if 64 bits of hash and the
 *             innermost address agree: for a million stacks a chance of less
 *             than 1e-7.
 * .pair.node  table_insert() (release) -> alqi_preload_node() (acquire): the
 *             entry's hash and pc_low.
 * .pair.nodes  table_grow_locked() (release) -> alqi_preload_node() (acquire):
 *             the table's entries. */
#ifndef ALQI_PRELOAD_NODES_H
#define ALQI_PRELOAD_NODES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct alqi_preload_node {
    uint64_t hash;        /* of the path */
    uint32_t pc_low;      /* innermost address, low bits      */
    _Atomic(uint32_t) id; /* 0: the entry is free; stored last: .pair.node */
};

struct alqi_preload_nodes {
    uint32_t shift; /* 64 - log2 of the number of entries */
    uint32_t n;
    uint64_t last;                    /* entry */
    struct alqi_preload_nodes *older; /* smaller; may be read still */
    struct alqi_preload_node entries[];
};

extern _Atomic(struct alqi_preload_nodes *)
    alqi_preload_nodes; /* .pair.nodes */

/* Bytes that the tables may take; 0: no cap. */
void alqi_preload_nodes_start(uint64_t max_bytes);

/* The number of a stack that the table does not have: adds what is missing of
 * its path.  frames: innermost first; hashes[i] is that of the outermost i + 1
 * frames.  0 when there is no memory, or no space in the file; *best is then
 * the node of what the table has. */
uint32_t alqi_preload_nodes_add(const uintptr_t *frames, uint32_t n_frames,
                                const uint64_t *hashes, uint32_t *best);

/* Whether a node was refused for want of memory. */
bool alqi_preload_nodes_is_full(void);

void alqi_preload_nodes_forget(void);
/* In a forked child: another recording, which knows none of them. */
void alqi_preload_nodes_fork_child(void);

/* A path's hash from its outer part's, 0 being the empty path's: the sum of
 * its frames' hashes, each of address and depth, so that those of several
 * frames are worked out side by side. */
static inline uint64_t
alqi_preload_path_hash(uint64_t outer, uintptr_t pc, uint32_t depth)
{
    uint64_t h = (pc ^ (uint64_t)depth << 48) * UINT64_C(0x9E3779B97F4A7C15);

    return outer + (h ^ h >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}

/* The number of the path, or 0. */
static inline uint32_t
alqi_preload_node(uint64_t hash, uintptr_t pc)
{
    const struct alqi_preload_nodes *t =
        atomic_load_explicit(&alqi_preload_nodes, memory_order_acquire);
    uint64_t i;
    uint32_t id;

    if (ALQI_UNLIKELY(t == NULL))
        return 0;
    i = hash >> t->shift;
    while ((id = atomic_load_explicit(&t->entries[i].id,
                                      memory_order_acquire)) != 0) {
        if (ALQI_LIKELY(t->entries[i].hash == hash) &&
            t->entries[i].pc_low == (uint32_t)pc)
            return id;
        i = (i + 1) & t->last;
    }
    return 0;
}

#pragma GCC visibility pop

#endif
