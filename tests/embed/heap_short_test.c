/* heap_short_test.c -- when memory is short: the limit, and a system that
 * refuses
 *
 * The program under test builds a list of lists and stores into old blocks; at
 * whatever point memory fails, what it had is there and the heap goes on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "refuse.h"
#include "heap/state.h"

/* ---- a program ---------------------------------------------------------- */

enum {
    ROWS = ALQI_TEST_ROUNDS(400, 150, 40),
    CELLS = ALQI_TEST_ROUNDS(60, 60, 10)
};

/* A list of n cells around i, the i-th of them with a string; ALQ_NULL. */
static alq_value
row(struct alq_domain *d, intptr_t i)
{
    ALQ_FRAME(d, f, list, cell);
    intptr_t k;

    f.list = ALQ_UNIT;
    for (k = 0; k < CELLS; k++) {
        f.cell = alq_alloc(d, 2, 1);
        if (f.cell == ALQ_NULL)
            return ALQ_NULL;
        alq_init(d, f.cell, 0, alq_from_int(i + k));
        alq_init(d, f.cell, 1, f.list);
        f.list = f.cell;
    }
    return f.list;
}

static void
row_check(alq_value list, intptr_t i)
{
    intptr_t k;

    for (k = CELLS; k-- > 0; list = alq_field(list, 1))
        assert_int_equal(alq_to_int(alq_field(list, 0)), i + k);
    assert_int_equal(list, ALQ_UNIT);
}

enum { PINS = 12 };

/* A few blocks do not move for a while, if there is memory for that. */
static void
repin(struct alq_domain *d, alq_value *pinned, alq_value v)
{
    if (*pinned != ALQ_NULL)
        assert_int_equal(alq_unpin(d, *pinned), ALQ_OK);
    *pinned = ALQ_NULL;
    if (v != ALQ_NULL && alq_pin(d, v) == ALQ_OK)
        *pinned = v;
}

/* Weak references and finalisers beside the rows: places for each row, a chain
 * of ephemerons made in no order, of which the last leads to `end`. */
enum { CHAIN = 24 };

static unsigned n_registered, n_called, n_alarms;

static enum alq_status
count_call(struct alq_domain *d, alq_value v, alq_value with)
{
    (void)d;
    (void)with;
    assert_true(v == ALQ_UNIT || alq_wosize(v) == 2);
    n_called++;
    return ALQ_OK;
}

static enum alq_status
count_alarm(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    n_alarms++;
    return ALQ_OK;
}

/* Both kinds, if there is memory for them. */
static void
finalise(struct alq_domain *d, alq_value v)
{
    n_registered += alq_gc_finalise(d, v, count_call, ALQ_UNIT) == ALQ_OK;
    n_registered += alq_gc_finalise_last(d, v, count_call, ALQ_UNIT) == ALQ_OK;
}

/* keys: CHAIN + 1 blocks; the ephemerons stand in `ephes`; false: no memory. */
static bool
chain(struct alq_domain *d, alq_value *keys, alq_value *ephes)
{
    ALQ_FRAME(d, f, key, ephe);
    unsigned i, at;

    *keys = alq_alloc(d, CHAIN + 1, 0);
    if (*keys == ALQ_NULL)
        return false;
    for (i = 0; i <= CHAIN; i++) {
        f.key = alq_alloc(d, 2, 0);
        if (f.key == ALQ_NULL)
            return false;
        alq_store(d, *keys, i, f.key);
    }
    *ephes = alq_alloc(d, CHAIN, 0);
    if (*ephes == ALQ_NULL)
        return false;
    for (i = 0; i < CHAIN; i++) {
        at = i * 7 % CHAIN;
        f.key = alq_field(*keys, at);
        f.ephe = alq_ephe_make(d, 1, &f.key, alq_field(*keys, at + 1));
        if (f.ephe == ALQ_NULL)
            return false;
        alq_store(d, *ephes, at, f.ephe);
    }
    return true;
}

