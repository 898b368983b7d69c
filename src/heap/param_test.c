/* param_test.c -- ALIQUOTPARAM: what it sets, and what it refuses */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "heap/param.h"

static char warnings[100000];

static void
warn(const char *setting, size_t n, const char *why)
{
    size_t used = strlen(warnings);

    snprintf(warnings + used, sizeof warnings - used, "%.*s: %s\n", (int)n,
             setting, why);
}

static struct alqi_heap_tuning
read_text(const char *text)
{
    struct alqi_heap_tuning t;

    warnings[0] = '\0';
    alqi_heap_param_defaults(&t);
    alqi_heap_param_read(&t, text, warn);
    return t;
}

static void
each_letter_sets_its_value(void **state)
{
    struct alqi_heap_tuning t =
        read_text("d=3,s=512k,i=2000,o=200,O=300,a=2,w=7,l=1M,M=50,m=60,n=70,"
                  "v=0x3d,h=1G,H,V=1,c,W=1,e=10");

    (void)state;
    assert_string_equal(warnings, "");
    if (ALQI_CHECKS < 3)
        assert_int_equal(t.control.minor_heap_size, 524288);
    assert_int_equal(t.control.major_heap_increment, 2000);
    assert_int_equal(t.control.space_overhead, 200);
    assert_int_equal(t.control.max_overhead, 300);
    assert_int_equal(t.control.allocation_policy, 2);
    assert_int_equal(t.control.window_size, 7);
    assert_int_equal(t.control.stack_limit, 1 << 20);
    assert_int_equal(t.control.custom_major_ratio, 50);
    assert_int_equal(t.control.custom_minor_ratio, 60);
    assert_int_equal(t.control.custom_minor_max_size, 70);
    assert_int_equal(t.control.verbose, 0x3d);
    assert_int_equal(t.initial_words, 1 << 30);
    assert_int_equal(t.domains_max, 3);
    assert_int_equal(t.force_huge, 1);
    assert_int_equal(t.verify, 1);
    assert_int_equal(t.cleans_up, 1);
    assert_int_equal(t.warns, 1);
    assert_int_equal(t.record_log2, 10);
}

static void
the_defaults(void **state)
{
    struct alqi_heap_tuning t = read_text("");
    char text[300];

    (void)state;
    alqi_heap_param_write(&t, text, sizeof text);
    assert_string_equal(text,
                        ALQI_CHECKS < 3
                            ? "s=0,i=15,o=120,O=500,a=0,w=1,l=134217728,M=44,"
                              "m=100,n=70000,v=0,h=0,d=128,H=0,V=0,c=0,W=0,e=12"
                            : text);
}

static void
what_is_written_is_read(void **state)
{
    struct alqi_heap_tuning t = read_text("s=1M,o=77,w=50,v=0x7ff,n=0"), u;
    char text[300], small[10];
    size_t n = alqi_heap_param_write(&t, text, sizeof text);

    (void)state;
    assert_int_equal(n, strlen(text));
    u = read_text(text);
    assert_memory_equal(&t, &u, sizeof t);
    assert_int_equal(alqi_heap_param_write(&t, small, sizeof small), n);
    assert_int_equal(strlen(small), sizeof small - 1);
    assert_memory_equal(small, text, sizeof small - 1);
    assert_int_equal(alqi_heap_param_write(&t, NULL, 0), n);
}

static void
numbers(void **state)
{
    static const struct {
        const char *text;
        intptr_t v; /* of i; -1: refused */
    } rows[] = {
        {"i=0", 0},         {"i=007", 7},       {"i=10k", 10240},
        {"i=0x10k", 16384}, {"i=0XfF", 255},    {"i", 1},
        {"i=2M", 2 << 20},  {"i=1G", 1 << 30},  {"i=", -1},
        {"i=-1", -1},       {"i=+1", -1},       {"i= 1", -1},
        {"i=1 ", -1},       {"i=1K", -1},       {"i=1kk", -1},
        {"i=1k5", -1},      {"i=0x", -1},       {"i=x10", -1},
        {"i=1e3", -1},      {"i=1.5", -1},      {"i:1", -1},
        {"ii=1", -1},       {"i==1", -1},       {"i=k", -1},
        {"i=0xg", -1},      {"i=\xff\xfe", -1}, {"i=1\n", -1},
    };
    size_t i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(rows); i++) {
        struct alqi_heap_tuning t = read_text(rows[i].text);

        if (rows[i].v >= 0) {
            assert_int_equal(t.control.major_heap_increment, rows[i].v);
            assert_string_equal(warnings, "");
        } else {
            assert_int_equal(t.control.major_heap_increment, 15);
            assert_non_null(strstr(warnings, "ignored"));
            assert_memory_equal(warnings, rows[i].text, strlen(rows[i].text));
        }
    }
}

static void
values_out_of_range_are_brought_in_and_told(void **state)
{
    struct alqi_heap_tuning t;

    (void)state;
    t = read_text("s=99999999999999999999999999999999999999G");
    assert_int_equal(t.control.minor_heap_size, 4194304);
    assert_string_equal(warnings,
                        "s=99999999999999999999999999999999999999G: out of "
                        "range, 4194304 is used\n");
    t = read_text("o=0,w=0,M=0,m=0,a=3,w=51,v=0xfffffffffff");
    assert_int_equal(t.control.space_overhead, 1);
    assert_int_equal(t.control.custom_major_ratio, 1);
    assert_int_equal(t.control.custom_minor_ratio, 1);
    assert_int_equal(t.control.allocation_policy, 2);
    assert_int_equal(t.control.window_size, 50);
    assert_int_equal(t.control.verbose, UINT32_MAX);
    assert_non_null(strstr(warnings, "o=0: out of range, 1 is used\n"));
    assert_non_null(strstr(warnings, "a=3: out of range, 2 is used\n"));
    t = read_text("s=1M,s=5000"); /* the last one counts; whole chunks */
    if (ALQI_CHECKS < 3)
        assert_int_equal(t.control.minor_heap_size, 8192);
}

static void
letters_of_others(void **state)
{
    struct alqi_heap_tuning t = read_text("b,p,R,t=3,o=99");

    (void)state;
    assert_string_equal(warnings, ""); /* OCaml's: nothing to do here */
    assert_int_equal(t.control.space_overhead, 99);
    read_text(",,,z=1,,o=1,");
    assert_string_equal(warnings, "z=1: no such parameter, ignored\n");
}

/* Any text at all: nothing but values within their ranges. */
static void
random_text_does_no_harm(void **state)
{
    static const char chars[] = "shioOawlMmnvHVcWe=,,0x19kMG-\n\x80 zb";
    uint64_t seed = 7 + alqi_base_test_seed();
    char text[64];
    unsigned i, k;

    (void)state;
    for (i = 0; i < 200000; i++) {
        struct alqi_heap_tuning t, limited;

        for (k = 0; k < sizeof text - 1; k++)
            text[k] = chars[alqi_base_mix(seed++) % (sizeof chars - 1)];
        text[alqi_base_mix(seed++) % sizeof text] = '\0';
        text[sizeof text - 1] = '\0';
        t = read_text(text);
        limited = t;
        alqi_heap_param_limit(&limited);
        assert_memory_equal(&t, &limited, sizeof t);
        assert_true(strlen(warnings) < sizeof warnings - 1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_letter_sets_its_value),
        cmocka_unit_test(the_defaults),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(numbers),
        cmocka_unit_test(values_out_of_range_are_brought_in_and_told),
        cmocka_unit_test(letters_of_others),
        cmocka_unit_test(random_text_does_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
