/* dwarf_cfi_test.c -- CIE and FDE bytes made by hand: each instruction,
 * encoding and damage, through the reader that captures use
 *
 * A section is written into a buffer behind its header; the code it describes
 * is imagined to begin at the buffer's own address + CODE. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack/arch.h"
#include "stack/dwarf_ehframe.h"
#include "stack/dwarf_encoded.h"

enum { CODE = 0x10000, CODE_BYTES = 0x8000000, ROOM = 4096 };
enum { FP = ALQI_ARCH_FP, SP = ALQI_ARCH_SP, RA = ALQI_ARCH_RA };

static _Alignas(16) uint8_t buf[ROOM];
static size_t at;

static void
put(uint64_t v, unsigned n)
{
    assert_true(at + n <= ROOM);
    memcpy(buf + at, &v, n);
    at += n;
}

static void
put_bytes(const void *p, size_t n)
{
    assert_true(at + n <= ROOM);
    memcpy(buf + at, p, n);
    at += n;
}

/* How a section is to be made; zero is the usual. */
struct shape {
    const char *letters; /* "zR" */
    uint8_t pointers;    /* sdata4, relative to the place */
    uint8_t version;     /* 1 */
    bool is_extended;    /* lengths of 64 bits */
    bool has_no_table;
    uint8_t table; /* sdata4, relative to the header */
    bool is_indirect;
};

static size_t
open_entry(const struct shape *s)
{
    if (s->is_extended) {
        put(UINT32_MAX, 4);
        put(0, 8);
    } else {
        put(0, 4);
    }
    return at;
}

static void
close_entry(const struct shape *s, size_t start)
{
    uint64_t n;

    while (at % 8 != 0)
        put(0, 1);
    n = at - start;
    memcpy(buf + start - (s->is_extended ? 8 : 4), &n, s->is_extended ? 8 : 4);
}

static void
put_pointer(uint8_t encoding, uintptr_t target)
{
    uintptr_t here = (uintptr_t)buf + at;

    if ((encoding & ALQI_STACK_ENC_BASE) == ALQI_STACK_ENC_PCREL)
        target -= here;
    else if ((encoding & ALQI_STACK_ENC_BASE) == ALQI_STACK_ENC_DATAREL)
        target -= (uintptr_t)buf;
    put(target, alqi_stack_encoded_bytes(encoding));
}

static void
put_cie(const struct shape *s, const char *letters, uint8_t pointers)
{
    size_t start = open_entry(s), length;

    put(0, 4);
    put(s->version != 0 ? s->version : 1, 1);
    put_bytes(letters, strlen(letters) + 1);
    if (s->version == 4)
        put(8, 2);
    if (strcmp(letters, "eh") == 0)
        put(0, 8);
    put(1, 1);    /* code alignment */
    put(0x78, 1); /* data alignment -8 */
    put(RA, 1);   /* return address */
    length = at;
    if (letters[0] == 'z') {
        put(0, 1);
        for (; *letters != '\0'; letters++) {
            if (*letters == 'R')
                put(pointers, 1);
            if (*letters == 'L')
                put(0x1B, 1);
            if (*letters == 'P') {
                put(0x9B, 1);
                put(12345, 4);
            }
        }
        buf[length] = (uint8_t)(at - length - 1);
    }
    put_bytes((const uint8_t[]){0x0C, SP, 8, 0x80 | RA, 1}, 5);
    close_entry(s, start);
}

/* Makes the section; true if its header can be read. */
static bool
make(const struct shape *s, const uint8_t *code, size_t n_code,
     struct alqi_stack_sections *out)
{
    const char *letters = s->letters != NULL ? s->letters : "zR";
    uint8_t pointers = s->pointers != 0 ? s->pointers : 0x1B;
    uint8_t table = s->table != 0 ? s->table : 0x3B;
    uintptr_t function = (uintptr_t)buf + CODE;
    struct alqi_stack_extent segment = {buf, buf + ROOM};
    size_t frames, cie, fde, start, header_end;

