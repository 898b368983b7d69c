/* limit_memprof_test.c -- seed 000: profiles beside limits; numbers are the
 * scenarios of spec memprof-limits 5 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#if ALQI_CHECKS >= 3
enum { ROUNDS = 3, STEP = 997 };
#else
enum { ROUNDS = 300, STEP = 1 };
#endif
enum { PAIR_WORDS = 3 };

static struct alq_domain *d;

static int
open_heap(void **state)
{
    (void)state;
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

static int
close_heap(void **state)
{
    (void)state;
    return alq_domain_drop(d) != ALQ_OK;
}

static struct alq_memprof_config
at_rate(double rate)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    c.rate = rate;
    c.callstack_frames = 0;
    return c;
}

static void
end(struct alq_profile *p)
{
    assert_int_equal(alq_limit_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
}

static enum alq_status
make_pairs(struct alq_domain *on, void *arg)
{
    for (uint64_t n = *(uint64_t *)arg; n > 0; n--) {
        alq_value v = alq_alloc_small(on, 2, 0);

        if (v == ALQ_NULL)
            return alq_status_of(on);
        alq_init_small(v, 0, ALQ_UNIT);
        alq_init_small(v, 1, ALQ_UNIT);
    }
    return ALQ_OK;
}

/* ---- intervals ---------------------------------------------------------- */

static void
interval_is_kept_2(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= ALQ_LIMIT_INTERVAL_WORDS; i += STEP) {
        double rate = 1.0 / (double)i;
        const double rates[] = {rate, nextafter(rate, 0), nextafter(rate, 2)};

        for (int j = 0; j < 3; j++) {
            struct alq_memprof_config c = at_rate(rates[j]);
            struct alq_profile *p = NULL;
            uint64_t interval = 0;
            enum alq_status status = alq_limit_memprof_start(
                d, &c, &alq_tracker_null, &p, &interval);

            if (rates[j] > 1 || rates[j] < 1.0 / ALQ_LIMIT_INTERVAL_WORDS) {
                assert_int_equal(status, ALQ_EINVAL);
                continue;
            }
            assert_int_equal(status, ALQ_OK);
            assert_int_equal(interval, i);
            end(p);
        }
    }
}

static void
halves_go_up(void **state)
{
    static const struct {
        double rate;
        uint64_t interval;
    } rows[] = {{0.667, 1}, {0.666, 2}, {0.4, 3}, {2.0 / 7, 4}, {1e-4, 10000}};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct alq_memprof_config c = at_rate(rows[i].rate);
        struct alq_profile *p;
        uint64_t interval;

        assert_int_equal(
            alq_limit_memprof_start(d, &c, &alq_tracker_null, &p, &interval),
            ALQ_OK);
        assert_int_equal(interval, rows[i].interval);
        end(p);
    }
}

/* ---- limits go on ------------------------------------------------------- */

/* Each false alarm at 4e-15. */
static void
limit_still_fires(void)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    uint64_t pairs =
        alq_limit_stop_words(100000, ALQ_LIMIT_INTERVAL_WORDS, 4e-15) /
            PAIR_WORDS +
        1;

    l.sampled_words = 100000;
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &pairs, NULL),
                     ALQ_ELIMIT);
    pairs = alq_limit_safe_words(100000, ALQ_LIMIT_INTERVAL_WORDS, 4e-15) /
            PAIR_WORDS;
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &pairs, NULL), ALQ_OK);
}

static void
refused_starts_change_nothing_25(void **state)
{
    static const double refused[] = {5e-5, 0,           -1,
                                     1.5,  (double)NAN, (double)INFINITY};
    struct alq_profile *p = NULL, *q = NULL;
    struct alq_memprof_config c = at_rate(1e-3);
    uint64_t interval = 77;

    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct alq_memprof_config wrong = at_rate(refused[i]);

        assert_int_equal(alq_limit_memprof_start(d, &wrong, &alq_tracker_null,
                                                 &p, &interval),
                         ALQ_EINVAL);
        assert_null(p);
        assert_int_equal(interval, 77);
        limit_still_fires();
    }
    c.flags = ALQ_MEMPROF_BESIDE;
    assert_int_equal(
        alq_limit_memprof_start(d, &c, &alq_tracker_null, &p, NULL),
        ALQ_EINVAL);
    assert_null(p);
    c.flags = 0;
    assert_int_equal(
        alq_limit_memprof_start(d, &c, &alq_tracker_null, &p, NULL), ALQ_OK);
    assert_int_equal(
        alq_limit_memprof_start(d, &c, &alq_tracker_null, &q, NULL), ALQ_EBUSY);
    limit_still_fires();
    end(p);
    limit_still_fires();
}

