/* misuse_test.c -- calls from where they are not allowed, and forks in odd
 * places
 *
 * Wrong arguments are arguments_test's. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"
#include "value_kit.h"

/* ---- what a spawned domain may not do ----------------------------------- */

static alq_value
end_itself(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    CHECK(alq_domain_drop(on) == ALQ_EBUSY);
    CHECK(alq_thread_detach(alq_thread_self(on)) == ALQ_EBUSY);
    CHECK(alq_domain_self() == on);
    return burn(on, arg, NULL);
}

static void
a_child_does_not_end_itself(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    f.v = tree(d, 5);
    f.v = finish(d, spawn(d, end_itself, f.v, NULL));
    assert_int_equal(tree_size(f.v), 31);
}

static alq_value
leave_it_open(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, kept);

    (void)data;
    f.kept = tree(on, 5);
    CHECK(alq_blocking_begin(on) != NULL);
    return arg;
}

/* As if longjmp had passed it by. */
static alq_value
leave_a_frame(struct alq_domain *on, alq_value arg, void *data)
{
    static const struct alq_site site = {"leave_a_frame", "", 1, 1};
    struct {
        struct alq_frame head;
        alq_value slot;
    } frame = {{NULL, NULL, NULL}, ALQ_UNIT};

    (void)data;
    alq_frame_push(on, &frame.head, &site);
    return arg;
}

static void
what_a_child_leaves_open_is_closed(void **state)
{
    ALQ_FRAME(d, f, kept);
    alq_value v;
    int i;

    (void)state;
    f.kept = tree(d, 5);
    for (i = 0; i < 20; i++) {
        assert_same(finish(d, spawn(d, leave_it_open, f.kept, NULL)), ALQ_NULL);
        v = finish(d, spawn(d, leave_a_frame, f.kept, NULL));
        assert_same(v, f.kept); /* which the call may have moved */
        burn(d, ALQ_UNIT, NULL);
    }
    assert_int_equal(tree_size(f.kept), 31);
}

/* ---- sections ----------------------------------------------------------- */

static void *
end_anothers(void *arg)
{
    CHECK(alq_blocking_end(arg) == ALQ_ESTATE);
    return NULL;
}

static void
sections_end_once(void **state)
{
    struct alq_thread *self = alq_thread_self(d), *thread;
    pthread_t other;

    (void)state;
    assert_int_equal(pthread_create(&other, NULL, end_anothers, self), 0);
    pthread_join(other, NULL);
    thread = alq_blocking_begin(d);
    assert_ptr_equal(thread, self);
    assert_null(alq_blocking_begin(d)); /* it does not run it */
    assert_int_equal(alq_blocking_end(thread), ALQ_OK);
    assert_int_equal(alq_blocking_end(thread), ALQ_EBUSY);
    assert_ptr_equal(alq_domain_self(), d);
}

/* ---- in the collector --------------------------------------------------- */

static unsigned n_refused;

static int
no_row(void *arg, const struct alq_census_row *row)
{
    (void)arg;
    (void)row;
    return 1;
}

/* Each call that would enter the collector, from inside of it. */
static void
all_are_refused(struct alq_domain *on)
{
    struct alq_child *child = NULL;
    struct alq_gc_stats s;
    struct alq_gc_control c;
    int pid;

    CHECK(alq_gc_minor(on) == ALQ_ESTATE);
    CHECK(alq_gc_major(on) == ALQ_ESTATE);
    CHECK(alq_gc_major_slice(on, 100) == ALQ_ESTATE);
    CHECK(alq_gc_full_major(on) == ALQ_ESTATE);
    CHECK(alq_gc_compact(on) == ALQ_ESTATE);
    CHECK(alq_gc_stat(on, &s) == ALQ_ESTATE);
    CHECK(alq_gc_get(on, &c) == ALQ_OK);
    CHECK(alq_gc_set(on, &c) == ALQ_ESTATE);
    CHECK(alq_census_take(on, no_row, NULL) == ALQ_ESTATE);
    CHECK(alq_domain_drop(on) == ALQ_ESTATE);
    CHECK(alq_domain_spawn(on, burn, ALQ_UNIT, NULL, NULL, &child) ==
          ALQ_ESTATE);
    CHECK(alq_thread_yield(on) == ALQ_ESTATE);
    CHECK(alq_thread_detach(on == d ? alq_thread_self(on) : NULL) != ALQ_OK);
    CHECK(alq_blocking_begin(on) == NULL);
    CHECK(alq_fork(on, &pid) == ALQ_ESTATE);
    n_refused++;
}

