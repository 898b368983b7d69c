/* heap_final_test.c -- finalisers and alarms
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
#include "live_kit.h"
#include "value_kit.h"

/* Values n down to 1 die together and young: they are made at once. */
enum { DYING_MAX = 50 };

static void
dying(unsigned n, alq_finalise_fn *fn)
{
    uintptr_t headers[DYING_MAX];
    alq_value values[DYING_MAX];
    unsigned i;

    assert_true(n <= DYING_MAX);
    for (i = 0; i < n; i++)
        headers[i] = ALQ_HEADER(1, 0);
    assert_true(alq_alloc_several(d, n, headers, values));
    for (i = 0; i < n; i++) {
        alq_init_small(values[i], 0, ALQ_UNIT);
        assert_int_equal(
            alq_gc_finalise_last(d, values[i], fn, alq_from_int(i + 1)),
            ALQ_OK);
    }
}

/* Values 1, 2, 3 with both kinds: reverse order, all first kinds first. */
static void
order_of_finalisers(void **state)
{
    unsigned old;

    (void)state;
    for (old = 0; old < 2; old++) {
        ALQ_FRAME(d, f, values[3]);
        unsigned i;

        told[0] = '\0';
        for (i = 0; i < 3; i++) {
            f.values[i] = cell((intptr_t)i + 1);
            first(f.values[i], i + 1);
            last(f.values[i], i + 1);
        }
        if (old)
            full_major();
        assert_string_equal(told, "");
        for (i = 0; i < 3; i++)
            f.values[i] = ALQ_NULL;
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        assert_string_equal(told, ""); /* the first kind keeps them */
        full_major();
        assert_memory_equal(told, "f3 f2 f1 ", 9);
        full_major();
        assert_string_equal(told, "f3 f2 f1 l3 l2 l1 ");
        full_major();
        assert_string_equal(told, "f3 f2 f1 l3 l2 l1 ");
    }
}

static enum alq_status
fn_ok(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    return ALQ_OK;
}

/* As OCaml's finalise: its documentation says so of floats and lazy values. */
static void
doubles_and_lazy_values_are_refused(void **state)
{
    static const unsigned tags[] = {244, 246, 250, ALQ_TAG_DOUBLE};
    unsigned tag, i;

    (void)state;
    for (tag = 0; tag < ALQ_TAG_CUSTOM; tag++) {
        alq_value v = alq_alloc(d, 1, tag);
        enum alq_status expected = ALQ_OK;

        for (i = 0; i < ALQI_COUNT_OF(tags); i++)
            if (tag == tags[i])
                expected = ALQ_EINVAL;
        assert_int_equal(alq_gc_finalise(d, v, fn_ok, ALQ_UNIT), expected);
        assert_int_equal(alq_gc_finalise_last(d, v, fn_ok, ALQ_UNIT), expected);
    }
    full_major();
}

/* B7, of one domain: a young value's last kind runs at the minor collection. */
static void
b7_young_finalise_last(void **state)
{
    ALQ_FRAME(d, f, held);

    (void)state;
    f.held = cell(4);
    last(f.held, 4);
    dying(3, tell_last);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_string_equal(told, "l3 l2 l1 ");
    f.held = ALQ_NULL;
    assert_int_equal(alq_gc_minor(d), ALQ_OK); /* it has become old */
    assert_string_equal(told, "l3 l2 l1 ");
    full_major();
    assert_string_equal(told, "l3 l2 l1 l4 ");
}

/* B6: 10000 arrays with both kinds between collections of each sort. */
static unsigned b6_calls[2];

static enum alq_status
b6_first(struct alq_domain *domain, alq_value v, alq_value with)
{
    (void)domain;
    assert_same(alq_field(v, 0), with);
    assert_int_equal(alq_wosize(v), 1 + (uintptr_t)alq_to_int(with) % 400);
    b6_calls[0]++;
    return ALQ_OK;
}

