/* marshal_code_test.c -- each code of a message, written and read */
#include "marshal_kit.h"
#include "value_kit.h"

/* The value of data that are right. */
static alq_value
value_of(const void *data, size_t n, uint64_t objects, uint64_t words)
{
    struct hand m = hand(data, n, objects, words);
    size_t used = 0;
    alq_value v;

    assert_int_equal(alq_unmarshal(d, m.bytes, m.n, NULL, &used, &v), ALQ_OK);
    assert_int_equal(used, m.n);
    return v;
}

#define VALUE(data, objects, words)                                            \
    value_of(data, sizeof(data) - 1, objects, words)

/* ---- written ------------------------------------------------------------ */

static void
integers_are_written(void **state)
{
    (void)state;
    BYTES(alq_from_int(0), 0, "\x40", 0, 0);
    BYTES(alq_from_int(63), 0, "\x7F", 0, 0);
    BYTES(alq_from_int(64), 0, "\x00\x40", 0, 0);
    BYTES(alq_from_int(-1), 0, "\x00\xFF", 0, 0);
    BYTES(alq_from_int(-128), 0, "\x00\x80", 0, 0);
    BYTES(alq_from_int(128), 0, "\x01\x00\x80", 0, 0);
    BYTES(alq_from_int(-32768), 0, "\x01\x80\x00", 0, 0);
    BYTES(alq_from_int(32768), 0, "\x02\x00\x00\x80\x00", 0, 0);
    BYTES(alq_from_int((1 << 30) - 1), 0, "\x02\x3F\xFF\xFF\xFF", 0, 0);
    BYTES(alq_from_int(-(1 << 30)), 0, "\x02\xC0\x00\x00\x00", 0, 0);
    BYTES(alq_from_int(1 << 30), 0, "\x03\0\0\0\0\x40\0\0\0", 0, 0);
    BYTES(alq_from_int(INT64_MAX >> 1), 0,
          "\x03\x3F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 0, 0);
    BYTES(alq_from_int(INT64_MIN >> 1), 0, "\x03\xC0\0\0\0\0\0\0\0", 0, 0);
}

static void
blocks_are_written(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    f.v = pair(alq_from_int(1), alq_from_int(2));
    BYTES(f.v, 0, "\xA0\x41\x42", 1, 3);
    BYTES(f.v, ALQ_MARSHAL_NO_SHARING, "\xA0\x41\x42", 0, 3);
    BYTES(alq_alloc(d, 0, 0), 0, "\x80", 0, 0);
    BYTES(alq_alloc(d, 7, 15), 0, "\xFF\x40\x40\x40\x40\x40\x40\x40", 1, 8);
    BYTES(alq_alloc(d, 1, 16), 0, "\x08\0\0\x04\x10\x40", 1, 2);
    BYTES(alq_alloc(d, 8, 0), 0, "\x08\0\0\x20\0@@@@@@@@", 1, 9);
}

static void
bytes_are_written(void **state)
{
    ALQ_FRAME(d, f, v);
    char chars[32], zeros[5 + 256 * 8];

    (void)state;
    memset(chars, 'a', sizeof chars);
    BYTES(alq_string_copy(d, "", 0), 0, "\x20", 1, 2);
    BYTES(alq_string_copy(d, "hello", 5), 0, "\x25hello", 1, 2);
    f.v = alq_string_copy(d, chars, 31);
    BYTES(f.v, 0,
          "\x3F"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          1, 5);
    f.v = alq_string_copy(d, chars, 32);
    BYTES(f.v, 0,
          "\x09\x20"
          "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
          1, 6);
    BYTES(alq_alloc_double(d, 1.5), 0, "\x0C\0\0\0\0\0\0\xF8\x3F", 1, 2);
    f.v = alq_alloc_double_array(d, 1);
    alq_double_set(f.v, 0, 1.5);
    BYTES(f.v, 0, "\x0E\x01\0\0\0\0\0\0\xF8\x3F", 1, 2);
    memset(zeros, 0, sizeof zeros);
    zeros[0] = 7;
    zeros[3] = 1;
    bytes_are(alq_alloc_double_array(d, 256), 0, zeros, sizeof zeros, 1, 257);
}

static void
sharing_is_written(void **state)
{
    ALQ_FRAME(d, f, v);
    unsigned i;

    (void)state;
    f.v = alq_string_copy(d, "ab", 2);
    f.v = pair(f.v, f.v);
    BYTES(f.v, 0,
          "\xA0\x22"
          "ab\x04\x01",
          2, 5);
    BYTES(f.v, ALQ_MARSHAL_NO_SHARING,
          "\xA0\x22"
          "ab\x22"
          "ab",
          0, 7);
    f.v = pair(ALQ_UNIT, ALQ_UNIT);
    alq_store(d, f.v, 1, f.v);
    BYTES(f.v, 0, "\xA0\x40\x04\x01", 1, 3);

    f.v = ALQ_UNIT;
    for (i = 0; i < 3; i++)
        f.v = pair(f.v, f.v);
    BYTES(f.v, 0, "\xA0\xA0\xA0\x40\x40\x04\x01\x04\x02", 3, 9);
}

static void
customs_are_written(void **state)
{
    alq_value v;

    (void)state;
    v = number_custom(&alq_int32_ops, -2);
    BYTES(v, 0, "\x19_i\0\xFF\xFF\xFF\xFE", 1, 3);
    v = number_custom(&alq_int64_ops, 1);
    BYTES(v, 0, "\x19_j\0\0\0\0\0\0\0\0\x01", 1, 3);
    v = number_custom(&alq_nativeint_ops, 5);
    BYTES(v, 0, "\x19_n\0\x01\0\0\0\x05", 1, 3);
    v = number_custom(&alq_nativeint_ops, (int64_t)1 << 40);
    BYTES(v, 0, "\x19_n\0\x02\0\0\x01\0\0\0\0\0", 1, 3);
}

/* ---- read --------------------------------------------------------------- */

static void
integers_are_read(void **state)
{
    (void)state;
    assert_int_equal(alq_to_int(VALUE("\x7F", 0, 0)), 63);
    assert_int_equal(alq_to_int(VALUE("\x00\x80", 0, 0)), -128);
    assert_int_equal(alq_to_int(VALUE("\x01\x80\x00", 0, 0)), -32768);
    assert_int_equal(alq_to_int(VALUE("\x02\x80\0\0\0", 0, 0)), INT32_MIN);
    assert_int_equal(alq_to_int(VALUE("\x03\xC0\0\0\0\0\0\0\0", 0, 0)),
                     INT64_MIN >> 1);
}

static void
blocks_are_read(void **state)
{
    alq_value v;

    (void)state;
    assert_int_equal(alq_wosize(VALUE("\x80", 0, 0)), 0);
    assert_int_equal(alq_wosize(VALUE("\x08\0\0\0\x30", 0, 0)), 0);
    v = VALUE("\xB5\x41\x42\x43", 1, 4);
    assert_int_equal(alq_header(v) & ~(uintptr_t)0x300, ALQ_HEADER(3, 5));
    assert_same(alq_field(v, 2), alq_from_int(3));
    /* The colour is whatever the writer's was. */
    v = VALUE("\x08\0\0\x07\xF8\x41", 1, 2);
    assert_int_equal(alq_header(v) & ~(uintptr_t)0x300, ALQ_HEADER(1, 248));
    v = VALUE("\x13\0\0\0\0\0\0\x08\xF5\x41\x42", 1, 3);
    assert_int_equal(alq_header(v) & ~(uintptr_t)0x300, ALQ_HEADER(2, 245));
}

static void
string_is(alq_value v, const char *chars)
{
    assert_true(alq_has_tag(v, ALQ_TAG_STRING));
    assert_int_equal(alq_string_bytes(v), strlen(chars));
    assert_string_equal(alq_string_chars(v), chars);
}

static void
bytes_are_read(void **state)
{
    static const char *const doubles[] = {"\x0C\0\0\0\0\0\0\xF8\x3F",
                                          "\x0B\x3F\xF8\0\0\0\0\0\0"};
    static const char *const arrays[] = {
        "\x0E\x02\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\xF8\xBF",
        "\x0D\x02\x3F\xF8\0\0\0\0\0\0\xBF\xF8\0\0\0\0\0\0",
        "\x07\0\0\0\x02\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\xF8\xBF",
        "\x0F\0\0\0\x02\x3F\xF8\0\0\0\0\0\0\xBF\xF8\0\0\0\0\0\0",
        "\x17\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\xF8\x3F\0\0\0\0\0\0\xF8\xBF",
        "\x16\0\0\0\0\0\0\0\x02\x3F\xF8\0\0\0\0\0\0\xBF\xF8\0\0\0\0\0\0"};
    static const size_t heads[] = {2, 2, 5, 5, 9, 9};
    alq_value v;
    size_t i;

    (void)state;
    string_is(VALUE("\x20", 1, 2), "");
    string_is(VALUE("\x21x", 1, 2), "x");
    string_is(VALUE("\x09\x07"
                    "abcdefg",
                    1, 2),
              "abcdefg");
    string_is(VALUE("\x0A\0\0\0\x08"
                    "abcdefgh",
                    1, 3),
              "abcdefgh");
    string_is(VALUE("\x15\0\0\0\0\0\0\0\x01z", 1, 2), "z");
    for (i = 0; i < ALQI_COUNT_OF(doubles); i++) {
        v = value_of(doubles[i], 9, 1, 2);
        assert_true(alq_has_tag(v, ALQ_TAG_DOUBLE));
        assert_true(alq_double(v, 0) == 1.5);
    }
    for (i = 0; i < ALQI_COUNT_OF(arrays); i++) {
        v = value_of(arrays[i], heads[i] + 16, 1, 3);
        assert_true(alq_has_tag(v, ALQ_TAG_DOUBLE_ARRAY));
        assert_int_equal(alq_wosize(v), 2);
        assert_true(alq_double(v, 0) == 1.5 && alq_double(v, 1) == -1.5);
    }
}

static void
sharing_is_read(void **state)
{
    static const char *const messages[] = {
        "\xA0\x20\x04\x01", "\xA0\x20\x05\0\x01", "\xA0\x20\x06\0\0\0\x01",
        "\xA0\x20\x14\0\0\0\0\0\0\0\x01"};
    static const size_t lengths[] = {4, 5, 7, 11};
    alq_value v;
    size_t i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(messages); i++) {
        v = value_of(messages[i], lengths[i], 2, 5);
        string_is(alq_field(v, 0), "");
        assert_same(alq_field(v, 1), alq_field(v, 0));
    }
    v = VALUE("\xA0\x04\x01\x04\x01", 1, 3);
    assert_same(alq_field(v, 0), v);
    assert_same(alq_field(v, 1), v);
}

