/* limit_test.c -- tasks on the managed heap; numbers are the scenarios of spec
 * memprof-limits 5 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "limit_kit.h"
#include "base/skip.h"

/* In hard each allocation collects. */
enum {
    ROUNDS = ALQI_TEST_ROUNDS(20000, 300, 100),
    MANY = ALQI_TEST_ROUNDS(1000000, 10000, 2000),
    RUNS = ALQI_TEST_ROUNDS(500, 1, 2),
    TASKS = ALQI_TEST_ROUNDS(2000, 1, 1)
};

/* ---- words -------------------------------------------------------------- */

static void
exact_at_the_block(void **state)
{
    static const size_t sizes[] = {1, 2, 7, 100, 256, 257, 300, 5000, 100000};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t fit = 0; fit < 40; fit += 13) {
            uint64_t each = sizes[i] + 1;
            struct alq_limits l = limit_words(fit * each + each / 2);
            struct alloc a = {1000000, sizes[i], 0};
            struct alq_outcome out;

            assert_int_equal(alq_limit_run(d, &l, make_blocks, &a, &out),
                             ALQ_ELIMIT);
            assert_int_equal(a.made, fit);
            assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
            assert_int_equal(out.words, fit * each);
            assert_int_equal(alq_status_of(d), ALQ_OK);
        }
}

static void
exact_over_many_minor_heaps_1(void **state)
{
    struct alq_limits l = limit_words((uint64_t)MANY * PAIR_WORDS);
    struct alloc a = {MANY, 2, 0};
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out), ALQ_OK);
    assert_int_equal(out.words, MANY * PAIR_WORDS);
    a.n++;
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out), ALQ_ELIMIT);
    assert_int_equal(a.made, MANY);
}

static void
huge_block_is_refused_before_it_exists_30(void **state)
{
    struct alq_limits l = limit_words(1000000);
    struct alloc a = {1, 1000000000, 0};
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, make_blocks, &a, &out), ALQ_ELIMIT);
    assert_int_equal(out.words, 0);
    assert_true(out.heap_bytes < 100000000);
}

static enum alq_status
inner_of_two(struct alq_domain *on, void *arg)
{
    struct alq_limits l = limit_words(1000 * PAIR_WORDS);
    struct alloc *a = arg;
    struct alloc rest;
    struct alq_outcome out;

    if (alq_limit_run(on, &l, make_pairs, a, &out) != ALQ_ELIMIT ||
        out.cause != ALQ_LIMIT_WORDS || alq_is_interrupted(on))
        return ALQ_ESTATE;
    rest = (struct alloc){1000000, 2, 0};
    make_pairs(on, &rest);
    a->made += rest.made;
    return ALQ_OK;
}

static void
nested_limits_share_the_budget_15(void **state)
{
    struct alq_limits l = limit_words(5000 * PAIR_WORDS);
    struct alloc a = {1000000, 2, 0};
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, inner_of_two, &a, &out), ALQ_ELIMIT);
    assert_int_equal(out.task, ALQ_OK);
    assert_int_equal(a.made, 5000);
    assert_int_equal(out.words, 5000 * PAIR_WORDS);
}

static enum alq_status
inner_after_the_limit(struct alq_domain *on, void *arg)
{
    const struct alq_limits inner = ALQ_LIMITS_NONE;

    if (make_pairs(on, arg) != ALQ_ELIMIT)
        return ALQ_ESTATE;
    if (alq_limit_run(on, &inner, do_nothing, NULL, NULL) != ALQ_OK)
        return ALQ_ESTATE;
    return alq_status_of(on);
}

static void
status_lasts_as_long_as_a_frame_is_reached_15(void **state)
{
    struct alq_limits l = limit_words(10 * PAIR_WORDS);
    struct alloc a = {11, 2, 0};
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, inner_after_the_limit, &a, &out),
                     ALQ_ELIMIT);
    assert_int_equal(out.task, ALQ_ELIMIT);
    assert_int_equal(alq_status_of(d), ALQ_OK);
}

struct swallower {
    uint64_t pairs;
    enum alq_status returns; /* whatever becomes of them */
};

