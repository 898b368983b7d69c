/* heap_weak_test.c -- weak arrays and ephemerons
 *
 * Rows of OCaml's own tests, through our calls: B2 ... X20 are their names in
 * the list of scenarios that the heap is to mirror. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "base/test_seed.h"
#include "heap/state.h"
#include "live_kit.h"
#include "value_kit.h"

/* ---- weak arrays -------------------------------------------------------- */

static void
weak_places(void **state)
{
    ALQ_FRAME(d, f, weak, held);
    size_t i;

    (void)state;
    f.weak = alq_weak_create(d, 5);
    assert_int_equal(alq_weak_length(f.weak), 5);
    for (i = 0; i < 5; i++) {
        assert_same(alq_weak_get(d, f.weak, i), ALQ_NULL);
        assert_int_equal(alq_weak_check(d, f.weak, i), 0);
    }
    f.held = cell(7);
    assert_int_equal(alq_weak_set(d, f.weak, 0, f.held), ALQ_OK);
    assert_int_equal(alq_weak_set(d, f.weak, 1, alq_from_int(3)), ALQ_OK);
    weak_cell(&f.weak, 2, 8);
    assert_int_equal(alq_weak_check(d, f.weak, 2), 1);
    full_major();
    assert_same(alq_weak_get(d, f.weak, 0), f.held);
    assert_same(alq_weak_get(d, f.weak, 1), alq_from_int(3));
    assert_same(alq_weak_get(d, f.weak, 2), ALQ_NULL);
    assert_int_equal(alq_weak_blit(d, f.weak, 0, f.weak, 1, 4), ALQ_OK);
    assert_same(alq_weak_get(d, f.weak, 0), f.held);
    assert_same(alq_weak_get(d, f.weak, 1), f.held);
    assert_same(alq_weak_get(d, f.weak, 2), alq_from_int(3));
    assert_int_equal(alq_weak_blit(d, f.weak, 1, f.weak, 0, 4), ALQ_OK);
    assert_same(alq_weak_get(d, f.weak, 1), alq_from_int(3));
    assert_int_equal(alq_weak_fill(d, f.weak, 1, 3, f.held), ALQ_OK);
    assert_same(alq_weak_get(d, f.weak, 3), f.held);
    assert_int_equal(alq_weak_fill(d, f.weak, 0, 5, ALQ_NULL), ALQ_OK);
    assert_int_equal(alq_weak_check(d, f.weak, 3), 0);
}

/* Young and dead: empty after a minor collection, whether the array is young
 * or old; and what was only looked at is not kept. */
static void
minor_collections_empty(void **state)
{
    ALQ_FRAME(d, f, old, young, held);

    (void)state;
    f.old = alq_weak_create(d, 3);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    f.young = alq_weak_create(d, 2);
    f.held = cell(1);
    alq_weak_set(d, f.young, 0, f.held);
    alq_weak_set(d, f.old, 0, f.held);
    weak_cell(&f.old, 1, 2);
    alq_weak_set(d, f.young, 1, alq_weak_get(d, f.old, 1));
    alq_weak_set(d, f.old, 2, alq_weak_get(d, f.old, 1));
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_same(alq_weak_get(d, f.young, 0), f.held);
    assert_same(alq_weak_get(d, f.old, 0), f.held);
    assert_int_equal(alq_weak_check(d, f.young, 1), 0);
    assert_int_equal(alq_weak_check(d, f.old, 1), 0);
    assert_int_equal(alq_weak_check(d, f.old, 2), 0);
}

/* Enough that marking takes many slices. */
static alq_value
ballast(void)
{
    ALQ_FRAME(d, f, list, pair);
    unsigned i;

    f.list = ALQ_UNIT;
    for (i = 0; i < 3000; i++) {
        f.pair = alq_alloc_small(d, 2, 0);
        alq_init_small(f.pair, 0, ALQ_UNIT);
        alq_init_small(f.pair, 1, f.list);
        f.list = f.pair;
    }
    return f.list;
}

