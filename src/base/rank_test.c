/* rank_test.c -- orders of locks that the table allows, and those it forbids
 *
 * A forbidden order ends a child; the parent sees how. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rank.h"
#include "base/skip.h"

#define LOW ALQI_RANK_PRELOAD_SPAWNS
#define MIDDLE ALQI_RANK_MEMPROF_DOMAINS
#define HIGH ALQI_RANK_MEMPROF_POOL

static bool
is_stopped(void (*fn)(void))
{
    pid_t pid = fork();
    int status;

    assert_true(pid >= 0);
    if (pid == 0) {
        close(STDERR_FILENO);
        fn();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
rising(void)
{
    alqi_base_rank_push_sigsafe(LOW);
    alqi_base_rank_push_sigsafe(MIDDLE);
    alqi_base_rank_push_sigsafe(HIGH);
}

static void
given_back(void)
{
    rising();
    alqi_base_rank_pop_sigsafe(LOW);
    alqi_base_rank_pop_sigsafe(HIGH);
    alqi_base_rank_pop_sigsafe(MIDDLE);
    alqi_base_rank_push_sigsafe(LOW);
}

static void
without_rank(void)
{
    rising();
    alqi_base_rank_push_sigsafe(ALQI_RANK_NONE);
    alqi_base_rank_push_sigsafe(ALQI_RANK_NONE);
}

static void
group(void)
{
    alqi_base_rank_push_sigsafe(LOW);
    alqi_base_rank_push_group_sigsafe(MIDDLE);
    alqi_base_rank_push_group_sigsafe(MIDDLE);
    alqi_base_rank_push_sigsafe(HIGH);
}

static void
forgotten(void)
{
    rising();
    alqi_base_rank_forget_sigsafe();
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(LOW));
    rising();
}

static void
falling(void)
{
    alqi_base_rank_push_sigsafe(MIDDLE);
    alqi_base_rank_push_sigsafe(LOW);
}

static void
twice(void)
{
    alqi_base_rank_push_sigsafe(HIGH);
    alqi_base_rank_push_sigsafe(HIGH);
}

static void
group_falling(void)
{
    alqi_base_rank_push_sigsafe(HIGH);
    alqi_base_rank_push_group_sigsafe(MIDDLE);
}

static void
orders_of_the_table_pass(void **state)
{
    (void)state;
    assert_false(is_stopped(rising));
    assert_false(is_stopped(given_back));
    assert_false(is_stopped(without_rank));
    assert_false(is_stopped(group));
    assert_false(is_stopped(forgotten));
}

static void
other_orders_end_the_program(void **state)
{
    (void)state;
#if ALQI_CHECKS == 0
    ALQI_SKIP("a build without checks records no ranks");
#endif
    assert_true(is_stopped(falling));
    assert_true(is_stopped(twice));
    assert_true(is_stopped(group_falling));
}

static void
held_ranks_are_known(void **state)
{
    (void)state;
#if ALQI_CHECKS == 0
    ALQI_SKIP("a build without checks records no ranks");
#endif
    assert_false(alqi_base_rank_is_held_sigsafe(MIDDLE));
    alqi_base_rank_push_sigsafe(MIDDLE);
    assert_true(alqi_base_rank_is_held_sigsafe(MIDDLE));
    assert_false(alqi_base_rank_is_held_sigsafe(LOW));
    alqi_base_rank_pop_sigsafe(MIDDLE);
    assert_false(alqi_base_rank_is_held_sigsafe(MIDDLE));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_of_the_table_pass),
        cmocka_unit_test(other_orders_end_the_program),
        cmocka_unit_test(held_ranks_are_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