struct task {
    int n_started;
};

/* Starts and stops profiles while it allocates what is safe. */
static enum alq_status
profiling_task(struct alq_domain *on, void *arg)
{
    struct task *t = arg;
    struct alq_memprof_config c = at_rate(0.01);
    uint64_t pairs =
        alq_limit_safe_words(500000, ALQ_LIMIT_INTERVAL_WORDS, 4e-15) /
        PAIR_WORDS / 100;

    for (int i = 0; i < 100; i++) {
        struct alq_profile *p;
        enum alq_status status =
            alq_limit_memprof_start(on, &c, &alq_tracker_null, &p, NULL);

        if (status != ALQ_OK)
            return status;
        t->n_started++;
        status = make_pairs(on, &pairs);
        if (status != ALQ_OK)
            return status;
        (void)alq_limit_memprof_stop(on);
        (void)alq_limit_memprof_discard(p);
        alq_profile_drop(p);
    }
    return ALQ_OK;
}

/* No task is interrupted early, at 4e-15 each: below 2e-12 in all. */
static void
profiles_come_and_go_in_a_task_25(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct alq_limits l = ALQ_LIMITS_NONE;
        struct task t = {0};

        l.sampled_words = 500000;
        assert_int_equal(alq_limit_run(d, &l, profiling_task, &t, NULL),
                         ALQ_OK);
        assert_int_equal(t.n_started, 100);
    }
    limit_still_fires();
}

static void
discard_before_stop_28(void **state)
{
    struct alq_memprof_config c = at_rate(0.01);
    struct alq_profile *p;

    (void)state;
    assert_int_equal(alq_limit_memprof_stop(d), ALQ_ENOTRUN);
    assert_int_equal(
        alq_limit_memprof_start(d, &c, &alq_tracker_null, &p, NULL), ALQ_OK);
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_ERUNNING);
    end(p);
    assert_int_equal(alq_limit_memprof_discard(NULL), ALQ_EINVAL);
}

/* An allocation may run over the sample and the limit at once. */
static void
words_are_exact_while_each_is_sampled(void **state)
{
    static const double rates[] = {1, 0.5, 0.01};

    (void)state;
    for (int i = 0; i < 3; i++)
        for (uint64_t fit = 0; fit < 50; fit++) {
            struct alq_memprof_config c = at_rate(rates[i]);
            struct alq_limits limits = ALQ_LIMITS_NONE;
            struct alq_outcome out;
            struct alq_profile *p;
            uint64_t n = 1000;

            limits.words = fit * PAIR_WORDS + 1;
            assert_int_equal(alq_memprof_start(d, &c, &alq_tracker_null, &p),
                             ALQ_OK);
            assert_int_equal(alq_limit_run(d, &limits, make_pairs, &n, &out),
                             ALQ_ELIMIT);
            assert_int_equal(out.words, fit * PAIR_WORDS);
            assert_int_equal(alq_memprof_stop(d), ALQ_OK);
            assert_int_equal(alq_memprof_discard(p), ALQ_OK);
            alq_profile_drop(p);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interval_is_kept_2),
        cmocka_unit_test(halves_go_up),
        cmocka_unit_test(refused_starts_change_nothing_25),
        cmocka_unit_test(profiles_come_and_go_in_a_task_25),
        cmocka_unit_test(words_are_exact_while_each_is_sampled),
        cmocka_unit_test(discard_before_stop_28),
    };

    return cmocka_run_group_tests(tests, open_heap, close_heap);
}
