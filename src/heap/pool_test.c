/* pool_test.c -- pools and the area beside plain arrays
 *
 * The ranges that sweeping finds are compared with an array of which slots are
 * free; pools that were given back have no old header, keep no memory that is
 * surplus, and lose none that is not; n_least is what nobody needed.  Figures
 * of the worst case, which minor.c relies on, are checked for each size. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "base/test_seed.h"
#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/pool.h"

enum { SLOTS_MAX = 4096, GARBAGE = 2 << ALQ_COLOUR_SHIFT };

static struct alqi_heap_area area;
static uint64_t seed = 11;

static uint32_t
rnd(uint32_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(seed) % n);
}

static int
setup(void **state)
{
    (void)state;
    memset(&area, 0, sizeof area);
    return !alqi_heap_area_open(&area);
}

static int
teardown(void **state)
{
    (void)state;
    alqi_heap_area_close(&area);
    return 0;
}

static void
each_size_has_the_least_class(void **state)
{
    size_t words;

    (void)state;
    for (words = 1; words <= ALQI_HEAP_CLASS_WORDS_MAX; words++) {
        unsigned c = alqi_heap_class_of(words);

        assert_true(words <= alqi_heap_class_words[c]);
        assert_true(c == 0 || words > alqi_heap_class_words[c - 1]);
        assert_true(words > 8 || c == words - 1); /* promotion relies on it */
        /* What minor.c says of the worst case. */
        assert_true(alqi_heap_class_words[c] * 4 <= words * 5 + 4);
        assert_true(alqi_heap_class_slots(c) * alqi_heap_class_words[c] >=
                    ALQI_HEAP_POOL_WORDS * 94 / 100);
    }
}

/* Takes every range away; marks its slots in `is_free`. */
static unsigned
take_all(struct alqi_heap_pool *pool, unsigned c, bool *is_free)
{
    alqi_heap_word *slots = alqi_heap_pool_slots(pool);
    struct alqi_heap_range range;
    uintptr_t at, last = 0;
    unsigned n = 0;

    memset(is_free, 0, SLOTS_MAX * sizeof *is_free);
    while (alqi_heap_pool_range_take(pool, c, &range)) {
        assert_true(range.start > last && range.start < range.end);
        last = range.end; /* neighbours make one range */
        for (at = range.start; at < range.end;
             at += alqi_heap_class_words[c] * 8u) {
            is_free[(at - (uintptr_t)slots) / 8 / alqi_heap_class_words[c]] =
                true;
            n++;
        }
    }
    return n;
}

static void
sweeping_finds_what_is_free(void **state)
{
    static bool is_free[SLOTS_MAX], expected[SLOTS_MAX];
    unsigned c, round, i, n, n_free;

    (void)state;
    for (c = 1; c < ALQI_HEAP_CLASSES; c++) {
        struct alqi_heap_pool *pool = alqi_heap_area_take(&area, c, c % 2);
        alqi_heap_word *slots = alqi_heap_pool_slots(pool);
        size_t words = alqi_heap_class_words[c];

        assert_int_equal(alqi_heap_area_class(&area, (uintptr_t)pool), c);
        n = alqi_heap_class_slots(c);
        alqi_heap_pool_fresh(pool, c);
        assert_int_equal(take_all(pool, c, is_free), n);
        for (round = 0; round < 50; round++) {
            uint32_t share = rnd(101);

            for (i = 0, n_free = 0; i < n; i++) {
                bool dead = rnd(100) < share;

                expected[i] = dead;
                n_free += dead;
                slots[i * words] = ALQ_HEADER(words - 1, ALQ_TAG_ABSTRACT);
                if (dead)
                    slots[i * words] = rnd(2) ? slots[i * words] | GARBAGE : 0;
            }
            assert_int_equal(alqi_heap_pool_sweep(pool, c, GARBAGE), n_free);
            assert_int_equal(pool->n_free, n_free);
            assert_int_equal(take_all(pool, c, is_free), n_free);
            assert_memory_equal(is_free, expected, n * sizeof *is_free);
        }
        memset(slots, 0, 4092 * 8);
        alqi_heap_area_give(&area, pool);
    }
    assert_int_equal(alqi_heap_area_used(&area), 0);
}

/* A pool of another class finds no header in what was left there. */
static void
pools_come_back_clean(void **state)
{
    unsigned round, c, i;

    (void)state;
    for (round = 0; round < 200; round++) {
        struct alqi_heap_pool *pool;
        alqi_heap_word *slot;

        c = 1 + rnd(ALQI_HEAP_CLASSES - 1);
        pool = alqi_heap_area_take(&area, c, false);
        slot = alqi_heap_pool_slots(pool);
        for (i = 0; i < alqi_heap_class_slots(c); i++) {
            assert_int_equal(*slot, 0);
            slot += alqi_heap_class_words[c];
        }
        memset(alqi_heap_pool_slots(pool), 0xFF, 4092 * 8);
        slot = alqi_heap_pool_slots(pool);
        for (i = 0; i < alqi_heap_class_slots(c); i++) {
            *slot = 0;
            slot += alqi_heap_class_words[c];
        }
        alqi_heap_area_give(&area, pool);
    }
    assert_int_equal(area.n_frontier, 1); /* it was the same one */
}

