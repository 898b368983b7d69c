/* domain_thread.h -- the threads of a domain: one at a time runs it
 *
 *   no thread runs it  BLOCKING (or HELD by the collector: stop.h)
 *   a thread runs it   RUNNING, or PARKED in a stop
 *   it is passed on    RUNNING: the next one is about to run it
 *
 * .inv.frames  Frames and status are a thread's.  While the thread runs the
 *              domain they are in the domain, else in its struct alq_thread;
 *              the other place has no frames. */
#ifndef ALQI_HEAP_DOMAIN_THREAD_H
#define ALQI_HEAP_DOMAIN_THREAD_H

#include "heap/state.h"

/* The domain that the calling thread runs; NULL: none. */
static inline struct alqi_domain *
alqi_heap_thread_domain(void)
{
    return alqi_heap_thread_current;
}

/* Whether the calling thread runs d; false for NULL, too. */
static inline bool
alqi_heap_thread_runs(const struct alq_domain *d)
{
    return d != NULL &&
           alqi_heap_thread_domain() == (const struct alqi_domain *)d;
}

/* Whether it has given the domain up and will have it again: for messages. */
bool alqi_heap_thread_is_blocking(const struct alqi_domain *d);

/* The calling thread is one of the domain's from now on, and runs it when the
 * call returns; NULL: no memory. */
struct alq_thread *alqi_heap_thread_add(struct alqi_domain *d);
/* The thread gives up the domain that it runs, and is no longer one of its
 * threads. */
void alqi_heap_thread_remove(struct alq_thread *thread);

/* The calling thread, which runs no domain, waits until it runs this one. */
void alqi_heap_thread_enter(struct alq_thread *thread);
/* The thread that runs the domain gives it up; returns the thread, to enter
 * again. */
struct alq_thread *alqi_heap_thread_leave(struct alqi_domain *d);

/* If another thread waits for the domain, it runs it before the caller does
 * again. */
void alqi_heap_thread_yield(struct alqi_domain *d);

/* Returns when no other thread is attached; the calling one runs it. */
void alqi_heap_thread_wait_alone(struct alqi_domain *d);

/* The domain starts on the calling thread, which runs it when this returns.
 * The caller sets the state. */
void alqi_heap_thread_begin(struct alqi_domain *d);
/* The domain starts for a thread that is made for it, which will enter it as
 * threads.first and end it. */
void alqi_heap_thread_await(struct alqi_domain *d);
/* The domain ends on the calling thread, which no longer runs it.  The caller
 * sets the state. */
void alqi_heap_thread_end(struct alqi_domain *d);

#endif
