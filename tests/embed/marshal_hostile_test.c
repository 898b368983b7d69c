/* marshal_hostile_test.c -- limits, and bytes from somebody who means no good
 */
#include "marshal_kit.h"
#include "value_kit.h"

static enum alq_status
status_of(const void *data, size_t n, uint64_t objects, uint64_t words,
          const char *text)
{
    struct hand m = hand(data, n, objects, words);
    struct alq_marshal_fault fault = {NULL, 0};
    const struct alq_unmarshal_options options = {.fault = &fault};
    alq_value v = ALQ_UNIT;
    enum alq_status status = alq_unmarshal(d, m.bytes, m.n, &options, NULL, &v);

    assert_same(v, ALQ_NULL);
    assert_non_null(fault.text);
    assert_string_equal(fault.text, text);
    assert_in_range(fault.at, 20, m.n);
    return status;
}

#define STATUS(data, objects, words, text)                                     \
    status_of(data, sizeof(data) - 1, objects, words, text)

/* ---- what is not written ------------------------------------------------ */

static enum alq_status
write_status(alq_value v, const struct alq_marshal_options *given,
             const char *text)
{
    struct alq_marshal_fault fault = {NULL, 0};
    struct alq_marshal_options options = *given;
    unsigned char buffer[256];
    enum alq_status status;
    uint64_t n;
    size_t used;

    options.fault = &fault;
    status = alq_marshal_size(d, v, &options, &n);
    assert_string_equal(fault.text, text);
    assert_int_equal(
        alq_marshal_to_buffer(d, v, &options, buffer, sizeof buffer, &used),
        status);
    return status;
}

static void
what_has_no_form_is_refused(void **state)
{
    const struct alq_marshal_options plain = {.flags = 0};
    const struct alq_marshal_options compat = {.flags = ALQ_MARSHAL_COMPAT_32};
    const struct alq_marshal_options odd = {.flags = 2};
    ALQ_FRAME(d, f, v);
    uint64_t n;

    (void)state;
    assert_int_equal(
        write_status(ALQ_NULL, &plain, "ALQ_NULL, which is no value"),
        ALQ_EINVAL);
    f.v = alq_alloc(d, 1, ALQ_TAG_ABSTRACT);
    assert_int_equal(write_status(f.v, &plain, "an abstract block"),
                     ALQ_ENOTSUP);
    f.v = alq_alloc(d, 1, 247);
    assert_int_equal(write_status(f.v, &plain, "a closure"), ALQ_ENOTSUP);
    f.v = alq_alloc_custom(d, &dumb_ops, 8);
    assert_int_equal(write_status(pair(f.v, f.v), &plain,
                                  "a custom block without serialise"),
                     ALQ_ENOTSUP);
    refuse_box = true;
    assert_int_equal(
        write_status(box("x"), &plain, "a custom block's serialise failed"),
        ALQ_ENOTSUP);
    refuse_box = false;
    assert_int_equal(write_status(alq_from_int(1 << 30), &compat,
                                  "an integer is too large for 32 bits"),
                     ALQ_ENOTSUP);
    f.v = alq_alloc_string(d, 0xFFFFFC);
    assert_int_equal(
        write_status(f.v, &compat, "a string is too long for 32 bits"),
        ALQ_ENOTSUP);
    f.v = alq_alloc_double_array(d, 0x200000);
    assert_int_equal(
        write_status(f.v, &compat, "a double array is too long for 32 bits"),
        ALQ_ENOTSUP);
    f.v = alq_alloc(d, 0x400000, 0);
    assert_int_equal(
        write_status(f.v, &compat, "a block is too large for 32 bits"),
        ALQ_ENOTSUP);
    assert_int_equal(alq_marshal_size(d, ALQ_UNIT, &odd, &n), ALQ_EINVAL);
    assert_int_equal(alq_marshal_size(NULL, ALQ_UNIT, NULL, &n), ALQ_EINVAL);
    assert_int_equal(alq_marshal_size(d, ALQ_UNIT, NULL, NULL), ALQ_EINVAL);
}

/* ---- four-byte numbers are too small ------------------------------------ */

static struct alq_custom_size claimed; /* by `wide` */

static enum alq_status
wide_put(struct alq_marshal_out *out, alq_value block,
         struct alq_custom_size *size)
{
    (void)block;
    alq_marshal_put_number(out, 5, 1);
    *size = claimed;
    return ALQ_OK;
}

static enum alq_status
wide_get(struct alq_marshal_in *in, void *data, size_t bytes)
{
    (void)bytes;
    *(uint64_t *)data = alq_marshal_get_number(in, 1);
    return ALQ_OK;
}

