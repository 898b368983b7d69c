/* major_sweep.h -- pools by class: swept, filled, found again
 *
 * .inv.swept  Outside of SWEEP no pool and no large block is unswept. */
#ifndef ALQI_HEAP_MAJOR_SWEEP_H
#define ALQI_HEAP_MAJOR_SWEEP_H

#include "heap/state.h"

/* Everything is unswept from now on: colours have just rotated.  No promotion
 * is under way. */
void alqi_heap_sweep_begin_stw(struct alqi_domain *d);

/* Sweeps `budget_words` about; returns what was done, 0 when nothing is left.
 */
size_t alqi_heap_sweep(struct alqi_domain *d, size_t budget_words);

/* Gives the buffer free slots, of its pool or another; false: no memory. */
bool alqi_heap_sweep_refill(struct alqi_domain *d, unsigned size_class,
                            bool no_scan);

/* Visits every block of the major heap, dead ones too that are not swept. */
void alqi_heap_sweep_blocks_stw(struct alqi_domain *d,
                                void (*visit)(struct alqi_domain *d,
                                              alq_value block,
                                              uintptr_t header));
/* Visits the blocks of pools whose blocks have no fields to scan. */
void alqi_heap_sweep_leaves(struct alqi_domain *d,
                            void (*visit)(struct alqi_domain *d,
                                          alq_value block, uintptr_t header));

#endif