static void
scan(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
     void *visit_arg)
{
    (void)visit;
    (void)visit_arg;
    all_are_refused(arg);
}

static void
hear(void *arg, const struct alq_event *event)
{
    (void)event;
    if (alq_domain_self() != NULL)
        all_are_refused(arg);
}

static void
custom_free(alq_value block)
{
    (void)block;
    all_are_refused(d);
}

static const struct alq_custom_ops counting = {"counting", custom_free};

static void
the_collector_is_not_entered_twice(void **state)
{
    struct alq_scanner scanner = {scan, d, NULL, NULL};
    struct alq_listener listener = {
        hear, d,
        1u << ALQ_EVENT_MINOR | 1u << ALQ_EVENT_MARK | 1u << ALQ_EVENT_SWEEP};
    unsigned n;

    (void)state;
    n_refused = 0;
    assert_int_equal(alq_scanner_add(d, &scanner), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    alq_scanner_remove(d, &scanner);
    n = n_refused;
    assert_true(n > 0);

    assert_int_equal(alq_listener_add(d, &listener), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_listener_remove(d, &listener), ALQ_OK);
    assert_true(n_refused > n);

    n = n_refused;
    {
        ALQ_FRAME(d, f, old);

        alq_alloc_custom(d, &counting, 8); /* dies young */
        f.old = alq_alloc_custom(d, &counting, 8);
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_refused, n + 2);
}

/* ---- in finalisers and alarms ------------------------------------------- */

static enum alq_status
drop_it(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    (void)with;
    n_refused++;
    CHECK(alq_domain_drop(on) == ALQ_EBUSY);
    alq_gc_finalise_release(on);
    CHECK(alq_domain_drop(on) == ALQ_EBUSY);
    return alq_gc_minor(on);
}

static enum alq_status
drop_in_alarm(struct alq_domain *on, void *arg)
{
    (void)arg;
    return drop_it(on, ALQ_UNIT, ALQ_UNIT);
}

static void
a_domain_is_not_dropped_by_its_finalisers(void **state)
{
    struct alq_alarm *alarm;

    (void)state;
    n_refused = 0;
    assert_int_equal(alq_gc_finalise(d, alq_alloc(d, 1, 0), drop_it, ALQ_UNIT),
                     ALQ_OK);
    assert_int_equal(alq_gc_create_alarm(d, drop_in_alarm, NULL, &alarm),
                     ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(n_refused >= 2);
    alq_gc_delete_alarm(&alarm);
}

/* ---- foreign threads ---------------------------------------------------- */

static void *
look_from_outside(void *arg)
{
    struct alq_pauses pauses;
    struct alq_gc_stats s;

    (void)arg;
    CHECK(alq_census_take(d, no_row, NULL) == ALQ_ESTATE);
    CHECK(alq_census_print(d, stderr) == ALQ_ESTATE);
    CHECK(alq_gc_stat(d, &s) == ALQ_ESTATE);
    CHECK(alq_gc_compact(d) == ALQ_ESTATE);
    CHECK(alq_pauses_get_all(d, &pauses) == ALQ_OK);
    return NULL;
}

static void
foreign_threads_only_look(void **state)
{
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, look_from_outside, NULL), 0);
    pthread_join(thread, NULL);
}

/* ---- fork --------------------------------------------------------------- */

/* How a child ended that goes on with the heap, if it can: its trees are whole,
 * collections come to an end, it may spawn. */
static alq_value kept_tree;

static void
child_goes_on(void)
{
    alarm(900); /* it does not wait for anybody */
    CHECK(tree_size(kept_tree) == 255);
    _exit(0);
}

