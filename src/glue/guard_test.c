/* guard_test.c -- locks that break, logs that undo; scenario 32 of spec
 * memprof-limits 5 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#if ALQI_CHECKS >= 3
enum { ROUNDS = 200 };
#elif defined __SANITIZE_THREAD__
enum { ROUNDS = 1000 };
#else
enum { ROUNDS = 10000 };
#endif
enum { POINTS = 12 };

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
        if (alq_alloc(on, 2, 0) == ALQ_NULL)
            return alq_status_of(on);
    shared.pushed++;
    if (alq_alloc(on, 2, 0) == ALQ_NULL)
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
    struct tally t = sisyphus(on, 2);

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
    t = sisyphus(d, 1);
    assert_int_equal(alq_domain_join(d, child, &result), ALQ_OK);
    alq_child_drop(child);
    assert_int_equal(alq_to_int(result), 1);
    assert_true(t.pushed > 0 && t.interrupted > 0 && t.broken > 0);
    assert_int_equal(alq_guard_mend(d, &shared.guard), ALQ_OK);
    alq_guard_unlock(d, &shared.guard);
    assert_true(shared.pushed >= t.pushed);
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

    assert_true(alq_alloc(on, 2, 0) != ALQ_NULL); /* masked */
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
        if (alq_alloc(on, 2, 0) == ALQ_NULL) {
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
        cmocka_unit_test(broken_only_by_the_interrupted),
        cmocka_unit_test(undone_at_each_point_22),
        cmocka_unit_test(long_log),
    };

    return cmocka_run_group_tests(tests, open_heap, close_heap);
}
