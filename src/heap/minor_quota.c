/* minor_quota.c -- young memory that domains have in common
 *
 * A minor heap opens with a piece; what is left of all is one number of the
 * heap, young.left, which domains take further pieces of by compare and swap.
 * A domain grows downwards, from the upper end of its slice's part, to at most
 * REACH times its own size.
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

/* Bytes of a piece of a minor heap: a multiple of chunks, one at least. */
static uintptr_t
piece_bytes(uintptr_t bytes)
{
    uintptr_t piece = bytes / PIECES & ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);

    return piece > ALQI_HEAP_CHUNK_BYTES ? piece : ALQI_HEAP_CHUNK_BYTES;
}

/* Whether the minor heap takes part in the quota.
 *
 * Where each domain collects alone it does not (minor_local.h): its promise has
 * to stay its own.  A size that the program has chosen stays what it is;
 * between retained blocks the minor heap cannot grow downwards. */
static bool
is_shared(const struct alqi_domain *d)
{
    return !ALQI_HEAP_IS_HARD && d->sizes.fixed_bytes == 0 &&
           __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED) > 1 &&
           d->heap->young.is_shared && !alqi_heap_pin_has_retained(d->heap);
}

/* Adds the rest of the opened minor heap to what is left.  reach_bytes is
 * doubled only if the slice has memory for it; the first piece lies at its
 * upper end. */
uintptr_t
alqi_heap_quota_open(struct alqi_domain *d, uintptr_t bytes)
{
    uintptr_t piece = piece_bytes(bytes);

    ALQI_ASSERT(bytes <= d->sizes.max_bytes); /* .inv.open */
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

/* Takes at most `bytes` of what is left; less, or 0, if that is all. */
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

/* Bytes by which the minor heap may still grow downwards; 0 while it is
 * closed. */
static uintptr_t
below_bytes(const struct alqi_domain *d)
{
    if (d->young.promised_pools == 0)
        return 0;
    ALQI_ASSERT(d->young.end - d->young.start <=
                d->young.reach_bytes); /* .inv.quota */
    return d->young.reach_bytes - (d->young.end - d->young.start);
}

/* An estimate: other domains may take pieces at any time. */
uintptr_t
alqi_heap_quota_room_bytes(const struct alqi_domain *d)
{
    uintptr_t left = __atomic_load_n(&d->heap->young.left, __ATOMIC_RELAXED);
    uintptr_t below = below_bytes(d);

    return (uintptr_t)d->pub.young_ptr - d->young.start +
           (left < below ? left : below);
}

/* Grows the minor heap by a piece downwards.  The sampling trigger is drawn for
 * the new part, and the limit is reset, which the old lower end was. */
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
    ALQI_ASSERT(start - bytes >= d->sizes.base); /* .inv.open */
    d->young.start = start - bytes;
    alqi_heap_observed_draw_below(d, start);
    alqi_heap_alloc_limit_reset(d);
    return true;
}

/* The domain ends: its share of the quota goes with its promise.
 *
 * If the minor heap has grown beyond its own size, the surplus goes back.  If
 * it has not opened all of its size, the rest is taken off what is left; if
 * others have used some of that, nothing is taken, and the promise has to stay
 * (false). */
bool
alqi_heap_quota_end(struct alqi_domain *d)
{
    uintptr_t open = d->young.end - d->young.start, taken;
    uintptr_t *left = &d->heap->young.left;

    if (d->young.promised_pools == 0)
        return true;
    /* .inv.quota: without a quota all of it is open. */
    ALQI_ASSERT(d->young.has_quota || open == d->young.plan_bytes);
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

/* All minor heaps are closed: nothing is left. */
void
alqi_heap_quota_close_stw(struct alqi_heap *heap)
{
    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    __atomic_store_n(&heap->young.left, 0, __ATOMIC_RELAXED);
}
