#include <stdlib.h>

#include "heap/area.h"
#include "heap/barrier.h"
#include "heap/class.h"
#include "heap/domain.h"
#include "heap/large.h"
#include "heap/mark.h"
#include "heap/minor.h"
#include "heap/remember.h"
#include "heap/root.h"
#include "heap/sweep.h"

enum {
    MINOR_WORDS = 262144,
    SPACE_OVERHEAD = 120,
    RESERVE_BYTES = 1 << 20,
    HARD_CHUNKS = 64 /* so many collections an old place stays forbidden */
};

static struct alqi_heap *
heap_new(const struct alq_domain_config *c)
{
    struct alqi_heap *heap = calloc(1, sizeof *heap);

    if (heap == NULL)
        return NULL;
    if (!alqi_heap_area_open(&heap->area)) {
        free(heap);
        return NULL;
    }
    alqi_heap_class_start();
    heap->marked = 0;
    heap->unmarked = (uintptr_t)1 << ALQ_COLOUR_SHIFT;
    heap->garbage = (uintptr_t)2 << ALQ_COLOUR_SHIFT;
    heap->phase = ALQI_HEAP_SWEPT; /* there is nothing */
    heap->space_overhead =
        c->space_overhead == 0 ? SPACE_OVERHEAD : c->space_overhead;
    heap->limit_bytes = c->limit_bytes == 0 ? SIZE_MAX : c->limit_bytes;
    heap->reserve_bytes =
        c->reserve_bytes == 0 ? RESERVE_BYTES : c->reserve_bytes;
    return heap;
}

static void
heap_drop(struct alqi_heap *heap)
{
    alqi_heap_bag_close(&heap->crew.bag);
    alqi_heap_area_close(&heap->area);
    alqi_base_map_clear(&heap->large_set);
    free(heap);
}

/* Whole chunks; in hard builds enough of them to go round. */
static uintptr_t
minor_bytes(const struct alq_domain_config *c)
{
    uintptr_t words = c->minor_words == 0 ? MINOR_WORDS : c->minor_words;
    uintptr_t bytes = (words * ALQ_WORD_BYTES + ALQI_HEAP_CHUNK_BYTES - 1) &
                      ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);

    if (ALQI_HEAP_IS_HARD && bytes < HARD_CHUNKS * ALQI_HEAP_CHUNK_BYTES)
        bytes = HARD_CHUNKS * ALQI_HEAP_CHUNK_BYTES;
    return bytes;
}

static bool
domain_open(struct alqi_domain *d, const struct alq_domain_config *c)
{
    d->slice = d->heap->area.young_base;
    d->pub.young_base = d->heap->area.young_base;
    d->pub.young_bytes = d->heap->area.young_bytes;
    d->minor_bytes = minor_bytes(c);
    d->alloc_colour = d->heap->unmarked;
    alqi_heap_store_max_set(d);
    if (!alqi_heap_minor_open(d))
        return false;
    if (alqi_heap_area_ready(&d->heap->area,
                             alqi_heap_minor_need(d->minor_bytes, 1))) {
        alqi_heap_minor_begin(d, d->minor_bytes);
        return true;
    }
    alqi_heap_minor_drop(d);
    return false;
}

struct alqi_domain *
alqi_heap_domain_new(const struct alq_domain_config *c)
{
    struct alqi_domain *d = calloc(1, sizeof *d);

    if (d == NULL)
        return NULL;
    d->heap = heap_new(c);
    if (d->heap == NULL)
        goto fail_heap;
    if (!domain_open(d, c))
        goto fail_open;
    return d;

fail_open:
    heap_drop(d->heap);
fail_heap:
    free(d);
    return NULL;
}

static void
finalise_block(struct alqi_domain *d, alq_value block, uintptr_t header)
{
    (void)d;
    alqi_heap_finalise(block, header);
}

static void
finalise_all(struct alqi_domain *d)
{
    size_t i;

    for (i = 0; i < d->n_customs; i++)
        alqi_heap_finalise(d->customs[i], alqi_heap_header(d->customs[i]));
    d->n_customs = 0;
    alqi_heap_large_drop(d); /* they finalise themselves */
    alqi_heap_sweep_blocks(d, finalise_block);
}

void
alqi_heap_domain_drop(struct alqi_domain *d)
{
    finalise_all(d);
    alqi_heap_roots_drop(d);
    alqi_heap_remember_drop(d);
    alqi_heap_mark_drop(d);
    alqi_heap_minor_drop(d);
    heap_drop(d->heap);
    free(d);
}