    memset(buf, 0, sizeof buf);
    at = 0;
    put(1, 1);
    put(0x1B, 1);
    put(s->has_no_table ? 0xFF : 0x03, 1);
    put(s->has_no_table ? 0xFF : table, 1);
    header_end = at;
    at = 64;
    frames = cie = at;
    put_cie(s, letters, pointers);
    fde = at;
    start = open_entry(s);
    put(at - cie, 4);
    if (s->is_indirect) {
        uintptr_t slot = (uintptr_t)buf + ROOM - 8;

        memcpy(buf + ROOM - 8, &function, 8);
        put_pointer(pointers & 0x7F, slot);
    } else {
        put_pointer(letters[0] == 'z' ? pointers : 0, function);
    }
    put(CODE_BYTES, alqi_stack_encoded_bytes(letters[0] == 'z' ? pointers : 0));
    if (letters[0] == 'z')
        put(0, 1);
    put_bytes(code, n_code);
    close_entry(s, start);
    put(0, 4);
    at = header_end;
    put(frames - at, 4);
    if (!s->has_no_table) {
        put(1, 4);
        put_pointer(table, function);
        put_pointer(table, (uintptr_t)buf + fde);
    }
    return alqi_stack_sections_read(buf, &segment, 1, out);
}

/* The state `offset` bytes into the function; aborts where there is none. */
static struct alqi_stack_unwind
state_of(const struct shape *s, const uint8_t *code, size_t n, uint32_t offset)
{
    struct alqi_stack_sections sections;
    struct alqi_stack_unwind u;

    assert_true(make(s, code, n, &sections));
    assert_true(alqi_stack_ehframe_find(&sections,
                                        (uintptr_t)buf + CODE + offset, 3, &u));
    return u;
}

static bool
has_state(const struct shape *s, const uint8_t *code, size_t n, uint32_t offset)
{
    struct alqi_stack_sections sections;
    struct alqi_stack_unwind u;

    return make(s, code, n, &sections) &&
           alqi_stack_ehframe_find(&sections, (uintptr_t)buf + CODE + offset,
                                   ALQI_STACK_NO_REG, &u);
}

static const struct shape usual;
static struct alqi_stack_unwind seen;

#define STATE(offset, ...)                                                     \
    (seen = state_of(&usual, (const uint8_t[]){__VA_ARGS__},                   \
                     sizeof(const uint8_t[]){__VA_ARGS__}, offset))
#define REFUSED(...)                                                           \
    assert_false(has_state(&usual, (const uint8_t[]){__VA_ARGS__},             \
                           sizeof(const uint8_t[]){__VA_ARGS__}, 0x100))

static void
check_cfa(uint8_t reg, int32_t offset)
{
    assert_int_equal(seen.state.cfa.how, ALQI_STACK_OFFSET);
    assert_int_equal(seen.state.cfa_reg, reg);
    assert_int_equal(seen.state.cfa.value, offset);
}

static void
check_col(unsigned col, unsigned how, int32_t value)
{
    assert_int_equal(seen.state.col[col].how, how);
    assert_int_equal(seen.state.col[col].value, value);
}

static void
test_initial_state(void **state)
{
    (void)state;
    STATE(0, 0);
    check_cfa(SP, 8);
    check_col(ALQI_STACK_COL_RA, ALQI_STACK_OFFSET, -8);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_SAME, 0);
    assert_false(seen.is_signal);
    assert_int_equal(seen.start, (uintptr_t)buf + CODE);
}

/* A row begins at its location, not one byte before or after. */
static void
test_locations(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        static const uint32_t steps[] = {5, 200, 3000, 70000};
        uint32_t first = steps[i];

        for (uint32_t off = first - 1; off <= first; off++) {
            uint8_t code[16] = {0};
            size_t n = 0;

            if (i == 0) {
                code[n++] = 0x40 | 5;
            } else {
                code[n++] = (uint8_t)(0x01 + i);
                memcpy(code + n, &first, 4);
                n += 1u << (i - 1);
            }
            code[n++] = 0x0E;
            code[n++] = 16;
            seen = state_of(&usual, code, n, off);
            check_cfa(SP, off < first ? 8 : 16);
        }
    }
}