/* From the first key on all are there. */
static void
chain_check(struct alq_domain *d, alq_value key, alq_value ephes)
{
    unsigned i;

    for (i = 0; i < CHAIN; i++) {
        assert_int_equal(alq_ephe_get_key(d, alq_field(ephes, i), 0), key);
        key = alq_ephe_get_data(d, alq_field(ephes, i));
        assert_true(alq_is_block(key));
        assert_int_equal(alq_wosize(key), 2);
    }
}

/* How many rows there was memory for, each then checked. */
static intptr_t
rows(struct alq_domain *d, alq_value weak)
{
    ALQ_FRAME(d, f, table, big, weak);
    alq_value pinned[PINS] = {ALQ_NULL};
    intptr_t i, n = 0;
    alq_value v;

    f.weak = weak;
    f.table = alq_alloc(d, ROWS, 0);
    if (f.table == ALQ_NULL)
        return 0;
    for (i = 0; i < ROWS; i++) {
        v = row(d, i);
        if (v == ALQ_NULL)
            break;
        alq_store(d, f.table, (uintptr_t)i, v);
        assert_int_equal(alq_weak_set(d, f.weak, (size_t)i, v), ALQ_OK);
        if (i % 7 == 0)
            finalise(d, v);
        if (i % 3 == 0)
            repin(d, &pinned[i / 3 % PINS], v);
        if (i % 20 == 0) {
            f.big = alq_alloc(d, 3000, 0);
            if (f.big != ALQ_NULL)
                alq_store(d, f.big, 2999, alq_field(f.table, (uintptr_t)i));
        }
        n++;
    }
    for (i = 0; i < n; i++) {
        row_check(alq_field(f.table, (uintptr_t)i), i);
        assert_int_equal(alq_weak_get(d, f.weak, (size_t)i),
                         alq_field(f.table, (uintptr_t)i));
    }
    for (i = 0; i < PINS; i++)
        repin(d, &pinned[i], ALQ_NULL);
    return n;
}

static intptr_t
program(struct alq_domain *d)
{
    ALQ_FRAME(d, f, weak, keys, ephes, copy);
    struct alq_alarm *alarm = NULL;
    intptr_t n = 0;

    if (alq_gc_create_alarm(d, count_alarm, NULL, &alarm) != ALQ_OK)
        alarm = NULL;
    f.weak = alq_weak_create(d, ROWS);
    if (f.weak != ALQ_NULL && chain(d, &f.keys, &f.ephes)) {
        f.keys = alq_field(f.keys, 0);
        n = rows(d, f.weak);
        chain_check(d, f.keys, f.ephes);
        f.copy = alq_ephe_get_data_copy(d, alq_field(f.ephes, 0));
        if (n == ROWS)
            f.copy = alq_weak_get_copy(d, f.weak, 0);
    }
    alq_gc_delete_alarm(&alarm);
    return n;
}

/* ---- the sweep ---------------------------------------------------------- */

static uint64_t n_lost, n_overflows, n_emergencies;

static void
ways_count(struct alq_domain *d)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    n_lost += c.remember_losses;
    n_overflows += c.mark_overflows;
    n_emergencies += c.emergencies;
}

/* One run in which calls from `from` on fail; how many calls there were. */
static uint64_t
run(uint64_t from, uint64_t n_fail, bool *hurt)
{
    struct alq_domain_config config = {4096, 50, 0, 65536, 0};
    struct alq_domain *d = NULL;
    enum alq_status status;
    intptr_t n_rows = 0;
    uint64_t seen;
    unsigned i;

    n_registered = n_called = 0;
    refuse_begin(from, n_fail);
    status = alq_domain_new(&config, &d);
    if (status == ALQ_OK)
        n_rows = program(d);
    refuse.armed = false;
    seen = refuse.calls;
    if (status != ALQ_OK) {
        assert_int_equal(status, ALQ_ENOMEM);
        assert_null(d);
        *hurt = true;
        return seen;
    }
    if (alq_status_of(d) != ALQ_OK) {
        assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
        *hurt = true;
    } else {
        assert_int_equal(n_rows, ROWS);
    }
    alq_status_clear(d);
    assert_int_equal(program(d), ROWS); /* as if nothing had happened */
    assert_int_equal(alq_status_of(d), ALQ_OK);
    for (i = 0; i < 3; i++) /* the first kind, then the last */
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_called, n_registered);
    ways_count(d);
    alq_domain_drop(d);
    return seen;
}

