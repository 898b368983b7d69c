/* trace_side.h -- what a trace tells beside its events        [wire/side.h] */
#ifndef ALQI_GLUE_TRACING_TRACE_SIDE_H
#define ALQI_GLUE_TRACING_TRACE_SIDE_H

#include <aliquot/trace.h>

#include "glue/join/native.h"
#include "wire/ctf.h"

/* Where records go, and the running number of those with a text. */
struct alqi_glue_trace_side {
    struct alqi_ctf_writer *writer;
    uint64_t *n_texts;
    /* of the records that are put */
    uint64_t time_us;
};

enum alq_status
alqi_glue_trace_side_cmdline(const struct alqi_glue_trace_side *side);

enum alq_status
alqi_glue_trace_side_module(const struct alqi_glue_trace_side *side,
                            const struct alqi_glue_module *module);

/* A thread, or what the trace has in place of threads. */
enum alq_status
alqi_glue_trace_side_thread(const struct alqi_glue_trace_side *side,
                            uint64_t index, uint64_t tid, const char *name);

/* The allocations that follow are that thread's. */
enum alq_status
alqi_glue_trace_side_switch(const struct alqi_glue_trace_side *side,
                            uint64_t index);

/* A rate, by its number; then: the allocations that follow are of it. */
enum alq_status
alqi_glue_trace_side_rate(const struct alqi_glue_trace_side *side,
                          unsigned number, double per_word);
enum alq_status
alqi_glue_trace_side_rate_switch(const struct alqi_glue_trace_side *side,
                                 unsigned number);

enum alq_status
alqi_glue_trace_side_end(const struct alqi_glue_trace_side *side,
                         const struct alq_trace_counts *counts,
                         const struct alq_memprof_counts *sampled);

#endif
