/* trace.h -- the trace under way: begun by the environment, switched, looked at
 */
#ifndef ALQI_GLUE_TRACING_TRACE_H
#define ALQI_GLUE_TRACING_TRACE_H

#include <stdbool.h>

#include <aliquot/heap.h>
#include <aliquot/trace.h>

#include "glue/tracing/tracing.h"

/* aliquot record, or MEMTRACE, the first time: d is the process's first
 * domain. */
void alqi_glue_trace_begin(struct alq_domain *d);

/* The calling thread is about to end its domain, the heap's last one: a trace
 * that is to have a snapshot takes it now. */
void alqi_glue_trace_heap_ends(void);

/* A trace's sampling stops; frees go on being told.  ALQ_ENOTRUN: there is no
 * trace; ALQ_EBUSY: another thread switches it.  Any thread. */
enum alq_status alqi_glue_trace_pause(void);

/* A paused trace goes on, from d and what d spawns on, at `rate`; 0: at the
 * rate before the pause.  Other domains may join.  Errors: ALQ_ENOTRUN, and
 * those of alq_memprof_start.  *is_busy: another thread switches the trace, and
 * nothing was done.  By the thread that runs d. */
enum alq_status alqi_glue_trace_resume(struct alq_domain *d, double rate,
                                       bool *is_busy);

/* Domains that the trace under way does not sample may join. */
void alqi_glue_trace_widen(void);

/* The domain is sampled, too, if it may be.  False: another thread switches
 * the trace; to be asked again.  By the thread that runs d. */
bool alqi_glue_trace_join(struct alq_domain *d);

struct alqi_glue_trace_look {
    bool is_malloc, is_sampling;
    double rate; /* of now, or of before it stopped */
    struct alq_trace_counts counts;
    struct alq_memprof_counts sampled;
    char path[ALQI_TRACING_PATH_BYTES]; /* absolute; "": not known */
};

/* False: there is none under way.  Any thread. */
bool alqi_glue_trace_look(struct alqi_glue_trace_look *out);

/* "%p" becomes the process's number, "%e" the program, unless that is NULL, and
 * "%%" a percent sign; false: the name is too long. */
bool alqi_glue_trace_name(const char *name, const char *program, char *path,
                          size_t n_path);

/* Why alq_trace_start_with failed, errno being `error`. */
const char *alqi_glue_trace_why(enum alq_status status, int error);

#endif