static const struct alq_custom_ops wide_ops = {
    .name = "test.wide", .serialise = wide_put, .deserialise = wide_get};
static const struct alq_custom_ops *const wide_kinds[] = {&wide_ops, NULL};

/* A wide one and a string of n bytes, there and back; the header has so many
 * bytes. */
static void
wide_again(size_t n, unsigned header_bytes)
{
    const struct alq_unmarshal_options r = {.kinds = wide_kinds};
    ALQ_FRAME(d, f, v, back);
    struct alq_marshal_header h;
    unsigned char buffer[5000];
    uint64_t size;
    size_t used, n_bytes, i;
    void *memory;

    f.back = alq_alloc_string(d, n);
    for (i = 0; i < n; i++)
        alq_string_chars(f.back)[i] = (char)i;
    f.v = alq_alloc_custom(d, &wide_ops, 8);
    f.v = pair(f.v, f.back);
    assert_int_equal(alq_marshal_size(d, f.v, NULL, &size), ALQ_OK);
    assert_int_equal(alq_marshal_to_memory(d, f.v, NULL, &memory, &n_bytes),
                     ALQ_OK);
    assert_int_equal(size, n_bytes);
    assert_int_equal(alq_marshal_header_read(memory, n_bytes, &h), ALQ_OK);
    assert_int_equal(h.header_bytes, header_bytes);
    assert_int_equal(h.header_bytes + h.data_bytes, n_bytes);
    assert_int_equal(h.objects, 3);
    assert_int_equal(
        alq_marshal_to_buffer(d, f.v, NULL, buffer, n_bytes - 1, &used),
        ALQ_ETOOBIG);
    assert_int_equal(
        alq_marshal_to_buffer(d, f.v, NULL, buffer, n_bytes, &used), ALQ_OK);
    assert_int_equal(used, n_bytes);
    assert_memory_equal(buffer, memory, n_bytes);
    free(memory);
    assert_int_equal(alq_unmarshal(d, buffer, used, &r, NULL, &f.back), ALQ_OK);
    assert_int_equal(*(uint64_t *)alq_custom_data(alq_field(f.back, 0)), 5);
    f.v = alq_field(f.v, 1);
    f.back = alq_field(f.back, 1);
    assert_int_equal(alq_string_bytes(f.back), n);
    assert_memory_equal(alq_string_chars(f.back), alq_string_chars(f.v), n);
}

/* A word more, of those that a reader with 32 bits would need, than the small
 * header can say: 3 of the pair, the string's, the custom block's other 2. */
static void
a_big_header_is_written_when_it_has_to_be(void **state)
{
    const struct alq_marshal_options compat = {.flags = ALQ_MARSHAL_COMPAT_32};
    const uint64_t most = UINT32_MAX - 3 - 2 - 2;
    ALQ_FRAME(d, f, v);
    uint64_t size;
    size_t n;

    (void)state;
    claimed = (struct alq_custom_size){4 * most, 8};
    wide_again(3, 20);
    claimed.bytes_32++;
    wide_again(3, 32);
    for (n = 4010; n < 4050; n++) /* what is in memory grows by 12 at last */
        wide_again(n, 32);
    f.v = alq_alloc_custom(d, &wide_ops, 8);
    assert_int_equal(
        write_status(f.v, &compat, "a custom block is too large for 32 bits"),
        ALQ_ENOTSUP);
    claimed.bytes_32 = UINT32_MAX;
    assert_int_equal(alq_marshal_size(d, f.v, &compat, &size), ALQ_OK);
    claimed = (struct alq_custom_size){4, (uint64_t)8 * UINT32_MAX};
    assert_int_equal(
        write_status(f.v, &compat, "the message is too large for 32 bits"),
        ALQ_ENOTSUP);
}

/* 255 copies of a string of 2^24 bytes with its code, and one of n bytes: only
 * counted. */
