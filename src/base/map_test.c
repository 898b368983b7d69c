/* map_test.c -- a map does what an array of keys and values does */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/map.h"
#include "base/test_seed.h"

enum { KEYS = 512, STEPS = 400000 };

/* Each key that is there, once. */
static void
meets_all(const struct alqi_base_map *map, const uint64_t *want,
          const bool *has)
{
    uint64_t key, value;
    size_t at = 0, n = 0;
    bool is_met[KEYS] = {false};

    for (; alqi_base_map_next(map, &at, &key, &value); n++) {
        assert_true(key < KEYS && has[key] && !is_met[key]);
        assert_true(value == want[key]);
        is_met[key] = true;
    }
    assert_int_equal(n, map->n_used);
}

/* The map against an array, keys few enough to collide and to come back. */
static void
agrees_with_an_array(void **state)
{
    struct alqi_base_map map = {0};
    uint64_t want[KEYS], x = 42 + alqi_base_test_seed(), value;
    bool has[KEYS];
    size_t n = 0, n_takes = 0;

    (void)state;
    memset(has, 0, sizeof has);
    for (unsigned i = 0; i < STEPS; i++) {
        uint64_t r = x = alqi_base_mix(x + i);
        unsigned k = (unsigned)(r % KEYS);

        if ((r >> 40) % 5 < 3) {
            assert_true(alqi_base_map_put(&map, k, r));
            n += !has[k];
            has[k] = true;
            want[k] = r;
        } else {
            bool took = alqi_base_map_take(&map, k, &value);

            assert_int_equal(took, has[k]);
            if (took)
                assert_true(value == want[k]);
            n -= took;
            n_takes += took;
            has[k] = false;
        }
        assert_int_equal(map.n_used, n);
        k = (unsigned)(r >> 20) % KEYS;
        assert_int_equal(alqi_base_map_get(&map, k, &value), has[k]);
        if (has[k])
            assert_true(value == want[k]);
    }
    assert_true(n_takes > STEPS / 20);
    assert_true(alqi_base_map_put(&map, 0, 1)); /* a key like others */
    has[0] = true;
    want[0] = 1;
    meets_all(&map, want, has);
    alqi_base_map_clear(&map);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_an_array),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