static void
a_get_while_marking_keeps(void **state)
{
    ALQ_FRAME(d, f, weak, held, list);
    uint64_t before;

    (void)state;
    f.list = ballast();
    f.weak = alq_weak_create(d, 2);
    f.held = alq_alloc(d, 1, 0);
    store_cell(&f.held, 0, 5);
    alq_weak_set(d, f.weak, 0, f.held);
    alq_weak_set(d, f.weak, 1, f.held);
    full_major();
    f.held = ALQ_NULL;
    before = cycles();
    /* In whatever step of the cycle: it is there whole, or gone in both. */
    while (cycles() < before + 3) {
        alq_gc_major_slice(d, 100);
        f.held = alq_weak_get(d, f.weak, 0);
        assert_same(f.held, alq_weak_get(d, f.weak, 1));
        assert_false(alq_is_null(f.held));
        assert_int_equal(alq_to_int(alq_field(alq_field(f.held, 0), 0)), 5);
        f.held = ALQ_NULL;
    }
    run_cycles(2);
    assert_int_equal(alq_weak_check(d, f.weak, 0), 0);
    assert_int_equal(alq_weak_check(d, f.weak, 1), 0);
    assert_not_same(f.list, ALQ_UNIT);
}

static void
copies_do_not_keep(void **state)
{
    ALQ_FRAME(d, f, weak, held[2], copy, list);
    uint64_t before;

    (void)state;
    f.list = ballast();
    f.weak = alq_weak_create(d, 5);
    f.held[0] = alq_alloc(d, 300, 4); /* a large one */
    alq_weak_set(d, f.weak, 0, f.held[0]);
    store_cell(&f.held[0], 1, 9);
    f.held[1] = alq_string_copy(d, "weak", 4);
    alq_weak_set(d, f.weak, 1, f.held[1]);
    alq_weak_set(d, f.weak, 2, alq_from_int(4));
    f.copy = alq_weak_get_copy(d, f.weak, 1);
    assert_not_same(f.copy, f.held[1]);
    assert_string_equal(alq_string_chars(f.copy), "weak");
    assert_same(alq_weak_get_copy(d, f.weak, 2), alq_from_int(4));
    assert_same(alq_weak_get_copy(d, f.weak, 3), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_OK);
    full_major();
    f.held[0] = f.held[1] = f.copy = ALQ_NULL;
    before = cycles();
    while (alq_weak_check(d, f.weak, 0)) {
        alq_value copy = alq_weak_get_copy(d, f.weak, 0);

        if (!alq_is_null(copy))
            f.copy = copy;
        alq_gc_major_slice(d, 100);
        assert_true(cycles() < before + 3);
    }
    full_major();
    assert_int_equal(alq_wosize(f.copy), 300);
    assert_int_equal(alq_tag(f.copy), 4);
    assert_int_equal(alq_to_int(alq_field(alq_field(f.copy, 1), 0)), 9);
    assert_same(alq_field(f.copy, 2), ALQ_UNIT);
    assert_int_equal(alq_weak_check(d, f.weak, 1), 0);
}

/* B31: a custom block is not copied, but shared. */
static void
custom_blocks_are_shared(void **state)
{
    static const struct alq_custom_ops ops = {.name = "number"};
    ALQ_FRAME(d, f, weak, custom);
    double number = 42.0;

    (void)state;
    f.weak = alq_weak_create(d, 1);
    f.custom = alq_alloc_custom(d, &ops, sizeof number);
    memcpy(alq_custom_data(f.custom), &number, sizeof number);
    alq_weak_set(d, f.weak, 0, f.custom);
    full_major();
    f.custom = ALQ_NULL;
    f.custom = alq_weak_get_copy(d, f.weak, 0);
    full_major();
    number = 0;
    memcpy(&number, alq_custom_data(f.custom), sizeof number);
    assert_true(number == 42.0);
    assert_same(alq_weak_get(d, f.weak, 0), f.custom);
}

