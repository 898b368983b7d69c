/* guard_test.c -- locks that break, logs that undo; scenario 32 of spec
 * memprof-limits 5 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/test_seed.h"
#include "domains_kit.h"

#if defined __SANITIZE_THREAD__
enum { ROUNDS = 1000 };
#else
enum { ROUNDS = 10000 };
#endif
enum { POINTS = 12 };

/* ---- guards ------------------------------------------------------------- */

/* Two numbers that are equal, but for while they change. */
static struct stack {
    struct alq_guard guard;
    long pushed, length;
} shared = {.guard = ALQ_GUARD_INIT};

static enum alq_status
lock(struct alq_domain *on, void *arg)
{
    (void)arg;
    return alq_guard_lock(on, &shared.guard);
}

static enum alq_status
push(struct alq_domain *on, void *arg)
{
    (void)arg;
    for (int i = 0; i < 3; i++)
        if (alq_is_null(alq_alloc(on, 2, 0)))
            return alq_status_of(on);
    CHECK(shared.pushed == shared.length);
    shared.pushed++;
    if (alq_is_null(alq_alloc(on, 2, 0)))
        return alq_status_of(on);
    shared.length++;
    return ALQ_OK;
}

static void
unlock(struct alq_domain *on, void *arg)
{
    (void)arg;
    alq_guard_unlock(on, &shared.guard);
}

static enum alq_status
push_guarded(struct alq_domain *on, void *arg)
{
    return alq_with_resource(on, lock, push, unlock, arg);
}

struct tally {
    int pushed, interrupted, broken;
};

/* Rolls its stone up, again and again. */
static struct tally
sisyphus(struct alq_domain *on, unsigned seed)
{
    struct tally t = {0};

    for (int i = 0; i < ROUNDS; i++) {
        struct alq_limits l = ALQ_LIMITS_NONE;
        enum alq_status status;

        l.polls = (uint64_t)rand_r(&seed) % POINTS;
        l.flags = (unsigned)i % 2 * ALQ_LIMIT_UNWINDS;
        status = alq_limit_run(on, &l, push_guarded, NULL, NULL);
        if (status == ALQ_OK)
            t.pushed++;
        else if (status == ALQ_ELIMIT)
            t.interrupted++;
        if (status != ALQ_ESTATE)
            continue;
        t.broken++;
        if (alq_guard_mend(on, &shared.guard) == ALQ_OK) {
            shared.length = shared.pushed; /* made anew */
            alq_guard_unlock(on, &shared.guard);
        }
    }
    return t;
}

static alq_value
other_domain(struct alq_domain *on, alq_value arg, void *data)
{
    struct tally t = sisyphus(on, 2 + (unsigned)alqi_base_test_seed());

    (void)arg;
    (void)data;
    return alq_from_int(t.pushed > 0 && t.interrupted > 0);
}

static void
sisyphus_32(void **state)
{
    struct alq_child *child;
    struct tally t;
    alq_value result;

    (void)state;
    assert_int_equal(
        alq_domain_spawn(d, other_domain, ALQ_UNIT, NULL, NULL, &child),
        ALQ_OK);
    t = sisyphus(d, 1 + (unsigned)alqi_base_test_seed());
    assert_int_equal(alq_domain_join(d, child, &result), ALQ_OK);
    alq_child_drop(child);
    assert_int_equal(alq_to_int(result), 1);
    assert_true(t.pushed > 0 && t.interrupted > 0 && t.broken > 0);
    assert_int_equal(alq_guard_mend(d, &shared.guard), ALQ_OK);
    alq_guard_unlock(d, &shared.guard);
    assert_true(shared.pushed >= t.pushed);
}

/* ---- under a limit of the heap ------------------------------------------ */

/* A list in the heap whose length is told, but for while it changes; blocks of
 * a page or so, that the limit is soon reached. */
enum { BLOCK_FIELDS = 600, HEAP_BYTES = 1 << 20 };

static struct heap_stack {
    struct alq_guard guard;
    struct alq_global head;
    long length;
} stack = {.guard = ALQ_GUARD_INIT};

