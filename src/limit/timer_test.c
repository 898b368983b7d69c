/* timer_test.c -- deadlines: each thread is woken once, not before its time */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sched.h>
#include <unistd.h>
#include <sys/wait.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/limit.h"
#include "plat/plat.h"
#include "base/skip.h"

enum { TASKS = 1000, SPREAD_NS = 50000000, WAIT_NS = 1000000000 };

struct task {
    struct alqi_limit_thread t;
    struct alqi_limit_frame f;
    uint64_t woken_ns; /* atomic; 0: not yet */
    unsigned n_woken;
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

static void
no_cut(void *heap, void *mark)
{
    (void)heap;
    (void)mark;
}

static void
wake(void *heap)
{
    struct task *task = heap;

    __atomic_add_fetch(&task->n_woken, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&task->woken_ns, alqi_plat_mono_ns_sigsafe(),
                     __ATOMIC_SEQ_CST);
}

static const struct alqi_limit_subject subject = {
    .words = no_words,
    .heap_bytes = no_words,
    .trigger_changed = nothing,
    .wake_sigsafe = wake,
    .root_mark = no_mark,
    .root_restore = no_cut,
};

static struct task tasks[TASKS];

static void
open_all(uint64_t base_ns)
{
    srand(7);
    for (int i = 0; i < TASKS; i++) {
        struct task *task = &tasks[i];
        struct alq_limits l = ALQ_LIMITS_NONE;

        task->n_woken = 0;
        task->woken_ns = 0;
        alqi_limit_thread_init(&task->t, &subject, task);
        l.time_ns = base_ns + (uint64_t)rand() % SPREAD_NS;
        assert_int_equal(alqi_limit_open(&task->t, &task->f, &l, true), ALQ_OK);
    }
}

static unsigned
n_threads(void)
{
    unsigned n = 0;
    char line[128];
    FILE *status = fopen("/proc/self/status", "r");

    assert_non_null(status);
    while (fgets(line, sizeof line, status) != NULL)
        sscanf(line, "Threads: %u", &n);
    fclose(status);
    return n;
}

static void
thousand_deadlines_one_thread_33(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t started;
    unsigned before;

    (void)state;
    alqi_limit_thread_init(&tasks[0].t, &subject, &tasks[0]);
    l.time_ns = (uint64_t)3600 * WAIT_NS;
    assert_int_equal(alqi_limit_open(&tasks[0].t, &tasks[0].f, &l, true),
                     ALQ_OK);
    assert_false(alqi_limit_close(&tasks[0].f, ALQ_OK, NULL));
    before = n_threads();
    started = alqi_plat_mono_ns_sigsafe();
    open_all(0);
    assert_int_equal(n_threads(), before);
    for (int i = 0; i < TASKS; i++)
        while (__atomic_load_n(&tasks[i].woken_ns, __ATOMIC_SEQ_CST) == 0) {
            assert_true(alqi_plat_mono_ns_sigsafe() - started <
                        (uint64_t)600 * WAIT_NS);
            sched_yield();
        }
    for (int i = 0; i < TASKS; i++) {
        struct alq_outcome out;

        assert_true(tasks[i].woken_ns >= tasks[i].f.time_ns.end);
        assert_int_equal(tasks[i].n_woken, 1);
        alqi_limit_check(&tasks[i].t);
        assert_true(alqi_limit_close(&tasks[i].f, ALQ_OK, &out));
        assert_int_equal(out.cause, ALQ_LIMIT_TIME);
    }
}

static void
closed_tasks_are_not_woken(void **state)
{
    (void)state;
    open_all((uint64_t)3600 * WAIT_NS);
    for (int i = 0; i < TASKS; i += 2) /* from all over the heap */
        assert_false(alqi_limit_close(&tasks[i].f, ALQ_OK, NULL));
    for (int i = 1; i < TASKS; i += 2)
        assert_false(alqi_limit_close(&tasks[i].f, ALQ_OK, NULL));
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(tasks[i].n_woken, 0);
}

/* The earliest comes last: the sleeping thread learns of it. */
static void
earlier_deadline_wakes_the_sleeper(void **state)
{
    struct task *late = &tasks[0], *early = &tasks[1];
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    late->n_woken = early->n_woken = 0;
    early->woken_ns = 0;
    l.time_ns = (uint64_t)3600 * WAIT_NS;
    assert_int_equal(alqi_limit_open(&late->t, &late->f, &l, true), ALQ_OK);
    l.time_ns = 1000;
    assert_int_equal(alqi_limit_open(&early->t, &early->f, &l, true), ALQ_OK);
    while (__atomic_load_n(&early->woken_ns, __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    assert_int_equal(late->n_woken, 0);
    assert_false(alqi_limit_close(&late->f, ALQ_OK, NULL));
    (void)alqi_limit_close(&early->f, ALQ_OK, NULL);
}

static void
forked_child_has_a_timer_of_its_own(void **state)
{
    struct task *task = &tasks[0];
    struct alq_limits l = ALQ_LIMITS_NONE;
    int status;
    pid_t pid;

    (void)state;
#ifdef __SANITIZE_THREAD__
    ALQI_SKIP("ThreadSanitizer starts no threads after such a fork");
#endif
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        task->woken_ns = 0;
        l.time_ns = 1000;
        if (alqi_limit_open(&task->t, &task->f, &l, true) != ALQ_OK)
            _exit(1);
        while (__atomic_load_n(&task->woken_ns, __ATOMIC_SEQ_CST) == 0)
            sched_yield();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousand_deadlines_one_thread_33),
        cmocka_unit_test(closed_tasks_are_not_woken),
        cmocka_unit_test(earlier_deadline_wakes_the_sleeper),
        cmocka_unit_test(forked_child_has_a_timer_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