static int
await(pid_t child)
{
    int status;

    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static pid_t pid_inside = -2;

/* Once, wherever that is; the child comes out of it, too. */
static void
fork_once(void)
{
    if (pid_inside == -2)
        pid_inside = fork();
}

static void
fork_scan(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
          void *visit_arg)
{
    (void)arg;
    (void)visit;
    (void)visit_arg;
    fork_once();
}

static void
fork_hear(void *arg, const struct alq_event *event)
{
    (void)arg;
    (void)event;
    fork_once();
}

static void
fork_custom(alq_value block)
{
    (void)block;
    fork_once();
}

static const struct alq_custom_ops forking = {"forking", fork_custom};

static enum alq_status
fork_finaliser(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    fork_once();
    return ALQ_OK;
}

/* In both processes after the fork. */
static void
both_go_on(alq_value kept)
{
    ALQ_FRAME(d, f, kept, other);

    f.kept = kept;
    f.other = finish(d, spawn(d, burn, f.kept, NULL));
    CHECK(alq_is_same(f.other, f.kept));
    burn(d, ALQ_UNIT, NULL);
    if (pid_inside == 0) {
        kept_tree = f.kept;
        child_goes_on();
    }
    assert_int_equal(await(pid_inside), 0);
}

static void
forks_in_odd_places(void **state)
{
    struct alq_scanner scanner = {fork_scan, NULL, NULL, NULL};
    struct alq_listener listener = {fork_hear, NULL, 0};
    ALQ_FRAME(d, f, kept);

    (void)state;
    f.kept = tree(d, 8);
    pid_inside = -2;
    assert_int_equal(alq_scanner_add(d, &scanner), ALQ_OK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    alq_scanner_remove(d, &scanner);
    both_go_on(f.kept);

    pid_inside = -2;
    assert_int_equal(alq_listener_add(d, &listener), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_listener_remove(d, &listener), ALQ_OK);
    both_go_on(f.kept);

    pid_inside = -2;
    alq_alloc_custom(d, &forking, 8);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    both_go_on(f.kept);

    pid_inside = -2;
    assert_int_equal(
        alq_gc_finalise(d, alq_alloc(d, 1, 0), fork_finaliser, ALQ_UNIT),
        ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    both_go_on(f.kept);
}

/* A thread without a domain reads pauses all the time: what it locks is free in
 * the child. */
static bool is_over;

static void *
look_all_the_time(void *arg)
{
    struct alq_pauses pauses;

    (void)arg;
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE)) {
        CHECK(alq_pauses_get_all(d, &pauses) == ALQ_OK);
        CHECK(alq_pauses_reset(d) == ALQ_OK);
    }
    return NULL;
}

static void
a_child_finds_no_lock_taken(void **state)
{
    struct alq_pauses pauses;
    pthread_t thread;
    pid_t child;
    int i;

    (void)state;
    is_over = false;
    assert_int_equal(pthread_create(&thread, NULL, look_all_the_time, NULL), 0);
    for (i = 0; i < (IS_HARD ? 20 : 100); i++) {
        if (i % 2 == 0) {
            child = fork();
        } else {
            int pid;

            assert_int_equal(alq_fork(d, &pid), ALQ_OK);
            child = pid;
        }
        if (child == 0) {
            alarm(900);
            CHECK(alq_pauses_get_all(d, &pauses) == ALQ_OK);
            CHECK(alq_gc_minor(d) == ALQ_OK);
            CHECK(alq_domain_drop(d) == ALQ_OK);
            _exit(0);
        }
        assert_int_equal(await(child), 0);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/* In a child without the threads of its domains every call comes back. */
static void
lost_child(void)
{
    struct alq_domain *other = NULL;
    struct alq_child *child = NULL;
    struct alq_listener listener = {hear, d, 0};
    struct alq_global global = {ALQ_UNIT, NULL, NULL};
    struct alq_pauses pauses;
    struct alq_gc_stats s;
    alq_value v = ALQ_UNIT;
    void *memory;
    size_t n;

    alarm(900);
    CHECK(alq_is_null(alq_alloc(d, 3, 0)));
    CHECK(alq_status_of(d) == ALQ_ESTATE);
    CHECK(alq_is_null(alq_alloc(d, 3000, 0)));
    CHECK(alq_is_null(alq_alloc_custom(d, &counting, 8)));
    CHECK(alq_is_null(alq_weak_create(d, 3)));
    alq_poll(d);
    CHECK(alq_gc_full_major(d) == ALQ_ESTATE);
    CHECK(alq_gc_stat(d, &s) == ALQ_ESTATE);
    CHECK(alq_census_take(d, no_row, NULL) == ALQ_ESTATE);
    CHECK(alq_pin(d, kept_tree) == ALQ_ESTATE);
    CHECK(alq_unpin(d, kept_tree) == ALQ_ESTATE);
    CHECK(alq_global_add(d, &global) == ALQ_ESTATE);
    alq_global_remove(d, &global);
    CHECK(alq_listener_add(d, &listener) == ALQ_ESTATE);
    CHECK(alq_listener_remove(d, &listener) == ALQ_ESTATE);
    CHECK(alq_pauses_get_all(d, &pauses) == ALQ_ESTATE);
    CHECK(alq_pauses_reset(d) == ALQ_ESTATE);
    CHECK(alq_domain_spawn(d, burn, ALQ_UNIT, NULL, NULL, &child) ==
          ALQ_ESTATE);
    CHECK(alq_domain_drop(d) == ALQ_ESTATE);
    CHECK(alq_domain_new(NULL, &other) == ALQ_EBUSY); /* it runs d */
    CHECK(alq_marshal_to_memory(d, kept_tree, NULL, &memory, &n) == ALQ_OK);
    CHECK(alq_unmarshal(d, memory, n, NULL, NULL, &v) == ALQ_ESTATE);
    CHECK(tree_size(kept_tree) == 15); /* it may be read */
    _exit(0);
}

static void
all_calls_of_a_lost_child_come_back(void **state)
{
    struct gate gate = GATE;
    struct alq_child *child;
    pid_t pid;

    (void)state;
    child = spawn(d, through_gate, ALQ_UNIT, &gate);
    gate_await(&gate, 1);
    kept_tree = tree(d, 4);
    pid = fork();
    if (pid == 0)
        lost_child();
    assert_int_equal(await(pid), 0);
    gate_open(&gate);
    finish(d, child);
}

/* C5: the process ends while another domain sleeps. */
static alq_value
sleep_long(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_BLOCKING(on, blocks);

    __atomic_store_n((int *)data, 1, __ATOMIC_RELEASE);
    sleep(100000);
    return arg;
}

static void
exit_while_it_sleeps(void)
{
    struct alq_child *child;
    int sleeps = 0;

    alarm(900); /* not by this */
    domains_teardown(NULL);
    CHECK(alq_domain_new(NULL, &d) == ALQ_OK);
    child = spawn(d, sleep_long, ALQ_UNIT, &sleeps);
    (void)child;
    while (!__atomic_load_n(&sleeps, __ATOMIC_ACQUIRE))
        alq_poll(d);
    burn(d, ALQ_UNIT, NULL);
    exit(7);
}

static void
exit_does_not_wait(void **state)
{
    static const char *const params[] = {"", "c=1,v=0"};
    unsigned i;
    int status;
    pid_t pid;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(params); i++) {
        setenv("ALIQUOTPARAM", params[i], 1);
        pid = fork();
        if (pid == 0)
            exit_while_it_sleeps();
        status = await(pid);
        unsetenv("ALIQUOTPARAM");
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    }
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_child_does_not_end_itself),
        TEST(what_a_child_leaves_open_is_closed),
        TEST(sections_end_once),
        TEST(the_collector_is_not_entered_twice),
        TEST(a_domain_is_not_dropped_by_its_finalisers),
        TEST(foreign_threads_only_look),
        TEST(forks_in_odd_places),
        TEST(a_child_finds_no_lock_taken),
        TEST(all_calls_of_a_lost_child_come_back),
        TEST(exit_does_not_wait),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
