/* limit_unwind_test.c -- tasks that are left, masks, resources, calls that are
 * not the task's; numbers are the scenarios of spec memprof-limits 5 */
#include <stdlib.h>

#include "base/test_seed.h"
#include "limit_kit.h"

/* ---- masks ----------------------------------------------------------------
 */

struct masked {
    uint64_t pairs;
    struct alq_token *token;
    enum alq_status acquire_says;
    int n_released, n_scopes;
};

/* None of it is stopped, though the token is set. */
static enum alq_status
acquire_much(struct alq_domain *on, void *arg)
{
    struct masked *m = arg;
    struct alloc a = {m->pairs, 2, 0};

    alq_token_set(m->token);
    CHECK(alq_is_masked(on));
    CHECK(make_pairs(on, &a) == ALQ_OK);
    return m->acquire_says;
}

static void
release_much(struct alq_domain *on, void *arg)
{
    struct masked *m = arg;
    struct alloc a = {m->pairs, 2, 0};

    CHECK(alq_is_masked(on) && alq_is_interrupted(on));
    CHECK(make_pairs(on, &a) == ALQ_OK);
    m->n_released++;
}

static enum alq_status
scope_is_stopped(struct alq_domain *on, void *arg)
{
    struct masked *m = arg;

    CHECK(!alq_is_masked(on));
    m->n_scopes++;
    if (alq_is_null(alq_alloc(on, 1, 0))) /* right after the mask */
        return alq_status_of(on);
    return ALQ_OK;
}

static enum alq_status
task_20(struct alq_domain *on, void *arg)
{
    return alq_with_resource(on, acquire_much, scope_is_stopped, release_much,
                             arg);
}

static void
masked_parts_are_not_stopped_20(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags <= ALQ_LIMIT_UNWINDS; flags++)
        for (int fails = 0; fails < 2; fails++) {
            struct alq_limits l = ALQ_LIMITS_NONE;
            struct masked m = {pairs_of((uint64_t)reps(10000000, 300000, 300)),
                               alq_token_new(), ALQ_OK, 0, 0};
            struct alq_outcome out;

            if (fails)
                m.acquire_says = ALQ_EIO;
            l.token = m.token;
            l.flags = flags;
            assert_int_equal(alq_limit_run(d, &l, task_20, &m, &out),
                             ALQ_ELIMIT);
            assert_int_equal(out.cause, ALQ_LIMIT_TOKEN);
            assert_int_equal(out.task, fails ? ALQ_EIO : ALQ_ELIMIT);
            assert_int_equal(m.n_released, !fails);
            assert_int_equal(m.n_scopes, !fails);
            assert_int_equal(out.words, (fails ? 1 : 2) * m.pairs * PAIR_WORDS);
            assert_false(alq_is_masked(d));
            alq_token_drop(m.token);
        }
}

static enum alq_status
scope_in_an_acquire(struct alq_domain *on, void *arg)
{
    struct alloc a = {100, 2, 0};

    CHECK(alq_is_masked(on)); /* saved and restored, not counted down */
    alq_token_set(arg);
    CHECK(make_pairs(on, &a) == ALQ_OK);
    return ALQ_OK;
}

static void
release_nothing(struct alq_domain *on, void *arg)
{
    (void)arg;
    CHECK(alq_is_masked(on));
}

static enum alq_status
acquire_nested(struct alq_domain *on, void *arg)
{
    CHECK(alq_with_resource(on, do_nothing, scope_in_an_acquire,
                            release_nothing, arg) == ALQ_OK);
    return scope_in_an_acquire(on, arg);
}

static enum alq_status
poll_once(struct alq_domain *on, void *arg)
{
    (void)arg;
    CHECK(!alq_is_masked(on));
    alq_poll(on);
    return alq_status_of(on);
}

static enum alq_status
task_nested(struct alq_domain *on, void *arg)
{
    return alq_with_resource(on, acquire_nested, poll_once, release_nothing,
                             arg);
}

