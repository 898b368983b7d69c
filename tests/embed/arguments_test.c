/* arguments_test.c -- wrong arguments, each call of the heap: a status, or
 * nothing, and all is as it was
 *
 * The list of what the library exports is read, so that no call is left out. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "value_kit.h"

static struct alq_domain *d;

static int
setup(void **state)
{
    (void)state;
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

static int
teardown(void **state)
{
    (void)state;
    return alq_domain_drop(d) != ALQ_OK;
}

/* ---- which were called -------------------------------------------------- */

static char called[256][48];
static unsigned n_called;

static void
note(const char *call)
{
    size_t n = strcspn(call, "(");
    unsigned i;

    assert_true(n < sizeof called[0]);
    for (i = 0; i < n_called; i++)
        if (strlen(called[i]) == n && memcmp(called[i], call, n) == 0)
            return;
    assert_true(n_called < ALQI_COUNT_OF(called));
    memcpy(called[n_called++], call, n);
}

/* The call's name is the first word. */
#define IS(expected, ...)                                                      \
    do {                                                                       \
        note(#__VA_ARGS__);                                                    \
        assert_int_equal(__VA_ARGS__, expected);                               \
    } while (0)

/* It returns nothing, and does nothing. */
#define DOES_NOTHING(...)                                                      \
    do {                                                                       \
        note(#__VA_ARGS__);                                                    \
        __VA_ARGS__;                                                           \
    } while (0)

/* Nothing, and the domain has a status. */
#define NOTHING(...)                                                           \
    do {                                                                       \
        IS(0, __VA_ARGS__);                                                    \
        assert_int_equal(alq_status_of(d), ALQ_EINVAL);                        \
        alq_status_clear(d);                                                   \
    } while (0)

/* The same of a call that returns a value. */
#define IS_NULL(...)                                                           \
    do {                                                                       \
        note(#__VA_ARGS__);                                                    \
        assert_true(alq_is_null(__VA_ARGS__));                                 \
    } while (0)
#define NO_VALUE(...)                                                          \
    do {                                                                       \
        IS_NULL(__VA_ARGS__);                                                  \
        assert_int_equal(alq_status_of(d), ALQ_EINVAL);                        \
        alq_status_clear(d);                                                   \
    } while (0)

/* ---- heap.h, root.h ----------------------------------------------------- */

static const struct alq_custom_ops ops = {"ops"};

/* A domain that is NULL, where there is no status to say so: builds that check
 * stop (rule_test.c). */
#define NULL_DOMAIN(expected, ...)                                             \
    do {                                                                       \
        note(#__VA_ARGS__);                                                    \
        if (ALQI_CHECKS == 0)                                                  \
            assert_int_equal(__VA_ARGS__, expected);                           \
    } while (0)
#define NO_VALUE_OF_NULL(...)                                                  \
    do {                                                                       \
        note(#__VA_ARGS__);                                                    \
        if (ALQI_CHECKS == 0)                                                  \
            assert_true(alq_is_null(__VA_ARGS__));                             \
    } while (0)

static void
of_heap(void **state)
{
    const uintptr_t good[] = {ALQ_HEADER(1, 0), ALQ_HEADER(2, 0)};
    const uintptr_t empty[] = {ALQ_HEADER(1, 0), ALQ_HEADER(0, 0)};
    const uintptr_t large[] = {ALQ_HEADER(200, 0), ALQ_HEADER(200, 0)};
    uintptr_t many[400];
    alq_value out[400];
    struct alq_domain *other = NULL;
    struct alq_domain_config c = {0, 1000001, 0, 0, 0};
    size_t i;

    (void)state;
    IS(ALQ_EINVAL, alq_domain_new(NULL, NULL));
    IS(ALQ_EINVAL, alq_domain_new(&c, &other));
    IS(ALQ_OK, alq_domain_drop(NULL));
    DOES_NOTHING(alq_status_clear(NULL));
    DOES_NOTHING(alq_poll_slow(ALQI_CHECKS == 0 ? NULL : d));

    NO_VALUE_OF_NULL(alq_alloc(NULL, 1, 0));
    NO_VALUE(alq_alloc(d, ALQ_WOSIZE_MAX + 1, 0));
    NO_VALUE(alq_alloc(d, UINTPTR_MAX, 0));
    NO_VALUE(alq_alloc(d, 1, ALQ_TAG_CUSTOM));
    NO_VALUE(alq_alloc(d, 1, 256));
    NO_VALUE(alq_alloc(d, 0, UINT32_MAX));
    NO_VALUE_OF_NULL(alq_alloc_small_slow(NULL, good[0]));
    NO_VALUE(alq_alloc_small_slow(d, ALQ_HEADER(0, 0)));
    NO_VALUE(alq_alloc_small_slow(d, ALQ_HEADER(257, 0)));
    NO_VALUE(alq_alloc_small_slow(d, ALQ_HEADER(1, 0x100)));
    NULL_DOMAIN(0, alq_alloc_several_slow(NULL, 2, good, out));
    NOTHING(alq_alloc_several_slow(d, 2, NULL, out));
    NOTHING(alq_alloc_several_slow(d, 2, good, NULL));
    NOTHING(alq_alloc_several_slow(d, 2, empty, out));
    NOTHING(alq_alloc_several_slow(d, 2, large, out));
    NOTHING(alq_alloc_several_slow(d, 0, good, out));
    NOTHING(alq_alloc_several(d, 2, large, out));
    for (i = 0; i < ALQI_COUNT_OF(many); i++)
        many[i] = ALQ_HEADER(1, 0);
    NOTHING(alq_alloc_several(d, ALQI_COUNT_OF(many), many, out));

    NO_VALUE_OF_NULL(alq_alloc_string(NULL, 1));
    NO_VALUE(alq_alloc_string(d, SIZE_MAX));
    NO_VALUE(alq_alloc_string(d, (size_t)1 << 57));
    NO_VALUE_OF_NULL(alq_string_copy(NULL, "", 0));
    NO_VALUE(alq_string_copy(d, NULL, 1));
    NO_VALUE_OF_NULL(alq_alloc_double_array(NULL, 1));
    NO_VALUE(alq_alloc_double_array(d, UINTPTR_MAX));
    NO_VALUE_OF_NULL(alq_alloc_custom(NULL, &ops, 8));
    NO_VALUE(alq_alloc_custom(d, NULL, 8));
    NO_VALUE_OF_NULL(alq_alloc_custom_mem(NULL, &ops, 8, 8));
    NO_VALUE(alq_alloc_custom_mem(d, NULL, 8, 8));
    NO_VALUE_OF_NULL(alq_alloc_custom_ratio(NULL, &ops, 8, 1, 2));
    NO_VALUE(alq_alloc_custom_ratio(d, NULL, 8, 1, 2));
    NO_VALUE(alq_alloc_custom_ratio(d, &ops, 8, 1, 0));
}

/* Sizes whose words come around: 2^57 + 8 bytes are as many fields as a header
 * can say, and two more. */
static void
of_customs_larger_than_a_header_says(void **state)
{
    static const size_t bytes[] = {(ALQ_WOSIZE_MAX - 1) * 8 + 1,
                                   ((size_t)1 << 57),
                                   ((size_t)1 << 57) + 8,
                                   (size_t)1 << 63,
                                   SIZE_MAX - 7,
                                   SIZE_MAX};
    size_t i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(bytes); i++) {
        NO_VALUE(alq_alloc_custom(d, &ops, bytes[i]));
        NO_VALUE(alq_alloc_custom_mem(d, &ops, bytes[i], 8));
        NO_VALUE(alq_alloc_custom_ratio(d, &ops, bytes[i], 1, 2));
    }
    /* What a header can say, and no memory holds. */
    IS_NULL(alq_alloc_custom(d, &ops, (ALQ_WOSIZE_MAX - 1) * 8));
    assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    alq_status_clear(d);
    IS_NULL(alq_alloc(d, ALQ_WOSIZE_MAX, 0));
    assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    alq_status_clear(d);
}

/* Memory outside of more bytes than there are: cycles come, and no more. */
static void
of_customs_that_hold_all(void **state)
{
    struct alq_gc_counts c;
    unsigned i;

    (void)state;
    for (i = 0; i < 100; i++)
        assert_false(
            alq_is_null(alq_alloc_custom_mem(d, &ops, 8, SIZE_MAX - i)));
    for (i = 0; i < 100; i++)
        assert_false(
            alq_is_null(alq_alloc_custom_ratio(d, &ops, 8, SIZE_MAX, 1)));
    assert_int_equal(alq_status_of(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    assert_in_range(c.major_cycles, 3, 1000);
}

static void
of_roots(void **state)
{
    struct alq_range range = {NULL, NULL, NULL, NULL};
    struct alq_scanner scanner = {NULL, NULL, NULL, NULL};
    struct alq_global global = {ALQ_UNIT, NULL, NULL};
    alq_value base[1] = {ALQ_UNIT}, *top = base;

    (void)state;
    IS(ALQ_EINVAL, alq_range_add(d, NULL));
    IS(ALQ_EINVAL, alq_range_add(d, &range));
    range.base = base;
    IS(ALQ_EINVAL, alq_range_add(d, &range));
    range.top = &top;
    IS(ALQ_EINVAL, alq_range_add(NULL, &range));
    IS(ALQ_EINVAL, alq_range_name(NULL, &range, "values", NULL));
    IS(ALQ_EINVAL, alq_range_name(d, NULL, "values", NULL));
    IS(ALQ_EINVAL, alq_range_name(d, &range, NULL, NULL));
    DOES_NOTHING(alq_range_remove(d, NULL));
    IS(ALQ_EINVAL, alq_scanner_add(d, NULL));
    IS(ALQ_EINVAL, alq_scanner_add(d, &scanner));
    IS(ALQ_EINVAL, alq_scanner_add(NULL, &scanner));
    DOES_NOTHING(alq_scanner_remove(d, NULL));
    IS(ALQ_EINVAL, alq_global_add(d, NULL));
    IS(ALQ_EINVAL, alq_global_add(NULL, &global));
    DOES_NOTHING(alq_global_remove(d, NULL));
    NULL_DOMAIN(0, alq_root_new(NULL, ALQ_UNIT) != NULL);
    DOES_NOTHING(alq_root_set(d, NULL, ALQ_UNIT));
    DOES_NOTHING(alq_root_set(NULL, NULL, ALQ_UNIT));
    DOES_NOTHING(alq_root_drop(d, NULL));
    DOES_NOTHING(alq_root_drop(NULL, NULL));
    IS(ALQ_EINVAL, alq_pin(NULL, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_pin(d, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_pin(d, ALQ_NULL));
    IS(ALQ_EINVAL, alq_unpin(NULL, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_unpin(d, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_unpin(d, ALQ_VALUE(&global)));
    IS(ALQ_EINVAL, alq_thread_conservative(NULL, NULL));
    IS(ALQ_EINVAL, alq_thread_conservative(d, (void *)8));
    IS(ALQ_EINVAL, alq_thread_precise(NULL));
}

/* ---- domain.h ----------------------------------------------------------- */

static alq_value
nothing(struct alq_domain *on, alq_value arg, void *data)
{
    (void)on;
    (void)data;
    return arg;
}

static void
of_domains(void **state)
{
    struct alq_domain_config wild = {1, 0, 0, 0, 0};
    struct alq_child *child = NULL;
    struct alq_thread *thread = NULL;
    alq_value v = ALQ_UNIT;
    int pid;

    (void)state;
    IS(1, alq_domain_self() == d);
    IS(0, alq_domain_id(NULL));
    IS(ALQ_EINVAL,
       alq_domain_spawn(NULL, nothing, ALQ_UNIT, NULL, NULL, &child));
    IS(ALQ_EINVAL, alq_domain_spawn(d, NULL, ALQ_UNIT, NULL, NULL, &child));
    IS(ALQ_EINVAL, alq_domain_spawn(d, nothing, ALQ_UNIT, NULL, NULL, NULL));
    IS(ALQ_EINVAL, alq_domain_spawn(d, nothing, ALQ_UNIT, NULL, &wild, &child));
    IS(ALQ_EINVAL, alq_domain_join(d, NULL, &v));
    IS(ALQ_EINVAL, alq_domain_join(NULL, NULL, &v));
    DOES_NOTHING(alq_child_drop(NULL));
    IS(0, alq_blocking_begin(NULL) != NULL);
    IS(ALQ_EINVAL, alq_blocking_end(NULL));
    IS(ALQ_EINVAL, alq_thread_attach(NULL, &thread));
    IS(ALQ_EINVAL, alq_thread_attach(d, NULL));
    IS(ALQ_EINVAL, alq_thread_detach(NULL));
    IS(0, alq_thread_self(NULL) != NULL);
    IS(ALQ_EINVAL, alq_thread_yield(NULL));
    IS(ALQ_EINVAL, alq_fork(NULL, &pid));
    IS(ALQ_EINVAL, alq_fork(d, NULL));
    assert_null(child);
    assert_null(thread);
}

static void
of_atomic_fields(void **state)
{
    ALQ_FRAME(d, f, block, string);
    alq_value expected = ALQ_UNIT;

    (void)state;
    f.block = alq_alloc(d, 2, 0);
    f.string = alq_alloc_string(d, 30);
    NO_VALUE_OF_NULL(alq_field_exchange(NULL, f.block, 0, ALQ_UNIT));
    NO_VALUE(alq_field_exchange(d, ALQ_UNIT, 0, ALQ_UNIT));
    NO_VALUE(alq_field_exchange(d, ALQ_NULL, 0, ALQ_UNIT));
    NO_VALUE(alq_field_exchange(d, f.block, 2, ALQ_UNIT));
    NO_VALUE(alq_field_exchange(d, f.block, UINTPTR_MAX, ALQ_UNIT));
    NO_VALUE(alq_field_exchange(d, f.string, 0, ALQ_UNIT));
#define CAS alq_field_compare_exchange
    note("alq_field_compare_exchange(");
    if (ALQI_CHECKS == 0)
        assert_int_equal(CAS(NULL, f.block, 0, &expected, alq_from_int(1)), 0);
    assert_int_equal(CAS(d, f.block, 0, NULL, alq_from_int(1)), 0);
    assert_int_equal(CAS(d, f.block, 2, &expected, alq_from_int(1)), 0);
    assert_int_equal(CAS(d, f.string, 0, &expected, alq_from_int(1)), 0);
    assert_int_equal(CAS(d, ALQ_UNIT, 0, &expected, alq_from_int(1)), 0);
#undef CAS
    assert_int_equal(alq_status_of(d), ALQ_EINVAL);
    assert_same(alq_field(f.block, 0), ALQ_UNIT);
    alq_status_clear(d);
}

/* ---- gc.h, final.h ------------------------------------------------------ */

static enum alq_status
finaliser(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    return ALQ_OK;
}

static void
of_gc(void **state)
{
    struct alq_gc_control c;
    struct alq_gc_counts n;
    struct alq_gc_stats s;
    intptr_t v;
    char text[8];

    (void)state;
    IS(ALQ_EINVAL, alq_gc_minor(NULL));
    IS(ALQ_EINVAL, alq_gc_major(NULL));
    IS(ALQ_EINVAL, alq_gc_major_slice(NULL, 1));
    IS(ALQ_EINVAL, alq_gc_full_major(NULL));
    IS(ALQ_EINVAL, alq_gc_compact(NULL));
    IS(ALQ_EINVAL, alq_gc_counters(NULL, &n));
    IS(ALQ_EINVAL, alq_gc_counters(d, NULL));
    IS(0, alq_gc_minor_words(NULL));
    IS(0, alq_gc_allocated_bytes(NULL));
    IS(0, alq_gc_get_minor_free(NULL));
    IS(ALQ_EINVAL, alq_gc_stat(NULL, &s));
    IS(ALQ_EINVAL, alq_gc_stat(d, NULL));
    IS(ALQ_EINVAL, alq_gc_quick_stat(NULL, &s));
    IS(ALQ_EINVAL, alq_gc_quick_stat(d, NULL));
    IS(ALQ_EINVAL, alq_gc_print_stat(NULL, stdout));
    IS(ALQ_EINVAL, alq_gc_print_stat(d, NULL));
    IS(ALQ_EINVAL, alq_gc_get(NULL, &c));
    IS(ALQ_EINVAL, alq_gc_get(d, NULL));
    IS(ALQ_OK, alq_gc_get(d, &c));
    IS(ALQ_EINVAL, alq_gc_set(NULL, &c));
    IS(ALQ_EINVAL, alq_gc_set(d, NULL));
    c.window_size = -1;
    IS(ALQ_EINVAL, alq_gc_set(d, &c));
    IS(0, alq_gc_params(NULL, text, sizeof text));
    IS(1, alq_gc_params(d, NULL, 100) > 20);
    IS(ALQ_EINVAL, alq_gc_stack_check(NULL));
    IS(ALQ_EINVAL, alq_gc_get_bucket(NULL, 0, &v));
    IS(ALQ_EINVAL, alq_gc_get_bucket(d, -1, &v));
    IS(ALQ_EINVAL, alq_gc_get_bucket(d, 0, NULL));
    IS(0, alq_gc_get_credit(NULL));
    IS(0, alq_gc_huge_fallback_count(NULL));
}

static enum alq_status
alarm_call(struct alq_domain *on, void *arg)
{
    (void)on;
    (void)arg;
    return ALQ_OK;
}

static void
of_finalisers(void **state)
{
    struct alq_alarm *alarm = NULL;
    ALQ_FRAME(d, f, block);

    (void)state;
    f.block = alq_alloc(d, 1, 0);
    IS(ALQ_EINVAL, alq_gc_finalise(NULL, f.block, finaliser, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise(d, ALQ_UNIT, finaliser, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise(d, ALQ_NULL, finaliser, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise(d, alq_alloc(d, 0, 0), finaliser, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise(d, f.block, NULL, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise_last(NULL, f.block, finaliser, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise_last(d, ALQ_UNIT, finaliser, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_gc_finalise_last(d, f.block, NULL, ALQ_UNIT));
    DOES_NOTHING(alq_gc_finalise_release(NULL));
    DOES_NOTHING(alq_gc_finalise_release(d));
    IS(ALQ_EINVAL, alq_gc_create_alarm(NULL, alarm_call, NULL, &alarm));
    IS(ALQ_EINVAL, alq_gc_create_alarm(d, NULL, NULL, &alarm));
    IS(ALQ_EINVAL, alq_gc_create_alarm(d, alarm_call, NULL, NULL));
    assert_null(alarm);
    DOES_NOTHING(alq_gc_delete_alarm(NULL));
    DOES_NOTHING(alq_gc_delete_alarm(&alarm));
}

/* ---- weak.h ------------------------------------------------------------- */

static void
of_weak_arrays(void **state)
{
    ALQ_FRAME(d, f, weak, ephe, block);
    alq_value w;

    (void)state;
    f.weak = alq_weak_create(d, 3);
    f.ephe = alq_ephe_create(d, 3);
    f.block = alq_alloc(d, 5, 0);
    w = f.weak;
    NO_VALUE_OF_NULL(alq_weak_create(NULL, 1));
    NO_VALUE(alq_weak_create(d, ALQ_WEAK_LENGTH_MAX + 1));
    NO_VALUE(alq_weak_create(d, SIZE_MAX));
    IS(0, alq_weak_length(f.block));
    IS(0, alq_weak_length(f.ephe));
    IS(0, alq_weak_length(ALQ_UNIT));
    IS(0, alq_weak_length(ALQ_NULL));
    IS(ALQ_EINVAL, alq_weak_set(NULL, w, 0, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_set(d, w, 3, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_set(d, w, SIZE_MAX, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_set(d, f.ephe, 0, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_set(d, f.block, 0, ALQ_UNIT));
    NO_VALUE_OF_NULL(alq_weak_get(NULL, w, 0));
    NO_VALUE(alq_weak_get(d, w, 3));
    NO_VALUE(alq_weak_get(d, f.ephe, 0));
    NO_VALUE_OF_NULL(alq_weak_get_copy(NULL, w, 0));
    NO_VALUE(alq_weak_get_copy(d, w, SIZE_MAX));
    NULL_DOMAIN(0, alq_weak_check(NULL, w, 0));
    NOTHING(alq_weak_check(d, w, 3));
    note("alq_weak_check(");
    IS(ALQ_EINVAL, alq_weak_fill(NULL, w, 0, 1, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_fill(d, w, 1, 3, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_fill(d, w, 3, SIZE_MAX, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_fill(d, w, SIZE_MAX, 2, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_weak_blit(NULL, w, 0, w, 0, 1));
    IS(ALQ_EINVAL, alq_weak_blit(d, w, 1, w, 0, 3));
    IS(ALQ_EINVAL, alq_weak_blit(d, w, 0, w, SIZE_MAX, 2));
    IS(ALQ_EINVAL, alq_weak_blit(d, w, 0, f.ephe, 0, 1));
}

static void
of_ephemerons(void **state)
{
    ALQ_FRAME(d, f, weak, ephe, keys[2]);
    alq_value e;

    (void)state;
    f.weak = alq_weak_create(d, 3);
    f.ephe = alq_ephe_create(d, 2);
    e = f.ephe;
    NO_VALUE_OF_NULL(alq_ephe_create(NULL, 1));
    NO_VALUE(alq_ephe_create(d, 0));
    NO_VALUE(alq_ephe_create(d, SIZE_MAX));
    NO_VALUE_OF_NULL(alq_ephe_make(NULL, 2, f.keys, ALQ_UNIT));
    NO_VALUE(alq_ephe_make(d, 2, NULL, ALQ_UNIT));
    NO_VALUE(alq_ephe_make(d, 0, f.keys, ALQ_UNIT));
    NO_VALUE_OF_NULL(alq_ephe_query(NULL, e, 2, f.keys));
    NO_VALUE(alq_ephe_query(d, e, 2, NULL));
    NO_VALUE(alq_ephe_query(d, f.weak, 2, f.keys));
    IS(0, alq_ephe_length(f.weak));
    IS(0, alq_ephe_length(ALQ_UNIT));
    IS(ALQ_EINVAL, alq_ephe_set_key(NULL, e, 0, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_ephe_set_key(d, e, 2, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_ephe_set_key(d, f.weak, 0, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_ephe_unset_key(NULL, e, 0));
    IS(ALQ_EINVAL, alq_ephe_unset_key(d, e, SIZE_MAX));
    NO_VALUE_OF_NULL(alq_ephe_get_key(NULL, e, 0));
    NO_VALUE(alq_ephe_get_key(d, e, 2));
    NO_VALUE_OF_NULL(alq_ephe_get_key_copy(NULL, e, 0));
    NO_VALUE(alq_ephe_get_key_copy(d, e, 2));
    NULL_DOMAIN(0, alq_ephe_check_key(NULL, e, 0));
    NOTHING(alq_ephe_check_key(d, e, 2));
    IS(ALQ_EINVAL, alq_ephe_blit_key(NULL, e, 0, e, 0, 1));
    IS(ALQ_EINVAL, alq_ephe_blit_key(d, e, 1, e, 0, 2));
    IS(ALQ_EINVAL, alq_ephe_blit_key(d, e, 0, f.weak, 0, 1));
    IS(ALQ_EINVAL, alq_ephe_set_data(NULL, e, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_ephe_set_data(d, f.weak, ALQ_UNIT));
    IS(ALQ_EINVAL, alq_ephe_unset_data(d, ALQ_UNIT));
    NO_VALUE_OF_NULL(alq_ephe_get_data(NULL, e));
    NO_VALUE(alq_ephe_get_data(d, f.weak));
    NO_VALUE_OF_NULL(alq_ephe_get_data_copy(NULL, e));
    NO_VALUE(alq_ephe_get_data_copy(d, f.weak));
    NULL_DOMAIN(0, alq_ephe_check_data(NULL, e));
    NOTHING(alq_ephe_check_data(d, f.weak));
    IS(ALQ_EINVAL, alq_ephe_blit_data(NULL, e, e));
    IS(ALQ_EINVAL, alq_ephe_blit_data(d, e, f.weak));
}

/* ---- observe.h ---------------------------------------------------------- */

static void
hear(void *arg, const struct alq_event *event)
{
    (void)arg;
    (void)event;
}

static int
row(void *arg, const struct alq_census_row *r)
{
    (void)arg;
    (void)r;
    return 0;
}

static void
of_observers(void **state)
{
    struct alq_listener deaf = {NULL, NULL, 0}, listener = {hear, NULL, 0};
    struct alq_pauses pauses = {0};

    (void)state;
    IS(ALQ_EINVAL, alq_listener_add(NULL, &listener));
    IS(ALQ_EINVAL, alq_listener_add(d, NULL));
    IS(ALQ_EINVAL, alq_listener_add(d, &deaf));
    IS(ALQ_EINVAL, alq_listener_remove(NULL, &listener));
    IS(ALQ_EINVAL, alq_listener_remove(d, NULL));
    IS(ALQ_EINVAL, alq_listener_remove(d, &listener));
    IS(ALQ_EINVAL, alq_gc_trace_start(NULL, "/nowhere"));
    IS(ALQ_EINVAL, alq_gc_trace_start(d, NULL));
    IS(ALQ_EIO, alq_gc_trace_start(d, "/nowhere/at/all"));
    IS(ALQ_EINVAL, alq_gc_trace_stop(NULL, NULL));
    IS(ALQ_ENOTRUN, alq_gc_trace_stop(d, NULL));
    IS(ALQ_EINVAL, alq_pauses_get(NULL, &pauses));
    IS(ALQ_EINVAL, alq_pauses_get(d, NULL));
    IS(ALQ_EINVAL, alq_pauses_get_all(NULL, &pauses));
    IS(ALQ_EINVAL, alq_pauses_get_all(d, NULL));
    IS(ALQ_EINVAL, alq_pauses_reset(NULL));
    IS(ALQ_EINVAL, alq_pauses_print(NULL, stdout));
    IS(ALQ_EINVAL, alq_pauses_print(&pauses, NULL));
    IS(0, alq_pauses_percentile_ns(NULL, 50));
    IS(1, alq_pauses_bucket_ns(UINT32_MAX) ==
              alq_pauses_bucket_ns(ALQ_PAUSE_BUCKETS));
    IS(ALQ_EINVAL, alq_census_take(NULL, row, NULL));
    IS(ALQ_EINVAL, alq_census_take(d, NULL, NULL));
    IS(ALQ_EINVAL, alq_census_print(NULL, stdout));
    IS(ALQ_EINVAL, alq_census_print(d, NULL));
    IS(ALQ_EINVAL, alq_heap_snapshot(NULL, 1, 0));
    IS(ALQ_EINVAL, alq_heap_snapshot(d, -1, 0));
    IS(ALQ_EINVAL, alq_heap_snapshot(d, 1, ~0u));
    IS(ALQ_EINVAL, alq_tag_name_set(246, "name"));
    IS(0, strcmp(alq_event_text(UINT32_MAX), "unknown"));
    note("alq_event_text(");
    IS(0, alq_event_value_text(UINT32_MAX, 0, 0) != NULL);
    IS(0, alq_event_value_text(0, UINT32_MAX, UINT32_MAX) != NULL);
}

/* ---- malloc_limit.h ------------------------------------------------------ */

/* There is no preload; limit.h's calls with NULL for malloc are limit_test's.
 */
static void
of_malloc(void **state)
{
    uint64_t bytes = 5;

    (void)state;
    IS(ALQ_EINVAL, alq_malloc_live_bytes(NULL));
    IS(ALQ_ENOHEAP, alq_malloc_live_bytes(&bytes));
    IS(ALQ_OK, alq_malloc_poll());
    IS(0, alq_malloc_is_interrupted());
    assert_int_equal(bytes, 5);
    assert_int_equal(alq_malloc_words(0), 1);
    assert_int_equal(alq_malloc_words(17), 4);
}

/* ---- marshal.h, status.h ------------------------------------------------ */

static enum alq_status
put_nowhere(void *arg, const void *bytes, size_t n)
{
    (void)arg;
    (void)bytes;
    (void)n;
    return ALQ_OK;
}

static enum alq_status
get_nothing(void *arg, void *bytes, size_t n)
{
    (void)arg;
    (void)bytes;
    (void)n;
    return ALQ_EIO;
}

static void
of_pprof(void **state)
{
    const struct alq_pprof_config bad[] = {{.rate = -0.5},
                                           {.rate = 2},
                                           {.rate = (double)NAN},
                                           {.max_stacks = 1 << 20}};
    struct alq_pprof *pprof = NULL, *other = NULL;
    struct alq_pprof_since *since = NULL;
    size_t i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(bad); i++)
        IS(ALQ_EINVAL, alq_pprof_start(d, &bad[i], &pprof));
    IS(ALQ_EINVAL, alq_pprof_start(d, NULL, NULL));
    IS(ALQ_ENOHEAP, alq_pprof_start(NULL, NULL, &pprof));
    assert_null(pprof);
    IS(ALQ_OK, alq_pprof_start(d, NULL, &pprof));
    IS(ALQ_OK, alq_pprof_start(d, NULL, &other));
    IS(ALQ_EINVAL, alq_pprof_since_new(NULL, &since));
    IS(ALQ_EINVAL, alq_pprof_since_new(pprof, NULL));
    assert_null(since);
    IS(ALQ_OK, alq_pprof_since_new(other, &since));
    IS(ALQ_EINVAL, alq_pprof_write(NULL, 1, ALQ_PPROF_HEAP, NULL));
    IS(ALQ_EINVAL, alq_pprof_write(pprof, 1, (enum alq_pprof_kind)3, NULL));
    IS(ALQ_EINVAL, alq_pprof_write(pprof, 1, ALQ_PPROF_DELTA_HEAP, NULL));
    IS(ALQ_EINVAL, alq_pprof_write(pprof, 1, ALQ_PPROF_HEAP, since));
    IS(ALQ_EIO, alq_pprof_write(pprof, -1, ALQ_PPROF_HEAP, NULL));
    DOES_NOTHING(alq_pprof_since_drop(NULL));
    DOES_NOTHING(alq_pprof_drop(NULL));
    alq_pprof_since_drop(since);
    alq_pprof_drop(other);
    alq_pprof_drop(pprof);
}

static void
of_marshal(void **state)
{
    struct alq_marshal_options wild = {.flags = ~0u};
    struct alq_marshal_header h;
    char bytes[64] = {0};
    size_t n;
    uint64_t size;
    void *memory;
    alq_value v;

    (void)state;
    IS(ALQ_EINVAL, alq_marshal_size(NULL, ALQ_UNIT, NULL, &size));
    IS(ALQ_EINVAL, alq_marshal_size(d, ALQ_UNIT, NULL, NULL));
    IS(ALQ_EINVAL, alq_marshal_size(d, ALQ_UNIT, &wild, &size));
    IS(ALQ_EINVAL, alq_marshal_to_buffer(NULL, ALQ_UNIT, NULL, bytes, 64, &n));
    IS(ALQ_EINVAL, alq_marshal_to_buffer(d, ALQ_UNIT, NULL, NULL, 64, &n));
    IS(ALQ_EINVAL, alq_marshal_to_buffer(d, ALQ_UNIT, NULL, bytes, 64, NULL));
    IS(ALQ_ETOOBIG, alq_marshal_to_buffer(d, ALQ_UNIT, NULL, bytes, 0, &n));
    IS(ALQ_EINVAL, alq_marshal_to_memory(NULL, ALQ_UNIT, NULL, &memory, &n));
    IS(ALQ_EINVAL, alq_marshal_to_memory(d, ALQ_UNIT, NULL, NULL, &n));
    IS(ALQ_EINVAL, alq_marshal_to_memory(d, ALQ_UNIT, NULL, &memory, NULL));
    IS(ALQ_EINVAL, alq_marshal_write(NULL, ALQ_UNIT, NULL, put_nowhere, NULL));
    IS(ALQ_EINVAL, alq_marshal_write(d, ALQ_UNIT, NULL, NULL, NULL));
    IS(ALQ_EINVAL, alq_marshal_header_read(NULL, 20, &h));
    IS(ALQ_EINVAL, alq_marshal_header_read(bytes, 20, NULL));
    IS(ALQ_EINVAL, alq_marshal_header_read(bytes, 0, &h));
    IS(ALQ_EINVAL, alq_unmarshal(NULL, bytes, 64, NULL, NULL, &v));
    IS(ALQ_EINVAL, alq_unmarshal(d, NULL, 64, NULL, NULL, &v));
    IS(ALQ_EINVAL, alq_unmarshal(d, bytes, 64, NULL, NULL, NULL));
    IS(ALQ_EFORMAT, alq_unmarshal(d, bytes, 0, NULL, NULL, &v));
    IS(ALQ_EINVAL, alq_unmarshal_read(NULL, get_nothing, NULL, NULL, &v));
    IS(ALQ_EINVAL, alq_unmarshal_read(d, NULL, NULL, NULL, &v));
    IS(ALQ_EINVAL, alq_unmarshal_read(d, get_nothing, NULL, NULL, NULL));
    IS(ALQ_EIO, alq_unmarshal_read(d, get_nothing, NULL, NULL, &v));
    DOES_NOTHING(alq_marshal_put(NULL, bytes, 1));
    DOES_NOTHING(alq_marshal_get(NULL, bytes, 1));
    IS(0, alq_marshal_left(NULL));
    IS(ALQ_EINVAL, alq_control_start(""));
    IS(ALQ_EINVAL, alq_control_start("name"));
    IS(ALQ_EINVAL, alq_control_start("@0123456789012345678901234567890123456789"
                                     "0123456789012345678901234567890123456789"
                                     "0123456789012345678901234567890123456789"
                                     "0123456789"));
    IS(ALQ_EIO, alq_control_start("/nowhere/at/all"));
    IS(ALQ_ENOTRUN, alq_control_stop());
    IS(ALQ_ENOHEAP, alq_recorder_start(2, "")); /* tests/preload/inside.sh */
    IS(ALQ_ENOHEAP, alq_recorder_stop());
    IS(ALQ_ENOHEAP, alq_recorder_end());
    IS(ALQ_ENOHEAP, alq_recorder_forget());
    IS(ALQ_ENOHEAP, alq_recorder_mark(""));
    IS(1, alq_status_text((enum alq_status)12345) != NULL);
}

/* ---- all of them -------------------------------------------------------- */

/* Constants, and parts of inline calls that have read their arguments; those of
 * the profiler are api_memprof_test's. */
static bool
is_elsewhere(const char *name)
{
    static const char *const names[] = {
        "alq_int32_ops",    "alq_int64_ops",   "alq_nativeint_ops",
        "alq_version",      "alq_store_slow",  "alq_init_slow",
        "alq_tracker_null", "alq_thread_tree", "alq_memprof_",
        "alq_profile_",     "alq_limit_",      "alq_token_",
        "alq_mask_",        "alq_with_",       "alq_trace_",
        "alq_callstack_",   "alq_stacks_",     "alq_stack_",
        "alq_cleanup_",     "alq_foreign_",    "alq_guard_",
        "alq_undo_",        "alq_is_masked",   "alq_check_"};
    size_t i;

    for (i = 0; i < ALQI_COUNT_OF(names); i++) {
        size_t n = strlen(names[i]);

        if (strncmp(name, names[i], n) == 0 &&
            (name[n] == '\0' || names[i][n - 1] == '_'))
            return true;
    }
    return false;
}

static void
none_is_left_out(void **state)
{
    FILE *map = fopen(ALQ_TEST_MAP, "r");
    char line[200];
    unsigned i, n = 0;

    (void)state;
    assert_non_null(map);
    while (fgets(line, sizeof line, map) != NULL) {
        char *name = line + strspn(line, " ");

        if (strncmp(name, "alq_", 4) != 0)
            continue;
        name[strcspn(name, ";")] = '\0';
        for (i = 0; i < n_called && strcmp(called[i], name) != 0; i++)
            continue;
        if (i == n_called && !is_elsewhere(name))
            fail_msg("%s is not called with wrong arguments", name);
        n += i < n_called;
    }
    fclose(map);
    assert_true(n > 80);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(of_heap),
        T(of_customs_larger_than_a_header_says),
        T(of_customs_that_hold_all),
        T(of_roots),
        T(of_domains),
        T(of_atomic_fields),
        T(of_gc),
        T(of_finalisers),
        T(of_weak_arrays),
        T(of_ephemerons),
        T(of_observers),
        T(of_malloc),
        T(of_marshal),
        T(of_pprof),
        cmocka_unit_test(none_is_left_out),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
