/* stat.h -- struct alq_gc_stats, and the words of the heap */
#ifndef ALQI_HEAP_STAT_H
#define ALQI_HEAP_STAT_H

#include "heap/state.h"

/* What the domain alone has counted until now. */
uint64_t alqi_heap_stat_minor_words(const struct alqi_domain *d);
void alqi_heap_stat_counts(const struct alqi_domain *d,
                           struct alq_gc_counts *out);

/* The heap's statistics; those of other domains are as the last stop found
 * them. */
void alqi_heap_stat_quick(struct alqi_domain *d, struct alq_gc_stats *out);
/* Stops the world, to look at each block. */
void alqi_heap_stat(struct alqi_domain *d, struct alq_gc_stats *out);

/* Pools ready for use and large blocks; notes the most that it has been. */
uint64_t alqi_heap_stat_words(struct alqi_heap *heap);

/* As text, for people; false when the stream refuses some of it. */
bool alqi_heap_stat_print(const struct alq_gc_stats *s, FILE *out);

/* The heap begins, and ends: then, or when the program exits before, it tells
 * what ALQ_GC_LOG_AT_EXIT asks for. */
void alqi_heap_stat_begin(struct alqi_heap *heap);
void alqi_heap_stat_end(struct alqi_heap *heap);

#endif