static enum alq_status
b6_last(struct alq_domain *domain, alq_value v, alq_value with)
{
    (void)domain;
    (void)with;
    assert_same(v, ALQ_UNIT);
    b6_calls[1]++;
    return ALQ_OK;
}

static void
b6_many_arrays(void **state)
{
    enum { N = ALQI_CHECKS >= 2 ? 2000 : 10000, HELD = 50 };
    ALQ_FRAME(d, f, held, array);
    unsigned i;

    (void)state;
    b6_calls[0] = b6_calls[1] = 0;
    f.held = alq_alloc(d, HELD, 0);
    for (i = 0; i < N; i++) {
        f.array = alq_alloc(d, 1 + i % 400, 0);
        alq_init(d, f.array, 0, alq_from_int(i));
        assert_int_equal(alq_gc_finalise(d, f.array, b6_first, alq_from_int(i)),
                         ALQ_OK);
        assert_int_equal(
            alq_gc_finalise_last(d, f.array, b6_last, alq_from_int(i)), ALQ_OK);
        alq_store(d, f.held, i % HELD, f.array);
        if (i % 97 == 0)
            alq_gc_minor(d);
        if (i % 499 == 0)
            alq_gc_major(d);
        alq_gc_major_slice(d, 100);
    }
    f.held = f.array = ALQ_NULL;
    full_major();
    full_major();
    assert_int_equal(b6_calls[0], N);
    assert_int_equal(b6_calls[1], N);
}

/* B9: a promoted string that is still used. */
static void
b9_promoted_and_used(void **state)
{
    ALQ_FRAME(d, f, string);

    (void)state;
    f.string = alq_string_copy(d, "used", 4);
    last(f.string, 9);
    full_major();
    assert_string_equal(alq_string_chars(f.string), "used");
    assert_string_equal(told, "");
    f.string = ALQ_NULL;
    full_major();
    assert_string_equal(told, "l9 ");
}

/* Weak references: full while the first kind runs, empty in the last. */
static struct alq_root *seen_weak;

static enum alq_status
see_full(struct alq_domain *domain, alq_value v, alq_value with)
{
    assert_same(alq_weak_get(domain, alq_root_get(seen_weak), 0), v);
    return tell_first(domain, v, with);
}

static enum alq_status
see_empty(struct alq_domain *domain, alq_value v, alq_value with)
{
    assert_int_equal(alq_weak_check(domain, alq_root_get(seen_weak), 0), 0);
    return tell_last(domain, v, with);
}

static void
weak_references_in_finalisers(void **state)
{
    unsigned step;

    (void)state;
    for (step = 0; step < 3; step++) {
        ALQ_FRAME(d, f, value);

        told[0] = '\0';
        seen_weak = alq_root_new(d, alq_weak_create(d, 1));
        f.value = cell(1);
        alq_weak_set(d, alq_root_get(seen_weak), 0, f.value);
        if (step < 2)
            assert_int_equal(
                alq_gc_finalise(d, f.value, see_full, alq_from_int(1)), ALQ_OK);
        assert_int_equal(
            alq_gc_finalise_last(d, f.value, see_empty, alq_from_int(1)),
            ALQ_OK);
        f.value = ALQ_NULL;
        if (step == 0) {
            full_major();
            full_major();
        } else if (step == 1) {
            while (strstr(told, "l1") == NULL)
                alq_gc_major_slice(d, 1);
        } else {
            alq_gc_minor(d);
        }
        assert_string_equal(told, step < 2 ? "f1 l1 " : "l1 ");
        alq_root_drop(d, seen_weak);
    }
}

/* One value that leads to another: both die at once; what is reached from a
 * value that is finalised is whole. */
static enum alq_status
look_inside(struct alq_domain *domain, alq_value v, alq_value with)
{
    assert_int_equal(alq_to_int(alq_field(alq_field(v, 1), 0)), 77);
    return tell_first(domain, v, with);
}