static void
bad_arguments(void **state)
{
    static const size_t beyond[] = {2, 3, SIZE_MAX};
    ALQ_FRAME(d, f, weak, ephe, block);
    struct alq_alarm *alarm = NULL;
    size_t i;

    (void)state;
    f.weak = alq_weak_create(d, 2);
    f.ephe = alq_ephe_create(d, 2);
    f.block = cell(0);
    for (i = 0; i < ALQI_COUNT_OF(beyond); i++) {
        size_t n = beyond[i];

        assert_int_equal(alq_weak_set(d, f.weak, n, ALQ_UNIT), ALQ_EINVAL);
        assert_int_equal(alq_weak_fill(d, f.weak, 1, n, ALQ_UNIT), ALQ_EINVAL);
        assert_int_equal(alq_weak_blit(d, f.weak, n, f.weak, 0, 1), ALQ_EINVAL);
        assert_int_equal(alq_weak_blit(d, f.weak, 1, f.weak, 0, n), ALQ_EINVAL);
        assert_int_equal(alq_ephe_set_key(d, f.ephe, n, ALQ_UNIT), ALQ_EINVAL);
        assert_int_equal(alq_ephe_unset_key(d, f.ephe, n), ALQ_EINVAL);
        assert_int_equal(alq_ephe_blit_key(d, f.ephe, 0, f.ephe, n, 1),
                         ALQ_EINVAL);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        assert_same(alq_weak_get(d, f.weak, n), ALQ_NULL);
        assert_int_equal(alq_status_of(d), ALQ_EINVAL);
        alq_status_clear(d);
        assert_same(alq_ephe_get_key(d, f.ephe, n), ALQ_NULL);
        assert_int_equal(alq_status_of(d), ALQ_EINVAL);
        alq_status_clear(d);
        assert_int_equal(alq_ephe_check_key(d, f.ephe, n), 0);
        assert_int_equal(alq_status_of(d), ALQ_EINVAL);
        alq_status_clear(d);
    }
    assert_int_equal(alq_weak_set(d, f.ephe, 0, ALQ_UNIT), ALQ_EINVAL);
    assert_int_equal(alq_ephe_set_key(d, f.weak, 0, ALQ_UNIT), ALQ_EINVAL);
    assert_int_equal(alq_ephe_set_data(d, f.block, ALQ_UNIT), ALQ_EINVAL);
    assert_int_equal(alq_ephe_blit_data(d, f.ephe, f.weak), ALQ_EINVAL);
    assert_int_equal(alq_weak_set(d, ALQ_NULL, 0, ALQ_UNIT), ALQ_EINVAL);
    assert_int_equal(alq_weak_set(NULL, f.weak, 0, ALQ_UNIT), ALQ_EINVAL);
    assert_int_equal(alq_weak_length(f.ephe) + alq_ephe_length(f.weak) +
                         alq_weak_length(alq_from_int(3)),
                     0);
    assert_same(alq_ephe_create(d, 0), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_EINVAL);
    alq_status_clear(d);
    assert_same(alq_weak_create(d, ALQ_WEAK_LENGTH_MAX + 1), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_EINVAL);
    alq_status_clear(d);
    assert_same(alq_weak_create(d, ALQ_WEAK_LENGTH_MAX), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    alq_status_clear(d);
    assert_int_equal(alq_gc_finalise(d, alq_from_int(1), tell_first, ALQ_UNIT),
                     ALQ_EINVAL);
    assert_int_equal(alq_gc_finalise(d, ALQ_NULL, tell_first, ALQ_UNIT),
                     ALQ_EINVAL);
    assert_int_equal(
        alq_gc_finalise_last(d, alq_alloc(d, 0, 0), tell_last, ALQ_UNIT),
        ALQ_EINVAL); /* without fields: static */
    assert_int_equal(alq_gc_finalise(d, f.block, NULL, ALQ_UNIT), ALQ_EINVAL);
    assert_int_equal(alq_gc_finalise(NULL, f.block, tell_first, ALQ_UNIT),
                     ALQ_EINVAL);
    assert_int_equal(alq_gc_create_alarm(d, NULL, NULL, &alarm), ALQ_EINVAL);
    assert_null(alarm);
    alq_gc_delete_alarm(&alarm);
    alq_gc_delete_alarm(NULL);
    alq_gc_finalise_release(d); /* outside of a call */
    alq_gc_finalise_release(NULL);
}

/* B10: an object lives as long as it is held, at most two cycles longer. */
static void
b10_weak_lifetime(void **state)
{
    enum { SIZE = 200, CYCLES = 20 };
    static uint64_t
        erased[SIZE]; /* 0: held; else the cycle it was dropped in */
    ALQ_FRAME(d, f, held, weak);
    uint64_t start, n_seen = 0, n_gone = 0;
    uint32_t seed = 7 + (uint32_t)alqi_base_test_seed();
    size_t i;

    (void)state;
    f.held = alq_alloc(d, SIZE, 0);
    f.weak = alq_weak_create(d, SIZE);
    for (i = 0; i < SIZE; i++)
        erased[i] = 1;
    start = cycles();
    while (cycles() < start + CYCLES) {
        i = (seed = seed * 1664525 + 1013904223) >> 8;
        i %= SIZE;
        if (erased[i] == 0) {
            assert_same(alq_weak_get(d, f.weak, i), alq_field(f.held, i));
            alq_store(d, f.held, i, ALQ_UNIT);
            erased[i] = cycles() + 1;
            n_seen++;
        } else if (!alq_weak_check(d, f.weak, i)) {
            store_cell(&f.held, i, (intptr_t)i);
            alq_weak_set(d, f.weak, i, alq_field(f.held, i));
            erased[i] = 0;
            n_gone++;
        } else {
            assert_true(cycles() + 1 < erased[i] + 2);
        }
        if (i % 8 == 0)
            alq_gc_major_slice(d, 20);
    }
    assert_true(n_seen > SIZE && n_gone > SIZE);
}

/* B11: three arrays of the same blocks agree at each moment of cleaning. */
static void
b11_arrays_agree(void **state)
{
    enum { SIZE = 2000, CYCLES = 6, CYCLES_MAX = 600 };
    ALQ_FRAME(d, f, weak[3], held);
    uint64_t start = cycles();
    size_t i, k, n_gone = 0;

    (void)state;
    for (k = 0; k < 3; k++)
        f.weak[k] = alq_weak_create(d, SIZE);
    f.held = alq_alloc(d, SIZE, 0);
    for (i = 0; i < SIZE; i++) {
        store_cell(&f.held, i, (intptr_t)i);
        for (k = 0; k < 3; k++)
            alq_weak_set(d, f.weak[k], i, alq_field(f.held, i));
    }
    alq_gc_minor(d);
    for (i = 0; cycles() < start + CYCLES ||
                (n_gone == 0 && cycles() < start + CYCLES_MAX);
         i = (i + 7) % SIZE) {
        alq_value v;

        if (i % 3 == 0)
            alq_store(d, f.held, i, ALQ_UNIT);
        alq_gc_major_slice(d, 50);
        k = (i * 31 + 5) % SIZE;
        n_gone += !alq_weak_check(d, f.weak[0], k);
        assert_int_equal(alq_weak_check(d, f.weak[0], k),
                         alq_weak_check(d, f.weak[1], k));
        if (i % 16 != 0)
            continue;
        v = alq_weak_get(d, f.weak[0], i);
        assert_same(v, alq_weak_get(d, f.weak[1], i));
        assert_same(v, alq_weak_get(d, f.weak[2], i));
    }
    assert_true(n_gone > 0);
}

/* B13: under load, with an alarm: what is held is full, always. */
static void
b13_weak_under_load(void **state)
{
    enum { SIZE = 500, ROUNDS = ALQI_TEST_ROUNDS(300000, 20000, 20000) };
    ALQ_FRAME(d, f, held, weak);
    struct alq_alarm *alarm;
    unsigned calls = 0, i, round, full = 0;

    (void)state;
    assert_int_equal(alq_gc_create_alarm(d, count_alarm, &calls, &alarm),
                     ALQ_OK);
    f.held = alq_alloc(d, SIZE, 0);
    f.weak = alq_weak_create(d, SIZE * 2);
    for (round = 0; round < ROUNDS; round++) {
        i = (round * 2654435761u) % SIZE;
        store_cell(&f.held, i, i);
        alq_weak_set(d, f.weak, i, alq_field(f.held, i));
        weak_cell(&f.weak, SIZE + i, -1);
        i = (round * 40503u) % SIZE;
        if (alq_is_block(alq_field(f.held, i)))
            assert_same(alq_weak_get(d, f.weak, i), alq_field(f.held, i));
    }
    full_major();
    for (i = 0; i < SIZE; i++)
        full += (unsigned)alq_weak_check(d, f.weak, SIZE + i);
    assert_int_equal(full, 0);
    assert_true(calls >= 2 && calls <= cycles());
    alq_gc_delete_alarm(&alarm);
}

static void
a_long_array_is_cleaned_in_parts(void **state)
{
    enum { SIZE = 100000 };
    ALQ_FRAME(d, f, weak, held);
    size_t i, full = 0;

    (void)state;
    f.weak = alq_weak_create(d, SIZE);
    f.held = cell(3);
    for (i = 0; i < SIZE; i++)
        if (i % 10 == 0)
            alq_weak_set(d, f.weak, i, f.held);
        else
            weak_cell(&f.weak, i, (intptr_t)i);
    run_cycles(3);
    for (i = 0; i < SIZE; i++)
        full += (size_t)alq_weak_check(d, f.weak, i);
    assert_int_equal(full, SIZE / 10);
}

/* ---- ephemerons --------------------------------------------------------- */

static void
ephemeron_fields(void **state)
{
    ALQ_FRAME(d, f, keys[3], ephe, other, data);
    alq_value wrong[3];
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++)
        f.keys[i] = cell((intptr_t)i);
    f.ephe = alq_ephe_make(d, 3, f.keys, cell(10));
    assert_int_equal(alq_ephe_length(f.ephe), 3);
    full_major();
    f.data = alq_ephe_query(d, f.ephe, 3, f.keys);
    assert_int_equal(alq_to_int(alq_field(f.data, 0)), 10);
    memcpy(wrong, f.keys, sizeof wrong);
    wrong[2] = f.data;
    assert_same(alq_ephe_query(d, f.ephe, 3, wrong), ALQ_NULL);
    assert_same(alq_ephe_query(d, f.ephe, 2, f.keys), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_OK);
    for (i = 0; i < 3; i++) {
        assert_same(alq_ephe_get_key(d, f.ephe, i), f.keys[i]);
        assert_int_equal(alq_ephe_check_key(d, f.ephe, i), 1);
    }
    f.other = alq_ephe_get_key_copy(d, f.ephe, 1);
    assert_not_same(f.other, f.keys[1]);
    assert_same(alq_field(f.other, 0), alq_field(f.keys[1], 0));
    f.other = alq_ephe_create(d, 2);
    assert_int_equal(alq_ephe_blit_key(d, f.ephe, 1, f.other, 0, 2), ALQ_OK);
    assert_int_equal(alq_ephe_blit_data(d, f.ephe, f.other), ALQ_OK);
    assert_same(alq_ephe_query(d, f.other, 2, f.keys + 1), f.data);
    f.data = ALQ_NULL;
    /* With a dead key, also an ephemeron's data are gone; a key that is made
     * empty does no harm. */
    f.keys[0] = ALQ_NULL;
    assert_int_equal(alq_ephe_unset_key(d, f.other, 0), ALQ_OK);
    full_major();
    assert_int_equal(alq_ephe_check_key(d, f.ephe, 0), 0);
    assert_int_equal(alq_ephe_check_key(d, f.ephe, 1), 1);
    assert_int_equal(alq_ephe_check_data(d, f.ephe), 0);
    assert_int_equal(alq_ephe_check_data(d, f.other), 1);
    f.data = alq_ephe_get_data_copy(d, f.other);
    assert_int_equal(alq_to_int(alq_field(f.data, 0)), 10);
    assert_int_equal(alq_ephe_unset_data(d, f.other), ALQ_OK);
    assert_same(alq_ephe_get_data(d, f.other), ALQ_NULL);
}

