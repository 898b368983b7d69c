/* visited.h -- blocks that were written, by address, with their numbers
 *
 * Few blocks: a hash table.  Many: an array of numbers for each page of memory
 * that has some, for blocks that lead to each other mostly lie together, and a
 * table of pages is small enough for the cache. */
#ifndef ALQI_MARSHAL_VISITED_H
#define ALQI_MARSHAL_VISITED_H

#include "base/map.h"

enum {
    ALQI_MARSHAL_PAGE_SHIFT = 12,
    ALQI_MARSHAL_PAGE_WORDS = (1 << ALQI_MARSHAL_PAGE_SHIFT) / 8,
    ALQI_MARSHAL_RECENT = 256,
    ALQI_MARSHAL_FEW = 1024 /* blocks */
};

/* A number is at least 1; 0: no block there was met. */
struct alqi_marshal_page {
    uint32_t numbers[ALQI_MARSHAL_PAGE_WORDS];
};

struct alqi_marshal_visited {
    uint64_t n;                /* blocks */
    struct alqi_base_map few;  /* address: number                */
    struct alqi_base_map many; /* page of the address: its array */
    bool has_pages;
    struct { /* pages, by the low bits of their number */
        uint64_t number;
        struct alqi_marshal_page *page;
    } recent[ALQI_MARSHAL_RECENT];
};

void alqi_marshal_visited_open(struct alqi_marshal_visited *s);
void alqi_marshal_visited_close(struct alqi_marshal_visited *s);

enum alqi_marshal_visited_result {
    ALQI_MARSHAL_NEW,
    ALQI_MARSHAL_VISITED,  /* *back: so many blocks ago, 1: it was the last */
    ALQI_MARSHAL_NO_MEMORY /* or more blocks than numbers                   */
};

/* Notes the block unless it was met before. */
enum alqi_marshal_visited_result
alqi_marshal_visited_add(struct alqi_marshal_visited *s, uintptr_t block,
                         uint64_t *back);

#endif
