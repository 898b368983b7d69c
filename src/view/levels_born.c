/* levels_born.c -- lines of what is allocated: the sum in each step of time
 *
 * The rows are gone through by blocks, as the filter sees them: a row stands
 * for what it adds to the total, so the steps of a line add up to it. */
#include <stdlib.h>
#include <string.h>

#include "view/levels.h"

enum { BRIEF_US = 1000 };

/* A line while it is made. */
struct line {
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan;
    enum alqi_view_draw draw;
    struct alqi_view_levels *out;
    struct alqi_view_parts *parts; /* NULL: none */
    struct alqi_view_rows rows;
};

/* What row i adds. */
static double
value_of(const struct line *l, uint32_t i)
{
    struct alqi_view_stand stand = alqi_view_stand(l->x, l->scan, &l->rows, i);

    switch (l->draw) {
    case ALQI_VIEW_DRAW_ALLOCATIONS:
        return stand.weight.objects;
    case ALQI_VIEW_DRAW_TEMPORARY: /* .def.brief */
        return l->rows.life[i] < BRIEF_US &&
                       (l->rows.flags[i] & ALQI_VIEW_LEFT) == 0
                   ? stand.weight.bytes
                   : 0;
    default:
        return stand.weight.bytes;
    }
}

/* Adds row i to its step, and to the part of its key. */
static void
row_add(struct line *l, uint32_t i)
{
    uint32_t step = alqi_view_levels_step(l->out, l->rows.born[i]);
    double value = value_of(l, i);

    l->out->values[step] += value;
    if (l->parts != NULL) {
        const struct alqi_view_keys *keys = l->parts->keys;
        uint32_t number = keys->column == ALQI_VIEW_STACK ? l->rows.stack[i]
                                                          : l->rows.origin[i];
        uint32_t key = keys->of[number];

        if (l->parts->values != NULL)
            l->parts->values[(size_t)step * keys->n + key] += value;
        else
            l->parts->area[key] += value;
    }
}

bool
alqi_view_levels_born(struct alqi_view_levels *out,
                      const struct alqi_view_index *x,
                      const struct alqi_view_scan *scan,
                      enum alqi_view_draw draw, struct alqi_view_parts *parts)
{
    struct line *l = malloc(sizeof *l);

    if (l == NULL)
        return false;
    l->x = x;
    l->scan = scan;
    l->draw = draw;
    l->out = out;
    l->parts = parts;
    for (uint32_t b = 0; b < x->n_blocks; b++) {
        if (!alqi_view_rows_read(&l->rows, x, scan, b))
            continue;
        for (uint32_t i = 0; i < l->rows.n; i++)
            if (l->rows.passes[i] != 0)
                row_add(l, i);
    }
    free(l);
    return true;
}

bool
alqi_view_levels_make(struct alqi_view_levels *out,
                      const struct alqi_view_index *x,
                      const struct alqi_view_scan *scan,
                      enum alqi_view_draw draw, struct alqi_view_parts *parts)
{
    bool is_live = draw <= ALQI_VIEW_DRAW_BLOCKS;
    bool is_made;

    out->values = calloc(out->n, sizeof *out->values);
    if (out->values == NULL)
        return false;
    is_made = (is_live ? alqi_view_levels_live
                       : alqi_view_levels_born)(out, x, scan, draw, parts);
    if (!is_made) {
        free(out->values);
        out->values = NULL;
    }
    return is_made;
}
