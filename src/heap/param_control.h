/* param_control.h -- struct alq_gc_control: what is in force, and changing it
 */
#ifndef ALQI_HEAP_PARAM_CONTROL_H
#define ALQI_HEAP_PARAM_CONTROL_H

#include "heap/state.h"

/* The parameters of a heap that begins: the defaults, then config, then
 * ALIQUOTPARAM. False: no memory for what they ask. */
bool alqi_heap_control_start(struct alqi_heap *heap,
                             const struct alq_domain_config *config);

/* The size of the minor heap of a domain that begins, in the heap that there
 * is; 0: minor_size.h chooses. */
uintptr_t alqi_heap_control_minor_bytes(const struct alqi_heap *heap,
                                        const struct alq_domain_config *config);

void alqi_heap_control_get(struct alqi_domain *d, struct alq_gc_control *out);

/* No value is negative, the policy is one.  False: no memory for the minor
 * heap, whose size stays. */
bool alqi_heap_control_set(struct alqi_domain *d,
                           const struct alq_gc_control *control);

#endif
