/* leak_report.h -- leaks: what a program still holds when it can release it no
 * more
 *
 * With W=1 in ALIQUOTPARAM, on stderr. */
#ifndef ALQI_HEAP_LEAK_REPORT_H
#define ALQI_HEAP_LEAK_REPORT_H

#include "heap/state.h"

/* A domain ends: its boxed roots, ranges and scanners. */
void alqi_heap_leak_domain(const struct alqi_domain *d);

/* The heap ends: globals, pins, children that nobody dropped. */
void alqi_heap_leak_heap(const struct alqi_heap *heap);

#endif