/* B2: six of its cases, by finalise_last; the seventh follows. */
static void
b2_ephemerons(void **state)
{
    ALQ_FRAME(d, f, key, data, ephe, other);

    (void)state;
    /* 1: key alive, data dangling: data live */
    f.key = cell(1);
    f.data = cell(2);
    last(f.data, 1);
    f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
    f.data = ALQ_NULL;
    full_major();
    assert_string_equal(told, "");
    assert_int_equal(alq_ephe_check_data(d, f.ephe), 1);
    /* 2: key dangling, data dangling: both die */
    last(f.key, 2);
    f.key = ALQ_NULL;
    full_major();
    full_major();
    assert_non_null(strstr(told, "l1 "));
    assert_non_null(strstr(told, "l2 "));
    /* 3: key dangling, data alive: emptied nevertheless */
    told[0] = '\0';
    f.key = cell(3);
    f.data = cell(4);
    f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
    f.key = ALQ_NULL;
    full_major();
    assert_int_equal(alq_ephe_check_key(d, f.ephe, 0), 0);
    assert_int_equal(alq_ephe_check_data(d, f.ephe), 0);
    assert_int_equal(alq_to_int(alq_field(f.data, 0)), 4);
    /* 4: key alive but one step away */
    f.key = cell(5);
    last(f.key, 4);
    f.other = alq_alloc(d, 1, 0);
    alq_init(d, f.other, 0, f.key);
    f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
    f.key = ALQ_NULL;
    full_major();
    assert_string_equal(told, "");
    assert_int_equal(alq_ephe_check_data(d, f.ephe), 1);
    f.other = ALQ_NULL;
    /* 5: key reachable from the data only */
    told[0] = '\0';
    f.key = cell(6);
    last(f.key, 5);
    f.data = alq_alloc(d, 1, 0);
    alq_init(d, f.data, 0, f.key);
    last(f.data, 6);
    f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
    full_major();
    assert_int_equal(alq_ephe_check_key(d, f.ephe, 0), 1);
    f.key = f.data = ALQ_NULL;
    full_major();
    full_major();
    assert_int_equal(alq_ephe_check_key(d, f.ephe, 0), 0);
    assert_int_equal(alq_ephe_check_data(d, f.ephe), 0);
    assert_non_null(strstr(told, "l5 "));
    assert_non_null(strstr(told, "l6 "));
    /* 6: the ephemeron itself reachable from its data only */
    told[0] = '\0';
    f.key = cell(7);
    f.data = alq_alloc(d, 1, 0);
    last(f.data, 7);
    f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
    last(f.ephe, 8);
    alq_store(d, f.data, 0, f.ephe);
    f.ephe = f.data = ALQ_NULL;
    full_major();
    full_major();
    assert_non_null(strstr(told, "l7 "));
    assert_non_null(strstr(told, "l8 "));
}

