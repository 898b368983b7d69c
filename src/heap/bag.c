#include <string.h>

#include "base/base.h"
#include "heap/bag.h"

static void
n_set(struct alqi_heap_bag *bag, size_t n)
{
    atomic_store_explicit(&bag->n, n, memory_order_relaxed);
}

bool
alqi_heap_bag_ready(struct alqi_heap_bag *bag, size_t size)
{
    struct alqi_heap_span *spans;

    ALQI_ASSERT(alqi_heap_bag_n(bag) == 0);
    if (size <= bag->size)
        return true;
    spans = alqi_plat_pages_map(size * sizeof *spans);
    if (spans == NULL)
        return false;
    alqi_heap_bag_close(bag);
    bag->spans = spans;
    bag->size = size;
    return true;
}

void
alqi_heap_bag_close(struct alqi_heap_bag *bag)
{
    if (bag->spans != NULL)
        alqi_plat_pages_unmap(bag->spans, bag->size * sizeof *bag->spans);
    bag->spans = NULL;
    bag->size = 0;
    n_set(bag, 0);
}

size_t
alqi_heap_bag_put(struct alqi_heap_bag *bag, const struct alqi_heap_span *spans,
                  size_t n)
{
    size_t there;

    alqi_plat_lock(&bag->lock);
    there = alqi_heap_bag_n(bag);
    if (n > bag->size - there)
        n = bag->size - there;
    if (n > 0)
        memcpy(bag->spans + there, spans, n * sizeof *spans);
    n_set(bag, there + n);
    alqi_plat_unlock(&bag->lock);
    return n;
}

size_t
alqi_heap_bag_take_locked(struct alqi_heap_bag *bag, struct alqi_heap_span *out,
                          size_t n_max)
{
    size_t there = alqi_heap_bag_n(bag);
    size_t n = there - there / 2;

    if (n > n_max)
        n = n_max;
    if (n > 0)
        memcpy(out, bag->spans + (there - n), n * sizeof *out);
    n_set(bag, there - n);
    return n;
}

size_t
alqi_heap_bag_take(struct alqi_heap_bag *bag, struct alqi_heap_span *out,
                   size_t n_max)
{
    size_t n;

    if (alqi_heap_bag_n(bag) == 0)
        return 0;
    alqi_plat_lock(&bag->lock);
    n = alqi_heap_bag_take_locked(bag, out, n_max);
    alqi_plat_unlock(&bag->lock);
    return n;
}
