/* intern_test.c -- stacks as numbers, against the stacks themselves */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "stack/intern.h"

enum { DEPTH = 40, STACKS = 6000, THREADS = 4, DEEP = 70000 };

static uint64_t seed = 12;

static uint64_t
rnd(uint64_t below)
{
    seed += UINT64_C(0x9E3779B97F4A7C15);
    return alqi_base_mix(seed) % below;
}

/* Few frames at each depth, so that paths are shared, and often equal. */
static size_t
random_stack(uintptr_t *frames)
{
    size_t n = 1 + rnd(DEPTH);

    for (size_t i = 0; i < n; i++)
        frames[n - 1 - i] = 0x400000 + i * 64 + rnd(i < 3 ? 2 : 3);
    return n;
}

static void
a_number_means_one_stack(void **state)
{
    static uintptr_t frames[STACKS][DEPTH];
    static size_t n[STACKS];
    static uint32_t id[STACKS];
    struct alqi_stack_table *t = alqi_stack_table_new();
    uintptr_t got[DEPTH];
    unsigned n_equal = 0;

    (void)state;
    assert_non_null(t);
    for (unsigned i = 0; i < STACKS; i++) {
        if (i % 16 == 15) /* now and then the one before it */
            memcpy(frames[i], frames[i - 1], sizeof frames[i]);
        n[i] = i % 16 == 15 ? n[i - 1] : random_stack(frames[i]);
        id[i] = alqi_stack_table_add(t, frames[i], n[i]);
        assert_int_not_equal(id[i], 0);
    }
    for (unsigned i = 0; i < STACKS; i++) {
        assert_int_equal(alqi_stack_table_get(t, id[i], got, DEPTH), n[i]);
        assert_memory_equal(got, frames[i], n[i] * sizeof *got);
        assert_int_equal(alqi_stack_table_add(t, frames[i], n[i]), id[i]);
    }
    for (unsigned i = 1; i < STACKS; i++) {
        bool is_equal =
            n[i] == n[i - 1] &&
            memcmp(frames[i], frames[i - 1], n[i] * sizeof frames[i][0]) == 0;

        assert_true((id[i] == id[i - 1]) == is_equal);
        n_equal += is_equal;
    }
    assert_true(n_equal >= STACKS / 16);
    alqi_stack_table_drop(t);
}

static void
the_empty_stack_has_no_number(void **state)
{
    struct alqi_stack_table *t = alqi_stack_table_new();
    uintptr_t frame = 7, got = 99;

    (void)state;
    assert_int_equal(alqi_stack_table_add(t, &frame, 0), 0);
    assert_int_equal(alqi_stack_table_get(t, 0, &got, 1), 0);
    assert_int_equal(alqi_stack_table_get(t, 1, &got, 1), 0);
    assert_int_equal(alqi_stack_table_get(t, UINT32_MAX, &got, 1), 0);
    assert_int_equal(got, 99);
    assert_int_equal(alqi_stack_table_add(t, &frame, 1), 1);
    alqi_stack_table_drop(t);
    alqi_stack_table_drop(NULL);
}

/* A frame may be any word; 0 and its like are no marks. */
static void
frames_are_any_words(void **state)
{
    static const uintptr_t frames[] = {0, 0, UINTPTR_MAX, 1, 0};
    struct alqi_stack_table *t = alqi_stack_table_new();
    uintptr_t got[5];
    uint32_t ids[6];

    (void)state;
    for (size_t n = 1; n <= 5; n++)
        ids[n] = alqi_stack_table_add(t, frames, n);
    for (size_t n = 1; n <= 5; n++) {
        assert_int_equal(alqi_stack_table_get(t, ids[n], got, 5), n);
        assert_memory_equal(got, frames, n * sizeof *got);
        for (size_t m = 1; m < n; m++)
            assert_int_not_equal(ids[m], ids[n]);
    }
    alqi_stack_table_drop(t);
}

/* Depth costs memory in proportion, and the innermost frames come out. */
static void
a_stack_may_be_deep(void **state)
{
    struct alqi_stack_table *t = alqi_stack_table_new();
    uintptr_t *frames = malloc(DEEP * sizeof *frames), got[3];
    size_t before, after;
    uint32_t id;

    (void)state;
    for (size_t i = 0; i < DEEP; i++)
        frames[i] = 0x1000 + i;
    id = alqi_stack_table_add(t, frames, DEEP);
    assert_int_not_equal(id, 0);
    before = alqi_stack_table_bytes(t);
    assert_true(before <= 64 * (size_t)DEEP);
    assert_int_equal(alqi_stack_table_get(t, id, got, 3), DEEP);
    assert_int_equal(got[2], 0x1002);
    frames[0] = 5; /* another leaf: one node */
    assert_int_equal(alqi_stack_table_add(t, frames, DEEP), id + 1);
    after = alqi_stack_table_bytes(t);
    assert_true(after == before);
    free(frames);
    alqi_stack_table_drop(t);
}

struct adder {
    struct alqi_stack_table *t;
    uint32_t *ids;
};

static void *
add_all(void *arg)
{
    struct adder *a = arg;

    for (unsigned i = 0; i < STACKS; i++) {
        uintptr_t frames[DEPTH];
        size_t n = 1 + i % DEPTH;

        for (size_t k = 0; k < n; k++)
            frames[k] = alqi_base_mix(i) >> (n - k) % 8 & ~(uintptr_t)3;
        a->ids[i] = alqi_stack_table_add(a->t, frames, n);
    }
    return NULL;
}

static void
threads_agree_on_numbers(void **state)
{
    static uint32_t ids[THREADS][STACKS];
    struct alqi_stack_table *t = alqi_stack_table_new();
    struct adder a[THREADS];
    pthread_t thread[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        a[i] = (struct adder){t, ids[i]};
        assert_int_equal(pthread_create(&thread[i], NULL, add_all, &a[i]), 0);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 1; i < THREADS; i++)
        assert_memory_equal(ids[i], ids[0], sizeof ids[0]);
    for (unsigned i = 0; i < STACKS; i++)
        assert_int_not_equal(ids[0][i], 0);
    alqi_stack_table_drop(t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_means_one_stack),
        cmocka_unit_test(the_empty_stack_has_no_number),
        cmocka_unit_test(frames_are_any_words),
        cmocka_unit_test(a_stack_may_be_deep),
        cmocka_unit_test(threads_agree_on_numbers),
    };

    seed += alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
