/* leftover.h -- what a program forgot, told when it can do no more about it
 *
 * With W=1 in ALIQUOTPARAM, on stderr. */
#ifndef ALQI_HEAP_LEFTOVER_H
#define ALQI_HEAP_LEFTOVER_H

#include "heap/state.h"

/* A domain ends: its boxed roots, ranges and scanners. */
void alqi_heap_leftover_domain(const struct alqi_domain *d);

/* The heap ends: globals, pins, children that nobody dropped. */
void alqi_heap_leftover_heap(const struct alqi_heap *heap);

#endif
