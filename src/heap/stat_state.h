/* stat_state.h -- counters of a domain, and of all of them */
#ifndef ALQI_HEAP_STAT_STATE_H
#define ALQI_HEAP_STAT_STATE_H

#include <aliquot/gc.h>

/* Counters alone, 64 bits each: stat_sums.h adds them word by word.
 *
 * .inv.grow  Each counter only grows, seen from outside of the call that
 * changes it: a difference of two readings is what came in between.  The one
 * level, counts.heap_bytes, is 0 here: alqi_heap_stat_counts fills it in. */
struct alqi_heap_sums {
    struct alq_gc_counts counts;
    uint64_t slack_words; /* by which slots exceed their promoted blocks; they
                           * are in counts.promoted_words */
    uint64_t cost_words;  /* that the pace takes for allocated: memory that
                           * custom blocks hold outside, blocks of the
                           * library's own */
    uint64_t live_words;  /* of work in weak phases, beside marking */
};

/* The heap's.  Changes in stops; read at any time word by word. */
struct alqi_heap_totals {
    struct alqi_heap_sums ended;   /* of domains that ended and were adopted */
    struct alqi_heap_sums at_stop; /* of all domains, as of the last stop */
    uint64_t top_words;            /* the largest size of the heap */
};

#endif
