/* filter.h -- "is this pointer surely untracked?" in one load
 *
 * A counting filter: each tracked address adds one to one byte.
 *
 * .inv.sticky  A byte that reaches 255 stays at 255, so counts never wrap.
 * .inv.grow    The mask only grows.  Entries added under a smaller mask keep
 *              their bytes, so a reader with a stale mask is right, too.
 *
 * With .inv.zero and .inv.byte (doc/design/memprof.md) a zero byte means that
 * no tracked address falls on it.  The array is zero pages until touched. */
#ifndef ALQI_MEMPROF_FILTER_H
#define ALQI_MEMPROF_FILTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum { ALQI_FILTER_BYTES_MIN = 1 << 16, ALQI_FILTER_BYTES_MAX = 1 << 24 };

/* Hidden: the fast path of free addresses them without a GOT. */
#pragma GCC visibility push(hidden)
extern _Atomic(uint8_t) alqi_memprof_filter_bytes[ALQI_FILTER_BYTES_MAX];
extern _Atomic(uintptr_t) alqi_memprof_filter_mask;
#pragma GCC visibility pop

/* Neighbouring blocks fall on neighbouring bytes, so the filter is as hot as
 * the program's own blocks.  Large blocks lie at page boundaries and share few
 * bytes, so they are often looked up in vain; that costs nothing beside their
 * munmap, and the free of a small block saves three instructions. */
static inline uintptr_t
alqi_memprof_filter_slot(const void *block, uintptr_t mask)
{
    return ((uintptr_t)block >> 4) & mask;
}

/* Whether a free of the address must call the engine: a tracked address falls
 * on its byte, or _stop_all was called.  Assembler on x86-64, because each free
 * runs it: a compiler loads atomics into registers first, which makes nine
 * instructions of seven. */
static inline bool
alqi_memprof_filter_hit(const void *block)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    const _Atomic(uint8_t) *bytes = alqi_memprof_filter_bytes;
    uintptr_t slot = (uintptr_t)block;
    bool is_zero;

    __asm__ volatile("shr $4, %[slot]\n\t"
                     "and %[mask], %[slot]\n\t"
                     "cmpb $0, (%[bytes],%[slot])"
                     : "=@ccz"(is_zero), [slot] "+&r"(slot)
                     : [mask] "m"(alqi_memprof_filter_mask), [bytes] "r"(bytes)
                     : "memory");
    return !is_zero;
#else
    uintptr_t mask =
        atomic_load_explicit(&alqi_memprof_filter_mask, memory_order_relaxed);
    uintptr_t slot = alqi_memprof_filter_slot(block, mask);

    return atomic_load_explicit(&alqi_memprof_filter_bytes[slot],
                                memory_order_relaxed) != 0;
#endif
}

/* From now on alqi_memprof_filter_hit is true of every address: the heap wants
 * to see all frees.  There is no way back. */
void alqi_memprof_filter_stop_all(void);
/* The filter's own answer, also after _stop_all. */
bool alqi_memprof_filter_may_hold(const void *block);

/* Adds an address that the engine does not track but whose free must stop. */
void alqi_memprof_filter_add(const void *block);

/* ---- the engine's ------------------------------------------------------ */

/* Makes the filter larger if an index whose shards hold in_shard entries each
 * is too much for it.  Called with no lock held, after puts. */
void alqi_filter_grow_if_full(uint64_t in_shard);
/* The lock of growth, around a prepared fork. */
void alqi_filter_lock(void);
void alqi_filter_unlock(void);
void alqi_filter_fork_reset(void);

enum {
    ALQI_FILTER_LEVEL_MIN = 16,
    ALQI_FILTER_LEVEL_MAX = 24,
    ALQI_FILTER_LEVEL_STEP = 2,
    ALQI_FILTER_STICKY = UINT8_MAX
};

#pragma GCC visibility push(hidden)
extern _Atomic(uint32_t) alqi_filter_level_now;
#pragma GCC visibility pop

/* The level in force: log2 of the bytes at which new entries are counted.  The
 * mask that a free reads is of this level or, while it grows, the next.  Pairs
 * with level_publish. */
static inline unsigned
alqi_filter_level(void)
{
    return atomic_load_explicit(&alqi_filter_level_now, memory_order_acquire);
}

static inline _Atomic(uint8_t) *
alqi_filter_byte(const void *block, unsigned level)
{
    uintptr_t mask = ((uintptr_t)1 << level) - 1;

    return &alqi_memprof_filter_bytes[alqi_memprof_filter_slot(block, mask)];
}

/* Counts the address at each level from lo to hi.  The caller holds the lock of
 * the block's shard (.inv.byte). */
static inline void
alqi_filter_count(const void *block, unsigned lo, unsigned hi)
{
    for (unsigned level = lo; level <= hi; level += ALQI_FILTER_LEVEL_STEP) {
        _Atomic(uint8_t) *b = alqi_filter_byte(block, level);
        uint8_t n = atomic_load_explicit(b, memory_order_relaxed);

        if (n != ALQI_FILTER_STICKY)
            atomic_store_explicit(b, (uint8_t)(n + 1), memory_order_relaxed);
    }
}

/* Undoes a count at the same levels, under the same lock; a sticky byte stays
 * as it is (.inv.sticky). */
static inline void
alqi_filter_uncount(const void *block, unsigned lo, unsigned hi)
{
    for (unsigned level = lo; level <= hi; level += ALQI_FILTER_LEVEL_STEP) {
        _Atomic(uint8_t) *b = alqi_filter_byte(block, level);
        uint8_t n = atomic_load_explicit(b, memory_order_relaxed);

        ALQI_ASSERT(n != 0); /* .inv.zero */
        if (n != ALQI_FILTER_STICKY)
            atomic_store_explicit(b, (uint8_t)(n - 1), memory_order_relaxed);
    }
}

#endif
