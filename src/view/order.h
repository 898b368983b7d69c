/* order.h -- the order of a table's rows: the key `sort`, or `order` of samples
 *
 * It names a column, with "-" before it the other way round. Names go up,
 * figures go down. Without it a table has its own order, that of its first
 * column. */
#ifndef ALQI_VIEW_ORDER_H
#define ALQI_VIEW_ORDER_H

#include "view/ask.h"

/* Columns of sums, in the order of ALQI_VIEW_SUM_COLUMNS. */
enum alqi_view_sum_column {
    ALQI_VIEW_COLUMN_VALUE,
    ALQI_VIEW_COLUMN_NAME,
    ALQI_VIEW_COLUMN_ERROR,
    ALQI_VIEW_COLUMN_BYTES,
    ALQI_VIEW_COLUMN_BLOCKS,
    ALQI_VIEW_COLUMN_SAMPLED,
    /* the table's own */
    ALQI_VIEW_COLUMN_OWN
};

#define ALQI_VIEW_SUM_COLUMNS "value name error bytes blocks sampled"

struct alqi_view_order {
    /* position in the list of columns; the second is always the name */
    unsigned column;
    bool is_reversed;
    /* of the filter */
    enum alqi_view_by by;
    /* whose names are compared */
    const struct alqi_view_index *x;
};

/* Takes that key from the query, one of the columns "a name c"; what is none is
 * an error of the query. */
void alqi_view_order_take(struct alqi_view_order *order,
                          struct alqi_view_ask *ask, const char *key,
                          const char *columns);
/* By what rows with that sum are ordered; `own` is the table's own figure. */
double alqi_view_order_figure(const struct alqi_view_order *order,
                              const struct alqi_view_sum *sum, double own);
/* Of two rows with those figures and names; 0: they are as they were. */
int alqi_view_order_compare(const struct alqi_view_order *order, double left,
                            double right, const char *left_name,
                            const char *right_name);

#endif
