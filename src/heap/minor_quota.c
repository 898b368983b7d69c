/* minor_quota.c -- young memory that domains have in common
 *
 * A minor heap opens with a piece; what is left of all is a number of the
 * heap that a domain takes further pieces of, by compare and swap.
 *
 * Keeps .inv.quota: Open and left bytes together are what memory was promised
 *   for. */
#include "heap/alloc_limit.h"
#include "heap/observe_calls.h"
#include "heap/pin.h"
#include "heap/minor_quota.h"

enum {
    PIECES = 8, /* of a minor heap: what is unused is half of one, about */
    REACH = 2   /* minor heaps may grow to that many times their size    */
};

static uintptr_t
piece_bytes(uintptr_t bytes)
{
    uintptr_t piece = bytes / PIECES & ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);

    return piece > ALQI_HEAP_CHUNK_BYTES ? piece : ALQI_HEAP_CHUNK_BYTES;
}

/* Not where each is collected alone (minor_local.h).  A size that the program
 * has chosen stays what it is; around retained blocks there is no order. */
static bool
is_shared(const struct alqi_domain *d)
{
    return !ALQI_HEAP_IS_HARD && d->sizes.fixed_bytes == 0 &&
           __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           d->heap->young.is_shared && !alqi_heap_pin_has_retained(d->heap);
}

uintptr_t
alqi_heap_quota_open(struct alqi_domain *d, uintptr_t bytes)
{
    uintptr_t piece = piece_bytes(bytes);

    d->young.plan_bytes = bytes;
    d->young.reach_bytes = bytes;
    d->young.has_quota = false;
    if (!is_shared(d) || bytes <= piece)
        return bytes;
    if (bytes * REACH <= d->sizes.max_bytes)
        d->young.reach_bytes = bytes * REACH;
    d->young.has_quota = true;
    __atomic_add_fetch(&d->heap->young.left, bytes - piece, __ATOMIC_RELAXED);
    return piece;
}

/* At most `bytes` of what is left. */
static uintptr_t
take_some(struct alqi_heap *heap, uintptr_t bytes)
{
    uintptr_t left = __atomic_load_n(&heap->young.left, __ATOMIC_RELAXED);
    uintptr_t taken;

    do
        taken = left < bytes ? left : bytes;
    while (!__atomic_compare_exchange_n(&heap->young.left, &left, left - taken,
                                        false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED));
    return taken;
}

/* How far it may still grow. */
static uintptr_t
below_bytes(const struct alqi_domain *d)
{
    if (d->young.promised_pools == 0)
        return 0;
    return d->young.reach_bytes - (d->young.end - d->young.start);
}

uintptr_t
alqi_heap_quota_room_bytes(const struct alqi_domain *d)
{
    uintptr_t left = __atomic_load_n(&d->heap->young.left, __ATOMIC_RELAXED);
    uintptr_t below = below_bytes(d);

    return (uintptr_t)d->pub.young_ptr - d->young.start +
           (left < below ? left : below);
}

bool
alqi_heap_quota_take(struct alqi_domain *d)
{
    uintptr_t start = d->young.start, bytes = piece_bytes(d->young.plan_bytes);
    uintptr_t below = below_bytes(d);

    if (below == 0)
        return false;
    bytes = take_some(d->heap, below < bytes ? below : bytes);
    if (bytes == 0)
        return false;
    d->young.start = start - bytes;
    alqi_heap_observed_draw_below(d, start);
    alqi_heap_alloc_limit_reset(d);
    return true;
}

bool
alqi_heap_quota_end(struct alqi_domain *d)
{
    uintptr_t open = d->young.end - d->young.start, taken;
    uintptr_t *left = &d->heap->young.left;

    if (d->young.promised_pools == 0)
        return true;
    if (open >= d->young.plan_bytes) {
        __atomic_add_fetch(left, open - d->young.plan_bytes, __ATOMIC_RELAXED);
        return true;
    }
    taken = take_some(d->heap, d->young.plan_bytes - open);
    if (taken == d->young.plan_bytes - open)
        return true;
    __atomic_add_fetch(left, taken, __ATOMIC_RELAXED);
    return false;
}

void
alqi_heap_quota_close(struct alqi_heap *heap)
{
    __atomic_store_n(&heap->young.left, 0, __ATOMIC_RELAXED);
}
