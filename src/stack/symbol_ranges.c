/* symbol_ranges.c -- many overlapping address ranges to one sorted map
 *
 * A sweep from low to high addresses keeps the open ranges in a heap ordered
 * by rank.  Ranges that have ended are taken out only when they reach the top;
 * each step opens one range or ends one, so n ranges give at most 2n pieces in
 * O(n log n), nested, crossing or hostile alike (.def.map).
 *
 * .inv.pieces  start[] ascends strictly; neighbours differ in id. */
#include "stack/symbol_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stack/symbol_array.h"

bool
alqi_symbol_ranges_add(struct alqi_symbol_ranges *ranges,
                       const struct alqi_symbol_range *range)
{
    if (range->lo >= range->hi)
        return true;
    if (!ALQI_SYMBOL_ARRAY_FIT(ranges->at, ranges->count, ranges->capacity,
                               ranges->limit))
        return false;
    ranges->at[ranges->count++] = *range;
    return true;
}

void
alqi_symbol_ranges_drop(struct alqi_symbol_ranges *ranges)
{
    free(ranges->at);
    ranges->at = NULL;
    ranges->count = ranges->capacity = 0;
}

static int
range_compare(const void *a, const void *b)
{
    const struct alqi_symbol_range *x = a, *y = b;

    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The heap holds indexes into the sorted ranges; at[0] is the winner. */
struct open_heap {
    const struct alqi_symbol_range *ranges;
    uint32_t *at;
    size_t count;
};

/* Whether range a is before range b: higher rank, then later start. */
static bool
wins(const struct open_heap *h, uint32_t a, uint32_t b)
{
    const struct alqi_symbol_range *x = &h->ranges[a], *y = &h->ranges[b];

    return x->rank != y->rank ? x->rank > y->rank : a > b;
}

/* Adds an open range. */
static void
open_push(struct open_heap *h, uint32_t item)
{
    size_t i = h->count++;

    for (; i > 0 && wins(h, item, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = item;
}

/* Takes the winner out. */
static void
open_pop(struct open_heap *h)
{
    uint32_t item = h->at[--h->count];
    size_t i = 0, k;

    for (;; i = k) {
        k = 2 * i + 1;
        if (k >= h->count)
            break;
        if (k + 1 < h->count && wins(h, h->at[k + 1], h->at[k]))
            k++;
        if (!wins(h, h->at[k], item))
            break;
        h->at[i] = h->at[k];
    }
    h->at[i] = item;
}

/* Adds a piece, unless the last one has the same id (.inv.pieces). */
static void
piece_add(struct alqi_symbol_map *map, uint64_t start, uint32_t id)
{
    if (map->count > 0 && map->id[map->count - 1] == id)
        return;
    ALQI_ASSERT(map->count == 0 || map->start[map->count - 1] < start);
    map->start[map->count] = start;
    map->id[map->count++] = id;
}

/* Goes from start to end of ranges, in order, and adds a piece where the
 * winner changes. */
static void
sweep(struct alqi_symbol_map *map, struct open_heap *h, size_t count)
{
    const struct alqi_symbol_range *ranges = h->ranges;
    uint64_t at = 0;
    size_t i = 0;

    while (i < count || h->count > 0) {
        if (h->count == 0)
            at = ranges[i].lo;
        for (; i < count && ranges[i].lo <= at; i++)
            open_push(h, (uint32_t)i);
        while (h->count > 0 && ranges[h->at[0]].hi <= at)
            open_pop(h);
        if (h->count == 0) {
            piece_add(map, at, ALQI_SYMBOL_NO_ID);
            continue;
        }
        piece_add(map, at, ranges[h->at[0]].id);
        at = ranges[h->at[0]].hi;
        if (i < count && ranges[i].lo < at)
            at = ranges[i].lo;
    }
}

bool
alqi_symbol_map_make(struct alqi_symbol_map *map,
                     struct alqi_symbol_ranges *ranges)
{
    struct open_heap heap = {ranges->at, NULL, 0};
    size_t count = ranges->count;
    void *fit;

    memset(map, 0, sizeof *map);
    if (count == 0)
        return true;
    if (count > UINT32_MAX / 2)
        return false;
    qsort(ranges->at, count, sizeof *ranges->at, range_compare);
    /* Each range adds at most two pieces, plus the empty one at the end. */
    map->start = malloc((2 * count + 1) * sizeof *map->start);
    map->id = malloc((2 * count + 1) * sizeof *map->id);
    heap.at = malloc(count * sizeof *heap.at);
    if (map->start == NULL || map->id == NULL || heap.at == NULL) {
        free(heap.at);
        alqi_symbol_map_drop(map);
        return false;
    }
    sweep(map, &heap, count);
    free(heap.at);
    fit = realloc(map->start, map->count * sizeof *map->start);
    map->start = fit != NULL ? fit : map->start;
    fit = realloc(map->id, map->count * sizeof *map->id);
    map->id = fit != NULL ? fit : map->id;
    return true;
}

uint32_t
alqi_symbol_map_find(const struct alqi_symbol_map *map, uint64_t address)
{
    size_t lo = 0, hi = map->count, mid;

    while (lo < hi) {
        mid = lo + (hi - lo) / 2;
        if (map->start[mid] <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo == 0 ? ALQI_SYMBOL_NO_ID : map->id[lo - 1];
}

void
alqi_symbol_map_drop(struct alqi_symbol_map *map)
{
    free(map->start);
    free(map->id);
    memset(map, 0, sizeof *map);
}
