/* pb_test.c -- fields of protocol buffers, against bytes worked out by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "wire/pb.h"

static void
is(struct alqi_pb *pb, const char *bytes, size_t n)
{
    assert_false(pb->is_short);
    assert_int_equal(pb->n, n);
    assert_memory_equal(pb->bytes, bytes, n);
    alqi_pb_free(pb);
    assert_null(pb->bytes);
}

#define IS(pb, text) is(pb, text, sizeof(text) - 1)

static void
numbers(void **state)
{
    struct alqi_pb pb = {0};

    (void)state;
    alqi_pb_uint(&pb, 1, 1);
    alqi_pb_uint(&pb, 2, 0); /* left out */
    alqi_pb_uint(&pb, 15, 127);
    alqi_pb_uint(&pb, 16, 128);
    alqi_pb_uint(&pb, 3, UINT64_MAX);
    alqi_pb_int(&pb, 4, -1);
    alqi_pb_fixed64(&pb, 5, 0x0102030405060708);
    alqi_pb_fixed64(&pb, 5, 0);
    IS(&pb, "\x08\x01\x78\x7F\x80\x01\x80\x01"
            "\x18\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
            "\x20\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"
            "\x29\x08\x07\x06\x05\x04\x03\x02\x01");
}

static void
texts_and_lists(void **state)
{
    static const uint64_t many[] = {1, 300, 0};
    static const int64_t less[] = {-2, 5};
    struct alqi_pb pb = {0};

    (void)state;
    alqi_pb_text(&pb, 6, "");
    alqi_pb_text(&pb, 6, "abc");
    alqi_pb_bytes(&pb, 7, "\0x", 2);
    alqi_pb_uints(&pb, 1, many, 3);
    alqi_pb_uints(&pb, 1, many, 0);
    alqi_pb_ints(&pb, 2, less, 2);
    alqi_pb_ints(&pb, 2, less, 0);
    IS(&pb, "\x32\x00\x32\x03"
            "abc\x3A\x02\x00x\x0A\x04\x01\xAC\x02\x00"
            "\x12\x0B\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\x05");
}

static void
messages_nest(void **state)
{
    struct alqi_pb pb = {0};
    size_t outer, inner, empty;

    (void)state;
    outer = alqi_pb_begin(&pb, 1);
    alqi_pb_uint(&pb, 1, 9);
    inner = alqi_pb_begin(&pb, 2);
    alqi_pb_uint(&pb, 3, 8);
    alqi_pb_end(&pb, inner);
    empty = alqi_pb_begin(&pb, 4);
    alqi_pb_end(&pb, empty);
    alqi_pb_end(&pb, outer);
    IS(&pb, "\x0A\x08\x08\x09\x12\x02\x18\x08\x22\x00");
}

/* A length of each number of bytes, and what stands behind it. */
static void
lengths_of_every_size(void **state)
{
    static char text[300000];

    (void)state;
    memset(text, 'x', sizeof text);
    for (size_t n = 1; n < sizeof text; n = n < 130 ? n + 1 : n * 7) {
        struct alqi_pb pb = {0};
        size_t mark, at = 1, length = 0;
        unsigned shift = 0;

        mark = alqi_pb_begin(&pb, 1);
        alqi_pb_bytes(&pb, 2, text, n);
        alqi_pb_end(&pb, mark);
        alqi_pb_uint(&pb, 3, 7);
        assert_false(pb.is_short);
        do
            length |= (size_t)(pb.bytes[at] & 127) << shift;
        while (shift += 7, pb.bytes[at++] >= 128);
        assert_int_equal(pb.bytes[0], 0x0A);
        assert_int_equal(at + length + 2, pb.n);
        assert_int_equal(pb.bytes[at], 0x12);
        assert_memory_equal(pb.bytes + at + length - n, text, n);
        assert_int_equal(pb.bytes[pb.n - 2], 0x18);
        alqi_pb_free(&pb);
    }
}

/* .inv.short */
static void
memory_runs_out(void **state)
{
    struct alqi_pb pb = {0};
    size_t mark, n;

    (void)state;
    alqi_pb_uint(&pb, 1, 1);
    mark = alqi_pb_begin(&pb, 2);
    n = pb.n;
    alqi_pb_bytes(&pb, 1, "", SIZE_MAX / 2);
    assert_true(pb.is_short);
    alqi_pb_uint(&pb, 1, 1);
    alqi_pb_end(&pb, mark);
    assert_true(pb.is_short);
    assert_in_range(pb.n, n, n + 20);
    alqi_pb_free(&pb);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(texts_and_lists),
        cmocka_unit_test(messages_nest),
        cmocka_unit_test(lengths_of_every_size),
        cmocka_unit_test(memory_runs_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
