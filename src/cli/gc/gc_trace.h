/* gc_trace.h -- what aliquot gc-trace writes
 *
 * Each reads the whole recording and writes to out. The status is that of
 * alqi_cli_gc_read. */
#ifndef ALQI_CLI_GC_GC_TRACE_H
#define ALQI_CLI_GC_GC_TRACE_H

#include <stdio.h>

#include "cli/gc/events.h"

/* Both return as alqi_cli_gc_read. */

/* Trace Event Format, as Perfetto and chrome://tracing read it. */
int alqi_cli_gc_json(struct alqi_cli_gc_events *events, FILE *out);
/* For people. */
int alqi_cli_gc_summary(struct alqi_cli_gc_events *events, FILE *out);

#endif
