/* pool_area.h -- the reservation: minor part, major part, a byte for each pool
 *
 * Any domain may call; the lock is the area's own. */
#ifndef ALQI_HEAP_POOL_AREA_H
#define ALQI_HEAP_POOL_AREA_H

#include "heap/state.h"

/* A pool's byte: 0 free, else class + 1, and these bits.  The domain that has
 * the pool writes it, but for the bit of overflow, which any marker sets. */
enum {
    ALQI_HEAP_KIND_CLASS = 0x3F,
    ALQI_HEAP_KIND_NO_SCAN = 0x40,
    ALQI_HEAP_KIND_OVERFLOWED = 0x80,
    ALQI_HEAP_KIND_EMPTIED = 0x80 /* compacting, when nothing is marked */
};

/* False when there is not enough address space. */
bool alqi_heap_area_open(struct alqi_heap_area *area);
void alqi_heap_area_close(struct alqi_heap_area *area);

/* Domains that the minor part has room for. */
unsigned alqi_heap_area_slices(const struct alqi_heap_area *area);

/* Makes sure that n pools can be taken; false when memory is short. */
bool alqi_heap_area_ready(struct alqi_heap_area *area, size_t n);

/* A pool whose slots have header 0, made for the class; NULL when none is
 * ready and none can be made so. */
struct alqi_heap_pool *alqi_heap_area_take(struct alqi_heap_area *area,
                                           unsigned size_class, bool no_scan);
/* The pool is empty: each slot has header 0. */
void alqi_heap_area_give(struct alqi_heap_area *area,
                         struct alqi_heap_pool *pool);

/* The same for a pool whose blocks are all dead: they are not looked at. */
void alqi_heap_area_give_unread(struct alqi_heap_area *area,
                                struct alqi_heap_pool *pool);

/* Gives the memory of at most n surplus pools back to the system; how many.
 * Each stays a free pool, and gets new memory when it is taken. */
size_t alqi_heap_area_return(struct alqi_heap_area *area, size_t n);
/* Gives the memory of all surplus pools back to the system; returns how many.
 */
size_t alqi_heap_area_return_surplus(struct alqi_heap_area *area);

/* The least number of free pools with memory since the last call. */
size_t alqi_heap_area_idle(struct alqi_heap_area *area);

/* Pools in use; of a moment. */
static inline size_t
alqi_heap_area_used(const struct alqi_heap_area *area)
{
    return __atomic_load_n(&area->n_used, __ATOMIC_RELAXED);
}

/* Pools that have memory: used once, and not returned since; of a moment.
 * Those behind the frontier may be accessed, and have none yet. */
static inline size_t
alqi_heap_area_backed(const struct alqi_heap_area *area)
{
    size_t n_returned = __atomic_load_n(&area->n_returned, __ATOMIC_RELAXED);
    size_t n = __atomic_load_n(&area->n_frontier, __ATOMIC_RELAXED);

    return n > n_returned ? n - n_returned : 0;
}

/* Whether the address is in the major part: then it has a pool and a kind. */
static inline bool
alqi_heap_area_has(const struct alqi_heap_area *area, uintptr_t address)
{
    return address - area->major_base < area->major_bytes;
}

/* The number of the pool around the address, which alqi_heap_area_has. */
static inline size_t
alqi_heap_area_index(const struct alqi_heap_area *area, uintptr_t address)
{
    return (address - area->major_base) >> ALQI_HEAP_POOL_SHIFT;
}

static inline struct alqi_heap_pool *
alqi_heap_area_pool(const struct alqi_heap_area *area, size_t index)
{
    return (struct alqi_heap_pool *)(area->major_base +
                                     (index << ALQI_HEAP_POOL_SHIFT));
}

/* The byte of the pool around the address; 0: a free or untouched pool. */
static inline uint8_t
alqi_heap_area_kind(const struct alqi_heap_area *area, uintptr_t address)
{
    return __atomic_load_n(&area->kinds[alqi_heap_area_index(area, address)],
                           __ATOMIC_RELAXED);
}

/* Counts a block that has just been marked, `offset` bytes behind major_base.
 * Of the heap's only domain (.inv.counted), so no other thread counts. */
static inline void
alqi_heap_area_count(uint16_t *n_marked, uintptr_t offset)
{
    n_marked[offset >> ALQI_HEAP_POOL_SHIFT]++;
}

/* The same by its address; a large one lies in no pool. */
static inline void
alqi_heap_area_marked_add(struct alqi_heap_area *area, uintptr_t block)
{
    if (alqi_heap_area_has(area, block))
        alqi_heap_area_count(area->n_marked, block - area->major_base);
}

/* What was counted of the pool; the next marking counts from 0 on. */
static inline unsigned
alqi_heap_area_marked_take(struct alqi_heap_area *area,
                           const struct alqi_heap_pool *pool)
{
    uint16_t *at = &area->n_marked[alqi_heap_area_index(area, (uintptr_t)pool)];
    unsigned n = *at;

    *at = 0;
    return n;
}

/* Whether pool i is to be read again: if so, the caller has taken that on. */
static inline bool
alqi_heap_area_overflow_take(struct alqi_heap_area *area, size_t i)
{
    return (__atomic_load_n(&area->kinds[i], __ATOMIC_RELAXED) &
            ALQI_HEAP_KIND_OVERFLOWED) != 0 &&
           (__atomic_fetch_and(&area->kinds[i],
                               (uint8_t)~ALQI_HEAP_KIND_OVERFLOWED,
                               __ATOMIC_SEQ_CST) &
            ALQI_HEAP_KIND_OVERFLOWED) != 0;
}

/* All blocks of the pool have moved. */
static inline void
alqi_heap_area_emptied_set(struct alqi_heap_area *area,
                           const struct alqi_heap_pool *pool)
{
    area->kinds[alqi_heap_area_index(area, (uintptr_t)pool)] |=
        ALQI_HEAP_KIND_EMPTIED;
}

static inline bool
alqi_heap_area_is_emptied(const struct alqi_heap_area *area, uintptr_t address)
{
    return alqi_heap_area_kind(area, address) & ALQI_HEAP_KIND_EMPTIED;
}

/* The class of a pool in use. */
static inline unsigned
alqi_heap_area_class(const struct alqi_heap_area *area, uintptr_t address)
{
    ALQI_DEBUG((alqi_heap_area_kind(area, address) & ALQI_HEAP_KIND_CLASS) !=
               0); /* .inv.kind */
    return (alqi_heap_area_kind(area, address) & ALQI_HEAP_KIND_CLASS) - 1u;
}

static inline bool
alqi_heap_area_is_no_scan(const struct alqi_heap_area *area, uintptr_t address)
{
    return alqi_heap_area_kind(area, address) & ALQI_HEAP_KIND_NO_SCAN;
}

#endif
