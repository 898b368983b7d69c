/* symbol_jit_test.c -- perf maps and jitdumps, whole, in parts and damaged */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "stack/symbol_jit.h"

static struct alqi_symbol_jit *jit;

static int
begin(void **state)
{
    (void)state;
    jit = alqi_symbol_jit_new();
    return jit == NULL;
}

static int
end(void **state)
{
    (void)state;
    alqi_symbol_jit_drop(jit);
    return 0;
}

static void
take_map(const char *text)
{
    assert_int_equal(alqi_symbol_jit_take_map(jit, text, strlen(text), false),
                     strlen(text));
}

/* The frame over the address; its function is "" if there is none. */
static struct alqi_symbol_frame
frame_at(uint64_t address, uint64_t time_ns)
{
    struct alqi_symbol_frame frame = {.function = "", .file = ""};
    uint32_t piece = alqi_symbol_jit_find(jit, address, time_ns);

    if (piece != ALQI_SYMBOL_NO_CODE)
        assert_true(alqi_symbol_jit_frame(jit, piece, address, &frame));
    return frame;
}

static const char *
name_at(uint64_t address)
{
    return frame_at(address, 0).function;
}

/* ---- perf maps ----------------------------------------------------------- */

static void
lines_have_start_size_and_name(void **state)
{
    (void)state;
    take_map("1000 10 first one\n0x2000 0x8 second\n3000 FF third\r\n\n");
    assert_string_equal(name_at(0x1000), "first one");
    assert_string_equal(name_at(0x100f), "first one");
    assert_string_equal(name_at(0x1010), "");
    assert_string_equal(name_at(0xfff), "");
    assert_string_equal(name_at(0x2007), "second");
    assert_string_equal(name_at(0x30fe), "third");
    assert_int_equal(alqi_symbol_jit_counts(jit).n_odd, 0);
}

/* Also where one is large and the other is small, in both orders. */
static void
the_last_entry_wins(void **state)
{
    (void)state;
    take_map("1000 100 old\n1010 10 new\n100000 1000000 large\n"
             "200000 10 small\n300000 10 small\n300000 1000000 larger\n");
    assert_string_equal(name_at(0x100f), "old");
    assert_string_equal(name_at(0x1010), "new");
    assert_string_equal(name_at(0x1020), "old");
    assert_string_equal(name_at(0x200000), "small");
    assert_string_equal(name_at(0x200010), "large");
    assert_string_equal(name_at(0x300000), "larger");
}

/* Whatever the reader has of the file at a time. */
static void
a_map_is_read_as_it_grows(void **state)
{
    static const char text[] = "1000 10 one\n2000 10 two\n3000 10 three\n";

    (void)state;
    for (size_t cut = 0; cut <= sizeof text - 1; cut++) {
        size_t done = alqi_symbol_jit_take_map(jit, text, cut, false);

        assert_true(done <= cut);
        assert_true(done == 0 || text[done - 1] == '\n');
        take_map(text + done);
        assert_string_equal(name_at(0x1008), "one");
        assert_string_equal(name_at(0x3008), "three");
        end(NULL);
        begin(NULL);
    }
}

static void
odd_lines_are_counted(void **state)
{
    (void)state;
    take_map("x\n1000\n1000 \n1000 10\n1000 10 \n 1000 10 blank\n-1 2 sign\n"
             "1000 0 empty\nfffffffffffffff0 20 wraps\n"
             "0 ffffffffffffffff endless\n0 40000001 too large\n"
             "11112222333344445 1 too many digits\n0x 1 none\n");
    assert_int_equal(alqi_symbol_jit_counts(jit).n_odd, 13);
    assert_string_equal(name_at(0x1000), "");
    assert_string_equal(name_at(0x1), "");
}

static void
names_are_clean_and_bounded(void **state)
{
    char line[5000] = "1000 10 a\tb\033[31m\n2000 10 ";

    (void)state;
    memset(line + strlen(line), 'x', 4000);
    strcat(line, "\n");
    take_map(line);
    assert_string_equal(name_at(0x1000), "a?b?[31m");
    assert_int_equal(strlen(name_at(0x2000)), 1000);
}

/* The buffer of who reads is full, and no line ends in it. */
static void
a_line_without_end_is_passed_over(void **state)
{
    char part[100];

    (void)state;
    memset(part, 'f', sizeof part);
    for (int i = 0; i < 3; i++)
        assert_int_equal(alqi_symbol_jit_take_map(jit, part, sizeof part, true),
                         sizeof part);
    take_map("10 10 still the long line\n2000 10 next\n");
    assert_string_equal(name_at(0x10), "");
    assert_string_equal(name_at(0x2000), "next");
    assert_int_equal(alqi_symbol_jit_counts(jit).n_over, 1);
    assert_int_equal(alqi_symbol_jit_counts(jit).n_odd, 0);
}

/* Each piece takes as many links as one may have. */
static void
the_map_of_a_hostile_program_ends(void **state)
{
    char line[64];

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        snprintf(line, sizeof line, "%x 3ff000 n%u\n", i << 12, i);
        take_map(line);
    }
    assert_true(alqi_symbol_jit_counts(jit).n_over > 0);
    assert_string_equal(name_at(0x1000), "n1");
    assert_string_equal(name_at(0x3000), "n3");
}

