/* weak_ephe_wait.c -- the table of which ephemeron waits for which block
 *
 * Open addressing; nothing is removed, a place stays its block's.  The table is
 * open during a pass that takes notes.  It may be short of memory, or miss a
 * waiter: the next pass finds that one, so time alone depends on it.
 *
 * Keeps .inv.table: `room` goes down with each place that is taken. */
#include <stdlib.h>

#include "heap/weak_ephe_wait.h"
#include "plat/space.h"

enum {
    SIZE_LEAST = 64,
    LINKS_FIRST = 64,
    DATA_FIRST = 64,
    PAGE = 4096,
    EMPTY_PLACES = ALQI_HEAP_IS_HARD ? 256 : 1 << 18 /* 4 MiB: some 100 us */
};

/* Makes a table for n waiters, at most half full; false: no memory, and the
 * table is closed. calloc gives fresh pages for large tables, so the places
 * need no clearing. */
bool
alqi_heap_ephe_wait_open(struct alqi_heap_ephe_waits *w, size_t n)
{
    size_t size = SIZE_LEAST;

    alqi_heap_ephe_wait_close(w);
    while (size / 2 < n)
        size *= 2;
    w->places = calloc(size, sizeof *w->places);
    if (w->places == NULL)
        return false;
    w->size = size;
    w->room = size / 4 * 3;
    ALQI_ASSERT(w->room >= n); /* .inv.table: each waiter has a place */
    return true;
}

void
alqi_heap_ephe_wait_close(struct alqi_heap_ephe_waits *w)
{
    free(w->places);
    free(w->links);
    free(w->data);
    *w = (struct alqi_heap_ephe_waits){0};
}

/* Empties a part of a large table that is about to be closed; false: the rest
 * is small enough.
 *
 * Freeing a large table at once would take long, since the system takes back
 * each page that was touched.  The size is no power of two afterwards, so
 * nothing may be looked up any more; room = 0 keeps new entries out. */
bool
alqi_heap_ephe_wait_shrink(struct alqi_heap_ephe_waits *w)
{
    const size_t bytes = EMPTY_PLACES * sizeof *w->places;
    uintptr_t from;

    w->room = 0; /* it notes nothing any more */
    if (w->size < 2 * EMPTY_PLACES)
        return false;
    w->size -= EMPTY_PLACES;
    from =
        ((uintptr_t)(w->places + w->size) + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    alqi_plat_space_empty((void *)from, bytes - PAGE);
    return true;
}

/* The place of the block, or the free one where it would stand.  There is a
 * free place: room is less than the size. */
static inline struct alqi_heap_ephe_place *
find(const struct alqi_heap_ephe_waits *w, alq_value block)
{
    size_t i = alqi_heap_ephe_wait_home(w, block);

    ALQI_DEBUG((w->size & (w->size - 1)) == 0); /* .inv.table */
    while (w->places[i].block != block && w->places[i].block != ALQ_NULL)
        i = (i + 1) & (w->size - 1);
    return &w->places[i];
}

/* Adds a link in front of the waiters of a block; false: no memory.
 *
 * A single waiter is in its block's place.  From the second one on the place
 * has the index of the newest link, as an integer, which no ephemeron is; the
 * last `next` is the first waiter. */
static bool
link_add(struct alqi_heap_ephe_waits *w, alq_value ephe, alq_value next)
{
    size_t size = w->links_size == 0 ? LINKS_FIRST : w->links_size * 2;
    struct alqi_heap_ephe_link *links;

    if (w->n_links == w->links_size) {
        links = realloc(w->links, size * sizeof *links);
        if (links == NULL)
            return false;
        w->links = links;
        w->links_size = size;
    }
    w->links[w->n_links++] = (struct alqi_heap_ephe_link){ephe, next};
    return true;
}

/* Notes that the ephemeron waits for the block, unless the table is full or
 * closed, or there is no memory for a link. */
void
alqi_heap_ephe_wait(struct alqi_heap_ephe_waits *w, alq_value ephe,
                    alq_value block)
{
    struct alqi_heap_ephe_place *p;

    if (w->room == 0)
        return;
    p = find(w, block);
    if (p->block == ALQ_NULL) {
        p->block = block;
        w->room--;
    }
    if (p->waiter == ALQ_NULL)
        p->waiter = ephe;
    else if (link_add(w, ephe, p->waiter))
        p->waiter = alq_from_int((intptr_t)w->n_links - 1);
}

/* Takes one of the block's waiters; ALQ_NULL: none is left.  The place stays
 * the block's, so that others behind it in the table are still found. */
alq_value
alqi_heap_ephe_wait_take(struct alqi_heap_ephe_waits *w, alq_value block)
{
    const struct alqi_heap_ephe_link *link;
    struct alqi_heap_ephe_place *p;
    alq_value ephe;

    if (w->size == 0)
        return ALQ_NULL;
    p = find(w, block);
    ephe = p->waiter;
    p->waiter = ALQ_NULL;
    if (!alq_is_int(ephe))
        return ephe;
    link = &w->links[alq_to_int(ephe)];
    p->waiter = link->next;
    return link->ephe;
}

/* Notes data that were marked, whose waiters are to be looked at.  Without
 * memory they are left out. */
void
alqi_heap_ephe_wait_push(struct alqi_heap_ephe_waits *w, alq_value data)
{
    size_t size = w->data_size == 0 ? DATA_FIRST : w->data_size * 2;
    alq_value *grown;

    if (w->n_data == w->data_size) {
        grown = realloc(w->data, size * sizeof *grown);
        if (grown == NULL)
            return;
        w->data = grown;
        w->data_size = size;
    }
    alqi_heap_ephe_wait_fetch(w, data);
    w->data[w->n_data++] = data;
}

alq_value
alqi_heap_ephe_wait_pop(struct alqi_heap_ephe_waits *w)
{
    return w->n_data == 0 ? ALQ_NULL : w->data[--w->n_data];
}
