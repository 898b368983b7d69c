/* large_state.h -- blocks too large for a pool: their heads, their index
 *
 * A large block comes from malloc with a head before its header.
 *
 * .inv.large  `n`, `bytes` and index.n count the blocks in the lists of all
 *             domains and orphans; index.orders has a bit for each order with
 *             blocks. */
#ifndef ALQI_HEAP_LARGE_STATE_H
#define ALQI_HEAP_LARGE_STATE_H

#include "base/map.h"
#include "heap/layout.h"
#include "plat/plat.h"

/* Words of the head before the block's header. */
enum { ALQI_HEAP_LARGE_LINK_WORDS = 3 };

/* Overflow: the mark stack had no room for the block when it was marked. */
struct alqi_heap_large {
    struct alqi_heap_large *next;          /* in its domain's list */
    struct alqi_heap_large *overflow_next; /* in the list of mark stack
                                            * overflow */
    uintptr_t
        is_overflowed; /* atomic; 1: marked, its fields are not, and it is
                        * in that list (.pair.overflow).  Of a dead block that
                        * is swept: bytes that are emptied (large.c) */
    uintptr_t header;  /* as a small block's; `fields` is the value */
    alqi_heap_word fields[];
};

/* The large blocks by address; under the lock of large blocks. */
struct alqi_heap_large_index {
    struct alqi_base_map
        starts;      /* (order of size, piece) to block: .inv.order */
    uint32_t n[64];  /* blocks of each order of size */
    uint64_t orders; /* a bit for each order with blocks */
    uintptr_t least; /* addresses: each block lies in the range, which only */
    uintptr_t most;  /* grows */
};

/* The heap's. */
struct alqi_heap_large_common {
    struct alqi_plat_lock lock; /* of `index` and `overflowed` */
    struct alqi_heap_large_index index;
    uintptr_t bytes; /* atomic; of all large blocks, heads too: .pair.bound */
    uintptr_t n;     /* atomic; blocks */
    struct alqi_heap_large *overflowed; /* marked, fields still to be read */
};

/* A domain's; its holder writes. */
struct alqi_heap_large_lists {
    struct alqi_heap_large *all; /* swept in this cycle, or born since */
    struct alqi_heap_large *unswept;
};

#endif