static int64_t
custom_number(alq_value v, const struct alq_custom_ops *ops)
{
    int64_t n = 0;
    int32_t small;

    assert_true(alq_has_tag(v, ALQ_TAG_CUSTOM));
    assert_ptr_equal(alq_custom_ops_of(v), ops);
    if (ops != &alq_int32_ops) {
        memcpy(&n, alq_custom_data(v), sizeof n);
        return n;
    }
    memcpy(&small, alq_custom_data(v), sizeof small);
    return small;
}

static void
customs_are_read(void **state)
{
    const struct alq_custom_ops *native = &alq_nativeint_ops;
    alq_value v;

    (void)state;
    v = VALUE("\x19_i\0\xFF\xFF\xFF\xFE", 1, 3);
    assert_int_equal(custom_number(v, &alq_int32_ops), -2);
    v = VALUE("\x12_j\0\0\0\0\0\0\0\0\x01", 1, 3);
    assert_int_equal(custom_number(v, &alq_int64_ops), 1);
    v = VALUE("\x18_n\0\0\0\0\x04\0\0\0\0\0\0\0\x08\x01\xFF\xFF\xFF\xFF", 1, 3);
    assert_int_equal(custom_number(v, native), -1);
    v = VALUE("\x19_n\0\x02\0\0\x01\0\0\0\0\0", 1, 3);
    assert_int_equal(custom_number(v, native), (int64_t)1 << 40);
}

