/* addresses_test.c -- numbers of random blocks against a sorted list */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_seed.h"
#include "cli/heap/addresses.h"

enum { BLOCKS = 2000 };

static uint64_t addresses[BLOCKS];
static bool inner[BLOCKS];

/* Ascending, with gaps from a word to many fields of memory. */
static void
addresses_make(void)
{
    uint64_t at = 8;

    for (unsigned i = 0; i < BLOCKS; i++) {
        addresses[i] = at;
        inner[i] = alqi_base_test_below(2) == 0;
        at += 8 + 8 * alqi_base_test_below(alqi_base_test_below(50) == 0
                                               ? UINT64_C(1) << 33
                                               : 20);
    }
}

/* Those of the list, and no others, have numbers, and lead back. */
static void
numbers_are_right(const struct alqi_cli_heap_addresses *set)
{
    uint32_t n_inner = 0, n_leaves = 0;

    for (unsigned i = 0; i < BLOCKS; i++) {
        uint32_t number =
            inner[i] ? n_inner++ : ALQI_CLI_HEAP_LEAF | n_leaves++;

        assert_int_equal(alqi_cli_heap_find(set, addresses[i]), number);
        assert_true(alqi_cli_heap_address(set, number) == addresses[i]);
        assert_int_equal(alqi_cli_heap_find(set, addresses[i] + 4),
                         ALQI_CLI_HEAP_NONE);
        if (i + 1 == BLOCKS || addresses[i + 1] > addresses[i] + 8)
            assert_int_equal(alqi_cli_heap_find(set, addresses[i] + 8),
                             ALQI_CLI_HEAP_NONE);
    }
    assert_int_equal(set->n_inner, n_inner);
    assert_int_equal(set->n_leaves, n_leaves);
}

/* Added in any order. */
static void
random_blocks(void **unused)
{
    (void)unused;
    alqi_base_test_begin(1);
    for (unsigned round = 0; round < 50; round++) {
        struct alqi_cli_heap_addresses set = {0};

        addresses_make();
        for (unsigned i = 0; i < BLOCKS; i++) {
            unsigned k = (i * 999 + round) % BLOCKS; /* prime to BLOCKS */

            assert_true(
                alqi_cli_heap_addresses_add(&set, addresses[k], inner[k]));
        }
        assert_true(alqi_cli_heap_addresses_seal(&set));
        assert_int_equal(set.n_twice, 0);
        numbers_are_right(&set);
        alqi_cli_heap_addresses_free(&set);
    }
}

static void
odd_addresses(void **unused)
{
    struct alqi_cli_heap_addresses set = {0};

    (void)unused;
    assert_int_equal(alqi_cli_heap_find(&set, 8), ALQI_CLI_HEAP_NONE);
    assert_false(alqi_cli_heap_addresses_add(&set, 12, true));
    assert_false(alqi_cli_heap_addresses_add(&set, UINT64_C(1) << 48, true));
    assert_true(alqi_cli_heap_addresses_add(&set, 16, false));
    assert_true(alqi_cli_heap_addresses_add(&set, 16, true));
    assert_true(alqi_cli_heap_addresses_seal(&set));
    assert_int_equal(set.n_twice, 1);
    assert_int_equal(alqi_cli_heap_find(&set, 16), 0);
    assert_int_equal(alqi_cli_heap_find(&set, UINT64_MAX - 7),
                     ALQI_CLI_HEAP_NONE);
    alqi_cli_heap_addresses_free(&set);
    assert_true(alqi_cli_heap_addresses_seal(&set));
    assert_int_equal(set.n_inner + set.n_leaves, 0);
    alqi_cli_heap_addresses_free(&set);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks),
        cmocka_unit_test(odd_addresses),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
