/* dwarf_expr_test.c -- DWARF expressions written by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stack/dwarf_expr.h"

static const uint64_t memory[4] = {0x1122334455667788, 40, 0, 99};

static bool
reg(void *arg, unsigned n, uint64_t *out)
{
    (void)arg;
    *out = 1000 + n;
    return n <= 16;
}

static bool
read_memory(void *arg, uintptr_t address, unsigned n_bytes, uint64_t *out)
{
    (void)arg;
    if (address + n_bytes > sizeof memory)
        return false;
    *out = 0;
    memcpy(out, (const char *)memory + address, n_bytes);
    return true;
}

static bool
eval(const uint8_t *expr, uint32_t n, const uint64_t *initial, uint64_t *out)
{
    struct alqi_stack_expr_env env = {NULL, reg, read_memory};

    return alqi_stack_expr_eval(&env, expr, n, initial, out);
}

#define IS(value, ...)                                                         \
    do {                                                                       \
        const uint8_t e[] = {__VA_ARGS__};                                     \
        uint64_t got = 0xDEAD;                                                 \
                                                                               \
        assert_true(eval(e, sizeof e, NULL, &got));                            \
        assert_int_equal(got, (uint64_t)(value));                              \
    } while (0)
#define REFUSED(...)                                                           \
    do {                                                                       \
        const uint8_t e[] = {__VA_ARGS__};                                     \
        uint64_t got;                                                          \
                                                                               \
        assert_false(eval(e, sizeof e, NULL, &got));                           \
    } while (0)

static void
test_constants(void **state)
{
    (void)state;
    IS(0, 0x30);
    IS(31, 0x4F);
    IS(0x0807060504030201, 0x03, 1, 2, 3, 4, 5, 6, 7, 8);
    IS(0xFF, 0x08, 0xFF);
    IS(-1, 0x09, 0xFF);
    IS(0xFFFE, 0x0A, 0xFE, 0xFF);
    IS(-2, 0x0B, 0xFE, 0xFF);
    IS(0xFFFFFFFE, 0x0C, 0xFE, 0xFF, 0xFF, 0xFF);
    IS(-2, 0x0D, 0xFE, 0xFF, 0xFF, 0xFF);
    IS(-2, 0x0E, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF);
    IS(-2, 0x0F, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF);
    IS(300, 0x10, 0xAC, 0x02);
    IS(-128, 0x11, 0x80, 0x7F);
}

static void
test_stack(void **state)
{
    (void)state;
    IS(4, 0x32, 0x12, 0x22);             /* 2 dup + */
    IS(1, 0x31, 0x32, 0x13);             /* 1 2 drop */
    IS(1, 0x31, 0x32, 0x14);             /* over */
    IS(1, 0x31, 0x32, 0x33, 0x15, 2);    /* pick 2 */
    IS(1, 0x31, 0x32, 0x16);             /* swap */
    IS(2, 0x31, 0x32, 0x33, 0x17);       /* rot: 3 1 2 */
    IS(1, 0x31, 0x32, 0x33, 0x17, 0x13); /* ... its second */
    IS(3, 0x31, 0x32, 0x33, 0x17, 0x13, 0x13);
}

static void
test_arithmetic(void **state)
{
    (void)state;
    IS(5, 0x09, 0xFB, 0x19);         /* abs -5 */
    IS(4, 0x3C, 0x36, 0x1A);         /* 12 & 6 */
    IS(-3, 0x09, 0xF7, 0x33, 0x1B);  /* -9 / 3 */
    IS(7, 0x39, 0x32, 0x1C);         /* 9 - 2 */
    IS(2, 0x3B, 0x33, 0x1D);         /* 11 mod 3 */
    IS(33, 0x3B, 0x33, 0x1E);        /* 11 * 3 */
    IS(-3, 0x33, 0x1F);              /* neg */
    IS(-4, 0x33, 0x20);              /* not */
    IS(14, 0x3C, 0x36, 0x21);        /* or */
    IS(18, 0x3C, 0x36, 0x22);        /* plus */
    IS(140, 0x3C, 0x23, 0x80, 0x01); /* plus_uconst */
    IS(48, 0x33, 0x34, 0x24);        /* 3 << 4 */
    IS(UINT64_MAX >> 4, 0x09, 0xFF, 0x34, 0x25);
    IS(-1, 0x09, 0xFF, 0x34, 0x26); /* arithmetic shift */
    IS(10, 0x3C, 0x36, 0x27);       /* xor */
    IS(0, 0x31, 0x08, 64, 0x24);    /* shifted out */
    IS(-1, 0x09, 0x80, 0x08, 200, 0x26);
}

