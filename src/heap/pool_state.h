/* pool_state.h -- pools, their lists, and the reservation they lie in
 *
 * A pool is 32 KiB of slots of one size.  A slot in use begins with its block's
 * header; a free slot has header 0.  Free slots side by side are a free range:
 * the second word of its first slot links to the pool's next range and has the
 * number of slots.
 *
 * .inv.free   A free slot has header 0.  The ranges of a pool are in the order
 *             of addresses, each of one slot at least, within the pool.
 * .inv.kind   kinds[i] is 0 while pool i is free or untouched, else it says the
 *             class and kind of the list that has the pool.
 * .inv.counted  Where a heap has had one domain alone, a pool without has_born
 *             has, when its marking is over, as many dead blocks as it has
 *             slots, less n_free, less n_marked.
 * .inv.pools  n_returned <= n_free <= n_frontier <= n_committed <= pools of the
 *             reservation. */
#ifndef ALQI_HEAP_POOL_STATE_H
#define ALQI_HEAP_POOL_STATE_H

#include "heap/layout.h"
#include "plat/plat.h"

/* The head of a pool.  Written by the domain whose list has the pool. */
struct alqi_heap_pool {
    struct alqi_heap_pool *next; /* in its one list; NULL: the last */
    uint32_t first_range;        /* words from the pool's start; 0: none */
    uint32_t n_free;             /* slots; as the last sweep counted them, or
                                  * 0 once all were taken */
    uint32_t cleared;            /* while free: class + 1 for which each slot
                                  * has header 0; 0: none */
    bool has_born;               /* blocks may have been born in it while
                                  * marking: .inv.counted */
    uint64_t held_in;            /* number of the compaction in which no block
                                  * of it moves; 0: none */
};

/* A domain's pools of one class.  The pool of the local allocation buffer is in
 * no list.  The holder of the domain writes. */
struct alqi_heap_lists {
    struct alqi_heap_pool *avail;        /* swept, with free slots */
    struct alqi_heap_pool *full;         /* swept, no free slot */
    struct alqi_heap_pool *unswept;      /* were avail or being filled */
    struct alqi_heap_pool *unswept_full; /* were full */
    bool disordered; /* avail may not be in the policy's order: .inv.policy */
};

/* The reservation of address space; pool_area.h.  Fields without another word
 * change under `lock`; addresses and sizes change in stops alone. */
struct alqi_heap_area {
    struct alqi_plat_lock lock;
    uintptr_t young_base; /* address; the reservation begins here */
    uintptr_t young_bytes;
    uintptr_t major_base; /* address of pool 0 */
    uintptr_t major_bytes;
    uint8_t *kinds; /* a byte a pool, read without the lock: .pair.overflow */
    uint16_t *n_marked; /* blocks of each pool that this marking has marked,
                         * where there is one domain: .inv.counted */
    size_t n_frontier;  /* pools that were ever in use; behind: untouched */
    size_t n_committed; /* pools that may be accessed */
    struct alqi_heap_pool *free; /* list: below the frontier, with memory */
    size_t n_free;               /* pools of `free` and of `returned` */
    uint32_t *returned; /* indices of free pools whose memory the system has */
    size_t n_returned;
    size_t n_surplus;   /* free pools that are still to be returned */
    size_t n_least;     /* the fewest free pools with memory since
                         * alqi_heap_area_idle was last called */
    size_t n_used;      /* pools in use; read without the lock */
    size_t n_promised;  /* atomic; pools that promotion may take: .inv.room,
                         * .pair.bound */
    intptr_t increment; /* words, or percent: struct alq_gc_control */
    bool force_huge;    /* H=1 in ALIQUOTPARAM: huge pages or no memory */
    uint64_t n_huge_fallbacks; /* atomic; times that huge pages were refused */
};

#endif
