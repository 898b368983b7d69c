/* gc.h -- the collector: run it, tune it, ask it           [OCaml Gc]
 *
 * The names, fields and units are those of OCaml's module Gc; what a field
 * means in this heap is said beside it.  Words are 8 bytes, and the words of a
 * block include its header.
 *
 * The environment variable ALIQUOTPARAM sets the same values for a program that
 * is not to be changed: aliquot-gc(7). */
#ifndef ALIQUOT_GC_H
#define ALIQUOT_GC_H

#include <stdio.h>

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of the calls of this file those that need the thread that runs the domain
 * refuse one that is in the collector, too: in a listener, a scanner, the
 * finaliser of a custom block.  Their status is ALQ_ESTATE then. */

/* ---- collecting --------------------------------------------------------- */

/* alq_gc_minor -- a minor collection of all domains: what was young is old
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 *          Or the status of a finaliser or alarm that failed (final.h).
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_minor(struct alq_domain *d);

/* alq_gc_major_slice -- a minor collection, then a slice of the major one
 *
 * n_words  The slice does the work that frees so many words on average, and is
 *          credited with it (alq_gc_get_credit).  0: all that is due until the
 *          next minor collection, so that the next automatic slice has none.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 *          Or the status of a finaliser or alarm that failed (final.h).
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_major_slice(struct alq_domain *d,
                                           uintptr_t n_words);

/* alq_gc_major -- a minor collection, then the major cycle to its end
 *
 * What was unreachable when the cycle began to mark is dead and will be swept.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 *          Or the status of a finaliser or alarm that failed (final.h).
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_major(struct alq_domain *d);

/* alq_gc_full_major -- major cycles until all that is unreachable is swept
 *
 * Three: one that may be under way, one that finds what is dead, and one more
 * for what finalisers were called with.  After each of them those that are due
 * are called; if one fails, that is the end.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 *          Or the status of a finaliser or alarm that failed (final.h).
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_full_major(struct alq_domain *d);

/* alq_gc_compact -- alq_gc_full_major, then the heap takes less memory
 *
 * Blocks of half empty pools move together; the pools that become empty, and
 * those that are free, go back to the system.  Blocks of more than
 * ALQ_SMALL_WOSIZE_MAX fields stay where they are.  No memory is needed for it.
 *
 * The same happens without a call when a cycle leaves more free than
 * max_overhead allows, and before an allocation fails.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 *          Or the status of a finaliser or alarm that failed (final.h): that
 *          is the end, as it is for alq_gc_full_major.
 * Threads  The domain's.
 * GC       Collects. */
ALQ_API enum alq_status alq_gc_compact(struct alq_domain *d);

/* ---- counters ----------------------------------------------------------- */

/* Of one domain, since it began; but for heap_bytes, which is the heap's. */
struct alq_gc_counts {
    uint64_t minor_words;    /* allocated young                            */
    uint64_t promoted_words; /* of these, moved to the major heap          */
    uint64_t direct_words;   /* allocated in the major heap                */
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
    uint64_t major_words;     /* promoted_words + direct_words              */
    uint64_t forced_majors;   /* alq_gc_full_major, alq_gc_compact, or a change
                                of policy                                  */
    uint64_t compactions;     /* of the heap, that it took part in          */
    uint64_t compacted_words; /* moved by them, of its blocks               */
    uint64_t outside_bytes;   /* held by custom blocks when allocated       */
    uint64_t held_blocks;     /* young ones that did not move, since a word of
                                a conservative thread led to them (root.h);
                                in each collection anew                    */
};

/* alq_gc_counters -- what the collector has done for this domain
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_gc_counters(const struct alq_domain *d,
                                        struct alq_gc_counts *out);

/* alq_gc_minor_words -- words that this domain has allocated young, until now
 *
 * Returns  The words, exactly; 0 if d is NULL.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API uint64_t alq_gc_minor_words(const struct alq_domain *d);

/* alq_gc_allocated_bytes -- bytes that this domain has allocated, until now
 *
 * Returns  8 (minor_words + major_words - promoted_words), exactly; 0 if d is
 *          NULL.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API uint64_t alq_gc_allocated_bytes(const struct alq_domain *d);

/* alq_gc_get_minor_free -- free words of this domain's minor heap
 *
 * Returns  The words that fit in before the next minor collection, if nothing
 *          else asks for one and other domains allocate nothing: those whose
 *          size is left open share what is young, unless each collects alone;
 *          0 if d is NULL.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API size_t alq_gc_get_minor_free(const struct alq_domain *d);

/* ---- statistics --------------------------------------------------------- */