/* ---- names --------------------------------------------------------------- */

static void
scripts_have_file_and_line(void **state)
{
    static const struct {
        const char *text, *function, *file;
        uint32_t line, column;
    } cases[] = {
        {"JS:*make /a/b.js:12:5", "JS:*make", "/a/b.js", 12, 5},
        {"JS:~ /a/b c/d.js:1:1", "JS:~[anonymous]", "/a/b c/d.js", 1, 1},
        {"JS:^get size node:internal/fs:9:2", "JS:^get size",
         "node:internal/fs", 9, 2},
        {"JS:+a file:///x.mjs:3", "JS:+a", "file:///x.mjs", 3, 0},
        {"JS:~emit events:7:1", "JS:~emit", "events", 7, 1},
        {"LazyCompile:~run /r.js:2:3", "LazyCompile:~run", "/r.js", 2, 3},
        {"JS:*nameless", "JS:*nameless", "", 0, 0},
        {"JS:*f /a.js", "JS:*f /a.js", "", 0, 0},
        {"Builtin:CEntry /x:1:1", "Builtin:CEntry /x:1:1", "", 0, 0},
        {"py::main:/srv/app.py", "py::main", "/srv/app.py", 0, 0},
        {"java.lang.String::hashCode", "java.lang.String::hashCode", "", 0, 0},
        {"JS:", "JS:", "", 0, 0},
        {"JS: ", "JS: ", "", 0, 0},
        {"JS:x :1:1", "JS:x", "", 1, 1},
    };
    char line[200];

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(cases); i++) {
        struct alqi_symbol_frame frame;

        snprintf(line, sizeof line, "%x 8 %s\n", 0x1000 * (i + 1),
                 cases[i].text);
        take_map(line);
        frame = frame_at(0x1000 * (i + 1), 0);
        assert_string_equal(frame.function, cases[i].function);
        assert_string_equal(frame.file, cases[i].file);
        assert_int_equal(frame.line, cases[i].line);
        assert_int_equal(frame.column, cases[i].column);
    }
}

/* ---- jitdumps ------------------------------------------------------------ */

static uint8_t dump[4096];
static size_t dump_bytes;

static void
put(const void *bytes, size_t n)
{
    memcpy(dump + dump_bytes, bytes, n);
    dump_bytes += n;
}

static void
put32(uint32_t value)
{
    put(&value, sizeof value);
}

static void
put64(uint64_t value)
{
    put(&value, sizeof value);
}

static void
header_put(uint64_t flags)
{
    dump_bytes = 0;
    put32(0x4A695444); /* magic, version, size, machine, pad, pid */
    put32(1);
    put32(40);
    put32(62);
    put32(0);
    put32(1);
    put64(0);
    put64(flags);
}

static void
record_put(uint32_t id, uint32_t body_bytes, uint64_t time_ns)
{
    put32(id);
    put32(16 + body_bytes);
    put64(time_ns);
}

static void
load_put(uint64_t time_ns, uint64_t address, uint64_t n, uint64_t index,
         const char *name)
{
    static const uint8_t code[64];
    size_t name_bytes = strlen(name) + 1;

    record_put(0, (uint32_t)(40 + name_bytes + sizeof code), time_ns);
    put64(1);
    put64(address);
    put64(address);
    put64(n);
    put64(index);
    put(name, name_bytes);
    put(code, sizeof code);
}

static void
move_put(uint64_t time_ns, uint64_t to, uint64_t n, uint64_t index)
{
    record_put(1, 48, time_ns);
    put64(1);
    put64(to);
    put64(0);
    put64(to);
    put64(n);
    put64(index);
}

struct source_line {
    uint64_t address;
    uint32_t number;
    const char *file;
};

static void
lines_put(uint64_t address, const struct source_line *lines, unsigned n)
{
    size_t bytes = 16;

    for (unsigned i = 0; i < n; i++)
        bytes += 16 + strlen(lines[i].file) + 1;
    record_put(2, (uint32_t)bytes, 50);
    put64(address);
    put64(n);
    for (unsigned i = 0; i < n; i++) {
        put64(lines[i].address);
        put32(lines[i].number);
        put32(3);
        put(lines[i].file, strlen(lines[i].file) + 1);
    }
}

/* Two functions, of which the first moves and makes way for another. */
static void
sample_put(uint64_t flags)
{
    header_put(flags);
    load_put(100, 0x1000, 64, 7, "one");
    lines_put(0x2000, NULL, 0);
    load_put(200, 0x2000, 64, 8, "two");
    move_put(300, 0x3000, 64, 7);
    load_put(400, 0x1000, 64, 9, "three");
    record_put(3, 0, 500);
    put("\1\2\3", 3); /* behind the last record nothing counts */
}