static long
count_stack(void)
{
    long n = 0;

    for (alq_value v = stack.head.value; alq_is_block(v); v = alq_field(v, 0))
        n++;
    return n;
}

static enum alq_status
lock_stack(struct alq_domain *on, void *arg)
{
    (void)arg;
    return alq_guard_lock(on, &stack.guard);
}

static void
unlock_stack(struct alq_domain *on, void *arg)
{
    (void)arg;
    alq_guard_unlock(on, &stack.guard);
}

/* Half-way it lets the domain's other thread come to wait, and allocates. */
static enum alq_status
push_block(struct alq_domain *on, void *arg)
{
    alq_value v = alq_alloc(on, BLOCK_FIELDS, 0);

    (void)arg;
    if (alq_is_null(v))
        return alq_status_of(on);
    alq_init(on, v, 0, stack.head.value);
    stack.head.value = v;
    CHECK(alq_thread_yield(on) == ALQ_OK);
    if (alq_is_null(alq_alloc(on, BLOCK_FIELDS, 0)))
        return alq_status_of(on);
    stack.length++;
    return ALQ_OK;
}

static enum alq_status
push_block_guarded(struct alq_domain *on, void *arg)
{
    return alq_with_resource(on, lock_stack, push_block, unlock_stack, arg);
}

static void
empty_stack(struct alq_domain *on)
{
    stack.head.value = ALQ_UNIT;
    stack.length = 0;
    alq_guard_unlock(on, &stack.guard);
}

/* Whole, it is as it says, and makes room; broken, it is left to whoever pushes
 * next. */
static void
after_the_limit(struct alq_domain *on)
{
    if (alq_guard_lock(on, &stack.guard) != ALQ_OK)
        return;
    CHECK(count_stack() == stack.length);
    empty_stack(on);
}

static struct tally
sisyphus_of_heap(struct alq_domain *on)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct tally t = {0};

    l.heap_bytes = HEAP_BYTES;
    for (int i = 0; i < ROUNDS; i++) {
        struct alq_outcome out;

        l.flags = (unsigned)i % 2 * ALQ_LIMIT_UNWINDS;
        switch (alq_limit_run(on, &l, push_block_guarded, NULL, &out)) {
        case ALQ_OK:
            t.pushed++;
            break;
        case ALQ_ELIMIT:
            CHECK(out.cause == ALQ_LIMIT_HEAP);
            t.interrupted++;
            after_the_limit(on);
            break;
        default:
            CHECK(out.task == ALQ_ESTATE);
            t.broken++;
            CHECK(alq_guard_mend(on, &stack.guard) == ALQ_OK);
            empty_stack(on);
        }
    }
    return t;
}

static struct tally tallies[3]; /* a domain, its second thread, another one */

static alq_value
heap_domain(struct alq_domain *on, alq_value arg, void *data)
{
    (void)data;
    tallies[2] = sisyphus_of_heap(on);
    return arg;
}

static void *
heap_thread(void *arg)
{
    struct alq_thread *thread;

    CHECK(alq_thread_attach(arg, &thread) == ALQ_OK);
    tallies[1] = sisyphus_of_heap(arg);
    CHECK(alq_thread_detach(thread) == ALQ_OK);
    return NULL;
}

static void
sisyphus_under_a_heap_limit_32(void **state)
{
    struct tally all = {0};
    struct alq_child *child;
    pthread_t thread;

    (void)state;
    stack.head.value = ALQ_UNIT;
    assert_int_equal(alq_global_add(d, &stack.head), ALQ_OK);
    child = spawn(d, heap_domain, ALQ_UNIT, NULL);
    assert_int_equal(pthread_create(&thread, NULL, heap_thread, d), 0);
    tallies[0] = sisyphus_of_heap(d);
    {
        ALQ_BLOCKING(d, blocks);
        pthread_join(thread, NULL);
    }
    finish(d, child);
    for (int i = 0; i < 3; i++) {
        all.pushed += tallies[i].pushed;
        all.interrupted += tallies[i].interrupted;
        all.broken += tallies[i].broken;
    }
    assert_int_equal(alq_guard_mend(d, &stack.guard), ALQ_OK);
    empty_stack(d);
    alq_global_remove(d, &stack.head);
    assert_true(all.pushed > 0 && all.interrupted > 0 && all.broken > 0);
}

