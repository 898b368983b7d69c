/* limit_left_test.c -- tasks that the program leaves by longjmp, or whose
 * thread ends: no frame of theirs is left to stop, or to be charged, by */
#include <pthread.h>
#include <ucontext.h>

#include "limit_kit.h"

static jmp_buf out_of_task;

/* ---- leaving ------------------------------------------------------------- */

static enum alq_status
jumps(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    longjmp(out_of_task, 1);
}

/* After some more frames. */
static enum alq_status
jumps_from_within(struct alq_domain *on, void *arg)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    int *depth = arg;

    if ((*depth)-- == 0)
        longjmp(out_of_task, 1);
    l.words = 100000;
    l.live_words = 10000;
    l.time_ns = (uint64_t)3600 * 1000000000;
    return alq_limit_run(on, &l, jumps_from_within, arg, NULL);
}

/* What others call lies where the task's frames lay. */
static ALQI_NOINLINE void
scribble(void)
{
    volatile char over[4096];

    for (size_t i = 0; i < sizeof over; i++)
        over[i] = 0x55;
}

static ALQI_NOINLINE void
leave(const struct alq_limits *l, alq_task_fn *task, void *arg)
{
    if (setjmp(out_of_task) == 0) {
        (void)!alq_limit_run(d, l, task, arg, NULL);
        fail();
    }
    scribble();
}

/* The same, and it runs another one, where the first one ran. */
static ALQI_NOINLINE void
leave_and_run(const struct alq_limits *l)
{
    struct alloc a = {1000, 2, 0};

    if (setjmp(out_of_task) == 0) {
        (void)!alq_limit_run(d, l, jumps, NULL, NULL);
        fail();
    }
    assert_int_equal(alq_limit_run(d, NULL, make_pairs, &a, NULL), ALQ_OK);
}

/* A limit is in force as long as its task runs. */
static void
all_is_well(void)
{
    struct alq_limits l = limit_words(3000);
    struct alloc a = {1000, 2, 0};
    struct alq_outcome out;

    assert_int_equal(alq_limit_run(d, NULL, make_pairs, &a, &out), ALQ_OK);
    assert_int_equal(out.words, 3000);
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out), ALQ_OK);
    a.n++;
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out), ALQ_ELIMIT);
    assert_int_equal(out.words, 3000);
    assert_int_equal(alq_is_interrupted(d), 0);
    assert_int_equal(alq_is_masked(d), 0);
    assert_int_equal(alq_status_of(d), ALQ_OK);
    assert_int_equal(make_pairs(d, &a), ALQ_OK);
}

static void
frame_that_is_left_is_gone_at_the_next_call(void **state)
{
    struct alq_limits l = limit_words(10);

    (void)state;
    for (int i = 0; i < 100; i++) {
        leave_and_run(&l);
        all_is_well();
    }
}

/* Frames, accounts, tokens and alarms of all of them; what they stood on is
 * used for something else. */
static void
frames_that_are_left_are_all_gone(void **state)
{
    struct alq_limits l = limit_token(alq_token_new());

    (void)state;
    for (int i = 0; i < 20; i++) {
        int depth = i;

        leave(&l, jumps_from_within, &depth);
        burn(d, ALQ_UNIT, NULL);
        all_is_well();
    }
    alq_token_set(l.token); /* nobody is under it */
    all_is_well();
    alq_token_drop(l.token);
}

/* And at an allocation that would have been refused. */
static void
frame_that_is_left_refuses_nothing(void **state)
{
    struct alq_limits l = limit_words(10);
    struct alloc a = {1000, 2, 0};

    (void)state;
    leave(&l, jumps, NULL);
    assert_int_equal(make_pairs(d, &a), ALQ_OK);
    assert_int_equal(alq_is_interrupted(d), 0);
}

/* ---- within another task ------------------------------------------------- */

static enum alq_status
goes_on(struct alq_domain *on, void *arg)
{
    struct alq_limits l = limit_words(10);
    struct alloc a = {999, 2, 0};
    int was = alq_mask_begin(on);

    (void)arg;
    leave(&l, jumps, NULL);
    if (make_pairs(on, &a) != ALQ_OK)
        return ALQ_EINVAL;
    alq_mask_end(on, was);
    a.n = 2;
    return make_pairs(on, &a);
}