/* Of all domains, and of the major heap, that is pools of 4096 words and large
 * blocks by themselves.  heap_words = live_words + free_words + fragments. */
struct alq_gc_stats {
    uint64_t minor_words;       /* allocated young                          */
    uint64_t promoted_words;    /* of these, moved to the major heap        */
    uint64_t major_words;       /* promoted, or allocated there directly    */
    uint64_t minor_collections; /* of all domains at once, and of one alone */
    uint64_t major_collections; /* cycles completed                         */
    uint64_t heap_words;        /* pools that have memory, large blocks     */
    uint64_t heap_chunks;       /* so many pools and large blocks           */
    uint64_t live_words;        /* blocks not known to be dead              */
    uint64_t live_blocks;
    uint64_t free_words;     /* slots, dead blocks, pools: free pieces   */
    uint64_t free_blocks;    /* so many of them                          */
    uint64_t largest_free;   /* words of the largest one                 */
    uint64_t fragments;      /* words that nothing can use: of pools'
                               heads and ends, of slots larger than
                               their block, of large blocks' links      */
    uint64_t compactions;    /* of all domains at once                   */
    uint64_t top_heap_words; /* the most that heap_words has been        */
    uint64_t stack_size;     /* words of the calling thread's stack; 0: a
                               stack that is not the system's           */
    uint64_t forced_major_collections; /* alq_gc_full_major, alq_gc_compact,
                                         or a change of allocation_policy  */
};

/* alq_gc_stat -- all of struct alq_gc_stats: looks at each block
 *
 * The world is stopped for it.
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status alq_gc_stat(struct alq_domain *d,
                                    struct alq_gc_stats *out);

/* alq_gc_quick_stat -- struct alq_gc_stats without a look at the blocks
 *
 * live_words, live_blocks, free_words, free_blocks, largest_free, fragments
 * are 0.  What other domains have allocated is counted up to the last stop; a
 * minor collection by one of them alone is none.
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status alq_gc_quick_stat(struct alq_domain *d,
                                          struct alq_gc_stats *out);

/* alq_gc_print_stat -- writes alq_gc_stat for people, in OCaml's form
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 *          ALQ_EIO     the stream took not all of it
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status alq_gc_print_stat(struct alq_domain *d, FILE *out);

/* ---- control ------------------------------------------------------------ */

/* What `verbose` asks for, on stderr: the sum of these. */
enum {
    ALQ_GC_LOG_CYCLE = 0x1,      /* a cycle begins, ends                    */
    ALQ_GC_LOG_MINOR = 0x2,      /* minor collections, slices               */
    ALQ_GC_LOG_GROW = 0x4,       /* the heap grows                          */
    ALQ_GC_LOG_TABLES = 0x8,     /* stacks and tables are resized           */
    ALQ_GC_LOG_COMPACT = 0x10,   /* compaction                              */
    ALQ_GC_LOG_PARAMS = 0x20,    /* values of struct alq_gc_control change  */
    ALQ_GC_LOG_SLICES = 0x40,    /* how much a slice is to do, and why      */
    ALQ_GC_LOG_FINALISE = 0x80,  /* finalisers                              */
    ALQ_GC_LOG_START = 0x100,    /* what the heap starts with               */
    ALQ_GC_LOG_DUE = 0x200,      /* whether compaction is due               */
    ALQ_GC_LOG_AT_EXIT = 0x400,  /* statistics when the heap or program ends */
    ALQ_GC_LOG_RESERVE = 0x1000, /* reservation of address space            */
    ALQ_GC_LOG_DEFAULT = 0x3D    /* OCaml's choice                          */
};

enum alq_gc_policy { /* which pool with free slots is filled first */
                     ALQ_GC_NEXT_FIT =
                         0, /* the one that was swept last: costs nothing     */
                     ALQ_GC_FIRST_FIT = 1, /* that of the lowest address: the
                                             upper end of the heap empties */
                     ALQ_GC_BEST_FIT = 2   /* the fullest: those that are nearly
                                             empty have a   chance to become so   */
};