/* Gives the dump in parts of n bytes, as a file that grows. */
static void
take_dump(size_t n)
{
    size_t done = 0;

    for (size_t there = 0; there < dump_bytes;) {
        there = there + n < dump_bytes ? there + n : dump_bytes;
        while (done < there) {
            size_t taken = alqi_symbol_jit_take_dump(jit, dump + done,
                                                     there - done, false);

            if (taken == 0)
                break;
            done += taken;
        }
    }
}

static void
sample_check(void)
{
    assert_string_equal(frame_at(0x1010, 99).function, "");
    assert_string_equal(frame_at(0x1010, 100).function, "one");
    assert_string_equal(frame_at(0x1010, 399).function, "one");
    assert_string_equal(frame_at(0x1010, 400).function, "three");
    assert_string_equal(frame_at(0x203f, 250).function, "two");
    assert_string_equal(frame_at(0x3000, 299).function, "");
    assert_string_equal(frame_at(0x3000, 300).function, "one");
    assert_int_equal(alqi_symbol_jit_counts(jit).n_odd, 0);
}

static void
a_dump_has_times(void **state)
{
    (void)state;
    sample_put(0);
    for (size_t n = 1; n <= dump_bytes; n++) {
        take_dump(n);
        sample_check();
        end(NULL);
        begin(NULL);
    }
}

static void
lines_check(uint64_t address, const char *file, uint32_t number)
{
    assert_string_equal(frame_at(address, 1000).file, file);
    assert_int_equal(frame_at(address, 1000).line, number);
}

/* A piece takes the lines that were listed before it for its address, and keeps
 * them where it moves. */
static void
a_dump_has_lines(void **state)
{
    const struct source_line lines[] = {{0x1000, 10, "/a.js"},
                                        {0x1010, 12, "\xff"},
                                        {0x1020, 3, "/b.js"},
                                        {0x1030, 11, "/a.js"}};

    const struct source_line two[] = {{0x2000, 10, "/a.js"},
                                      {0x2010, 12, "/b.js"}};

    (void)state;
    for (size_t n = 1; n < 700; n++) {
        header_put(0);
        lines_put(0x1000, lines, 4);
        load_put(100, 0x1000, 64, 7, "one");
        lines_put(0x2000, two, 2); /* not of node's */
        load_put(200, 0x2000, 64, 8, "JS:*two /c.js:19:1");
        lines_put(0x4000, lines + 3, 1); /* before the code: none at all */
        lines_put(0x5000, lines, 0);     /* of no piece */
        load_put(210, 0x4000, 64, 9, "three");
        move_put(300, 0x3000, 64, 7);
        take_dump(n);
        assert_string_equal(frame_at(0x1005, 1000).function, "one");
        lines_check(0x1000, "/a.js", 10);
        lines_check(0x100f, "/a.js", 10);
        lines_check(0x1010, "/a.js", 12);
        lines_check(0x1020, "/b.js", 3);
        lines_check(0x103f, "/a.js", 11);
        lines_check(0x3010, "/a.js", 12);
        lines_check(0x2000, "/c.js", 19);
        lines_check(0x4000, "", 0);
        assert_int_equal(alqi_symbol_jit_counts(jit).n_odd, 0);
        end(NULL);
        begin(NULL);
    }
}

static void
times_of_another_clock_are_none(void **state)
{
    (void)state;
    sample_put(1);
    take_dump(dump_bytes);
    assert_string_equal(frame_at(0x1010, 1).function, "three");
    assert_string_equal(frame_at(0x3000, 1).function, "one");
}

static void
a_file_of_another_kind_is_none(void **state)
{
    (void)state;
    sample_put(0);
    dump[0] ^= 1;
    take_dump(dump_bytes);
    assert_string_equal(frame_at(0x1010, 1000).function, "");
    assert_int_equal(alqi_symbol_jit_counts(jit).n_odd, 1);
}

/* Whatever is written where: the answers end, and lie in memory. */
static void
damage_is_harmless(void **state)
{
    uint64_t seed = 19 + alqi_base_test_seed();

    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        sample_put(0);
        for (unsigned i = 0; i < 1 + round % 4; i++) {
            seed = alqi_base_mix(seed + 1);
            dump[seed % dump_bytes] = (uint8_t)(seed >> 32);
        }
        take_dump(1 + seed % dump_bytes);
        (void)alqi_symbol_jit_take_map(jit, (const char *)dump, dump_bytes,
                                       round % 2 == 0);
        for (uint64_t at = 0; at < 0x4000; at += 0x800)
            (void)frame_at(at, seed % 600);
        end(NULL);
        begin(NULL);
    }
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(lines_have_start_size_and_name),
        TEST(the_last_entry_wins),
        TEST(a_map_is_read_as_it_grows),
        TEST(odd_lines_are_counted),
        TEST(names_are_clean_and_bounded),
        TEST(a_line_without_end_is_passed_over),
        TEST(the_map_of_a_hostile_program_ends),
        TEST(scripts_have_file_and_line),
        TEST(a_dump_has_times),
        TEST(a_dump_has_lines),
        TEST(times_of_another_clock_are_none),
        TEST(a_file_of_another_kind_is_none),
        TEST(damage_is_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
