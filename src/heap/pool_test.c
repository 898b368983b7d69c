/* pool_test.c -- spans of a pool beside a plain array of its slots */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "heap/area.h"
#include "heap/class.h"
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
    alqi_heap_class_start();
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

/* Takes every span away; marks its slots in `is_free`. */
static unsigned
take_all(struct alqi_heap_pool *pool, unsigned c, bool *is_free)
{
    alqi_heap_word *slots = alqi_heap_pool_slots(pool);
    struct alqi_heap_span span;
    uintptr_t at, last = 0;
    unsigned n = 0;

    memset(is_free, 0, SLOTS_MAX * sizeof *is_free);
    while (alqi_heap_pool_span(pool, c, &span)) {
        assert_true(span.start > last && span.start < span.end);
        last = span.end; /* neighbours make one span */
        for (at = span.start; at < span.end;
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

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(each_size_has_the_least_class),
        T(sweeping_finds_what_is_free),
        T(pools_come_back_clean),
        T(ready_pools_can_be_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
