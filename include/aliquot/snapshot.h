/* snapshot.h -- all blocks of the heap at a moment, and what holds them
 *
 * A snapshot is a file with each block (its address, size, tag or custom
 * operations), the blocks that its fields lead to, and the roots: frames with
 * their functions, globals by address, ranges, boxed roots, pins, scanners,
 * words of conservative threads, what finalisers hold.  aliquot-heap(1) reads
 * it: who holds how much, and the path from a root to any block.
 *
 * Weak references and the keys of ephemerons hold nothing and are not in it; an
 * ephemeron's data are.  Blocks that have died since the last cycle may be, led
 * to by no root: collect before, and they are not. */
#ifndef ALIQUOT_SNAPSHOT_H
#define ALIQUOT_SNAPSHOT_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    ALQ_SNAPSHOT_STOP = 1 << 0,   /* written while all domains stand still */
    ALQ_SNAPSHOT_COLLECT = 1 << 1 /* alq_gc_full_major comes first         */
};

/* alq_heap_snapshot -- writes the graph of the heap's blocks into a file
 *
 * All domains stop.  The roots are read, and the process is copied; then the
 * domains run on, and the copy writes the file, while the caller waits as in a
 * blocking section.  For a million blocks the domains stand still for some
 * milliseconds.
 *
 * The copy is a forked process of one thread that runs nothing of the
 * program's: no handlers of pthread_atfork, no signal handlers.  It closes all
 * descriptors but fd, and its end raises no SIGCHLD: only a wait with __WCLONE
 * or __WALL sees it.  Memory that the program writes to meanwhile is there
 * twice until the copy ends: at the worst, all of it.
 *
 * The file is written in the stop instead, which lasts some ten times as long,
 * if flags say so, if the process can have no further child or no memory for
 * one, or if it was built with a sanitizer.  The file says which it was.  Then
 * fd must not be a pipe or socket that a domain of this heap reads.  A program
 * that a filter of system calls would kill for its clone(2) says
 * ALQ_SNAPSHOT_STOP.
 *
 * fd       Where the file goes, from its position on; one that blocks.  It is
 *          left open.
 * flags    ALQ_SNAPSHOT_STOP, ALQ_SNAPSHOT_COLLECT, or 0.
 *
 * Errors   ALQ_EINVAL  d is NULL, fd negative, or flags has other bits
 *          ALQ_ESTATE  the calling thread does not run the domain, or is in the
 *                      collector, or the process was forked without the threads
 *                      of the others
 *          ALQ_ENOMEM  no memory for the roots
 *          ALQ_EIO     the file was not written to its end; errno says why:
 *                      ECHILD if the copy was killed, or another wait took it,
 *                      ETIMEDOUT if it could write nothing for a minute
 *          With ALQ_SNAPSHOT_COLLECT also what alq_gc_full_major returns.
 *          Behind an error the file may have a part of the snapshot, which
 *          aliquot-heap(1) refuses.
 * Threads  The domain's.  Another thread of the domain may run it meanwhile.
 * GC       Collects: others may, while the caller waits. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_heap_snapshot(struct alq_domain *d,
                                                      int fd, unsigned flags);

/* alq_tag_name_set -- what blocks of a tag are called, in snapshots and
 * censuses
 *
 * tag      0 to 245, one of the program's own.
 * name     Stays where it is, and as it is, for the rest of the process; NULL:
 *          none.  Custom blocks are called by their operations' name.
 *
 * Errors   ALQ_EINVAL  tag is above 245
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_tag_name_set(unsigned tag, const char *name);

#ifdef __cplusplus
}
#endif
#endif
