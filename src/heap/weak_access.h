/* weak_access.h -- what a program does with weak arrays and ephemerons
 *
 * A field is numbered as in the block (weak.h), and the block has it.  While
 * marking goes on a value that is read this way, and not only looked at,
 * becomes reachable: it is darkened.  While the heap is being cleaned a dead
 * key is found empty, and so are the data that it kept alive: nobody sees that
 * cleaning is not finished. */
#ifndef ALQI_HEAP_WEAK_ACCESS_H
#define ALQI_HEAP_WEAK_ACCESS_H

#include "heap/weak.h"

/* A new block of n_keys empty keys; or ALQ_NULL and a status. */
alq_value alqi_heap_weak_new(struct alqi_domain *d,
                             enum alqi_heap_weak_kind kind, size_t n_keys);

/* A key or the data; ALQ_NULL: empty. */
alq_value alqi_heap_weak_get(struct alqi_domain *d, alq_value block,
                             enum alqi_heap_weak_kind kind, uintptr_t field);

/* Whether a key or the data hold a value.  Unlike alqi_heap_weak_get, the call
 * does not make that value reachable. */
bool alqi_heap_weak_check(struct alqi_domain *d, alq_value block,
                          enum alqi_heap_weak_kind kind, uintptr_t field);

/* A new block with the same fields; integers, custom and static blocks as they
 * are.  ALQ_NULL: empty, or with a status. */
alq_value alqi_heap_weak_get_copy(struct alqi_domain *d, alq_value block,
                                  enum alqi_heap_weak_kind kind,
                                  uintptr_t field);

/* ALQ_NULL empties. */
void alqi_heap_weak_set(struct alqi_domain *d, alq_value block,
                        enum alqi_heap_weak_kind kind, uintptr_t field,
                        alq_value v);

/* n keys; the two may overlap.  Of weak arrays none becomes reachable. */
void alqi_heap_weak_blit(struct alqi_domain *d, enum alqi_heap_weak_kind kind,
                         alq_value from, uintptr_t from_field, alq_value to,
                         uintptr_t to_field, size_t n);

#endif
