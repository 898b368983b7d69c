/* cells.c -- what each thread has of each stack, under one filter
 *
 * [cells.h] Most stacks are of one thread, and most rows of the thread that had
 * the stack last: its cell is looked at first, and the map only for others. */
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "view/cells.h"
#include "view/sort.h"
#include "view/whole.h"

/* Cells while they are made. */
struct maker {
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan;
    struct alqi_view_cells *out;
    uint32_t capacity;
    /* by stack: 1 + its cell of the row before; owned */
    uint32_t *last;
    /* thread and stack -> cell */
    struct alqi_base_map map;
    struct alqi_view_rows rows;
};

/* Adds an empty cell. False: no memory. */
static bool
cell_add(struct maker *m, uint32_t thread, uint32_t stack)
{
    if (m->out->n == m->capacity) {
        uint32_t capacity = 2 * m->capacity;
        void *cells = realloc(m->out->cells, capacity * sizeof *m->out->cells);

        if (cells == NULL)
            return false;
        m->out->cells = cells;
        m->capacity = capacity;
    }
    m->out->cells[m->out->n++] =
        (struct alqi_view_cell){thread,
                                stack,
                                {
                                    .most_bytes = m->scan->total.most_bytes,
                                    .most_objects = m->scan->total.most_objects,
                                    .peak = m->scan->total.peak,
                                    .peak_bytes = m->scan->total.peak_bytes,
                                }};
    return true;
}

/* The cell of a thread and a stack. NULL: no memory. */
static struct alqi_view_cell *
cell_at(struct maker *m, uint32_t thread, uint32_t stack)
{
    uint32_t last = m->last[stack];
    uint64_t *at;
    bool is_new;

    if (last != 0 && m->out->cells[last - 1].thread == thread)
        return &m->out->cells[last - 1];
    at = alqi_base_map_at(&m->map, (uint64_t)thread << 32 | stack, &is_new);
    if (at == NULL || (is_new && !cell_add(m, thread, stack)))
        return NULL;
    if (is_new)
        *at = m->out->n - 1;
    m->last[stack] = (uint32_t)*at + 1;
    return &m->out->cells[*at];
}

/* Adds a row to its cell, as the scan adds it to its stack. False: no memory.
 */
static bool
row_add(struct maker *m, uint32_t i)
{
    const struct alqi_view_rows *r = &m->rows;
    struct alqi_view_stand stand = alqi_view_stand(m->x, m->scan, r, i);
    struct alqi_view_cell *cell =
        cell_at(m, alqi_view_thread_of(m->x, r->origin[i]), r->stack[i]);

    if (cell == NULL)
        return false;
    alqi_view_sum_add(&cell->sum, &stand.weight);
    cell->sum.life_us += (double)r->life[i] * stand.weight.objects;
    cell->sum.n += stand.n;
    cell->sum.n_samples += stand.n_samples;
    return true;
}

/* Order by thread, then by stack. */
static int
by_thread(const void *left, const void *right, void *arg)
{
    const struct alqi_view_cell *a = left, *b = right;

    (void)arg;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

bool
alqi_view_cells_make(struct alqi_view_cells *cells,
                     const struct alqi_view_index *x,
                     const struct alqi_view_scan *scan)
{
    struct maker *m = calloc(1, sizeof *m);
    bool is_made = m != NULL;

    *cells = (struct alqi_view_cells){NULL, 0};
    if (is_made) {
        m->x = x;
        m->scan = scan;
        m->out = cells;
        m->capacity = 256;
        m->last = calloc((size_t)x->n_stacks + 1, sizeof *m->last);
        cells->cells = malloc(m->capacity * sizeof *cells->cells);
        is_made = m->last != NULL && cells->cells != NULL;
    }
    for (uint32_t b = 0; is_made && b < x->n_blocks; b++)
        if (alqi_view_rows_read(&m->rows, x, scan, b))
            for (uint32_t i = 0; is_made && i < m->rows.n; i++)
                is_made = !m->rows.passes[i] || row_add(m, i);
    if (is_made)
        alqi_view_sort(cells->cells, cells->n, sizeof *cells->cells, by_thread,
                       NULL);
    if (m != NULL) {
        free(m->last);
        alqi_base_map_clear(&m->map);
    }
    free(m);
    return is_made;
}

void
alqi_view_cells_free(struct alqi_view_cells *cells)
{
    free(cells->cells);
    *cells = (struct alqi_view_cells){NULL, 0};
}
