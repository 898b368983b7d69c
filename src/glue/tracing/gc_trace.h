/* gc_trace.h -- records the collector's events into a file  [wire/gctrace.h]
 *
 * A listener like any other.  A process has one heap, so one recording. */
#ifndef ALQI_GLUE_TRACING_GC_TRACE_H
#define ALQI_GLUE_TRACING_GC_TRACE_H

#include <aliquot/observe.h>

/* By ALIQUOT_GC_TRACE, if it is set: the process's first heap.  Failure is
 * said. */
void alqi_glue_gc_trace_begin(struct alq_domain *d);

#endif
