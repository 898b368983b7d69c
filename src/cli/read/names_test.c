/* names_test.c -- texts of a trace are kept whole, each once
 *
 * Texts of all lengths around a block's, those that differ in their last
 * byte, and what is cleaned in the place where it stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "cli/read/names.h"

/* A text of n bytes that ends with `last`; to be freed. */
static char *
text_of(size_t n, char last)
{
    char *text = malloc(n + 1);

    assert_non_null(text);
    memset(text, 'x', n);
    text[n - 1] = last;
    text[n] = '\0';
    return text;
}

static void
texts_are_whole_and_kept_once(void **state)
{
    static const size_t lengths[] = {1,     2047,  2048,   2049,  65526,
                                     65527, 65528, 200000, 65535, 3000000};
    struct alqi_cli_names *names = alqi_cli_names_new();
    uint32_t numbers[ALQI_COUNT_OF(lengths)][2];

    (void)state;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < ALQI_COUNT_OF(lengths); i++)
            for (int k = 0; k < 2; k++) {
                char *text = text_of(lengths[i], k == 0 ? 'a' : 'b');
                uint32_t number = alqi_cli_names_intern(names, text);

                if (round == 0)
                    numbers[i][k] = number;
                assert_int_equal(number, numbers[i][k]);
                assert_int_equal(number, 1 + 2 * i + (size_t)k);
                free(text);
            }
    for (size_t i = 0; i < ALQI_COUNT_OF(lengths); i++)
        for (int k = 0; k < 2; k++) {
            char *text = text_of(lengths[i], k == 0 ? 'a' : 'b');

            assert_string_equal(alqi_cli_names_text(names, numbers[i][k]),
                                text);
            free(text);
        }
    alqi_cli_names_drop(names);
}

static void
texts_are_cleaned(void **state)
{
    struct alqi_cli_names *names = alqi_cli_names_new();
    uint32_t number = alqi_cli_names_intern(names, "a\nb\xFF\xC3\xA9");

    (void)state;
    assert_string_equal(alqi_cli_names_text(names, number), "a?b?\xC3\xA9");
    assert_int_equal(alqi_cli_names_intern(names, "a?b?\xC3\xA9"), number);
    assert_int_equal(alqi_cli_names_intern(names, ""), ALQI_CLI_NO_NAME);
    alqi_cli_names_drop(names);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_whole_and_kept_once),
        cmocka_unit_test(texts_are_cleaned),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
