/* adopted_pools_test.c -- pools of an ended domain, where the allocation policy
 * has an order
 *
 * A domain leaves pools with free slots of one class, at lower addresses than
 * those of the domain that takes them over.  The next pool is then the one that
 * the policy chooses among all of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/pool_class.h"
#include "heap/state.h"

#include "domains_kit.h" /* behind it: this has a domain named d */

enum {
    BLOCK_WORDS = 33, /* with the header */
    BLOCKS = 1000,    /* of each domain: several pools */
    FEW = 10
};

/* A list of n pairs, each with a string of the class that the test is about;
 * every second string is dropped at the end. */
static alq_value
strings(struct alq_domain *on, int n)
{
    ALQ_FRAME(on, f, list, string);
    int i;

    f.list = ALQ_UNIT;
    for (i = 0; i < n; i++) {
        alq_value pair;

        f.string = alq_alloc_string(on, (BLOCK_WORDS - 1) * 8 - 1);
        CHECK(f.string != ALQ_NULL);
        pair = alq_alloc_small(on, 2, 0);
        CHECK(pair != ALQ_NULL);
        alq_init_small(pair, 0, f.string);
        alq_init_small(pair, 1, f.list);
        f.list = pair;
    }
    CHECK(alq_gc_minor(on) == ALQ_OK);
    for (i = 0, f.string = f.list; alq_is_block(f.string); i++) {
        if (i % 2 == 0)
            alq_store(on, f.string, 0, ALQ_UNIT);
        f.string = alq_field(f.string, 1);
    }
    return f.list;
}

/* Makes its strings first, so that its pools come first, and ends with them. */
static alq_value
leave_strings(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, list);

    (void)arg;
    f.list = strings(on, BLOCKS);
    through_gate(on, ALQ_UNIT, data);
    return f.list;
}

static struct alqi_heap_lists *
lists(void)
{
    struct alqi_domain *heap_d = (struct alqi_domain *)d;

    return &heap_d->sweep.lists[1][alqi_heap_class_of(BLOCK_WORDS)];
}

/* Whether the available pools are in the order of their addresses; how many
 * there are. */
static bool
is_ordered(unsigned *n)
{
    const struct alqi_heap_pool *pool = lists()->avail;
    bool is = true;

    for (*n = 0; pool != NULL; pool = pool->next, ++*n)
        is = is && (pool->next == NULL || pool < pool->next);
    return is;
}

static void
policy_set(enum alq_gc_policy policy)
{
    struct alq_gc_control c;

    CHECK(alq_gc_get(d, &c) == ALQ_OK);
    c.allocation_policy = policy;
    CHECK(alq_gc_set(d, &c) == ALQ_OK);
}

static void
adopted_pools_are_put_in_order(void **state)
{
    struct gate gate = GATE;
    struct alq_child *child;
    ALQ_FRAME(d, f, mine, few, theirs);
    unsigned n, n_adopted;

    (void)state;
    policy_set(ALQ_GC_FIRST_FIT);
    child = spawn(d, leave_strings, ALQ_UNIT, &gate);
    {
        ALQ_BLOCKING(d, blocks);

        gate_await(&gate, 1);
    }
    f.mine = strings(d, BLOCKS);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    f.few = strings(d, FEW); /* the order of what there is */
    assert_true(is_ordered(&n));
    assert_false(lists()->disordered);
    gate_open(&gate);
    f.theirs = finish(d, child);
    assert_int_equal(alq_gc_minor(d), ALQ_OK); /* a stop adopts */
    assert_true(is_ordered(&n_adopted) || lists()->disordered);
    assert_true(n > 1 && n_adopted > n);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(adopted_pools_are_put_in_order,
                                        domains_setup, domains_teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
