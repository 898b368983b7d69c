/* alloc.h -- the slow ways of allocation */
#ifndef ALQI_HEAP_ALLOC_H
#define ALQI_HEAP_ALLOC_H

#include "heap/state.h"

/* Notes why something failed, unless a reason stands there; ALQ_NULL. */
alq_value alqi_heap_fail(struct alqi_domain *d, enum alq_status why);

/* Does what is asked for, then moves young_ptr down by `words` (1 to
 * ALQI_HEAP_CLASS_WORDS_MAX, the sum over the blocks); 0 and a status: no
 * memory, or the client says no (observe.h). */
uintptr_t alqi_heap_room(struct alqi_domain *d, const uintptr_t *headers,
                         unsigned n_blocks, size_t words);

/* A block with the header, of colour 0 and at least one field, its fields not
 * set; or ALQ_NULL and a status. */
alq_value alqi_heap_alloc(struct alqi_domain *d, uintptr_t header);

/* The same for a custom block: data are zeros. */
alq_value alqi_heap_alloc_custom(struct alqi_domain *d,
                                 const struct alq_custom_ops *ops,
                                 size_t wosize);

/* The block without fields. */
alq_value alqi_heap_atom(void);

/* Does what is asked for. */
void alqi_heap_poll(struct alqi_domain *d);

#endif
