/* pattern_test.c -- patterns of names become names */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/pattern.h"

static const struct alqi_base_pattern_part parts[] = {
    {'e', "prog"}, {'p', "17"}, {'h', NULL}};

/* The name that the pattern becomes in that much room. */
static bool
becomes(const char *pattern, size_t capacity, const char *name)
{
    char out[64];
    bool is_whole = alqi_base_pattern_expand_sigsafe(
        out, capacity, pattern, parts, ALQI_COUNT_OF(parts));

    assert_string_equal(out, name);
    return is_whole;
}

static void
letters_become_texts(void **state)
{
    (void)state;
    assert_true(becomes("", 1, ""));
    assert_true(becomes("a.%e.%p.ctf", 64, "a.prog.17.ctf"));
    assert_true(becomes("%%e%%", 64, "%e%"));
    assert_true(becomes("%h%q%", 64, "%h%q%"));
}

static void
what_does_not_fit_is_cut_off(void **state)
{
    (void)state;
    assert_true(becomes("%e.%p", 8, "prog.17"));
    assert_false(becomes("%e.%p", 7, "prog.1"));
    assert_false(becomes("%e.%p", 4, "pro"));
    assert_false(becomes("ab", 1, ""));
}

static void
strays_are_found(void **state)
{
    static const struct {
        const char *pattern, *at;
    } cases[] = {{"a.%e.%p", NULL}, {"%%q", NULL}, {"%%%q.ctf", "%q.ctf"},
                 {"%e%", "%"},      {"100%", "%"}, {"", NULL},
                 {"%e%%%", "%"},    {"% e", "% e"}};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(cases); i++) {
        const char *at = alqi_base_pattern_stray(cases[i].pattern, "ep");

        assert_int_equal(at != NULL, cases[i].at != NULL);
        if (at != NULL)
            assert_string_equal(at, cases[i].at);
    }
}

static void
a_path_is_the_pattern_of_itself(void **state)
{
    char pattern[64], *end = alqi_base_pattern_quote(pattern, "100%e/%x", 6);

    (void)state;
    assert_string_equal(pattern, "100%%e/");
    assert_ptr_equal(end, pattern + 7);
    assert_true(becomes(pattern, 64, "100%e/"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_become_texts),
        cmocka_unit_test(what_does_not_fit_is_cut_off),
        cmocka_unit_test(strays_are_found),
        cmocka_unit_test(a_path_is_the_pattern_of_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
