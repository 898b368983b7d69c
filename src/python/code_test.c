/* code_test.c -- lines by a table of CPython's own, and texts as UTF-8 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "python/python.h"

/* co_linetable of a function with a loop, a handler and a gap of 300 lines,
 * compiled by CPython 3.11.2. */
static const uint8_t table[] = {
    0x80, 0x00, 0xd8, 0x09, 0x0a, 0xd8, 0x09, 0x0a, 0x88, 0x51, 0x89, 0x15,
    0xf0, 0x03, 0x01, 0x09, 0x10, 0x80, 0x41, 0xf0, 0x08, 0x00, 0x0e, 0x0f,
    0xf0, 0x00, 0x72, 0x04, 0x05, 0x22, 0xf0, 0x00, 0x72, 0x04, 0x05, 0x22,
    0x88, 0x01, 0xf0, 0x02, 0x71, 0x04, 0x09, 0x22, 0xd8, 0x11, 0x12, 0xf0,
    0x5c, 0x09, 0x00, 0x10, 0x11, 0xf1, 0x5d, 0x09, 0x6e, 0x04, 0x12, 0x11,
    0x88, 0x41, 0x88, 0x41, 0xf8, 0xf5, 0x5e, 0x09, 0x00, 0x10, 0x1a, 0xf0,
    0x00, 0x01, 0x09, 0x22, 0xf0, 0x00, 0x01, 0x09, 0x22, 0xf0, 0x00, 0x01,
    0x09, 0x22, 0xdd, 0x12, 0x1a, 0xa0, 0x01, 0xd0, 0x0c, 0x21, 0xf8, 0xf8,
    0xf8, 0xf8, 0xf0, 0x03, 0x01, 0x09, 0x22, 0xf8, 0xf8, 0xf8, 0xe0, 0x0b,
    0x0c, 0x80, 0x48,
};

/* co_lines() of it: from which instruction on which line; 0: none. */
static const struct {
    int64_t unit;
    uint32_t line;
} lines[] = {
    {0, 2},  {1, 3},    {2, 4},  {6, 3},    {8, 7},    {12, 8},
    {13, 9}, {14, 311}, {15, 9}, {19, 0},   {20, 312}, {29, 313},
    {37, 0}, {41, 312}, {42, 0}, {45, 314}, {47, 0},
};

static size_t n_readable = sizeof table;

static bool
table_get(void *arg, size_t from, void *to, size_t n)
{
    (void)arg;
    if (from + n > n_readable)
        return false;
    memcpy(to, table + from, n);
    return true;
}

static void
each_instruction_has_its_line(void **state)
{
    size_t i = 0;

    (void)state;
    for (int64_t unit = 0; unit < 50; unit++) {
        while (i + 1 < ALQI_COUNT_OF(lines) && lines[i + 1].unit <= unit)
            i++;
        assert_int_equal(
            alqi_python_line(table_get, NULL, sizeof table, 2, unit),
            lines[i].line);
    }
    /* A frame that has not begun stands at its first line. */
    assert_int_equal(alqi_python_line(table_get, NULL, sizeof table, 2, -1), 2);
}

/* Cut at any byte, and of bytes that cannot be read, a table has no lines. */
static void
cut_tables_end(void **state)
{
    (void)state;
    for (size_t n = 0; n + 1 < sizeof table; n++)
        assert_int_equal(alqi_python_line(table_get, NULL, n, 2, 46), 0);
    n_readable = 10;
    assert_int_equal(alqi_python_line(table_get, NULL, sizeof table, 2, 46), 0);
    n_readable = sizeof table;
}

static void
texts_are_utf8(void **state)
{
    const uint8_t latin[] = {'a', 0xe9, 'b'};
    const uint16_t two[] = {0x540d, 0xd800, 'x'};
    const uint32_t four[] = {0x1d518, 'y'};
    char out[16];

    (void)state;
    assert_int_equal(alqi_python_utf8(latin, 3, 1, out, sizeof out), 4);
    assert_string_equal(out, "a\xc3\xa9"
                             "b");
    alqi_python_utf8(two, 3, 2, out, sizeof out);
    assert_string_equal(out, "\xe5\x90\x8d?x"); /* half of a pair is none */
    alqi_python_utf8(four, 2, 4, out, sizeof out);
    assert_string_equal(out, "\xf0\x9d\x94\x98y");
    assert_int_equal(alqi_python_utf8(latin, 3, 1, out, 3), 1); /* cut whole */
    assert_string_equal(out, "a");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_instruction_has_its_line),
        cmocka_unit_test(cut_tables_end),
        cmocka_unit_test(texts_are_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
