/* sites_test.c -- the table of sites beside a count of all */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "limit/sites.h"

enum { INTERVAL = 10000 };

static struct alqi_limit_sites s;
static struct alq_outcome out;

static int
start(void **state)
{
    (void)state;
    s = (struct alqi_limit_sites){0};
    memset(&out, 0xEE, sizeof out);
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    alqi_limit_sites_drop(&s);
    return s.slots != NULL;
}

static void
add(uintptr_t inner, uintptr_t outer, uint64_t samples)
{
    const uintptr_t frames[] = {inner, outer};

    alqi_limit_sites_add(&s, frames, 2, samples, (double)samples * INTERVAL);
}

static void
empty_is_told_as_none(void **state)
{
    (void)state;
    alqi_limit_sites_report(&s, &out);
    assert_int_equal(out.n_sites, 0);
    assert_int_equal(out.site_samples, 0);
    assert_int_equal(out.site_words, 0);
}

static void
most_words_first(void **state)
{
    (void)state;
    for (uintptr_t site = 1; site <= 20; site++)
        for (uintptr_t n = 0; n < site; n++)
            add(site * 7 % 23, 5, 1 + site * 7 % 23 / 10);
    alqi_limit_sites_report(&s, &out);
    assert_int_equal(out.n_sites, ALQ_LIMIT_SITES_MAX);
    for (unsigned i = 1; i < out.n_sites; i++)
        assert_true(out.sites[i - 1].words >= out.sites[i].words);
    assert_int_equal(out.sites[0].n_frames, 2);
    assert_int_equal(out.sites[0].frames[1], 5);
    assert_int_equal(out.sites[0].words, out.sites[0].samples * INTERVAL);
    assert_int_equal(out.site_words, out.site_samples * INTERVAL);
}

static void
stacks_differ_by_their_innermost_frames(void **state)
{
    uintptr_t frames[ALQ_LIMIT_SITE_FRAMES + 3] = {1, 2, 3, 4, 5, 6, 7, 8};

    (void)state;
    for (uintptr_t outer = 0; outer < 50; outer++) {
        frames[ALQ_LIMIT_SITE_FRAMES] = outer;
        alqi_limit_sites_add(&s, frames, ALQI_COUNT_OF(frames), 1, INTERVAL);
    }
    alqi_limit_sites_add(&s, frames, 0, 3, 3 * INTERVAL); /* no stack */
    alqi_limit_sites_add(&s, frames, 1, 2, 2 * INTERVAL);
    alqi_limit_sites_report(&s, &out);
    assert_int_equal(out.n_sites, 3);
    assert_int_equal(out.sites[0].samples, 50);
    assert_int_equal(out.sites[0].n_frames, ALQ_LIMIT_SITE_FRAMES);
    assert_int_equal(out.sites[1].samples, 3);
    assert_int_equal(out.sites[1].n_frames, 0);
    assert_int_equal(out.sites[2].n_frames, 1);
    assert_int_equal(out.site_samples, 55);
}

/* Of a hundred thousand sites those few are found that matter. */
static void
few_among_many_are_kept(void **state)
{
    enum { ALL = 100000, EACH = 100 };
    uint64_t each = 0;

    (void)state;
    for (uintptr_t i = 0; i < ALL; i++) {
        add(1000 + i, 0, 1);
        if (i > ALL / 4 && i % EACH < 3) { /* late comers */
            add(1 + i % EACH, 0, 2);
            each += i % EACH == 0;
        }
        assert_true(s.n <= ALQI_LIMIT_SITES_MAX);
    }
    alqi_limit_sites_report(&s, &out);
    for (unsigned i = 0; i < 3; i++) {
        assert_in_range(out.sites[i].frames[0], 1, 3);
        assert_in_range(out.sites[i].samples, 2 * each, 2 * each + 2);
    }
    assert_int_equal(out.sites[3].samples, 1);
    assert_true(out.site_samples >= ALL + 6 * each - 6);
}

static void
moved_sites_are_added_up(void **state)
{
    struct alqi_limit_sites other = {0};

    (void)state;
    for (uintptr_t i = 1; i <= 100; i++)
        add(i, 1, i);
    other = s;
    s = (struct alqi_limit_sites){0};
    for (uintptr_t i = 1; i <= 100; i++)
        add(i, i % 2, i);
    alqi_limit_sites_move(&s, &other);
    assert_null(other.slots);
    assert_int_equal(other.samples, 0);
    alqi_limit_sites_report(&s, &out);
    assert_int_equal(out.site_samples, 2 * 5050);
    assert_int_equal(out.sites[0].frames[0], 99);
    assert_int_equal(out.sites[0].samples, 198);
    assert_int_equal(s.n, 150);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, finish)
    const struct CMUnitTest tests[] = {
        TEST(empty_is_told_as_none),
        TEST(most_words_first),
        TEST(stacks_differ_by_their_innermost_frames),
        TEST(few_among_many_are_kept),
        TEST(moved_sites_are_added_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
