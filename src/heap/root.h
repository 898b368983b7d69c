/* root.h -- the roots of a domain                           [aliquot/root.h] */
#ifndef ALQI_HEAP_ROOT_H
#define ALQI_HEAP_ROOT_H

#include "heap/state.h"

/* A value on its way to a domain that was spawned, then on its way back. */
struct alqi_heap_transfer_root {
    alq_value value;
    struct alqi_heap_transfer_root *next;
    struct alqi_heap_transfer_root **link;
};

typedef void alqi_heap_visit_fn(void *arg, alq_value *slot);

/* Visits each slot of the roots that are not a domain's: globals, what is on
 * its way to and from domains, what is pinned and what pinned young blocks
 * hold. */
void alqi_heap_roots_visit_common_stw(struct alqi_heap *heap,
                                      alqi_heap_visit_fn *visit, void *arg);
/* The lock of globals and transfer roots, over a fork. */
void alqi_heap_roots_lock(void);
void alqi_heap_roots_unlock(void);

/* Globals alone; what is on its way alone. */
void alqi_heap_roots_visit_globals(struct alqi_heap *heap,
                                   alqi_heap_visit_fn *visit, void *arg);
void alqi_heap_roots_visit_transfer(struct alqi_heap *heap,
                                    alqi_heap_visit_fn *visit, void *arg);
/* The numbers of globals and of transfer roots. */
void alqi_heap_roots_count_common(const struct alqi_heap *heap,
                                  size_t *n_globals, size_t *n_transfer_roots);

/* Visits each slot of a domain's roots.  `young_only`: boxed roots that hold no
 * young value may be left out.  When the call returns, no boxed root holds a
 * young value but for pinned blocks, since visit is taken to replace the
 * values. */
void alqi_heap_roots_visit(struct alqi_domain *d, bool young_only,
                           alqi_heap_visit_fn *visit, void *arg);

struct alq_root *alqi_heap_root_new(struct alqi_domain *d, alq_value v);
void alqi_heap_root_set(struct alqi_domain *d, struct alq_root *root,
                        alq_value v);
void alqi_heap_root_drop(struct alqi_domain *d, struct alq_root *root);
/* Where the library checks: it is the domain's, and was not dropped. */
bool alqi_heap_root_is_used(const struct alqi_domain *d, struct alq_root *root);
/* Globals and transfer roots are the heap's.  Any thread may call: a transfer
 * root may outlive the heap, and a thread that holds one may outlive its
 * domain. */
void alqi_heap_global_add(struct alqi_heap *heap, struct alq_global *global);
void alqi_heap_global_remove(struct alq_global *global);
void alqi_heap_transfer_root_add(struct alqi_heap *heap,
                                 struct alqi_heap_transfer_root *root);
void alqi_heap_transfer_root_remove(struct alqi_heap_transfer_root *root);
/* The heap ends: transfer roots that are left hold ALQ_NULL. */
void alqi_heap_transfer_roots_end(struct alqi_heap *heap);

void alqi_heap_roots_drop(struct alqi_domain *d);

#endif
