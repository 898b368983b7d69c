/* snapshot.h -- the graph of all blocks at a moment, into a descriptor
 * [doc/design/heap-snapshot.md]
 *
 *   NONE --stop--> STOPPED --roots are gathered, the process is copied-->
 *        COPIED --the copy writes, the caller waits--> WRITTEN or FAILED
 *   STOPPED --no copy: the caller writes in the stop--> WRITTEN or FAILED
 *
 * .inv.one_moment  Roots, samples and blocks are those of one stop.
 * .inv.copy_bare   The copy takes no lock, allocates nothing, and calls neither
 *                  the program's functions nor the libc, but for memcpy and
 *                  strlen, which its process has called before.
 * .inv.no_child    The copy sends no signal when it ends, and only a wait with
 *                  __WCLONE finds it.
 * .inv.walked      Each block that is no garbage is written once: those of open
 *                  minor heaps, retained ones, those of pools, large ones. */
#ifndef ALQI_HEAP_SNAPSHOT_H
#define ALQI_HEAP_SNAPSHOT_H

#include "heap/state.h"
#include "wire/dump.h"

/* What the heap's client adds; each member may be NULL. */
struct alqi_heap_snapshot_more {
    /* Before the stop, at the file's beginning. */
    void (*head)(void *arg, struct alqi_dump_encoder *e);
    /* In the stop, of each domain, by its leader; false: no memory. */
    bool (*gather_stw)(void *arg, struct alqi_domain *of);
    /* In the copy (.inv.copy_bare), or in the stop, behind the roots. */
    void (*write)(void *arg, struct alqi_dump_encoder *e);
    void *arg;
};

/* Writes the file.  `in_stop`: without a copy of the process.  ALQ_ENOMEM, or
 * ALQ_EIO and *error, an errno; ECHILD: the copy did not end by itself;
 * ETIMEDOUT: it got nothing written for hung_ms, and was killed.  Values may
 * move. */
enum alq_status
alqi_heap_snapshot_take(struct alqi_domain *d, int fd, bool in_stop,
                        const struct alqi_heap_snapshot_more *more, int *error);

/* A minute; tests have less. */
extern unsigned alqi_heap_snapshot_hung_ms;

#endif
