/* table_test.c -- which block holds an address, against a look at each */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/test_seed.h"
#include "cli/leaks/table.h"

enum { ROUNDS = 200, BLOCKS = 300, LOOKS = 2000 };

/* Small ones side by side, large ones, empty ones, far from each other. */
static uint64_t
bytes_random(void)
{
    switch (alqi_base_test_below(8)) {
    case 0:
        return 0;
    case 1:
        return alqi_base_test_below(100000);
    default:
        return 1 + alqi_base_test_below(64);
    }
}

static bool
look(const struct alqi_cli_leak_table *t, uint64_t address, uint32_t *block)
{
    for (uint32_t i = 0; i < t->n; i++) {
        uint64_t bytes = t->blocks[i].bytes;

        if (address - t->blocks[i].start < (bytes > 0 ? bytes : 1)) {
            *block = i;
            return true;
        }
    }
    return false;
}

static void
test_random(void **unused)
{
    (void)unused;
    alqi_base_test_begin(1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct alqi_cli_leak_table t = {0};
        uint64_t at = 4096 * (1 + alqi_base_test_below(1 << 20)), from = at;

        for (unsigned i = 0, n = (unsigned)alqi_base_test_below(BLOCKS); i < n;
             i++) {
            uint64_t bytes = bytes_random();

            alqi_cli_leak_table_add(&t, at, bytes, i);
            at += bytes + 1 +
                  (alqi_base_test_below(20) == 0 ? alqi_base_test_below(1 << 20)
                                                 : alqi_base_test_below(16));
        }
        alqi_cli_leak_table_sort(&t);
        for (unsigned i = 0; i < LOOKS; i++) {
            uint64_t address =
                from - 100 + alqi_base_test_below(at - from + 200);
            uint32_t block = 0, naive = 0;
            bool is = look(&t, address, &naive);

            assert_int_equal(alqi_cli_leak_table_find(&t, address, &block), is);
            assert_int_equal(is ? block : 0, naive);
        }
        alqi_cli_leak_table_free(&t);
    }
}

/* A block of the recording takes the place of one that glibc's words tell. */
static void
test_overlap(void **unused)
{
    struct alqi_cli_leak_table t = {0};

    (void)unused;
    alqi_cli_leak_table_add(&t, 4096, 40, ALQI_CLI_LEAK_NO_ID);
    alqi_cli_leak_table_add(&t, 4096, 33, 7);
    alqi_cli_leak_table_add(&t, 8192, 64, ALQI_CLI_LEAK_NO_ID);
    alqi_cli_leak_table_add(&t, 8208, 16, 8); /* aligned within */
    alqi_cli_leak_table_sort(&t);
    assert_int_equal(t.n, 2);
    assert_int_equal(t.blocks[0].id, 7);
    assert_int_equal(t.blocks[0].bytes, 33);
    assert_int_equal(t.blocks[1].id, 8);
    alqi_cli_leak_table_free(&t);
}

/* It takes no more room than another. */
static void
test_terabyte(void **unused)
{
    const uint64_t start = (uint64_t)1 << 44, bytes = (uint64_t)1 << 40;
    struct alqi_cli_leak_table t = {0};
    uint32_t block;

    (void)unused;
    alqi_cli_leak_table_add(&t, start, bytes, 1);
    alqi_cli_leak_table_add(&t, start + bytes + 16, 8, 2);
    alqi_cli_leak_table_sort(&t);
    assert_true(t.pages.n_slots < 100);
    assert_true(alqi_cli_leak_table_find(&t, start + bytes - 1, &block));
    assert_int_equal(t.blocks[block].id, 1);
    assert_false(alqi_cli_leak_table_find(&t, start + bytes, &block));
    assert_true(alqi_cli_leak_table_find(&t, start + bytes + 16, &block));
    assert_int_equal(t.blocks[block].id, 2);
    alqi_cli_leak_table_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_terabyte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