static void
ready_pools_can_be_taken(void **state)
{
    size_t i;

    (void)state;
    assert_true(alqi_heap_area_ready(&area, 100));
    assert_true(area.n_committed >= 100);
    for (i = 0; i < 100; i++)
        assert_non_null(alqi_heap_area_take(&area, 3, true));
    assert_int_equal(alqi_heap_area_used(&area), 100);
    assert_false(alqi_heap_area_ready(&area, area.major_bytes / 32768));
}

static void
idle_pools_are_those_nobody_needed(void **state)
{
    struct alqi_heap_pool *pools[10];
    unsigned i;

    (void)state;
    for (i = 0; i < 10; i++)
        pools[i] = alqi_heap_area_take(&area, 3, true);
    for (i = 0; i < 10; i++)
        alqi_heap_area_give(&area, pools[i]);
    assert_int_equal(alqi_heap_area_idle(&area), 0); /* all were needed */
    assert_int_equal(alqi_heap_area_idle(&area), 10);
    for (i = 0; i < 4; i++)
        pools[i] = alqi_heap_area_take(&area, 3, true);
    while (i-- > 0)
        alqi_heap_area_give(&area, pools[i]);
    assert_int_equal(alqi_heap_area_idle(&area), 6);
    assert_int_equal(alqi_heap_area_idle(&area), 10);
    area.n_surplus = 7;
    while (alqi_heap_area_return(&area, 16) > 0)
        continue;
    for (i = 0; i < 5; i++)
        pools[i] = alqi_heap_area_take(&area, 3, true);
    while (i-- > 0)
        alqi_heap_area_give(&area, pools[i]);
    assert_int_equal(alqi_heap_area_idle(&area), 0);
    assert_int_equal(alqi_heap_area_idle(&area), 5);
    area.n_surplus = 2;
    alqi_heap_area_return_surplus(&area);
    assert_int_equal(alqi_heap_area_idle(&area), 3);
    for (i = 0; i < 11; i++)
        assert_non_null(alqi_heap_area_take(&area, 3, true));
    assert_int_equal(alqi_heap_area_idle(&area), 0);
}

enum { POOLS = 200 };

static bool
is_resident(struct alqi_heap_pool *pool)
{
    unsigned char page = 0;

    assert_int_equal(mincore(pool, 4096, &page), 0);
    return page & 1;
}

/* Gives some of them, in any order or by addresses; the others hold i. */
static unsigned
give_some(struct alqi_heap_pool **pools, bool *is_given, unsigned round)
{
    unsigned k, n = 0;

    for (k = 0; k < POOLS; k++) {
        unsigned i = round % 3 == 0 ? k : POOLS - 1 - k;

        if (round % 3 == 2)
            i = rnd(POOLS);
        if (is_given[i] || rnd(4) == 0)
            continue;
        is_given[i] = true;
        *alqi_heap_pool_slots(pools[i]) = 0;
        alqi_heap_area_give(&area, pools[i]);
        n++;
    }
    return n;
}

static void
take_again(struct alqi_heap_pool **pools, bool *is_given)
{
    unsigned i;

    for (i = 0; i < POOLS; i++) {
        if (!is_given[i]) {
            assert_int_equal(*alqi_heap_pool_slots(pools[i]), i + 1);
            continue;
        }
        pools[i] = alqi_heap_area_take(&area, 3, true);
        assert_int_equal(*alqi_heap_pool_slots(pools[i]), 0);
        *alqi_heap_pool_slots(pools[i]) = i + 1;
        is_given[i] = false;
    }
    for (i = 0; i < POOLS; i++) /* each is one pool's */
        assert_int_equal(*alqi_heap_pool_slots(pools[i]), i + 1);
    assert_int_equal(area.n_frontier, POOLS);
}

static void
surplus_goes_back_and_no_more(void **state)
{
    struct alqi_heap_pool *pools[POOLS];
    bool is_given[POOLS] = {false};
    unsigned round, i, n_given, n, all;

    (void)state;
    for (i = 0; i < POOLS; i++) {
        pools[i] = alqi_heap_area_take(&area, 3, true);
        *alqi_heap_pool_slots(pools[i]) = i + 1;
    }
    for (round = 0; round < 60; round++) {
        n_given = give_some(pools, is_given, round);
        area.n_surplus = all = rnd(n_given + 1);
        for (n = 0; area.n_surplus > 0; n += i) {
            i = (unsigned)alqi_heap_area_return(&area, 16);
            assert_true(i > 0 && i <= 16);
        }
        assert_int_equal(n, all);
        assert_int_equal(alqi_heap_area_return(&area, 16), 0);
        assert_int_equal(area.n_returned, all);
        assert_int_equal(area.n_free, n_given);
        for (i = 0, n = 0; i < POOLS; i++)
            n += !is_resident(pools[i]);
        assert_int_equal(n, all);
        take_again(pools, is_given);
    }
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(each_size_has_the_least_class),
        T(sweeping_finds_what_is_free),
        T(pools_come_back_clean),
        T(ready_pools_can_be_taken),
        T(idle_pools_are_those_nobody_needed),
        T(surplus_goes_back_and_no_more),
    };

    seed += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