/* B2, case 7: a weak reference to what only ephemerons led to, after three. */
static void
b2_weak_behind_ephemeron(void **state)
{
    ALQ_FRAME(d, f, key, weak, ephe, data);

    (void)state;
    f.weak = alq_weak_create(d, 1);
    f.key = cell(1);
    f.data = cell(2);
    alq_weak_set(d, f.weak, 0, f.data);
    f.ephe = alq_ephe_make(d, 1, &f.key, f.data);
    f.data = ALQ_NULL;
    full_major();
    assert_int_equal(alq_weak_check(d, f.weak, 0), 1);
    f.key = ALQ_NULL;
    full_major();
    full_major();
    full_major();
    assert_int_equal(alq_weak_check(d, f.weak, 0), 0);
}

/* B3: and/or formulas as graphs.  A block that is reachable is "true"; an
 * ephemeron of two keys is "and", two of one key with the same data "or". */
enum { VARIABLES = 8 };

static uint32_t formula_seed;

static uint32_t
rnd(uint32_t n)
{
    formula_seed = formula_seed * 1664525 + 1013904223;
    return (formula_seed >> 8) % n;
}

/* Adds to f's list the ephemerons that make the block it returns reachable if
 * the formula is true. */
static alq_value
formula(alq_value *list, const alq_value *variables, unsigned truth,
        unsigned depth, bool *is_true)
{
    ALQ_FRAME(d, f, keys[2], data, ephe);
    bool value[2];
    unsigned i;

    if (depth == 0 || rnd(8) == 0) {
        i = rnd(VARIABLES);
        *is_true = truth >> i & 1;
        return variables[i];
    }
    for (i = 0; i < 2; i++)
        f.keys[i] = formula(list, variables, truth, depth - 1, &value[i]);
    f.data = cell(1);
    if (rnd(2)) {
        *is_true = value[0] && value[1];
        f.ephe = alq_ephe_make(d, 2, f.keys, f.data);
        f.keys[0] = alq_alloc(d, 2, 0);
        alq_init(d, f.keys[0], 0, f.ephe);
        alq_init(d, f.keys[0], 1, *list);
        *list = f.keys[0];
    } else {
        *is_true = value[0] || value[1];
        for (i = 0; i < 2; i++) {
            f.ephe = alq_ephe_make(d, 1, &f.keys[i], f.data);
            f.keys[0] = i == 0 ? f.keys[0] : ALQ_NULL;
            {
                ALQ_FRAME(d, g, pair);
                g.pair = alq_alloc(d, 2, 0);
                alq_init(d, g.pair, 0, f.ephe);
                alq_init(d, g.pair, 1, *list);
                *list = g.pair;
            }
        }
    }
    return f.data;
}

