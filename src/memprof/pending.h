/* pending.h -- callbacks that wait on a thread, and when they run: pending.c
 *
 * The caller is the thread, INSIDE. */
#ifndef ALQI_MEMPROF_PENDING_H
#define ALQI_MEMPROF_PENDING_H

#include "memprof/engine.h"
#include "memprof/entry.h"

/* The entry is dead and the caller its only holder: its last callback is due,
 * now or, with ALQ_MEMPROF_DEFER, at a flush. */
void alqi_pending_dead(struct alqi_memprof_thread *t,
                       struct alqi_memprof_entry *e);
/* alqi_pending_dead for a chain. */
void alqi_pending_dead_chain(struct alqi_memprof_thread *t,
                             struct alqi_memprof_entry *chain);
/* The data of the chain must go to release; the caller is its only holder. */
void alqi_pending_release_chain(struct alqi_memprof_thread *t,
                                struct alqi_memprof_entry *chain);
/* Runs what is due at once.  Mode INSIDE, not within a callback. */
void alqi_pending_run_due(struct alqi_memprof_thread *t);
/* Runs the thread's deferred alloc callbacks only. */
void alqi_pending_run_allocs(struct alqi_memprof_thread *t);
/* Runs all that the thread and its domain owe, deferred callbacks too: a
 * flush. */
void alqi_pending_run_all(struct alqi_memprof_thread *t);
/* A scanned heap's callbacks that wait for no flush, until one fails. */
void alqi_pending_run_polled(struct alqi_memprof_thread *t);
/* A scanned heap's callbacks of profiles of limits; the others stay. */
void alqi_pending_run_limits(struct alqi_memprof_thread *t);
/* A scanned heap's entry has a callback due on this thread. */
void alqi_pending_push(struct alqi_memprof_thread *t,
                       struct alqi_memprof_entry *e);
/* Passes the thread's pending callbacks to its domain, at the thread's end. */
void alqi_pending_hand_over(struct alqi_memprof_thread *t);

#endif
