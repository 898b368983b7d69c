/* root.h -- the roots of a domain                           [aliquot/root.h] */
#ifndef ALQI_HEAP_ROOT_H
#define ALQI_HEAP_ROOT_H

#include "heap/state.h"

typedef void alqi_heap_visit_fn(void *arg, alq_value *slot);

/* Shows each slot.  `young_only`: boxed roots that hold no young value may be
 * left out; then none holds a young one when the call returns, since visit is
 * taken to replace them. */
void alqi_heap_roots_visit(struct alqi_domain *d, bool young_only,
                           alqi_heap_visit_fn *visit, void *arg);

struct alq_root *alqi_heap_root_new(struct alqi_domain *d, alq_value v);
void alqi_heap_root_set(struct alqi_domain *d, struct alq_root *root,
                        alq_value v);
void alqi_heap_root_drop(struct alqi_domain *d, struct alq_root *root);
void alqi_heap_roots_drop(struct alqi_domain *d);

#endif
