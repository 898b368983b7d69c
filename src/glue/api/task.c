/* task.c -- <aliquot/limit.h>: tasks, masks, clean-ups
 *
 * A task runs in a frame of limit/limit.h, of a domain's heap or of the
 * thread's malloc (d is NULL). States of a frame stand in join/task.h.
 * alq_limit_run() drops frames that were left, takes a frame (run), opens it,
 * calls the task under a guard (run_open), closes it and gives the frame back.
 *
 * What a thread keeps for its tasks, `own`, is made at its first one and freed
 * by a key's destructor. Frames within the outermost ones come from a list of
 * spare ones, so that a task in a task seldom allocates. Functions that a task
 * may be left through are ALQI_GLUE_LEAVABLE. */
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>

#include <aliquot/limit.h>

#include "base/base.h"
#include "glue/join/limiter.h"
#include "glue/join/malloc_limiter.h"
#include "glue/join/task.h"
#include "heap/domain.h"
#include "heap/domain_thread.h"
#include "plat/stack.h"

/* The limits of the calling thread's malloc; NULL: no frame is open. */
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

/* Calls a task that may be left by longjmp. The function is not inlined, so
 * that no register holds a value of its caller's when the task is left. */
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

/* Prepares what a limit needs of the whole process: the count of malloc's live
 * bytes. */
