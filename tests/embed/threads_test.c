/* threads_test.c -- several threads in one domain; fork */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/state.h"

#include "domains_kit.h" /* behind it: this has a domain named d */

/* ---- threads of one domain ---------------------------------------------- */

struct turns {
    int n;      /* changed by who runs the domain */
    int by[64]; /* whose */
};

static void *
attach_and_work(void *arg)
{
    struct turns *turns = arg;
    struct alq_thread *thread = NULL;
    struct alq_domain *on = d;
    int i;

    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    CHECK(alq_thread_self(on) == thread);
    {
        ALQ_FRAME(on, f, kept);

        f.kept = tree(on, 6);
        for (i = 0; i < 30 / (IS_HARD ? 10 : 1); i++) {
            turns->n++;
            CHECK(tree_size(f.kept) == 63);
            tree(on, 6);
            if (i % 5 == 0)
                CHECK(alq_gc_minor(on) == ALQ_OK);
            if (i % 3 == 0) {
                ALQ_BLOCKING(on, blocks);
                sched_yield();
            } else
                CHECK(alq_thread_yield(on) == ALQ_OK);
        }
        CHECK(tree_size(f.kept) == 63);
    }
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    CHECK(alq_domain_self() == NULL);
    return NULL;
}

static void
threads_share_a_domain(void **state)
{
    enum { N = 6 };
    struct turns turns = {0, {0}};
    pthread_t threads[N];
    ALQ_FRAME(d, f, kept);
    int i;

    (void)state;
    f.kept = tree(d, 8);
    for (i = 0; i < N; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, attach_and_work, &turns), 0);
    for (i = 0; i < 100; i++) {
        assert_int_equal(alq_thread_yield(d), ALQ_OK);
        assert_int_equal(tree_size(f.kept), 255);
    }
    {
        ALQ_BLOCKING(d, blocks);

        for (i = 0; i < N; i++)
            pthread_join(threads[i], NULL);
    }
    assert_int_equal(turns.n, N * (30 / (IS_HARD ? 10 : 1)));
    assert_int_equal(tree_size(f.kept), 255);
}

static void *
wait_and_count(void *arg)
{
    struct turns *turns = arg;
    struct alq_thread *thread = NULL;

    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    turns->n = 1;
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

/* One yield is enough once the other waits: it is not won back at once. */
static void
yielding_lets_the_other_run(void **state)
{
    struct turns turns;
    pthread_t thread;
    int i;

    (void)state;
    for (i = 0; i < 50; i++) {
        turns.n = 0;
        assert_int_equal(pthread_create(&thread, NULL, wait_and_count, &turns),
                         0);
        while (turns.n == 0) /* it runs this domain: no race */
            assert_int_equal(alq_thread_yield(d), ALQ_OK);
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
}

/* A thread's status is its own. */
static void *
fail_there(void *arg)
{
    struct alq_thread *thread = NULL;

    (void)arg;
    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    CHECK(alq_status_of(d) == ALQ_OK);
    CHECK(alq_alloc(d, (uintptr_t)1 << 60, 0) == ALQ_NULL);
    CHECK(alq_status_of(d) == ALQ_EINVAL);
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static void
status_is_a_threads(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, fail_there, NULL), 0);
    {
        ALQ_BLOCKING(d, blocks);

        pthread_join(thread, NULL);
    }
    assert_int_equal(alq_status_of(d), ALQ_OK);
}

/* The domain goes on after the thread that began it. */
static void *
take_over(void *arg)
{
    struct alq_global *global = arg;
    struct alq_thread *thread = NULL;

    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(tree_size(global->value) == 255);
    CHECK(alq_domain_drop(d) == ALQ_OK);
    return NULL;
}

static void
a_domain_survives_its_first_thread(void **state)
{
    struct alq_global global;
    pthread_t thread;

    (void)state;
    global.value = tree(d, 8);
    assert_int_equal(alq_global_add(d, &global), ALQ_OK);
    assert_int_equal(alq_thread_detach(alq_thread_self(d)), ALQ_OK);
    assert_null(alq_domain_self());
    assert_int_equal(pthread_create(&thread, NULL, take_over, &global), 0);
    pthread_join(thread, NULL);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK); /* for teardown */
}

/* ---- fork --------------------------------------------------------------- */