static void
inner_scope_of_an_acquire_stays_masked_20(void **state)
{
    struct alq_limits l = limit_token(alq_token_new());
    struct alq_outcome out;

    (void)state;
    assert_int_equal(alq_limit_run(d, &l, task_nested, l.token, &out),
                     ALQ_ELIMIT);
    assert_int_equal(out.task, ALQ_ELIMIT);
    alq_token_drop(l.token);
}

/* ---- a full heap --------------------------------------------------------- */

struct full {
    struct alq_token *token;
    unsigned n_made; /* by the release, of the heap's reserve */
};

static enum alq_status
acquire_nothing(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    return ALQ_OK;
}

static enum alq_status
scope_fills_the_heap(struct alq_domain *on, void *arg)
{
    struct full *full = arg;
    ALQ_FRAME(on, f, list, block);

    f.list = ALQ_UNIT;
    while (!alq_is_null((f.block = alq_alloc(on, 1000, 0)))) {
        alq_init(on, f.block, 0, f.list);
        f.list = f.block;
    }
    CHECK(alq_status_of(on) == ALQ_ENOMEM);
    alq_status_clear(on);
    alq_token_set(full->token);
    alq_poll(on);
    return alq_status_of(on);
}

static void
release_makes_some(struct alq_domain *on, void *arg)
{
    struct full *full = arg;

    while (full->n_made < 10 && !alq_is_null(alq_alloc(on, 1000, 0)))
        full->n_made++;
}

static enum alq_status
fill_with_a_resource(struct alq_domain *on, void *arg)
{
    return alq_with_resource(on, acquire_nothing, scope_fills_the_heap,
                             release_makes_some, arg);
}

static void
release_has_the_reserve(void **state)
{
    struct alq_domain_config config = {.limit_bytes = 32 << 20};
    struct alq_domain *on;

    (void)state;
    assert_int_equal(alq_domain_new(&config, &on), ALQ_OK);
    for (unsigned flags = 0; flags <= ALQ_LIMIT_UNWINDS; flags++) {
        struct alq_limits l = ALQ_LIMITS_NONE;
        struct full full = {alq_token_new(), 0};

        l.token = full.token;
        l.flags = flags;
        assert_int_equal(
            alq_limit_run(on, &l, fill_with_a_resource, &full, NULL),
            ALQ_ELIMIT);
        assert_int_equal(full.n_made, 10);
        assert_int_equal(alq_status_of(on), ALQ_OK);
        alq_token_drop(full.token);
    }
    alq_domain_drop(on);
}

/* ---- resources under fire -------------------------------------------------
 */

enum { NEST = 3 };

struct ledger {
    uint64_t n_acquired, n_released;
    int depth;       /* of resources that are held */
    int level[NEST]; /* ... and whose */
};

struct request {
    struct ledger *ledger;
    int level;
};

static enum alq_status
acquire(struct alq_domain *on, void *arg)
{
    struct request *r = arg;

    if (alq_is_null(alq_alloc(on, 1, 0)))
        return alq_status_of(on);
    r->ledger->level[r->ledger->depth++] = r->level;
    r->ledger->n_acquired++;
    return ALQ_OK;
}

static void
release(struct alq_domain *on, void *arg)
{
    struct request *r = arg;

    CHECK(!alq_is_null(alq_alloc(on, 1, 0)));
    CHECK(r->ledger->depth > 0); /* it was acquired, and is the newest */
    CHECK(r->ledger->level[--r->ledger->depth] == r->level);
    r->ledger->n_released++;
}

static enum alq_status
use(struct alq_domain *on, void *arg)
{
    struct request *r = arg, inner = {r->ledger, r->level + 1};
    struct alloc a = {4, 2, 0};
    enum alq_status status = make_pairs(on, &a);

    if (status == ALQ_OK && inner.level < NEST)
        status = alq_with_resource(on, acquire, use, release, &inner);
    return status == ALQ_OK ? make_pairs(on, &a) : status;
}