static void
test_set_location(void **state)
{
    uint8_t code[] = {0x01, 0, 0, 0, 0, 0x0E, 32};
    uintptr_t target = (uintptr_t)buf + CODE + 0x20;
    int32_t rel;
    struct alqi_stack_sections s;
    struct alqi_stack_unwind u;
    uint8_t *p;

    (void)state;
    assert_true(make(&usual, code, sizeof code, &s));
    p = memmem(buf, ROOM, code, sizeof code);
    assert_non_null(p);
    rel = (int32_t)(target - (uintptr_t)(p + 1));
    memcpy(p + 1, &rel, 4);
    assert_true(alqi_stack_ehframe_find(&s, target - 1, 3, &u));
    assert_int_equal(u.state.cfa.value, 8);
    assert_true(alqi_stack_ehframe_find(&s, target, 3, &u));
    assert_int_equal(u.state.cfa.value, 32);
}

static void
test_cfa_rules(void **state)
{
    (void)state;
    STATE(0, 0x0C, FP, 0x90, 0x01); /* def_cfa fp 144 */
    check_cfa(FP, 144);
    STATE(0, 0x0D, FP); /* def_cfa_register */
    check_cfa(FP, 8);
    STATE(0, 0x0E, 0x80, 0x80, 0x04); /* def_cfa_offset 65536 */
    check_cfa(SP, 65536);
    STATE(0, 0x12, FP, 0x7E); /* def_cfa_sf: -2 * -8 */
    check_cfa(FP, 16);
    STATE(0, 0x13, 0x7D); /* def_cfa_offset_sf */
    check_cfa(SP, 24);
    STATE(0, 0x0F, 2, 0x76, 0x78); /* an expression */
    assert_int_equal(seen.state.cfa.how, ALQI_STACK_VAL_EXPR);
    assert_int_equal(seen.state.cfa.n_bytes, 2);
    assert_memory_equal(seen.origin + seen.state.cfa.value, "\x76\x78", 2);
}

static void
test_register_rules(void **state)
{
    (void)state;
    STATE(0, 0x80 | FP, 2);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_OFFSET, -16);
    STATE(0, 0x05, FP, 3);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_OFFSET, -24);
    STATE(0, 0x11, FP, 0x7F);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_OFFSET, 8);
    STATE(0, 0x2F, FP, 2);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_OFFSET, 16);
    STATE(0, 0x14, FP, 4);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_VAL_OFFSET, -32);
    STATE(0, 0x15, FP, 0x7C);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_VAL_OFFSET, 32);
    STATE(0, 0x09, FP, 12);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_REGISTER, 12);
    STATE(0, 0x80 | FP, 2, 0x08, FP);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_SAME, 0);
    STATE(0, 0x07, RA);
    check_col(ALQI_STACK_COL_RA, ALQI_STACK_UNDEFINED, 0);
    STATE(0, 0x10, FP, 2, 0x76, 0x00);
    assert_int_equal(seen.state.col[ALQI_STACK_COL_FP].how, ALQI_STACK_EXPR);
    STATE(0, 0x16, RA, 2, 0x76, 0x00);
    assert_int_equal(seen.state.col[ALQI_STACK_COL_RA].how,
                     ALQI_STACK_VAL_EXPR);
    STATE(0, 0x80 | 3, 5, 0x80 | 12, 6); /* the extra one, and one besides */
    check_col(ALQI_STACK_COL_EXTRA, ALQI_STACK_OFFSET, -40);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_SAME, 0);
}

/* restore goes back to the CIE's rule, restore_state to the remembered. */
static void
test_restore(void **state)
{
    (void)state;
    STATE(0, 0x80 | RA, 7, 0xC0 | RA);
    check_col(ALQI_STACK_COL_RA, ALQI_STACK_OFFSET, -8);
    STATE(0, 0x80 | RA, 7, 0x06, RA);
    check_col(ALQI_STACK_COL_RA, ALQI_STACK_OFFSET, -8);
    STATE(0, 0x80 | FP, 2, 0x0E, 16, 0x0A, 0x0C, FP, 64, 0x08, FP, 0x0B);
    check_cfa(SP, 16);
    check_col(ALQI_STACK_COL_FP, ALQI_STACK_OFFSET, -16);
    STATE(0, 0x0A, 0x0E, 16, 0x0A, 0x0E, 24, 0x0B);
    check_cfa(SP, 16);
    STATE(0, 0x2E, 16, 0x2D, 0x2C); /* of no effect */
    check_cfa(SP, 8);
}

