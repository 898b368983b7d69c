/* sides.h -- two filters side by side, of one trace or of two */
#ifndef ALQI_VIEW_SIDES_H
#define ALQI_VIEW_SIDES_H

#include "view/ask.h"

/* By how much two estimates may differ by chance. Sums of sites add up. */
struct alqi_view_apart {
    /* what one side has and the other has not, if both are of one trace;
     * else what each has */
    struct alqi_view_sum a, b;
    /* if nothing changed (significance.h .def.variance) */
    double null_var;
    /* of one block */
    double largest_bytes;
};

static inline void
alqi_view_apart_join(struct alqi_view_apart *to,
                     const struct alqi_view_apart *from)
{
    alqi_view_sum_join(&to->a, &from->a);
    alqi_view_sum_join(&to->b, &from->b);
    to->null_var += from->null_var;
    if (from->largest_bytes > to->largest_bytes)
        to->largest_bytes = from->largest_bytes;
}

/* The larger of the two variances. */
double alqi_view_apart_variance(const struct alqi_view_apart *apart);
/* Where the true difference is. */
struct alqi_view_interval
alqi_view_apart_interval(const struct alqi_view_apart *apart);
/* significance.h, .def.sigmas, of a difference in bytes. */
double alqi_view_apart_sigmas(const struct alqi_view_apart *apart,
                              double bytes);

/* One side: a filter, and what is found by it. */
struct alqi_view_side {
    /* of the query's keys, for B with "b." in front */
    struct alqi_view_filter filter;
    /* side B */
    bool is_b;
    /* that the filter names */
    struct alqi_view_trace *trace;
    const struct alqi_view_index *x;
    /* the trace's; set by alqi_view_sides_look */
    const struct alqi_view_scan *scan;
    /* the same */
    const struct alqi_view_shape *shape;
    /* by stack; owned; set by alqi_view_sides_apart */
    struct alqi_view_apart *apart;
};

struct alqi_view_sides {
    struct alqi_view_side a, b;
    /* common numbers of functions */
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
