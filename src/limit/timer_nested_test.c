/* timer_nested_test.c -- what the timer asks of the program's malloc, or of
 * pthread_create, may open and close tasks itself
 *
 * Under the preload malloc may call on_limit of a task of malloc, and that may
 * run a task with a deadline.  Here each such call does. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/limit.h"

enum { TASKS = 100, ALARM_S = 100 };

#define LONG_NS ((uint64_t)3600 * 1000000000)

struct task {
    struct alqi_limit_thread t;
    struct alqi_limit_frame f;
};

static uint64_t
no_words(void *heap)
{
    (void)heap;
    return 0;
}

static void
nothing(void *heap)
{
    (void)heap;
}

static void *
no_mark(void *heap)
{
    (void)heap;
    return NULL;
}

static const struct alqi_limit_subject subject = {
    .words = no_words,
    .heap_bytes = no_words,
    .trigger_changed = nothing,
    .wake_sigsafe = nothing,
    .root_mark = no_mark,
};

static void
open_one(struct task *task)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.time_ns = LONG_NS;
    alqi_limit_thread_init(&task->t, &subject, task);
    assert_int_equal(alqi_limit_open(&task->t, &task->f, &l, false), ALQ_OK);
}

/* ---- calls that open a task ---------------------------------------------- */

static bool is_on;
static unsigned n_mallocs, n_threads, depth;

/* Tasks within tasks, as deep as the first few. */
static void
nest(unsigned *n)
{
    struct task task;

    if (!is_on || depth == 3)
        return;
    ++*n;
    depth++;
    open_one(&task);
    assert_false(alqi_limit_close(&task.f, ALQ_OK, NULL));
    depth--;
}

void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);
void __real_free(void *p);
void __wrap_free(void *p);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                          void *(*run)(void *), void *arg);

void *
__wrap_malloc(size_t n)
{
    nest(&n_mallocs);
    return __real_malloc(n);
}

void *
__wrap_realloc(void *p, size_t n)
{
    nest(&n_mallocs);
    return __real_realloc(p, n);
}

void
__wrap_free(void *p)
{
    nest(&n_mallocs);
    __real_free(p);
}

int
__wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                      void *(*run)(void *), void *arg)
{
    nest(&n_threads);
    return __real_pthread_create(thread, attr, run, arg);
}

/* ---- the test ------------------------------------------------------------ */

static struct task tasks[TASKS];

static void
no_lock_is_held_where_the_program_may_be_called(void **state)
{
    (void)state;
    alarm(ALARM_S);
    is_on = true;
    for (unsigned i = 0; i < TASKS; i++)
        open_one(&tasks[i]);
    for (unsigned i = 0; i < TASKS; i++)
        assert_false(alqi_limit_close(&tasks[i].f, ALQ_OK, NULL));
    is_on = false;
    assert_true(n_mallocs > 0 && n_threads > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_lock_is_held_where_the_program_may_be_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
