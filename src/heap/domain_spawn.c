/* domain_spawn.c -- a domain on a thread of its own
 *
 * The parent sets the domain up, so that the parent knows whether that
 * worked; the domain begins BLOCKING, and the new thread comes back to it.
 * The child's struct holds the argument, then the result, as a transfer
 * root of the heap (root.h).  It is freed when both have let it go: the
 * parent by join or drop, the thread by its end.
 *
 * Keeps .inv.own: No thread runs the domain until the new one does. */
#include <pthread.h>
#include <stdlib.h>

#include "heap/alloc.h"
#include "heap/major_cycle.h"
#include "heap/domain.h"
#include "heap/root.h"
#include "heap/minor_escape.h"
#include "heap/domain_spawn.h"
#include "heap/domain_thread.h"
#include "plat/wait.h"

/* LABS -> OVER -> freed by who drops it; LABS -> DROPPED -> freed by itself */
enum { LABS, OVER, DROPPED };

struct alq_child {
    struct alqi_heap_transfer_root
        transfer_root; /* the argument, then the result: a root */
    struct alqi_domain *domain;
    alq_domain_fn *fn;
    void *data;
    uint32_t state; /* a futex */
};

static void
child_free(struct alq_child *child)
{
    alqi_heap_transfer_root_remove(&child->transfer_root);
    free(child);
}

/* The heap's own root: a young value there is no longer its domain's alone. */
static void
transfer_root_write(struct alqi_domain *d, struct alq_child *child, alq_value v)
{
    alqi_heap_escape(d->heap);
    child->transfer_root.value = v;
}

/* ---- the child's thread ------------------------------------------------- */

static void *
run(void *arg)
{
    struct alq_child *child = arg;
    struct alqi_domain *d = child->domain;
    alq_value v;

    alqi_heap_thread_enter(&d->threads.first);
    v = child->transfer_root.value;
    child->transfer_root.value = ALQ_NULL;
    v = child->fn(&d->pub, v, child->data);
    if (alqi_heap_thread_domain() != d) { /* it left a blocking section open */
        v = ALQ_NULL;                     /* which may have moved it */
        d->threads.first.frames = NULL;   /* gone, as below */
        alqi_heap_thread_enter(&d->threads.first);
    }
    d->pub.frames = NULL; /* its own are gone, however it left them */
    transfer_root_write(d, child, v);
    alqi_heap_thread_wait_alone(d);
    alqi_heap_domain_end(d);
    if (__atomic_exchange_n(&child->state, OVER, __ATOMIC_SEQ_CST) == DROPPED)
        child_free(child);
    else
        alqi_plat_wake(&child->state, UINT32_MAX);
    return NULL;
}

static bool
thread_start(struct alq_child *child)
{
    pthread_attr_t attr;
    pthread_t thread;
    bool ok;

    if (pthread_attr_init(&attr) != 0)
        return false;
    ok = pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED) == 0 &&
         pthread_create(&thread, &attr, run, child) == 0;
    pthread_attr_destroy(&attr);
    return ok;
}

/* Once more when memory that is short was collected; slots are not. */
static enum alq_status
domain_start(const struct alq_domain_config *config, struct alqi_domain *by,
             struct alqi_domain **out)
{
    enum alq_status status = alqi_heap_domain_start(config, by, out);

    if (status != ALQ_ENOMEM || !alqi_heap_domain_has_slot(by->heap))
        return status;
    alqi_heap_collect_all(by);
    return alqi_heap_domain_start(config, by, out);
}

/* The domain has started, but gets no thread. */
static void
undo(struct alqi_domain *by, struct alqi_domain *d)
{
    struct alq_thread *self = alqi_heap_thread_leave(by);

    alqi_heap_thread_enter(&d->threads.first);
    alqi_heap_domain_end(d);
    alqi_heap_thread_enter(self);
}

/* ---- the parent --------------------------------------------------------- */

enum alq_status
alqi_heap_spawn(struct alqi_domain *by, alq_domain_fn *fn, alq_value arg,
                void *data, const struct alq_domain_config *config,
                struct alq_child **out)
{
    struct alq_child *child = calloc(1, sizeof *child);
    enum alq_status status;

    if (child == NULL)
        return ALQ_ENOMEM;
    child->fn = fn;
    child->data = data;
    transfer_root_write(by, child, arg);
    alqi_heap_transfer_root_add(by->heap, &child->transfer_root);
    if (ALQI_HEAP_IS_HARD)
        alqi_heap_collect_asked(by);
    status = domain_start(config, by, &child->domain);
    if (status != ALQ_OK)
        goto fail_start;
    if (!thread_start(child)) {
        status = ALQ_ENOMEM;
        undo(by, child->domain);
        goto fail_start;
    }
    *out = child;
    return ALQ_OK;

fail_start:
    child_free(child);
    return status;
}

enum alq_status
alqi_heap_join(struct alqi_domain *by, struct alq_child *child,
               alq_value *result)
{
    struct alq_thread *self;

    if (__atomic_load_n(&child->state, __ATOMIC_ACQUIRE) == LABS) {
        if (by == child->domain)
            return ALQ_ESTATE;
        self = alqi_heap_thread_leave(by);
        alqi_plat_wait_while(&child->state, LABS);
        alqi_heap_thread_enter(self);
    }
    *result = child->transfer_root.value;
    return ALQ_OK;
}

void
alqi_heap_child_drop(struct alq_child *child)
{
    uint32_t runs = LABS;

    if (!__atomic_compare_exchange_n(&child->state, &runs, DROPPED, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        child_free(child);
}