static void
test_comparisons(void **state)
{
    static const struct {
        uint8_t op;
        bool less, equal, greater;
    } want[] = {{0x29, 0, 1, 0}, {0x2A, 0, 1, 1}, {0x2B, 0, 0, 1},
                {0x2C, 1, 1, 0}, {0x2D, 1, 0, 0}, {0x2E, 1, 0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        IS(want[i].less, 0x09, 0xFF, 0x31, want[i].op); /* -1 ? 1: signed */
        IS(want[i].equal, 0x35, 0x35, want[i].op);
        IS(want[i].greater, 0x35, 0x31, want[i].op);
    }
}

static void
test_registers_and_memory(void **state)
{
    (void)state;
    IS(1007, 0x77, 0);
    IS(1007 - 8, 0x77, 0x78);
    IS(1016 + 300, 0x92, 16, 0xAC, 0x02);
    IS(40, 0x38, 0x06);      /* deref at 8 */
    IS(0x66, 0x32, 0x94, 1); /* deref_size 1 at 2 */
    IS(0x55667788, 0x30, 0x94, 4);
    REFUSED(0x08, 32, 0x06); /* out of the memory there is */
    REFUSED(0x30, 0x94, 0);
    REFUSED(0x30, 0x94, 9);
    REFUSED(0x8F, 0); /* a register nobody knows */
    REFUSED(0x92, 0x80, 0x10, 0);
}

static void
test_jumps(void **state)
{
    (void)state;
    IS(2, 0x2F, 1, 0, 0x31, 0x32);       /* skip over lit1 */
    IS(1, 0x31, 0x31, 0x28, 1, 0, 0x32); /* bra taken over lit2: 1 */
    IS(2, 0x31, 0x30, 0x28, 1, 0, 0x32); /* not taken */
    IS(0, 0x35, 0x31, 0x1C, 0x12, 0x28, 0xFA, 0xFF); /* count 5 down to 0 */
    REFUSED(0x30, 0x2F, 0xFC, 0xFF);                 /* for ever */
    REFUSED(0x30, 0x2F, 1, 0);                       /* past the end */
    REFUSED(0x30, 0x2F, 0xFB, 0xFF);                 /* before the beginning */
}

static void
test_refused(void **state)
{
    uint8_t deep[40];
    uint64_t out;

    (void)state;
    REFUSED(0x96);             /* nothing left */
    REFUSED(0x22);             /* nothing to add */
    REFUSED(0x31, 0x30, 0x1B); /* division by zero */
    REFUSED(0x31, 0x30, 0x1D);
    REFUSED(0x0F, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xFF, 0x1B);
    REFUSED(0x0A, 1);       /* cut short */
    REFUSED(0x31, 0x15, 1); /* deeper than it is */
    REFUSED(0x91, 0);       /* fbreg has no meaning here */
    REFUSED(0x50);          /* a location is no value */
    REFUSED(0x9C);          /* call_frame_cfa would be circular */
    memset(deep, 0x31, sizeof deep);
    assert_false(eval(deep, sizeof deep, NULL, &out));
    assert_true(eval(deep, 16, NULL, &out));
}

static void
test_initial_value(void **state)
{
    static const uint8_t plus_8[] = {0x23, 8};
    uint64_t cfa = 100, out;

    (void)state;
    assert_true(eval(plus_8, 2, &cfa, &out));
    assert_int_equal(out, 108);
    assert_true(eval(plus_8, 0, &cfa, &out));
    assert_int_equal(out, 100);
    assert_false(eval(plus_8, 0, NULL, &out));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_constants),
        cmocka_unit_test(test_stack),
        cmocka_unit_test(test_arithmetic),
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_registers_and_memory),
        cmocka_unit_test(test_jumps),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_initial_value),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
