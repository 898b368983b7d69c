/* filter.c -- the counting filter of tracked addresses           [filter.h]
 *
 * The filter grows by a factor of four.  An entry is counted at every level
 * from the one in force when it was indexed to the newest (`lo` .. `hi`), and
 * uncounted at the same ones.
 *
 *     grower                              indexer, under its shard's lock
 *     for each shard, locked:             lo = the level in force
 *       count its entries at level L      hi = the shard's level, if higher
 *       from now on count new ones too    count from lo to hi
 *     publish L's mask
 *     L is in force
 *
 * Why .inv.zero holds for a freeing thread with mask M and an entry at levels
 * lo..hi: the mask is published after every shard has counted at M, so hi >= M
 * for entries that are in.  The freeing thread got the block's address from the
 * thread that indexed it, which had read that lo is in force before.  The mask
 * of lo was published before that, so by coherence M >= lo.
 *
 * Keeps .inv.zero, .inv.byte, .inv.sticky, .inv.grow. */
#include "memprof/filter.h"
#include "memprof/index_level.h"
#include "plat/plat.h"

enum {
#if ALQI_CHECKS >= 3
    BYTES_AN_ENTRY = 1 << 13 /* 8 entries make it grow */
#else
    BYTES_AN_ENTRY = 64 /* at most one free in 64 looks up in vain */
#endif
};

_Static_assert(ALQI_FILTER_BYTES_MIN == 1 << ALQI_FILTER_LEVEL_MIN, "levels");
_Static_assert(ALQI_FILTER_BYTES_MAX == 1 << ALQI_FILTER_LEVEL_MAX, "levels");

_Atomic(uint8_t) alqi_memprof_filter_bytes[ALQI_FILTER_BYTES_MAX];
_Atomic(uintptr_t) alqi_memprof_filter_mask = ALQI_FILTER_BYTES_MIN - 1;

static struct alqi_plat_lock grow_lock = ALQI_PLAT_LOCK(MEMPROF_FILTER);
_Atomic(uint32_t) alqi_filter_level_now = ALQI_FILTER_LEVEL_MIN;
static _Atomic(bool) stops_all; /* the published mask stays 0 */

/* The caller holds grow_lock. */
static void
level_publish(unsigned level)
{
    uintptr_t mask = ((uintptr_t)1 << level) - 1;

    if (!atomic_load_explicit(&stops_all, memory_order_relaxed))
        atomic_store_explicit(&alqi_memprof_filter_mask, mask,
                              memory_order_release);
    /* pairs with the load in alqi_filter_level */
    atomic_store_explicit(&alqi_filter_level_now, level, memory_order_release);
}

/* With mask 0 every address falls on byte 0, which is sticky. */
void
alqi_memprof_filter_stop_all(void)
{
    alqi_filter_lock();
    atomic_store_explicit(&stops_all, true, memory_order_relaxed);
    atomic_store_explicit(&alqi_memprof_filter_bytes[0], ALQI_FILTER_STICKY,
                          memory_order_relaxed);
    atomic_store_explicit(&alqi_memprof_filter_mask, 0, memory_order_release);
    alqi_filter_unlock();
}

bool
alqi_memprof_filter_may_hold(const void *block)
{
    return atomic_load_explicit(alqi_filter_byte(block, alqi_filter_level()),
                                memory_order_relaxed) != 0;
}

/* Makes the filter one level larger if it is too full for `entries`, an
 * estimate from one shard.  Every shard counts at the level before its mask is
 * published (.inv.zero). */
static ALQI_COLD void
grow(uint64_t entries)
{
    unsigned level;

    /* The holder of the lock is growing it; the next put tries again. */
    if (!alqi_plat_lock_try(&grow_lock))
        return;
    level = alqi_filter_level();
    if (level < ALQI_FILTER_LEVEL_MAX &&
        entries * BYTES_AN_ENTRY > (uint64_t)1 << level) {
        level += ALQI_FILTER_LEVEL_STEP;
        alqi_index_count_at(level);
        level_publish(level);
    }
    alqi_plat_unlock(&grow_lock);
}

void
alqi_filter_grow_if_full(uint64_t in_shard)
{
    uint64_t entries = in_shard * ALQI_INDEX_SHARDS;
    unsigned level = alqi_filter_level();

    if (ALQI_UNLIKELY(level < ALQI_FILTER_LEVEL_MAX &&
                      entries * BYTES_AN_ENTRY > (uint64_t)1 << level))
        grow(entries);
}

void
alqi_filter_lock(void)
{
    alqi_plat_lock(&grow_lock);
}

void
alqi_filter_unlock(void)
{
    alqi_plat_unlock(&grow_lock);
}

void
alqi_filter_fork_reset(void)
{
    /* The counts stay: some are of addresses that no index has (_filter_add).
     * A count too many costs a lookup in the index. */
    alqi_plat_lock_break(&grow_lock);
}
