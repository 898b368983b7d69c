/* minor.h -- the minor heap of a domain, and emptying it */
#ifndef ALQI_HEAP_MINOR_H
#define ALQI_HEAP_MINOR_H

#include "heap/state.h"

/* Memory for the minor heap, of d->minor_bytes; false: there is none. */
bool alqi_heap_minor_open(struct alqi_domain *d);
void alqi_heap_minor_drop(struct alqi_domain *d);

/* Pools that promotion of so many bytes may need, at the most. */
size_t alqi_heap_minor_need(uintptr_t young_bytes);

/* Moves all that lives out of the minor heap.  Afterwards it is empty, and
 * closed: there is no room in it. */
void alqi_heap_minor_collect(struct alqi_domain *d);

/* Opens the empty minor heap for so many bytes, a multiple of chunks. */
void alqi_heap_minor_begin(struct alqi_domain *d, uintptr_t bytes);

static inline bool
alqi_heap_minor_is_empty(const struct alqi_domain *d)
{
    return (uintptr_t)d->pub.young_ptr == d->run_end;
}

#endif
