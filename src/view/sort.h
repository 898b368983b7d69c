/* sort.h -- sorting by an order that needs an argument
 *
 * In place and without memory; qsort_r is not everywhere. */
#ifndef ALQI_VIEW_SORT_H
#define ALQI_VIEW_SORT_H

#include <stddef.h>

/* Below, at or above 0 as left comes before, with or after right; rows that
 * come with each other are in no order. */
typedef int alqi_view_order_fn(const void *left, const void *right, void *arg);

void alqi_view_sort(void *rows, size_t n, size_t each_bytes,
                    alqi_view_order_fn *order, void *arg);

#endif
