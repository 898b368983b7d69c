/* codes_reuse_test.c -- location codes where many modules lie over one place */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "cli/convert/codes.h"
#include "wire/code.h"

enum { MANY = 9000, PC = 0x10010 };

static struct alqi_symbol_table *symbols;
static struct alqi_cli_codes *codes;

static int
setup(void **state)
{
    (void)state;
    symbols = alqi_symbol_table_new(false);
    codes = alqi_cli_codes_new(symbols, "/none/main");
    return symbols == NULL || codes == NULL;
}

static int
teardown(void **state)
{
    (void)state;
    alqi_cli_codes_drop(codes);
    alqi_symbol_table_drop(symbols);
    return 0;
}

/* Module number i is loaded at 0x10000; NULL: it was the latest there. */
static const struct alqi_cli_module *
load(unsigned i)
{
    static struct alqi_raw_event event;
    const struct alqi_cli_module *m;

    event.start = 0x10000;
    event.end = 0x20000;
    event.bias = 0x10000;
    snprintf(event.path, sizeof event.path, "/none/plugin%u", i);
    assert_true(alqi_cli_codes_module(codes, &event, &m));
    return m;
}

/* The code is that of an address of module i. */
static bool
is_named(uint64_t code, unsigned i)
{
    struct alqi_ctf_location at;
    char name[64];

    alqi_cli_codes_lookup(codes, code, &at);
    assert_int_equal(at.n_entries, 1);
    snprintf(name, sizeof name, "plugin%u+0xf", i);
    return strcmp(at.entries[0].function, name) == 0;
}

static bool
is_unknown(uint64_t code)
{
    struct alqi_ctf_location at;

    alqi_cli_codes_lookup(codes, code, &at);
    return strcmp(at.entries[0].function, "[unknown]+0x10010") == 0;
}

/* .inv.code: names are those of the module that lay there, or none. */
static void
no_code_is_of_two_modules(void **state)
{
    unsigned n_named = 0;

    (void)state;
    for (unsigned i = 0; i < MANY; i++) {
        uint64_t code;

        assert_non_null(load(i));
        code = alqi_cli_codes_from(codes, PC, 0);
        if (!is_named(code, i) && !is_unknown(code))
            fail_msg("the code of module %u has the name of another", i);
        n_named += is_named(code, i);
    }
    assert_int_equal(n_named, ALQI_CODE_REUSE_MAX + 1);
}

/* A program that loads two plugins in turn. */
static void
a_module_that_comes_back_has_its_codes(void **state)
{
    uint64_t first[2] = {0, 0};

    (void)state;
    for (unsigned i = 0; i < 3 * MANY; i++) {
        uint64_t code;

        assert_true((load(i % 2) != NULL) == (i < 2));
        code = alqi_cli_codes_from(codes, PC, 0);
        assert_true(is_named(code, i % 2));
        if (i < 2)
            first[i] = code;
        assert_int_equal(code, first[i % 2]);
    }
    assert_true(first[0] != first[1]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_code_is_of_two_modules, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_module_that_comes_back_has_its_codes,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