static void
finalised_values_are_whole(void **state)
{
    ALQ_FRAME(d, f, outer, inner);

    (void)state;
    f.inner = cell(77);
    assert_int_equal(alq_gc_finalise(d, f.inner, tell_first, alq_from_int(77)),
                     ALQ_OK);
    f.outer = alq_alloc(d, 2, 0);
    alq_init(d, f.outer, 0, alq_from_int(1));
    alq_init(d, f.outer, 1, f.inner);
    assert_int_equal(alq_gc_finalise(d, f.outer, look_inside, alq_from_int(1)),
                     ALQ_OK);
    full_major();
    assert_string_equal(told, "");
    f.outer = f.inner = ALQ_NULL;
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "f1 f77 ");
}

/* What a finaliser makes reachable again lives on. */
static struct alq_root *saved;

static enum alq_status
save(struct alq_domain *domain, alq_value v, alq_value with)
{
    alq_root_set(domain, saved, v);
    return tell_first(domain, v, with);
}

static void
values_are_resurrected(void **state)
{
    (void)state;
    saved = alq_root_new(d, ALQ_NULL);
    assert_int_equal(alq_gc_finalise(d, cell(5), save, alq_from_int(5)),
                     ALQ_OK);
    full_major();
    full_major();
    assert_string_equal(told, "f5 ");
    assert_int_equal(alq_to_int(alq_field(alq_root_get(saved), 0)), 5);
    last(alq_root_get(saved), 6);
    alq_root_drop(d, saved);
    full_major();
    assert_string_equal(told, "f5 l6 ");
}

/* What is registered with a finaliser lives until it has run, and a value that
 * is reachable from it does not die. */
static enum alq_status
use_with(struct alq_domain *domain, alq_value v, alq_value with)
{
    (void)v;
    (void)domain;
    tell("w", alq_to_int(alq_field(with, 0)));
    return ALQ_OK;
}

static void
values_with_finalisers(void **state)
{
    ALQ_FRAME(d, f, value, with);

    (void)state;
    f.with = cell(30);
    f.value = cell(1);
    assert_int_equal(alq_gc_finalise(d, f.value, use_with, f.with), ALQ_OK);
    assert_int_equal(alq_gc_finalise_last(d, f.value, use_with, f.with),
                     ALQ_OK);
    f.with = ALQ_NULL;
    full_major();
    assert_string_equal(told, "");
    f.value = ALQ_NULL;
    full_major();
    assert_string_equal(told, "w30 w30 ");
    told[0] = '\0';
    f.value = cell(2);
    assert_int_equal(alq_gc_finalise(d, f.value, use_with, f.value), ALQ_OK);
    f.value = ALQ_NULL;
    full_major();
    full_major();
    assert_string_equal(told, "");
}

/* ---- calls -------------------------------------------------------------- */

/* One at a time, unless released; a call that collects finds others due. */
static bool releases;

static enum alq_status
collecting(struct alq_domain *domain, alq_value v, alq_value with)
{
    (void)v;
    tell("start", alq_to_int(with));
    if (releases)
        alq_gc_finalise_release(domain);
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    tell("end", alq_to_int(with));
    return ALQ_OK;
}

static void
calls_do_not_nest(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < 2; i++) {
        releases = i == 1;
        told[0] = '\0';
        dying(2, collecting);
        full_major();
        assert_string_equal(told, releases ? "start2 start1 end1 end2 "
                                           : "start2 end2 start1 end1 ");
    }
}

/* A failing call: its status comes out, the others come later. */
static enum alq_status
failing_if_odd(struct alq_domain *domain, alq_value v, alq_value with)
{
    if (alq_to_int(with) % 2 == 0)
        return tell_last(domain, v, with);
    tell("x", alq_to_int(with));
    return ALQ_ECALLBACK;
}