static enum alq_status
use_resources(struct alq_domain *on, void *arg)
{
    struct request r = {arg, 0};

    return alq_with_resource(on, acquire, use, release, &r);
}

/* A million interrupts, at one of the first 50 allocations. */
static void
bombarded_resources_21(void **state)
{
    struct ledger ledger = {0};
    unsigned seed = 21 + (unsigned)alqi_base_test_seed();
    uint64_t n_stopped = 0;

    (void)state;
    for (int i = 0; i < reps(1000000, 3000, 200); i++) {
        struct alq_limits l = ALQ_LIMITS_NONE;

        l.polls = (uint64_t)rand_r(&seed) % 50;
        l.flags = (unsigned)rand_r(&seed) % 2 * ALQ_LIMIT_UNWINDS;
        n_stopped +=
            alq_limit_run(d, &l, use_resources, &ledger, NULL) == ALQ_ELIMIT;
        assert_int_equal(ledger.depth, 0);
    }
    assert_int_equal(ledger.n_acquired, ledger.n_released);
    assert_true(n_stopped > 0);
}

/* ---- calls that are not the task's ----------------------------------------
 */

/* What is called allocates so many pairs, beyond the limit. */
enum { LIMIT_PAIRS = 200, CALL_PAIRS = 500 };

static struct called {
    struct alq_token *token; /* to be set by the call; NULL: words reach it */
    int n_begun, n_ended;    /* calls; one that is left has not ended */
    int n_refused;           /* allocations and polls in them */
    bool is_back;            /* in the task's own code */
} called;

static void
called_beyond_the_limit(struct alq_domain *on)
{
    called.n_begun++;
    alq_token_set(called.token);
    for (int i = 0; i < CALL_PAIRS; i++)
        called.n_refused += alq_is_null(alq_alloc(on, 2, 0));
    alq_poll(on);
    called.n_refused += alq_status_of(on) != ALQ_OK;
    called.n_ended++;
}

/* By words, and by a token: at the next pair after what was called. */
static void
is_stopped_in_its_own_code(alq_task_fn *task)
{
    for (unsigned mode = 0; mode < 4; mode++) {
        struct alq_limits l = limit_words(LIMIT_PAIRS * PAIR_WORDS);
        struct alloc a = {1, 2, 0};
        struct alq_outcome out;

        called = (struct called){0};
        if (mode >= 2)
            l = limit_token(called.token = alq_token_new());
        l.flags = mode % 2 * ALQ_LIMIT_UNWINDS;
        assert_int_equal(alq_limit_run(d, &l, task, &a, &out), ALQ_ELIMIT);
        assert_int_equal(out.cause,
                         mode < 2 ? ALQ_LIMIT_WORDS : ALQ_LIMIT_TOKEN);
        assert_int_equal(out.task, ALQ_ELIMIT);
        assert_true(called.n_begun > 0);
        assert_int_equal(called.n_ended, called.n_begun);
        assert_int_equal(called.n_refused, 0);
        assert_true(out.words >= CALL_PAIRS * PAIR_WORDS);
        assert_true(called.is_back);
        alq_token_drop(called.token);
    }
}

static enum alq_status
finalise_beyond(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    (void)with;
    called_beyond_the_limit(on);
    return ALQ_OK;
}

static enum alq_status
task_with_finalisers(struct alq_domain *on, void *arg)
{
    {
        ALQ_FRAME(on, f, v);

        f.v = alq_alloc(on, 2, 0);
        for (int i = 0; i < 3; i++)
            CHECK(alq_gc_finalise(on, f.v, finalise_beyond, ALQ_UNIT) ==
                  ALQ_OK);
    }
    CHECK(alq_gc_full_major(on) == ALQ_OK);
    CHECK(called.n_ended == 3);
    called.is_back = true;
    return make_blocks(on, arg);
}

static void
finalisers_are_not_stopped(void **state)
{
    (void)state;
    is_stopped_in_its_own_code(task_with_finalisers);
}

static int
sampled_beyond(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    (void)arg;
    (void)alloc;
    (void)data;
    called_beyond_the_limit(d);
    return ALQ_TRACK_DROP;
}