static void
b3_formulas(void **state)
{
    enum {
        DEPTH = ALQI_CHECKS >= 3 ? 4 : 7,
        ROUNDS = ALQI_TEST_ROUNDS(80, 20, 20)
    };
    unsigned round, truth, i, n_true = 0;

    (void)state;
    for (round = 0; round < ROUNDS; round++) {
        ALQ_FRAME(d, f, list, weak, variables[VARIABLES], result);
        bool is_true;

        formula_seed = round + (uint32_t)alqi_base_test_seed();
        truth = rnd(1 << VARIABLES);
        f.weak = alq_weak_create(d, 1);
        f.list = ALQ_UNIT;
        for (i = 0; i < VARIABLES; i++)
            f.variables[i] = cell((intptr_t)i);
        f.result = formula(&f.list, f.variables, truth, DEPTH, &is_true);
        alq_weak_set(d, f.weak, 0, f.result);
        f.result = ALQ_NULL;
        for (i = 0; i < VARIABLES; i++)
            if (!(truth >> i & 1))
                f.variables[i] = ALQ_NULL;
        if (round % 2)
            full_major();
        else
            run_cycles(3);
        assert_int_equal(alq_weak_check(d, f.weak, 0), is_true);
        n_true += is_true;
    }
    assert_true(n_true > 0 && n_true < ROUNDS);
}

