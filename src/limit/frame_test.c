/* frame_test.c -- frames, masks, policies and tokens on a scripted heap
 *
 * The scenarios of spec memprof-limits 5 that need no chance; their numbers
 * stand at the tests.  Limits of the heap and of what lives: size_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_effort.h"
#include "kits/limit/scripted_heap.h"

/* ---- words -------------------------------------------------------------- */

static void
exact_limit_stops_at_the_block_that_crosses_it(void **state)
{
    (void)state;
    for (uint64_t limit = 0; limit < 50; limit++) {
        struct alqi_limit_frame f = none();
        struct alq_outcome out;

        open_words(&f, limit);
        for (uint64_t i = 0; i < limit / 3; i++)
            assert_int_equal(allocate(3), ALQ_OK);
        assert_int_equal(h.t.is_interrupted, 0);
        if (limit % 3 != 0)
            assert_int_equal(allocate(limit % 3), ALQ_OK);
        assert_int_equal(allocate(1), ALQ_ELIMIT);
        assert_int_equal(allocate(1), ALQ_ELIMIT);
        assert_int_equal(poll_now(), ALQ_ELIMIT);
        assert_true(alqi_limit_close(&f, ALQ_OK, &out));
        assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
        assert_int_equal(out.words, limit);
        assert_int_equal(allocate(1), ALQ_OK);
    }
}

static void
block_larger_than_the_limit_is_refused_first_30(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_outcome out;

    (void)state;
    open_words(&f, 1000000);
    assert_int_equal(allocate(1000000000), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_ELIMIT, &out));
    assert_int_equal(out.words, 0);
}

static void
heap_asks_only_at_the_limit(void **state)
{
    struct alqi_limit_frame f = none();

    (void)state;
    open_words(&f, 3000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(allocate(3), ALQ_OK);
    assert_int_equal(h.n_asked, 0);
    assert_false(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* ---- samples ------------------------------------------------------------ */

static void
sampled_limit_is_reached_at_its_sample_5_8(void **state)
{
    static const uint64_t limits[] = {0, 1, 10000, 10001, 125000, 130000};
    static const int k[] = {1, 1, 1, 2, 13, 13};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(limits); i++) {
        struct alqi_limit_frame f = none();
        struct alq_outcome out;

        open_sampled(&f, limits[i]);
        assert_true(h.t.counts_samples);
        for (int n = 1; n < k[i]; n++) {
            sample();
            assert_int_equal(allocate(5), ALQ_OK);
        }
        sample();
        assert_int_equal(allocate(5), ALQ_ELIMIT);
        assert_true(alqi_limit_close(&f, ALQ_OK, &out));
        assert_int_equal(out.cause, ALQ_LIMIT_SAMPLED);
        assert_int_equal(out.sampled_words, (uint64_t)k[i] * SAMPLE_WORDS);
    }
}

static void
no_sample_no_words_8(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_outcome out;

    (void)state;
    open_sampled(&f, 0);
    assert_int_equal(allocate(1000), ALQ_OK);
    assert_false(alqi_limit_close(&f, ALQ_OK, &out));
    assert_int_equal(out.sampled_words, 0);
    assert_false(h.t.counts_samples);
}

static void
counters_saturate_9(void **state)
{
    struct alqi_limit_frame f = none();

    (void)state;
    open_sampled(&f, UINT64_MAX - 1);
    alqi_limit_sampled(&h.t, UINT64_MAX, SAMPLE_WORDS);
    assert_int_equal(h.t.sampled_words, UINT64_MAX);
    sample();
    assert_int_equal(h.t.sampled_words, UINT64_MAX);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* ---- the flag decides --------------------------------------------------- */

/* A task that swallows the failure, then returns `task`. */
static void
swallow_and_return(enum alq_status task)
{
    struct alqi_limit_frame f = none();
    struct alq_outcome out;

    open_words(&f, 10);
    assert_int_equal(allocate(10), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, task, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
    assert_int_equal(out.task, task); /* told, but not the task's result */
}

/* The same, when nothing was reached. */
static void
just_return(enum alq_status task)
{
    struct alqi_limit_frame f = none();
    struct alq_outcome out;

    open_words(&f, 10);
    assert_int_equal(allocate(10), ALQ_OK);
    assert_false(alqi_limit_close(&f, task, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_NOT);
    assert_int_equal(out.task, task);
}

static void
flag_decides_not_the_task_13(void **state)
{
    static const enum alq_status returned[] = {ALQ_OK, ALQ_EIO, ALQ_ENOMEM,
                                               ALQ_ELIMIT};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(returned); i++) {
        swallow_and_return(returned[i]);
        just_return(returned[i]); /* even what looks like a limit */
    }
}

/* ---- nesting ------------------------------------------------------------ */

static void
inner_smaller_outer_goes_on_15(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none();
    struct alq_outcome out;

    (void)state;
    open_words(&outer, 100);
    open_words(&inner, 10);
    assert_int_equal(allocate(10), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&inner, ALQ_ELIMIT, &out));
    assert_false(h.t.is_interrupted); /* 23 */
    assert_int_equal(allocate(90), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&outer, ALQ_OK, &out));
    assert_int_equal(out.words, 100);
}

static void
inner_larger_than_what_is_left_15(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none();

    (void)state;
    open_words(&outer, 100);
    assert_int_equal(allocate(60), ALQ_OK);
    open_words(&inner, 1000);
    assert_int_equal(allocate(40), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&inner, ALQ_ELIMIT, NULL));
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&outer, ALQ_OK, NULL)); /* returns normally */
}

