/* timer.c -- one thread for all deadlines
 *
 * A binary heap of frames by time, under one lock; the thread sleeps, without
 * the lock, until the first is due, takes it out and wakes its task.
 *
 * The thread:  none -> created (`runs`) -> serving (`serves`).  Several threads
 * that find none may create one each; the first to serve stays.
 *
 * .inv.leaf   While the lock is held neither the program's malloc is called nor
 *             a thread made: both may call the program (on_limit, callbacks of
 *             profiles), which may run a task with a deadline.
 * .inv.timer  A frame is in the heap at most once, and is taken out, under the
 *             lock, before it is closed: a task that is gone is never woken.
 * .inv.alarm  A frame's `alarm` is its place in the heap; 0 is none. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "limit/limit.h"
#include "plat/plat.h"
#include "plat/wait.h"

enum { PLACES_MIN = 16, STACK_BYTES = 64 * 1024, NS_S = 1000000000 };

static struct {
    struct alqi_plat_lock lock;
    uint32_t n_firsts; /* atomic, a futex: how often the first has changed */
    bool runs;         /* a thread was created */
    bool serves;       /* one of those that were has begun */
    uint32_t n_forks;  /* that this process has behind it        */
    uint64_t cpu_before_ns;       /* of the thread that forks               */
    uint64_t cpu_of_forks_ns;     /* of those that did, where they did      */
    struct alqi_limit_frame **at; /* from 1 on */
    uint32_t n, places;
} timer = {.lock = ALQI_PLAT_LOCK(LIMIT_TIMER)};

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

/* Puts f at `place`, or below it when children that are due before f have moved
 * up. */
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

/* Takes a frame out of the heap: the last one fills its place, and rises or
 * sinks from there.  The lock is held. */
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
has_place_locked(void)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_LIMIT_TIMER));
    return timer.n + 1 < timer.places;
}

/* Twice the places, unless another thread was faster; false: no memory. Without
 * the lock (.inv.leaf). */
static bool
grow(void)
{
    struct alqi_limit_frame **at, **old;
    uint32_t was, places;

    alqi_plat_lock(&timer.lock);
    was = timer.places;
    alqi_plat_unlock(&timer.lock);
    places = was == 0 ? PLACES_MIN : 2 * was;
    at = malloc(places * sizeof *at);
    if (at == NULL)
        return false;
    alqi_plat_lock(&timer.lock);
    old = at;
    if (timer.places == was) {
        old = timer.at;
        if (was > 0)
            memcpy(at, old, was * sizeof *at);
        timer.at = at;
        timer.places = places;
    }
    alqi_plat_unlock(&timer.lock);
    free(old);
    return true;
}

/* ---- the thread --------------------------------------------------------- */

/* Wakes the tasks whose frames are due; when the first of the others is, or
 * ALQ_LIMIT_NONE.  *n_firsts is as the thread has seen the frames. */
static uint64_t
wake_due(uint32_t *n_firsts)
{
    uint64_t next_ns = ALQ_LIMIT_NONE;

    alqi_plat_lock(&timer.lock);
    while (timer.n > 0) {
        struct alqi_limit_frame *f = timer.at[1];

        if (f->alarm_ns > alqi_plat_mono_ns_sigsafe()) {
            next_ns = f->alarm_ns;
            break;
        }
        take_out(f);
        f->thread->subject->wake_sigsafe(f->thread->heap);
    }
    *n_firsts = __atomic_load_n(&timer.n_firsts, __ATOMIC_RELAXED);
    alqi_plat_unlock(&timer.lock);
    return next_ns;
}

/* The timer's thread; ends only if another one was first to serve.  n_firsts is
 * read under the lock, so that a frame put in before the sleep ends the
 * sleep. */
static void *
run(void *arg)
{
    bool is_first;

    (void)arg;
    alqi_plat_lock(&timer.lock);
    is_first = !timer.serves;
    timer.serves = true;
    alqi_plat_unlock(&timer.lock);
    if (!is_first)
        return NULL;
    pthread_setname_np(pthread_self(), "aliquot-timer");
    for (;;) {
        uint32_t n_firsts;
        uint64_t next_ns = wake_due(&n_firsts);

        if (next_ns == ALQ_LIMIT_NONE)
            alqi_plat_sleep(&timer.n_firsts, n_firsts);
        else
            alqi_plat_sleep_until(&timer.n_firsts, n_firsts, next_ns);
    }
    return NULL;
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
    alqi_plat_lock(&timer.lock);
    timer.cpu_before_ns = cpu_ns();
}

static void
after_fork_parent(void)
{
    alqi_plat_unlock(&timer.lock);
}

/* The thread is not there, nor are most of those it was to wake.  Whose frames
 * they are comes by and puts them in again, if there is a task to come by: a
 * child that is about to exec needs no thread. */
static void
after_fork_child(void)
{
    timer.runs = timer.serves = false;
    timer.n_forks++;
    timer.cpu_of_forks_ns += timer.cpu_before_ns;
    for (uint32_t i = 1; i <= timer.n; i++) {
        struct alqi_limit_frame *f = timer.at[i];

        f->alarm = 0;
        f->thread->subject->wake_sigsafe(f->thread->heap);
    }
    timer.n = 0;
    alqi_plat_unlock(&timer.lock);
}

static bool watches_forks; /* written before any timer */

__attribute__((constructor(ALQI_FORK_TIMER))) static void
forks_watch(void)
{
    watches_forks =
        pthread_atfork(before_fork, after_fork_parent, after_fork_child) == 0;
}

/* Creates a thread, which gets no signal that is meant for the program; false:
 * the system refuses.  Without the lock (.inv.leaf). */
static bool
create(void)
{
    sigset_t all, was;
    pthread_attr_t attr;
    pthread_t thread;
    bool is_made;

    if (!watches_forks || pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    is_made = pthread_create(&thread, &attr, run, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    pthread_attr_destroy(&attr);
    return is_made;
}

/* A thread that serves, or has been created; false: there is none.  Without the
 * lock. */
static bool
is_running(void)
{
    bool runs;

    alqi_plat_lock(&timer.lock);
    runs = timer.runs;
    alqi_plat_unlock(&timer.lock);
    if (runs)
        return true;
    runs = create();
    alqi_plat_lock(&timer.lock);
    timer.runs |= runs;
    runs = timer.runs;
    alqi_plat_unlock(&timer.lock);
    return runs;
}

/* ---- frames ------------------------------------------------------------- */

bool
alqi_limit_timer_add(struct alqi_limit_frame *f)
{
    bool is_first;

    f->n_forks = timer.n_forks; /* what fails now is not tried at each check */
    for (;;) {
        if (!is_running())
            return false;
        alqi_plat_lock(&timer.lock);
        if (timer.runs && has_place_locked())
            break; /* what grow() calls may have forked */
        alqi_plat_unlock(&timer.lock);
        if (!grow())
            return false;
    }
    f->n_forks = timer.n_forks;
    timer.n++;
    rise(timer.n, f);
    is_first = f->alarm == 1;
    __atomic_store_n(&timer.n_firsts, timer.n_firsts + is_first,
                     __ATOMIC_RELAXED);
    alqi_plat_unlock(&timer.lock);
    if (is_first)
        alqi_plat_wake(&timer.n_firsts, 1);
    return true;
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
    alqi_plat_lock(&timer.lock);
    if (f->alarm != 0)
        take_out(f);
    alqi_plat_unlock(&timer.lock);
}
