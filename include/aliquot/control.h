/* control.h -- a running program is asked about its managed heap, and switched;
 * and a program of malloc switches its recorder itself
 *
 * A process that is served answers aliquot-top(1), aliquot-status(1) and
 * aliquot-snapshot(1), and begins, stops and changes the rate of a trace
 * (trace.h) when aliquot-start(1), -stop(1) and -rate(1) say so.
 *
 * With ALIQUOT_CONTROL=1 in the environment it is served from its first heap
 * on; with a name instead of 1, under that name, in which "%p" is the process's
 * number; with 0 it is not, even where aliquot record --control asks.  What
 * goes wrong is said on stderr, and the program runs on.
 *
 * One thread serves, named "aliquot".  It sleeps until it is asked, has all
 * signals blocked, runs no domain, and is no reason for the process to live.
 * What must be done by a domain's thread is done at the domain's next
 * allocation or poll: so a trace begins where the program next allocates, and
 * while it does not, nothing is lost.  Nobody is heard but the process's own
 * user and root: the kernel tells who asks.
 *
 * A forked child is served, too, from its first allocation on, under a name of
 * its own if the name has "%p" or is the standard one.
 *
 * The calls alq_recorder_... are of the program's malloc, where the preload is
 * loaded: by aliquot record, or by LD_PRELOAD and ALIQUOT.  With off,control in
 * ALIQUOT it waits for the first start.  Elsewhere, and in a process that was
 * attached to, each is ALQ_ENOHEAP and does nothing.
 *
 * A program that is not to need libaliquot defines ALQ_RECORDER_WEAK before it
 * includes this header, is built position-independent, and looks whether a call
 * is there before it makes it: if (alq_recorder_stop != NULL). */
#ifndef ALIQUOT_CONTROL_H
#define ALIQUOT_CONTROL_H

#include <stddef.h>

#include <aliquot/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* alq_control_start -- the process is served from now on
 *
 * name     Of the socket: a path, or '@' and an abstract name, "%p" in it being
 *          the process's number.  NULL: the standard one, which is found by
 *          the process's number.  Copied.
 *
 * Errors   ALQ_EINVAL  name begins otherwise, or is longer than 107 bytes
 *          ALQ_EBUSY   it is served already, or until another thread's
 *                      alq_control_stop returns; or the name is taken
 *          ALQ_EIO     the socket or the thread cannot be made; errno says why
 * Threads  Any; not from a signal handler.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_control_start(const char *name);

/* alq_control_stop -- it is no longer served; what it does goes on
 *
 * A trace that was begun from outside goes on, and ends with the heap or by
 * alq_trace_stop.
 *
 * Returns  When the thread that serves has ended.
 *
 * Errors   ALQ_ENOTRUN  it is not served, or another thread stops it
 * Threads  Any; not from a signal handler.
 * GC       No effect. */
ALQ_API enum alq_status alq_control_stop(void);

#ifdef ALQ_RECORDER_WEAK
#pragma weak alq_recorder_start
#pragma weak alq_recorder_stop
#pragma weak alq_recorder_end
#pragma weak alq_recorder_forget
#pragma weak alq_recorder_mark
#endif

