/* domain_spawn.c -- a domain on a thread of its own
 *
 * The parent sets the domain up, so that the parent knows whether that
 * worked; the domain begins BLOCKING, and the new thread comes back to it.
 * The child's struct holds the argument, then the result, as a transfer
 * root of the heap (root.h).  It is freed when both have let it go: the
 * parent by join or drop, the thread by its end.
 *
 * Keeps .inv.own: No thread runs the domain until the new one does.
 * Keeps .inv.fork: In a forked child the thread of a lost heap just ends.
 */
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

/* States of a child, by compare and swap or exchange of `state`:
 *
 *   LABS (it runs) -> OVER -> freed by the parent, which drops it
 *   LABS -> DROPPED (by the parent) -> freed by the child's thread */
enum { LABS, OVER, DROPPED };

struct alq_child {
    struct alqi_heap_transfer_root
        transfer_root;          /* the argument, then the result: a root */
    struct alqi_domain *domain; /* valid while LABS */
    alq_domain_fn *fn;
    void *data;     /* the function's */
    uint32_t state; /* atomic, a futex */
};

/* Frees the struct.  The argument or result in it is no root any more. */
static void
child_free(struct alq_child *child)
{
    alqi_heap_transfer_root_remove(&child->transfer_root);
    free(child);
}

/* Writes the argument or the result.  The root is the heap's own: a young value
 * there is no longer its domain's alone (.inv.private). */
static void
transfer_root_write(struct alqi_domain *d, struct alq_child *child, alq_value v)
{
    alqi_heap_escape(d->heap);
    child->transfer_root.value = v;
}

/* ---- the child's thread ------------------------------------------------- */

/* The child's thread: runs the function in the domain, ends the domain, and
 * lets the struct go.
 *
 * .pair.child  run() -> alqi_heap_join(), by the state: the result.  run() and
 *              alqi_heap_child_drop() -> the second of them, which frees the
 *              struct: what the first did with it.
 *
 * A function that returns in a blocking section has left the domain: the result
 * may have moved meanwhile, so it is lost, and the thread comes back to end the
 * domain.  Frames of the function are gone however it left them.  In a forked
 * child whose heap is lost nobody waits for the thread, and all stays as it is
 * (.inv.fork). */
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
    if (d->heap->life.is_lost)
        return NULL;
    if (alqi_heap_thread_domain() != d) { /* in a blocking section */
        v = ALQ_NULL;
        d->threads.first.frames = NULL;
        alqi_heap_thread_enter(&d->threads.first);
    }
    d->pub.frames = NULL;
    transfer_root_write(d, child, v);
    alqi_heap_thread_wait_alone(d);
    alqi_heap_domain_end(d);
    if (__atomic_exchange_n(&child->state, OVER, __ATOMIC_SEQ_CST) == DROPPED)
        child_free(child);
    else
        alqi_plat_wake(&child->state, UINT32_MAX);
    return NULL;
}

/* Starts the child's thread, detached: the child's struct says when it is
 * over. */
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

/* Starts the child's domain; if memory is short, once more after full
 * collections.  A lack of slots is no lack of memory: collecting would not
 * help. */
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

/* The parent's thread enters the domain to end it, and leaves its own domain
 * meanwhile. */
void
alqi_heap_spawn_undo(struct alqi_domain *by, struct alqi_domain *d)
{
    struct alq_thread *self = alqi_heap_thread_leave(by);

    alqi_heap_thread_enter(&d->threads.first);
    alqi_heap_domain_end(d);
    alqi_heap_thread_enter(self);
}

/* ---- the parent --------------------------------------------------------- */

/* Starts a child.  The argument becomes a root before anything that may
 * collect; hard builds collect there to show it. */
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
        alqi_heap_spawn_undo(by, child->domain);
        goto fail_start;
    }
    *out = child;
    return ALQ_OK;

fail_start:
    child_free(child);
    return status;
}

/* Waits for the child outside of the parent's domain, so that stops need not
 * wait for the parent; then the result, which stays a root until the child is
 * dropped (.pair.child). */
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

/* The parent lets the child go: it frees the struct if the thread is done with
 * it, else leaves that to the thread (.pair.child). */
void
alqi_heap_child_drop(struct alq_child *child)
{
    uint32_t runs = LABS;

    if (!__atomic_compare_exchange_n(&child->state, &runs, DROPPED, false,
                                     __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        child_free(child);
}
