/* minor_open.c -- opens minor heaps as wide as they can be emptied
 *
 *   closed (nothing promised) -> open (pools promised) -> collected: closed
 *
 * If memory is short, the width is halved, down to a chunk; then the heap stays
 * closed, and the allocation collects or fails.
 *
 * Keeps .inv.room: Pools for the worst case of all open minor heaps can be
 *   accessed.
 * Keeps .inv.bound: What is promised counts against the hard limit.
 * Keeps .inv.fragmented: Between many retained blocks it stays closed. */
#include "heap/pool_area.h"
#include "heap/limit_heap.h"
#include "heap/minor.h"
#include "heap/minor_size.h"
#include "heap/minor_open.h"
#include "heap/pin.h"
#include "heap/minor_quota.h"
#include "heap/minor_escape.h"
#include "heap/stat.h"

enum {
    RETAINED_BYTES = 64 /* of young allocation for each retained block: they
                           earn what it costs in each collection */
};

/* The reserve in pools; 0 while the domain has a status, and may use it. */
static size_t
reserve_pools(const struct alqi_domain *d)
{
    return d->pub.status == ALQ_OK
               ? d->heap->bound.reserve_bytes / ALQI_HEAP_POOL_BYTES
               : 0;
}

/* Pools that other domains may take before this domain's promise is counted:
 * one each, as has_pool of alloc_direct.c allows.  In a stop nobody takes
 * any. */
static size_t
others_pools(const struct alqi_domain *d)
{
    uint32_t state = __atomic_load_n(&d->state, __ATOMIC_RELAXED);

    return state == ALQI_HEAP_STARTING || state == ALQI_HEAP_RUNNING
               ? __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED)
               : 0;
}

/* Whether `pools` can be promised: beside what is promised already, with the
 * reserve left unless it is in use, and with `more_bytes` of the limit left.
 * Makes that many pools accessible. */
static bool
is_ready(struct alqi_domain *d, size_t pools, size_t more_bytes)
{
    struct alqi_heap *heap = d->heap;

    pools += others_pools(d);
    return alqi_heap_is_within(d, pools * ALQI_HEAP_POOL_BYTES + more_bytes) &&
           alqi_heap_area_ready(
               &heap->area,
               __atomic_load_n(&heap->area.n_promised, __ATOMIC_RELAXED) +
                   pools + reserve_pools(d));
}

/* The largest minor heap that can be emptied for sure, with as much for each of
 * n domains.  If not even a chunk for all of them is there: a chunk for this
 * one, of which `wanted` is not taken off; 0: not even that. */
static uintptr_t
safe_bytes(struct alqi_domain *d, unsigned n)
{
    uintptr_t bytes = alqi_heap_minor_size_bytes(d);
    size_t wanted =
        __atomic_load_n(&d->heap->bound.wanted_bytes, __ATOMIC_RELAXED);

    while (!is_ready(d, alqi_heap_minor_need(bytes) * n, wanted)) {
        if (bytes <= ALQI_HEAP_CHUNK_BYTES)
            return is_ready(d, alqi_heap_minor_need(bytes), 0) ? bytes : 0;
        bytes = bytes / 2 & ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);
    }
    return bytes;
}

/* Takes over a size that the program has requested, if memory for it is there.
 * Otherwise the old size stays, and the request is dropped. */
static void
resize(struct alqi_domain *d)
{
    uintptr_t most = d->sizes.requested_bytes != 0
                         ? d->sizes.requested_bytes
                         : (uintptr_t)ALQI_HEAP_MINOR_BYTES_MAX;

    if (!d->sizes.is_requested)
        return;
    d->sizes.is_requested = false;
    if (most <= d->sizes.max_bytes ||
        alqi_heap_minor_resize(d, most / ALQ_WORD_BYTES))
        d->sizes.fixed_bytes = d->sizes.requested_bytes;
}

/* The bytes of `bytes` that fit between retained blocks.  A slice that could be
 * larger is first made so: then the minor heap moves past the blocks, and loses
 * nothing. */
static uintptr_t
around_retained(struct alqi_domain *d, uintptr_t bytes)
{
    uintptr_t start;

    if (!alqi_heap_pin_has_retained(d->heap))
        return bytes;
    if (alqi_heap_pin_room(d, bytes, &start) < bytes &&
        d->sizes.max_bytes < ALQI_HEAP_MINOR_BYTES_MAX)
        alqi_heap_minor_resize(d, ALQI_HEAP_MINOR_BYTES_MAX / ALQ_WORD_BYTES);
    return alqi_heap_pin_room(d, bytes, &start);
}

/* Promises the pools that emptying the minor heap may take (.inv.room).
 *
 * A worker begins a pool of each class, which counts once for the heap
 * (n_promised starts with it), and once more with each minor heap that
 * is_helper: so many more workers may take part.  Where domains collect alone
 * each needs that itself, as several may do so at once.  If memory for all n is
 * not there, the minor heap goes without, and one worker less takes part. */
