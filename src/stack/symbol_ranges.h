/* symbol_ranges.h -- many overlapping address ranges to one sorted map
 *
 * Symbols, units and inlined calls all ask "which range of the highest rank
 * holds this address?".  Overlaps are settled once, when the map is made, so
 * that a look-up is one binary search whatever the ranges look like. */
#ifndef ALQI_STACK_SYMBOL_RANGES_H
#define ALQI_STACK_SYMBOL_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALQI_SYMBOL_NO_ID UINT32_MAX

struct alqi_symbol_range {
    uint64_t lo, hi; /* [lo, hi)                                   */
    uint64_t rank;   /* among those that hold an address, the highest wins;
                        then the one that starts last              */
    uint32_t id;
};

/* A growing list; `limit` keeps hostile input from growing it for ever. */
struct alqi_symbol_ranges {
    struct alqi_symbol_range *at;
    size_t count, capacity, limit;
};

struct alqi_symbol_map {
    uint64_t *start; /* ascending; piece i is [start[i], start[i + 1]) */
    uint32_t *id;    /* ALQI_SYMBOL_NO_ID: nothing there               */
    size_t count;
};

/* False when the list is at its limit or memory is out; an empty range is
 * taken as done. */
bool alqi_symbol_ranges_add(struct alqi_symbol_ranges *ranges,
                            const struct alqi_symbol_range *range);
void alqi_symbol_ranges_drop(struct alqi_symbol_ranges *ranges);

/* Sorts `ranges`; false, with an empty map, when memory is out. */
bool alqi_symbol_map_make(struct alqi_symbol_map *map,
                          struct alqi_symbol_ranges *ranges);
uint32_t alqi_symbol_map_find(const struct alqi_symbol_map *map,
                              uint64_t address);
void alqi_symbol_map_drop(struct alqi_symbol_map *map);

#endif
