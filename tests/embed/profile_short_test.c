/* profile_short_test.c -- profiles of the managed heap, while each call for
 * memory fails in turn: the program gets its blocks all the same, or
 * ALQ_ENOMEM, and nobody's data are lost */
#include "gc_kit.h"
#include "profile_kit.h"
#include "refuse.h"

static struct log *l;
static unsigned n_refused;

static alq_value
child_of(struct alq_domain *of, alq_value arg, void *data)
{
    (void)data;
    for (unsigned i = 0; i < 20; i++)
        if (alq_is_null(alq_alloc_small(of, 3, 252)))
            alq_status_clear(of);
    return arg;
}

static void
spawn_one(void)
{
    struct alq_child *child;
    enum alq_status st =
        alq_domain_spawn(d, child_of, ALQ_UNIT, NULL, NULL, &child);

    assert_true(st == ALQ_OK || st == ALQ_ENOMEM);
    n_refused += st == ALQ_ENOMEM;
    if (st != ALQ_OK)
        return;
    assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
    alq_child_drop(child);
}

/* All that a profile needs memory for. */
static void
profile_once(void)
{
    struct alq_memprof_config c = log_config(0.5, ALQ_MEMPROF_STRICT);
    struct alq_tracker t = log_tracker(l);
    struct alq_profile *p = NULL;
    enum alq_status st = alq_memprof_start(d, &c, &t, &p);
    ALQ_FRAME(d, f, keep);

    assert_true(st == ALQ_OK || st == ALQ_ENOMEM);
    n_refused += st == ALQ_ENOMEM;
    for (unsigned i = 0; i < 300; i++) {
        alq_value v = alq_alloc(d, i % 100 == 99 ? 500 : 2, 0);

        if (alq_is_null(v)) {
            assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
            alq_status_clear(d);
            continue;
        }
        if (i % 3 == 0)
            f.keep = v;
    }
    spawn_one();
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    f.keep = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    if (st != ALQ_OK) {
        assert_int_equal(alq_memprof_stop(d), ALQ_ENOTRUN);
        return;
    }
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    alq_profile_drop(p);
}

static void
each_call_fails_in_turn(void **state)
{
    uint64_t from, calls, n_blocks = 0;

    (void)state;
    l = log_new();
    for (from = 1;; from++) {
        if (alq_domain_new(NULL, &d) != ALQ_OK)
            fail();
        refuse_begin(from, 1);
        profile_once();
        calls = refuse.calls;
        refuse_begin(0, 0);
        assert_int_equal(alq_domain_drop(d), ALQ_OK);
        assert_int_equal(log_alive(l), 0);
        n_blocks += l->n_blocks;
        memset(l, 0, offsetof(struct log, answer));
        if (calls < from)
            break;
    }
    /* What the engine has once it keeps: few calls in the last rounds. */
    assert_true(from > 5 && n_refused >= 2 && n_blocks > 100);
    free(l);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails_in_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