/* alq_recorder_start -- allocations of this process are sampled from now on
 *
 * Where they are sampled already, at another rate from now on.  A recording
 * that was stopped goes on.
 *
 * rate     Samples per word, up to 1; 0: as it was, or as ALIQUOT says.
 * out      Name of a recording that is to be made, with %e, %p and the others
 *          of aliquot-preload(7).  NULL: as ALIQUOT says, or the standard one.
 *
 * Errors   ALQ_EINVAL   rate is not from 0 to 1, or out is empty or too long
 *          ALQ_ENOHEAP  no preload is loaded, or it is off for good
 *          ALQ_ESTATE   in a callback, or in a handler that interrupted the
 *                       profiler
 *          ALQ_ENOTSUP  every block is recorded (--exact), which is for the
 *                       whole of a recording
 *          ALQ_EBUSY    there is a recording, and out is not NULL; or another
 *                       thread ends one
 *          ALQ_EIO      the recording cannot be made: stderr says why
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_recorder_start(double rate, const char *out);

/* alq_recorder_stop -- nothing is sampled until the next start
 *
 * Frees of what is in the recording go on being recorded.
 *
 * Errors   ALQ_ENOHEAP, ALQ_ESTATE, ALQ_ENOTSUP  As alq_recorder_start.
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_recorder_stop(void);

/* alq_recorder_end -- the recording is whole, and no longer this process's
 *
 * A start makes another one, whose blocks are those allocated from then on:
 * what is alive now is in none.
 *
 * Errors   ALQ_ENOHEAP, ALQ_ESTATE, ALQ_ENOTSUP  As alq_recorder_start.
 *          ALQ_ENOTRUN  there is no recording
 *          ALQ_EBUSY    a thread is in the profiler for longer than some
 *                       milliseconds, in a callback: nothing is recorded any
 *                       more, and the call is to be made again; or another
 *                       thread ends it
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_recorder_end(void);

/* alq_recorder_forget -- the recording begins anew
 *
 * Its file is removed, and one of the same name is begun, at the same rate:
 * what is alive now is not in it, and so no leak.
 *
 * Errors   ALQ_ENOHEAP, ALQ_ESTATE, ALQ_ENOTSUP, ALQ_EIO  As
 *          alq_recorder_start.
 *          ALQ_ENOTRUN, ALQ_EBUSY  As alq_recorder_end.
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_recorder_forget(void);

/* alq_recorder_mark -- a phase of that name begins in the recording
 *
 * name     Copied; of more than 127 bytes the first ones.
 *
 * Errors   ALQ_EINVAL   name is NULL or empty
 *          ALQ_ENOHEAP  no preload is loaded, or it is off for good
 *          ALQ_ENOTRUN  there is no recording
 *          ALQ_ESTATE   in a callback, or in a handler that interrupted the
 *                       profiler
 *          ALQ_ENOTSUP  the process has forbidden itself system calls
 *          ALQ_ETOOBIG  the recording has 4096 marks already
 *          ALQ_EIO      there is no room in the file
 *          The last four are counted in the recording: reports say how many.
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_recorder_mark(const char *name);

/* alq_mark -- a phase of that name begins
 *
 * In the recording of malloc where the preload is loaded, in the trace of the
 * managed heap where libaliquot is there, in both where both are; elsewhere it
 * is two loads and two tests.  This header is all it takes: nothing is linked.
 * Reports and the viewer have what was allocated from one mark to the next, as
 * aliquot-report(1) says of --phase.
 *
 * name     As alq_recorder_mark.
 *
 * Threads  Any; not from a signal handler.
 * GC       No effect. */
static inline void
alq_mark(const char *name)
{
    enum alq_status (*of_malloc)(const char *name);
    enum alq_status (*of_heap)(const char *name);

#if defined(__x86_64__) /* as alq_pool_recorder in pool.h */
    __asm__(".weak alq_recorder_mark\n\t"
            "movq alq_recorder_mark@GOTPCREL(%%rip), %0\n\t"
            ".weak alq_trace_mark\n\t"
            "movq alq_trace_mark@GOTPCREL(%%rip), %1"
            : "=r"(of_malloc), "=r"(of_heap));
#else
    extern enum alq_status alq_recorder_mark(const char *name)
        __attribute__((weak));
    extern enum alq_status alq_trace_mark(const char *name)
        __attribute__((weak));

    of_malloc = alq_recorder_mark;
    of_heap = alq_trace_mark;
#endif
    if (of_malloc != NULL)
        (void)of_malloc(name);
    if (of_heap != NULL)
        (void)of_heap(name);
}

#ifdef __cplusplus
}
#endif
#endif