static void
test_malformed_code(void **state)
{
    (void)state;
    REFUSED(0x0B);                   /* nothing remembered */
    REFUSED(0x3F);                   /* unknown */
    REFUSED(0x0F, 100, 0x76);        /* longer than the entry */
    REFUSED(0x0F, 1, 0x30, 0x0E, 8); /* an offset for an expression */
    REFUSED(0x0C, 0xFF, 0x03, 8);    /* no such register */
    REFUSED(0x0E, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F);
    REFUSED(0x0A, 0x0A, 0x0A, 0x0A, 0x0A);
    REFUSED(0x05, FP, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F);
}

static void
test_shapes(void **state)
{
    static const uint8_t code[] = {0x41, 0x0E, 16, 0x86, 2};
    static const struct shape shapes[] = {
        {.letters = ""},        {.letters = "eh"},
        {.letters = "zR"},      {.letters = "zPLR"},
        {.letters = "zRS"},     {.letters = "zRB"},
        {.letters = "zRG"},     {.version = 3},
        {.version = 4},         {.is_extended = true},
        {.has_no_table = true}, {.has_no_table = true, .is_extended = true},
        {.pointers = 0x1C},     {.pointers = 0x3B},
        {.pointers = 0x33},     {.pointers = 0x34},
        {.pointers = 0x04},     {.pointers = 0x9C, .is_indirect = true},
        {.table = 0x3C},        {.table = 0x33},
        {.table = 0x1B},        {.table = 0x1C},
        {.table = 0x04},
    };

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        seen = state_of(&shapes[i], code, sizeof code, 1);
        check_cfa(SP, 16);
        assert_int_equal(seen.is_signal, shapes[i].letters != NULL &&
                                             strchr(shapes[i].letters, 'S'));
        seen = state_of(&shapes[i], code, sizeof code, 0);
        check_cfa(SP, 8);
        assert_true(has_state(&shapes[i], code, sizeof code, CODE_BYTES - 1));
        assert_false(has_state(&shapes[i], code, sizeof code, CODE_BYTES));
        assert_false(has_state(&shapes[i], code, sizeof code, UINT32_MAX));
    }
}

static void
test_refused_shapes(void **state)
{
    static const struct shape shapes[] = {
        {.letters = "zQ"},       {.letters = "xyz"}, {.version = 2},
        {.version = 9},          {.pointers = 0x4B}, {.pointers = 0x2B},
        {.letters = "zRRRRRRR"},
    };
    static const uint8_t code[] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        assert_false(has_state(&shapes[i], code, sizeof code, 0));
}

/* Any single damaged byte is survived, and what is found lies within reason:
 * expressions inside the segment. */
static void
test_damage_is_survived(void **state)
{
    static const uint8_t code[] = {0x0F, 2, 0x76, 0x78, 0x10, 6, 2, 0x76, 0};
    uint8_t good[ROOM];
    struct alqi_stack_extent segment = {buf, buf + ROOM};
    struct alqi_stack_sections s;
    struct alqi_stack_unwind u;
    unsigned n_found = 0;

    (void)state;
    assert_true(make(&usual, code, sizeof code, &s));
    memcpy(good, buf, ROOM);
    for (size_t i = 0; i < 256; i++) {
        for (unsigned v = 0; v < 256; v += 5) {
            memcpy(buf, good, 256);
            buf[i] = (uint8_t)v;
            if (!alqi_stack_sections_read(buf, &segment, 1, &s) ||
                !alqi_stack_ehframe_find(&s, (uintptr_t)buf + CODE, 3, &u))
                continue;
            n_found++;
            if (u.state.cfa.how == ALQI_STACK_VAL_EXPR)
                assert_true(u.state.cfa.value >= 0 &&
                            u.state.cfa.value + u.state.cfa.n_bytes <= ROOM);
        }
    }
    assert_true(n_found > 100);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initial_state),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_set_location),
        cmocka_unit_test(test_cfa_rules),
        cmocka_unit_test(test_register_rules),
        cmocka_unit_test(test_restore),
        cmocka_unit_test(test_malformed_code),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_refused_shapes),
        cmocka_unit_test(test_damage_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