/* None may be negative.  What lies outside of a range is brought into it. */
struct alq_gc_control {
    intptr_t minor_heap_size;       /* words of this domain's minor heap; 4096
                                      to 4194304, in steps of 4096.  Where the
                                      program has set none, the heap chooses,
                                      262144 at first, and alq_gc_set leaves it
                                      the choice if the value is what
                                      alq_gc_get has shown, or 0            */
    intptr_t major_heap_increment;  /* by how much the heap grows at least: up
                                      to 1000 percent of it, else words; but
                                      never less than 131072 words; 15      */
    intptr_t space_overhead;        /* percent of the live words that may be
                                      dead or free; 1 to 1000000; 120       */
    intptr_t verbose;               /* ALQ_GC_LOG_...; 0                      */
    intptr_t max_overhead;          /* percent of the live words that may be
                                      free before the heap is compacted when
                                      a cycle is swept; 0: each time; from
                                      1000000 on never; 500                 */
    intptr_t stack_limit;           /* words of a thread's stack, for
                                      alq_gc_stack_check; at least what is in
                                      use and 512; 134217728                */
    intptr_t allocation_policy;     /* enum alq_gc_policy; 0.  A change does
                                      two cycles and a compaction           */
    intptr_t window_size;           /* over how many minor heaps due work is
                                      spread; 1 to 50; 1                    */
    intptr_t custom_major_ratio;    /* percent of the major heap that dead
                                      custom blocks there may hold outside of
                                      it: their cost as garbage; 1 to
                                      1000000; 44                           */
    intptr_t custom_minor_ratio;    /* percent of the minor heap that young
                                      custom blocks may hold before a minor
                                      collection; 1 to 1000000; 100         */
    intptr_t custom_minor_max_size; /* bytes; a custom block that holds more
                                      is allocated in the major heap; 70000 */
};

/* alq_gc_get -- the values in force
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_gc_get(struct alq_domain *d,
                                   struct alq_gc_control *out);

/* alq_gc_set -- changes the values: alq_gc_get, change some, alq_gc_set
 *
 * All but minor_heap_size are the whole heap's.
 *
 * Errors   ALQ_EINVAL  d or control is NULL, a value is negative, or
 *                      allocation_policy is none of enum alq_gc_policy
 *          ALQ_ENOMEM  no memory for the minor heap: its size is what it was,
 *                      all other values are changed
 *          ALQ_ESTATE  the calling thread does not run the domain, or the
 *                      process was forked without the threads of the others
 * Threads  The domain's.
 * GC       Collects if minor_heap_size or allocation_policy changes. */
ALQ_API enum alq_status alq_gc_set(struct alq_domain *d,
                                   const struct alq_gc_control *control);

/* alq_gc_params -- the values in force, as ALIQUOTPARAM would set them
 *
 * text     Receives at most `size` bytes, the last of them 0.
 *
 * Returns  The length of the whole text; 0 if d is NULL.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API size_t alq_gc_params(const struct alq_domain *d, char *text,
                             size_t size);

/* alq_gc_stack_check -- whether the calling thread's stack is within bounds
 *
 * For functions that call themselves: it costs some ten instructions.  The
 * bound is stack_limit, or 16384 words less than the thread's whole stack,
 * whichever is smaller.  On a stack that is not the system's there is none.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTACK  it is deeper
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_gc_stack_check(const struct alq_domain *d);

/* ---- smoothing ---------------------------------------------------------- */

/* The work that a minor collection makes due is spread over window_size
 * buckets, the next one for each minor heap that is used up; the slices of that
 * minor heap do what is in the bucket.  With a window of more than 1, no more
 * than 0.3 of a cycle's work is spread at once.  When the cycle is late, all
 * that waits is done; with each of its phases all begin at 0. */

/* alq_gc_get_bucket -- work that is due n minor heaps from now
 *
 * out      Receives millionths of a whole major cycle; 0 from n = window_size
 *          on.
 *
 * Errors   ALQ_EINVAL  d or out is NULL, or n is negative
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_gc_get_bucket(const struct alq_domain *d,
                                          intptr_t n, intptr_t *out);

/* alq_gc_get_credit -- work done in advance
 *
 * By alq_gc_major_slice, or in passing.  Automatic slices spend it before they
 * work.
 *
 * Returns  Millionths of a whole major cycle, at most 1000000; 0 if d is NULL.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API intptr_t alq_gc_get_credit(const struct alq_domain *d);

/* alq_gc_huge_fallback_count -- how often small pages had to do for huge ones
 *
 * From 1 GiB on, the heap grows in huge pages (2 MiB) where the system allows
 * programs to ask for them; before, as the first access to one takes a
 * millisecond, it does not.  With H=1 in ALIQUOTPARAM it does from the start,
 * and memory without them counts as no memory: then this is always 0.
 *
 * Returns  The count; 0 if d is NULL.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API uint64_t alq_gc_huge_fallback_count(const struct alq_domain *d);

#ifdef __cplusplus
}
#endif
#endif
