/* domain_thread.c -- the threads of a domain take turns
 *
 *   a thread:  waiting -> holds the domain -> has left, or is waiting again
 *
 * A thread that leaves wakes one that waits and passes the domain on RUNNING;
 * if none waits the domain becomes BLOCKING.  A thread that yields sleeps until
 * another has had its turn (tests/models/threads.pml).
 *
 * Keeps .inv.own: The thread that holds the domain runs it.
 * Keeps .inv.frames: A thread brings its frames in, and takes them out.
 * Keeps .inv.frozen: A conservative thread notes its stack before it leaves.
 * Keeps .inv.quiet: With checks, no thread running means a raised limit. */
#include <stdlib.h>

#include "heap/write_barrier.h"
#include "heap/limit_trigger_check.h"
#include "heap/alloc_limit.h"
#include "heap/list.h"
#include "heap/observe_calls.h"
#include "heap/root_stack.h"
#include "heap/root_stale.h"
#include "heap/stop.h"
#include "heap/domain_thread.h"
#include "plat/wait.h"

__thread struct alqi_domain *alqi_heap_thread_current
    __attribute__((tls_model("initial-exec")));

/* The domain that the calling thread has left; NULL: it runs one. */
static __thread const struct alqi_domain *left
    __attribute__((tls_model("initial-exec")));

/* Whether the calling thread has left the domain, for messages of misuse. */
bool
alqi_heap_thread_is_blocking(const struct alqi_domain *d)
{
    return left == d;
}

/* After `running` was set or became NULL: limit and store_max follow
 * (.inv.quiet, glue/api/rule.h), so that the next inline call of a thread
 * without the domain takes the slow path, which reports it.  Only in builds
 * that check. */
static void
quiet_changed(struct alqi_domain *d)
{
    left = d->threads.running == NULL ? d : NULL;
    if (ALQI_CHECKS == 0)
        return;
    alqi_heap_barrier_phase(d);
    alqi_heap_alloc_limit_reset(d);
}

/* ---- whose turn it is --------------------------------------------------- */

