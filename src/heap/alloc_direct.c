/* alloc_direct.c -- blocks that are born in the major heap
 *
 * A small block takes the next slot of the domain's local allocation buffer of
 * its class, whose scan pointer moves along, so the block is not grey.  A large
 * one comes from malloc.  Nothing here collects: alloc.c does, and tries again.
 *
 * Keeps .inv.room: Pools for promotion and the reserve stay.
 * Keeps .inv.bound: A large block beyond the limit is undone.
 * Keeps .inv.snapshot: The block gets the colour of new blocks, so marking does
 *   not lose it. */
#include "heap/pool_area.h"
#include "heap/hosted.h"
#include "heap/limit_heap.h"
#include "heap/pool_class.h"
#include "heap/alloc_direct.h"
#include "heap/large.h"
#include "heap/major_pace.h"
#include "heap/stat.h"
#include "heap/stop.h"
#include "heap/major_sweep.h"

/* A large block within the limit; ALQ_NULL: none.  A block that is larger than
 * the whole reservation is refused before any sum of sizes could wrap. */
static alq_value
large_try(struct alqi_domain *d, uintptr_t header)
{
    alq_value block;

    if (alqi_heap_words(header) > d->heap->area.major_bytes / ALQ_WORD_BYTES ||
        !alqi_heap_is_within(d, alqi_heap_words(header) * ALQ_WORD_BYTES))
        return ALQ_NULL;
    block = alqi_heap_large_new(d, header);
    if (block == ALQ_NULL || alqi_heap_is_within(d, 0))
        return block;
    alqi_heap_large_undo(d); /* another domain has reached the limit */
    return ALQ_NULL;
}

/* Sets the header of a slot, behind fields that are values.
 *
 * While others mark, overflow recovery may read the pool at any time, and takes
 * each slot with a header for a block.  So the fields hold ALQ_UNIT before the
 * release store of the header (.pair.header).  At other times nobody reads the
 * pool, and the program sets the fields. */
static void
header_set(struct alqi_domain *d, alqi_heap_word *slot, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    ALQI_DEBUG(*slot == 0); /* .inv.free */
    ALQI_DEBUG(d->alloc_colour ==
               (d->heap->cycle.phase == ALQI_HEAP_MARK
                    ? d->heap->cycle.colours.marked
                    : d->heap->cycle.colours.unmarked)); /* .inv.colour */
    if (d->heap->cycle.phase == ALQI_HEAP_MARK &&
        alqi_heap_is_scannable(header))
        for (i = 1; i <= n; i++)
            __atomic_store_n(&slot[i], ALQ_UNIT, __ATOMIC_RELAXED);
    alqi_heap_raw_begin(slot + 1, header);
    __atomic_store_n(slot, header | d->alloc_colour, __ATOMIC_RELEASE);
}

/* Whether a pool may be taken: enough others are left for what is promised to
 * minor heaps and for the reserve, even if each domain has just asked this and
 * takes one.  A domain with a status may use the reserve. */
static bool
has_pool(struct alqi_domain *d)
{
    size_t others = __atomic_load_n(&d->heap->n_slots, __ATOMIC_RELAXED);
    size_t n = __atomic_load_n(&d->heap->area.n_promised, __ATOMIC_RELAXED);

    if (d->pub.status == ALQ_OK)
        n += d->heap->bound.reserve_bytes / ALQI_HEAP_POOL_BYTES;
    return alqi_heap_is_within(d, others * ALQI_HEAP_POOL_BYTES) &&
           alqi_heap_area_ready(&d->heap->area, n + others);
}

/* A slot of the local allocation buffer; a full buffer is replaced first.
 * Pools with free slots that the domain already has are used without has_pool:
 * they count as used memory. */
static alq_value
small_try(struct alqi_domain *d, uintptr_t header)
{
    bool no_scan = !alqi_heap_is_scannable(header);
    unsigned c = alqi_heap_class_of(alqi_heap_words(header));
    struct alqi_heap_lab *lab = &d->copy.labs[no_scan][c];
    alqi_heap_word *slot;

    if (lab->next == lab->end) {
        if (d->sweep.lists[no_scan][c].avail == NULL && !has_pool(d))
            return ALQ_NULL;
        if (!alqi_heap_sweep_refill(d, c, no_scan))
            return ALQ_NULL;
    }
    ALQI_DEBUG(lab->next < lab->end && lab->scan == lab->next); /* .inv.lab */
    slot = (alqi_heap_word *)lab->next;
    lab->next += (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
    lab->scan = lab->counted = lab->next; /* neither grey nor promoted */
    header_set(d, slot, header);
    return (alq_value)(slot + 1);
}

/* Makes the block, and counts its words at once: for the program's counters,
 * for the pace, and for the largest size of the heap. */
alq_value
alqi_heap_direct_try_nogc(struct alqi_domain *d, uintptr_t header)
{
    bool is_inner = alqi_heap_nogc_begin();
    size_t words = alqi_heap_words(header);
    alq_value block = words > ALQI_HEAP_CLASS_WORDS_MAX ? large_try(d, header)
                                                        : small_try(d, header);

    if (block != ALQ_NULL) {
        d->sums.counts.direct_words += words;
        alqi_heap_pace_direct(d, words);
        alqi_heap_stat_words(d->heap);
    }
    alqi_heap_nogc_end(is_inner);
    return block;
}
