/* build_test.c -- what is said of an index that cannot be made */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "view/build.h"

/* From now on there is no memory for a table that grows. */
static bool is_memory_short;

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *
__wrap_realloc(void *p, size_t n)
{
    return is_memory_short ? NULL : __real_realloc(p, n);
}

static bool
write_refused(void *arg, const void *bytes, size_t n)
{
    (void)arg;
    (void)bytes;
    (void)n;
    return false;
}

/* A full disk is told as that, also if memory ends on the way out. */
static void
the_first_failure_is_told(void **state)
{
    static const unsigned char key[sizeof(((struct alqi_view_foot *)0)->key)];
    const struct alqi_view_meta meta = {0};
    struct alqi_view_row row = {.colours = 1};
    struct alqi_view_build *b = alqi_view_build_new(write_refused, NULL);
    char text[1000];

    (void)state;
    assert_non_null(b);
    for (uint32_t i = 0; i < ALQI_VIEW_BLOCK_ROWS; i++) {
        row.born_us = i;
        assert_int_equal(alqi_view_build_birth(b, &row), i);
    } /* the last one has written the block's columns */
    assert_int_equal(alqi_view_build_birth(b, &row), UINT32_MAX);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    is_memory_short = true;
    assert_int_equal(alqi_view_build_text(b, text), 0);
    is_memory_short = false;
    assert_string_equal(alqi_view_build_finish(b, &meta, key),
                        "the index cannot be written");
    alqi_view_build_drop(b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