/* Its own end is as far as it was. */
static void
task_around_goes_on(void **state)
{
    struct alq_limits l = limit_words(3000);
    struct alq_outcome out;

    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_int_equal(alq_limit_run(d, &l, goes_on, NULL, &out), ALQ_ELIMIT);
        assert_int_equal(out.words, 3000);
        assert_int_equal(out.task, ALQ_ELIMIT);
        all_is_well();
    }
}

/* ---- another stack --------------------------------------------------------
 */

static struct coroutine {
    ucontext_t main, other;
    struct alq_domain *on;
    void *stack;
    enum alq_status status;
} coroutine;

enum { STACK_BYTES = 1 << 16 };

static void
on_other_stack(void)
{
    struct alloc a = {10, 2, 0};

    CHECK(alq_limit_run(coroutine.on, NULL, do_nothing, NULL, NULL) == ALQ_OK);
    coroutine.status = make_pairs(coroutine.on, &a);
}

static enum alq_status
switches(struct alq_domain *on, void *arg)
{
    (void)arg;
    coroutine.on = on;
    CHECK(getcontext(&coroutine.other) == 0);
    coroutine.other.uc_stack.ss_sp = coroutine.stack;
    coroutine.other.uc_stack.ss_size = STACK_BYTES;
    coroutine.other.uc_link = &coroutine.main;
    makecontext(&coroutine.other, on_other_stack, 0);
    CHECK(swapcontext(&coroutine.main, &coroutine.other) == 0);
    return ALQ_OK;
}

static void *
limited_thread(void *arg)
{
    struct alq_limits l = limit_words(15);
    struct alq_outcome out;
    struct alq_domain *mine;

    (void)arg;
    CHECK(alq_domain_new(NULL, &mine) == ALQ_OK);
    CHECK(alq_limit_run(mine, &l, switches, NULL, &out) == ALQ_ELIMIT);
    CHECK(coroutine.status == ALQ_ELIMIT);
    CHECK(out.words == 15);
    CHECK(alq_domain_drop(mine) == ALQ_OK);
    return NULL;
}

/* The first thread's stack lies above those of others: seen from there their
 * frames are where such lie that were left. */
static void
frame_is_not_left_by_a_look_from_another_stack(void **state)
{
    char stack[STACK_BYTES];
    pthread_t thread;

    (void)state;
    if (IS_SANITIZED)
        skip();
    coroutine.stack = stack;
    assert_int_equal(pthread_create(&thread, NULL, limited_thread, NULL), 0);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
}

/* ---- threads that end ---------------------------------------------------- */

static enum alq_status
ends(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    pthread_exit(NULL);
}

static void
release(struct alq_domain *on, void *arg)
{
    (void)on;
    ++*(int *)arg;
}

static enum alq_status
ends_with_a_resource(struct alq_domain *on, void *arg)
{
    return alq_with_resource(on, do_nothing, ends, release, arg);
}

static void
when_the_thread_ends(void *arg)
{
    struct alq_domain *mine = arg;

    CHECK(alq_is_interrupted(mine) == 0);
    CHECK(alq_domain_drop(mine) == ALQ_OK);
}

static void *
ending_thread(void *arg)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_domain *mine;

    CHECK(alq_domain_new(NULL, &mine) == ALQ_OK);
    l.words = 10;
    l.time_ns = (uint64_t)3600 * 1000000000;
    l.live_words = 1000;
    pthread_cleanup_push(when_the_thread_ends, mine);
    (void)!alq_limit_run(mine, &l, ends_with_a_resource, arg, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

static void
thread_that_ends_leaves_no_frame(void **state)
{
    int released = 0;

    (void)state;
    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        ALQ_BLOCKING(d, blocks);

        assert_int_equal(
            pthread_create(&thread, NULL, ending_thread, &released), 0);
        pthread_join(thread, NULL);
    }
    assert_int_equal(released, 20);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(frame_that_is_left_is_gone_at_the_next_call),
        TEST(frames_that_are_left_are_all_gone),
        TEST(frame_that_is_left_refuses_nothing),
        TEST(task_around_goes_on),
        TEST(frame_is_not_left_by_a_look_from_another_stack),
        TEST(thread_that_ends_leaves_no_frame),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
