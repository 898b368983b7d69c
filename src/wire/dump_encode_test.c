/* dump_encode_test.c -- the bytes of a heap's snapshot */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/dump.h"
#include "wire/varint.h"

struct sink {
    uint8_t bytes[1 << 20];
    size_t n;
    size_t room; /* fails beyond it */
    unsigned n_writes;
};

static struct sink sink;
static struct alqi_dump_encoder e;
static const uint8_t *at;

static bool
keep(void *arg, const uint8_t *bytes, size_t n)
{
    struct sink *s = arg;

    s->n_writes++;
    if (n > s->room - s->n)
        return false;
    memcpy(s->bytes + s->n, bytes, n);
    s->n += n;
    return true;
}

static int
begin(void **state)
{
    (void)state;
    memset(&sink, 0, sizeof sink);
    sink.room = sizeof sink.bytes;
    alqi_dump_begin(&e, keep, &sink);
    at = sink.bytes + 8;
    return 0;
}

static uint64_t
number(void)
{
    uint64_t n = 0;

    assert_null(alqi_wire_varint_get(&at, sink.bytes + sink.n, &n));
    return n;
}

static void
numbers(const uint64_t *expected, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(number(), expected[i]);
}

#define NUMBERS(...)                                                           \
    numbers((const uint64_t[]){__VA_ARGS__},                                   \
            sizeof(const uint64_t[]){__VA_ARGS__} / sizeof(uint64_t))

static void
text(const char *expected)
{
    size_t n = number();

    assert_int_equal(n, strlen(expected));
    assert_memory_equal(at, expected, n);
    at += n;
}

static void
records_are_as_the_header_says(void **state)
{
    static const uint8_t id[] = {'i', 'd'};
    struct alqi_dump_frame frames[] = {{0x500, NULL, NULL, 0},
                                       {0, "f", "a.scm", 7}};
    struct alqi_dump_module m = {0x400, 0x600, 0x100, "/p", id, sizeof id};
    double rate = 0.25;
    uint64_t bits;

    (void)state;
    memcpy(&bits, &rate, sizeof bits);
    alqi_dump_program(&e, 12, 34, "a\0b", 3);
    alqi_dump_module(&e, &m);
    alqi_dump_kind_name(&e, 3, "pair");
    alqi_dump_site(&e, 9, frames, 2);
    alqi_dump_root(&e, ALQI_DUMP_ROOT_GLOBAL, 2, 0x700, "g", 0x1008);
    alqi_dump_sample(&e, 0x1008, 9, 2, rate);
    alqi_dump_traced(&e, 0x1008, 3, 12345);
    assert_true(alqi_dump_end(&e, 77, true));
    assert_memory_equal(sink.bytes, "ALQHEAP1", 8);
    NUMBERS(ALQI_DUMP_PROGRAM, 12, 34, 3);
    assert_memory_equal(at, "a\0b", 3);
    at += 3;
    NUMBERS(ALQI_DUMP_MODULE, 0x400, 0x600, 0x100);
    text("/p");
    text("id");
    NUMBERS(ALQI_DUMP_KIND, 3);
    text("pair");
    NUMBERS(ALQI_DUMP_SITE, 9, 2, 0x500, 0, 0, 0, 0);
    text("f");
    text("a.scm");
    NUMBERS(7, ALQI_DUMP_ROOT, ALQI_DUMP_ROOT_GLOBAL, 2, 0x700);
    text("g");
    NUMBERS(0x1008, ALQI_DUMP_SAMPLE, 0x1008, 9, 2, bits);
    NUMBERS(ALQI_DUMP_TRACED, 0x1008, 3, 12345);
    NUMBERS(ALQI_DUMP_END, 0, 0, 0, 1, 1, 77, 1);
    assert_ptr_equal(at, sink.bytes + sink.n);
}

/* Blocks that lie near each other are one run; a lower address and a gap of a
 * pool begin another one. */
static void
blocks_are_in_runs(void **state)
{
    (void)state;
    alqi_dump_block(&e, 0x10008, 2, 5, 0);
    alqi_dump_edge(&e, 0x10008);
    alqi_dump_edge(&e, 0x10028);
    alqi_dump_block(&e, 0x10028, 1, 255, 257);
    alqi_dump_block(&e, 0x10038 + 32768, 3, 0, 0);
    alqi_dump_edge(&e, 0x10008);
    alqi_dump_block(&e, 0x8008, 1, 0, 0);
    alqi_dump_kind_name(&e, 0, "");
    assert_true(alqi_dump_end(&e, 0, false));
    NUMBERS(ALQI_DUMP_RUN, 0x10000, 2 << 8 | 5, 0, 0, 1, 1 + 8, 0);
    NUMBERS(1 << 8 | 255, 1, 257, 0, 0);
    NUMBERS(ALQI_DUMP_RUN, 0x10030 + 32768, 3 << 8, 0, 0);
    NUMBERS(1 + 2 * (0x30 + 32768) / 8 - 1, 0, 0);
    NUMBERS(ALQI_DUMP_RUN, 0x8000, 1 << 8, 0, 0, 0, 0);
    NUMBERS(ALQI_DUMP_KIND, 0, 0);
    NUMBERS(ALQI_DUMP_END, 4, 2 + 1 + 3 + 1 + 4, 3, 0, 0, 0, 0);
    assert_ptr_equal(at, sink.bytes + sink.n);
}

/* More than the buffer has: texts are cut nowhere. */
static void
texts_may_be_longer_than_the_buffer(void **state)
{
    static char long_text[3 * ALQI_DUMP_BUFFER_BYTES + 8];

    (void)state;
    memset(long_text, 'x', sizeof long_text - 1);
    alqi_dump_kind_name(&e, 1, long_text);
    alqi_dump_kind_name(&e, 2, long_text);
    assert_true(alqi_dump_end(&e, 0, false));
    NUMBERS(ALQI_DUMP_KIND, 1);
    text(long_text);
    NUMBERS(ALQI_DUMP_KIND, 2);
    text(long_text);
    NUMBERS(ALQI_DUMP_END);
}

/* After a write that failed nothing is written, and the end says so. */
static void
a_failed_write_is_said_at_the_end(void **state)
{
    uint64_t block = 0x1008;
    int i;

    (void)state;
    sink.room = ALQI_DUMP_BUFFER_BYTES * 2;
    for (i = 0; i < ALQI_DUMP_BUFFER_BYTES; i++, block += 16)
        alqi_dump_block(&e, block, 1, 0, 0);
    assert_false(alqi_dump_end(&e, 0, false));
    assert_int_equal(sink.n_writes, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(records_are_as_the_header_says, begin),
        cmocka_unit_test_setup(blocks_are_in_runs, begin),
        cmocka_unit_test_setup(texts_may_be_longer_than_the_buffer, begin),
        cmocka_unit_test_setup(a_failed_write_is_said_at_the_end, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
