/* The first calls of a process: malloc and its family before the allocator
 * behind the preload is known, from inside the very look-up.
 *
 * dlsym is replaced by one that allocates before it answers, as some do. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "memprof/filter.h"
#include "preload/preload.h"

void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

static void *early[5];
static int n_early;
static int early_errno;
static bool overflowed_null;

void
alqi_preload_log(const char *text)
{
    fail_msg("%s", text);
}

static int n_begun;

__thread struct alqi_preload_hot alqi_preload_hot
    __attribute__((tls_model("initial-exec")));

/* With the allocator known and the thread parked. */
void
alqi_preload_begin(void)
{
    n_begun++;
    assert_int_equal(n_early, 5);
    assert_int_equal(alqi_preload_hot.left_words, ALQI_PARKED);
    free(alqi_preload_real.malloc(1));
}

static void
allocate_early(void)
{
    const struct alqi_preload_real *r = &alqi_preload_real;
    void *p = r->malloc(100);

    memset(p, 'a', 100);
    early[0] = r->realloc(p, 5000);
    early[1] = r->calloc(30, 10);
    early[2] = r->memalign(256, 77);
    r->posix_memalign(&early[3], 64, 33);
    early[4] = r->realloc(NULL, 1);
    errno = 0;
    overflowed_null =
        r->calloc(SIZE_MAX, 2) == NULL && r->malloc(1 << 20) == NULL;
    early_errno = errno;
    n_early = 5;
}

void *
__wrap_dlsym(void *handle, const char *name)
{
    if (n_early == 0)
        allocate_early();
    return __real_dlsym(handle, name);
}

static void
first_calls_are_served(void **state)
{
    const char *bytes;
    void *p;

    (void)state;
    alqi_preload_hot.left_words = -2;
    p = alqi_preload_real.malloc(10); /* looks the allocator up, and begins */
    assert_int_equal(n_begun, 1);
    assert_int_equal(alqi_preload_hot.left_words, -2);
    assert_false(alqi_preload_real_begin());
    assert_int_equal(n_begun, 1);
    assert_non_null(p);
    assert_false(alqi_preload_is_boot(p));
    for (int i = 0; i < n_early; i++) {
        assert_true(alqi_preload_is_boot(early[i]));
        assert_int_equal((uintptr_t)early[i] % 16, 0);
        /* free() must meet them on its slow path */
        assert_true(alqi_memprof_filter_hit(early[i]));
    }
    assert_int_equal((uintptr_t)early[2] % 256, 0);
    assert_int_equal((uintptr_t)early[3] % 64, 0);
    bytes = early[0];
    assert_true(bytes[0] == 'a' && bytes[99] == 'a');
    bytes = early[1];
    for (int i = 0; i < 300; i++)
        assert_int_equal(bytes[i], 0);
    assert_int_equal(alqi_preload_boot_size(early[0]), 5000);
    assert_int_equal(alqi_preload_boot_size(early[1]), 300);
    alqi_preload_real.free(p);
}

static void
too_much_is_refused(void **state)
{
    (void)state;
    assert_true(overflowed_null);
    assert_int_equal(early_errno, ENOMEM);
}

static void
the_real_ones_are_found(void **state)
{
    const struct alqi_preload_real *r = &alqi_preload_real;
    void *p = NULL;

    (void)state;
    assert_int_equal(r->posix_memalign(&p, 4096, 10), 0);
    assert_int_equal((uintptr_t)p % 4096, 0);
    assert_true(r->malloc_usable_size(p) >= 10);
    p = r->realloc(p, 100000);
    assert_non_null(p);
    r->free(p);
    p = r->pvalloc(1);
    assert_true(r->malloc_usable_size(p) >= 4096);
    r->free(p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_calls_are_served),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(the_real_ones_are_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
