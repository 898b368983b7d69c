/* arena_test.c -- pieces do not overlap, are aligned, and end at the limit */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

enum { PIECES = 4000, LIMIT_BYTES = 1 << 20 };

static void
pieces_stay_apart(void **state)
{
    static unsigned char *piece[PIECES];
    struct alqi_base_arena arena = {0};
    size_t large = 0;

    (void)state;
    for (size_t i = 0; i < PIECES; i++) {
        size_t n = i % 97 == 0 ? 20000 + i : i % 61;

        large += n >= 20000;
        piece[i] = alqi_base_arena_take(&arena, n);
        assert_non_null(piece[i]);
        assert_int_equal((uintptr_t)piece[i] % sizeof(void *), 0);
        memset(piece[i], (int)(i & 0xFF), n);
    }
    assert_true(large > 10);
    for (size_t i = 0; i < PIECES; i++)
        for (size_t k = 0; k < (i % 97 == 0 ? 20000 + i : i % 61); k++)
            assert_int_equal(piece[i][k], i & 0xFF);
    alqi_base_arena_drop(&arena);
    assert_null(arena.blocks);
}

static void
the_limit_holds(void **state)
{
    struct alqi_base_arena arena = {.limit_bytes = LIMIT_BYTES};
    size_t n = 0;

    (void)state;
    while (alqi_base_arena_take(&arena, 1000) != NULL)
        n++;
    assert_true(n > LIMIT_BYTES / 2000);
    assert_true(arena.n_bytes <= LIMIT_BYTES);
    assert_null(alqi_base_arena_take(&arena, LIMIT_BYTES));
    assert_null(alqi_base_arena_take(&arena, SIZE_MAX - 8));
    assert_true(arena.n_bytes <= LIMIT_BYTES);
    alqi_base_arena_drop(&arena);
}

static void
texts_are_copied(void **state)
{
    struct alqi_base_arena arena = {0};
    const char *a = alqi_base_arena_text(&arena, "abcdef", 3);
    const char *b = alqi_base_arena_printf(&arena, "%s+0x%x", a, 255u);

    (void)state;
    assert_string_equal(a, "abc");
    assert_string_equal(b, "abc+0xff");
    alqi_base_arena_drop(&arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_stay_apart),
        cmocka_unit_test(the_limit_holds),
        cmocka_unit_test(texts_are_copied),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
