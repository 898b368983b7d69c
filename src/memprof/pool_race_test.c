/* pool_race_test.c -- threads that take nodes at once, and give none back
 *
 * Each slab is wanted by all.  The one that has mapped it gets some of it,
 * however fast the others are: no thread is told that there is no memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memprof/pool.h"

enum { THREADS = 8, NODES = 50000 };

static void *
take(void *arg)
{
    struct alqi_memprof_thread t = {.mode = ALQI_MEMPROF_INSIDE};
    uintptr_t *n_refused = arg;

    for (int i = 0; i < NODES; i++)
        *n_refused += alqi_pool_get(&t) == NULL;
    alqi_pool_drain(&t);
    return NULL;
}

static void
everybody_gets_nodes(void **state)
{
    uintptr_t n_refused[THREADS] = {0};
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take, &n_refused[i]),
                         0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(n_refused[i], 0);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everybody_gets_nodes)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
