/* apportion_test.c -- whole parts sum to the whole, each within one of its
 * share
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/apportion.h"

enum { MOST = 64 };

static int64_t
sum(const int64_t *whole, size_t n)
{
    int64_t s = 0;

    for (size_t i = 0; i < n; i++)
        s += whole[i];
    return s;
}

static void
largest_remainders_get_the_rest(void **state)
{
    const double parts[] = {1.25, 2.5, 3.75, 0, 4};
    const int64_t by_total[][5] = {
        {1, 2, 3, 0, 4}, {1, 2, 4, 0, 4}, {1, 3, 4, 0, 4}, {2, 3, 4, 0, 4}};
    int64_t whole[5];

    (void)state;
    for (int i = 0; i < 4; i++) {
        alqi_cli_apportion(whole, parts, 5, 10 + i);
        assert_memory_equal(whole, by_total[i], sizeof whole);
    }
}

static void
earlier_parts_win_ties(void **state)
{
    const double parts[] = {0.5, 0.5, 0.5, 0.5};
    const int64_t wanted[] = {1, 1, 0, 0};
    int64_t whole[4];

    (void)state;
    alqi_cli_apportion(whole, parts, 4, 2);
    assert_memory_equal(whole, wanted, sizeof whole);
}

/* No part strays by a whole unit, and a part that is whole stays. */
static void
parts_stay_near_and_sum_to_the_total(void **state)
{
    uint64_t seed = 11 + alqi_base_test_seed();
    int n_moved = 0;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        double parts[MOST];
        double total = 0;
        int64_t whole[MOST];
        size_t n = 1 + (size_t)round % MOST;

        for (size_t i = 0; i < n; i++) {
            seed = alqi_base_mix(seed + 1);
            parts[i] = (double)(seed % 100000) / (i % 3 == 0 ? 1 : 7.3);
            total += parts[i];
        }
        alqi_cli_apportion(whole, parts, n, alqi_cli_whole(total));
        assert_true(sum(whole, n) == alqi_cli_whole(total));
        for (size_t i = 0; i < n; i++) {
            double off = (double)whole[i] - parts[i];

            assert_true(off > -1 && off < 1);
            assert_true(i % 3 != 0 || off == 0);
            n_moved += off > 0.5 || off < -0.5;
        }
    }
    assert_true(n_moved > 0); /* else plain rounding would have done */
}

/* Beyond 2^53 a sum of doubles is off by more than remainders make up for. */
static void
sums_beyond_the_mantissa(void **state)
{
    const double parts[] = {0x1p60, 1, 0x1p60, 3};
    int64_t whole[4];

    (void)state;
    alqi_cli_apportion(whole, parts, 4, ((int64_t)1 << 61) - 1000);
    assert_true(sum(whole, 4) == ((int64_t)1 << 61) - 1000);
    assert_true(whole[1] == 1 && whole[3] == 3);
    alqi_cli_apportion(whole, parts, 4, 2);
    assert_true(sum(whole, 4) == 2);
    for (int i = 0; i < 4; i++)
        assert_true(whole[i] >= 0);
}

static void
what_no_integer_holds(void **state)
{
    const double parts[] = {1e30, 5};
    int64_t whole[2];

    (void)state;
    assert_true(alqi_cli_whole(1e30) == INT64_MAX);
    alqi_cli_apportion(whole, parts, 2, alqi_cli_whole(1e30));
    assert_true(whole[0] == INT64_MAX - 5 && whole[1] == 5);
    alqi_cli_apportion(whole, parts, 0, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_remainders_get_the_rest),
        cmocka_unit_test(earlier_parts_win_ties),
        cmocka_unit_test(parts_stay_near_and_sum_to_the_total),
        cmocka_unit_test(sums_beyond_the_mantissa),
        cmocka_unit_test(what_no_integer_holds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