/* The first pair is a sample; the next one is refused. */
static enum alq_status
task_with_a_profile(struct alq_domain *on, void *arg)
{
    CHECK(!alq_is_null(alq_alloc(on, 2, 0)));
    CHECK(called.n_ended == 1);
    called.is_back = true;
    return make_blocks(on, arg);
}

static void
callbacks_of_a_profile_are_not_stopped(void **state)
{
    static const struct alq_tracker tracker = {.alloc_minor = sampled_beyond,
                                               .alloc_major = sampled_beyond};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p;

    (void)state;
    c.rate = 1;
    assert_int_equal(alq_memprof_start(d, &c, &tracker, &p), ALQ_OK);
    is_stopped_in_its_own_code(task_with_a_profile);
    assert_int_equal(alq_memprof_code(d), 0);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
}

/* ---- unwinding under stress -----------------------------------------------
 */

static volatile int may_end;

static void
count_cleanup(struct alq_domain *on, void *arg)
{
    struct alloc a = {3, 2, 0};

    CHECK(make_pairs(on, &a) == ALQ_OK);
    ++*(int *)arg;
}

/* Builds a tree that frames hold, however deep it is left, and looks at it. */
static long
grow(struct alq_domain *on, int depth, int *n_cleanups)
{
    ALQ_FRAME(on, f, tree, twig);
    ALQ_SCOPE_CLEANUP(on, c, count_cleanup, n_cleanups);

    f.tree = alq_alloc(on, 2, 0);
    f.twig = alq_alloc(on, 3, 0);
    alq_store(on, f.tree, 0, f.twig);
    alq_store(on, f.twig, 1, alq_from_int(depth));
    CHECK(alq_gc_minor(on) == ALQ_OK);
    alq_store(on, f.tree, 1, alq_alloc(on, 1, 0));
    if (depth > 0)
        (void)grow(on, depth - 1, n_cleanups);
    while (!may_end)
        alq_store(on, f.tree, 1, alq_alloc(on, 1, 0));
    return alq_to_int(alq_field(f.twig, 1));
}

static enum alq_status
grow_task(struct alq_domain *on, void *arg)
{
    (void)grow(on, 3, arg);
    return ALQ_OK;
}

/* 100,000 tasks that are left at each of their points in turn, a collection
 * between two allocations (hard: at each one), the heap looked through at the
 * end of each of many cycles. */
static void
left_100000_times_24(void **state)
{
    struct alq_frame *frames;

    (void)state;
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    setenv("ALIQUOTPARAM", "V=1", 1);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
    unsetenv("ALIQUOTPARAM");
    frames = d->frames;
    {
        ALQ_FRAME(d, f, kept);

        f.kept = alq_alloc(d, 100, 0);
        for (int i = 0; i < reps(100000, 2000, 200); i++) {
            struct alq_limits l = ALQ_LIMITS_NONE;
            int n_cleanups = 0;

            l.polls = (uint64_t)i % 32;
            l.flags = ALQ_LIMIT_UNWINDS;
            alq_store(d, f.kept, (uintptr_t)i % 100, alq_alloc(d, 5, 0));
            assert_int_equal(alq_limit_run(d, &l, grow_task, &n_cleanups, NULL),
                             ALQ_ELIMIT);
            assert_in_range(n_cleanups, 1, 4);
            assert_ptr_equal(d->frames, &f.alq_head);
            assert_false(alq_is_interrupted(d));
            assert_false(alq_is_masked(d));
            if (i % 100 == 0)
                assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        }
    }
    assert_ptr_equal(d->frames, frames);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(masked_parts_are_not_stopped_20),
        TEST(inner_scope_of_an_acquire_stays_masked_20),
        cmocka_unit_test(release_has_the_reserve),
        TEST(bombarded_resources_21),
        TEST(finalisers_are_not_stopped),
        TEST(callbacks_of_a_profile_are_not_stopped),
        TEST(left_100000_times_24),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