static void
inner_without_end_is_charged_to_the_outer_15(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none();
    struct alq_outcome out;

    (void)state;
    open_words(&outer, 100);
    open_words(&inner, ALQ_LIMIT_NONE);
    assert_int_equal(allocate(70), ALQ_OK);
    assert_false(alqi_limit_close(&inner, ALQ_EIO, &out)); /* by an error */
    assert_int_equal(out.words, 70);
    assert_int_equal(allocate(30), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&outer, ALQ_OK, NULL));
}

static void
sampled_frames_nest_15(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none();

    (void)state;
    open_sampled(&outer, 30000);
    sample();
    open_sampled(&inner, 90000);
    sample();
    assert_int_equal(allocate(1), ALQ_OK);
    sample();
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&inner, ALQ_OK, NULL));
    assert_true(alqi_limit_close(&outer, ALQ_OK, NULL));
}

/* Of three frames of the three kinds, in all orders, each fires in turn: that
 * one alone is reached. */
static void
kinds_nest_in_all_orders_16(void **state)
{
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    (void)state;
    for (int o = 0; o < 6; o++)
        for (int fires = 0; fires < 3; fires++) {
            struct alqi_limit_frame f[3];
            struct alq_token *token = alq_token_new();

            h.bytes = h.bytes_live = 0;
            for (int i = 0; i < 3; i++) {
                struct alq_limits l = ALQ_LIMITS_NONE;

                if (orders[o][i] == 0)
                    l.words = 1000;
                else if (orders[o][i] == 1)
                    l.heap_bytes = 1000;
                else
                    l.token = token;
                assert_int_equal(alqi_limit_open(&h.t, &f[i], &l, true),
                                 ALQ_OK);
            }
            assert_int_equal(allocate(10), ALQ_OK);
            if (fires == 1) {
                h.bytes = h.bytes_live = 2000;
                heap_wake(NULL);
            } else if (fires == 2) {
                alq_token_set(token);
            }
            assert_int_equal(allocate(fires == 0 ? 1001 : 1), ALQ_ELIMIT);
            for (int i = 2; i >= 0; i--)
                assert_int_equal(alqi_limit_close(&f[i], ALQ_ELIMIT, NULL),
                                 orders[o][i] == fires);
            assert_int_equal(allocate(1), ALQ_OK);
            alq_token_drop(token);
        }
}

/* ---- tokens ------------------------------------------------------------- */

static void
token_set_before_the_task_17(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    (void)state;
    l.token = alq_token_new();
    alq_token_set(l.token);
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_ELIMIT, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_TOKEN);
    alq_token_drop(l.token);
}

static void
token_set_before_the_return_18(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.token = alq_token_new();
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    alq_token_set(l.token);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
    alq_token_drop(l.token);
}

/* ---- masks -------------------------------------------------------------- */

static void
mask_holds_back_and_counts_20(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;
    uint32_t was, inner;

    (void)state;
    l.words = 100;
    l.token = alq_token_new();
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    was = alqi_limit_mask(&h.t);
    alq_token_set(l.token);
    assert_int_equal(allocate(10000000), ALQ_OK);
    assert_int_equal(poll_now(), ALQ_OK);
    assert_true(h.t.is_interrupted); /* in a release */
    inner = alqi_limit_mask(&h.t);
    alqi_limit_unmask(&h.t, inner);
    assert_int_equal(allocate(1), ALQ_OK); /* saved, not counted down */
    alqi_limit_unmask(&h.t, was);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_OK, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_TOKEN);
    assert_int_equal(out.words, 10000001);
    alq_token_drop(l.token);
}

