/* token_test.c -- tokens from handlers and threads, and their descriptors */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/limit.h"

enum { ROUNDS = 2000 };

static unsigned n_wakes;

static void
count_wake(void)
{
    __atomic_add_fetch(&n_wakes, 1, __ATOMIC_SEQ_CST);
}

static int
start(void **state)
{
    (void)state;
    n_wakes = 0;
    alqi_limit_wake_all_sigsafe = count_wake;
    return 0;
}

static int
is_readable(int fd)
{
    struct pollfd p = {fd, POLLIN, 0};

    return poll(&p, 1, 0) == 1 && (p.revents & POLLIN) != 0;
}

static void
set_once_for_ever(void **state)
{
    struct alq_token *token = alq_token_new();

    (void)state;
    assert_false(alq_token_is_set(token));
    alq_token_set(token);
    alq_token_set(token);
    assert_true(alq_token_is_set(token));
    assert_int_equal(n_wakes, 1);
    alq_token_drop(token);
}

static void
null_is_harmless(void **state)
{
    (void)state;
    alq_token_set(NULL);
    alq_token_drop(NULL);
    assert_false(alq_token_is_set(NULL));
    assert_int_equal(alq_token_fd(NULL), -1);
    assert_null(alq_token_keep(NULL));
}

static void
descriptor_is_readable_once_set(void **state)
{
    struct alq_token *before = alq_token_new(), *after = alq_token_new();
    int fd = alq_token_fd(before);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(alq_token_fd(before), fd);
    assert_false(is_readable(fd));
    alq_token_set(before);
    assert_true(is_readable(fd));
    assert_true(is_readable(fd)); /* it is not read */
    alq_token_set(after);
    assert_true(is_readable(alq_token_fd(after)));
    alq_token_drop(before);
    assert_int_equal(is_readable(fd), 0); /* closed */
    alq_token_drop(after);
}

static struct alq_token *of_handler;

static void
on_signal(int number)
{
    (void)number;
    alq_token_set(of_handler);
}

static void
handler_sets_it(void **state)
{
    (void)state;
    of_handler = alq_token_new();
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    assert_true(alq_token_is_set(of_handler));
    assert_int_equal(n_wakes, 1);
    alq_token_drop(of_handler);
}

static void *
set_it(void *arg)
{
    alq_token_set(arg);
    alq_token_drop(arg);
    return NULL;
}

/* Whoever of the maker and the setter comes second rings. */
static void
descriptor_and_set_race(void **state)
{
    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        struct alq_token *token = alq_token_new();
        struct pollfd p = {.events = POLLIN};
        pthread_t thread;

        assert_int_equal(
            pthread_create(&thread, NULL, set_it, alq_token_keep(token)), 0);
        p.fd = alq_token_fd(token);
        assert_int_equal(poll(&p, 1, 600000), 1);
        assert_int_equal(pthread_join(thread, NULL), 0);
        alq_token_drop(token);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(set_once_for_ever, start),
        cmocka_unit_test_setup(null_is_harmless, start),
        cmocka_unit_test_setup(descriptor_is_readable_once_set, start),
        cmocka_unit_test_setup(handler_sets_it, start),
        cmocka_unit_test_setup(descriptor_and_set_race, start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