/* A chain of ephemerons: the datum of each leads, `deep` blocks further, to the
 * key of the next.  Every third one has a second key, that of the link before
 * it, and another ephemeron waits for its key; it leads nowhere. */
struct chain {
    const char *order;
    unsigned step; /* the i-th one made is the (i * step)-th of the chain */
    unsigned deep;
};

enum { CHAIN_N = ALQI_TEST_ROUNDS(3000, 1000, 300) };

static void
chain_make(const struct chain *chain, alq_value *ephes, alq_value *first_key)
{
    ALQ_FRAME(d, f, keys, pair[2], data);
    unsigned i, j, at;

    f.keys = alq_alloc(d, CHAIN_N + 1, 0);
    for (i = 0; i <= CHAIN_N; i++)
        store_cell(&f.keys, i, (intptr_t)i);
    for (i = 0; i < CHAIN_N; i++) {
        at = (unsigned)((uint64_t)i * chain->step % CHAIN_N);
        f.data = alq_field(f.keys, at + 1);
        for (j = 0; j < chain->deep; j++) {
            f.pair[0] = alq_alloc(d, 1, 0);
            alq_init(d, f.pair[0], 0, f.data);
            f.data = f.pair[0];
        }
        f.pair[0] = alq_field(f.keys, at);
        f.pair[1] = alq_field(f.keys, at > 0 ? at - 1 : 0);
        f.data = alq_ephe_make(d, at % 3 == 0 ? 2 : 1, f.pair, f.data);
        alq_store(d, *ephes, at, f.data);
        f.data = alq_ephe_make(d, 1, f.pair, cell((intptr_t)at));
        alq_store(d, *ephes, CHAIN_N + at, f.data);
    }
    *first_key = alq_field(f.keys, 0);
}

static size_t
n_with_data(alq_value ephes)
{
    size_t i, n = 0;

    for (i = 0; i < 2 * (size_t)CHAIN_N; i++)
        n += (size_t)alq_ephe_check_data(d, alq_field(ephes, i));
    return n;
}

/* All of a chain live, whatever the order they were made in, and the work
 * beside marking is in proportion; none, when the first key is gone. */
