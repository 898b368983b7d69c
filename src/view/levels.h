/* levels.h -- a figure of the rows that pass in each of n steps of time
 *
 * .def.level  Of what is live a step has the greatest level in it, and the
 *             parts of the line are what they were at the first moment of that
 *             level: so they add up to it. Of what is allocated a step has the
 *             sum of what was born in it.
 * .def.brief  Temporary is what the report takes for it: freed, after less than
 *             1 ms; a chain of realloc has one life. */
#ifndef ALQI_VIEW_LEVELS_H
#define ALQI_VIEW_LEVELS_H

#include "view/index.h"
#include "view/scan.h"

/* What a line is of; in the order of the key `draw`. */
enum alqi_view_draw {
    ALQI_VIEW_DRAW_BYTES,
    ALQI_VIEW_DRAW_BLOCKS,
    /* bytes that were allocated, and blocks */
    ALQI_VIEW_DRAW_ALLOCATED,
    ALQI_VIEW_DRAW_ALLOCATIONS,
    /* of the bytes that were allocated, the temporary ones (.def.brief) */
    ALQI_VIEW_DRAW_TEMPORARY,
    ALQI_VIEW_N_DRAWS
};

/* A line. Times are since the trace's start; what comes later than the last
 * step is in it. */
struct alqi_view_levels {
    /* by step; NULL: none */
    double *values;
    uint32_t n;
    /* length of a step */
    uint64_t step_us;
};

/* What tells the parts of a line apart: a key for each stack or origin. */
struct alqi_view_keys {
    /* STACK or ORIGIN */
    enum alqi_view_column column;
    /* [n_numbers + 1]: the key, by number of that column; owned */
    uint32_t *of;
    uint32_t n_numbers;
    /* keys; 1 or more */
    uint32_t n;
};

/* The parts of a line; the caller's. */
struct alqi_view_parts {
    const struct alqi_view_keys *keys;
    /* [steps][keys->n]; NULL: the areas alone are asked for */
    double *values;
    /* [keys->n]: without values, the sum of a part over the steps; where times
     * go back a step is in it each time that its greatest level has risen */
    double *area;
};

/* The line of the rows that pass, in the n steps of step_us that it has, and
 * its parts (NULL: none), which begin as zeros.  Without a scan (of what is
 * live alone) all rows pass.  False: no memory; else levels->values is the
 * caller's to free. */
bool alqi_view_levels_make(struct alqi_view_levels *levels,
                           const struct alqi_view_index *index,
                           const struct alqi_view_scan *scan,
                           enum alqi_view_draw draw,
                           struct alqi_view_parts *parts);

/* The same of one kind: draw says of which; values are zeros before. */
bool alqi_view_levels_live(struct alqi_view_levels *levels,
                           const struct alqi_view_index *index,
                           const struct alqi_view_scan *scan,
                           enum alqi_view_draw draw,
                           struct alqi_view_parts *parts);
bool alqi_view_levels_born(struct alqi_view_levels *levels,
                           const struct alqi_view_index *index,
                           const struct alqi_view_scan *scan,
                           enum alqi_view_draw draw,
                           struct alqi_view_parts *parts);

/* The step of a time. */
static inline uint32_t
alqi_view_levels_step(const struct alqi_view_levels *levels, uint64_t us)
{
    uint64_t step = us / levels->step_us;

    return step < levels->n ? (uint32_t)step : levels->n - 1;
}

#endif
