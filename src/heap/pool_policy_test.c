/* pool_policy_test.c -- lists of pools come in the order that was asked for
 *
 * Lists of each short length, and of some long ones, are sorted by each policy.
 * Each pool has to come out once, and no pool before one that belongs in
 * front. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/test_seed.h"
#include "heap/pool_policy.h"

enum { POOLS = 1000 };

static struct alqi_heap_pool pools[POOLS];

static bool
is_right(const struct alqi_heap_pool *a, const struct alqi_heap_pool *b,
         enum alq_gc_policy policy)
{
    if (policy == ALQ_GC_FIRST_FIT || a->n_free == b->n_free)
        return a < b;
    return a->n_free < b->n_free;
}

static void
sorts(enum alq_gc_policy policy, unsigned n)
{
    struct alqi_heap_lists lists = {.disordered = true};
    uint64_t seed = n + alqi_base_test_seed();
    unsigned i;

    for (i = 0; i < n; i++) { /* each one once: 7 is no divisor of 1000 */
        struct alqi_heap_pool *p = &pools[i * 7 % POOLS];

        p->n_free = (uint32_t)(alqi_base_mix(seed++) % 40);
        p->next = lists.avail;
        lists.avail = p;
    }
    alqi_heap_policy_sort(&lists, policy);
    assert_false(lists.disordered);
    for (i = 0; lists.avail != NULL; i++) {
        if (lists.avail->next != NULL)
            assert_true(is_right(lists.avail, lists.avail->next, policy));
        lists.avail = lists.avail->next;
    }
    assert_int_equal(i, n);
}

static void
each_policy_and_length(void **state)
{
    unsigned n;

    (void)state;
    for (n = 0; n <= POOLS; n += n < 20 ? 1 : 49) {
        sorts(ALQ_GC_FIRST_FIT, n);
        sorts(ALQ_GC_BEST_FIT, n);
    }
    sorts(ALQ_GC_BEST_FIT, POOLS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_policy_and_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
