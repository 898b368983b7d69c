/* wasm_test.c -- what a page may call, in any order */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *alqi_view_wasm_room(size_t n_bytes);
const char *alqi_view_wasm_add(void *index, size_t n_bytes);
int alqi_view_wasm_answer(char *path, char *query);
const char *alqi_view_wasm_text(void);
size_t alqi_view_wasm_text_bytes(void);

static char *
word(const char *text)
{
    char *at = alqi_view_wasm_room(strlen(text) + 1);

    assert_non_null(at);
    return strcpy(at, text);
}

static void
is_refused(void)
{
    static const char error[] = "{\"error\":\"there is no trace\"}";

    assert_int_equal(alqi_view_wasm_answer(word("info"), word("")), 404);
    assert_int_equal(alqi_view_wasm_text_bytes(), sizeof error - 1);
    assert_memory_equal(alqi_view_wasm_text(), error, sizeof error - 1);
}

/* Before the first add there is no set of traces. */
static void
a_question_without_a_trace_is_refused(void **state)
{
    static const char damaged[] = "no index";
    char *index = word(damaged);

    (void)state;
    assert_int_equal(alqi_view_wasm_text_bytes(), 0);
    is_refused();
    assert_non_null(alqi_view_wasm_add(index, sizeof damaged));
    is_refused();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_without_a_trace_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
