/* large.c -- blocks too large for a pool: malloc, index, sweeping
 *
 * A block is in one list of its domain, `all` or `unswept`; sweeping frees
 * it or moves it over.  The index finds the block around any word, for
 * ambiguous references.
 *
 * Keeps .inv.order: Of blocks of 2^k to 2^(k+1) bytes at most one begins in a
 *   piece of 2^k bytes, so (k, piece) is a key. At most three keys of an order
 *   can lead to the block around a word. */
#include <stdlib.h>

#include "heap/large.h"
#include "plat/space.h"

enum {
    PAGE = 4096,
    /* From here on malloc has a mapping for each; smaller ones it may keep. */
    EMPTY_BYTES_LEAST = ALQI_HEAP_IS_HARD ? 16 << 10 : 32 << 20,
    EMPTY_STEP_BYTES = ALQI_HEAP_IS_HARD ? PAGE : 4 << 20, /* some 100 us */
    EMPTY_STEP_WORK = 8192                                 /* as words swept */
};

static size_t
bytes_of(uintptr_t header)
{
    return offsetof(struct alqi_heap_large, fields) +
           (alqi_heap_words(header) - 1) * ALQ_WORD_BYTES;
}

/* ---- by address --------------------------------------------------------- */

/* .inv.order  Of blocks of 2^k to 2^(k+1) bytes at most one begins in a piece
 * of 2^k bytes: order and piece are a key, and who looks for the block around a
 * word finds it in the word's piece or one of the two before. */
static unsigned
order_of(uintptr_t header)
{
    uint64_t bytes = (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES;

    return 63 - (unsigned)__builtin_clzll(bytes);
}

static uint64_t
key(uintptr_t piece, unsigned order)
{
    return (uint64_t)piece << 6 | order;
}

static bool
index_put(struct alqi_heap *heap, uintptr_t start, uintptr_t header)
{
    struct alqi_heap_large_index *x = &heap->large.index;
    unsigned order = order_of(header);
    uintptr_t end = start + (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES;
    bool ok;

    alqi_plat_lock(&heap->large.lock);
    ok = alqi_base_map_put(&x->starts, key(start >> order, order), start);
    x->n[order] += ok;
    if (ok)
        x->orders |= (uint64_t)1 << order;
    if (start < x->least || x->most == 0)
        x->least = start;
    if (end > x->most)
        x->most = end;
    alqi_plat_unlock(&heap->large.lock);
    return ok;
}

static void
index_take(struct alqi_heap *heap, struct alqi_heap_large *large)
{
    struct alqi_heap_large_index *x = &heap->large.index;
    unsigned order = order_of(large->header);
    uint64_t unused;

    alqi_plat_lock(&heap->large.lock);
    alqi_base_map_take(&x->starts,
                       key((uintptr_t)large->fields >> order, order), &unused);
    if (--x->n[order] == 0)
        x->orders &= ~((uint64_t)1 << order);
    alqi_plat_unlock(&heap->large.lock);
}

static bool
is_around(alq_value block, uintptr_t word)
{
    return word - block <= alq_wosize(block) * ALQ_WORD_BYTES;
}

alq_value
alqi_heap_large_around(const struct alqi_heap *heap, uintptr_t word)
{
    const struct alqi_heap_large_index *x = &heap->large.index;
    uint64_t orders = x->orders, start;
    unsigned order, back;

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
    large->rescan = 0;
    large->header = header | d->alloc_colour;
    d->large.all = large;
    __atomic_add_fetch(&d->heap->large.bytes, bytes_of(header),
                       __ATOMIC_SEQ_CST); /* limit_heap.h */
    __atomic_add_fetch(&d->heap->large.n, 1, __ATOMIC_RELAXED);
    return alqi_heap_large_block(large);
}

static void
large_give_back(struct alqi_domain *d, struct alqi_heap_large *large)
{
    index_take(d->heap, large);
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

void
alqi_heap_large_undo(struct alqi_domain *d)
{
    struct alqi_heap_large *large = d->large.all;

    d->large.all = large->next;
    large_give_back(d, large);
}

/* ---- to be read again --------------------------------------------------- */

void
alqi_heap_large_overflow_add(struct alqi_heap *heap,
                             struct alqi_heap_large *large)
{
    if (__atomic_exchange_n(&large->rescan, 1, __ATOMIC_SEQ_CST) != 0)
        return;
    alqi_plat_lock(&heap->large.lock);
    large->overflow_next = heap->large.overflowed;
    heap->large.overflowed = large;
    alqi_plat_unlock(&heap->large.lock);
}

struct alqi_heap_large *
alqi_heap_large_overflow_take(struct alqi_heap *heap)
{
    struct alqi_heap_large *large;

    alqi_plat_lock(&heap->large.lock);
    large = heap->large.overflowed;
    if (large != NULL)
        heap->large.overflowed = large->overflow_next;
    alqi_plat_unlock(&heap->large.lock);
    if (large != NULL) /* before its fields are read */
        __atomic_store_n(&large->rescan, 0, __ATOMIC_SEQ_CST);
    return large;
}

/* ---- sweeping ----------------------------------------------------------- */

/* A dead block that the system will get back is emptied before it is freed, a
 * step at a time; false when there is no more.  `rescan` says how far. */
static bool
empty_some(struct alqi_heap_large *large)
{
    uintptr_t start = (uintptr_t)large->fields;
    uintptr_t end = (uintptr_t)large + bytes_of(large->header);
    uintptr_t from =
        (start + large->rescan + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

    if (end - start < EMPTY_BYTES_LEAST || from + EMPTY_STEP_BYTES > end)
        return false;
    if (large->rescan == 0) { /* it ends now, and is bytes from now on */
        alqi_heap_finalise(alqi_heap_large_block(large), large->header);
        large->header = (large->header | 0xFF) - 0xFF + ALQ_TAG_ABSTRACT;
    }
    alqi_plat_space_empty((void *)from, EMPTY_STEP_BYTES);
    large->rescan = from + EMPTY_STEP_BYTES - start;
    return true;
}

size_t
alqi_heap_large_sweep_one(struct alqi_domain *d)
{
    struct alqi_heap_large *large = d->large.unswept;

    if (large == NULL)
        return 0;
    if ((large->header & ALQI_HEAP_COLOUR_MASK) == d->heap->cycle.garbage &&
        empty_some(large))
        return EMPTY_STEP_WORK;
    d->large.unswept = large->next;
    if ((large->header & ALQI_HEAP_COLOUR_MASK) == d->heap->cycle.garbage) {
        large_free(d, large);
        return 1; /* its fields are not read */
    }
    large->next = d->large.all;
    d->large.all = large;
    return 1;
}

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
