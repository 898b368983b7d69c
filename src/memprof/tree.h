/* tree.h -- a thread's set of profiles of thread trees: tree.c
 *
 * The calling thread is the set's, but where a comment says otherwise. */
#ifndef ALQI_MEMPROF_TREE_H
#define ALQI_MEMPROF_TREE_H

#include <stdbool.h>

#include <aliquot/memprof.h>

#include "memprof/engine.h"

/* Puts p into the thread's set, by p's flags; false: busy. */
bool alqi_tree_claim(struct alqi_memprof_thread *t, struct alq_profile *p);
/* Stops p, or the thread's own when p is NULL. */
enum alq_status alqi_tree_stop(struct alqi_memprof_thread *t,
                               struct alq_profile *p);
/* Whether p is in the set, or, for NULL, a sampling one of the thread's own. */
bool alqi_tree_has(const struct alqi_memprof_thread *t,
                   const struct alq_profile *p);
/* Detaches from the profiles that are stopped. */
void alqi_tree_prune_locked(struct alqi_memprof_thread *t);
/* Detaches from all of them, at the thread's end. */
void alqi_tree_leave_all(struct alqi_memprof_thread *t);
/* In an unprepared child, for a thread that is not there: takes no lock. */
void alqi_tree_fork_reset(struct alqi_memprof_thread *t);

#endif
