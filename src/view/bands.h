/* bands.h -- the parts of a line that have the most of it, one above the other
 *
 * .def.bands  A part is what a function has as the site, a thread, or a module
 *             that its site's function is of. The BANDS_MOST with the greatest
 *             area are bands, the greatest first; the others are one band
 *             behind them. */
#ifndef ALQI_VIEW_BANDS_H
#define ALQI_VIEW_BANDS_H

#include "view/ask.h"

enum { ALQI_VIEW_BANDS_MOST = 10 };

/* What a line is divided by; in the order of the key `stack`. */
enum alqi_view_divide {
    ALQI_VIEW_UNDIVIDED,
    ALQI_VIEW_DIVIDE_FUNCTION,
    ALQI_VIEW_DIVIDE_THREAD,
    ALQI_VIEW_DIVIDE_MODULE
};

struct alqi_view_bands {
    enum alqi_view_divide divide;
    /* [n]: number of the function, index of the thread, number of the
     * module's text */
    uint32_t ids[ALQI_VIEW_BANDS_MOST];
    uint32_t n;
    /* the others: one more band if there are any */
    uint32_t n_others;
    /* [steps][n_values]: the bands, then that of the others; owned */
    double *values;
    uint32_t n_values;
};

/* The bands of a line: levels has its steps, and gets its values, as
 * alqi_view_levels_make has it. False: no memory; bands are to be freed in any
 * case. */
bool alqi_view_bands_make(struct alqi_view_bands *bands,
                          struct alqi_view_levels *levels,
                          const struct alqi_view_index *index,
                          const struct alqi_view_scan *scan,
                          const struct alqi_view_shape *shape,
                          enum alqi_view_draw draw);
void alqi_view_bands_free(struct alqi_view_bands *bands);

/* Writes "bands", and the functions that they name. In each step they add up
 * to the line's whole number. False: no memory. */
bool alqi_view_bands_put(const struct alqi_view_bands *bands,
                         const struct alqi_view_levels *levels,
                         const struct alqi_view_index *index,
                         struct alqi_view_json *out);

#endif