static void
four_gib_are_too_much(void **state)
{
    struct alq_marshal_options options = {.flags = ALQ_MARSHAL_NO_SHARING |
                                                   ALQ_MARSHAL_COMPAT_32,
                                          .limit_bytes = UINT64_MAX};
    enum { COPIES = 255, CODE = 5, BLOCK = 5, ALL = 1 << 24 };
    ALQ_FRAME(d, f, v, copied, last);
    uint64_t size;
    unsigned i;

    (void)state;
    f.v = alq_alloc(d, COPIES + 1, 0);
    f.copied = alq_alloc_string(d, ALL - CODE);
    f.last = alq_alloc_string(d, ALL - CODE - BLOCK - 1);
    for (i = 0; i < COPIES; i++)
        alq_store(d, f.v, i, f.copied);
    alq_store(d, f.v, COPIES, f.last);
    assert_int_equal(alq_marshal_size(d, f.v, &options, &size), ALQ_OK);
    assert_int_equal(size, (uint64_t)UINT32_MAX + 20);
    f.last = alq_alloc_string(d, ALL - CODE - BLOCK);
    alq_store(d, f.v, COPIES, f.last);
    assert_int_equal(alq_marshal_size(d, f.v, &options, &size), ALQ_ENOTSUP);
    options.flags = ALQ_MARSHAL_NO_SHARING;
    assert_int_equal(alq_marshal_size(d, f.v, &options, &size), ALQ_OK);
    assert_int_equal(size, (uint64_t)UINT32_MAX + 1 + 32);
}

/* 2^40 copies of it would be written. */
static void
copies_end_at_a_limit(void **state)
{
    struct alq_marshal_options options = {.flags = ALQ_MARSHAL_NO_SHARING,
                                          .limit_bytes = 1 << 20};
    ALQ_FRAME(d, f, v);
    unsigned i;
    void *bytes;
    uint64_t n;
    size_t n_bytes;

    (void)state;
    for (f.v = ALQ_UNIT, i = 0; i < 40; i++)
        f.v = pair(f.v, f.v);
    assert_int_equal(alq_marshal_size(d, f.v, &options, &n), ALQ_ETOOBIG);
    assert_int_equal(alq_marshal_to_memory(d, f.v, &options, &bytes, &n_bytes),
                     ALQ_ETOOBIG);
    alq_store(d, f.v, 0, f.v); /* no end at all */
    assert_int_equal(alq_marshal_to_memory(d, f.v, &options, &bytes, &n_bytes),
                     ALQ_ETOOBIG);
    options.limit_bytes = 0; /* then it is 1 GiB */
    for (f.v = alq_alloc_string(d, 1 << 20), i = 0; i < 40; i++)
        f.v = pair(f.v, f.v);
    assert_int_equal(alq_marshal_size(d, f.v, &options, &n), ALQ_ETOOBIG);
    f.v = alq_field(f.v, 0);
    while (alq_has_tag(f.v, 0))
        f.v = alq_field(f.v, 0);
    for (i = 0; i < 9; i++)
        f.v = pair(f.v, f.v);
    assert_int_equal(alq_marshal_size(d, f.v, &options, &n), ALQ_OK);
    assert_true(n > (uint64_t)512 << 20);
}

static void
limits_are_exact(void **state)
{
    struct alq_marshal_options w = {.flags = 0};
    struct alq_unmarshal_options r = {.limit_bytes = 0};
    unsigned char buffer[64];
    ALQ_FRAME(d, f, v, back);
    uint64_t size, i;
    size_t used;

    (void)state;
    f.v = pair(ALQ_UNIT, ALQ_UNIT);
    f.v = pair(pair(f.v, ALQ_UNIT), ALQ_UNIT); /* 3 deep */
    assert_int_equal(alq_marshal_size(d, f.v, NULL, &size), ALQ_OK);
    for (i = 1; i <= size; i++) {
        w.limit_bytes = i;
        assert_int_equal(
            alq_marshal_to_buffer(d, f.v, &w, buffer, sizeof buffer, &used),
            i < size ? ALQ_ETOOBIG : ALQ_OK);
        assert_int_equal(alq_marshal_to_buffer(d, f.v, NULL, buffer, i, &used),
                         i < size ? ALQ_ETOOBIG : ALQ_OK);
    }
    for (i = 1; i <= size; i++) {
        r.limit_bytes = i;
        assert_int_equal(alq_unmarshal(d, buffer, size, &r, NULL, &f.back),
                         i < size ? ALQ_ETOOBIG : ALQ_OK);
    }
    r.limit_bytes = w.limit_bytes = 0;
    for (i = 1; i <= 10; i++) {
        r.limit_objects = i;
        assert_int_equal(alq_unmarshal(d, buffer, size, &r, NULL, &f.back),
                         i < 3 ? ALQ_ETOOBIG : ALQ_OK);
        r.limit_objects = 0;
        r.limit_heap_words = i;
        assert_int_equal(alq_unmarshal(d, buffer, size, &r, NULL, &f.back),
                         i < 9 ? ALQ_ETOOBIG : ALQ_OK);
        r.limit_heap_words = 0;
        r.limit_depth = w.limit_depth = i;
        assert_int_equal(alq_unmarshal(d, buffer, size, &r, NULL, &f.back),
                         i < 3 ? ALQ_ETOOBIG : ALQ_OK);
        assert_int_equal(
            alq_marshal_to_buffer(d, f.v, &w, buffer, sizeof buffer, &used),
            i < 3 ? ALQ_ETOOBIG : ALQ_OK);
        r.limit_depth = 0;
    }
    assert_int_equal(alq_status_of(d), ALQ_OK); /* these are not the heap's */
}

