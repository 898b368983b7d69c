/* gc_short_test.c -- the Gc module and each way to allocate, while each call
 * for memory fails in turn: nothing but ALQ_ENOMEM comes of it, and nothing is
 * lost
 */
#include "gc_kit.h"
#include "refuse.h"

static uint64_t n_made, n_freed;

static void
count_free(alq_value block)
{
    (void)block;
    n_freed++;
}

static const struct alq_custom_ops counting = {"counting", count_free};

static FILE *nowhere;
static unsigned n_refused; /* calls that said ALQ_ENOMEM */

static void
status_check(enum alq_status status)
{
    assert_true(status == ALQ_OK || status == ALQ_ENOMEM);
    n_refused += status == ALQ_ENOMEM;
}

/* In front of the list, unless there is no memory. */
static void
keep(alq_value *list, alq_value v)
{
    ALQ_FRAME(d, f, v);
    alq_value cell;

    if (alq_is_null(v)) {
        status_check(alq_status_of(d));
        assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
        alq_status_clear(d);
        return;
    }
    f.v = v;
    cell = alq_alloc(d, 2, 0);
    if (alq_is_null(cell)) {
        alq_status_clear(d);
        return;
    }
    alq_init(d, cell, 0, f.v);
    alq_init(d, cell, 1, *list);
    *list = cell;
}

static void
allocate_each_way(alq_value *list)
{
    static const uintptr_t headers[] = {ALQ_HEADER(1, 252), ALQ_HEADER(2, 252)};
    struct alq_root *root;
    alq_value v, two[2];
    unsigned i;

    for (i = 0; i < 3; i++) {
        keep(list, alq_alloc(d, 7, 0));
        keep(list, alq_alloc(d, 20000, 0));
        keep(list, alq_alloc_string(d, 33));
        keep(list, alq_alloc_double(d, 0.5));
        keep(list, alq_alloc_double_array(d, 300));
        v = alq_alloc_several(d, 2, headers, two) ? two[0] : ALQ_NULL;
        keep(list, v);
        v = alq_alloc_custom(d, &counting, 8);
        n_made += !alq_is_null(v);
        keep(list, v);
        v = alq_alloc_custom_mem(d, &counting, 8, 100);
        n_made += !alq_is_null(v);
        keep(list, v);
        v = alq_alloc_custom_mem(d, &counting, 8 + 100 * i, 1000000);
        n_made += !alq_is_null(v);
        keep(list, v);
        v = alq_alloc_custom_ratio(d, &counting, 4000, 1, 10);
        n_made += !alq_is_null(v);
        keep(list, v);
        root = alq_root_new(d, *list);
        if (root != NULL) {
            assert_true(alq_is_same(alq_root_get(root), *list));
            alq_root_drop(d, root);
        }
    }
}

static void
call_each(intptr_t minor_words, enum alq_gc_policy policy)
{
    struct alq_gc_control c, after;
    struct alq_gc_stats s;
    enum alq_status status;

    c = control();
    c.minor_heap_size = minor_words;
    c.allocation_policy = policy;
    c.window_size = 3;
    status = alq_gc_set(d, &c);
    status_check(status);
    after = control(); /* all but the minor heap is set in any case */
    assert_int_equal(after.allocation_policy, policy);
    if (status == ALQ_OK && !IS_HARD)
        assert_int_equal(after.minor_heap_size, minor_words);
    s = stat_of();
    status_check(alq_gc_quick_stat(d, &s));
    status_check(alq_gc_print_stat(d, nowhere));
    status_check(alq_gc_minor(d));
    status_check(alq_gc_major_slice(d, 0));
    status_check(alq_gc_major_slice(d, 5000));
    status_check(alq_gc_major(d));
    status_check(alq_gc_full_major(d));
}

static void
program(void)
{
    ALQ_FRAME(d, f, list);

    f.list = ALQ_UNIT;
    allocate_each_way(&f.list);
    call_each(1 << 20, ALQ_GC_FIRST_FIT);
    allocate_each_way(&f.list);
    call_each(8192, ALQ_GC_BEST_FIT);
    allocate_each_way(&f.list);
}

/* One run in which calls from `from` on fail; how many calls there were. */
static uint64_t
run(uint64_t from, uint64_t n)
{
    struct alq_domain_config config = {4096, 50, 0, 65536, 0};
    enum alq_status status;
    uint64_t calls;

    n_made = n_freed = 0;
    refuse_begin(from, n);
    status = alq_domain_new(&config, &d);
    if (status == ALQ_OK)
        program();
    refuse.armed = false;
    calls = refuse.calls;
    status_check(status);
    if (status != ALQ_OK)
        return calls;
    {
        struct alq_gc_control c = control();

        c.minor_heap_size = 1 << 21; /* as if nothing had happened */
        assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
        assert_int_equal(control().minor_heap_size, 1 << 21);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(n_freed == n_made);
    assert_true(stat_of().live_words == 0);
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    return calls;
}

static void
each_call_fails_once_and_for_good(void **state)
{
    static const uint64_t lengths[] = {1, UINT64_MAX / 2};
    uint64_t all, k;
    size_t i;

    (void)state;
    all = run(0, 0);
    assert_int_equal(n_refused, 0);
    assert_true(all > 30);
    for (i = 0; i < ALQI_COUNT_OF(lengths); i++)
        for (k = 1; k <= all; k++)
            run(k, lengths[i]);
    assert_true(n_refused > 30);
}

/* At the heap's limit the dead are found before anything is refused. */
static void
the_limit_collects_first(void **state)
{
    struct alq_domain_config config = {4096, 1000000, 8 << 20, 65536, 0};
    unsigned i;

    (void)state;
    n_made = n_freed = 0;
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    for (i = 0; i < (IS_HARD ? 200 : 2000); i++) { /* dead at once */
        n_made += !alq_is_null(alq_alloc_custom_mem(d, &counting, 8, 100000));
        n_made += !alq_is_null(alq_alloc_custom(d, &counting, 9000));
        alq_alloc(d, 20000, 0);
        alq_alloc(d, 200, 0);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        assert_true(counts().heap_bytes <= 8 << 20);
    }
    assert_true(counts().emergencies > 0);
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    assert_true(n_freed == n_made);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_fails_once_and_for_good),
        cmocka_unit_test(the_limit_collects_first),
    };

    unsetenv("ALIQUOTPARAM");
    nowhere = fopen("/dev/null", "w");
    return nowhere == NULL || cmocka_run_group_tests(tests, NULL, NULL);
}
