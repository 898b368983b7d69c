/* heat.c -- the answer `heat`: blocks by size and by lifetime
 *
 * Rows that pass are entered into a table of cells, one for each pair of a
 * size and a lifetime. Edges are powers of two of bytes, and 0, 1, 3, 10, 30
 * ... microseconds. Of the edges only those are written between which
 * something is. */
#include <stdlib.h>
#include <string.h>

#include "view/ask.h"

enum { SIZES_MAX = 66, LIVES_MAX = 42 };

struct heat {
    /* edges in bytes and in microseconds, rising */
    uint64_t sizes[SIZES_MAX], lives[LIVES_MAX];
    /* edges of each */
    uint32_t n_sizes, n_lives;
    /* by size and lifetime: only bytes, objects and n are filled in */
    struct alqi_view_sum cells[SIZES_MAX][LIVES_MAX];
    /* scratch: one block of rows */
    struct alqi_view_rows rows;
};

/* Sets the edges. */
static void
edges_make(struct heat *h)
{
    uint64_t edge = 1;

    h->sizes[h->n_sizes++] = 0;
    for (int i = 0; i < 64; i++)
        h->sizes[h->n_sizes++] = (uint64_t)1 << i;
    h->lives[h->n_lives++] = 0;
    while (h->n_lives < LIVES_MAX - 2 && edge < UINT64_MAX / 30) {
        h->lives[h->n_lives++] = edge;
        h->lives[h->n_lives++] = 3 * edge;
        edge *= 10;
    }
}

/* The last edge that is not above v. */
static uint32_t
bin_of(const uint64_t *edges, uint32_t n, uint64_t v)
{
    uint32_t low = 0, high = n;

    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;

        if (edges[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Enters the rows of h->rows that pass. */
static void
block_enter(struct heat *h, const struct alqi_view_index *x,
            const struct alqi_view_scan *scan, const uint8_t *size_of_class)
{
    const struct alqi_view_rows *r = &h->rows;

    for (uint32_t i = 0; i < r->n; i++) {
        struct alqi_view_stand stand;
        struct alqi_view_sum *cell;

        if (r->passes[i] == 0)
            continue;
        cell = &h->cells[size_of_class[r->class_[i]]]
                        [bin_of(h->lives, h->n_lives, r->life[i])];
        stand = alqi_view_stand(x, scan, r, i);
        cell->bytes += stand.weight.bytes;
        cell->objects += stand.weight.objects;
        cell->n += stand.n;
    }
}

/* Enters all rows. The size's bin is found once a class. False: no memory. */
static bool
cells_fill(struct heat *h, const struct alqi_view_index *x,
           const struct alqi_view_scan *scan)
{
    uint8_t *size_of_class = malloc((size_t)x->n_classes + 1);

    for (uint32_t i = 0; size_of_class != NULL && i < x->n_classes; i++)
        size_of_class[i] =
            (uint8_t)bin_of(h->sizes, h->n_sizes, x->classes[i].size_bytes);
    for (uint32_t b = 0; size_of_class != NULL && b < x->n_blocks; b++)
        if (alqi_view_rows_read(&h->rows, x, scan, b))
            block_enter(h, x, scan, size_of_class);
    free(size_of_class);
    return size_of_class != NULL;
}

/* A row or a column of the table has something. */
static bool
has_any(const struct heat *h, uint32_t size, uint32_t life, bool is_size)
{
    uint32_t n = is_size ? h->n_lives : h->n_sizes;

    for (uint32_t i = 0; i < n; i++)
        if (h->cells[is_size ? size : i][is_size ? i : life].objects > 0)
            return true;
    return false;
}

/* Edges [*first, *end] have all that there is between them. */
static void
edges_cut(const struct heat *h, bool is_size, uint32_t *first, uint32_t *end)
{
    uint32_t n = is_size ? h->n_sizes : h->n_lives;

    *first = 0;
    *end = n - 1;
    while (*first + 1 < *end && !has_any(h, *first, *first, is_size))
        (*first)++;
    while (*end > *first + 1 && !has_any(h, *end, *end, is_size) &&
           !has_any(h, *end - 1, *end - 1, is_size))
        (*end)--;
}

static void
put_edges(struct alqi_view_json *out, const char *key, const uint64_t *edges,
          uint32_t first, uint32_t end)
{
    alqi_view_json_key(out, key);
    alqi_view_json_open(out, '[');
    for (uint32_t i = first; i <= end; i++)
        alqi_view_json_whole(out, (double)edges[i]);
    alqi_view_json_close(out, ']');
}

/* Writes the edges, then the cells row by row; a row is a size. */
static void
put_cells(struct alqi_view_json *out, const struct heat *h)
{
    uint32_t size_first, size_end, life_first, life_end;

    edges_cut(h, true, &size_first, &size_end);
    edges_cut(h, false, &life_first, &life_end);
    put_edges(out, "sizes", h->sizes, size_first, size_end);
    put_edges(out, "lives", h->lives, life_first, life_end);
    alqi_view_json_key(out, "cells");
    alqi_view_json_open(out, '[');
    for (uint32_t s = size_first; s < size_end; s++)
        for (uint32_t l = life_first; l < life_end; l++) {
            alqi_view_json_open(out, '[');
            alqi_view_json_whole(out, h->cells[s][l].bytes);
            alqi_view_json_whole(out, h->cells[s][l].objects);
            alqi_view_json_int(out, (int64_t)h->cells[s][l].n);
            alqi_view_json_close(out, ']');
        }
    alqi_view_json_close(out, ']');
}

bool
alqi_view_heat(struct alqi_view_ask *ask)
{
    const struct alqi_view_scan *scan;
    struct heat *h;

    if (!alqi_view_ready(ask))
        return false;
    scan = alqi_view_scan_of(ask->trace, &ask->filter);
    h = calloc(1, sizeof *h);
    if (h != NULL)
        edges_make(h);
    if (scan == NULL || h == NULL || !cells_fill(h, ask->x, scan)) {
        free(h);
        return alqi_view_give_up(ask);
    }
    alqi_view_put_sum(ask->out, "total", &scan->total);
    put_cells(ask->out, h);
    free(h);
    return true;
}
