/* filter_test.c -- what a thread sees of a filter that is growing
 *
 * filter.c is compiled into this program, with a look between any two of its
 * stores: the mask that a free reads is never of a lower level than the one at
 * which a new entry is counted, or the free would miss it (.inv.zero). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memprof/filter.h"
#include "memprof/index_level.h"
#include "plat/plat.h"

static void look(void);

#undef atomic_store_explicit
#define atomic_store_explicit(to, value, order)                                \
    ((void)atomic_exchange_explicit(to, value, order), look())
#include "memprof/filter.c"

enum { GROWTHS = (ALQI_FILTER_LEVEL_MAX - ALQI_FILTER_LEVEL_MIN) / 2 };

static unsigned n_looks, n_growths;

static void
look(void)
{
    assert_true(alqi_memprof_filter_mask >=
                ((uintptr_t)1 << alqi_filter_level()) - 1);
    n_looks++;
}

/* In place of index.c's: there are no entries. */
void
alqi_index_count_at(unsigned level)
{
    assert_true(level > alqi_filter_level());
    n_growths++;
}

static void
mask_is_published_before_the_level(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2 * GROWTHS; i++)
        alqi_filter_grow_if_full(ALQI_FILTER_BYTES_MAX);
    assert_int_equal(n_growths, GROWTHS);
    assert_int_equal(n_looks, 2 * GROWTHS);
    assert_int_equal(alqi_memprof_filter_mask, ALQI_FILTER_BYTES_MAX - 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mask_is_published_before_the_level),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
