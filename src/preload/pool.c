/* pool.c -- blocks of the program's own pools, of which it tells
 *                                                     [doc/design/pool.md]
 *
 * A block that the countdown passes is sampled as malloc's are, and stands in
 * its pool's set until it is freed.
 *
 *   pool:  no set --a block is sampled--> set --reset--> no set
 *   set:   free --> a pool's --> free
 *
 * .inv.set      A pool's set has each of its blocks that the recorder knows,
 *               and maybe some that it does not know any more.
 * .inv.outside  The lock is never held when the engine is called.
 *
 * A handler that interrupts the profiler changes nothing here: alq_pool_freed
 * is not for handlers. */
#include <aliquot/pool.h>
#include <errno.h>
#include <string.h>

#include "memprof/filter.h"
#include "preload/exact.h"
#include "preload/pool.h"

enum { FEW = 8, SETS_AT_ONCE = 64 };

/* The addresses of a pool's sampled blocks: open addressing, linear probes, at
 * most half full. */
struct set {
    uintptr_t *slots; /* `few`, or pages; 0: free */
    size_t n_slots;   /* a power of two */
    size_t n_used;
    struct set *next; /* of free sets */
    uintptr_t few[FEW];
};

static struct {
    struct alqi_plat_lock lock; /* of all below, and of sets */
    struct set *free_sets;
} pools = {.lock = ALQI_PLAT_LOCK(PRELOAD_POOLS)};

/* ---- sets ---------------------------------------------------------------- */

static size_t
home_of(const struct set *set, uintptr_t block)
{
    return (size_t)alqi_base_mix(block) & (set->n_slots - 1);
}

/* Where the block is, or the free slot that ends its probes. */
static uintptr_t *
slot_of(const struct set *set, uintptr_t block)
{
    size_t at = home_of(set, block);

    while (set->slots[at] != 0 && set->slots[at] != block)
        at = (at + 1) & (set->n_slots - 1);
    return &set->slots[at];
}

static void
slots_unmap(const struct set *set)
{
    if (set->slots != set->few)
        alqi_plat_pages_unmap(set->slots, set->n_slots * sizeof *set->slots);
}

/* Room for one more; false: no memory. */
static bool
set_room(struct set *set)
{
    enum { SLOTS_PER_PAGE = 4096 / sizeof(uintptr_t) };
    struct set more = *set;

    if (2 * (set->n_used + 1) <= set->n_slots)
        return true;
    more.n_slots = set->slots == set->few ? SLOTS_PER_PAGE : 2 * set->n_slots;
    more.slots = alqi_plat_pages_map(more.n_slots * sizeof *more.slots);
    if (more.slots == NULL)
        return false;
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i] != 0)
            *slot_of(&more, set->slots[i]) = set->slots[i];
    slots_unmap(set);
    set->slots = more.slots;
    set->n_slots = more.n_slots;
    return true;
}

/* Later blocks of the same run of slots move up, so that no probe ends early.
 */
static void
set_remove(struct set *set, uintptr_t block)
{
    uintptr_t *slot = slot_of(set, block);
    size_t mask = set->n_slots - 1, gap = (size_t)(slot - set->slots), at = gap;

    if (*slot == 0)
        return;
    set->n_used--;
    for (;;) {
        at = (at + 1) & mask;
        if (set->slots[at] == 0)
            break;
        if (((at - home_of(set, set->slots[at])) & mask) < ((at - gap) & mask))
            continue;
        set->slots[gap] = set->slots[at];
        gap = at;
    }
    set->slots[gap] = 0;
}

static void
set_give_locked(struct set *set)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_POOLS));
    set->next = pools.free_sets;
    pools.free_sets = set;
}

/* An empty set; NULL: no memory.  Sets are never unmapped. */
static struct set *
set_take_locked(void)
{
    struct set *set;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_POOLS));
    if (pools.free_sets == NULL) {
        set = alqi_plat_pages_map(SETS_AT_ONCE * sizeof *set);
        for (size_t i = 0; set != NULL && i < SETS_AT_ONCE; i++)
            set_give_locked(&set[i]);
    }
    set = pools.free_sets;
    if (set == NULL)
        return NULL;
    pools.free_sets = set->next;
    memset(set, 0, sizeof *set);
    set->slots = set->few;
    set->n_slots = FEW;
    return set;
}

/* The profiler, or a holder of a lock of ours, was interrupted. */
static bool
is_interrupting(void)
{
    const struct alqi_preload_hot *hot = &alqi_preload_hot;

    return hot->is_orphan_held ||
           (hot->thread != NULL &&
            hot->thread->memprof.mode == ALQI_MEMPROF_INSIDE);
}

