/* limit_stat_test.c -- the law of limits that count samples, by tasks of the
 * real heap; numbers are the scenarios of spec memprof-limits 5, and so are the
 * probabilities, if nothing else is said, of false alarms */
#include <math.h>
#include <stdlib.h>

#include "limit_kit.h"
#include "base/skip.h"

enum { S = ALQ_LIMIT_INTERVAL_WORDS };

/* Pairs that a task makes before a limit of so many words stops it. */
static uint64_t
stopped_at(uint64_t limit_words)
{
    struct alq_limits l = limit_sampled(limit_words);
    struct alloc a = {UINT64_MAX, 2, 0};

    assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, NULL), ALQ_ELIMIT);
    return a.made;
}

static enum alq_status
make_under(uint64_t limit_words, uint64_t pairs, struct alq_outcome *out)
{
    struct alq_limits l = limit_sampled(limit_words);
    struct alloc a = {pairs, 2, 0};

    return alq_limit_run(d, &l, make_pairs, &a, out);
}

/* ---- counts -------------------------------------------------------------- */

/* Deterministic. */
static void
rate_1_counts_each_word_1(void **state)
{
    uint64_t pairs = (uint64_t)reps(1000000, 30000, 300);
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_memprof_counts counts;
    struct alq_profile *p;
    struct alq_outcome out;
    uint64_t interval;

    (void)state;
    c.rate = 1;
    c.callstack_frames = 0;
    assert_int_equal(
        alq_limit_memprof_start(d, &c, &alq_tracker_null, &p, &interval),
        ALQ_OK);
    assert_int_equal(interval, 1);
    assert_int_equal(make_under(ALQ_LIMIT_MAX, pairs, &out), ALQ_OK);
    assert_int_equal(out.words, pairs * PAIR_WORDS);
    assert_int_equal(out.site_words, pairs * PAIR_WORDS);
    alq_profile_counts(p, &counts);
    assert_int_equal(counts.sampled_words, pairs * PAIR_WORDS);
    assert_int_equal(alq_limit_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
}

/* The mean of 400 estimates of 10,000,000 words each; 8 standard errors are
 * 127,000: 1e-14. */
static void
estimate_is_unbiased_7(void **state)
{
    enum { RUNS = 400, WORDS = 10000000 };
    uint64_t pairs = pairs_of(WORDS);
    double sum = 0;

    (void)state;
    if (reps(0, 1, 1))
        ALQI_SKIP("only rel and chk make samples enough for the law");
    for (int i = 0; i < RUNS; i++) {
        struct alq_outcome out;

        assert_int_equal(make_under(ALQ_LIMIT_MAX, pairs, &out), ALQ_OK);
        sum += (double)out.sampled_words;
    }
    assert_true(fabs(sum / RUNS - WORDS) < 127000);
}

/* ---- safe, and stopped --------------------------------------------------- */

static uint64_t limits[] = {100000, 200000, 500000, 1000000};

/* 1,000 runs of each limit, 4e-15 each: 4e-12. */
static void
safe_words_never_stop_a_task_3(void **state)
{
    const uint64_t *limit = *state;
    uint64_t words = alq_limit_safe_words(*limit, S, 4e-15);
    struct alq_outcome out;

    for (int i = 0; i < reps(1000, 5, 0); i++) {
        assert_int_equal(make_under(*limit, words / PAIR_WORDS, &out), ALQ_OK);
        assert_int_equal(out.sampled_words % S, 0);
        assert_true(out.sampled_words < *limit);
    }
}

static void
stop_words_always_stop_a_task_4(void **state)
{
    const uint64_t *limit = *state;
    uint64_t words = alq_limit_stop_words(*limit, S, 4e-15);
    struct alq_outcome out;

    for (int i = 0; i < reps(1000, 5, 0); i++) {
        assert_int_equal(make_under(*limit, pairs_of(words), &out), ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_SAMPLED);
        assert_true(out.sampled_words >= *limit);
    }
}

/* 600 runs of 8e-15: 5e-12. */
static void
limit_between_two_multiples_5(void **state)
{
    (void)state;
    assert_int_equal(alq_limit_safe_words(125000, S, 4e-15), 4577);
    assert_int_equal(alq_limit_stop_words(125000, S, 4e-15), 631079);
    for (int i = 0; i < reps(600, 5, 0); i++) {
        assert_int_equal(make_under(125000, 4577 / PAIR_WORDS, NULL), ALQ_OK);
        assert_int_equal(make_under(125000, pairs_of(631079), NULL),
                         ALQ_ELIMIT);
    }
}

/* 1,000 runs of 4e-15. */
static void
limit_0_is_the_next_sample_8(void **state)
{
    struct alq_outcome out;

    (void)state;
    for (int i = 0; i < reps(1000, 5, 0); i++) {
        assert_int_equal(make_under(0, pairs_of(331509), &out), ALQ_ELIMIT);
        assert_int_equal(out.sampled_words % S, 0);
        assert_true(out.sampled_words > 0);
    }
    assert_int_equal(make_under(0, 0, &out), ALQ_OK); /* and none is none */
    assert_int_equal(out.sampled_words, 0);
}

/* ---- where tasks stop ---------------------------------------------------- */

static int
by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* The greatest distance between the law of pairs made under this limit and what
 * was seen.  The pair that is refused has the sample: more than m were made if
 * the words of m + 1 pairs do not reach the limit. */
static double
distance(uint64_t *made, int n, uint64_t limit_words)
{
    double most = 0;

    qsort(made, (size_t)n, sizeof *made, by_number);
    for (int i = 0, next; i < n; i = next) {
        double before = alq_limit_reached(made[i] * PAIR_WORDS, limit_words, S);
        double now =
            alq_limit_reached((made[i] + 1) * PAIR_WORDS, limit_words, S);

        for (next = i; next < n && made[next] == made[i]; next++)
            continue;
        most = fmax(most, fabs(before - (double)i / n));
        most = fmax(most, fabs(now - (double)next / n));
    }
    return most;
}

/* At sample 10, of 10,000 tasks: the mean of 100,000 words within 8 standard
 * errors, 1e-14, the distance less than 0.0377, 1e-12 (Dvoretzky, Kiefer,
 * Wolfowitz, Massart: 2 exp(-2 n D^2)). */
static void
where_it_stops_is_negative_binomial_6(void **state)
{
    enum { RUNS = 10000 };
    static uint64_t made[RUNS];
    double sum = 0;

    (void)state;
    if (reps(0, 1, 1))
        ALQI_SKIP("only rel and chk make samples enough for the law");
    for (int i = 0; i < RUNS; i++) {
        made[i] = stopped_at(100000);
        sum += (double)((made[i] + 1) * PAIR_WORDS);
    }
    assert_true(fabs(sum / RUNS - 100000) < 2530);
    assert_true(distance(made, RUNS, 100000) < 0.0377);
}

/* Seed 003 by a million tasks, each stopped at its next sample: 64 % within 80
 * KiB, 8 standard deviations of that share, 1e-14; no task comes as far as has
 * the probability 1e-18; and the distance less than 0.00377, 1e-12. */
static void
million_tasks_wait_for_their_next_sample(void **state)
{
    uint64_t within = 80 * 1024 / ALQ_WORD_BYTES / PAIR_WORDS;
    double share = alq_limit_reached(within * PAIR_WORDS, 0, S);
    int n = reps(1000000, 3000, 0), n_within = 0;
    uint64_t *made = malloc((size_t)n * sizeof *made + 1);

    (void)state;
    assert_non_null(made);
    assert_true(share > 0.6407 && share < 0.6409);
    for (int i = 0; i < n; i++) {
        made[i] = stopped_at(0);
        n_within += made[i] < within;
    }
    if (n > 0) {
        assert_true(fabs((double)n_within / n - share) <
                    8 * sqrt(share * (1 - share) / n));
        assert_true(distance(made, n, 0) < sqrt(14.2 / n));
        assert_true(made[n - 1] < pairs_of(alq_limit_stop_words(0, S, 1e-18)));
    }
    free(made);
}

/* ---- nested -------------------------------------------------------------- */

struct nest {
    uint64_t inner_limit, inner_pairs, outer_pairs;
    enum alq_status inner;
};

static enum alq_status
inner_then_outer(struct alq_domain *on, void *arg)
{
    struct nest *n = arg;
    struct alq_limits l = limit_sampled(n->inner_limit);
    struct alloc a = {n->inner_pairs, 2, 0};

    n->inner = alq_limit_run(on, &l, make_pairs, &a, NULL);
    a.n = n->outer_pairs;
    return make_pairs(on, &a);
}

/* An inner limit that is reached leaves the outer one what it has: 200 runs of
 * 8e-15. */
static void
inner_smaller_by_samples_15(void **state)
{
    uint64_t stop = alq_limit_stop_words(100000, S, 4e-15);
    uint64_t safe = alq_limit_safe_words(2000000, S, 4e-15);

    (void)state;
    for (int i = 0; i < reps(200, 3, 0); i++) {
        struct nest n = {100000, pairs_of(stop), 0, ALQ_OK};
        struct alq_limits l = limit_sampled(2000000);

        n.outer_pairs = (safe - stop) / PAIR_WORDS - 1;
        assert_int_equal(alq_limit_run(d, &l, inner_then_outer, &n, NULL),
                         ALQ_OK);
        assert_int_equal(n.inner, ALQ_ELIMIT);
    }
}

/* One that is larger than what the outer has left is both's: 200 of 4e-15. */
static void
inner_larger_by_samples_15(void **state)
{
    uint64_t stop = alq_limit_stop_words(200000, S, 4e-15);

    (void)state;
    for (int i = 0; i < reps(200, 3, 0); i++) {
        struct nest n = {1000000, pairs_of(stop), 1, ALQ_OK};
        struct alq_limits l = limit_sampled(200000);
        struct alq_outcome out;

        assert_int_equal(alq_limit_run(d, &l, inner_then_outer, &n, &out),
                         ALQ_ELIMIT);
        assert_int_equal(n.inner, ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_SAMPLED);
    }
}

/* ---- others -------------------------------------------------------------- */

/* The same program with the same seeds, on a heap that is new, is stopped at
 * the same blocks; deterministic. */
static void
same_seed_same_block_34(void **state)
{
    enum { TASKS = 20 };
    uint64_t made[2][TASKS];

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("only rel and chk make samples enough for the law");
    for (int run = 0; run < 2; run++) {
        assert_int_equal(alq_domain_drop(d), ALQ_OK);
        assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
        for (int i = 0; i < TASKS; i++) {
            struct alq_limits l = limit_sampled(300000);
            struct alloc a = {UINT64_MAX, 2, 0};

            l.seed = i < TASKS / 2 ? 42 + (uint64_t)i : 0; /* they go on */
            assert_int_equal(alq_limit_run(d, &l, make_pairs, &a, NULL),
                             ALQ_ELIMIT);
            made[run][i] = a.made;
        }
    }
    for (int i = 0; i < TASKS; i++)
        assert_int_equal(made[0][i], made[1][i]);
    assert_true(made[0][0] != made[0][1] || made[0][1] != made[0][2]);
}

struct swallow {
    uint64_t n_gaps, words;
};

/* Ignores each failure. */
static enum alq_status
swallow(struct alq_domain *on, void *arg)
{
    struct swallow *s = arg;
    uint64_t gaps = 0;

    for (s->words = 0; gaps < s->n_gaps; s->words += PAIR_WORDS) {
        struct alloc a = {1, 2, 0};

        if (make_pairs(on, &a) != ALQ_OK) {
            alq_status_clear(on);
            s->words -= PAIR_WORDS;
            gaps++;
        }
    }
    return ALQ_OK;
}

/* The mean of 10,000 gaps, 8 standard errors of it: 1e-14.  Sticky: no gap. */
static void
gaps_after_a_failure_14(void **state)
{
    struct swallow s = {(uint64_t)reps(10000, 0, 0) + 1, 0};
    struct alq_limits l = limit_words(0);
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, swallow, &s, &out), ALQ_ELIMIT);
    assert_int_equal(out.words, 0);
    l.policy = ALQ_LIMIT_NEXT_SAMPLE;
    assert_int_equal(alq_limit_run(d, &l, swallow, &s, &out), ALQ_ELIMIT);
    assert_int_equal(out.words, s.words);
    if (s.n_gaps > 1)
        assert_true(fabs((double)s.words / (double)(s.n_gaps - 1) - S) < 800);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
#define OF_100_200_500_1000_KW(name)                                           \
    {#name, name, domains_setup, domains_teardown, &limits[0]},                \
        {#name, name, domains_setup, domains_teardown, &limits[1]},            \
        {#name, name, domains_setup, domains_teardown, &limits[2]},            \
    {                                                                          \
#name, name, domains_setup, domains_teardown, &limits[3]               \
    }
    const struct CMUnitTest tests[] = {
        TEST(rate_1_counts_each_word_1),
        TEST(estimate_is_unbiased_7),
        OF_100_200_500_1000_KW(safe_words_never_stop_a_task_3),
        OF_100_200_500_1000_KW(stop_words_always_stop_a_task_4),
        TEST(limit_between_two_multiples_5),
        TEST(limit_0_is_the_next_sample_8),
        TEST(where_it_stops_is_negative_binomial_6),
        TEST(million_tasks_wait_for_their_next_sample),
        TEST(inner_smaller_by_samples_15),
        TEST(inner_larger_by_samples_15),
        TEST(same_seed_same_block_34),
        TEST(gaps_after_a_failure_14),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
