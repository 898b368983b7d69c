/* stat_census.h -- counts the blocks of the heap [aliquot/observe.h]
 *
 * .inv.census  Words counted = words of all blocks that a walk of the heap
 *              finds, but for those of colour garbage. */
#ifndef ALQI_HEAP_STAT_CENSUS_H
#define ALQI_HEAP_STAT_CENSUS_H

#include "heap/state.h"

typedef int alqi_heap_census_row_fn(void *arg,
                                    const struct alq_census_row *row);

/* False: no memory, and `row` was not called. */
bool alqi_heap_census_take(struct alqi_domain *d, alqi_heap_census_row_fn *row,
                           void *arg);

#endif
