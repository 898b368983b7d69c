/* task.h -- a task's frame, and how it was left [doc/design/limit.md]
 *
 * Frames are not on the stack: a task that is left by an exception or a longjmp
 * of the program's leaves its frame whole.
 *
 *   open --task returns, or its limits leave it--> closed
 *     |----exception, pthread_exit: guard--------> dropped, at once
 *     `----longjmp: next look at frames----------> dropped, then
 *
 * .inv.at    `at` is where the stack of alq_limit_run begins.  Of frames on the
 *            thread's own stack those that lie below the one that looks, or
 *            where it is, were left: stacks grow down.
 * .inv.call  What alq_limit_run has put there stands there as long as it runs:
 *            where it does not the frame was left, and others were called. */
#ifndef ALQI_GLUE_JOIN_TASK_H
#define ALQI_GLUE_JOIN_TASK_H

#include "limit/limit.h"

struct alqi_glue_task {
    struct alqi_limit_frame f;         /* first: limit's pointer is ours */
    struct alq_domain *domain;         /* NULL: malloc's                 */
    uintptr_t at;                      /* .inv.at */
    const struct alqi_glue_call *call; /* on that stack */
    /* The thread's limits of the other kind, and what stood there. */
    struct alqi_limit_thread *other;
    uint32_t other_foreign;
    bool is_first; /* of its kind: it is the thread's own */
    /* the next spare one; valid while the frame is spare */
    struct alqi_glue_task *next;
};

/* Drops frames that the calling thread has left. */
void alqi_glue_task_drop_left(struct alqi_limit_thread *t);
/* A subject's `left`: the frame of a task within another serves again. */
void alqi_glue_task_left(struct alqi_limit_frame *f);

/* ---- guard.c, guard.S ---------------------------------------------------- */

/* What is called when the frame of alqi_glue_guarded() is left. */
struct alqi_glue_guard {
    /* called at most once, with the guard itself */
    void (*left)(struct alqi_glue_guard *guard);
};

/* fn(arg); if it is left by an exception, or by the end of its thread, `left`
 * is called once the stack above is gone, where an unwinder is there to tell.
 */
enum alq_status alqi_glue_guarded(enum alq_status (*fn)(void *arg), void *arg,
                                  struct alqi_glue_guard *guard);

#endif
