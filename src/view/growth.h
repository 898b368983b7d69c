/* growth.h -- how fast live bytes grow, and whether they do so steadily
 *
 * Each figure is a linear sum over blocks, so its variance is a sum over the
 * sampled ones: nothing is assumed of how the curve at one moment depends on
 * that at another. The reasons are in doc/design/analysis.md.
 *
 * .def.window   The last three quarters of the trace, in eight parts of four
 *               cells each. A cell has whole microseconds, and the last one
 *               ends with the trace.
 * .def.slope    That of least squares over the window: a block alive from b to
 *               e adds ((e - m)^2 - (b - m)^2) 6 / L^3 of its bytes, where L is
 *               the window's length and m its middle.
 * .def.steady   The mean of each part is above that of the part before; that
 *               of each pair of parts is above the pair before by at least a
 *               third of the average such step, and by 2.33 standard errors;
 *               and the last pair is above the first by at least what the
 *               cells differ from the means of their parts (root mean square).
 *               A step that is none passes with a chance of 1 in 100. */
#ifndef ALQI_VIEW_GROWTH_H
#define ALQI_VIEW_GROWTH_H

#include "view/filter.h"
#include "view/index.h"
#include "view/scan.h"

enum {
    ALQI_VIEW_GROWTH_PARTS = 8,
    ALQI_VIEW_GROWTH_CELLS = 4 * ALQI_VIEW_GROWTH_PARTS,
    ALQI_VIEW_GROWTH_STEPS = ALQI_VIEW_GROWTH_PARTS / 2 - 1
};

/* .def.window */
struct alqi_view_window {
    /* since the start */
    uint64_t from_us;
    /* length of a cell; 0: the trace is too short, and nothing grows in it */
    uint64_t cell_us;
};

/* Of some blocks; all zeros is none. */
struct alqi_view_growth {
    /* bytes a microsecond, and its variance (.def.slope) */
    double slope, slope_var;
    /* mean live bytes of each cell */
    double cells[ALQI_VIEW_GROWTH_CELLS];
    /* variances of the steps from one pair of parts to the next */
    double step_vars[ALQI_VIEW_GROWTH_STEPS];
};

struct alqi_view_window alqi_view_window(uint64_t end_us);

/* Adds a block that is alive from born_us on, and no longer at end_us. */
void alqi_view_growth_add(struct alqi_view_growth *growth,
                          const struct alqi_view_window *window,
                          const struct alqi_view_weight *weight,
                          uint64_t born_us, uint64_t end_us);
/* Adds other blocks. */
void alqi_view_growth_join(struct alqi_view_growth *growth,
                           const struct alqi_view_growth *other);

/* .def.steady */
bool alqi_view_growth_is_steady(const struct alqi_view_growth *growth);

/* Bytes a minute, and one standard error. */
double alqi_view_growth_rate(const struct alqi_view_growth *growth);
double alqi_view_growth_stderr(const struct alqi_view_growth *growth);

/* By stack of the index: the growth of the rows of a scan, whose filter has no
 * condition on time (filter.h); none of stacks that are suppressed. To be
 * freed; NULL: no memory. */
struct alqi_view_growth *
alqi_view_growth_of_stacks(const struct alqi_view_index *index,
                           const struct alqi_view_scan *scan);

#endif
