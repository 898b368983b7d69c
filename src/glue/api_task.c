/* api_task.c -- <aliquot/limit.h>: tasks, masks, clean-ups */
#include <setjmp.h>

#include <aliquot/limit.h>

#include "base/base.h"
#include "glue/limiter.h"
#include "glue/malloc_limiter.h"
#include "heap/domain.h"
#include "heap/thread.h"

static struct alqi_limit_thread *
limits_of_malloc(void)
{
    struct alqi_glue_malloc_limiter *l = alqi_glue_malloc_limiter_of();

    return l != NULL ? &l->t : NULL;
}

/* NULL: no task runs on this thread. */
static struct alqi_limit_thread *
limits_of(struct alq_domain *d)
{
    struct alqi_glue_limiter *l;

    if (d == NULL)
        return limits_of_malloc();
    l = alqi_glue_limiter_of(alqi_heap_domain(d));
    return l != NULL ? &l->t : NULL;
}

/* ---- tasks -------------------------------------------------------------- */

/* A status that a limit left in the domain ends with what was reached. */
static void
forget_status(struct alq_domain *d, const struct alqi_limit_thread *t)
{
    if (d != NULL && d->status == ALQ_ELIMIT && t->n_reached == 0)
        d->status = ALQ_OK;
}

/* Limits that nothing announces are looked for. */
static void
place(const struct alq_domain *d, struct alqi_limit_thread *t)
{
    if (d == NULL)
        alqi_glue_malloc_limiter_place((struct alqi_glue_malloc_limiter *)t);
}

static enum alq_status
finish(struct alq_domain *d, struct alqi_limit_frame *f, enum alq_status status,
       struct alq_outcome *out)
{
    struct alqi_limit_thread *t = f->thread;
    bool is_reached = alqi_limit_close(f, status, out);

    place(d, t);
    forget_status(d, t);
    return is_reached ? ALQ_ELIMIT : status;
}

/* Of its own, so that nothing of its caller's is in registers when the task is
 * left. */
static ALQI_NOINLINE ALQI_GLUE_LEAVABLE enum alq_status
call_unwinding(struct alq_domain *d, struct alqi_limit_frame *f,
               alq_task_fn *task, void *arg)
{
    jmp_buf leave;
    enum alq_status status;

    if (_setjmp(leave) != 0) {
        f->leave = NULL;
        return ALQ_ELIMIT;
    }
    f->leave = &leave;
    f->task = (uintptr_t)task;
    status = task(d, arg);
    f->leave = NULL;
    return status;
}

/* What limits need that are not exact. */
static enum alq_status
ready(struct alq_domain *d, struct alqi_limit_thread *t,
      const struct alq_limits *limits)
{
    if (d == NULL)
        return alqi_glue_malloc_limiter_ready(
            (struct alqi_glue_malloc_limiter *)t, limits);
    if (limits != NULL && limits->sampled_words != ALQ_LIMIT_NONE)
        return alqi_glue_limiter_sample(alqi_heap_domain(d), limits->seed);
    return ALQ_OK;
}

static ALQI_GLUE_LEAVABLE enum alq_status
run(struct alq_domain *d, struct alqi_limit_thread *t,
    const struct alq_limits *limits, alq_task_fn *task, void *arg,
    struct alq_outcome *out)
{
    struct alqi_limit_frame f;
    enum alq_status status = ready(d, t, limits);

    if (status == ALQ_OK)
        status = alqi_limit_open(t, &f, limits, out != NULL);
    if (status != ALQ_OK && status != ALQ_ELIMIT)
        return status; /* the frame is not open */
    place(d, t);
    if (status == ALQ_OK)
        status = (f.flags & ALQ_LIMIT_UNWINDS) != 0
                     ? call_unwinding(d, &f, task, arg)
                     : task(d, arg);
    return finish(d, &f, status, out);
}

/* The limits of the other kind of heap on this thread, whose frames must not be
 * left while a frame of this kind is open within them; NULL: there are none. */
static struct alqi_limit_thread *
others(const struct alq_domain *d)
{
    struct alqi_domain *running = d == NULL ? alqi_heap_thread_domain() : NULL;
    struct alqi_glue_limiter *l;

    if (d != NULL)
        return limits_of_malloc();
    l = running != NULL ? alqi_glue_limiter_of(running) : NULL;
    return l != NULL ? &l->t : NULL;
}

static ALQI_GLUE_LEAVABLE enum alq_status
run_guarded(struct alq_domain *d, struct alqi_limit_thread *t,
            const struct alq_limits *limits, alq_task_fn *task, void *arg,
            struct alq_outcome *out)
{
    struct alqi_limit_thread *o = others(d);
    uint32_t was = o != NULL ? o->foreign : 0;
    enum alq_status status;

    if (o != NULL)
        o->foreign = was + 1;
    status = run(d, t, limits, task, arg, out);
    if (o != NULL)
        o->foreign = was;
    return status;
}

static ALQI_GLUE_LEAVABLE enum alq_status
run_malloc(const struct alq_limits *limits, alq_task_fn *task, void *arg,
           struct alq_outcome *out)
{
    struct alqi_glue_malloc_limiter l, *open = alqi_glue_malloc_limiter_of();
    enum alq_status status;

