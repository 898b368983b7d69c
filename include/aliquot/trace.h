/* trace.h -- what a heap allocates, promotes and frees, as a file
 *
 * A trace is a sample of the heap's blocks: when each was allocated, by whom,
 * when it was promoted and when it died.  The file is memtrace's: memtrace's
 * own tools and viewer open it, and aliquot-report(1) and its like.  It is made
 * of the calls of <aliquot/memprof.h> alone, beside whatever profiles the
 * program starts.
 *
 * With MEMTRACE=file in the environment a trace begins with the process's first
 * heap, at MEMTRACE_RATE samples a word (1e-6 when that is not set), and ends
 * with the heap or the process; "%p" in the name is the process's number.
 * MEMTRACE_FORMAT=3 gives each domain a stream of its own, MEMTRACE_HOLDERS=1
 * tells who holds the blocks that are left (config.holders).  The variables are
 * then taken out of the environment, so that programs it runs are not traced.
 * What goes wrong is said on stderr, and the program runs on. */
#ifndef ALIQUOT_TRACE_H
#define ALIQUOT_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#ifdef __cplusplus
extern "C" {
#endif

struct alq_trace_config {
    const char *path;        /* overwritten if it exists                  */
    double rate;             /* samples per word, 0 < rate <= 1           */
    size_t callstack_frames; /* innermost kept; 0 or SIZE_MAX: no limit   */
    unsigned format;         /* 0 or 2: one stream, all domains in order of
                                time, which every release of memtrace
                                opens; 3: a stream for each domain        */
    const char *context;     /* a text that the trace shows; NULL: none   */
    uint64_t seed;           /* of the sampling; 0: from the system       */
    int holders;             /* 1: at its end, who holds the blocks, as said
                                of alq_trace_start_with; 0: not           */
};

/* What a trace has, and what it lacks; each only grows. */
struct alq_trace_counts {
    uint64_t allocations;
    uint64_t promotions;
    uint64_t collections;
    uint64_t n_samples; /* words that the allocations stand for */
    uint64_t dropped;   /* of all three: after the file could not be written,
                           or there was no memory                          */
    uint64_t bytes;     /* of the file so far, whole packets               */
};

/* alq_trace_start -- traces a domain's allocations into a file
 *
 * As alq_trace_start_with, of a config that has path and rate alone.
 *
 * Errors   As alq_trace_start_with.
 * Threads  The domain's; not within a callback.
 * GC       As alq_trace_start_with. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_trace_start(struct alq_domain *d, const char *path, double rate);

/* alq_trace_start_with -- traces a domain's allocations into a file
 *
 * Those of d and of the domains that it, or they, spawn from then on.  The
 * profile that does it stands beside the program's own (ALQ_MEMPROF_BESIDE).
 * Frames have the names that alq_stack_describe finds for them.
 *
 * Whole packets are written: when one is full, and a second after it began if
 * the heap is in use then.  What has been written is readable whatever happens
 * to the process.  When the file cannot be written any more, that is said on
 * stderr, once; the program goes on, and what the file lacks is counted.  A
 * forked child does not write into the file.
 *
 * With holders a snapshot of the heap is written when the trace ends, as
 * alq_heap_snapshot does, into a file beside it: its name, and ".heap" behind
 * that.  There each block of the trace that lives has its number, so a reader
 * knows what leads to it from a root; the trace names the file, and the moment
 * that both tell.  aliquot-report(1) with --leaks, and the viewer, read it with
 * the trace; aliquot-heap(1) reads it alone, and aliquot-record(1) with --leaks
 * puts what it tells into the trace.  Callbacks that are due run first.  The
 * snapshot is taken in alq_trace_stop, by the domain that the calling thread
 * runs; in alq_domain_drop of the last domain, before it ends, without a copy
 * of the process: what is no root any more holds nothing, so a program that
 *   removes its roots first calls alq_trace_stop before it does;
 *   in exit, by the domain that the calling thread runs, before all handlers of
 *   atexit that were there when the first trace with holders began.
 * Other domains are stopped: one whose thread waits outside of a blocking
 * section is waited for, in exit too.
 * There is none when the process ends otherwise, or in a forked child; when the
 * thread that ends the trace runs no domain, or is in the collector; when the
 * last domain ends as a spawned one; when the file cannot be written.  All but
 * the first are said on stderr, and the trace is whole all the same.
 *
 * d        The domain of the calling thread; NULL: the malloc heap, all of it,
 *          in a program that runs under libaliquot-preload.so; not with
 *          holders.
 * config   Copied.
 *
 * Errors   ALQ_EINVAL   config or its path is NULL, or a member is out of range
 *          ALQ_EBUSY    a trace is under way in this process; another one
 *                       writes the file; ALQ_MEMPROF_BESIDE_MAX profiles, or
 *                       ALQ_LISTENERS_MAX listeners, are there already
 *          ALQ_EIO      the file cannot be made or written; errno says why
 *          ALQ_ENOMEM   no memory
 *          ALQ_ENOHEAP  as alq_memprof_start
 *          On any error nothing has started.
 * Threads  The domain's; not within a callback.
 * GC       Does not allocate on the heap; may collect, as alq_memprof_start.
 * Source   spec memtrace 10 to 13. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_trace_start_with(struct alq_domain *d,
                     const struct alq_trace_config *config);

/* alq_trace_stop -- ends the trace; the end of the heap, or of the process,
 * does, too
 *
 * out      Receives what the trace has.  May be NULL.
 *
 * Errors   ALQ_ENOTRUN  there is no trace
 *          ALQ_EIO      the file could not be written to its end; errno says
 *                       why.  The trace has ended all the same.
 * Threads  Any; not within a callback.
 * GC       Runs callbacks that are due, as alq_profile_stop; with holders
 *          collects, as alq_heap_snapshot. */
ALQ_API enum alq_status alq_trace_stop(struct alq_trace_counts *out);

/* alq_trace_flush -- what has been sampled so far is in the file when it
 * returns
 *
 * Errors   ALQ_ENOTRUN  there is no trace
 *          ALQ_EIO      as alq_trace_stop
 * Threads  Any; not from a signal handler.
 * GC       No effect: callbacks that are still due are not in the file. */
ALQ_API enum alq_status alq_trace_flush(void);

/* alq_trace_mark -- a phase of that name begins in the trace
 *
 * alq_mark (control.h) calls it where the library is there, for programs that
 * do not care whether they are traced.
 *
 * name     Copied; of more than 127 bytes the first ones.
 *
 * Errors   ALQ_EINVAL   name is NULL or empty
 *          ALQ_ENOTRUN  there is no trace
 *          ALQ_ETOOBIG  the trace has 4096 marks already; the number of others
 *                       is in it
 *          ALQ_EIO      the file cannot be written any more
 * Threads  Any; not from a signal handler.
 * GC       No effect. */
ALQ_API enum alq_status alq_trace_mark(const char *name);

/* alq_trace_count -- what the trace has so far, written or not
 *
 * Errors   ALQ_EINVAL   out is NULL
 *          ALQ_ENOTRUN  there is no trace
 * Threads  Any; not from a signal handler.
 * GC       No effect. */
ALQ_API enum alq_status alq_trace_count(struct alq_trace_counts *out);

#ifdef __cplusplus
}
#endif
#endif