static enum alq_status
swallow(struct alq_domain *on, void *arg)
{
    const struct swallower *s = arg;
    struct alloc a = {s->pairs, 2, 0};

    (void)make_pairs(on, &a);
    alq_status_clear(on);
    return s->returns;
}

static void
flag_decides_not_the_task_13(void **state)
{
    static const enum alq_status returned[] = {ALQ_OK, ALQ_EIO, ALQ_ELIMIT};

    (void)state;
    for (size_t i = 0; i < sizeof returned / sizeof *returned; i++) {
        struct alq_limits l = limit_words(10 * PAIR_WORDS);
        struct swallower s = {11, returned[i]};
        struct alq_outcome out;

        assert_int_equal(alq_limit_run(d, &l, swallow, &s, &out), ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
        assert_int_equal(out.task, returned[i]);
        s.pairs = 10; /* not reached: it passes through */
        assert_int_equal(alq_limit_run(d, &l, swallow, &s, &out), returned[i]);
        assert_int_equal(out.cause, ALQ_LIMIT_NOT);
    }
}

/* ---- samples ------------------------------------------------------------ */

/* Scenarios 3 and 4: what is safe never stops, what must stop does.  4 limits
 * of each 500 runs at 4e-15: false alarm below 8e-12. */
static void
safe_and_stop_words_3_4(void **state)
{
    static const uint64_t limits[] = {100000, 200000, 500000, 1000000};

    (void)state;
    for (int i = 0; i < (TASKS == 1 ? 1 : 4); i++)
        for (int run = 0; run < RUNS; run++) {
            struct alq_limits l = ALQ_LIMITS_NONE;
            struct alloc a = {0, 2, 0};
            struct alq_outcome out;

            l.sampled_words = limits[i];
            a.n = alq_limit_safe_words(limits[i], ALQ_LIMIT_INTERVAL_WORDS,
                                       4e-15) /
                  PAIR_WORDS;
            assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out),
                             ALQ_OK);
            assert_int_equal(out.sampled_words % ALQ_LIMIT_INTERVAL_WORDS, 0);
            a.n = alq_limit_stop_words(limits[i], ALQ_LIMIT_INTERVAL_WORDS,
                                       4e-15) /
                      PAIR_WORDS +
                  1;
            assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out),
                             ALQ_ELIMIT);
            assert_int_equal(out.cause, ALQ_LIMIT_SAMPLED);
            assert_true(out.sampled_words >= limits[i]);
        }
}

/* 6: words at the stop, k = 10, 2,000 tasks: mean 100,000, one task's deviation
 * 31,621; 8 standard errors are 5,657.  False alarm below 1e-14. */
static void
mean_of_where_it_stops_6(void **state)
{
    double sum = 0;

    (void)state;
    if (TASKS == 1)
        ALQI_SKIP("only rel and chk make samples enough for the law");
    for (int i = 0; i < TASKS; i++) {
        struct alq_limits l = ALQ_LIMITS_NONE;
        struct alloc a = {UINT64_MAX, 2, 0};
        struct alq_outcome out;

        l.sampled_words = 100000;
        assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out),
                         ALQ_ELIMIT);
        sum += (double)out.words;
    }
    assert_true(sum / TASKS > 100000 - 5657 && sum / TASKS < 100000 + 5657);
}

/* ---- polls, time, tokens ------------------------------------------------ */

static void
fuel(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t n;

    (void)state;
    l.polls = 1000;
    assert_int_equal(alq_limit_run(d, &l, poll_for_ever, &n, NULL), ALQ_ELIMIT);
    assert_int_equal(n, 1001); /* the last one failed */
}

static struct alq_token *token;

static void
on_alarm(int number)
{
    (void)number;
    alq_token_set(token);
}

static void
token_from_a_handler_17(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;
    uint64_t n;

    (void)state;
#ifdef __SANITIZE_THREAD__
    ALQI_SKIP("ThreadSanitizer keeps signals back");
#endif
    token = l.token = alq_token_new();
    signal(SIGALRM, on_alarm);
    ualarm(3000, 0);
    assert_int_equal(alq_limit_run(d, &l, poll_for_ever, &n, &out), ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_TOKEN);
    assert_int_equal(alq_limit_run(d, &l, poll_for_ever, NULL, &out),
                     ALQ_ELIMIT); /* set already: not called */
    alq_token_drop(token);
}

