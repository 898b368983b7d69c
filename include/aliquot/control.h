/* control.h -- a running program is asked about its managed heap, and switched
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
 * its own if the name has "%p" or is the standard one. */
#ifndef ALIQUOT_CONTROL_H
#define ALIQUOT_CONTROL_H

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

#ifdef __cplusplus
}
#endif
#endif
