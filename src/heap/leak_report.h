/* leak_report.h -- what a program forgot, told when it can do no more about it
 *
 * With W=1 in ALIQUOTPARAM, on stderr. */
#ifndef ALQI_HEAP_LEAK_H
#define ALQI_HEAP_LEAK_H

#include "heap/state.h"

/* A domain ends: its boxed roots, ranges and scanners. */
void alqi_heap_leak_domain(const struct alqi_domain *d);

/* The heap ends: globals, pins, children that nobody dropped. */
void alqi_heap_leak_heap(const struct alqi_heap *heap);

#endif
