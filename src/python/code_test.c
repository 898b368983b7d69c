/* code_test.c -- lines by a table of CPython's own, and texts as UTF-8 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "python/layout.h"
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
struct line {
    int64_t unit;
    uint32_t line;
};

static const struct line lines[] = {
    {0, 2},  {1, 3},    {2, 4},  {6, 3},    {8, 7},    {12, 8},
    {13, 9}, {14, 311}, {15, 9}, {19, 0},   {20, 312}, {29, 313},
    {37, 0}, {41, 312}, {42, 0}, {45, 314}, {47, 0},
};

/* The same of 3.10.13: co_linetable, and co_lines(). */
static const uint8_t ranges[] = {
    0x08, 0x01, 0x04, 0x01, 0x0c, 0x01, 0x0c, 0x01, 0x02, 0x01,
    0x00, 0x7f, 0x00, 0x7f, 0x02, 0x2e, 0x00, 0x81, 0x00, 0x81,
    0x08, 0xd2, 0x02, 0xff, 0x02, 0x80, 0x00, 0x7f, 0x00, 0x7f,
    0x14, 0x31, 0x06, 0x01, 0x02, 0x01, 0x08, 0xff,
};

static const struct line range_lines[] = {
    {0, 4},  {4, 5},  {6, 6},    {12, 7},   {18, 8},   {19, 308}, {20, 8},
    {24, 7}, {25, 0}, {26, 310}, {36, 311}, {39, 312}, {40, 311}, {44, 0},
};

/* And of 3.8.18: co_lnotab, and dis.findlinestarts(). */
static const uint8_t steps[] = {
    0x00, 0x01, 0x08, 0x01, 0x04, 0x01, 0x0c, 0x01, 0x0e, 0x01, 0x02, 0x7f,
    0x00, 0x7f, 0x00, 0x2e, 0x02, 0x80, 0x00, 0x80, 0x00, 0xd4, 0x0e, 0x7f,
    0x00, 0x7f, 0x00, 0x30, 0x0c, 0x01, 0x04, 0x00, 0x02, 0x01, 0x02, 0xff,
};

static const struct line step_lines[] = {
    {0, 4},  {4, 5},    {6, 6},    {12, 7},   {19, 8},   {20, 308},
    {21, 8}, {28, 310}, {34, 311}, {37, 312}, {38, 311},
};

/* What a version's functions have. */
static const struct {
    enum alqi_python_lines kind;
    int32_t first_line;
    const uint8_t *table;
    size_t n_bytes;
    const struct line *lines;
    size_t n_lines;
} versions[] = {
    {ALQI_PYTHON_LINES_ENTRIES, 2, table, sizeof table, lines,
     ALQI_COUNT_OF(lines)},
    {ALQI_PYTHON_LINES_RANGES, 3, ranges, sizeof ranges, range_lines,
     ALQI_COUNT_OF(range_lines)},
    {ALQI_PYTHON_LINES_STEPS, 3, steps, sizeof steps, step_lines,
     ALQI_COUNT_OF(step_lines)},
};

static size_t n_readable = SIZE_MAX;

static bool
table_get(void *arg, size_t from, void *to, size_t n)
{
    if (from + n > n_readable)
        return false;
    memcpy(to, (const uint8_t *)arg + from, n);
    return true;
}

/* The line by the first n_bytes of a version's table. */
static uint32_t
line_of(size_t v, size_t n_bytes, int64_t unit)
{
    uint8_t copy[sizeof table];

    memcpy(copy, versions[v].table, versions[v].n_bytes);
    return alqi_python_line(versions[v].kind, table_get, copy, n_bytes,
                            versions[v].first_line, unit);
}

static void
each_instruction_has_its_line(void **state)
{
    (void)state;
    for (size_t v = 0; v < ALQI_COUNT_OF(versions); v++) {
        const struct line *expected = versions[v].lines;

        for (int64_t unit = 0; unit < 50; unit++) {
            while (expected + 1 < versions[v].lines + versions[v].n_lines &&
                   expected[1].unit <= unit)
                expected++;
            assert_int_equal(line_of(v, versions[v].n_bytes, unit),
                             expected->line);
        }
        /* A frame that has not begun stands at its first line. */
        assert_int_equal(line_of(v, versions[v].n_bytes, -1),
                         versions[v].first_line);
    }
}

/* Cut at any byte, and of bytes that cannot be read, a table has no lines; one
 * of steps says by its length alone that it ends. */
static void
cut_tables_end(void **state)
{
    (void)state;
    for (size_t v = 0; v < ALQI_COUNT_OF(versions); v++) {
        for (size_t n = 0; n + 1 < versions[v].n_bytes; n++)
            if (versions[v].kind == ALQI_PYTHON_LINES_STEPS)
                line_of(v, n, 46);
            else
                assert_int_equal(line_of(v, n, 43), 0);
        n_readable = 10;
        assert_int_equal(line_of(v, versions[v].n_bytes, 46), 0);
        n_readable = SIZE_MAX;
    }
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
