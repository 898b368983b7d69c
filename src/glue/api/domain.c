/* domain.c -- <aliquot/domain.h>: spawned domains, threads, atomic fields, fork
 *
 * Each call checks its arguments, then whether the calling thread may call at
 * all, and goes down to src/heap. Nothing is kept here.
 *
 * A thread's states: without a domain, attached (alq_thread_attach), running
 * it, or in a blocking section (alq_blocking_begin), where its domain may
 * collect without it. */
#include <aliquot/domain.h>

#include "glue/join/profiler.h"
#include "glue/api/rule.h"
#include "heap/alloc.h"
#include "heap/write_barrier.h"
#include "heap/domain.h"
#include "heap/event.h"
#include "heap/domain_spawn.h"
#include "heap/domain_thread.h"

struct alq_domain *
alq_domain_self(void)
{
    return (struct alq_domain *)alqi_heap_thread_domain();
}

uint64_t
alq_domain_id(const struct alq_domain *d)
{
    return d == NULL ? 0 : ((const struct alqi_domain *)d)->id;
}

/* ALQ_OK: the calling thread runs the domain, is in no callback of the
 * collector, and the process is no forked child whose other threads are missing
 * (is_lost). */
static enum alq_status
is_run(struct alq_domain *d)
{
    if (d == NULL)
        return ALQ_EINVAL;
    return alqi_heap_thread_runs(d) &&
                   !alqi_heap_domain(d)->heap->life.is_lost &&
                   !alqi_heap_event_is_inside(alqi_heap_domain(d))
               ? ALQ_OK
               : ALQ_ESTATE;
}

/* ---- spawning ----------------------------------------------------------- */

/* A wrong argument is told before a wrong state. */
enum alq_status
alq_domain_spawn(struct alq_domain *d, alq_domain_fn *fn, alq_value arg,
                 void *data, const struct alq_domain_config *config,
                 struct alq_child **out)
{
    static const struct alq_domain_config defaults;
    enum alq_status status = is_run(d);

    if (config == NULL)
        config = &defaults;
    if (fn == NULL || out == NULL || !alqi_heap_domain_is_config(config))
        return ALQ_EINVAL;
    if (status != ALQ_OK)
        return status;
    return alqi_heap_spawn(alqi_heap_domain(d), fn, arg, data, config, out);
}

/* A child may be joined several times: its result stays until the handle is
 * dropped. */
enum alq_status
alq_domain_join(struct alq_domain *d, struct alq_child *child,
                alq_value *result)
{
    enum alq_status status = is_run(d);
    alq_value unused;

    if (child == NULL)
        return ALQ_EINVAL;
    if (status != ALQ_OK)
        return status;
    return alqi_heap_join(alqi_heap_domain(d), child,
                          result == NULL ? &unused : result);
}

void
alq_child_drop(struct alq_child *child)
{
    if (child != NULL)
        alqi_heap_child_drop(child);
}

/* ---- threads ------------------------------------------------------------ */

/* `blocks` marks the section as the caller's own: the end refuses a thread that
 * has left its domain for another reason. */
struct alq_thread *
alq_blocking_begin(struct alq_domain *d)
{
    if (is_run(d) != ALQ_OK)
        return NULL;
    __atomic_store_n(&alqi_heap_domain(d)->threads.running->blocks, 1,
                     __ATOMIC_RELAXED);
    return alqi_heap_thread_leave(alqi_heap_domain(d));
}

/* May wait for the domain. The exchange lets the first of two calls win. */
enum alq_status
alq_blocking_end(struct alq_thread *thread)
{
    if (thread == NULL)
        return ALQ_EINVAL;
    if (alqi_heap_thread_domain() != NULL)
        return ALQ_EBUSY;
    if (thread->domain->heap->life.is_lost ||
        __atomic_exchange_n(&thread->blocks, 0, __ATOMIC_RELAXED) == 0)
        return ALQ_ESTATE;
    alqi_heap_thread_enter(thread);
    return ALQ_OK;
}

/* Waits until no other thread runs the domain. */
enum alq_status
alq_thread_attach(struct alq_domain *d, struct alq_thread **out)
{
    struct alq_thread *thread;

    if (d == NULL || out == NULL)
        return ALQ_EINVAL;
    if (alqi_heap_thread_domain() != NULL)
        return ALQ_EBUSY;
    if (alqi_heap_domain(d)->heap->life.is_lost)
        return ALQ_ESTATE;
    thread = alqi_heap_thread_add(alqi_heap_domain(d));
    if (thread == NULL)
        return ALQ_ENOMEM;
    *out = thread;
    return ALQ_OK;
}

/* A thread in a callback may not leave: the profiler's state of it is in use.
 * In a finaliser or alarm its own struct is. A spawned domain keeps its first
 * thread, whose end is the domain's. */
enum alq_status
alq_thread_detach(struct alq_thread *thread)
{
    struct alqi_domain *d;

    if (thread == NULL)
        return ALQ_EINVAL;
    d = alqi_heap_thread_domain();
    if (d == NULL || d->threads.running != thread || d->heap->life.is_lost ||
        alqi_glue_profiled_is_inside(d) || alqi_heap_event_is_inside(d))
        return ALQ_ESTATE;
    if ((d->threads.is_spawned && thread == &d->threads.first) ||
        thread->n_calls > 0)
        return ALQ_EBUSY;
    alqi_heap_thread_remove(thread);
    return ALQ_OK;
}

struct alq_thread *
alq_thread_self(struct alq_domain *d)
{
    return is_run(d) == ALQ_OK ? alqi_heap_domain(d)->threads.running : NULL;
}

/* Polls first, so that a request is served even if no other thread waits. */
enum alq_status
alq_thread_yield(struct alq_domain *d)
{
    enum alq_status status = is_run(d);

    if (status != ALQ_OK)
        return status;
    alq_poll(d);
    alqi_heap_thread_yield(alqi_heap_domain(d));
    return ALQ_OK;
}

/* ---- atomic fields ------------------------------------------------------ */

/* Whether the block has such a field with a value in it. */
static bool
is_field(const struct alq_domain *d, alq_value block, uintptr_t i)
{
    return d != NULL && alq_is_block(block) && i < alq_wosize(block) &&
           alq_tag(block) < ALQ_TAG_NO_SCAN;
}

/* An exchange is a compare-and-exchange that is repeated: the write barrier
 * needs the old value. */
alq_value
alq_field_exchange(struct alq_domain *d, alq_value block, uintptr_t i,
                   alq_value v)
{
    alq_value old;

    ALQI_RULE_RUN(d);
    if (!is_field(d, block, i))
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    old = alq_field_acquire(block, i);
    while (!alq_field_compare_exchange(d, block, i, &old, v))
        continue;
    return old;
}

int
alq_field_compare_exchange(struct alq_domain *d, alq_value block, uintptr_t i,
                           alq_value *expected, alq_value v)
{
    ALQI_RULE_RUN(d);
    if (expected == NULL || !is_field(d, block, i))
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL) != ALQ_NULL;
    return alqi_heap_compare_exchange(alqi_heap_domain(d), block, i, expected,
                                      v);
}

/* ---- fork --------------------------------------------------------------- */

enum alq_status
alq_fork(struct alq_domain *d, int *pid)
{
    enum alq_status status = is_run(d);

    if (pid == NULL)
        return ALQ_EINVAL;
    return status == ALQ_OK ? alqi_heap_domain_fork(alqi_heap_domain(d), pid)
                            : status;
}