static void
promise(struct alqi_domain *d, uintptr_t bytes, unsigned n)
{
    enum { WORKER = ALQI_HEAP_WORKER_POOLS };
    size_t pools = alqi_heap_minor_need(bytes);

    ALQI_ASSERT(alqi_heap_open_is_closed(d)); /* .inv.room: nothing is lost */
    d->young.is_helper = (n > 1 || alqi_heap_minor_local_is_usual(d->heap)) &&
                         is_ready(d, (pools + WORKER) * n,
                                  __atomic_load_n(&d->heap->bound.wanted_bytes,
                                                  __ATOMIC_RELAXED));
    d->young.promised_pools = d->young.is_helper ? pools + WORKER : pools;
    __atomic_add_fetch(&d->heap->area.n_promised, d->young.promised_pools,
                       __ATOMIC_SEQ_CST);
}

/* Whether the room that retained blocks leave is so small that collections of
 * it cost more than they save.  Then blocks are born old for a while (alloc.c).
 * A room that is as wide as wanted is never fragmented, however small. */
static bool
is_fragmented(const struct alqi_heap *heap, uintptr_t wanted, uintptr_t room)
{
    if (room == wanted)
        return false;
    return room == 0 || (!ALQI_HEAP_IS_HARD &&
                         room < heap->pins.n_retained * RETAINED_BYTES);
}

/* Takes the promise back: nothing is young, or all of it has been promoted. */
static void
close_minor(struct alqi_domain *d)
{
    /* .inv.room: the pools of one worker stay promised. */
    ALQI_ASSERT(__atomic_load_n(&d->heap->area.n_promised, __ATOMIC_SEQ_CST) >=
                d->young.promised_pools + ALQI_HEAP_WORKER_POOLS);
    __atomic_sub_fetch(&d->heap->area.n_promised, d->young.promised_pools,
                       __ATOMIC_SEQ_CST);
    d->young.promised_pools = 0;
    d->young.is_helper = false;
}

/* Sizes, promises and opens the minor heap; false: it is still closed.  The
 * caller has room_lock.
 *
 * The promise is counted first and then compared with the limit, as a large
 * block is: of two domains that pass it together at least one gives up. */
static bool
open_minor_locked(struct alqi_domain *d, unsigned n)
{
    uintptr_t bytes, wanted;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_OPENING));
    ALQI_ASSERT(alqi_heap_minor_is_empty(d)); /* .inv.open */
    resize(d);
    wanted = safe_bytes(d, n);
    bytes = around_retained(d, wanted);
    ALQI_ASSERT(bytes % ALQI_HEAP_CHUNK_BYTES == 0); /* .inv.size */
    d->young.is_fragmented = is_fragmented(d->heap, wanted, bytes);
    d->young.fragmented_words = 0;
    ALQI_ASSERT(!d->young.is_fragmented ||
                alqi_heap_pin_has_retained(d->heap)); /* .inv.fragmented */
    alqi_heap_stat_words(d->heap);
    if (bytes == 0 || d->young.is_fragmented)
        return false;
    promise(d, bytes, n);
    if (!alqi_heap_is_within(d, 0)) { /* another one was faster */
        close_minor(d);
        return false;
    }
    alqi_heap_minor_begin(d, bytes);
    return true;
}

/* Opens the minor heap under the lock: two domains that look at the same free
 * memory must not both be promised it. */
bool
alqi_heap_open_minor(struct alqi_domain *d, unsigned n)
{
    bool is_open;

    alqi_plat_lock(&d->heap->young.room_lock);
    is_open = open_minor_locked(d, n);
    alqi_plat_unlock(&d->heap->young.room_lock);
    return is_open;
}

/* After a collection by the domain alone.  Its promise is given up first, so
 * that the same memory can be promised again. */
void
alqi_heap_reopen_minor(struct alqi_domain *d)
{
    close_minor(d);
    alqi_heap_open_minor(d, 1);
}

/* The domain ends with nothing young.
 *
 * If others have taken of its quota, their young blocks rely on its promise:
 * that is kept for the heap (promised_left) until all are collected
 * together. */
void
alqi_heap_leave_minor(struct alqi_domain *d)
{
    ALQI_ASSERT(alqi_heap_minor_is_empty(d)); /* .inv.open */
    if (alqi_heap_quota_end(d)) {
        close_minor(d);
        return;
    }
    __atomic_add_fetch(&d->heap->young.promised_left, d->young.promised_pools,
                       __ATOMIC_RELAXED);
    d->young.promised_pools = 0;
}

/* When all that was young is promoted: closes all minor heaps, and drops the
 * promises of ended domains and the common quota. */
void
alqi_heap_open_close_all_stw(struct alqi_heap *heap)
{
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    for (i = 0; i < heap->n_slots; i++)
        if (alqi_heap_is_there(heap->domains[i]))
            close_minor(heap->domains[i]);
    __atomic_sub_fetch(
        &heap->area.n_promised,
        __atomic_exchange_n(&heap->young.promised_left, 0, __ATOMIC_RELAXED),
        __ATOMIC_RELAXED);
    /* .inv.room: only the pools of one worker are promised. */
    ALQI_ASSERT(__atomic_load_n(&heap->area.n_promised, __ATOMIC_RELAXED) ==
                ALQI_HEAP_WORKER_POOLS);
    alqi_heap_quota_close_stw(heap);
}
