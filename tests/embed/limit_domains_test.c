/* limit_domains_test.c -- limits of tasks beside others, on several domains and
 * threads; numbers are the scenarios of spec memprof-limits 5 */
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>

#include "memprof_kit.h"

#include "limit_kit.h"
#include "base/skip.h"

/* ---- a token for many ---------------------------------------------------- */

enum { DOMAINS = 8, DEPTH = 8 };

struct crowd {
    struct alq_token *token, *other;
    _Atomic(int) n_deep;  /* domains whose eight tasks are all open */
    _Atomic(int) n_other; /* ... and the ninth, under another token */
    _Atomic(bool) may_end;
    _Atomic(int) n_stopped; /* tasks */
};

struct member {
    struct crowd *crowd;
    int depth;
};

static enum alq_status
go_deep(struct alq_domain *on, void *arg)
{
    struct member *m = arg;
    struct crowd *c = m->crowd;
    struct alq_limits l = limit_token(c->token);
    enum alq_status status;
    uint64_t n;

    if (m->depth == DEPTH) {
        atomic_fetch_add(&c->n_deep, 1);
        return poll_for_ever(on, &n);
    }
    m->depth++;
    status = alq_limit_run(on, &l, go_deep, m, NULL);
    if (status == ALQ_ELIMIT)
        atomic_fetch_add(&c->n_stopped, 1);
    return status;
}

static alq_value
deep_domain(struct alq_domain *on, alq_value arg, void *data)
{
    struct member m = {data, 0};

    (void)arg;
    CHECK(go_deep(on, &m) == ALQ_ELIMIT);
    CHECK(alq_status_of(on) == ALQ_OK);
    return ALQ_UNIT;
}

static enum alq_status
until_may_end(struct alq_domain *on, void *arg)
{
    struct crowd *c = arg;
    struct alloc a = {10, 2, 0};

    atomic_fetch_add(&c->n_other, 1);
    while (!atomic_load(&c->may_end)) {
        if (make_pairs(on, &a) != ALQ_OK)
            return ALQ_ESTATE;
        sched_yield();
    }
    return ALQ_OK;
}

static alq_value
other_domain(struct alq_domain *on, alq_value arg, void *data)
{
    struct crowd *c = data;
    struct alq_limits l = limit_token(c->other);

    (void)arg;
    CHECK(alq_limit_run(on, &l, until_may_end, c, NULL) == ALQ_OK);
    return ALQ_UNIT;
}

/* 64 tasks in 8 domains stop, one with a token of its own does not. */
static void
one_token_for_64_tasks_17(void **state)
{
    struct crowd c = {alq_token_new(), alq_token_new(), 0, 0, false, 0};
    struct alq_child *children[DOMAINS + 1];

    (void)state;
    for (int i = 0; i < DOMAINS; i++)
        children[i] = spawn(d, deep_domain, ALQ_UNIT, &c);
    children[DOMAINS] = spawn(d, other_domain, ALQ_UNIT, &c);
    while (atomic_load(&c.n_deep) < DOMAINS || atomic_load(&c.n_other) < 1) {
        alq_poll(d);
        sched_yield();
    }
    alq_token_set(c.token); /* by another domain */
    for (int i = 0; i < DOMAINS; i++)
        finish(d, children[i]);
    assert_int_equal(atomic_load(&c.n_stopped), DOMAINS * DEPTH);
    atomic_store(&c.may_end, true);
    finish(d, children[DOMAINS]);
    alq_token_drop(c.token);
    alq_token_drop(c.other);
}

/* ---- children and threads of a task ---------------------------------------
 */

enum { CHILD_PAIRS = 5000 };

static alq_value
child_makes_pairs(struct alq_domain *on, alq_value arg, void *data)
{
    struct alloc a = {(uint64_t)reps(CHILD_PAIRS, CHILD_PAIRS, 50), 2, 0};

    (void)data;
    CHECK(!alq_is_interrupted(on));
    CHECK(make_pairs(on, &a) == ALQ_OK);
    CHECK(alq_status_of(on) == ALQ_OK);
    return arg;
}

