/* large.c -- blocks too large for a pool: malloc, index, sweeping
 *
 *   born -> `all` -> `unswept`, when sweeping begins -> `all` again, or freed
 *   a very large dead block: emptied in steps while it stays first in `unswept`
 *
 * A block is in one list of the domain that has it, which its holder writes.
 * The index, under the heap's lock, finds the block around any word, for
 * ambiguous references.
 *
 * Keeps .inv.order: Index and look-up use the same key.
 * Keeps .inv.large: A block is counted when it is made, and taken off when it
 *   is freed. */
#include <stdlib.h>

#include "heap/large.h"
#include "plat/space.h"

enum {
    PAGE = 4096,
    /* From here on malloc has a mapping for each; smaller ones it may keep. */
    EMPTY_BYTES_LEAST = ALQI_HEAP_IS_HARD ? 16 << 10 : 32 << 20,
    EMPTY_STEP_BYTES = ALQI_HEAP_IS_HARD ? PAGE : 4 << 20, /* some 100 us */
    EMPTY_STEP_WORK = 8192 /* a step counts as so many words swept */
};

/* Bytes of the allocation: the head, the header and the fields. */
static size_t
bytes_of(uintptr_t header)
{
    return offsetof(struct alqi_heap_large, fields) +
           (alqi_heap_words(header) - 1) * ALQ_WORD_BYTES;
}

/* ---- by address --------------------------------------------------------- */

/* .inv.order  Of blocks of 2^k to 2^(k+1) bytes at most one begins in a piece
 *   of 2^k bytes: so (k, piece) is a key.  A word lies less than 2^(k+1) bytes
 *   behind the start of its block, so the block begins in the word's piece or
 *   in one of the two before: three look-ups for each order that has blocks. */
static unsigned
order_of(uintptr_t header)
{
    uint64_t bytes = (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES;

    return 63 - (unsigned)__builtin_clzll(bytes);
}

/* Order and piece as one number: the order takes less than 6 bits. */
static uint64_t
key(uintptr_t piece, unsigned order)
{
    return (uint64_t)piece << 6 | order;
}

/* Whether some block has the key. */
static bool
has_key_locked(const struct alqi_heap_large_index *x, uint64_t at)
{
    uint64_t unused;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_LARGE));
    return alqi_base_map_get(&x->starts, at, &unused);
}

/* Enters a block; false: no memory.  least and most only grow apart: a range
 * that is too wide costs a look-up, a narrow one would miss blocks. */