static void
failing_calls(void **state)
{
    (void)state;
    dying(5, failing_if_odd);
    assert_int_equal(alq_gc_minor(d), ALQ_ECALLBACK);
    assert_string_equal(told, "x5 ");
    assert_int_equal(alq_status_of(d), ALQ_OK); /* a status of the call */
    assert_same(alq_alloc_small(d, 1, 0), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_ECALLBACK);
    assert_string_equal(told, "x5 l4 x3 ");
    alq_status_clear(d);
    alq_poll(d);
    assert_int_equal(alq_status_of(d), ALQ_ECALLBACK);
    assert_string_equal(told, "x5 l4 x3 l2 x1 ");
    alq_status_clear(d);
    assert_false(alq_is_null(alq_alloc_small(d, 1, 0)));
}

/* One that fails is the end of the cycles, and there is no compaction. */
static void
a_failing_call_ends_the_collection(void **state)
{
    ALQ_FRAME(d, f, values[2]);
    struct alq_gc_stats s;
    uint64_t before, compactions;
    unsigned i;

    (void)state;
    for (i = 0; i < 2; i++) {
        f.values[i] = cell(1);
        assert_int_equal(alq_gc_finalise_last(d, f.values[i], failing_if_odd,
                                              alq_from_int(1)),
                         ALQ_OK);
    }
    full_major();
    assert_int_equal(alq_gc_quick_stat(d, &s), ALQ_OK);
    compactions = s.compactions;
    for (i = 0; i < 2; i++) {
        before = cycles();
        f.values[i] = ALQ_NULL;
        assert_int_equal(i == 0 ? alq_gc_full_major(d) : alq_gc_compact(d),
                         ALQ_ECALLBACK);
        assert_int_equal(cycles(), before + 1);
    }
    assert_int_equal(alq_gc_quick_stat(d, &s), ALQ_OK);
    assert_true(s.compactions == compactions);
    full_major();
}

/* B20: a finaliser that collects while the caller holds a young value. */
static void
b20_collecting_finaliser(void **state)
{
    ALQ_FRAME(d, f, young);
    unsigned i;

    (void)state;
    releases = false;
    for (i = 0; i < 20; i++) {
        assert_int_equal(alq_gc_finalise_last(d, cell(0), collecting, ALQ_UNIT),
                         ALQ_OK);
        f.young = cell((intptr_t)i);
        alq_gc_minor(d);
        assert_int_equal(alq_to_int(alq_field(f.young, 0)), i);
    }
    assert_int_equal(strlen(told), 20 * strlen("start0 end0 "));
}

/* B21: found in the midst of allocations, it runs at one of them or at a poll,
 * never while the collector works: the heap is whole then. */
static enum alq_status
allocating(struct alq_domain *domain, alq_value v, alq_value with)
{
    ALQ_FRAME(domain, f, list, pair);
    unsigned i;

    (void)v;
    f.list = ALQ_UNIT;
    for (i = 0; i < 1000; i++) {
        f.pair = alq_alloc_small(domain, 2, 0);
        alq_init_small(f.pair, 0, with);
        alq_init_small(f.pair, 1, f.list);
        f.list = f.pair;
    }
    for (i = 0; i < 1000; i++) {
        assert_same(alq_field(f.list, 0), with);
        f.list = alq_field(f.list, 1);
    }
    tell("a", alq_to_int(with));
    return ALQ_OK;
}

static void
b21_calls_at_allocations(void **state)
{
    ALQ_FRAME(d, f, list);
    unsigned i;

    (void)state;
    dying(50, allocating);
    for (i = 0; strlen(told) == 0; i++) {
        assert_true(i < 10000000);
        f.list = cell((intptr_t)i);
    }
    assert_memory_equal(told, "a50 a49 ", 8);
    assert_non_null(strstr(told, "a1 "));
}

/* ---- alarms ------------------------------------------------------------- */

/* X20, spec 8.1, 13: ten cycles, ten calls; and with full_major one for each
 * cycle. */