static void *
thread_makes_pairs(void *arg)
{
    struct alloc a = {(uint64_t)reps(CHILD_PAIRS, CHILD_PAIRS, 50), 2, 0};
    struct alq_thread *thread;

    CHECK(alq_thread_attach(arg, &thread) == ALQ_OK);
    CHECK(!alq_is_interrupted(arg)); /* 23: another thread's is not ours */
    CHECK(make_pairs(arg, &a) == ALQ_OK);
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

struct parent {
    struct alq_child *child;
    pthread_t thread;
    uint64_t own_words;
};

/* Is interrupted while its child domain and its thread are at work. */
static enum alq_status
have_children(struct alq_domain *on, void *arg)
{
    struct parent *p = arg;
    struct alloc a = {UINT64_MAX, 2, 0};

    p->child = spawn(on, child_makes_pairs, alq_from_int(7), NULL);
    CHECK(pthread_create(&p->thread, NULL, thread_makes_pairs, on) == 0);
    CHECK(make_pairs(on, &a) == ALQ_ELIMIT);
    p->own_words = a.made * PAIR_WORDS;
    {
        ALQ_BLOCKING(on, blocks); /* the thread runs the domain meanwhile */
        pthread_join(p->thread, NULL);
    }
    CHECK(alq_is_interrupted(on));
    return alq_status_of(on);
}

static void
children_of_an_interrupted_task_19(void **state)
{
    (void)state;
    for (int i = 0; i < reps(50, 5, 2); i++) {
        struct alq_limits l = limit_words((uint64_t)reps(3000, 3000, 300));
        struct alq_outcome out;
        struct parent p;

        assert_int_equal(alq_limit_run(d, &l, have_children, &p, &out),
                         ALQ_ELIMIT);
        assert_int_equal(out.words, p.own_words);
        assert_int_equal(alq_to_int(finish(d, p.child)), 7);
    }
}

/* ---- whether a task is interrupted ----------------------------------------
 */

static int n_released;

static void
release(struct alq_domain *on, void *arg)
{
    (void)arg;
    CHECK(alq_is_interrupted(on)); /* while it is unwound, masked */
    n_released++;
}

static enum alq_status
swallow_inside(struct alq_domain *on, void *arg)
{
    struct alq_limits l = limit_words(10);
    struct alloc a = {100, 2, 0};
    struct alq_cleanup c;

    (void)arg;
    CHECK(!alq_is_interrupted(on));
    CHECK(alq_limit_run(on, &l, make_pairs, &a, NULL) == ALQ_ELIMIT);
    CHECK(!alq_is_interrupted(on)); /* the inner one's was the inner one's */
    a.n = 1;
    CHECK(make_pairs(on, &a) == ALQ_OK);
    a.n = 1000;
    alq_foreign_begin(on);
    CHECK(make_pairs(on, &a) == ALQ_ELIMIT);
    alq_status_clear(on); /* swallowed */
    CHECK(alq_is_interrupted(on));
    alq_foreign_end(on);
    alq_cleanup_push(on, &c, release, NULL);
    (void)make_pairs(on, &a);
    CHECK(false); /* it was left */
    return ALQ_OK;
}

static void
is_interrupted_23(void **state)
{
    struct alq_limits l = limit_words(300);

    (void)state;
    l.flags = ALQ_LIMIT_UNWINDS;
    n_released = 0;
    assert_false(alq_is_interrupted(d));
    assert_int_equal(alq_limit_run(d, &l, swallow_inside, NULL, NULL),
                     ALQ_ELIMIT);
    assert_false(alq_is_interrupted(d));
    assert_int_equal(n_released, 1);
}

/* ---- profiles of some -----------------------------------------------------
 */

enum { A_INTERVAL = 100, MAX_FIELDS = 6 };

struct seen {
    /* of blocks with so many fields, at A's rate */
    _Atomic(uint64_t) samples[MAX_FIELDS + 1];
};

static int
see(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    struct seen *s = arg;

    (void)data;
    CHECK(alloc->size_words <= MAX_FIELDS);
    atomic_fetch_add(&s->samples[alloc->size_words], alloc->n_samples);
    return ALQ_TRACK_DROP;
}

static enum alq_status
make_sized(struct alq_domain *on, unsigned wosize, uint64_t words)
{
    for (uint64_t n = words / (wosize + 1); n > 0; n--)
        if (alq_is_null(alq_alloc(on, wosize, 0)))
            return alq_status_of(on);
    return ALQ_OK;
}

/* Tasks that all run while one of them stops the profile. */
struct party {
    _Atomic(int) n_there;
    _Atomic(bool) is_stopped;
};

enum { PARTY = 3 };

/* In one task: blocks before the profile is stopped, and half as many words of
 * blocks of another size afterwards. */
struct duty {
    struct party *party;
    bool stops;
    unsigned wosize, wosize_after;
    uint64_t words, sampled_words;
    bool is_profiled, is_profiled_after;
};

static enum alq_status
stop_among_others(struct alq_domain *on, const struct duty *duty)
{
    struct party *party = duty->party;
    enum alq_status status = ALQ_OK;

    atomic_fetch_add(&party->n_there, 1);
    if (duty->stops) {
        while (atomic_load(&party->n_there) < PARTY)
            alq_poll(on);
        status = alq_limit_memprof_stop(on);
        atomic_store(&party->is_stopped, true);
    }
    while (!atomic_load(&party->is_stopped)) {
        alq_poll(on);
        sched_yield();
    }
    return status;
}

static enum alq_status
do_duty(struct alq_domain *on, void *arg)
{
    struct duty *duty = arg;
    enum alq_status status;

    duty->is_profiled = alq_memprof_is_sampling(on);
    status = make_sized(on, duty->wosize, duty->words);
    if (status == ALQ_OK)
        status = stop_among_others(on, duty);
    duty->is_profiled_after = alq_memprof_is_sampling(on);
    if (status == ALQ_OK)
        status = make_sized(on, duty->wosize_after, duty->words / 2);
    return status;
}

static void
limited_duty(struct alq_domain *on, struct duty *duty)
{
    struct alq_limits l = limit_sampled(ALQ_LIMIT_MAX);
    struct alq_outcome out;

    CHECK(alq_limit_run(on, &l, do_duty, duty, &out) == ALQ_OK);
    duty->sampled_words = out.sampled_words;
}

static alq_value
on_duty(struct alq_domain *on, alq_value arg, void *data)
{
    limited_duty(on, data);
    return arg;
}

/* Limits count on, with a profile and without. */
static void
check_limits_of(const struct duty *duty)
{
    if (!IS_BRIEF) /* there are too few samples */
        check_binomial(duty->sampled_words / ALQ_LIMIT_INTERVAL_WORDS,
                       duty->words + duty->words / 2,
                       1.0 / ALQ_LIMIT_INTERVAL_WORDS);
}

/* A has a profile at 1e-2, its child joins it; B, which was there before, has
 * limits alone.  When A stops it in the midst of all three tasks, the child has
 * limits alone, too.  8 standard deviations each, as check_binomial has them.
 */
static void
each_sees_its_own_samples_27(void **state)
{
    uint64_t words = (uint64_t)reps(100000000, 3000000, 0);
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct party party = {0, false};
    struct duty a = {&party, true, 3, 4, words, 0, false, false};
    struct duty child = {&party, false, 5, 6, words, 0, false, false};
    struct duty b = {&party, false, 1, 2, words, 0, false, false};
    struct seen seen = {{0}};
    struct alq_tracker t = {
        .alloc_minor = see, .alloc_major = see, .arg = &seen};
    struct alq_profile *p;
    struct alq_child *of_b, *of_a;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects at every safe point");
    of_b = spawn(d, on_duty, ALQ_UNIT, &b);
    c.rate = 1.0 / A_INTERVAL;
    c.callstack_frames = 0;
    assert_int_equal(alq_limit_memprof_start(d, &c, &t, &p, NULL), ALQ_OK);
    of_a = spawn(d, on_duty, ALQ_UNIT, &child);
    limited_duty(d, &a);
    finish(d, of_a);
    finish(d, of_b);
    assert_true(a.is_profiled && child.is_profiled && !b.is_profiled);
    assert_false(a.is_profiled_after || child.is_profiled_after ||
                 b.is_profiled_after);
    for (unsigned wosize = 1; wosize <= MAX_FIELDS; wosize++)
        if (wosize == a.wosize || wosize == child.wosize)
            check_binomial(seen.samples[wosize],
                           words / (wosize + 1) * (wosize + 1),
                           1.0 / A_INTERVAL);
        else
            assert_int_equal(seen.samples[wosize], 0);
    check_limits_of(&a);
    check_limits_of(&child);
    check_limits_of(&b);
    assert_int_equal(alq_limit_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
}

/* ---- threads come and go ---------------------------------------------------
 */

static void *
short_life(void *arg)
{
    struct alq_limits l = limit_words(30);
    struct alloc a = {100, 2, 0};
    struct alq_thread *thread;

    l.sampled_words = 1000000;
    l.time_ns = (uint64_t)3600 * 1000000000;
    CHECK(alq_thread_attach(arg, &thread) == ALQ_OK);
    CHECK(alq_limit_run(arg, &l, make_pairs, &a, NULL) == ALQ_ELIMIT);
    CHECK(a.made == 10);
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static size_t
run_threads(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_t thread;

        CHECK(pthread_create(&thread, NULL, short_life, d) == 0);
        {
            ALQ_BLOCKING(d, blocks);
            CHECK(pthread_join(thread, NULL) == 0);
        }
    }
    return mallinfo2().uordblks;
}

/* 100,000 threads, each with its limits: none leaves a byte. */
static void
threads_come_and_go_35(void **state)
{
    int n = reps(100000, 2000, 1000);
    size_t before;

    (void)state;
    before = run_threads(n / 10);
    assert_true(run_threads(n - n / 10) <= before + 4096);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(one_token_for_64_tasks_17),
        TEST(children_of_an_interrupted_task_19),
        TEST(is_interrupted_23),
        TEST(each_sees_its_own_samples_27),
        TEST(threads_come_and_go_35),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
