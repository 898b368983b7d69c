/* param_state.h -- parameters that are in force, and the hard limit */
#ifndef ALQI_HEAP_PARAM_STATE_H
#define ALQI_HEAP_PARAM_STATE_H

#include <stdbool.h>

#include <aliquot/gc.h>

/* ALIQUOTPARAM; each value within its range.  Changes in stops. */
struct alqi_heap_tuning {
    struct alq_gc_control control; /* its minor_heap_size is of new domains */
    intptr_t initial_words;        /* memory made ready when the heap begins */
    intptr_t domains_max;          /* as the program or ALIQUOTPARAM asks */
    intptr_t force_huge;           /* 1: huge pages or no memory */
    intptr_t verify;               /* 1: at the end of each cycle */
    intptr_t cleans_up;            /* 1: when the process exits */
    intptr_t warns;                /* 1: of leaks, leak_report.h */
    intptr_t record_log2;          /* of the words of a recording's buffer:
                                      glue/tracing/gc_trace.c */
    bool has_minor_words; /* ALIQUOTPARAM sets control.minor_heap_size */
};

/* The hard limit of the heap: limit_heap.h. */
struct alqi_heap_bound {
    size_t limit_bytes; /* SIZE_MAX: none; changes in stops */
    size_t
        reserve_bytes;   /* below the limit, given up with a status; likewise */
    size_t wanted_bytes; /* atomic; minor heaps are opened so small that they
                          * leave these: alloc.c */
};

#endif