static void
x20_an_alarm_each_cycle(void **state)
{
    struct alq_alarm *alarm;
    unsigned calls = 0, i;
    uint64_t before;

    (void)state;
    assert_int_equal(alq_gc_create_alarm(d, count_alarm, &calls, &alarm),
                     ALQ_OK);
    for (i = 1; i <= 10; i++) {
        assert_int_equal(alq_gc_major(d), ALQ_OK);
        assert_int_equal(calls, i);
    }
    before = cycles();
    full_major();
    assert_int_equal(calls, 10 + cycles() - before);
    calls = 0;
    before = cycles();
    while (cycles() < before + 4)
        alq_gc_major_slice(d, 1); /* of more words two cycles may end in one */
    assert_int_equal(calls, 4);
    alq_gc_delete_alarm(&alarm);
    assert_null(alarm);
    full_major();
    assert_int_equal(calls, 4);
}

/* B19: under allocation alone it is called, too. */
static void
b19_alarm_under_allocation(void **state)
{
    ALQ_FRAME(d, f, list, pair);
    struct alq_alarm *alarm;
    unsigned calls = 0, i;

    (void)state;
    assert_int_equal(alq_gc_create_alarm(d, count_alarm, &calls, &alarm),
                     ALQ_OK);
    for (i = 0; i < 100000000 && *(volatile unsigned *)&calls < 3; i++) {
        f.pair = alq_alloc_small(d, 2, 0);
        alq_init_small(f.pair, 0, alq_from_int(i));
        alq_init_small(f.pair, 1, i % 100000 ? f.list : ALQ_UNIT);
        f.list = f.pair;
    }
    assert_int_equal(calls, 3);
    assert_true(cycles() >= 3);
    alq_gc_delete_alarm(&alarm);
}

/* Two alarms that collect do not call each other for ever; one may delete
 * itself, or the other. */
static struct alq_alarm *alarms[4];

static enum alq_status
collecting_alarm(struct alq_domain *domain, void *arg)
{
    tell("c", *(int *)arg);
    return alq_gc_full_major(domain);
}

static enum alq_status
deleting_alarm(struct alq_domain *domain, void *arg)
{
    (void)domain;
    tell("d", *(int *)arg);
    alq_gc_delete_alarm(&alarms[1]);
    alq_gc_delete_alarm(&alarms[2]);
    return ALQ_ECALLBACK;
}

static void
alarms_that_do_things(void **state)
{
    static int number[] = {1, 2, 3};

    (void)state;
    assert_int_equal(
        alq_gc_create_alarm(d, collecting_alarm, &number[0], &alarms[0]),
        ALQ_OK);
    assert_int_equal(
        alq_gc_create_alarm(d, collecting_alarm, &number[1], &alarms[1]),
        ALQ_OK);
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "c1 c2 ");
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "c1 c2 c1 c2 ");
    alq_gc_delete_alarm(&alarms[0]);
    told[0] = '\0';
    assert_int_equal(
        alq_gc_create_alarm(d, deleting_alarm, &number[2], &alarms[2]), ALQ_OK);
    assert_int_equal(alq_gc_major(d), ALQ_ECALLBACK);
    assert_string_equal(told, "c2 d3 ");
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "c2 d3 ");
    assert_null(alarms[1]);
    /* One that outlives its domain is the program's still. */
    assert_int_equal(
        alq_gc_create_alarm(d, collecting_alarm, &number[0], &alarms[0]),
        ALQ_OK);
    alq_domain_drop(d);
    alq_gc_delete_alarm(&alarms[0]);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
}

/* What one collection makes due: finalisers, then alarms as they were created,
 * also those that were created in a call. */
static bool has_created;

static enum alq_status
creating_alarm(struct alq_domain *domain, void *arg)
{
    static int four = 4;

    tell("a", *(int *)arg);
    if (*(int *)arg != 1 || has_created)
        return ALQ_OK;
    has_created = true;
    return alq_gc_create_alarm(domain, creating_alarm, &four, &alarms[3]);
}

