/* visited.c -- blocks that were written, by address, with their numbers
 *
 *   few --ALQI_MARSHAL_FEW blocks--> pages, for good
 *
 * A look-up in pages goes by `recent`, a direct-mapped cache of pages, first.
 * Numbers count from 1, 0 means that the block was not met; more than 2^32 - 1
 * blocks are refused as if there were no memory. */
#include <stdlib.h>

#include "marshal/visited.h"

void
alqi_marshal_visited_open(struct alqi_marshal_visited *s)
{
    s->n = 0;
    s->few = s->many = (struct alqi_base_map){0};
    s->has_pages = false; /* until then `recent` is not read */
}

void
alqi_marshal_visited_close(struct alqi_marshal_visited *s)
{
    uint64_t key, page;
    size_t at = 0;

    while (alqi_base_map_next(&s->many, &at, &key, &page))
        free((struct alqi_marshal_page *)(uintptr_t)page);
    alqi_base_map_clear(&s->many);
    alqi_base_map_clear(&s->few);
}

/* ---- pages -------------------------------------------------------------- */

/* Returns the page of the number, made if it is new; NULL: no memory.  Out of
 * line: `recent` had no answer. */
static ALQI_NOINLINE struct alqi_marshal_page *
page_find(struct alqi_marshal_visited *s, uint64_t number)
{
    bool is_new;
    uint64_t *at = alqi_base_map_at(&s->many, number, &is_new);

    if (at == NULL)
        return NULL;
    if (*at == 0) /* new, or there was no memory last time */
        *at = (uintptr_t)calloc(1, sizeof(struct alqi_marshal_page));
    return (struct alqi_marshal_page *)(uintptr_t)*at;
}

/* Where the block's number stands; NULL: no memory. */
static inline uint32_t *
page_at(struct alqi_marshal_visited *s, uintptr_t block)
{
    uint64_t number = block >> ALQI_MARSHAL_PAGE_SHIFT;
    size_t i = number % ALQI_MARSHAL_RECENT;

    if (ALQI_UNLIKELY(s->recent[i].number != number ||
                      s->recent[i].page == NULL)) {
        s->recent[i].number = number;
        s->recent[i].page = page_find(s, number);
        if (s->recent[i].page == NULL)
            return NULL;
    }
    return &s->recent[i].page->numbers[block / 8 % ALQI_MARSHAL_PAGE_WORDS];
}

/* From few to many. */
static ALQI_NOINLINE bool
pages_begin(struct alqi_marshal_visited *s)
{
    uint64_t block, number;
    uint32_t *place;
    size_t at = 0, i;

    for (i = 0; i < ALQI_MARSHAL_RECENT; i++)
        s->recent[i].page = NULL;
    while (alqi_base_map_next(&s->few, &at, &block, &number)) {
        place = page_at(s, block);
        if (place == NULL)
            return false;
        *place = (uint32_t)number;
    }
    alqi_base_map_clear(&s->few);
    s->has_pages = true;
    return true;
}

/* ---- both --------------------------------------------------------------- */

/* alqi_marshal_visited_add while one hash table is enough. */
static enum alqi_marshal_visited_result
few_add(struct alqi_marshal_visited *s, uintptr_t block, uint64_t *back)
{
    bool is_new;
    uint64_t *at = alqi_base_map_at(&s->few, block, &is_new);

    if (at == NULL)
        return ALQI_MARSHAL_NO_MEMORY;
    if (!is_new) {
        *back = s->n + 1 - *at;
        return ALQI_MARSHAL_VISITED;
    }
    *at = ++s->n;
    return ALQI_MARSHAL_NEW;
}

enum alqi_marshal_visited_result
alqi_marshal_visited_add(struct alqi_marshal_visited *s, uintptr_t block,
                         uint64_t *back)
{
    uint32_t *at;

    if (!s->has_pages) {
        if (s->n < ALQI_MARSHAL_FEW)
            return few_add(s, block, back);
        if (!pages_begin(s))
            return ALQI_MARSHAL_NO_MEMORY;
    }
    at = page_at(s, block);
    if (at == NULL)
        return ALQI_MARSHAL_NO_MEMORY;
    if (*at != 0) {
        *back = s->n + 1 - *at;
        return ALQI_MARSHAL_VISITED;
    }
    if (s->n == UINT32_MAX)
        return ALQI_MARSHAL_NO_MEMORY;
    *at = (uint32_t)++s->n;
    return ALQI_MARSHAL_NEW;
}
