/* gc.h -- the collector: run it, ask it           [OCaml Gc]
 *
 * Only the calls below exist yet; the rest of OCaml's module follows. */
#ifndef ALIQUOT_GC_H
#define ALIQUOT_GC_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* alq_gc_minor -- a minor collection: no block is young afterwards
 *
 * Errors   ALQ_EINVAL  d is NULL
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_minor(struct alq_domain *d);

/* alq_gc_major_slice -- a slice of the major collection
 *
 * work_words  Words to mark or sweep, about; 0: what the pace of allocation
 *             asks for.
 *
 * Errors   ALQ_EINVAL  d is NULL
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_major_slice(struct alq_domain *d,
                                           uintptr_t work_words);

/* alq_gc_major -- a minor collection, then the major cycle to its end
 *
 * What was unreachable when the cycle began to mark is dead and will be swept.
 *
 * Errors   ALQ_EINVAL  d is NULL
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_major(struct alq_domain *d);

/* alq_gc_full_major -- major cycles until all that is unreachable is swept
 *
 * Errors   ALQ_EINVAL  d is NULL
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_full_major(struct alq_domain *d);

/* Since the domain began, but for heap_bytes. */
struct alq_gc_counts {
    uint64_t minor_words;    /* allocated young, with headers              */
    uint64_t promoted_words; /* moved to the major heap, as slots there    */
    uint64_t direct_words;   /* allocated in the major heap, with headers  */
    uint64_t minor_collections;
    uint64_t major_cycles; /* completed                                  */
    uint64_t slices;
    uint64_t slices_cut;      /* ended by the clock, the rest left for later */
    uint64_t marked_words;    /* work of the marker                         */
    uint64_t swept_words;     /* work of the sweeper                        */
    uint64_t mark_overflows;  /* times that a pool had to be marked again   */
    uint64_t remember_losses; /* minor collections that read the whole heap,
                                since the remembered set could not grow    */
    uint64_t emergencies;     /* full collections because memory was short  */
    uint64_t returned_bytes;  /* given back to the system, large blocks apart;
                                counted again when it comes and goes       */
    uint64_t heap_bytes;      /* pools in use and large blocks, now         */
};

/* alq_gc_counters -- what the collector has done
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_gc_counters(const struct alq_domain *d,
                                        struct alq_gc_counts *out);

#ifdef __cplusplus
}
#endif
#endif