    if (open != NULL && !alqi_glue_malloc_limiter_opens(open))
        return ALQ_ESTATE;
    if (open != NULL)
        return run_guarded(NULL, &open->t, limits, task, arg, out);
    status = alqi_glue_malloc_limiter_start(&l);
    if (status != ALQ_OK)
        return status;
    status = run_guarded(NULL, &l.t, limits, task, arg, out);
    alqi_glue_malloc_limiter_end(&l);
    return status;
}

ALQI_GLUE_LEAVABLE enum alq_status
alq_limit_run(struct alq_domain *d, const struct alq_limits *limits,
              alq_task_fn *task, void *arg, struct alq_outcome *out)
{
    struct alqi_limit_thread *t;
    struct alqi_glue_limiter l;
    enum alq_status status;

    if (task == NULL || !alqi_limit_is_right(limits))
        return ALQ_EINVAL;
    if (d == NULL)
        return run_malloc(limits, task, arg, out);
    if (alqi_heap_thread_domain() != alqi_heap_domain(d))
        return ALQ_ESTATE;
    t = limits_of(d);
    if (t != NULL)
        return run_guarded(d, t, limits, task, arg, out);
    alqi_glue_limiter_start(&l, alqi_heap_domain(d));
    status = run_guarded(d, &l.t, limits, task, arg, out);
    alqi_glue_limiter_end(&l);
    return status;
}

ALQI_GLUE_LEAVABLE enum alq_status
alq_limit_each_point(struct alq_domain *d, unsigned flags, alq_task_fn *task,
                     enum alq_status (*check)(struct alq_domain *d, void *arg,
                                              uint64_t passed),
                     void *arg, uint64_t *points)
{
    struct alq_limits limits = ALQ_LIMITS_NONE;
    struct alq_outcome out = {.cause = ALQ_LIMIT_POLLS};
    enum alq_status status = ALQ_OK, checked = ALQ_OK;

    limits.flags = flags;
    if (task == NULL || !alqi_limit_is_right(&limits))
        return ALQ_EINVAL;
    for (limits.polls = 0; out.cause == ALQ_LIMIT_POLLS && checked == ALQ_OK;
         limits.polls++) {
        out.cause = ALQ_LIMIT_NOT; /* where no task is run at all */
        status = alq_limit_run(d, &limits, task, arg, &out);
        if (check != NULL)
            checked = check(d, arg, limits.polls);
    }
    if (points != NULL)
        *points = limits.polls - 1;
    return checked != ALQ_OK ? checked : status;
}

/* ---- masks and barriers -------------------------------------------------- */

int
alq_mask_begin(struct alq_domain *d)
{
    struct alqi_limit_thread *t = limits_of(d);

    return t != NULL ? (int)alqi_limit_mask(t) : 0;
}

void
alq_mask_end(struct alq_domain *d, int was)
{
    struct alqi_limit_thread *t = limits_of(d);

    if (t != NULL)
        alqi_limit_unmask(t, (uint32_t)was);
}

int
alq_is_masked(struct alq_domain *d)
{
    const struct alqi_limit_thread *t = limits_of(d);

    return t != NULL && t->masked != 0;
}

void
alq_foreign_begin(struct alq_domain *d)
{
    struct alqi_limit_thread *t = limits_of(d);

    if (t != NULL)
        t->foreign++;
}

void
alq_foreign_end(struct alq_domain *d)
{
    struct alqi_limit_thread *t = limits_of(d);

    if (t != NULL && t->foreign > 0)
        t->foreign--;
}

/* ---- clean-ups ---------------------------------------------------------- */

void
alq_cleanup_push(struct alq_domain *d, struct alq_cleanup *c,
                 void (*run_it)(struct alq_domain *d, void *arg), void *arg)
{
    struct alqi_limit_thread *t = limits_of(d);

    *c = (struct alq_cleanup){run_it, arg, d, NULL};
    if (t == NULL)
        return;
    c->outer = t->cleanups;
    t->cleanups = c;
}

void
alq_cleanup_pop(struct alq_domain *d, struct alq_cleanup *c, int runs)
{
    struct alqi_limit_thread *t = limits_of(d);
    uint32_t was = 0;

    if (t != NULL && t->cleanups == c)
        t->cleanups = c->outer;
    if (!runs)
        return;
    if (t != NULL)
        was = alqi_limit_mask(t);
    c->run(d, c->arg);
    if (t != NULL)
        alqi_limit_unmask(t, was);
}

struct releasing {
    void (*release)(struct alq_domain *d, void *arg);
    void *arg;
};

static void
release_it(struct alq_domain *d, void *arg)
{
    const struct releasing *r = arg;

    r->release(d, r->arg);
}

ALQI_GLUE_LEAVABLE enum alq_status
alq_with_resource(struct alq_domain *d, alq_task_fn *acquire,
                  alq_task_fn *scope,
                  void (*release)(struct alq_domain *d, void *arg), void *arg)
{
    struct releasing r = {release, arg};
    struct alq_cleanup c;
    enum alq_status status;
    int was;

    if (acquire == NULL || scope == NULL || release == NULL)
        return ALQ_EINVAL;
    was = alq_mask_begin(d);
    status = acquire(d, arg);
    if (status == ALQ_OK)
        alq_cleanup_push(d, &c, release_it, &r);
    alq_mask_end(d, was);
    if (status != ALQ_OK)
        return status;
    status = scope(d, arg);
    alq_cleanup_pop(d, &c, 1);
    return status;
}