static void *
set_soon(void *arg)
{
    struct timespec wait = {0, 2000000};

    nanosleep(&wait, NULL);
    alq_token_set(arg);
    return NULL;
}

static void
token_from_a_thread_17(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alloc a = {UINT64_MAX, 2, 0};
    struct alq_outcome out;
    pthread_t thread;

    (void)state;
    l.token = alq_token_new();
    assert_int_equal(pthread_create(&thread, NULL, set_soon, l.token), 0);
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, &out), ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_TOKEN);
    pthread_join(thread, NULL);
    alq_token_drop(l.token);
}

static enum alq_status
wait_for_token(struct alq_domain *on, void *arg)
{
    struct alq_thread *away = alq_blocking_begin(on);

    alq_token_set(arg);
    if (alq_blocking_end(away) != ALQ_OK)
        return ALQ_ESTATE;
    alq_poll(on);
    return alq_status_of(on);
}

static void
token_set_in_a_blocking_section(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    (void)state;
    l.token = alq_token_new();
    assert_int_equal(alq_limit_run(d, &l, wait_for_token, l.token, &out),
                     ALQ_ELIMIT);
    assert_int_equal(out.task, ALQ_ELIMIT);
    alq_token_drop(l.token);
}

/* ---- heap --------------------------------------------------------------- */

static enum alq_status
churn(struct alq_domain *on, void *arg)
{
    struct alloc *a = arg;

    for (a->made = 0; a->made < a->n; a->made++)
        if (alq_is_null(alq_alloc(on, 10000, 0)))
            return alq_status_of(on);
    return ALQ_OK;
}

static enum alq_status
hoard(struct alq_domain *on, void *arg)
{
    ALQ_FRAME(on, f, list, one);
    struct alloc *a = arg;

    f.list = ALQ_UNIT;
    for (a->made = 0; a->made < a->n; a->made++) {
        f.one = alq_alloc(on, 10000, 0);
        if (alq_is_null(f.one))
            return alq_status_of(on);
        alq_store(on, f.one, 0, f.list);
        f.list = f.one;
    }
    return ALQ_OK;
}

static void
garbage_does_not_count_live_words_do(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alloc a = {20000, 0, 0}; /* 1.6 GB */
    struct alq_outcome out;

    (void)state;
    if (ALQI_CHECKS >= 3)
        ALQI_SKIP("a hard build collects at every safe point");
    l.heap_bytes = 64 << 20;
    assert_int_equal(alq_limit_run(d, &l, churn, &a, &out), ALQ_OK);
    for (int i = 0; i < 5; i++) { /* 31: the monitor goes on */
        assert_int_equal(alq_limit_run(d, &l, hoard, &a, &out), ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_HEAP);
        assert_true(a.made > 500 && a.made < 1000);
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
    }
}

/* ---- unwinding ---------------------------------------------------------- */

static int order[8], n_order;
static volatile int may_end;

static void
note(struct alq_domain *on, void *arg)
{
    struct alloc a = {100, 2, 0};

    assert_true(alq_is_interrupted(on));
    assert_int_equal(make_pairs(on, &a), ALQ_OK); /* masked */
    order[n_order++] = (int)(intptr_t)arg;
}

static enum alq_status
dive(struct alq_domain *on, int depth)
{
    ALQ_FRAME(on, f, v);
    struct alq_cleanup c;

    alq_cleanup_push(on, &c, note, (void *)(intptr_t)depth);
    if (depth < 3)
        return dive(on, depth + 1);
    while (!may_end)
        f.v = alq_alloc(on, 3, 0); /* never looks at what it gets */
    return ALQ_OK;
}

static enum alq_status
dive_in(struct alq_domain *on, void *arg)
{
    (void)arg;
    return dive(on, 0);
}

static void
unwinding_task_is_left_24(void **state)
{
    struct alq_limits l = limit_words(ALQI_CHECKS >= 3 ? 1000 : 100000);
    struct alq_frame *frames = d->frames;

    (void)state;
    l.flags = ALQ_LIMIT_UNWINDS;
    for (int round = 0; round < (ALQI_CHECKS >= 3 ? 5 : 100); round++) {
        n_order = 0;
        assert_int_equal(alq_limit_run(d, &l, dive_in, NULL, NULL), ALQ_ELIMIT);
        assert_int_equal(n_order, 4);
        for (int i = 0; i < 4; i++)
            assert_int_equal(order[i], 3 - i);
        assert_ptr_equal(d->frames, frames);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    }
}

