/* side_test.c -- lines of side records: put, then get, is the identity */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "wire/side.h"

static void
a_line(void **state)
{
    char line[100];
    char out[100];
    size_t n = alqi_side_put(line, sizeof line, 0, NULL, "thread");

    (void)state;
    n = alqi_side_put(line, sizeof line, n, "index", "3");
    n = alqi_side_put(line, sizeof line, n, "name", "a b=100%\n");
    assert_string_equal(line, "thread index=3 name=a%20b%3D100%25%0A");
    assert_int_equal(n, strlen(line));
    assert_true(alqi_side_get(line, NULL, out, sizeof out));
    assert_string_equal(out, "thread");
    assert_true(alqi_side_get(line, "index", out, sizeof out));
    assert_string_equal(out, "3");
    assert_true(alqi_side_get(line, "name", out, sizeof out));
    assert_string_equal(out, "a b=100%\n");
    assert_false(alqi_side_get(line, "nam", out, sizeof out));
    assert_false(alqi_side_get(line, "thread", out, sizeof out));
    assert_false(alqi_side_get("", "x", out, sizeof out));
    assert_false(alqi_side_get("", NULL, out, sizeof out));
}

static void
every_byte(void **state)
{
    char value[256];
    char line[1024];
    char out[256];

    (void)state;
    for (int i = 0; i < 255; i++)
        value[i] = (char)(i + 1);
    value[255] = '\0';
    alqi_side_put(line, sizeof line,
                  alqi_side_put(line, sizeof line, 0, NULL, "x"), "k", value);
    assert_true(alqi_side_get(line, "k", out, sizeof out));
    assert_string_equal(out, value);
    for (const char *p = line; *p != '\0'; p++)
        assert_true((unsigned char)*p >= ' ' && *p != 0x7F);
}

/* For each capacity: all or nothing, and never a byte beyond. */
static void
every_capacity(void **state)
{
    static const char whole[] = "kind key=v%20w";
    int n_refused = 0;

    (void)state;
    for (size_t capacity = 0; capacity <= sizeof whole; capacity++) {
        char *line = malloc(capacity + 1);
        size_t n = alqi_side_put(line, capacity, 0, NULL, "kind");
        size_t m = alqi_side_put(line, capacity, n, "key", "v w");

        assert_true(n == 0 || n == 4);
        assert_true(m == n || m == n + strlen(" key=v%20w"));
        if (capacity > 0 && m > 0)
            assert_int_equal(strlen(line), m);
        n_refused += m == n;
        if (capacity == sizeof whole)
            assert_string_equal(line, whole);
        free(line);
    }
    assert_true(n_refused > 10);
}

/* For each capacity of the output: cut to fit, always ended. */
static void
cut_values(void **state)
{
    (void)state;
    for (size_t capacity = 1; capacity <= 6; capacity++) {
        char *out = malloc(capacity);

        assert_true(alqi_side_get("x k=a%41b%4", "k", out, capacity));
        assert_int_equal(strlen(out), capacity < 6 ? capacity - 1 : 5);
        assert_memory_equal(out, "aAb%4", strlen(out));
        free(out);
    }
}

/* Names up to the bound stay; longer ones are cut, between two characters. */
static void
names_of_marks(void **state)
{
    enum { MOST = ALQI_SIDE_MARK_BYTES - 1 };
    char name[2 * ALQI_SIDE_MARK_BYTES], out[ALQI_SIDE_MARK_BYTES];

    (void)state;
    assert_false(alqi_side_mark_name(out, ""));
    for (size_t n = 1; n < sizeof name; n++) {
        memset(name, 'm', n);
        name[n] = '\0';
        assert_true(alqi_side_mark_name(out, name));
        assert_int_equal(strlen(out), n < MOST ? n : MOST);
    }
    for (size_t at = MOST - 4; at <= MOST; at++) {
        memset(name, 'm', sizeof name - 1);
        memcpy(name + at, "\xE2\x82\xAC", 3);
        assert_true(alqi_side_mark_name(out, name));
        assert_int_equal(strlen(out), at + 3 <= MOST ? MOST : at);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_marks), cmocka_unit_test(a_line),
        cmocka_unit_test(every_byte),     cmocka_unit_test(every_capacity),
        cmocka_unit_test(cut_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
