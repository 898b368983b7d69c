/* asked_test.c -- who has a say before a call fails: the program (on_limit, its
 * grace), and the heap (leaves, polls_often) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/limit.h"

enum { SAMPLE_WORDS = 10000 };

/* ---- a heap that asks each time ------------------------------------------ */

static struct heap {
    struct alqi_limit_thread t;
    uint64_t words;
    bool is_woken;
} h;

static uint64_t
heap_words(void *heap)
{
    (void)heap;
    return h.words;
}

static uint64_t
heap_bytes(void *heap)
{
    (void)heap;
    return 0;
}

static void
heap_changed(void *heap)
{
    (void)heap;
}

static void
heap_wake(void *heap)
{
    (void)heap;
    h.is_woken = true;
}

static void *
heap_mark(void *heap)
{
    return heap;
}

static void
heap_cut(void *heap, void *mark)
{
    assert_ptr_equal(heap, mark);
}

static const struct alqi_limit_subject subject = {
    .words = heap_words,
    .heap_bytes = heap_bytes,
    .trigger_changed = heap_changed,
    .wake_sigsafe = heap_wake,
    .root_mark = heap_mark,
    .root_restore = heap_cut,
};

static int
start(void **state)
{
    (void)state;
    memset(&h, 0, sizeof h);
    memset(&h.t, 0xa5, sizeof h.t); /* where it stands something was */
    alqi_limit_thread_init(&h.t, &subject, &h);
    return 0;
}

/* Not unasked beyond what limit says it must ask for. */
static enum alq_status
allocate(uint64_t words)
{
    enum alq_status status = ALQ_OK;

    if (h.t.asks_each_time || h.words + words > h.t.trigger_words)
        status = alqi_limit_permit(&h.t, words);
    if (status == ALQ_OK)
        h.words += words;
    return status;
}

static enum alq_status
poll_now(void)
{
    return h.t.asks_each_time ? alqi_limit_permit(&h.t, 0) : ALQ_OK;
}

static struct alqi_limit_frame
none(void)
{
    return (struct alqi_limit_frame){0};
}

static void
open_words(struct alqi_limit_frame *f, uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    *f = none();
    l.words = words;
    assert_int_equal(alqi_limit_open(&h.t, f, &l, true), ALQ_OK);
}

static void
sample(void)
{
    alqi_limit_sampled(&h.t, 1, SAMPLE_WORDS);
}

/* ---- the program is asked ------------------------------------------------ */

struct asked {
    unsigned n, n_excused;
    enum alq_limit_cause cause;
};

static enum alq_status
excuse(struct alq_domain *d, void *arg, enum alq_limit_cause cause)
{
    struct asked *a = arg;

    assert_null(d);
    assert_int_equal(h.t.masked, 1);
    assert_int_equal(allocate(1000), ALQ_OK);
    a->cause = cause;
    return a->n++ < a->n_excused ? ALQ_OK : ALQ_ENOMEM;
}

static void
program_is_asked_before_a_call_fails(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct asked asked = {.n_excused = 2};

    (void)state;
    l.words = 10;
    l.on_limit = excuse;
    l.on_limit_arg = &asked;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    assert_int_equal(allocate(10), ALQ_OK);
    assert_int_equal(asked.n, 0);
    assert_int_equal(allocate(1), ALQ_OK);
    assert_true(h.t.is_interrupted);
    assert_int_equal(poll_now(), ALQ_OK);
    assert_int_equal(poll_now(), ALQ_ELIMIT);
    assert_int_equal(h.t.masked, 0);
    assert_int_equal(asked.n, 3);
    assert_int_equal(asked.cause, ALQ_LIMIT_WORDS);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

static void
program_is_asked_as_often_as_the_policy_says(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct asked asked = {.n_excused = 1000};

    (void)state;
    l.sampled_words = SAMPLE_WORDS;
    l.policy = ALQ_LIMIT_GRACE;
    l.grace_words = 5000;
    l.on_limit = excuse;
    l.on_limit_arg = &asked;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    sample();
    for (unsigned i = 0; i < 9000; i++)
        assert_int_equal(allocate(1), ALQ_OK);
    /* It allocates 1000 words itself each time. */
    assert_int_equal(asked.n, 1 + 9000 / (5000 - 1000));
    assert_int_equal(asked.cause, ALQ_LIMIT_SAMPLED);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* ---- grace is a frame's own -----------------------------------------------
 */

static void
open_grace(struct alqi_limit_frame *f, uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = words;
    l.policy = ALQ_LIMIT_GRACE;
    l.grace_words = 50;
    assert_int_equal(alqi_limit_open(&h.t, f, &l, true), ALQ_OK);
}

static void
grace_ends_with_its_frame(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none();

    (void)state;
    open_words(&outer, 100);
    open_grace(&inner, 100);
    assert_int_equal(allocate(101), ALQ_ELIMIT); /* of both */
    assert_int_equal(allocate(1), ALQ_OK);
    assert_true(alqi_limit_close(&inner, ALQ_ELIMIT, NULL));
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&outer, ALQ_ELIMIT, NULL));
}

static void
grace_is_not_for_a_frame_that_is_reached_in_it(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none();

    (void)state;
    open_grace(&outer, 100);
    assert_int_equal(allocate(101), ALQ_ELIMIT);
    open_words(&inner, 10);
    assert_int_equal(allocate(10), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&inner, ALQ_ELIMIT, NULL));
    assert_true(alqi_limit_close(&outer, ALQ_ELIMIT, NULL));
}

/* ---- the heap is asked ----------------------------------------------------
 */

static bool may_leave;

static bool
leaves(void *heap, const struct alqi_limit_frame *to)
{
    (void)heap;
    assert_int_equal(to->cause, ALQ_LIMIT_WORDS);
    return may_leave;
}

static void
heap_may_keep_a_task_from_being_left(void **state)
{
    static struct alqi_limit_frame f;
    struct alqi_limit_subject careful = subject;
    jmp_buf leave;

    (void)state;
    careful.may_unwind = leaves;
    h.t.subject = &careful;
    may_leave = false;
    open_words(&f, 10);
    f.leave = &leave;
    if (_setjmp(leave) == 0) {
        assert_int_equal(allocate(11), ALQ_ELIMIT);
        may_leave = true;
        (void)!allocate(11);
        fail();
    }
    assert_true(alqi_limit_close(&f, ALQ_ELIMIT, NULL));
}

static void
heap_that_polls_often_has_no_timer(void **state)
{
    static struct alqi_limit_frame f;
    struct alqi_limit_subject often = subject;
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    often.polls_often = true;
    h.t.subject = &often;
    l.time_ns = 0;
    l.cpu_ns = 1000000000;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    assert_int_equal(f.alarm, 0);
    alqi_limit_check(&h.t);
    assert_int_equal(f.cause, ALQ_LIMIT_TIME);
    assert_int_equal(poll_now(), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_ELIMIT, NULL));
    assert_false(h.is_woken);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(program_is_asked_before_a_call_fails, start),
        cmocka_unit_test_setup(program_is_asked_as_often_as_the_policy_says,
                               start),
        cmocka_unit_test_setup(grace_ends_with_its_frame, start),
        cmocka_unit_test_setup(grace_is_not_for_a_frame_that_is_reached_in_it,
                               start),
        cmocka_unit_test_setup(heap_may_keep_a_task_from_being_left, start),
        cmocka_unit_test_setup(heap_that_polls_often_has_no_timer, start),
    };

    return cmocka_run_group_tests_name("asked", tests, NULL, NULL);
}
