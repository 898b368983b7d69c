/* growth.c -- sums over blocks that tell how live bytes grow
 *
 * [growth.h] Times are whole microseconds, and so are the cells: a block that
 * is alive all through two cells adds exactly the same to both, and what does
 * not change is not taken for a step by rounding. */
#include <math.h>
#include <stdlib.h>

#include "view/growth.h"

/* .def.steady: the share of the average step, and standard errors. */
static const double LEAST = 1.0 / 3, SURE = 2.326347874;

static const double US_A_MINUTE = 60e6;

enum {
    PARTS = ALQI_VIEW_GROWTH_PARTS,
    CELLS = ALQI_VIEW_GROWTH_CELLS,
    STEPS = ALQI_VIEW_GROWTH_STEPS,
    PAIR = CELLS / PARTS * 2 /* cells of a pair of parts */
};

struct alqi_view_window
alqi_view_window(uint64_t end_us)
{
    uint64_t cell_us = (end_us - end_us / 4) / CELLS;

    return (struct alqi_view_window){end_us - CELLS * cell_us, cell_us};
}

/* The share of a cell, which begins at from_us, in which a block is alive. */
static double
share_of(uint64_t from_us, uint64_t cell_us, uint64_t born_us, uint64_t end_us)
{
    uint64_t to_us = from_us + cell_us;
    uint64_t first = born_us > from_us ? born_us : from_us;
    uint64_t last = end_us < to_us ? end_us : to_us;

    return last > first ? (double)(last - first) / (double)cell_us : 0;
}

/* The mean of n cells. */
static double
mean_of(const double *cells, unsigned n)
{
    double sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += cells[i];
    return sum / n;
}

/* From the mean of a pair of parts to the next. */
static double
step_of(const double *cells, unsigned step)
{
    return mean_of(&cells[(step + 1) * PAIR], PAIR) -
           mean_of(&cells[step * PAIR], PAIR);
}

/* What a block adds to the slope, for each of its bytes. */
static double
lever(const struct alqi_view_window *w, uint64_t born_us, uint64_t end_us)
{
    double length = (double)(CELLS * w->cell_us);
    double middle = (double)w->from_us + length / 2;
    double b = (double)born_us - middle, e = (double)end_us - middle;

    return 6 * (e - b) * (e + b) / (length * length * length);
}

void
alqi_view_growth_add(struct alqi_view_growth *g,
                     const struct alqi_view_window *w,
                     const struct alqi_view_weight *weight, uint64_t born_us,
                     uint64_t end_us)
{
    uint64_t to_us = w->from_us + CELLS * w->cell_us;
    double shares[CELLS] = {0}, s;

    born_us = born_us > w->from_us ? born_us : w->from_us;
    end_us = end_us < to_us ? end_us : to_us;
    if (end_us <= born_us)
        return;
    s = lever(w, born_us, end_us);
    g->slope += s * weight->bytes;
    g->slope_var += s * s * weight->bytes_var;
    for (uint64_t k = (born_us - w->from_us) / w->cell_us;
         k <= (end_us - 1 - w->from_us) / w->cell_us; k++) {
        shares[k] =
            share_of(w->from_us + k * w->cell_us, w->cell_us, born_us, end_us);
        g->cells[k] += shares[k] * weight->bytes;
    }
    for (unsigned j = 0; weight->bytes_var > 0 && j < STEPS; j++) {
        double step = step_of(shares, j);

        g->step_vars[j] += step * step * weight->bytes_var;
    }
}

void
alqi_view_growth_join(struct alqi_view_growth *g,
                      const struct alqi_view_growth *other)
{
    g->slope += other->slope;
    g->slope_var += other->slope_var;
    for (unsigned k = 0; k < CELLS; k++)
        g->cells[k] += other->cells[k];
    for (unsigned j = 0; j < STEPS; j++)
        g->step_vars[j] += other->step_vars[j];
}

/* Each part is above the one before, and no more is lost and won within parts
 * than `growth`. */
static bool
is_rising(const double *cells, double growth)
{
    double last = -HUGE_VAL, squares = 0;

    for (const double *c = cells; c < cells + CELLS; c += PAIR / 2) {
        double mean = mean_of(c, PAIR / 2);

        if (!(mean > last))
            return false;
        last = mean;
        for (unsigned i = 0; i < PAIR / 2; i++)
            squares += (c[i] - mean) * (c[i] - mean);
    }
    return growth >= sqrt(squares / CELLS);
}

bool
alqi_view_growth_is_steady(const struct alqi_view_growth *g)
{
    double growth = 0;

    for (unsigned j = 0; j < STEPS; j++)
        growth += step_of(g->cells, j);
    for (unsigned j = 0; j < STEPS; j++)
        if (!(step_of(g->cells, j) >=
              fmax(LEAST * growth / STEPS, SURE * sqrt(g->step_vars[j]))))
            return false;
    return is_rising(g->cells, growth);
}

double
alqi_view_growth_rate(const struct alqi_view_growth *g)
{
    return g->slope * US_A_MINUTE;
}

double
alqi_view_growth_stderr(const struct alqi_view_growth *g)
{
    return sqrt(g->slope_var) * US_A_MINUTE;
}

/* Adds the rows of a block that pass to their stacks. */
static void
rows_enter(struct alqi_view_growth *stacks, const struct alqi_view_index *x,
           const struct alqi_view_window *w, const struct alqi_view_rows *r)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (r->passes[i] != 0 && x->stacks[r->stack[i]].is_suppressed == 0)
            alqi_view_growth_add(&stacks[r->stack[i]], w,
                                 &x->weights[r->class_[i]], r->born[i],
                                 r->end[i]);
}

struct alqi_view_growth *
alqi_view_growth_of_stacks(const struct alqi_view_index *x,
                           const struct alqi_view_scan *scan)
{
    struct alqi_view_growth *stacks =
        calloc((size_t)x->n_stacks + 1, sizeof *stacks);
    struct alqi_view_rows *rows = malloc(sizeof *rows);
    struct alqi_view_window w = alqi_view_window(x->meta->end_us);

    for (uint32_t b = 0; stacks != NULL && rows != NULL && b < x->n_blocks; b++)
        if (w.cell_us > 0 && alqi_view_rows_read(rows, x, scan, b))
            rows_enter(stacks, x, &w, rows);
    if (rows == NULL) {
        free(stacks);
        stacks = NULL;
    }
    free(rows);
    return stacks;
}
