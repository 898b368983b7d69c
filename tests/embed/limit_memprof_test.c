/* limit_memprof_test.c -- seed 000: profiles beside limits; numbers are the
 * scenarios of spec memprof-limits 5 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "limit_kit.h"

#if ALQI_CHECKS >= 3
enum { ROUNDS = 3, STEP = 997 };
#else
enum { ROUNDS = 300, STEP = 1 };
#endif

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

/* As many as `words` have room for. */
static struct alloc
pairs_in(uint64_t words)
{
    return (struct alloc){words / PAIR_WORDS, 2, 0};
}

static struct alloc
safe_pairs(uint64_t limit)
{
    return pairs_in(
        alq_limit_safe_words(limit, ALQ_LIMIT_INTERVAL_WORDS, 4e-15));
}

static struct alloc
stop_pairs(uint64_t limit)
{
    return pairs_in(
        alq_limit_stop_words(limit, ALQ_LIMIT_INTERVAL_WORDS, 4e-15) +
        PAIR_WORDS);
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
    struct alq_limits l = limit_sampled(100000);
    struct alloc stop = stop_pairs(100000), safe = safe_pairs(100000);

    assert_int_equal(alq_limit_run(d, &l, make_pairs, &stop, NULL), ALQ_ELIMIT);
    assert_int_equal(alq_limit_run(d, &l, make_pairs, &safe, NULL), ALQ_OK);
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
    struct alloc a = safe_pairs(500000);

    a.n /= 100;
    for (int i = 0; i < 100; i++) {
        struct alq_profile *p;
        enum alq_status status =
            alq_limit_memprof_start(on, &c, &alq_tracker_null, &p, NULL);

        if (status != ALQ_OK)
            return status;
        t->n_started++;
        status = make_pairs(on, &a);
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

/* ---- profiles come and go while 100 tasks run --------------------------- */

enum { CROWD_DOMAINS = 10, CROWD_TASKS = 10, CROWD_LIMIT = 200000 };

/* One of ten domains.  Its own thread starts and stops profiles; its others
 * have a task each, and allocate in turn, when told to. */
struct crowd {
    struct alq_domain *on;
    sem_t turn[CROWD_TASKS], done;
    int n_begun; /* threads */
    int n_started, n_ended;
    _Atomic(uint64_t) n_samples; /* that the profiles saw */
};

/* Crowds whose tasks are all open, and whose profiles are all over. */
static _Atomic(int) n_ready, n_over;

static int
see(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct crowd *c = arg;

    (void)data;
    atomic_fetch_add(&c->n_samples, alloc->n_samples);
    return ALQ_TRACK_DROP;
}

static int
crowd_cycles(void)
{
    return reps(100, 50, 10);
}

static void
await(struct alq_domain *on, sem_t *sem)
{
    ALQ_BLOCKING(on, blocks); /* others of the domain run meanwhile */

    while (sem_wait(sem) != 0)
        CHECK(errno == EINTR);
}

/* Turns of a task: one under a profile and one without, by tens. */
static int
crowd_turns(void)
{
    return 2 * crowd_cycles() / CROWD_TASKS;
}

/* What is safe while profiles come and go, in its turns; then, when they are
 * gone, what is not. */
static enum alq_status
task_of_crowd(struct alq_domain *on, void *arg)
{
    struct crowd *c = arg;
    struct alloc part = safe_pairs(CROWD_LIMIT), stop = stop_pairs(CROWD_LIMIT);
    sem_t *turn = &c->turn[c->n_begun++];

    part.n /= (uint64_t)crowd_turns() * (IS_HARD ? 100 : 1);
    sem_post(&c->done);
    for (int i = 0; i < crowd_turns(); i++) {
        await(on, turn);
        if (make_pairs(on, &part) != ALQ_OK)
            return ALQ_EIO; /* interrupted early */
        sem_post(&c->done);
    }
    await(on, turn);
    return IS_HARD ? ALQ_OK : make_pairs(on, &stop);
}

static void *
thread_of_crowd(void *arg)
{
    struct crowd *c = arg;
    struct alq_limits l = limit_sampled(CROWD_LIMIT);
    struct alq_outcome out;
    struct alq_thread *thread;

    CHECK(alq_thread_attach(c->on, &thread) == ALQ_OK);
    CHECK(alq_limit_run(c->on, &l, task_of_crowd, c, &out) ==
          (IS_HARD ? ALQ_OK : ALQ_ELIMIT));
    CHECK(out.task == (IS_HARD ? ALQ_OK : ALQ_ELIMIT));
    c->n_ended++;
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static void
give_turn(struct alq_domain *on, struct crowd *c, int task)
{
    sem_post(&c->turn[task]);
    await(on, &c->done);
}

static void
profile_crowd(struct alq_domain *on, struct crowd *c)
{
    struct alq_memprof_config config = at_rate(0.01);
    struct alq_tracker t = {.alloc_minor = see, .alloc_major = see, .arg = c};

    for (int i = 0; i < crowd_cycles(); i++) {
        struct alq_profile *p;

        CHECK(alq_limit_memprof_start(on, &config, &t, &p, NULL) == ALQ_OK);
        c->n_started++;
        give_turn(on, c, i % CROWD_TASKS);
        CHECK(alq_limit_memprof_stop(on) == ALQ_OK);
        CHECK(alq_limit_memprof_discard(p) == ALQ_OK);
        alq_profile_drop(p);
        give_turn(on, c, i % CROWD_TASKS);
    }
}

/* Until all crowds have come so far. */
static void
meet(struct alq_domain *on, _Atomic(int) *n_there)
{
    atomic_fetch_add(n_there, 1);
    while (atomic_load(n_there) < CROWD_DOMAINS) {
        alq_poll(on);
        sched_yield();
    }
}

static alq_value
domain_of_crowd(struct alq_domain *on, alq_value arg, void *data)
{
    struct crowd *c = data;
    pthread_t threads[CROWD_TASKS];

    c->on = on;
    CHECK(sem_init(&c->done, 0, 0) == 0);
    for (int i = 0; i < CROWD_TASKS; i++) {
        CHECK(sem_init(&c->turn[i], 0, 0) == 0);
        CHECK(pthread_create(&threads[i], NULL, thread_of_crowd, c) == 0);
    }
    for (int i = 0; i < CROWD_TASKS; i++)
        await(on, &c->done);
    meet(on, &n_ready);
    profile_crowd(on, c);
    meet(on, &n_over);
    for (int i = 0; i < CROWD_TASKS; i++)
        sem_post(&c->turn[i]);
    {
        ALQ_BLOCKING(on, blocks);
        for (int i = 0; i < CROWD_TASKS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return arg;
}

/* 1,000 profiles.  No task is stopped early, at 4e-15 for each of 100, and each
 * is stopped afterwards, at the same: below 1e-12 in all. */
static void
profiles_come_and_go_around_100_tasks_25(void **state)
{
    struct crowd crowds[CROWD_DOMAINS] = {{0}};
    struct alq_child *children[CROWD_DOMAINS];

    (void)state;
    n_ready = n_over = 0;
    for (int i = 0; i < CROWD_DOMAINS; i++)
        children[i] = spawn(d, domain_of_crowd, ALQ_UNIT, &crowds[i]);
    for (int i = 0; i < CROWD_DOMAINS; i++) {
        finish(d, children[i]);
        assert_int_equal(crowds[i].n_started, crowd_cycles());
        assert_int_equal(crowds[i].n_ended, CROWD_TASKS);
        assert_true(IS_HARD || crowds[i].n_samples > 0); /* 850 in the mean */
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
            struct alloc a = {1000, 2, 0};

            limits.words = fit * PAIR_WORDS + 1;
            assert_int_equal(alq_memprof_start(d, &c, &alq_tracker_null, &p),
                             ALQ_OK);
            assert_int_equal(alq_limit_run(d, &limits, make_pairs, &a, &out),
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
        cmocka_unit_test(profiles_come_and_go_around_100_tasks_25),
        cmocka_unit_test(words_are_exact_while_each_is_sampled),
        cmocka_unit_test(discard_before_stop_28),
    };

    return cmocka_run_group_tests(tests, domains_setup, domains_teardown);
}
