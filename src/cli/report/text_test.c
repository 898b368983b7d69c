/* text_test.c -- numbers, times and names as a terminal shows them */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "cli/report/draw.h"
#include "cli/tool/text.h"

static void
sizes_have_three_digits(void **state)
{
    static const struct {
        double bytes;
        const char *text;
    } rows[] = {
        {0, "0 B"},
        {1, "1 B"},
        {1023, "1023 B"},
        {1023.6, "1.00 KiB"},
        {1024, "1 KiB"},
        {1536, "1.50 KiB"},
        {10.04 * 1024, "10.0 KiB"},
        {99.96 * 1024, "100 KiB"},
        {1023.6 * 1024, "1.00 MiB"},
        {1048576.0 * 1048576, "1 TiB"},
        {9.3e18, "8.07 EiB"},
        {1e22, "8674 EiB"},
        {-5, "0 B"},
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++)
        assert_string_equal(alqi_cli_text_bytes(rows[i].bytes).text,
                            rows[i].text);
}

static void
counts_and_durations_are_short(void **state)
{
    (void)state;
    assert_string_equal(alqi_cli_text_count(9999).text, "9999");
    assert_string_equal(alqi_cli_text_count(10000).text, "10k");
    assert_string_equal(alqi_cli_text_count(12345).text, "12.3k");
    assert_string_equal(alqi_cli_text_count(999600).text, "1.00M");
    assert_string_equal(alqi_cli_text_duration(0).text, "0 µs");
    assert_string_equal(alqi_cli_text_duration(1000).text, "1 ms");
    assert_string_equal(alqi_cli_text_duration(1234).text, "1.23 ms");
    assert_string_equal(alqi_cli_text_duration(59.94e6).text, "59.9 s");
    assert_string_equal(alqi_cli_text_duration(59.96e6).text, "1m00s");
    assert_string_equal(alqi_cli_text_duration(190e6).text, "3m10s");
    assert_string_equal(alqi_cli_text_duration(7500e6).text, "2h05m");
    assert_string_equal(alqi_cli_text_duration(86400e6).text, "1d00h");
    assert_string_equal(alqi_cli_text_time(1700000000000000).text,
                        "2023-11-14 22:13:20 UTC");
}

static void
counts_are_read_whole(void **state)
{
    uint64_t count = 7;

    (void)state;
    assert_true(alqi_cli_parse_count("18446744073709551615", &count));
    assert_true(count == UINT64_MAX);
    assert_true(alqi_cli_parse_count("0", &count));
    assert_true(count == 0);
    assert_false(alqi_cli_parse_count("18446744073709551616", &count));
    assert_false(alqi_cli_parse_count("99999999999999999999", &count));
    assert_false(alqi_cli_parse_count("-1", &count));
    assert_false(alqi_cli_parse_count(" 1", &count));
    assert_false(alqi_cli_parse_count("", &count));
    assert_true(count == 0);
}

static void
durations_are_read_with_their_unit(void **state)
{
    double us = -1;

    (void)state;
    assert_true(alqi_cli_parse_duration("1.5s", &us));
    assert_true(us == 1.5e6);
    assert_true(alqi_cli_parse_duration("250ns", &us));
    assert_true(us == 0.25);
    assert_true(alqi_cli_parse_duration("2h", &us));
    assert_true(us == 7200e6);
    assert_false(alqi_cli_parse_duration("10", &us));
    assert_false(alqi_cli_parse_duration("ms", &us));
    assert_false(alqi_cli_parse_duration("-1s", &us));
    assert_false(alqi_cli_parse_duration("nan s", &us));
    assert_false(alqi_cli_parse_duration("1 s", &us));
}

static void
hostile_text_becomes_printable_utf8(void **state)
{
    static const struct {
        const char *in, *out;
    } rows[] = {
        {"plain", "plain"},          {"naïve → ok 𝄞", "naïve → ok 𝄞"},
        {"\033[2Jx\n", "?[2Jx?"},    {"\xFF\xC0\x80z", "???z"},
        {"\xE2\x82", "??"},          {"\xC2\x85", "??"},
        {"\xED\xA0\x80", "???"},     {"\xF4\x90\x80\x80", "????"},
        {"a\u202Eb", "a???b"},       {"\u202A\u2066x\u2069", "??????x???"},
        {"\u00ADx\uFEFF", "??x???"}, {"\U000E0041", "????"},
    };
    char out[64];

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        assert_int_equal(alqi_cli_clean(out, sizeof out, rows[i].in),
                         strlen(rows[i].out));
        assert_string_equal(out, rows[i].out);
    }
    assert_int_equal(alqi_cli_clean(out, 4, "ab→"), 2);
    assert_int_equal(alqi_cli_columns("a→b"), 3);
    assert_int_equal(alqi_cli_prefix_bytes("a→b", 2), 4);
}

/* The error has the unit and the digits of what it is of. */
static void
growth(void **state)
{
    static const struct {
        double bytes, error;
        const char *text;
    } rows[] = {
        {1.2e6, 1e5, "1.14 MiB/min ± 0.10"},
        {1.2e6, -1, "1.14 MiB/min"},
        {1.2e6, 0, "1.14 MiB/min ± 0.00"},
        {35.2 * 1024, 400, "35.2 KiB/min ± 0.4"},
        {812, 20.4, "812 B/min ± 20"},
        {1023.6, 512, "1.00 KiB/min ± 0.50"},
        {900.0 * (1 << 30), 3.0 * (1 << 30), "900 GiB/min ± 3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_string_equal(
            alqi_cli_text_growth(rows[i].bytes, rows[i].error).text,
            rows[i].text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(growth),
        cmocka_unit_test(sizes_have_three_digits),
        cmocka_unit_test(counts_and_durations_are_short),
        cmocka_unit_test(counts_are_read_whole),
        cmocka_unit_test(durations_are_read_with_their_unit),
        cmocka_unit_test(hostile_text_becomes_printable_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