static enum alq_status
ready(const struct alq_domain *d, struct alqi_limit_thread *t,
      const struct alq_limits *limits)
{
    return d == NULL ? alqi_glue_malloc_limiter_ready(
                           (struct alqi_glue_malloc_limiter *)t, limits)
                     : ALQ_OK;
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

/* ---- frames -------------------------------------------------------------- */

/* What a thread that has run tasks keeps for the next ones, till it ends. */
struct own {
    /* the thread's limits of each kind, open or not */
    struct alqi_glue_malloc_limiter malloc;
    struct alqi_glue_limiter heap;
    struct alqi_glue_task firsts[2]; /* the outermost frame of each */
    struct alqi_glue_task *spare;    /* of those within             */
};

static _Thread_local struct own *own __attribute__((tls_model("initial-exec")));

static struct {
    pthread_once_t once;
    pthread_key_t key;
    /* written once, by key_make() */
    bool has_key;
} threads = {.once = PTHREAD_ONCE_INIT};

static void task_drop(struct alqi_limit_thread *t);

/* The end of a thread. Frames that it ended within are dropped; those of a heap
 * only if the thread still runs the domain. */
static void
own_free(void *arg)
{
    struct own *o = arg;
    struct alqi_glue_task *k;

    while (o->malloc.t.innermost != NULL)
        task_drop(&o->malloc.t);
    while (o->heap.t.innermost != NULL &&
           alqi_heap_thread_domain() == o->heap.d)
        task_drop(&o->heap.t);
    while ((k = o->spare) != NULL) {
        o->spare = k->next;
        free(k);
    }
    own = NULL;
    free(o);
}

static void
key_make(void)
{
    threads.has_key = pthread_key_create(&threads.key, own_free) == 0;
}

/* False: no memory. A thread without a key would never free it, so there is
 * none then. */
static bool
own_make(void)
{
    if (ALQI_LIKELY(own != NULL))
        return true;
    pthread_once(&threads.once, key_make);
    if (!threads.has_key)
        return false;
    own = calloc(1, sizeof *own);
    if (own == NULL || pthread_setspecific(threads.key, own) == 0)
        return own != NULL;
    free(own);
    own = NULL;
    return false;
}

/* A frame from malloc, whose allocation is charged to no task. NULL: no
 * memory. */
static ALQI_NOINLINE struct alqi_glue_task *
task_more(void)
{
    bool was = alqi_glue_malloc_limiter_hold();
    struct alqi_glue_task *k = malloc(sizeof *k);

    alqi_glue_malloc_limiter_release(was);
    return k;
}

/* The frame of a new task: the thread's own for the outermost one of each heap.
 * NULL: no memory. */
static struct alqi_glue_task *
task_new(struct alq_domain *d, const struct alqi_limit_thread *t)
{
    bool is_first = t->innermost == NULL;
    struct alqi_glue_task *k = is_first ? &own->firsts[d != NULL] : own->spare;

    if (k == NULL)
        k = task_more();
    else if (!is_first)
        own->spare = k->next;
    if (k == NULL)
        return NULL;
    k->domain = d;
    k->is_first = is_first;
    return k;
}

/* Gives a frame back to the spare ones; the outermost ones stay where they
 * are. */
static void
task_free(struct alqi_glue_task *k)
{
    if (k->is_first)
        return;
    k->next = own->spare;
    own->spare = k;
}

void
alqi_glue_task_left(struct alqi_limit_frame *f)
{
    task_free((struct alqi_glue_task *)f);
}

/* Puts back what the frame changed in the thread's other limits, and moves the
 * trigger to the next frame's. The last one takes the limit trigger down.
 * Requires a closed frame. */
static void
task_end(struct alqi_glue_task *k)
{
    struct alqi_limit_thread *t = k->f.thread;
    struct alq_domain *d = k->domain;

    if (k->other != NULL)
        k->other->foreign = k->other_foreign;
    task_free(k);
    place(d, t);
    forget_status(d, t);
    if (t->innermost != NULL)
        return;
    if (d == NULL)
        alqi_glue_malloc_limiter_end((struct alqi_glue_malloc_limiter *)t);
    else
        alqi_glue_limiter_end((struct alqi_glue_limiter *)t);
}

/* Closes a frame that was left, without running its clean-ups. */
static void
task_drop(struct alqi_limit_thread *t)
{
    struct alqi_glue_task *k = (struct alqi_glue_task *)t->innermost;

    t->cleanups = k->f.cleanups; /* what was registered since is gone */
    alqi_limit_drop(&k->f);
    task_end(k);
}

/* ---- frames that were left ------------------------------------------------
 */

struct alqi_glue_call {
    struct alqi_glue_guard guard; /* first */
    /* the frame; this struct is on the stack of alq_limit_run() */
    struct alqi_glue_task *k;
    alq_task_fn *task;
    void *arg;
};

static void call_left(struct alqi_glue_guard *guard);

/* .inv.call  That stack may be another function's by now. */
__attribute__((no_sanitize("address", "thread"))) static bool
is_called(const struct alqi_glue_task *k)
{
    return k->call->k == k && k->call->guard.left == call_left;
}

/* .inv.at  On other stacks nobody knows. */
static bool
is_left(const struct alqi_glue_task *k, uintptr_t here)
{
    uintptr_t start, end;

    if (ALQI_LIKELY(k->at > here))
        return !is_called(k);
    return alqi_plat_stack_bounds(&start, &end) && k->at >= start;
}

/* A clean-up that is registered since a frame stands is not older than that. */
static void
drop_left_at(struct alqi_limit_thread *t, uintptr_t here)
{
    if (t->innermost == NULL ||
        !is_left((const struct alqi_glue_task *)t->innermost, here))
        return;
    do
        task_drop(t);
    while (t->innermost != NULL &&
           is_left((const struct alqi_glue_task *)t->innermost, here));
    if ((uintptr_t)t->cleanups <= here)
        t->cleanups = t->innermost != NULL ? t->innermost->cleanups : NULL;
}

void
alqi_glue_task_drop_left(struct alqi_limit_thread *t)
{
    drop_left_at(t, (uintptr_t)__builtin_frame_address(0));
}

/* The guard's call when the stack of the task is gone: drops its frame and
 * those within. */
static void
call_left(struct alqi_glue_guard *guard)
{
    struct alqi_glue_task *k = ((struct alqi_glue_call *)guard)->k;
    struct alqi_limit_thread *t = k->f.thread;
    bool is_last;

    t->subject->root_restore(t->heap, k->f.mark);
    do {
        is_last = t->innermost == &k->f;
        task_drop(t);
    } while (!is_last);
}

/* What the guard calls: the task, with a place to be left to if it asks for
 * one. */
static ALQI_GLUE_LEAVABLE enum alq_status
call(void *arg)
{
    const struct alqi_glue_call *c = arg;
    struct alqi_glue_task *k = c->k;

    return (k->f.flags & ALQ_LIMIT_UNWINDS) != 0
               ? call_unwinding(k->domain, &k->f, c->task, c->arg)
               : c->task(k->domain, c->arg);
}

/* ---- running --------------------------------------------------------------
 */

/* Runs the task in its open frame, and closes the frame. */
static ALQI_GLUE_LEAVABLE enum alq_status
run_open(struct alqi_glue_call *c, enum alq_status status,
         struct alq_outcome *out)
{
    struct alqi_glue_task *k = c->k;
    bool is_reached;

    k->other = others(k->domain);
    if (k->other != NULL)
        k->other_foreign = k->other->foreign++;
    place(k->domain, k->f.thread);
    if (status == ALQ_OK)
        status = alqi_glue_guarded(call, c, &c->guard);
    is_reached = alqi_limit_close(&k->f, status, out);
    task_end(k);
    return is_reached ? ALQ_ELIMIT : status;
}

/* Opens a frame and runs the task in it. A limit that is reached at once is an
 * open frame, too, with its outcome. */
static ALQI_NOINLINE ALQI_GLUE_LEAVABLE enum alq_status
run(struct alq_domain *d, struct alqi_limit_thread *t,
    const struct alq_limits *limits, alq_task_fn *task, void *arg,
    struct alq_outcome *out)
{
    struct alqi_glue_call c = {{call_left}, task_new(d, t), task, arg};
    enum alq_status status = c.k != NULL ? ready(d, t, limits) : ALQ_ENOMEM;

    if (status == ALQ_OK) {
        c.k->at = (uintptr_t)__builtin_frame_address(0);
        c.k->call = &c;
        status = alqi_limit_open(t, &c.k->f, limits, out != NULL);
    }
    if (status == ALQ_OK || status == ALQ_ELIMIT)
        return run_open(&c, status, out);
    if (c.k != NULL)
        task_free(c.k);
    return status; /* the frame is not open */
}

/* A frame of malloc. Refused where a limit or the profiler is at work in this
 * thread. */
static ALQI_GLUE_LEAVABLE enum alq_status
run_malloc(const struct alq_limits *limits, alq_task_fn *task, void *arg,
           struct alq_outcome *out)
{
    struct alqi_glue_malloc_limiter *l = alqi_glue_malloc_limiter_of();
    enum alq_status status = ALQ_OK;

    if (l != NULL && !alqi_glue_malloc_limiter_opens(l))
        return ALQ_ESTATE;
    if (l == NULL) {
        l = &own->malloc;
        status = alqi_glue_malloc_limiter_start(l);
    }
    if (status != ALQ_OK)
        return status;
    status = run(NULL, &l->t, limits, task, arg, out);
    if (l->t.innermost == NULL)
        alqi_glue_malloc_limiter_end(l);
    return status;
}

/* A frame of the domain's heap; the thread's limits begin with the first
 * one. */
static ALQI_GLUE_LEAVABLE enum alq_status
run_heap(struct alq_domain *d, const struct alq_limits *limits,
         alq_task_fn *task, void *arg, struct alq_outcome *out)
{
    struct alqi_glue_limiter *l = alqi_glue_limiter_of(alqi_heap_domain(d));
    enum alq_status status;

    if (l == NULL) {
        l = &own->heap;
        alqi_glue_limiter_start(l, alqi_heap_domain(d));
    }
    status = run(d, &l->t, limits, task, arg, out);
    if (l->t.innermost == NULL)
        alqi_glue_limiter_end(l);
    return status;
}

/* `here` is taken in this function: frames below it were left. Frames of both
 * heaps are looked at, as one longjmp may leave both. */
ALQI_GLUE_LEAVABLE enum alq_status
alq_limit_run(struct alq_domain *d, const struct alq_limits *limits,
              alq_task_fn *task, void *arg, struct alq_outcome *out)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct alqi_limit_thread *t = limits_of_malloc();

    if (task == NULL || !alqi_limit_is_right(limits))
        return ALQ_EINVAL;
    if (ALQI_UNLIKELY(t != NULL))
        drop_left_at(t, here);
    if (d != NULL && alqi_heap_thread_domain() != alqi_heap_domain(d))
        return ALQ_ESTATE;
    t = d != NULL ? limits_of(d) : others(d);
    if (ALQI_UNLIKELY(t != NULL))
        drop_left_at(t, here);
    if (!own_make())
        return ALQ_ENOMEM;
    return d == NULL ? run_malloc(limits, task, arg, out)
                     : run_heap(d, limits, task, arg, out);
}

