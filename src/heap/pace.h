/* pace.h -- how much work a slice does                     [OCaml 5's rule]
 *
 * A cycle marks the live words and sweeps the whole heap while the program
 * allocates space_overhead percent of the live ones; so each allocated word
 * owes 1.5 * (100 + o) / o * (1 + 100 / (100 + o)) words of work: 4.0 for the
 * default of 120.  Debt that cannot be worked off now stays. */
#ifndef ALQI_HEAP_PACE_H
#define ALQI_HEAP_PACE_H

#include "heap/state.h"

/* Words for this slice: `asked`, or with 0 the debt. */
size_t alqi_heap_pace_begin(struct alqi_domain *d, size_t asked);
void alqi_heap_pace_end(struct alqi_domain *d, size_t done);

/* Everything was collected: there is no debt. */
void alqi_heap_pace_reset(struct alqi_domain *d);

#endif
