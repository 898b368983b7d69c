/* holders_test.c -- records of steps and of runs, in order or not, well formed
 * or not */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/analysis/holders.h"

static void
take(struct alqi_cli_holders *h, struct alqi_cli_names *names, const char *line,
     bool is_well)
{
    assert_int_equal(alqi_cli_holders_take(h, names, line), is_well);
}

static void
steps_of_one_name_are_one(void **state)
{
    struct alqi_cli_names *names = alqi_cli_names_new();
    struct alqi_cli_holders h = {0};
    uint32_t step;

    (void)state;
    take(&h, names, "holder id=1 name=cache", true);
    take(&h, names, "holder id=2 in=1 most=3 name=node", true);
    take(&h, names, "holder id=7 name=cache", true);
    take(&h, names, "holder id=9 in=7 most=5 name=node", true);
    take(&h, names, "holder id=10 in=2 name=node", true);
    assert_int_equal(h.n_steps, 3);
    assert_true(alqi_cli_holders_add(&h, 2, 10, 1));
    assert_true(alqi_cli_holders_add(&h, 9, 20, 1));
    step = alqi_cli_holders_of(&h, 10);
    assert_int_equal(step, alqi_cli_holders_of(&h, 20));
    assert_int_equal(h.steps[step].most, 5);
    assert_string_equal(alqi_cli_names_text(names, h.steps[step].name), "node");
    assert_string_equal(
        alqi_cli_names_text(names, h.steps[h.steps[step].in].name), "cache");
    assert_int_equal(h.steps[h.steps[step].in].in, ALQI_CLI_NO_STEP);
    alqi_cli_holders_free(&h);
    alqi_cli_names_drop(names);
}

static void
runs_come_in_any_order(void **state)
{
    struct alqi_cli_names *names = alqi_cli_names_new();
    struct alqi_cli_holders h = {0};

    (void)state;
    assert_int_equal(alqi_cli_holders_of(&h, 0), ALQI_CLI_NO_STEP);
    take(&h, names, "holder id=1 name=a", true);
    take(&h, names, "holder id=2 name=b", true);
    assert_true(alqi_cli_holders_add(&h, 1, 100, 10));
    assert_true(alqi_cli_holders_add(&h, 2, 50, 3));
    assert_true(alqi_cli_holders_add(&h, 2, 0, 1));
    assert_int_equal(alqi_cli_holders_of(&h, 0), 1);
    assert_int_equal(alqi_cli_holders_of(&h, 1), ALQI_CLI_NO_STEP);
    assert_int_equal(alqi_cli_holders_of(&h, 49), ALQI_CLI_NO_STEP);
    assert_int_equal(alqi_cli_holders_of(&h, 50), 1);
    assert_int_equal(alqi_cli_holders_of(&h, 52), 1);
    assert_int_equal(alqi_cli_holders_of(&h, 53), ALQI_CLI_NO_STEP);
    assert_int_equal(alqi_cli_holders_of(&h, 100), 0);
    assert_int_equal(alqi_cli_holders_of(&h, 109), 0);
    assert_int_equal(alqi_cli_holders_of(&h, 110), ALQI_CLI_NO_STEP);
    assert_int_equal(alqi_cli_holders_of(&h, UINT64_MAX), ALQI_CLI_NO_STEP);
    assert_true(alqi_cli_holders_add(&h, 1, 60, 1));
    assert_int_equal(alqi_cli_holders_of(&h, 60), 0);
    alqi_cli_holders_free(&h);
    alqi_cli_names_drop(names);
}

static void
what_is_malformed_is_refused(void **state)
{
    static const char *const lines[] = {
        "holder",
        "holder name=a",
        "holder id=0 name=a",
        "holder id=1",
        "holder id=2 in=1 name=a",
        "holder id=2 in=2 name=a",
        "holder id=2 in=3 name=a",
        "holder id=2 most=4294967296 name=a",
        "holder id=2 in=18446744073709551615 name=a",
    };
    struct alqi_cli_names *names = alqi_cli_names_new();
    struct alqi_cli_holders h = {0};

    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        take(&h, names, lines[i], false);
    assert_int_equal(h.n_steps, 0);
    assert_false(alqi_cli_holders_add(&h, 1, 0, 1));
    take(&h, names, "holder id=1 name=a", true);
    assert_false(alqi_cli_holders_add(&h, 2, 0, 1));
    assert_false(alqi_cli_holders_add(&h, 0, 0, 1));
    assert_false(alqi_cli_holders_add(&h, 1, 0, UINT64_C(1) << 32));
    assert_true(alqi_cli_holders_add(&h, 1, UINT64_MAX, 1));
    assert_int_equal(alqi_cli_holders_of(&h, UINT64_MAX), 0);
    alqi_cli_holders_free(&h);
    alqi_cli_names_drop(names);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_one_name_are_one),
        cmocka_unit_test(runs_come_in_any_order),
        cmocka_unit_test(what_is_malformed_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
