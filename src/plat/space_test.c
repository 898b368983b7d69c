/* space_test.c -- address space and reserved pages where a page has 64 KiB
 *
 * The size of a page is made up (-Wl,--wrap), and what the system is asked for
 * is compared with it: a system with such pages would refuse the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "plat/plat.h"
#include "plat/space.h"

enum { KIB = 1024, PAGE = 64 * KIB, PART = 32 * KIB, PARTS = 8 };

static unsigned n_asked;
static uintptr_t first; /* where pages begin */

int __wrap_getpagesize(void);
int __real_mprotect(void *at, size_t n, int how);
int __wrap_mprotect(void *at, size_t n, int how);
int __real_madvise(void *at, size_t n, int what);
int __wrap_madvise(void *at, size_t n, int what);

int
__wrap_getpagesize(void)
{
    return PAGE;
}

static void
asked(const void *at, size_t n)
{
    assert_int_equal(((uintptr_t)at - first) % PAGE, 0);
    assert_int_equal(n % PAGE, 0);
    n_asked++;
}

int
__wrap_mprotect(void *at, size_t n, int how)
{
    asked(at, n);
    return __real_mprotect(at, n, how);
}

int
__wrap_madvise(void *at, size_t n, int what)
{
    asked(at, n);
    return __real_madvise(at, n, what);
}

static bool
is_all(const char *at, size_t n, char what)
{
    while (n > 0 && at[n - 1] == what)
        n--;
    return n == 0;
}

/* Whatever parts are emptied: they are zeros, and the others stay. */
static void
test_empties_parts(void **state)
{
    char *space = alqi_plat_space_reserve(PARTS * PART, 1 << 20);

    (void)state;
    assert_non_null(space);
    assert_true(alqi_plat_space_commit(space, PARTS * PART));
    for (unsigned from = 0; from < PARTS; from++)
        for (unsigned to = from + 1; to <= PARTS; to++) {
            char *start = space + from * PART, *end = space + to * PART;

            memset(space, 7, PARTS * PART);
            alqi_plat_space_empty(start, (size_t)(end - start));
            assert_true(is_all(space, from * PART, 7));
            assert_true(is_all(start, (size_t)(end - start), 0));
            assert_true(is_all(end, (PARTS - to) * PART, 7));
        }
    assert_true(n_asked > PARTS);
    alqi_plat_space_release(space, PARTS * PART);
}

/* A part can be written once it is committed, whatever its neighbours are. */
static void
test_commits_parts(void **state)
{
    char *space = alqi_plat_space_reserve(PARTS * PART, 1 << 20);

    (void)state;
    assert_non_null(space);
    for (unsigned i = 0; i < PARTS; i += 2) {
        assert_true(alqi_plat_space_commit(space + (i + 1) * PART, PART));
        space[(i + 1) * PART] = 1;
        alqi_plat_space_touch(space + (i + 1) * PART, PART);
    }
    assert_true(alqi_plat_space_forbid(space + PART, PART));
    space[PART] = 2; /* less than a page: access stays */
    assert_true(alqi_plat_space_forbid(space, 2 * PART));
    assert_true(alqi_plat_space_commit(space + PART, PART));
    assert_int_equal(space[PART], 2);
    alqi_plat_space_release(space, PARTS * PART);
}

/* Pages of the reserve are whole ones. */
static void
test_reserve(void **state)
{
    (void)state;
    assert_true(alqi_plat_pages_reserve(8 * PAGE, true));
    first = (uintptr_t)alqi_plat_pages_map(1);
    assert_int_not_equal(first, 0);
    for (unsigned i = 1; i < 8; i++)
        assert_non_null(i % 2 != 0 ? alqi_plat_pages_map_wiped_on_fork(PAGE)
                                   : alqi_plat_pages_map(1));
    assert_null(alqi_plat_pages_map(1));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empties_parts),
        cmocka_unit_test(test_commits_parts),
        cmocka_unit_test(test_reserve),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