/* ---- hostile bytes ------------------------------------------------------ */

static void
damage_is_named(void **state)
{
    (void)state;
    assert_int_equal(STATUS("", 0, 0, "cut short"), ALQ_EFORMAT);
    assert_int_equal(STATUS("\x40\x40", 0, 0, "bytes behind the value"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x1A", 0, 0, "a code that there is not"),
                     ALQ_EFORMAT);
    assert_int_equal(
        STATUS("\xA0\x40", 1, 3, "more fields than there are bytes"),
        ALQ_EFORMAT);
    assert_int_equal(STATUS("\xA0\xA0\x40\x40", 2, 6, /* one for the outer */
                            "more fields than there are bytes"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x90\x03\0\0", 1, 2, "cut short"), ALQ_EFORMAT);
    assert_int_equal(STATUS("\x08\xFF\xFF\xFC\0\x40", 1, 0xFFFFFFFF,
                            "more fields than there are bytes"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x13\xFF\xFF\xFF\xFF\xFF\xFF\xFC\0\x40", 1,
                            0xFFFFFFFF, "more fields than there are bytes"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x08\0\0\x04\xFC\x40", 1, 2,
                            "a block of fields with a tag of bytes"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x08\0\0\x04\xFB\x40", 1, 2,
                            "a block of fields with a tag of bytes"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x08\0\0\x04\xF7\x40", 1, 2, "a closure"),
                     ALQ_ENOTSUP);
    assert_int_equal(STATUS("\x10\0\0\0\0", 0, 0, "a closure"), ALQ_ENOTSUP);
    assert_int_equal(
        STATUS("\x15\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFx", 1, 2, "cut short"),
        ALQ_EFORMAT);
    assert_int_equal(
        STATUS("\x17\x20\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0", 1, 2, "cut short"),
        ALQ_EFORMAT);
    assert_int_equal(STATUS("\x0E\x02\0\0\0\0\0\0\0\0", 1, 1, "cut short"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x0E\0", 1, 1, "an empty double array"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\xA0\x04\x01\x04\x02", 1, 3,
                            "a shared object that there is not"),
                     ALQ_EFORMAT);
    assert_int_equal(
        STATUS("\xA0\x04\x00\x40", 1, 3, "a shared object that there is not"),
        ALQ_EFORMAT);
    assert_int_equal(STATUS("\xA0\x04\x01\x40", 0, 3,
                            "a shared object in a message without sharing"),
                     ALQ_EFORMAT);
    assert_int_equal(
        STATUS("\xA0\x20\x20", 2, 7, "more objects than the header says"),
        ALQ_EFORMAT);
    assert_int_equal(
        STATUS("\xA0\x20\x20", 3, 6, "more words than the header says"),
        ALQ_EFORMAT);
}

static void
damaged_customs_are_named(void **state)
{
    (void)state;
    assert_int_equal(STATUS("\x19_j", 1, 3, "cut short"), ALQ_EFORMAT);
    assert_int_equal(STATUS("\x19_j\0\0\0", 1, 3, "cut short"), ALQ_EFORMAT);
    assert_int_equal(STATUS("\x19_bigarr02\0", 1, 3,
                            "a custom block of a kind that is not known"),
                     ALQ_ENOTSUP);
    assert_int_equal(STATUS("\x18_j\0\0\0\0\x08\0\0\0\0\0\0\0\x07"
                            "12345678",
                            1, 3, "a custom block of a wrong size"),
                     ALQ_EFORMAT);
    assert_int_equal(STATUS("\x19_n\0\x03\0\0\0\0", 1, 3,
                            "a custom block's deserialise failed"),
                     ALQ_EFORMAT);
}

/* A kind's size is in the message: 2^50 bytes of room, for nothing. */
static void
claims_of_customs_are_bounded(void **state)
{
    static const char data[] =
        "\x18test.box\0\xFF\xFF\xFF\xFF\0\x04\0\0\0\0\0\0\x01\x41";
    struct alq_marshal_fault fault;
    struct alq_unmarshal_options options = {.kinds = kinds, .fault = &fault};
    struct hand m = hand_big(data, sizeof data - 1, 1, UINT64_MAX);
    alq_value v;

    (void)state;
    assert_int_equal(alq_unmarshal(d, m.bytes, m.n, &options, NULL, &v),
                     ALQ_ETOOBIG);
    assert_string_equal(fault.text, "limit_heap_words is passed");
    options.limit_heap_words = UINT64_MAX; /* then the heap says no */
    assert_int_equal(alq_unmarshal(d, m.bytes, m.n, &options, NULL, &v),
                     ALQ_ENOMEM);
    assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    alq_status_clear(d);
    m = hand_big("\x18test.box\0\xFF\xFF\xFF\xFF"
                 "\x80\0\0\0\0\0\0\0\x01\x41",
                 24, 1, UINT64_MAX);
    assert_int_equal(alq_unmarshal(d, m.bytes, m.n, &options, NULL, &v),
                     ALQ_EFORMAT);
    assert_string_equal(fault.text, "a custom block of an impossible size");
}

/* Reads anything; if it is a message after all, it can be written again. */
static void
read_and_write(const unsigned char *bytes, size_t n)
{
    const struct alq_unmarshal_options options = {.kinds = kinds};
    struct alq_gc_counts before, after;
    ALQ_FRAME(d, f, v);
    enum alq_status status;
    uint64_t size;

    assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
    status = alq_unmarshal(d, bytes, n, &options, NULL, &f.v);
    assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
    assert_in_range(after.minor_words + after.direct_words -
                        before.minor_words - before.direct_words,
                    0, 4 * n + 1024 + 8192);
    if (status == ALQ_OK) {
        assert_true(!alq_is_null(f.v));
        assert_int_equal(alq_marshal_size(d, f.v, NULL, &size), ALQ_OK);
        return;
    }
    assert_true(alq_is_null(f.v));
    assert_true(status == ALQ_EFORMAT || status == ALQ_ENOTSUP ||
                status == ALQ_ETOOBIG);
}

/* What a message lacks is not taken from behind it. */
static void
is_cut_short(const unsigned char *bytes, size_t n)
{
    struct alq_marshal_fault fault = {NULL, 0};
    const struct alq_unmarshal_options options = {.kinds = kinds,
                                                  .fault = &fault};
    alq_value v;

    assert_int_equal(alq_unmarshal(d, bytes, n, &options, NULL, &v),
                     ALQ_EFORMAT);
    assert_string_equal(fault.text, "cut short");
    assert_int_equal(fault.at, n);
}

static void
damage_everywhere(alq_value v)
{
    unsigned char *bytes, *part;
    void *memory;
    size_t n, i;
    unsigned bit;

    assert_int_equal(alq_marshal_to_memory(d, v, NULL, &memory, &n), ALQ_OK);
    bytes = memory;
    for (i = 0; i < n; i++) {
        part = malloc(i + (i == 0)); /* so that a step beyond is seen */
        assert_non_null(part);
        memcpy(part, bytes, i);
        read_and_write(part, i);
        free(part);
        is_cut_short(bytes, i);
        for (bit = 0; bit < 8; bit++) {
            bytes[i] ^= (unsigned char)(1u << bit);
            read_and_write(bytes, n);
            bytes[i] ^= (unsigned char)(1u << bit);
        }
    }
    read_and_write(bytes, n);
    free(memory);
}

static void
damage_is_survived(void **state)
{
    enum { GRAPHS = ALQI_TEST_ROUNDS(10, 3, 3) };
    ALQ_FRAME(d, f, v);
    alq_value empty;
    unsigned i;

    (void)state;
    f.v = box("some bytes");
    f.v = pair(f.v, ALQ_UNIT);
    empty = box("");
    f.v = pair(empty, f.v);
    damage_everywhere(f.v);
    for (i = 0; i < GRAPHS; i++) {
        f.v = graph(1 + rnd(ALQI_CHECKS >= 3 ? 5 : 40));
        damage_everywhere(f.v);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_status_of(d), ALQ_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_has_no_form_is_refused),
        TEST(a_big_header_is_written_when_it_has_to_be),
        TEST(four_gib_are_too_much),
        TEST(copies_end_at_a_limit),
        TEST(limits_are_exact),
        TEST(damage_is_named),
        TEST(damaged_customs_are_named),
        TEST(claims_of_customs_are_bounded),
        TEST(damage_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
