/* major_cycle.h -- the major cycle: SWEEP -> SWEPT -> MARK -> SWEEP
 *
 * The phase changes in a stop (stop.h), when no domain has work left.  A slice
 * is a domain's own, and does the work of BLOCKING domains, too.
 *
 *    SWEEP  garbage of the last cycle is being freed; new blocks are UNMARKED
 *    SWEPT  no garbage is left; marking waits until nothing is young but pinned
 *           blocks (pin.h)
 *    MARK   marking from the roots; new blocks are MARKED; the write barrier
 *           darkens
 *
 * MARK ends when nothing is left to mark and weak references are clean
 * (weak_phase.h).  Then the colours rotate: what is unmarked is garbage.
 *
 * .inv.cycle   The phase changes in this order alone, in a stop, when no domain
 *              has work. */
#ifndef ALQI_HEAP_MAJOR_CYCLE_H
#define ALQI_HEAP_MAJOR_CYCLE_H

#include "heap/state.h"

/* A minor collection, and the change of phase that waits for one.  Afterwards
 * the minor heap is open again, or closed: memory is short even after full
 * collections. */
void alqi_heap_minor(struct alqi_domain *d);

/* A slice of so many words of work; 0: of what the pace demands. */
void alqi_heap_slice(struct alqi_domain *d, size_t work_words);

/* A minor collection, then a slice in advance, which frees so many words on
 * average and begins to mark if that is next; 0: all that is due. */
void alqi_heap_major_slice(struct alqi_domain *d, size_t n_words);

/* Another size of the domain's minor heap, which is emptied for it; 0: as
 * minor_size.h chooses.  False: no memory, all is as it was. */
bool alqi_heap_minor_set(struct alqi_domain *d, size_t words);

/* Empties the minor heaps and completes a major cycle. */
void alqi_heap_major(struct alqi_domain *d);
/* As alqi_heap_major; what the cycle found dead is free, too. */
void alqi_heap_major_swept(struct alqi_domain *d);
/* As alqi_heap_major_swept; live blocks have moved together, and free memory is
 * the system's. */
void alqi_heap_compact(struct alqi_domain *d);
/* Memory is short: as alqi_heap_compact, with two cycles. */
void alqi_heap_collect_all(struct alqi_domain *d);

#endif