/* Runs the task again and again, interrupted at its first poll, its second, and
 * so on, until it comes to its end. */
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

/* Returns what alq_mask_end() is to be given, so that masks nest. */
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

/* Code of others is not left by longjmp; a count, as such parts nest. */
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

/* Without a task the clean-up is never run by a limit; alq_cleanup_pop() may
 * still run it. */
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

/* The clean-up runs masked. It is taken off the thread's list where it is the
 * innermost one. */
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

/* A resource, while its scope runs. */
struct releasing {
    struct alqi_glue_guard guard; /* first */
    /* registered while the scope runs */
    struct alq_cleanup cleanup;
    struct alq_domain *domain;
    alq_task_fn *scope;
    void (*release)(struct alq_domain *d, void *arg);
    void *arg;
};

static void
release_it(struct alq_domain *d, void *arg)
{
    const struct releasing *r = arg;

    r->release(d, r->arg);
}

/* The scope was left: clean-ups that it registered are gone with it, and the
 * resource is released. */
static void
scope_left(struct alqi_glue_guard *guard)
{
    struct releasing *r = (struct releasing *)guard;
    struct alqi_limit_thread *t = limits_of(r->domain);

    if (t != NULL)
        t->cleanups = &r->cleanup;
    alq_cleanup_pop(r->domain, &r->cleanup, 1);
}

static ALQI_GLUE_LEAVABLE enum alq_status
scope_call(void *arg)
{
    const struct releasing *r = arg;

    return r->scope(r->domain, r->arg);
}

/* Acquires masked, so that no limit comes between the acquisition and its
 * clean-up. */
ALQI_GLUE_LEAVABLE enum alq_status
alq_with_resource(struct alq_domain *d, alq_task_fn *acquire,
                  alq_task_fn *scope,
                  void (*release)(struct alq_domain *d, void *arg), void *arg)
{
    struct releasing r = {.guard = {scope_left},
                          .domain = d,
                          .scope = scope,
                          .release = release,
                          .arg = arg};
    enum alq_status status;
    int was;

    if (acquire == NULL || scope == NULL || release == NULL)
        return ALQ_EINVAL;
    was = alq_mask_begin(d);
    status = acquire(d, arg);
    if (status == ALQ_OK)
        alq_cleanup_push(d, &r.cleanup, release_it, &r);
    alq_mask_end(d, was);
    if (status != ALQ_OK)
        return status;
    status = alqi_glue_guarded(scope_call, &r, &r.guard);
    alq_cleanup_pop(d, &r.cleanup, 1);
    return status;
}
