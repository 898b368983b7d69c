/* weak_ephe_wait.c -- the table of which ephemeron waits for which block
 *
 * Open addressing; nothing is removed, a place stays its block's.  The table is
 * open during a pass that takes notes, until it shrinks or is closed.  If it is
 * short of memory it misses waiters: then another pass finds these.
 *
 * Keeps .inv.table: `room` goes down with each place that is taken. */
#include <stdlib.h>

#include "heap/weak_ephe_wait.h"
#include "plat/space.h"

enum {
    PAGE = 4096,
    SIZE_LEAST = PAGE / sizeof(struct alqi_heap_ephe_place),
    LINKS_FIRST = 64,
    DATA_FIRST = 64,
    HUGE_BYTES = 2 << 20,
    EMPTY_PLACES = ALQI_HEAP_IS_HARD ? 256 : 1 << 18 /* 4 MiB: some 100 us */
};

/* Memory for the places, all of them free; false: there is none. */
static bool
places_make(struct alqi_heap_ephe_waits *w, size_t size)
{
    size_t bytes = size * sizeof *w->places;
    void *start =
        alqi_plat_space_reserve(bytes, bytes < HUGE_BYTES ? PAGE : HUGE_BYTES);

    if (start == NULL)
        return false;
    if (!alqi_plat_space_commit(start, bytes)) {
        alqi_plat_space_release(start, bytes);
        return false;
    }
    if (bytes >= HUGE_BYTES)
        alqi_plat_space_huge(start, bytes); /* without them it is slower */
    w->places = start;
    w->places_bytes = bytes;
    w->size = size;
    return true;
}

/* Makes a table for n waiters, at most half full; false: no memory, and the
 * table is closed. */
bool
alqi_heap_ephe_wait_open(struct alqi_heap_ephe_waits *w, size_t n)
{
    size_t size = SIZE_LEAST;

    alqi_heap_ephe_wait_close(w);
    while (size / 2 < n)
        size *= 2;
    if (!places_make(w, size))
        return false;
    w->room = size / 4 * 3;
    w->is_open = true;
    ALQI_ASSERT(w->room >= n); /* .inv.table: each waiter has a place */
    return true;
}

void
alqi_heap_ephe_wait_close(struct alqi_heap_ephe_waits *w)
{
    if (w->places != NULL)
        alqi_plat_space_release(w->places, w->places_bytes);
    free(w->links);
    free(w->data);
    *w = (struct alqi_heap_ephe_waits){0};
}

/* Empties a part of a large table that is about to be closed; false: the rest
 * is small enough.
 *
 * Freeing a large table at once would take long, since the system takes back
 * each page that was touched.  From now on nothing may be asked. */
bool
alqi_heap_ephe_wait_shrink(struct alqi_heap_ephe_waits *w)
{
    const size_t bytes = EMPTY_PLACES * sizeof *w->places;

    w->is_open = false;
    if (w->size < 2 * EMPTY_PLACES)
        return false;
    w->size -= EMPTY_PLACES;
    alqi_plat_space_empty(w->places + w->size, bytes);
    return true;
}

/* Adds a link in front of the waiters of a block; false: no memory.
 *
 * A single waiter is in its block's place.  From the second one on the place
 * has the index of the newest link, as an integer, which no ephemeron is; the
 * last `next` is the first waiter. */
static bool
link_add(struct alqi_heap_ephe_waits *w, alq_value waiter, alq_value next)
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
    w->links[w->n_links++] = (struct alqi_heap_ephe_link){waiter, next};
    return true;
}

/* Notes that the waiter waits for the block, unless the table is full, or there
 * is no memory for a link. */
void
alqi_heap_ephe_wait(struct alqi_heap_ephe_waits *w, alq_value waiter,
                    alq_value block)
{
    struct alqi_heap_ephe_place *p;

    ALQI_ASSERT(w->is_open); /* .inv.table */
    if (w->room == 0) {
        w->is_short = true;
        return;
    }
    p = alqi_heap_ephe_wait_find(w, block);
    if (p->block == ALQ_NULL) {
        p->block = block;
        w->room--;
    }
    if (p->waiter == ALQ_NULL)
        p->waiter = waiter;
    else if (link_add(w, waiter, p->waiter))
        p->waiter = alq_from_int((intptr_t)w->n_links - 1);
    else
        w->is_short = true;
}

/* Takes one of the block's waiters; ALQ_NULL: none is left.  The place stays
 * the block's, so that others behind it in the table are still found. */
alq_value
alqi_heap_ephe_wait_take(struct alqi_heap_ephe_waits *w, alq_value block)
{
    const struct alqi_heap_ephe_link *link;
    struct alqi_heap_ephe_place *p;
    alq_value waiter;

    ALQI_ASSERT(w->is_open); /* .inv.table */
    p = alqi_heap_ephe_wait_find(w, block);
    waiter = p->waiter;
    p->waiter = ALQ_NULL;
    if (!alq_is_int(waiter))
        return waiter;
    link = &w->links[alq_to_int(waiter)];
    p->waiter = link->next;
    return link->waiter;
}

/* Notes a block that was marked, whose waiters are to be looked at.  Without
 * memory it is left out. */
void
alqi_heap_ephe_wait_push(struct alqi_heap_ephe_waits *w, alq_value data)
{
    size_t size = w->data_size == 0 ? DATA_FIRST : w->data_size * 2;
    alq_value *grown;

    if (w->n_data == w->data_size) {
        grown = realloc(w->data, size * sizeof *grown);
        if (grown == NULL) {
            w->is_short = true;
            return;
        }
        w->data = grown;
        w->data_size = size;
    }
    w->data[w->n_data++] = data;
}

alq_value
alqi_heap_ephe_wait_pop(struct alqi_heap_ephe_waits *w)
{
    return w->n_data == 0 ? ALQ_NULL : w->data[--w->n_data];
}
