/* major_smooth_test.c -- buckets, by the rules and by sums */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "heap/major_smooth.h"

static double
scheduled(const struct alqi_heap_smooth *s)
{
    double all = s->backlog + s->buckets[s->first];
    unsigned i;

    for (i = 1; i < ALQI_HEAP_WINDOW_MAX; i++)
        all += alqi_heap_smooth_later(s, i);
    return all;
}

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-12)

static void
one_bucket_gives_what_is_due(void **state)
{
    struct alqi_heap_smooth s = {0};

    (void)state;
    NEAR(alqi_heap_smooth_open(&s, 0.2, 1, false), 0.2);
    NEAR(alqi_heap_smooth_open(&s, 2, 0.5, false), 2);
    NEAR(alqi_heap_smooth_open(&s, 0, 1, true), 0);
    NEAR(alqi_heap_smooth_later(&s, 1), 0);
}

static void
more_than_three_tenths_wait(void **state)
{
    struct alqi_heap_smooth s = {.window = 2};

    (void)state;
    NEAR(alqi_heap_smooth_open(&s, 0.7, 1, false), 0.15);
    NEAR(s.backlog, 0.4);
    NEAR(alqi_heap_smooth_later(&s, 1), 0.15);
    NEAR(alqi_heap_smooth_open(&s, 0, 1, false), 0.3);
    NEAR(s.backlog, 0.1);
    NEAR(alqi_heap_smooth_open(&s, 0, 1, false), 0.15 + 0.05);
    NEAR(alqi_heap_smooth_open(&s, 0, 1, false), 0.05);
    NEAR(scheduled(&s), 0);
}

static void
a_window_of_seven(void **state)
{
    struct alqi_heap_smooth s = {.window = 7};
    unsigned i;

    (void)state;
    NEAR(alqi_heap_smooth_open(&s, 0.21, 1, false), 0.03);
    for (i = 1; i < 7; i++)
        NEAR(alqi_heap_smooth_later(&s, i), 0.03);
    NEAR(alqi_heap_smooth_later(&s, 7), 0);
    NEAR(alqi_heap_smooth_open(&s, 0, 0.5, false),
         0); /* half of one: no turn */
    NEAR(alqi_heap_smooth_open(&s, 0.07, 0.25, false), 0.01);
    NEAR(alqi_heap_smooth_open(&s, 0, 0.25, false), 0.04);
    for (i = 1; i < 6; i++)
        NEAR(alqi_heap_smooth_open(&s, 0, 1, false), 0.04);
    NEAR(alqi_heap_smooth_open(&s, 0, 1, false), 0);
}

static void
nothing_waits_when_it_is_late(void **state)
{
    struct alqi_heap_smooth s = {.window = 50};

    (void)state;
    NEAR(alqi_heap_smooth_open(&s, 0.9, 1, false), 0.006);
    NEAR(alqi_heap_smooth_open(&s, 0.1, 1, true), 0.994);
    NEAR(scheduled(&s), 0);
}

static void
a_new_window_spreads_what_was_scheduled(void **state)
{
    struct alqi_heap_smooth s = {.window = 2};
    unsigned i;

    (void)state;
    NEAR(alqi_heap_smooth_open(&s, 0.2, 1, false), 0.1);
    alqi_heap_smooth_resize(&s, 5);
    for (i = 1; i < 5; i++)
        NEAR(alqi_heap_smooth_later(&s, i), 0.02);
    NEAR(alqi_heap_smooth_later(&s, 5), 0);
    for (i = 0; i < 5; i++)
        NEAR(alqi_heap_smooth_open(&s, 0, 1, false), 0.02);
    NEAR(scheduled(&s), 0);
}

/* Whatever the window changes to (spec statmemprof 8.1, 11): none is lost, none
 * made up. */
static void
no_work_is_lost(void **state)
{
    struct alqi_heap_smooth s = {.window = 1};
    uint64_t seed = 1 + alqi_base_test_seed();
    double in = 0, out = 0;
    unsigned i;

    (void)state;
    for (i = 0; i < 100000; i++) {
        uint64_t r = alqi_base_mix(seed++);
        double share = (double)(r >> 40) / (1 << 24);

        if (r % 8 == 0)
            alqi_heap_smooth_resize(&s, 1 + (unsigned)(r >> 8) % 50);
        out += alqi_heap_smooth_open(&s, share * 0.2, share, r % 50 == 1);
        in += share * 0.2;
        assert_true(fabs(in - out - scheduled(&s)) < 1e-6);
    }
    assert_true(out > 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_bucket_gives_what_is_due),
        cmocka_unit_test(more_than_three_tenths_wait),
        cmocka_unit_test(a_window_of_seven),
        cmocka_unit_test(nothing_waits_when_it_is_late),
        cmocka_unit_test(a_new_window_spreads_what_was_scheduled),
        cmocka_unit_test(no_work_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