static void
broken_only_by_the_interrupted(void **state)
{
    (void)state;
    assert_int_equal(alq_guard_mend(d, &shared.guard), ALQ_OK);
    alq_guard_unlock(d, &shared.guard);
    assert_int_equal(alq_guard_lock(d, &shared.guard), ALQ_OK);
    alq_guard_unlock(d, &shared.guard);
    assert_int_equal(alq_guard_lock(NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_guard_lock(NULL, &shared.guard),
                     ALQ_OK); /* malloc's */
    alq_guard_unlock(NULL, &shared.guard);
    assert_int_equal(alq_guard_lock(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_guard_mend(d, NULL), ALQ_EINVAL);
}

/* ---- undoing ------------------------------------------------------------ */

struct ledger {
    int balance[4];
    int undone[64], n_undone;
};

struct step {
    struct ledger *ledger;
    int of;
};

static void
take_back(struct alq_domain *on, void *arg)
{
    struct step *s = arg;

    assert_true(!alq_is_null(alq_alloc(on, 2, 0))); /* masked */
    s->ledger->balance[s->of]--;
    s->ledger->undone[s->ledger->n_undone++] = s->of;
}

/* All four or none. */
static enum alq_status
add_to_all(struct alq_domain *on, void *arg)
{
    struct ledger *l = arg;
    struct step steps[4];
    struct alq_undo log = {NULL, 0, 0};

    l->n_undone = 0;
    for (int i = 0; i < 4; i++) {
        steps[i] = (struct step){l, i};
        if (alq_undo_note(&log, take_back, &steps[i]) != ALQ_OK)
            abort();
        l->balance[i]++;
        if (alq_is_null(alq_alloc(on, 2, 0))) {
            alq_undo_all(on, &log);
            return alq_status_of(on);
        }
    }
    alq_undo_keep(&log);
    return ALQ_OK;
}

static enum alq_status
all_or_none(struct alq_domain *on, void *arg, uint64_t passed)
{
    struct ledger *l = arg;

    (void)on;
    for (int i = 1; i < 4; i++)
        if (l->balance[i] != l->balance[0])
            return ALQ_ESTATE;
    for (int i = 0; i < l->n_undone; i++)
        if (l->undone[i] != l->n_undone - 1 - i)
            return ALQ_ESTATE;
    return passed < 4 && l->n_undone != (int)passed + 1 ? ALQ_ESTATE : ALQ_OK;
}

static void
undone_at_each_point_22(void **state)
{
    struct ledger l = {{0}, {0}, 0};
    uint64_t points;

    (void)state;
    assert_int_equal(
        alq_limit_each_point(d, 0, add_to_all, all_or_none, &l, &points),
        ALQ_OK);
    assert_int_equal(points, 4);
    assert_int_equal(l.balance[0], 1);
}

static void
long_log(void **state)
{
    struct ledger l = {{0}, {0}, 0};
    struct step s = {&l, 2};
    struct alq_undo log = {NULL, 0, 0};

    (void)state;
    for (int i = 0; i < 60; i++)
        assert_int_equal(alq_undo_note(&log, take_back, &s), ALQ_OK);
    alq_undo_all(d, &log);
    assert_int_equal(l.balance[2], -60);
    assert_int_equal(log.n, 0);
    assert_int_equal(alq_undo_note(NULL, take_back, &s), ALQ_EINVAL);
    assert_int_equal(alq_undo_note(&log, NULL, &s), ALQ_EINVAL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sisyphus_32),
        cmocka_unit_test(sisyphus_under_a_heap_limit_32),
        cmocka_unit_test(broken_only_by_the_interrupted),
        cmocka_unit_test(undone_at_each_point_22),
        cmocka_unit_test(long_log),
    };

    return cmocka_run_group_tests(tests, domains_setup, domains_teardown);
}
