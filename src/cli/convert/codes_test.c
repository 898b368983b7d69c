/* codes_test.c -- location codes of synthetic addresses
 *
 * User addresses have 47 bits on x86-64 and 48 on aarch64.  The files of the
 * modules do not exist, so each frame is "NAME+0xOFFSET". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/convert/codes.h"

enum { MODULE_BYTES = 0x10000 };

/* On aarch64 a program without a fixed address begins there. */
#define HIGH UINT64_C(0xaaaac0000000)
#define LOW (HIGH - (UINT64_C(1) << 47))

static struct alqi_symbol_table *symbols;
static struct alqi_cli_codes *codes;

static int
begin(void **state)
{
    (void)state;
    symbols = alqi_symbol_table_new(false);
    codes = alqi_cli_codes_new(symbols, "/nowhere/main");
    return codes == NULL;
}

static int
end(void **state)
{
    (void)state;
    alqi_cli_codes_drop(codes);
    alqi_symbol_table_drop(symbols);
    return 0;
}

/* Loads a module of that name at `start`. */
static void
load(const char *path, uint64_t start)
{
    static struct alqi_raw_event event;
    const struct alqi_cli_module *module;

    event.start = event.bias = start;
    event.end = start + MODULE_BYTES;
    snprintf(event.path, sizeof event.path, "%s", path);
    assert_true(alqi_cli_codes_module(codes, &event, &module));
    assert_non_null(module);
}

/* The function of a code's only entry. */
static const char *
function_of(uint64_t code)
{
    struct alqi_ctf_location location = {0};

    alqi_cli_codes_lookup(codes, code, &location);
    assert_int_equal(location.code, code);
    assert_int_equal(location.n_entries, 1);
    return location.entries[0].function;
}

/* Two modules whose addresses differ in bit 47 alone. */
static void
each_bit_of_an_address_counts(void **state)
{
    uint64_t low, high;

    (void)state;
    load("/nowhere/low", LOW);
    load("/nowhere/high", HIGH);
    low = alqi_cli_codes_from(codes, LOW + 0x123, 0);
    high = alqi_cli_codes_from(codes, HIGH + 0x123, 0);
    assert_int_equal(low, LOW + 0x123);
    assert_int_equal(high, HIGH + 0x123);
    assert_string_equal(function_of(low), "low+0x122");
    assert_string_equal(function_of(high), "high+0x122");
}

static void
a_place_that_is_used_again_has_new_codes(void **state)
{
    uint64_t first, second;

    (void)state;
    load("/nowhere/first", HIGH);
    first = alqi_cli_codes_from(codes, HIGH + 8, 0);
    load("/nowhere/second", HIGH);
    second = alqi_cli_codes_from(codes, HIGH + 8, 0);
    assert_int_not_equal(first, second);
    assert_string_equal(function_of(first), "first+0x7");
    assert_string_equal(function_of(second), "second+0x7");
}

static void
an_address_of_no_module_keeps_its_bits(void **state)
{
    uint64_t code = alqi_cli_codes_from(codes, HIGH + 5, 0);

    (void)state;
    assert_string_equal(function_of(code), "[unknown]+0xaaaac0000005");
    assert_int_not_equal(code, alqi_cli_codes_from(codes, LOW + 5, 0));
}

/* A code has no room for such an address: the frame says so, and is not taken
 * for the module that lies at the low bits. */
static void
an_address_beyond_says_so(void **state)
{
    uint64_t beyond = UINT64_C(1) << 52, code;

    (void)state;
    load("/nowhere/low", LOW);
    load("/nowhere/beyond", LOW + beyond);
    code = alqi_cli_codes_from(codes, LOW + beyond + 8, 0);
    assert_int_not_equal(code, alqi_cli_codes_from(codes, LOW + 8, 0));
    assert_string_equal(function_of(code), "[address beyond 48 bits]");
    assert_int_equal(code, alqi_cli_codes_from(codes, UINT64_MAX, 0));
}

/* A Python frame has its number's name and its own line, and is no address. */
static void
a_python_frame_has_name_and_line(void **state)
{
    static struct alqi_raw_event event = {
        .number = 5, .function = "A.f", .path = "dir/a.py"};
    struct alqi_ctf_location location;
    uint64_t code = alqi_cli_codes_from(codes, alqi_raw_python_frame(5, 77), 0);

    (void)state;
    load("/nowhere/low", LOW);
    assert_true(alqi_cli_codes_python(codes, &event));
    alqi_cli_codes_lookup(codes, code, &location);
    assert_string_equal(location.entries[0].function, "A.f");
    assert_string_equal(location.entries[0].file, "dir/a.py");
    assert_int_equal(location.entries[0].line, 77);
    assert_int_not_equal(
        code, alqi_cli_codes_from(codes, alqi_raw_python_frame(5, 78), 0));
    code = alqi_cli_codes_from(codes, alqi_raw_python_frame(6, 77), 0);
    assert_string_equal(function_of(code), "[unknown]");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(each_bit_of_an_address_counts),
        TEST(a_place_that_is_used_again_has_new_codes),
        TEST(an_address_of_no_module_keeps_its_bits),
        TEST(an_address_beyond_says_so),
        TEST(a_python_frame_has_name_and_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
