/* guard.c -- <aliquot/limit.h>: what others see of an interrupted task
 *
 * A guard is a mutex that an interrupted task leaves broken: states whole and
 * broken; unlock by a task that is interrupted breaks it, and only
 * alq_guard_mend() makes it whole again. An undo log is a stack of steps, run
 * backwards or forgotten. A thread that waits for a guard has given up its
 * domain, so that the holder may collect. */
#include <stdlib.h>

#include <aliquot/domain.h>
#include <aliquot/limit.h>

#include "base/base.h"

enum { STEPS_MIN = 8 };

/* ---- guards ------------------------------------------------------------- */

/* Locks the guard. If it is held, the domain is given up while the thread
 * waits. On any status but ALQ_OK the guard is not locked. */
static enum alq_status
take(struct alq_domain *d, struct alq_guard *guard)
{
    struct alq_thread *away;
    enum alq_status status;

    if (pthread_mutex_trylock(&guard->lock) == 0)
        return ALQ_OK;
    if (d == NULL) { /* of malloc: there is nothing to give up */
        pthread_mutex_lock(&guard->lock);
        return ALQ_OK;
    }
    away = alq_blocking_begin(d);
    if (away == NULL)
        return ALQ_EINVAL;
    pthread_mutex_lock(&guard->lock);
    status = alq_blocking_end(away);
    if (status != ALQ_OK)
        pthread_mutex_unlock(&guard->lock);
    return status;
}

/* A broken guard is let go at once: what it protects is not to be seen. */
enum alq_status
alq_guard_lock(struct alq_domain *d, struct alq_guard *guard)
{
    enum alq_status status;

    if (guard == NULL)
        return ALQ_EINVAL;
    status = take(d, guard);
    if (status != ALQ_OK || !guard->is_broken)
        return status;
    pthread_mutex_unlock(&guard->lock);
    return ALQ_ESTATE;
}

void
alq_guard_unlock(struct alq_domain *d, struct alq_guard *guard)
{
    if (alq_is_interrupted(d))
        guard->is_broken = 1;
    pthread_mutex_unlock(&guard->lock);
}

/* The guard is locked and whole afterwards: the caller has put right what it
 * protects. */
enum alq_status
alq_guard_mend(struct alq_domain *d, struct alq_guard *guard)
{
    enum alq_status status;

    if (guard == NULL)
        return ALQ_EINVAL;
    status = take(d, guard);
    if (status == ALQ_OK)
        guard->is_broken = 0;
    return status;
}

/* ---- undoing ------------------------------------------------------------ */

/* Requires room before the step is done: the caller notes it first, and
 * ALQ_ENOMEM means that nothing was changed. */
enum alq_status
alq_undo_note(struct alq_undo *log,
              void (*undo)(struct alq_domain *d, void *arg), void *arg)
{
    size_t size;
    struct alq_undo_step *steps;

    if (log == NULL || undo == NULL)
        return ALQ_EINVAL;
    if (log->n == log->size) {
        size = log->size == 0 ? STEPS_MIN : 2 * log->size;
        steps = realloc(log->steps, size * sizeof *steps);
        if (steps == NULL)
            return ALQ_ENOMEM;
        log->steps = steps;
        log->size = size;
    }
    log->steps[log->n++] = (struct alq_undo_step){undo, arg};
    return ALQ_OK;
}

void
alq_undo_keep(struct alq_undo *log)
{
    free(log->steps);
    *log = (struct alq_undo){NULL, 0, 0};
}

/* Steps run masked: a limit must not interrupt the undoing. */
void
alq_undo_all(struct alq_domain *d, struct alq_undo *log)
{
    int was = alq_mask_begin(d);

    while (log->n > 0) {
        struct alq_undo_step step = log->steps[--log->n];

        step.undo(d, step.arg);
    }
    alq_undo_keep(log);
    alq_mask_end(d, was);
}
