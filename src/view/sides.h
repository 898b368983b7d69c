/* sides.h -- two filters side by side, of one trace or of two */
#ifndef ALQI_VIEW_SIDES_H
#define ALQI_VIEW_SIDES_H

#include "view/ask.h"

/* By how much the estimates of two sides may differ by chance. */
struct alqi_view_apart {
    double own_var;       /* each side's own, together */
    double null_var;      /* significance.h */
    double largest_bytes; /* of one block */
};

static inline void
alqi_view_apart_join(struct alqi_view_apart *to,
                     const struct alqi_view_apart *from)
{
    to->own_var += from->own_var;
    to->null_var += from->null_var;
    if (from->largest_bytes > to->largest_bytes)
        to->largest_bytes = from->largest_bytes;
}

double alqi_view_apart_variance(const struct alqi_view_apart *apart);
/* significance.h, .def.sigmas, of a difference in bytes. */
double alqi_view_apart_sigmas(const struct alqi_view_apart *apart,
                              double bytes);

struct alqi_view_side {
    struct alqi_view_filter filter;
    struct alqi_view_trace *trace;
    const struct alqi_view_index *x;
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct alqi_view_apart *apart; /* by stack */
};

struct alqi_view_sides {
    struct alqi_view_side a, b;
    struct alqi_view_both both;
};

/* Side A is the query's filter, side B that of the keys with "b." in front.
 * False after an error; to be freed in any case. */
bool alqi_view_sides_take(struct alqi_view_ask *ask,
                          struct alqi_view_sides *sides);
/* Their scans and shapes; false after a refusal. */
bool alqi_view_sides_look(struct alqi_view_ask *ask,
                          struct alqi_view_sides *sides);
/* Fills in what each stack has of the difference; false: no memory. */
bool alqi_view_sides_apart(struct alqi_view_sides *sides);
void alqi_view_sides_free(struct alqi_view_sides *sides);

#endif