/* ---- each point --------------------------------------------------------- */

struct ledger {
    int acquired, released, is_open;
    int unwinds;
};

static enum alq_status
acquire(struct alq_domain *on, void *arg)
{
    struct ledger *l = arg;

    if (alq_is_null(alq_alloc(on, 1, 0))) /* masked: cannot be stopped */
        return alq_status_of(on);
    l->acquired++;
    l->is_open++;
    return ALQ_OK;
}

static enum alq_status
use(struct alq_domain *on, void *arg)
{
    struct alloc a = {5, 2, 0};

    (void)arg;
    return make_pairs(on, &a);
}

static void
release(struct alq_domain *on, void *arg)
{
    struct ledger *l = arg;

    (void)alq_alloc(on, 1, 0);
    l->released++;
    l->is_open--;
}

static enum alq_status
resources(struct alq_domain *on, void *arg)
{
    enum alq_status status = alq_with_resource(on, acquire, use, release, arg);

    if (status != ALQ_OK)
        return status;
    return alq_with_resource(on, acquire, use, release, arg);
}

static enum alq_status
check_ledger(struct alq_domain *on, void *arg, uint64_t passed)
{
    const struct ledger *l = arg;

    (void)passed;
    return l->is_open == 0 && l->acquired == l->released &&
                   !alq_is_interrupted(on) && alq_gc_minor(on) == ALQ_OK
               ? ALQ_OK
               : ALQ_ESTATE;
}

static void
each_point_22(void **state)
{
    struct ledger l = {0};
    uint64_t points;

    (void)state;
    for (unsigned flags = 0; flags <= ALQ_LIMIT_UNWINDS; flags++) {
        assert_int_equal(alq_limit_each_point(d, flags, resources, check_ledger,
                                              &l, &points),
                         ALQ_OK);
        assert_true(points >= 10);
        assert_true(l.acquired > 0);
    }
}

static void
bombarded_resources_21(void **state)
{
    struct ledger l = {0};

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct alq_limits limits = ALQ_LIMITS_NONE;

        limits.polls = (uint64_t)(i * 7 % 50);
        limits.flags = (unsigned)i % 2 * ALQ_LIMIT_UNWINDS;
        (void)!alq_limit_run(d, &limits, resources, &l, NULL);
        assert_int_equal(l.is_open, 0);
    }
    assert_int_equal(l.acquired, l.released);
}

/* ---- the program is asked ------------------------------------------------ */

static enum alq_status
excuse(struct alq_domain *on, void *arg, enum alq_limit_cause cause)
{
    unsigned *n = arg;

    assert_ptr_equal(on, d);
    assert_int_equal(cause, ALQ_LIMIT_WORDS);
    assert_true(alq_is_masked(on));
    for (int i = 0; i < 100; i++) /* it may allocate, and collect */
        assert_true(!alq_is_null(alq_alloc(on, 10, 0)));
    assert_int_equal(alq_gc_minor(on), ALQ_OK);
    return --*n > 0 ? ALQ_OK : ALQ_ELIMIT;
}

static void
program_is_asked_before_an_allocation_fails(void **state)
{
    struct alloc a = {.n = 1000, .wosize = 2};
    struct alq_limits l = limit_words(300);
    struct alq_outcome out;
    unsigned n = 20;

    (void)state;
    l.on_limit = excuse;
    l.on_limit_arg = &n;
    assert_int_equal(alq_limit_run(d, &l, make_blocks, &a, &out), ALQ_ELIMIT);
    assert_int_equal(n, 0);
    assert_int_equal(a.made, 300 / PAIR_WORDS + 19);
    assert_int_equal(out.words, (300 + 19 * PAIR_WORDS) + 20 * 100 * 11);
}

/* ---- arguments ---------------------------------------------------------- */

