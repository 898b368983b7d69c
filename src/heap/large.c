#include <stdlib.h>

#include "heap/large.h"

static size_t
bytes_of(uintptr_t header)
{
    return offsetof(struct alqi_heap_large, fields) +
           (alqi_heap_words(header) - 1) * ALQ_WORD_BYTES;
}

alq_value
alqi_heap_large_new(struct alqi_domain *d, uintptr_t header)
{
    struct alqi_heap_large *large = malloc(bytes_of(header));

    if (large == NULL)
        return ALQ_NULL;
    if (!alqi_base_map_put(&d->heap->large_set, (uintptr_t)large->fields, 0)) {
        free(large);
        return ALQ_NULL;
    }
    large->next = d->large;
    large->rescan = 0;
    large->header = header | d->alloc_colour;
    d->large = large;
    d->heap->large_bytes += bytes_of(header);
    return alqi_heap_large_block(large);
}

static void
large_free(struct alqi_domain *d, struct alqi_heap_large *large)
{
    uint64_t unused;

    alqi_heap_finalise(alqi_heap_large_block(large), large->header);
    alqi_base_map_take(&d->heap->large_set, (uintptr_t)large->fields, &unused);
    d->heap->large_bytes -= bytes_of(large->header);
    free(large);
}

size_t
alqi_heap_large_sweep_one(struct alqi_domain *d)
{
    struct alqi_heap_large *large = d->large_unswept;

    if (large == NULL)
        return 0;
    d->large_unswept = large->next;
    if ((large->header & ALQI_HEAP_COLOUR_MASK) == d->heap->garbage) {
        large_free(d, large);
        return 1; /* its fields are not read */
    }
    large->next = d->large;
    d->large = large;
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
    list_drop(d, &d->large);
    list_drop(d, &d->large_unswept);
}