static void
alarms_come_last_and_in_order(void **state)
{
    static const char *const calls[] = {"f1 a1 a2 a3 ", "f2 a1 a2 a3 a4 ",
                                        "f3 a1 a3 a4 "};
    static int number[] = {1, 2, 3};
    ALQ_FRAME(d, f, values[3]);
    unsigned i, calls_of_5 = 0;

    (void)state;
    for (i = 0; i < 3; i++) {
        f.values[i] = cell((intptr_t)i + 1);
        first(f.values[i], i + 1);
    }
    full_major();
    for (i = 0; i < 3; i++)
        assert_int_equal(
            alq_gc_create_alarm(d, creating_alarm, &number[i], &alarms[i]),
            ALQ_OK);
    for (i = 0; i < 3; i++) {
        told[0] = '\0';
        f.values[i] = ALQ_NULL;
        assert_int_equal(alq_gc_major(d), ALQ_OK);
        assert_string_equal(told, calls[i]);
        if (i == 1)
            alq_gc_delete_alarm(&alarms[1]);
    }
    told[0] = '\0';
    alq_gc_delete_alarm(&alarms[3]); /* the last one of the list */
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_int_equal(
        alq_gc_create_alarm(d, count_alarm, &calls_of_5, &alarms[1]), ALQ_OK);
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "a1 a3 a1 a3 ");
    assert_int_equal(calls_of_5, 1);
    for (i = 0; i < 4; i++)
        alq_gc_delete_alarm(&alarms[i]);
}

/* Alarms that let others begin and collect: cycles that end in one, also while
 * another runs inside of it, or has, call none. */
static enum alq_status
releasing_alarm(struct alq_domain *domain, void *arg)
{
    enum alq_status st;

    assert_true(strlen(told) < 100);
    tell("start", *(int *)arg);
    alq_gc_finalise_release(domain);
    st = alq_gc_full_major(domain);
    tell("end", *(int *)arg);
    return st;
}

static void
alarms_that_release_come_to_an_end(void **state)
{
    static int number[] = {1, 2};
    unsigned i;

    (void)state;
    for (i = 0; i < 2; i++)
        assert_int_equal(
            alq_gc_create_alarm(d, releasing_alarm, &number[i], &alarms[i]),
            ALQ_OK);
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "start1 start2 end2 end1 ");
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_string_equal(told, "start1 start2 end2 end1 "
                              "start1 start2 end2 end1 ");
    for (i = 0; i < 2; i++)
        alq_gc_delete_alarm(&alarms[i]);
}

/* No finaliser runs when the domain ends. */
static void
no_calls_at_the_end(void **state)
{
    (void)state;
    {
        ALQ_FRAME(d, f, value);

        f.value = cell(1);
        first(f.value, 1);
        last(f.value, 1);
        full_major();
    }
    alq_domain_drop(d);
    assert_string_equal(told, "");
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LIVE(order_of_finalisers),
        LIVE(doubles_and_lazy_values_are_refused),
        LIVE(b7_young_finalise_last),
        LIVE(b6_many_arrays),
        LIVE(b9_promoted_and_used),
        LIVE(weak_references_in_finalisers),
        LIVE(finalised_values_are_whole),
        LIVE(values_are_resurrected),
        LIVE(values_with_finalisers),
        LIVE(calls_do_not_nest),
        LIVE(failing_calls),
        LIVE(a_failing_call_ends_the_collection),
        LIVE(b20_collecting_finaliser),
        LIVE(b21_calls_at_allocations),
        LIVE(x20_an_alarm_each_cycle),
        LIVE(b19_alarm_under_allocation),
        LIVE(alarms_that_do_things),
        LIVE(alarms_come_last_and_in_order),
        LIVE(alarms_that_release_come_to_an_end),
        LIVE(no_calls_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