static void
expect_child(int pid, int code)
{
    int status;

    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void
one_domain_forks(void **state)
{
    ALQ_FRAME(d, f, v);
    int pid, plain;

    (void)state;
    f.v = tree(d, 8);
    for (plain = 0; plain < 2; plain++) {
        if (plain)
            pid = fork();
        else
            assert_int_equal(alq_fork(d, &pid), ALQ_OK);
        if (pid == 0) {
            f.v = tree(d, IS_HARD ? 6 : 12);
            alq_gc_full_major(d);
            _exit(alq_status_of(d) == ALQ_OK &&
                          tree_size(f.v) == (IS_HARD ? 63 : 4095)
                      ? 7
                      : 8);
        }
        expect_child(pid, 7);
    }
    assert_int_equal(tree_size(f.v), 255);
}

/* What a child of fork() can do with several domains: fail, and say so. */
static int
try_all(void)
{
    struct alq_domain *other = NULL;
    struct alq_thread *thread = NULL;
    struct alq_child *child = NULL;

    if (alq_alloc(d, 1, 0) != ALQ_NULL || alq_status_of(d) != ALQ_ESTATE)
        return 1;
    alq_status_clear(d);
    if (alq_alloc(d, 100000, 0) != ALQ_NULL || alq_status_of(d) != ALQ_ESTATE)
        return 2;
    if (alq_gc_full_major(d) != ALQ_ESTATE ||
        alq_domain_spawn(d, burn, 1, NULL, NULL, &child) != ALQ_ESTATE ||
        alq_domain_drop(d) != ALQ_ESTATE || alq_blocking_begin(d) != NULL ||
        alq_thread_attach(d, &thread) != ALQ_EBUSY ||
        alq_domain_new(NULL, &other) != ALQ_EBUSY)
        return 3;
    alq_poll(d);
    return 7;
}

static void
forks_are_refused(void)
{
    int pid = -1;

    assert_int_equal(alq_fork(d, &pid), ALQ_EBUSY);
    assert_int_equal(pid, -1);
    pid = fork();
    if (pid == 0)
        _exit(try_all());
    expect_child(pid, 7);
}

static void
several_domains_do_not_fork(void **state)
{
    struct gate gate = GATE;
    struct alq_child *child;

    (void)state;
    child = spawn(d, through_gate, ALQ_UNIT, &gate);
    gate_await(&gate, 1);
    forks_are_refused();
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    gate_open(&gate);
    finish(d, child);
}

/* ---- alarms of which one begins within the other, and ends after it ------ */

static struct {
    int second_began;
    int first_ended;
    int n_calls;
} alarms;

static void
await(int *flag)
{
    ALQ_BLOCKING(d, blocks);

    while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static enum alq_status
ends_first(struct alq_domain *on, void *arg)
{
    (void)arg;
    if (alarms.n_calls++ > 0)
        return ALQ_OK;
    alq_gc_finalise_release(on);
    await(&alarms.second_began);
    __atomic_store_n(&alarms.first_ended, 1, __ATOMIC_RELEASE);
    return ALQ_OK;
}

static enum alq_status
ends_last(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    __atomic_store_n(&alarms.second_began, 1, __ATOMIC_RELEASE);
    await(&alarms.first_ended);
    return ALQ_OK;
}

static void *
poll_for_alarm(void *arg)
{
    struct alq_thread *thread = NULL;

    (void)arg;
    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    while (!__atomic_load_n(&alarms.second_began, __ATOMIC_ACQUIRE)) {
        alq_poll(d);
        await(&(int){1});
    }
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static void
alarms_of_two_threads_are_called_again(void **state)
{
    struct alq_alarm *first, *last;
    pthread_t thread;

    (void)state;
    assert_int_equal(alq_gc_create_alarm(d, ends_first, NULL, &first), ALQ_OK);
    assert_int_equal(alq_gc_create_alarm(d, ends_last, NULL, &last), ALQ_OK);
    assert_int_equal(pthread_create(&thread, NULL, poll_for_alarm, NULL), 0);
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_int_equal(alarms.n_calls, 1);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_int_equal(alarms.n_calls, 2);
    alq_gc_delete_alarm(&first);
    alq_gc_delete_alarm(&last);
}

/* ---- fork beside threads ------------------------------------------------- */

/* Attached until `leaves` is set. */
static bool leaves;

static void *
stay_away(void *arg)
{
    struct alq_thread *thread = NULL;

    (void)arg;
    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    {
        ALQ_BLOCKING(d, blocks);
        while (!__atomic_load_n(&leaves, __ATOMIC_ACQUIRE))
            usleep(1000);
    }
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

/* One that waits for the domain would be missing, and one that is attached. */
static void
several_threads_do_not_fork(void **state)
{
    const struct alqi_heap_threads *threads = &alqi_heap_domain(d)->threads;
    pthread_t thread;
    int pid;

    (void)state;
    leaves = false;
    assert_int_equal(pthread_create(&thread, NULL, stay_away, NULL), 0);
    while (__atomic_load_n(&threads->waiting, __ATOMIC_RELAXED) == 0)
        usleep(1000);
    forks_are_refused();
    assert_int_equal(alq_thread_yield(d), ALQ_OK);
    assert_non_null(threads->all->next);
    forks_are_refused();
    __atomic_store_n(&leaves, true, __ATOMIC_RELEASE);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
    assert_int_equal(alq_fork(d, &pid), ALQ_OK);
    if (pid == 0)
        _exit(alq_gc_minor(d) == ALQ_OK ? 7 : 8);
    expect_child(pid, 7);
}

/* ---- finalisers of two threads ------------------------------------------- */

/* What was called, in order; under the domain. */
static char called[64];

static void
note(const char *what)
{
    CHECK(strlen(called) + strlen(what) < sizeof called);
    strcat(called, what);
}

static struct gate second_runs = GATE, second_may_end = GATE;

static enum alq_status
third_call(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    note("3");
    return ALQ_OK;
}

static void
make_third_due(struct alq_domain *on)
{
    CHECK(alq_gc_finalise(on, alq_alloc(on, 1, 0), third_call, ALQ_UNIT) ==
          ALQ_OK);
    CHECK(alq_gc_full_major(on) == ALQ_OK);
}

/* Does not release: no call may begin before it returns. */
static enum alq_status
second_call(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    (void)with;
    note("2(");
    gate_open(&second_runs);
    through_gate(on, ALQ_UNIT, &second_may_end);
    note(")2");
    return ALQ_OK;
}

/* Lets the second call begin, on the other thread; what it does then is about
 * itself, and not about the second call. */
static enum alq_status
first_call(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    (void)with;
    note("1(");
    alq_gc_finalise_release(on);
    through_gate(on, ALQ_UNIT, &second_runs);
    alq_gc_finalise_release(on);
    make_third_due(on);
    note(")1");
    return ALQ_OK;
}

static void *
attach_and_poll(void *arg)
{
    struct alq_thread *thread;

    (void)arg;
    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    while (strstr(called, "1(") == NULL)
        CHECK(alq_thread_yield(d) == ALQ_OK);
    alq_poll(d);
    CHECK(strstr(called, ")2") != NULL);
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static void
a_release_is_of_the_threads_own_call(void **state)
{
    pthread_t other;

    (void)state;
    assert_int_equal(pthread_create(&other, NULL, attach_and_poll, NULL), 0);
    assert_int_equal(
        alq_gc_finalise(d, alq_alloc(d, 1, 0), second_call, ALQ_UNIT), ALQ_OK);
    assert_int_equal(
        alq_gc_finalise(d, alq_alloc(d, 1, 0), first_call, ALQ_UNIT), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_string_equal(called, "1(2()1"); /* the second has not returned */
    alq_poll(d);
    make_third_due(d);
    alq_poll(d);
    assert_string_equal(called, "1(2()1");
    gate_open(&second_may_end);
    {
        ALQ_BLOCKING(d, blocks);

        pthread_join(other, NULL);
    }
    alq_poll(d);
    assert_string_equal(called, "1(2()1)233");
}

/* A thread does not leave the domain in its own call. */
static enum alq_status
detach_in_a_call(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    (void)with;
    CHECK(alq_thread_detach(alq_thread_self(on)) == ALQ_EBUSY);
    note("4");
    return ALQ_OK;
}

static void *
attach_and_collect(void *arg)
{
    struct alq_thread *thread;

    (void)arg;
    CHECK(alq_thread_attach(d, &thread) == ALQ_OK);
    CHECK(alq_gc_finalise(d, alq_alloc(d, 1, 0), detach_in_a_call, ALQ_UNIT) ==
          ALQ_OK);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static void
no_thread_is_detached_in_its_call(void **state)
{
    pthread_t other;

    (void)state;
    called[0] = '\0';
    assert_int_equal(pthread_create(&other, NULL, attach_and_collect, NULL), 0);
    {
        ALQ_BLOCKING(d, blocks);

        pthread_join(other, NULL);
    }
    assert_string_equal(called, "4");
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(threads_share_a_domain),
        TEST(yielding_lets_the_other_run),
        TEST(status_is_a_threads),
        TEST(a_domain_survives_its_first_thread),
        TEST(one_domain_forks),
        TEST(several_domains_do_not_fork),
        TEST(several_threads_do_not_fork),
        TEST(alarms_of_two_threads_are_called_again),
        TEST(a_release_is_of_the_threads_own_call),
        TEST(no_thread_is_detached_in_its_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