static void
limit_passed_under_a_mask_is_delivered_after_it(void **state)
{
    struct alqi_limit_frame f = none();
    uint32_t was;

    (void)state;
    open_words(&f, 100);
    was = alqi_limit_mask(&h.t);
    assert_int_equal(allocate(101), ALQ_OK);
    alqi_limit_unmask(&h.t, was);
    assert_int_equal(poll_now(), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* ---- policies and fuel -------------------------------------------------- */

/* A release with a limit of its own, of a task that has had enough: 4.3.7. */
static void
limit_under_a_mask_knows_nothing_of_outer_ones(void **state)
{
    struct alqi_limit_frame outer = none(), inner = none(), innermost = none();
    struct alq_limits o = ALQ_LIMITS_NONE, i = ALQ_LIMITS_NONE;
    uint32_t was;

    (void)state;
    o.words = o.sampled_words = o.polls = 10;
    i.words = i.sampled_words = 10 * SAMPLE_WORDS;
    i.polls = 100;
    assert_int_equal(alqi_limit_open(&h.t, &outer, &o, true), ALQ_OK);
    assert_int_equal(allocate(11), ALQ_ELIMIT);
    sample();
    was = alqi_limit_mask(&h.t);
    assert_int_equal(alqi_limit_open(&h.t, &inner, &i, true), ALQ_OK);
    assert_int_equal(allocate(10 * SAMPLE_WORDS - 1), ALQ_OK);
    for (unsigned n = 1; n < 50; n++)
        assert_int_equal(poll_now(), ALQ_OK);
    for (unsigned n = 1; n < 10; n++)
        sample();
    assert_int_equal(poll_now(), ALQ_OK);
    /* Of its own a task in it does. */
    assert_int_equal(alqi_limit_open(&h.t, &innermost, &i, true), ALQ_OK);
    assert_int_equal(allocate(2), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&innermost, ALQ_OK, NULL));
    assert_true(alqi_limit_close(&inner, ALQ_OK, NULL));
    assert_int_equal(allocate(1), ALQ_OK); /* the mask is back */
    alqi_limit_unmask(&h.t, was);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&outer, ALQ_OK, NULL));
}

/* Opens a frame of 100 words, with a grace of 50, and allocates all of them. */
static void
grace_begin(struct alqi_limit_frame *f)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = 100;
    l.policy = ALQ_LIMIT_GRACE;
    l.grace_words = 50;
    assert_int_equal(alqi_limit_open(&h.t, f, &l, true), ALQ_OK);
    assert_int_equal(allocate(100), ALQ_OK);
}