/* .inv.set; without memory a reset will miss the block. */
static void
pool_add(struct alq_pool *pool, const void *block)
{
    uint32_t was = alqi_preload_lock(&pools.lock);
    struct set *set = pool->blocks;
    uintptr_t *slot;

    if (set == NULL)
        set = pool->blocks = set_take_locked();
    if (set != NULL && set_room(set)) {
        slot = slot_of(set, (uintptr_t)block);
        set->n_used += *slot == 0;
        *slot = (uintptr_t)block;
    }
    alqi_preload_unlock(&pools.lock, was);
}

static void
pool_remove(const struct alq_pool *pool, const void *block)
{
    uint32_t was = alqi_preload_lock(&pools.lock);

    if (pool->blocks != NULL)
        set_remove(pool->blocks, (uintptr_t)block);
    alqi_preload_unlock(&pools.lock, was);
}

/* ---- fork ---------------------------------------------------------------- */

void
alqi_preload_pool_fork_prepare(void)
{
    alqi_plat_lock(&pools.lock);
}

void
alqi_preload_pool_fork_parent(void)
{
    alqi_plat_unlock(&pools.lock);
}

/* Where nothing was prepared a set that another thread was changing may lack
 * blocks; its slots end as they did (at most half are used). */
void
alqi_preload_pool_fork_child(void)
{
    alqi_plat_lock_break(&pools.lock);
}

/* ---- the calls ----------------------------------------------------------- */

/* Handlers may tell of blocks meanwhile, too. */
static ALQI_NOINLINE void
allocated_slow(struct alq_pool *pool, const void *block, size_t bytes)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    const struct alq_pool *outer = hot->pool;
    const void *outer_block = hot->pooled;
    int saved = errno;

    if (block == NULL)
        return;
    hot->pool = pool;
    hot->pooled = block;
    alqi_preload_tried((void *)block, bytes);
    hot->pool = outer;
    hot->pooled = outer_block;
    if (!is_interrupting() && (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL) ||
                               alqi_memprof_filter_may_hold(block)))
        pool_add(pool, block);
    errno = saved;
}

static void
allocated(struct alq_pool *pool, const void *block, size_t bytes)
{
    int64_t left =
        alqi_preload_hot.left_words - (int64_t)alqi_base_malloc_words(bytes);

    if (ALQI_UNLIKELY(left < 0))
        allocated_slow(pool, block, bytes);
    else
        alqi_preload_hot.left_words = left;
}

static ALQI_NOINLINE void
freed_slow(const struct alq_pool *pool, const void *block)
{
    if (block == NULL || is_interrupting() ||
        (alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF) &&
         !alqi_memprof_filter_may_hold(block)))
        return;
    alqi_preload_untrack((void *)block);
    pool_remove(pool, block);
}

static void
freed(struct alq_pool *pool, const void *block)
{
    if (ALQI_UNLIKELY(alqi_memprof_filter_hit(block)))
        freed_slow(pool, block);
}

/* .inv.outside: the set is nobody's while its blocks go. */
static void
reset(struct alq_pool *pool)
{
    struct set *set;
    uint32_t was;

    if (is_interrupting())
        return;
    was = alqi_preload_lock(&pools.lock);
    set = pool->blocks;
    pool->blocks = NULL;
    alqi_preload_unlock(&pools.lock, was);
    if (set == NULL)
        return;
    for (size_t i = 0; i < set->n_slots; i++)
        if (set->slots[i] != 0)
            alqi_preload_untrack((void *)set->slots[i]);
    slots_unmap(set);
    was = alqi_preload_lock(&pools.lock);
    set_give_locked(set);
    alqi_preload_unlock(&pools.lock, was);
}

/* Parked, as in the engine: no word of malloc is tried. */
static void
chunk_begin(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (hot->n_chunks++ > 0)
        return;
    hot->chunk_left_words = hot->left_words;
    hot->left_words = ALQI_PARKED;
}

/* A request of another thread's to draw anew, which came meanwhile, stays. */
static void
chunk_end(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;

    if (--hot->n_chunks > 0)
        return;
    hot->left_words = hot->left_words > ALQI_PARKED / 2
                          ? hot->chunk_left_words
                          : alqi_preload_with_rearm(hot->chunk_left_words);
}

ALQI_EXPORT const struct alq_pool_calls alq_pool_calls = {
    .version = 1,
    .bytes = sizeof(struct alq_pool_calls),
    .allocated = allocated,
    .freed = freed,
    .reset = reset,
    .chunk_begin = chunk_begin,
    .chunk_end = chunk_end,
};
