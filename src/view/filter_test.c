/* filter_test.c -- two filters are the same only if the same samples pass
 *
 * What is kept of one query answers another if the filters are the same: a key
 * that the comparison did not know would give one filter's answer to another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/base.h"
#include "view/filter.h"

/* The filter of a query's text, kept; the caller frees `kept`. */
static struct alqi_view_filter
kept_from(const char *text)
{
    static struct alqi_view_query query;
    struct alqi_view_filter filter, copy;

    assert_true(alqi_view_query_parse(&query, text));
    if (!alqi_view_filter_take(&filter, &query, "", 3))
        fail_msg("'%s': %s", text, query.error);
    assert_true(alqi_view_filter_keep(&copy, &filter));
    alqi_view_query_free(&query);
    return copy;
}

static bool
are_same(const char *a, const char *b)
{
    struct alqi_view_filter x = kept_from(a), y = kept_from(b);
    bool is_same = alqi_view_filter_is_same(&x, &y);

    free(x.kept);
    free(y.kept);
    return is_same;
}

static void
each_key_that_chooses_tells_filters_apart(void **state)
{
    static const char *const queries[] = {
        "",           "t=1",           "alloc=1..5",  "alloc=1..6",
        "live=peak",  "live=end",      "live=3",      "freed=never",
        "freed=1..5", "size=8..",      "size=..8",    "life=1..",
        "heap=minor", "heap=major",    "phase=a",     "phase=b",
        "thread=1",   "thread=2",      "domain=1",    "in=f",
        "in=%3Df",    "in=f&in=g",     "notin=f",     "in=~f",
        "infile=f",   "inmodule=f",    "notinfile=f", "notinmodule=f",
        "site=f",     "site=f&hide=g", "node=3",      "node=4"};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(queries); i++)
        for (size_t k = 0; k < ALQI_COUNT_OF(queries); k++)
            if (are_same(queries[i], queries[k]) != (i == k))
                fail_msg("'%s' and '%s'", queries[i], queries[k]);
}

static void
what_is_drawn_chooses_nothing(void **state)
{
    (void)state;
    assert_true(are_same("size=8..&by=blocks", "size=8..&by=bytes"));
    assert_true(are_same("in=f&hide=g", "in=f"));
}

/* Whether a word of that value takes the name. */
static bool
takes(const char *value, const char *name)
{
    char error[ALQI_VIEW_WORD_ERROR_BYTES];
    struct alqi_view_matcher matcher;
    struct alqi_view_word word;
    bool is_match;

    if (!alqi_view_word_take(&word, value, error))
        fail_msg("'%s': %s", value, error);
    assert_true(alqi_view_matcher_make(&matcher, &word));
    is_match = alqi_view_matcher_takes(&matcher, name);
    alqi_view_matcher_free(&matcher);
    return is_match;
}

static void
words_take_parts_wholes_and_expressions(void **state)
{
    (void)state;
    assert_true(takes("ars", "parse") && !takes("^ars", "parse"));
    assert_true(takes("=parse", "parse") && !takes("=ars", "parse"));
    assert_true(takes("~^p.*(e|x)$", "parse") && !takes("~^ars", "parse"));
    assert_true(takes("~^Foo::~Foo\\(\\)$", "Foo::~Foo()"));
    assert_true(takes("~^a{2,3}$", "aaa") && !takes("~^a{2,3}$", "aaaa"));
    assert_true(takes("~^[[:alpha:]_]+$", "a_b") && !takes("~[0-9]", "a_b"));
}

static void
words_without_capitals_ignore_case(void **state)
{
    (void)state;
    assert_true(takes("typ", "Typecore.TYP") && takes("core", "TypeCore"));
    assert_true(takes("Typ", "xTyp") && !takes("Typ", "typecore"));
    assert_false(takes("tyP", "typ") || takes("tyP", "Typ"));
    assert_true(takes("=typ", "typ") && !takes("=typ", "Typ"));
    assert_true(takes("~^t[x-z]p", "TYPE") && !takes("~^T[x-z]p", "type"));
    assert_true(takes("~[[:upper:]]y", "TypE") && !takes("~[[:upper:]]", "y"));
    assert_true(takes("~[[:lower:]]", "Ty") && !takes("~[[:lower:]]", "TY"));
    /* Of ASCII alone, and a range of signs has no letters. */
    assert_true(takes("\303\251", "\303\251") &&
                !takes("\303\251", "\303\211"));
    assert_false(takes("~[!-_]", "Q"));
    assert_true(takes("~[!-_]Q", "5Q") && takes("~[!-@]q", "5Q"));
}

static void
what_may_differ_between_libraries_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "=",
                                      "~",
                                      "~(",
                                      "~[a",
                                      "~a\\",
                                      "~\\w",
                                      "~(a)\\1",
                                      "~a{1001}",
                                      "~a{0,40}{40}",
                                      "~((a{40}){2,}){40}"};

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(bad); i++) {
        char error[ALQI_VIEW_WORD_ERROR_BYTES] = "";
        struct alqi_view_word word;

        if (alqi_view_word_take(&word, bad[i], error))
            fail_msg("'%s'", bad[i]);
        assert_int_not_equal(error[0], '\0');
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_key_that_chooses_tells_filters_apart),
        cmocka_unit_test(what_is_drawn_chooses_nothing),
        cmocka_unit_test(words_take_parts_wholes_and_expressions),
        cmocka_unit_test(words_without_capitals_ignore_case),
        cmocka_unit_test(what_may_differ_between_libraries_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
