/* custom.h -- custom blocks: their finalisers, and what they hold outside
 *
 * Young ones with a finaliser or a cost stand in a table: a minor collection
 * finalises the dead and charges the others.  Old ones are finalised when they
 * are swept.  A charge is words of the major heap that would be as bad if they
 * were garbage; the pace counts them as if they had been allocated. */
#ifndef ALQI_HEAP_CUSTOM_H
#define ALQI_HEAP_CUSTOM_H

#include "heap/state.h"

/* Memory that a custom block holds outside of the heap, and its cost. */
struct alqi_heap_held {
    uint64_t bytes; /* outside of the heap, for the counters        */
    double cost_words;
    double young_share; /* of what young blocks may hold together       */
    bool is_old;        /* better allocated in the major heap            */
};

/* What it means to hold so many bytes, or `held` of `most`. */
struct alqi_heap_held alqi_heap_custom_mem(const struct alqi_domain *d,
                                           size_t bytes);
struct alqi_heap_held alqi_heap_custom_ratio(const struct alqi_domain *d,
                                             size_t held, size_t most);

/* Room for one more in the table; false: no memory. */
bool alqi_heap_custom_ready(struct alqi_domain *d);
/* For a new young block, with room in the table. */
void alqi_heap_custom_young(struct alqi_domain *d, alq_value block,
                            bool is_finalised, struct alqi_heap_held held);
/* For an old one. */
void alqi_heap_custom_charge(struct alqi_domain *d, uint64_t cost_words);

/* After promotion, with the minor heap still there. */
void alqi_heap_custom_after_minor(struct alqi_domain *self,
                                  struct alqi_domain *of);

/* Finalises what is young and frees the table, for the domain ends. */
void alqi_heap_custom_drop(struct alqi_domain *d);

#endif