static void *
run_elsewhere(void *arg)
{
    enum alq_status *status = arg;

    status[0] = alq_limit_run(d, NULL, do_nothing, NULL, NULL);
    status[1] = alq_limit_each_point(d, 0, do_nothing, NULL, NULL, NULL);
    return NULL;
}

static void
thread_that_does_not_run_the_domain(void **state)
{
    enum alq_status status[2] = {ALQ_OK, ALQ_OK};
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, run_elsewhere, status), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(status[0], ALQ_ESTATE);
    assert_int_equal(status[1], ALQ_ESTATE);
}

static void
wrong_arguments(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    assert_int_equal(alq_limit_run(NULL, NULL, do_nothing, NULL, NULL),
                     ALQ_ENOHEAP); /* malloc's, without the preload */
    assert_int_equal(
        alq_limit_each_point(NULL, 0, do_nothing, NULL, NULL, NULL),
        ALQ_ENOHEAP);
    assert_int_equal(alq_limit_run(NULL, NULL, NULL, NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_limit_run(d, NULL, NULL, NULL, NULL), ALQ_EINVAL);
    l.flags = 4;
    assert_int_equal(alq_limit_run(d, &l, do_nothing, NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_limit_each_point(d, 4, do_nothing, NULL, NULL, NULL),
                     ALQ_EINVAL);
    l.flags = 0;
    l.policy = (enum alq_limit_policy)9;
    assert_int_equal(alq_limit_run(d, &l, do_nothing, NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_limit_run(d, NULL, do_nothing, NULL, NULL), ALQ_OK);
    assert_int_equal(alq_with_resource(d, NULL, do_nothing, NULL, NULL),
                     ALQ_EINVAL);
    assert_false(alq_is_interrupted(d));
    assert_false(alq_is_masked(d));
    assert_int_equal(alq_mask_begin(d), 0);
    alq_mask_end(d, 0);
}

static void
negative_limits_are_refused_9(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t *const numbers[] = {&l.words,      &l.sampled_words, &l.live_words,
                                 &l.heap_bytes, &l.time_ns,       &l.cpu_ns,
                                 &l.polls};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(numbers); i++) {
        *numbers[i] = (uint64_t)-2; /* -1 is ALQ_LIMIT_NONE */
        assert_int_equal(alq_limit_run(d, &l, do_nothing, NULL, NULL),
                         ALQ_EINVAL);
        *numbers[i] = ALQ_LIMIT_MAX + 1;
        assert_int_equal(alq_limit_run(d, &l, do_nothing, NULL, NULL),
                         ALQ_EINVAL);
        *numbers[i] = ALQ_LIMIT_MAX;
        assert_int_equal(alq_limit_run(d, &l, do_nothing, NULL, NULL), ALQ_OK);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_at_the_block),
        cmocka_unit_test(exact_over_many_minor_heaps_1),
        cmocka_unit_test(huge_block_is_refused_before_it_exists_30),
        cmocka_unit_test(nested_limits_share_the_budget_15),
        cmocka_unit_test(status_lasts_as_long_as_a_frame_is_reached_15),
        cmocka_unit_test(flag_decides_not_the_task_13),
        cmocka_unit_test(safe_and_stop_words_3_4),
        cmocka_unit_test(mean_of_where_it_stops_6),
        cmocka_unit_test(fuel),
        cmocka_unit_test(token_from_a_handler_17),
        cmocka_unit_test(token_from_a_thread_17),
        cmocka_unit_test(token_set_in_a_blocking_section),
        cmocka_unit_test(garbage_does_not_count_live_words_do),
        cmocka_unit_test(unwinding_task_is_left_24),
        cmocka_unit_test(each_point_22),
        cmocka_unit_test(bombarded_resources_21),
        cmocka_unit_test(program_is_asked_before_an_allocation_fails),
        cmocka_unit_test(thread_that_does_not_run_the_domain),
        cmocka_unit_test(negative_limits_are_refused_9),
        cmocka_unit_test(wrong_arguments),
    };
    struct CMUnitTest all[sizeof tests / sizeof *tests];

    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        all[i] = tests[i];
        all[i].setup_func = domains_setup;
        all[i].teardown_func = domains_teardown;
    }
    return _cmocka_run_group_tests("limit", all, sizeof tests / sizeof *tests,
                                   NULL, NULL);
}
