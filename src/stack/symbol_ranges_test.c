/* symbol_ranges_test.c -- the sweep against trying every range */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "stack/symbol_ranges.h"

static uint64_t random_state = 1;

static uint64_t
random_below(uint64_t n)
{
    return alqi_base_mix(random_state++) % n;
}

/* The definition: the highest rank, then the last to start, then the last
 * added.  Spans are in the order the map sorted them. */
static uint32_t
find_slowly(const struct alqi_symbol_ranges *ranges, uint64_t address)
{
    const struct alqi_symbol_range *best = NULL, *s;
    size_t i;

    for (i = 0; i < ranges->count; i++) {
        s = &ranges->at[i];
        if (s->lo <= address && address < s->hi &&
            (best == NULL || s->rank > best->rank ||
             (s->rank == best->rank && s->lo >= best->lo)))
            best = s;
    }
    return best == NULL ? ALQI_SYMBOL_NO_ID : best->id;
}

static void
agrees_with_definition(void **state)
{
    unsigned round, i, held = 0;
    uint64_t address;

    (void)state;
    for (round = 0; round < 2000; round++) {
        struct alqi_symbol_ranges ranges = {.limit = 1000};
        struct alqi_symbol_map map;
        unsigned count = (unsigned)random_below(24);
        uint64_t top = 1 + random_below(60);

        for (i = 0; i < count; i++) {
            struct alqi_symbol_range s = {
                .lo = random_below(top), .rank = random_below(4), .id = i};

            s.hi = s.lo + random_below(top);
            assert_true(alqi_symbol_ranges_add(&ranges, &s));
        }
        assert_true(alqi_symbol_map_make(&map, &ranges));
        for (address = 0; address < 2 * top + 2; address++) {
            uint32_t want = find_slowly(&ranges, address);

            assert_int_equal(alqi_symbol_map_find(&map, address), want);
            held += want != ALQI_SYMBOL_NO_ID;
        }
        for (i = 1; i < map.count; i++) {
            assert_true(map.start[i - 1] < map.start[i]);
            assert_int_not_equal(map.id[i - 1], map.id[i]);
        }
        alqi_symbol_map_drop(&map);
        alqi_symbol_ranges_drop(&ranges);
    }
    assert_true(held > 10000);
}

static void
stops_at_limit(void **state)
{
    struct alqi_symbol_ranges ranges = {.limit = 100};
    struct alqi_symbol_range s = {.lo = 0, .hi = 1};
    unsigned added = 0;

    (void)state;
    while (added < 10000 && alqi_symbol_ranges_add(&ranges, &s))
        added++;
    assert_in_range(added, 100, 200);
    s.hi = s.lo; /* an empty range needs no capacity */
    assert_true(alqi_symbol_ranges_add(&ranges, &s));
    alqi_symbol_ranges_drop(&ranges);
}

static void
extremes(void **state)
{
    struct alqi_symbol_ranges ranges = {.limit = 10};
    struct alqi_symbol_range all = {.lo = 0, .hi = UINT64_MAX, .id = 7};
    struct alqi_symbol_map map;

    (void)state;
    assert_true(alqi_symbol_map_make(&map, &ranges));
    assert_int_equal(alqi_symbol_map_find(&map, 5), ALQI_SYMBOL_NO_ID);
    alqi_symbol_map_drop(&map);
    assert_true(alqi_symbol_ranges_add(&ranges, &all));
    assert_true(alqi_symbol_map_make(&map, &ranges));
    assert_int_equal(alqi_symbol_map_find(&map, 0), 7);
    assert_int_equal(alqi_symbol_map_find(&map, UINT64_MAX - 1), 7);
    assert_int_equal(alqi_symbol_map_find(&map, UINT64_MAX), ALQI_SYMBOL_NO_ID);
    alqi_symbol_map_drop(&map);
    alqi_symbol_ranges_drop(&ranges);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_definition),
        cmocka_unit_test(stops_at_limit),
        cmocka_unit_test(extremes),
    };

    random_state += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
