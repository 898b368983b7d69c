/* intern_test.c -- a table of rows does what an array of them does */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/intern.h"
#include "base/test_seed.h"

enum { ROWS_MOST = 700, STEPS = 20000, WORDS_MOST = 6 };

/* Words are small numbers, so that rows come again; 0 is one of them. */
static void
rows_are_numbered_as_met(void **state)
{
    uint64_t seed = 7 + alqi_base_test_seed();

    (void)state;
    for (uint32_t n_words = 1; n_words <= WORDS_MOST; n_words++) {
        struct alqi_base_intern t = {.n_words = n_words};
        uint32_t met[ROWS_MOST][WORDS_MOST] = {{0}};
        uint32_t n = 0;

        for (int step = 0; step < STEPS && n < ROWS_MOST; step++) {
            uint32_t row[WORDS_MOST] = {0}, i = 0;

            for (uint32_t k = 0; k < n_words; k++)
                row[k] = (uint32_t)(alqi_base_mix(seed++) % 5);
            while (i < n && memcmp(met[i], row, sizeof row) != 0)
                i++;
            if (i == n)
                memcpy(met[n++], row, sizeof row);
            assert_int_equal(alqi_base_intern(&t, row), i);
            assert_int_equal(t.n, n);
        }
        for (uint32_t i = 0; i < n; i++)
            assert_memory_equal(&t.words[i * n_words], met[i],
                                n_words * sizeof *t.words);
        alqi_base_intern_clear(&t);
        assert_int_equal(alqi_base_intern(&t, met[n / 2]), 0);
        alqi_base_intern_clear(&t);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_numbered_as_met),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
