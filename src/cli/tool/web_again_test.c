/* web_again_test.c -- how long to wait before a request is sent again
 *
 * Bounds of the wait by round, and what a server asks for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/tool/web_again.h"

static void
waits_grow_to_a_minute(void **state)
{
    (void)state;
    assert_int_equal(alqi_cli_web_wait_ms(0, 0, 0.5), 500);
    assert_int_equal(alqi_cli_web_wait_ms(1, 0, 0), 500);
    assert_int_equal(alqi_cli_web_wait_ms(3, 0, 0.5), 4000);
    assert_int_equal(alqi_cli_web_wait_ms(7, 0, 0.999), 60000);
    assert_int_equal(alqi_cli_web_wait_ms(UINT64_MAX, 0, 0), 60000);
}

static void
a_server_may_ask_for_more(void **state)
{
    (void)state;
    assert_int_equal(alqi_cli_web_wait_ms(0, 10, 0.5), 10000);
    assert_int_equal(alqi_cli_web_wait_ms(3, 1, 0.5), 4000);
    assert_int_equal(alqi_cli_web_wait_ms(0, 300, 0.5), 300000);
    assert_int_equal(alqi_cli_web_wait_ms(16, 3600, 0.5), 3600000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_grow_to_a_minute),
        cmocka_unit_test(a_server_may_ask_for_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