/* Takes the domain if no thread holds it. */
static bool
hold_try(struct alqi_heap_threads *t)
{
    uint32_t idle = 0;

    return __atomic_compare_exchange_n(&t->held, &idle, 1, false,
                                       __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/* Waits until the calling thread holds the domain, and counts the turn.
 *
 * `held` is 1 while some thread runs the domain.  `waiting` is raised before
 * the second try: a thread that lets go afterwards sees it and wakes this one.
 * Threads that yield sleep on `turns`, and are woken after the count. */
static void
hold(struct alqi_heap_threads *t)
{
    if (!hold_try(t)) {
        __atomic_add_fetch(&t->waiting, 1, __ATOMIC_SEQ_CST);
        while (!hold_try(t))
            alqi_plat_sleep(&t->held, 1);
        __atomic_sub_fetch(&t->waiting, 1, __ATOMIC_SEQ_CST);
    }
    __atomic_add_fetch(&t->turns, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&t->yielding, __ATOMIC_SEQ_CST) > 0)
        alqi_plat_wake(&t->turns, UINT32_MAX);
}

/* Whether another thread wants to run the domain. */
static bool
is_waited_for(struct alqi_heap_threads *t)
{
    return __atomic_load_n(&t->waiting, __ATOMIC_SEQ_CST) > 0;
}

/* Gives the domain up; wakes one thread. */
static void
let_go(struct alqi_heap_threads *t)
{
    ALQI_ASSERT(__atomic_load_n(&t->held, __ATOMIC_RELAXED) ==
                1); /* .inv.own */
    __atomic_store_n(&t->held, 0, __ATOMIC_SEQ_CST);
    if (is_waited_for(t))
        alqi_plat_wake(&t->held, 1);
}

/* ---- entering and leaving ----------------------------------------------- */

/* The thread's frames and status become the domain's. */
static void
frames_in(struct alqi_domain *d, struct alq_thread *thread)
{
    ALQI_ASSERT(d->threads.running == NULL && d->pub.frames == NULL &&
                alqi_heap_thread_current == NULL); /* .inv.frames */
    d->threads.running = thread;
    d->pub.frames = thread->frames;
    d->pub.status = thread->status;
    thread->frames = NULL;
    alqi_heap_thread_current = d;
    quiet_changed(d);
    alqi_heap_observed_switch(d);
}

/* Frames and status become the thread's again: a stop finds them there. */
static void
frames_out(struct alqi_domain *d, struct alq_thread *thread)
{
    ALQI_ASSERT(alqi_heap_thread_current == d); /* .inv.own */
    ALQI_ASSERT(thread->frames == NULL);        /* .inv.frames */
    d->threads.running = NULL;
    thread->frames = d->pub.frames;
    thread->status = d->pub.status;
    d->pub.frames = NULL;
    alqi_heap_thread_current = NULL;
    quiet_changed(d);
}

/* Waits until the calling thread runs the domain.
 *
 * If it was passed on, the domain is RUNNING, and nobody has polled since: a
 * stop may wait.  Otherwise it comes back from BLOCKING.  The limit trigger and
 * stale variables come last: both need the domain. */
void
alqi_heap_thread_enter(struct alq_thread *thread)
{
    struct alqi_domain *d = thread->domain;

    hold(&d->threads);
    if (__atomic_load_n(&d->state, __ATOMIC_SEQ_CST) == ALQI_HEAP_RUNNING)
        alqi_heap_stop_poll(d); /* it was passed on */
    else
        alqi_heap_stop_come_back(d);
    /* .inv.own: RUNNING is the state of a domain that a thread runs. */
    ALQI_ASSERT(__atomic_load_n(&d->state, __ATOMIC_RELAXED) ==
                ALQI_HEAP_RUNNING);
    frames_in(d, thread);
    alqi_heap_limit_trigger_enter(d);
    alqi_heap_stale_back(thread);
    alqi_heap_stale(d, true);
}

/* Gives the domain up, in the reverse order of enter; returns the thread.
 *
 * If another thread waits, the domain stays RUNNING for it: a thread that waits
 * enters without a change of state, and stops wait for it as for a running
 * one. */
struct alq_thread *
alqi_heap_thread_leave(struct alqi_domain *d)
{
    struct alq_thread *thread = d->threads.running;

    alqi_heap_limit_trigger_leave(d);
    frames_out(d, thread);
    alqi_heap_stale_leave(thread);
    if (thread->stack != NULL)
        alqi_heap_stack_leave(thread);
    if (!is_waited_for(&d->threads))
        alqi_heap_stop_leave(d);
    let_go(&d->threads);
    return thread;
}

/* Returns when another thread has run the domain once.  `turn` is read before
 * leaving, so a turn that is over in no time is not missed. */
static void
let_another(struct alqi_domain *d)
{
    struct alqi_heap_threads *t = &d->threads;
    struct alq_thread *thread;
    uint32_t turn;

    __atomic_add_fetch(&t->yielding, 1, __ATOMIC_SEQ_CST);
    turn = __atomic_load_n(&t->turns, __ATOMIC_SEQ_CST);
    thread = alqi_heap_thread_leave(d);
    while (__atomic_load_n(&t->turns, __ATOMIC_SEQ_CST) == turn)
        alqi_plat_sleep(&t->turns, turn);
    __atomic_sub_fetch(&t->yielding, 1, __ATOMIC_SEQ_CST);
    alqi_heap_thread_enter(thread);
}

/* Lets another thread run the domain, if one waits. */
void
alqi_heap_thread_yield(struct alqi_domain *d)
{
    if (is_waited_for(&d->threads))
        let_another(d);
}

/* Waits until the others have been detached.  Each turn is another thread's,
 * which may detach itself in it. */
void
alqi_heap_thread_wait_alone(struct alqi_domain *d)
{
    while (d->threads.all->next != NULL)
        let_another(d);
}

/* ---- a domain's threads ------------------------------------------------- */

/* Attaches the calling thread.  The thread enters before it is in the list:
 * only a thread that runs the domain changes the list. */
struct alq_thread *
alqi_heap_thread_add(struct alqi_domain *d)
{
    struct alq_thread *thread = calloc(1, sizeof *thread);

    if (thread == NULL)
        return NULL;
    thread->domain = d;
    alqi_heap_thread_enter(thread);
    ALQI_ASSERT(d->threads.running == thread); /* .inv.own: the list is its */
    ALQI_HEAP_LIST_ADD(d->threads.all, thread);
    return thread;
}

/* Frees a thread's struct; the first one is part of the domain. */
static void
thread_free(struct alqi_domain *d, struct alq_thread *thread)
{
    if (thread != &d->threads.first)
        free(thread);
}

/* Detaches the calling thread, while it still runs the domain, then leaves. */
void
alqi_heap_thread_remove(struct alq_thread *thread)
{
    struct alqi_domain *d = thread->domain;

    ALQI_ASSERT(d->threads.running == thread); /* .inv.own */
    alqi_heap_observed_thread_end(d, thread);
    ALQI_HEAP_LIST_REMOVE(thread);
    alqi_heap_stack_end(thread);
    alqi_heap_thread_leave(d);
    thread_free(d, thread);
}

/* Enters the domain's first thread in the list. */
static void
first_add(struct alqi_domain *d)
{
    struct alq_thread *first = &d->threads.first;

    first->domain = d;
    ALQI_HEAP_LIST_ADD(d->threads.all, first);
}

/* A spawned domain starts with no thread running it: its own will enter as
 * threads.first. */
void
alqi_heap_thread_await(struct alqi_domain *d)
{
    d->threads.is_spawned = true;
    first_add(d);
}

/* A domain starts on the calling thread, which holds it from the start. */
void
alqi_heap_thread_begin(struct alqi_domain *d)
{
    first_add(d);
    d->threads.held = 1;
    frames_in(d, &d->threads.first);
}

/* The domain ends on the calling thread, its only one.  `held` stays: the
 * struct is cleared before the slot is used again. */
void
alqi_heap_thread_end(struct alqi_domain *d)
{
    ALQI_HEAP_LIST_REMOVE(d->threads.running);
    ALQI_ASSERT(d->threads.all == NULL); /* .inv.own: no other thread is left */
    thread_free(d, d->threads.running);
    d->threads.running = NULL;
    alqi_heap_thread_current = NULL;
}