static bool
index_put(struct alqi_heap *heap, uintptr_t start, uintptr_t header)
{
    struct alqi_heap_large_index *x = &heap->large.index;
    unsigned order = order_of(header);
    uintptr_t end = start + (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES;
    bool ok;

    alqi_plat_lock(&heap->large.lock);
    if (ALQI_CHECKS >= 2)
        ALQI_ASSERT(
            !has_key_locked(x, key(start >> order, order))); /* .inv.order */
    ok = alqi_base_map_put(&x->starts, key(start >> order, order), start);
    x->n[order] += ok;
    if (ok)
        x->orders |= (uint64_t)1 << order;
    if (start < x->least || x->most == 0)
        x->least = start;
    if (end > x->most)
        x->most = end;
    ALQI_ASSERT((x->orders >> order & 1) == (x->n[order] > 0)); /* .inv.large */
    alqi_plat_unlock(&heap->large.lock);
    return ok;
}

/* Removes a block that is about to be freed. */
static void
index_take(struct alqi_heap *heap, struct alqi_heap_large *large)
{
    struct alqi_heap_large_index *x = &heap->large.index;
    unsigned order = order_of(large->header);
    uint64_t start;

    alqi_plat_lock(&heap->large.lock);
    alqi_base_map_take(&x->starts,
                       key((uintptr_t)large->fields >> order, order), &start);
    ALQI_ASSERT(start == (uintptr_t)large->fields); /* .inv.order */
    ALQI_ASSERT(x->n[order] > 0);                   /* .inv.large */
    if (--x->n[order] == 0)
        x->orders &= ~((uint64_t)1 << order);
    alqi_plat_unlock(&heap->large.lock);
}

/* Whether the word lies in the block's fields or right behind them, where a
 * pointer to the end of an array points. */
static bool
is_around(alq_value block, uintptr_t word)
{
    return word - block <= alq_wosize(block) * ALQ_WORD_BYTES;
}

/* The block around the word: reads the index without the lock. */
alq_value
alqi_heap_large_around_stw(const struct alqi_heap *heap, uintptr_t word)
{
    const struct alqi_heap_large_index *x = &heap->large.index;
    uint64_t orders = x->orders, start;
    unsigned order, back;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    if (word < x->least || word > x->most)
        return ALQ_NULL;
    for (; orders != 0; orders &= orders - 1) {
        order = (unsigned)__builtin_ctzll(orders);
        for (back = 0; back < 3; back++)
            if (alqi_base_map_get(&x->starts,
                                  key((word >> order) - back, order), &start) &&
                is_around(start, word))
                return start;
    }
    return ALQ_NULL;
}

/* ---- making and freeing ------------------------------------------------- */

/* Makes a block and counts it.
 *
 * The count comes before the caller compares it with the limit, in the same
 * order for all domains: of two that pass the limit together at least one sees
 * it (limit_heap.h). */
alq_value
alqi_heap_large_new(struct alqi_domain *d, uintptr_t header)
{
    struct alqi_heap_large *large = malloc(bytes_of(header));

    if (large == NULL)
        return ALQ_NULL;
    if (!index_put(d->heap, (uintptr_t)large->fields, header)) {
        free(large);
        return ALQ_NULL;
    }
    large->next = d->large.all;
    large->is_overflowed = 0;
    large->header = header | d->alloc_colour;
    d->large.all = large;
    __atomic_add_fetch(&d->heap->large.bytes, bytes_of(header),
                       __ATOMIC_SEQ_CST); /* limit_heap.h */
    __atomic_add_fetch(&d->heap->large.n, 1, __ATOMIC_RELAXED);
    return alqi_heap_large_block(large);
}

/* Frees the memory of a block that is in no list. */
static void
large_give_back(struct alqi_domain *d, struct alqi_heap_large *large)
{
    index_take(d->heap, large);
    ALQI_ASSERT(alqi_heap_large_bytes(d->heap) >=
                bytes_of(large->header)); /* .inv.large */
    __atomic_sub_fetch(&d->heap->large.bytes, bytes_of(large->header),
                       __ATOMIC_RELAXED);
    __atomic_sub_fetch(&d->heap->large.n, 1, __ATOMIC_RELAXED);
    free(large);
}

static void
large_free(struct alqi_domain *d, struct alqi_heap_large *large)
{
    alqi_heap_finalise(alqi_heap_large_block(large), large->header);
    large_give_back(d, large);
}

/* Takes back the block that the domain made last.  No finaliser runs: its
 * fields were never set. */
void
alqi_heap_large_undo(struct alqi_domain *d)
{
    struct alqi_heap_large *large = d->large.all;

    d->large.all = large->next;
    large_give_back(d, large);
}

/* ---- to be read again --------------------------------------------------- */

/* Puts a marked block on the stack of those whose fields are still to be read.
 * The exchange lets one marker do so. */
void
alqi_heap_large_overflow_add(struct alqi_heap *heap,
                             struct alqi_heap_large *large)
{
    if (__atomic_exchange_n(&large->is_overflowed, 1, __ATOMIC_SEQ_CST) != 0)
        return;
    alqi_plat_lock(&heap->large.lock);
    large->overflow_next = heap->large.overflowed;
    heap->large.overflowed = large;
    alqi_plat_unlock(&heap->large.lock);
}

/* Takes a block off the stack.  Its flag is cleared before its fields are read:
 * if it overflows once more meanwhile, it is put there again. */
struct alqi_heap_large *
alqi_heap_large_overflow_take(struct alqi_heap *heap)
{
    struct alqi_heap_large *large;

    alqi_plat_lock(&heap->large.lock);
    large = heap->large.overflowed;
    if (large != NULL)
        heap->large.overflowed = large->overflow_next;
    alqi_plat_unlock(&heap->large.lock);
    ALQI_ASSERT(large == NULL || large->is_overflowed == 1); /* .inv.overflow */
    if (large != NULL) /* before its fields are read */
        __atomic_store_n(&large->is_overflowed, 0, __ATOMIC_SEQ_CST);
    return large;
}

/* ---- sweeping ----------------------------------------------------------- */

/* Gives a step of a dead block's memory back to the system; false: the rest is
 * so small, or the block, that free may do it.
 *
 * A free of many megabytes would be one long pause.  The first step finalises
 * the block and makes it one of bytes, so nobody reads it as values again.
 * is_overflowed, of no use to a dead block, has the bytes that are emptied. */
static bool
empty_some(struct alqi_heap_large *large)
{
    uintptr_t start = (uintptr_t)large->fields;
    uintptr_t end = (uintptr_t)large + bytes_of(large->header);
    uintptr_t from =
        (start + large->is_overflowed + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    if (end - start < EMPTY_BYTES_LEAST || from + EMPTY_STEP_BYTES > end)
        return false;
    if (large->is_overflowed == 0) { /* it ends now, and is bytes from now on */
        alqi_heap_finalise(alqi_heap_large_block(large), large->header);
        large->header = (large->header | 0xFF) - 0xFF + ALQ_TAG_ABSTRACT;
    }
    alqi_plat_space_empty((void *)from, EMPTY_STEP_BYTES);
    large->is_overflowed = from + EMPTY_STEP_BYTES - start;
    return true;
}

/* Takes a step of sweeping large blocks; returns the work in words, 0: none
 * left.  A live block counts as one word: its fields are not read. */
size_t
alqi_heap_large_sweep_one(struct alqi_domain *d)
{
    struct alqi_heap_large *large = d->large.unswept;

    if (large == NULL)
        return 0;
    ALQI_ASSERT(d->heap->cycle.phase == ALQI_HEAP_SWEEP); /* .inv.swept */
    ALQI_ASSERT((large->header & ALQI_HEAP_COLOUR_MASK) !=
                d->heap->cycle.colours.marked); /* .inv.colour */
    if (alqi_heap_colour(large->header) == d->heap->cycle.colours.garbage &&
        empty_some(large))
        return EMPTY_STEP_WORK;
    d->large.unswept = large->next;
    if (alqi_heap_colour(large->header) == d->heap->cycle.colours.garbage) {
        large_free(d, large);
        return 1; /* its fields are not read */
    }
    large->next = d->large.all;
    d->large.all = large;
    return 1;
}

/* Finalises and frees all blocks of a list.  Each leaves the list first: its
 * finaliser is the program's. */
static void
list_drop(struct alqi_domain *d, struct alqi_heap_large **list)
{
    while (*list != NULL) {
        struct alqi_heap_large *large = *list;

        *list = large->next;
        large_free(d, large);
    }
}

void
alqi_heap_large_drop(struct alqi_domain *d)
{
    list_drop(d, &d->large.all);
    list_drop(d, &d->large.unswept);
}
