/* trace_side.h -- what a trace tells beside its events        [wire/side.h] */
#ifndef ALQI_GLUE_TRACING_TRACE_SIDE_H
#define ALQI_GLUE_TRACING_TRACE_SIDE_H

#include <aliquot/trace.h>

#include "glue/join/native.h"
#include "wire/side.h"
#include "wire/side_write.h"

enum { ALQI_GLUE_CMDLINE_BYTES = ALQI_SIDE_LINE_BYTES };

/* The words of the command line, each behind its NUL; returns their bytes: of
 * what fits. */
size_t alqi_glue_trace_cmdline_read(char words[ALQI_GLUE_CMDLINE_BYTES]);

enum alq_status
alqi_glue_trace_side_cmdline(const struct alqi_side_writer *side);

enum alq_status
alqi_glue_trace_side_module(const struct alqi_side_writer *side,
                            const struct alqi_glue_module *module);

/* The line of a snapshot: its file, without the directory, which is the
 * trace's, and when it was taken, as the file tells it. */
void alqi_glue_trace_side_snapshot(struct alqi_side_line *line,
                                   const char *name, uint64_t wall_us);

enum alq_status alqi_glue_trace_side_end(
    const struct alqi_side_writer *side, const struct alq_trace_counts *counts,
    const struct alq_memprof_counts *sampled, uint64_t dropped_marks);

#endif
