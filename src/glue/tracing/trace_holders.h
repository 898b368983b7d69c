/* trace_holders.h -- who holds the sampled blocks, as a snapshot beside the
 * trace [doc/design/trace.md] */
#ifndef ALQI_GLUE_TRACING_TRACE_HOLDERS_H
#define ALQI_GLUE_TRACING_TRACE_HOLDERS_H

#include "glue/tracing/tracing.h"

/* Behind the trace's own name. */
#define ALQI_TRACE_HOLDERS_SUFFIX ".heap"

/* Writes the snapshot by the domain that the calling thread runs, and names it
 * in the trace.  in_stop: without a copy of the process, as alq_heap_snapshot
 * has it. Where it cannot be written, that is said on stderr. */
void alqi_glue_trace_holders_write(struct alqi_tracing *tracing, bool in_stop);

/* Says why there is none. */
void alqi_glue_trace_holders_refuse(const struct alqi_tracing *tracing,
                                    const char *why);

#endif