static void
grace_is_given_after_each_failure(void **state)
{
    struct alqi_limit_frame f = none();

    (void)state;
    grace_begin(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(allocate(1), ALQ_ELIMIT);
        for (int j = 0; j < 50; j++)
            assert_int_equal(allocate(1), ALQ_OK);
    }
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* Neither a poll nor an allocation is passed over when the grace is used up,
 * while the heap is told to ask each time. */
static void
poll_fails_where_grace_ends(void **state)
{
    struct alqi_limit_frame f = none();

    (void)state;
    grace_begin(&f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(allocate(1), ALQ_ELIMIT);
        assert_int_equal(allocate(49), ALQ_OK);
        assert_int_equal(poll_now(), ALQ_OK);
        assert_false(h.t.asks_each_time);
        assert_int_equal(allocate(1), ALQ_OK);
        assert_int_equal(alqi_limit_permit(&h.t, 0), ALQ_ELIMIT);
        assert_false(h.t.asks_each_time);
        assert_int_equal(allocate(50), ALQ_OK);
    }
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* Mean 10,000 of so many gaps, whose standard deviation is the same: 8 standard
 * errors are 800 for 10,000 of them.  False alarm below 1e-14; below 2e-12 for
 * 900 (Chernoff's bound, of the sum of exponential ones). */
static void
next_sample_comes_at_random_14(void **state)
{
    enum { ROOT = ALQI_TEST_ROUNDS(100, 30, 30), GAPS = ROOT * ROOT };
    const double error = 8 * 10000.0 / ROOT;
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    double mean;

    (void)state;
    l.words = 0;
    l.policy = ALQ_LIMIT_NEXT_SAMPLE;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    for (int n = 0; n < GAPS;)
        n += allocate(1) == ALQ_ELIMIT;
    mean = (double)h.words / (GAPS - 1);
    assert_true(mean > 10000 - error && mean < 10000 + error);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

static void
polls_are_fuel(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    (void)state;
    l.polls = 7;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    for (int i = 0; i < 7; i++)
        assert_int_equal(i % 2 == 0 ? poll_now() : allocate(2), ALQ_OK);
    assert_int_equal(poll_now(), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_OK, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_POLLS);
}

/* ---- unwinding ---------------------------------------------------------- */

static int cleanup_order[4], n_cleanups;

static void
note_cleanup(struct alq_domain *d, void *arg)
{
    (void)d;
    assert_true(h.t.is_interrupted);
    assert_int_equal(allocate(1000), ALQ_OK); /* masked */
    cleanup_order[n_cleanups++] = *(int *)arg;
}

static void
push(struct alq_cleanup *c, int *number)
{
    *c = (struct alq_cleanup){note_cleanup, number, NULL, h.t.cleanups};
    h.t.cleanups = c;
}

static void
unwinding_runs_cleanups_and_restores_24(void **state)
{
    static struct alqi_limit_frame outer, inner;
    static struct alq_cleanup c[3];
    static int number[3] = {0, 1, 2};
    struct alq_limits l = ALQ_LIMITS_NONE;
    jmp_buf leave_outer, leave_inner;

    (void)state;
    n_cleanups = 0;
    push(&c[0], &number[0]); /* not the task's */
    h.depth = 3;
    l.words = 100;
    assert_int_equal(alqi_limit_open(&h.t, &outer, &l, true), ALQ_OK);
    outer.leave = &leave_outer;
    if (_setjmp(leave_outer) == 0) {
        h.depth = 5;
        push(&c[1], &number[1]);
        l.words = ALQ_LIMIT_NONE;
        assert_int_equal(alqi_limit_open(&h.t, &inner, &l, true), ALQ_OK);
        inner.leave = &leave_inner;
        if (_setjmp(leave_inner) != 0)
            fail(); /* it is the outer one's limit */
        h.depth = 9;
        push(&c[2], &number[2]);
        h.t.foreign++;
        assert_int_equal(allocate(101), ALQ_ELIMIT); /* may not be left */
        h.t.foreign--;
        (void)!allocate(101);
        fail();
    }
    assert_int_equal(n_cleanups, 2);
    assert_int_equal(cleanup_order[0], 2);
    assert_int_equal(cleanup_order[1], 1);
    assert_int_equal(h.depth, 3);
    assert_ptr_equal(h.t.innermost, &outer);
    assert_ptr_equal(h.t.cleanups, &c[0]);
    assert_true(alqi_limit_close(&outer, ALQ_ELIMIT, NULL));
    assert_int_equal(allocate(1), ALQ_OK);
    h.t.cleanups = NULL;
}

static void
frame_that_does_not_unwind_is_not_left(void **state)
{
    static struct alqi_limit_frame outer, inner;
    jmp_buf leave_outer;

    (void)state;
    open_words(&outer, 10);
    outer.leave = &leave_outer;
    if (_setjmp(leave_outer) == 0) {
        open_words(&inner, 1000);
        assert_int_equal(allocate(11), ALQ_ELIMIT);
        assert_true(alqi_limit_close(&inner, ALQ_ELIMIT, NULL));
        (void)!allocate(11);
        fail();
    }
    assert_true(alqi_limit_close(&outer, ALQ_ELIMIT, NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_limit_stops_at_the_block_that_crosses_it),
        cmocka_unit_test(block_larger_than_the_limit_is_refused_first_30),
        cmocka_unit_test(heap_asks_only_at_the_limit),
        cmocka_unit_test(sampled_limit_is_reached_at_its_sample_5_8),
        cmocka_unit_test(no_sample_no_words_8),
        cmocka_unit_test(counters_saturate_9),
        cmocka_unit_test(flag_decides_not_the_task_13),
        cmocka_unit_test(inner_smaller_outer_goes_on_15),
        cmocka_unit_test(inner_larger_than_what_is_left_15),
        cmocka_unit_test(inner_without_end_is_charged_to_the_outer_15),
        cmocka_unit_test(sampled_frames_nest_15),
        cmocka_unit_test(kinds_nest_in_all_orders_16),
        cmocka_unit_test(token_set_before_the_task_17),
        cmocka_unit_test(token_set_before_the_return_18),
        cmocka_unit_test(mask_holds_back_and_counts_20),
        cmocka_unit_test(limit_passed_under_a_mask_is_delivered_after_it),
        cmocka_unit_test(limit_under_a_mask_knows_nothing_of_outer_ones),
        cmocka_unit_test(grace_is_given_after_each_failure),
        cmocka_unit_test(poll_fails_where_grace_ends),
        cmocka_unit_test(next_sample_comes_at_random_14),
        cmocka_unit_test(polls_are_fuel),
        cmocka_unit_test(unwinding_runs_cleanups_and_restores_24),
        cmocka_unit_test(frame_that_does_not_unwind_is_not_left),
    };

    return scripted_run("frame", tests, ALQI_COUNT_OF(tests));
}