static void
a_big_header_is_read(void **state)
{
    struct hand m = hand_big("\xA0\x41\x04\x01", 4, 1, 3);
    struct alq_marshal_header h;
    alq_value v;
    size_t used, n;

    (void)state;
    assert_int_equal(alq_unmarshal(d, m.bytes, m.n + 1, NULL, &used, &v),
                     ALQ_OK);
    assert_int_equal(used, m.n);
    assert_same(alq_field(v, 1), v);
    for (n = 0; n < 32; n++) {
        h.header_bytes = 0;
        assert_int_equal(alq_marshal_header_read(m.bytes, n, &h), ALQ_EINVAL);
        assert_int_equal(h.header_bytes, n < 20 ? 0 : 32);
    }
    assert_int_equal(alq_marshal_header_read(m.bytes, 32, &h), ALQ_OK);
    assert_int_equal(h.data_bytes, 4);
    assert_int_equal(h.objects, 1);
    assert_int_equal(h.heap_words, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(integers_are_written), TEST(blocks_are_written),
        TEST(bytes_are_written),    TEST(sharing_is_written),
        TEST(customs_are_written),  TEST(integers_are_read),
        TEST(blocks_are_read),      TEST(bytes_are_read),
        TEST(sharing_is_read),      TEST(customs_are_read),
        TEST(a_big_header_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
