/* timer.c -- one thread for all deadlines
 *
 * A binary heap of frames by time, under one lock; the thread sleeps until the
 * first is due, takes it out and wakes its task.
 *
 * .inv.timer  A frame is in the heap at most once, and is taken out, under the
 *             lock, before it is closed: a task that is gone is never woken.
 * .inv.alarm  A frame's `alarm` is its place in the heap; 0 is none. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "limit/limit.h"
#include "plat/plat.h"

enum { PLACES_MIN = 16, STACK_BYTES = 64 * 1024, NS_S = 1000000000 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t earlier; /* the first one has changed */
    bool has_cond;
    bool runs;
    bool watches_forks;
    uint32_t n_forks;             /* that this process has behind it        */
    uint64_t cpu_before_ns;       /* of the thread that forks               */
    uint64_t cpu_of_forks_ns;     /* of those that did, where they did      */
    struct alqi_limit_frame **at; /* from 1 on */
    uint32_t n, places;
} timer = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the heap ----------------------------------------------------------- */

static void
put(uint32_t place, struct alqi_limit_frame *f)
{
    timer.at[place] = f;
    f->alarm = place;
}

static void
rise(uint32_t place, struct alqi_limit_frame *f)
{
    for (; place > 1 && timer.at[place / 2]->alarm_ns > f->alarm_ns; place /= 2)
        put(place, timer.at[place / 2]);
    put(place, f);
}

static void
sink(uint32_t place, struct alqi_limit_frame *f)
{
    for (;;) {
        uint32_t child = 2 * place;

        if (child > timer.n)
            break;
        if (child < timer.n &&
            timer.at[child + 1]->alarm_ns < timer.at[child]->alarm_ns)
            child++;
        if (timer.at[child]->alarm_ns >= f->alarm_ns)
            break;
        put(place, timer.at[child]);
        place = child;
    }
    put(place, f);
}

static void
take_out(struct alqi_limit_frame *f)
{
    uint32_t place = f->alarm;
    struct alqi_limit_frame *last = timer.at[timer.n--];

    f->alarm = 0;
    if (last == f)
        return;
    if (place > 1 && timer.at[place / 2]->alarm_ns > last->alarm_ns)
        rise(place, last);
    else
        sink(place, last);
}

static bool
has_place(void)
{
    uint32_t places = timer.places == 0 ? PLACES_MIN : 2 * timer.places;
    struct alqi_limit_frame **at;

    if (timer.n + 1 < timer.places)
        return true;
    at = realloc(timer.at, places * sizeof *at);
    if (at == NULL)
        return false;
    timer.at = at;
    timer.places = places;
    return true;
}

/* ---- the thread --------------------------------------------------------- */

static void
sleep_locked(void)
{
    uint64_t ns = timer.at[1]->alarm_ns;
    struct timespec until = {(time_t)(ns / NS_S), (long)(ns % NS_S)};

    pthread_cond_timedwait(&timer.earlier, &timer.lock, &until);
}

static void *
run(void *arg)
{
    (void)arg;
    pthread_mutex_lock(&timer.lock);
    for (;;) {
        struct alqi_limit_frame *f;

        if (timer.n == 0) {
            pthread_cond_wait(&timer.earlier, &timer.lock);
            continue;
        }
        f = timer.at[1];
        if (f->alarm_ns > alqi_plat_mono_ns_sigsafe()) {
            sleep_locked();
            continue;
        }
        take_out(f);
        f->thread->subject->wake_sigsafe(f->thread->heap);
    }
    return NULL;
}

static bool
has_cond(void)
{
    pthread_condattr_t attr;

    if (timer.has_cond)
        return true;
    if (pthread_condattr_init(&attr) != 0)
        return false;
    timer.has_cond = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
                     pthread_cond_init(&timer.earlier, &attr) == 0;
    pthread_condattr_destroy(&attr);
    return timer.has_cond;
}

/* ---- processor time ------------------------------------------------------ */

static uint64_t
cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_S + (uint64_t)t.tv_nsec;
}

uint64_t
alqi_limit_cpu_ns(void)
{
    return cpu_ns() + timer.cpu_of_forks_ns;
}

/* ---- forks -------------------------------------------------------------- */

static void
before_fork(void)
{
    pthread_mutex_lock(&timer.lock);
    timer.cpu_before_ns = cpu_ns();
}

static void
after_fork_parent(void)
{
    pthread_mutex_unlock(&timer.lock);
}

/* The thread is not there, nor are most of those it was to wake.  Whose frames
 * they are comes by and puts them in again, if there is a task to come by: a
 * child that is about to exec needs no thread. */
static void
after_fork_child(void)
{
    pthread_mutex_init(&timer.lock, NULL);
    timer.has_cond = false;
    timer.runs = false;
    timer.n_forks++;
    timer.cpu_of_forks_ns += timer.cpu_before_ns;
    for (uint32_t i = 1; i <= timer.n; i++) {
        struct alqi_limit_frame *f = timer.at[i];

        f->alarm = 0;
        f->thread->subject->wake_sigsafe(f->thread->heap);
    }
    timer.n = 0;
}

static bool
watches_forks(void)
{
    if (!timer.watches_forks)
        timer.watches_forks = pthread_atfork(before_fork, after_fork_parent,
                                             after_fork_child) == 0;
    return timer.watches_forks;
}

/* It gets no signal that is meant for the program. */
static bool
is_running(void)
{
    sigset_t all, was;
    pthread_attr_t attr;
    pthread_t thread;

    if (timer.runs || !has_cond() || !watches_forks())
        return timer.runs;
    if (pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    timer.runs = pthread_create(&thread, &attr, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    pthread_attr_destroy(&attr);
    if (timer.runs)
        pthread_setname_np(thread, "aliquot-timer");
    return timer.runs;
}

/* ---- frames ------------------------------------------------------------- */

bool
alqi_limit_timer_add(struct alqi_limit_frame *f)
{
    bool is_in;

    pthread_mutex_lock(&timer.lock);
    is_in = is_running() && has_place();
    f->n_forks = timer.n_forks;
    if (is_in) {
        timer.n++;
        rise(timer.n, f);
        if (f->alarm == 1)
            pthread_cond_signal(&timer.earlier);
    }
    pthread_mutex_unlock(&timer.lock);
    return is_in;
}

void
alqi_limit_timer_renew(struct alqi_limit_frame *f)
{
    if (ALQI_UNLIKELY(f->n_forks != timer.n_forks) &&
        f->alarm_ns != ALQ_LIMIT_NONE)
        alqi_limit_timer_add(f);
}

void
alqi_limit_timer_remove(struct alqi_limit_frame *f)
{
    if (f->alarm_ns == ALQ_LIMIT_NONE)
        return;
    pthread_mutex_lock(&timer.lock);
    if (f->alarm != 0)
        take_out(f);
    pthread_mutex_unlock(&timer.lock);
}