static void
each_call_fails_once_and_for_good(void **state)
{
    static const uint64_t lengths[] = {1, UINT64_MAX / 2};
    uint64_t all, k, n_hurt = 0;
    bool hurt = false;
    size_t i;

    (void)state;
    all = run(0, 0, &hurt);
    assert_false(hurt);
    assert_true(all > 10); /* else there is nothing to fail */
    for (i = 0; i < ALQI_COUNT_OF(lengths); i++)
        for (k = 1; k <= all; k++) {
            hurt = false;
            run(k, lengths[i], &hurt);
            n_hurt += hurt;
        }
    assert_true(n_hurt > 5);
    /* Each way out of a refusal was taken. */
    assert_true(n_lost > 0 && n_overflows > 0 && n_emergencies > 0);
    assert_true(n_alarms > 0);
}

/* ---- the limit ---------------------------------------------------------- */

/* Fills the heap with a list; how many blocks of 8 KiB went in. */
static unsigned
fill(struct alq_domain *d, alq_value *list, uintptr_t wosize)
{
    unsigned n = 0;
    alq_value block;

    while ((block = alq_alloc(d, wosize, 0)) != ALQ_NULL) {
        alq_init(d, block, 0, *list);
        *list = block;
        assert_true(++n < 10000000);
    }
    return n;
}

/* What stays unused of the limit, at most: see heap_bound_test. */
enum { KEPT = 78 * 32768 };

static void
limit(uintptr_t wosize)
{
    struct alq_domain_config config = {8192, 0, 8 << 20, 2 << 20, 0};
    struct alq_domain *d;
    struct alq_gc_counts c;
    unsigned n, more;

    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    {
        ALQ_FRAME(d, f, list);
        f.list = ALQ_UNIT;
        n = fill(d, &f.list, wosize);
        assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
        assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
        assert_in_range(c.heap_bytes, (8 << 20) - KEPT, 8 << 20);
        assert_true(c.emergencies > 0);

        more = fill(d, &f.list, wosize); /* the reserve, for cleaning up */
        assert_in_range(more, n / 8, n / 2);

        f.list = ALQ_UNIT; /* it was cleaned up */
        alq_status_clear(d);
        assert_in_range(fill(d, &f.list, wosize), n - n / 8, n + n / 8);
    }
    alq_domain_drop(d);
}

static void
small_blocks_respect_the_limit(void **state)
{
    (void)state;
    limit(ALQI_CHECKS >= 3 ? 250 : 20);
}

static void
large_blocks_respect_the_limit(void **state)
{
    (void)state;
    limit(1000);
}

/* Each call for memory that a thread's choice makes fails once: nothing has
 * changed then. */
static void
a_conservative_thread(void **state)
{
    struct alq_domain *d;
    enum alq_status status;
    uint64_t n;

    (void)state;
    for (n = 1;; n++) {
        assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
        refuse_begin(n, 1);
        status = alq_thread_conservative(d, NULL);
        refuse.armed = false;
        if (status == ALQ_OK)
            break;
        assert_int_equal(status, ALQ_ENOMEM);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        assert_null(alq_thread_self(d)->stack);
        row_check(row(d, 3), 3);
        assert_int_equal(alq_domain_drop(d), ALQ_OK);
    }
    assert_true(n >= 5); /* the thread's, the bits, both lists of blocks */
    row_check(row(d, 3), 3);
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conservative_thread),
        cmocka_unit_test(each_call_fails_once_and_for_good),
        cmocka_unit_test(small_blocks_respect_the_limit),
        cmocka_unit_test(large_blocks_respect_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