static void
chains_of_ephemerons(void **state)
{
    static const struct chain chains[] = {
        {"as made", 1, 0}, {"in reverse", CHAIN_N - 1, 0}, {"mixed", 1009, 0},
        {"deep", 1, 3},    {"deep, mixed", 1009, 3},
    };
    enum { CYCLES = 3, LOOKS_MOST = 12, WORDS_A_LOOK = 4 };
    struct alqi_domain *self = alqi_heap_domain(d);
    uint64_t work, n_before;
    unsigned i;

    (void)state;
    for (i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        ALQ_FRAME(d, f, ephes, first_key);

        f.ephes = alq_alloc(d, 2 * CHAIN_N, 0);
        chain_make(&chains[i], &f.ephes, &f.first_key);
        run_cycles(CYCLES);
        assert_int_equal(n_with_data(f.ephes), 2 * CHAIN_N);
        work = self->sums.live_words;
        n_before = cycles();
        run_cycles(CYCLES);
        work = (self->sums.live_words - work) / (cycles() - n_before);
        if (work > (uint64_t)2 * CHAIN_N * LOOKS_MOST * WORDS_A_LOOK)
            fail_msg("%s: %ju words of work a cycle", chains[i].order,
                     (uintmax_t)work);
        f.first_key = ALQ_NULL;
        run_cycles(CYCLES);
        assert_int_equal(n_with_data(f.ephes), 0);
    }
}

/* Data that are set while the ephemeron waits for its key live as it does, and
 * so does what they lead to. */
static void
data_set_while_marking(void **state)
{
    unsigned words;

    (void)state;
    for (words = 1; words < 400; words += 3) {
        ALQ_FRAME(d, f, key, ephe, filler, data, behind);
        unsigned i;

        f.key = cell(1);
        f.filler = cell(2);
        for (i = 0; i < 20; i++)
            f.filler = alq_ephe_make(d, 1, &f.key, f.filler);
        f.behind = cell(3);
        f.ephe = alq_ephe_make(d, 1, &f.behind, cell(4));
        f.data = alq_ephe_make(d, 1, &f.key, f.behind);
        f.behind = ALQ_NULL;
        full_major();
        alq_gc_major_slice(d, words);
        f.behind = cell(5);
        alq_ephe_set_data(d, f.ephe, f.behind);
        f.behind = ALQ_NULL;
        alq_gc_major(d);
        assert_int_equal(alq_ephe_check_data(d, f.ephe), 1);
        f.behind = alq_ephe_get_data(d, f.ephe);
        assert_int_equal(alq_to_int(alq_field(f.behind, 0)), 5);
    }
}

/* A key that is set while marking goes on makes the data live: also after the
 * ephemeron was found to wait for the old one. */
static void
keys_set_while_marking(void **state)
{
    unsigned words;

    (void)state;
    for (words = 1; words < 400; words += 3) {
        ALQ_FRAME(d, f, old_key, new_key, ephe, filler);
        unsigned i;

        f.new_key = cell(1);
        f.old_key = cell(2);
        f.ephe = alq_ephe_make(d, 1, &f.old_key, cell(3));
        for (i = 0; i < 20; i++) {
            f.filler = alq_ephe_make(d, 1, &f.old_key, f.filler);
        }
        full_major();
        f.old_key = ALQ_NULL;
        alq_gc_major_slice(d, words);
        if (alq_ephe_check_data(d, f.ephe)) {
            alq_ephe_set_key(d, f.ephe, 0, f.new_key);
            alq_gc_major(d);
            assert_int_equal(alq_ephe_check_data(d, f.ephe), 1);
            assert_int_equal(
                alq_to_int(alq_field(alq_ephe_get_data(d, f.ephe), 0)), 3);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(weak_places),
        LIVE(minor_collections_empty),
        LIVE(a_get_while_marking_keeps),
        LIVE(copies_do_not_keep),
        LIVE(custom_blocks_are_shared),
        LIVE(bad_arguments),
        LIVE(b10_weak_lifetime),
        LIVE(b11_arrays_agree),
        LIVE(b13_weak_under_load),
        LIVE(a_long_array_is_cleaned_in_parts),
        LIVE(ephemeron_fields),
        LIVE(b2_ephemerons),
        LIVE(b2_weak_behind_ephemeron),
        LIVE(b3_formulas),
        LIVE(chains_of_ephemerons),
        LIVE(data_set_while_marking),
        LIVE(keys_set_while_marking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
