/* handover_test.c -- marking that is under way when a domain ends
 *
 * The child marks by itself, for its parent is away: so each test knows what is
 * marked when it ends, and makes the one moment that chance seldom makes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "heap/major_cycle.h"
#include "heap/weak_ephe.h"
#include "heap/weak_phase.h"
#include "heap/major_mark.h"

#include "domains_kit.h"

enum { LONG = 500 };

/* What the tests share, in a block that d holds. */
enum { WAY, KEPT, KEY, DATA, FAR_KEY, FAR_EPHE, FAR_DATA, SHARED };

static unsigned n_died;

static enum alq_status
count_death(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    n_died++;
    return ALQ_OK;
}

static alq_value
cell(struct alq_domain *on, alq_value field)
{
    ALQ_FRAME(on, f, field);
    alq_value v;

    f.field = field;
    v = alq_alloc_small(on, 1, 0);
    CHECK(v != ALQ_NULL);
    alq_init_small(v, 0, f.field);
    return v;
}

/* A cell whose death is counted, and which leads to 7. */
static alq_value
mortal(struct alq_domain *on)
{
    alq_value v = cell(on, alq_from_int(7));

    CHECK(alq_gc_finalise_last(on, v, count_death, ALQ_UNIT) == ALQ_OK);
    return v;
}

static void
is_alive(alq_value v)
{
    CHECK(alq_is_block(v) && alq_wosize(v) == 1);
    CHECK(alq_field(v, 0) == alq_from_int(7));
    CHECK(n_died == 0);
}

/* A slice is a word: until marking is at the step. */
static struct alqi_domain *
go_to(struct alq_domain *on, enum alqi_heap_weak_phase_step step)
{
    struct alqi_domain *of = alqi_heap_domain(on);
    struct alqi_heap *heap = of->heap;

    while (heap->cycle.phase != ALQI_HEAP_MARK ||
           heap->weak_phase.step != step) {
        CHECK(heap->cycle.phase != ALQI_HEAP_MARK ||
              heap->weak_phase.step < step);
        if (heap->cycle.phase == ALQI_HEAP_SWEPT)
            CHECK(alq_gc_major_slice(on, 1) == ALQ_OK);
        else
            alqi_heap_slice(of, 1);
    }
    return of;
}

/* The parent's share, as somebody does it who has taken that. */
static void
do_share_of(struct alq_domain *parent)
{
    struct alqi_domain *of = alqi_heap_domain(parent);

    CHECK(alqi_heap_weak_phase_work(of, SIZE_MAX) < SIZE_MAX);
    alqi_heap_mark_note_done(of);
}

/* ---- what overflowed ---------------------------------------------------- */

/* The last of a long list is marked by a store, which has no room to note it;
 * what it leads to has to be found by whoever takes over. */
static alq_value
overflow_and_end(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, last, holder);
    struct alqi_domain *of;
    size_t size, most;
    unsigned i;

    (void)data;
    f.arg = arg;
    CHECK(alq_gc_full_major(on) == ALQ_OK);
    of = go_to(on, ALQI_HEAP_WEAK_PHASE_MARK);
    for (f.holder = alq_field(f.arg, WAY), i = 1; i < LONG; i++)
        f.holder = alq_field(f.holder, 0);
    f.last = alq_field(f.holder, 0);
    CHECK(alqi_heap_mark_is_white(of, f.last));
    size = of->marker.size;
    most = of->marker.size_max;
    of->marker.size = of->marker.size_max = 0;
    alq_store(on, f.holder, 0, ALQ_UNIT);
    of->marker.size = size;
    of->marker.size_max = most;
    CHECK(of->marker.overflowed);
    CHECK(!alqi_heap_mark_is_white(of, f.last));
    CHECK(alqi_heap_mark_is_white(of, alq_field(f.last, 0)));
    alq_store(on, f.arg, KEPT, f.last);
    return ALQ_UNIT;
}

static void
what_overflowed_is_handed_over(void **state)
{
    ALQ_FRAME(d, f, shared, v);
    unsigned i;

    (void)state;
    n_died = 0;
    f.shared = alq_alloc(d, SHARED, 0);
    for (f.v = cell(d, mortal(d)), i = 0; i < LONG; i++)
        f.v = cell(d, f.v);
    alq_store(d, f.shared, WAY, f.v);
    f.v = ALQ_UNIT;
    finish(d, spawn(d, overflow_and_end, f.shared, NULL));
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    is_alive(alq_field(alq_field(f.shared, KEPT), 0));
}

/* ---- ephemerons --------------------------------------------------------- */

/* It has one that no pass has come to; all others are done. */
static alq_value
ephemeron_and_end(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, key, ephe);

    (void)data;
    f.arg = arg;
    f.key = alq_field(f.arg, KEY);
    f.ephe = alq_ephe_make(on, 1, &f.key, alq_field(f.arg, DATA));
    alq_store(on, f.arg, KEPT, f.ephe);
    alq_store(on, f.arg, DATA, ALQ_UNIT);
    f.ephe = ALQ_UNIT;
    CHECK(alq_gc_full_major(on) == ALQ_OK);
    go_to(on, ALQI_HEAP_WEAK_PHASE_EPHE);
    do_share_of(d);
    CHECK(alqi_heap_ephe_any_waits(alqi_heap_domain(on)));
    return ALQ_UNIT;
}

static void
an_adopter_looks_at_what_it_took(void **state)
{
    ALQ_FRAME(d, f, shared, v);

    (void)state;
    n_died = 0;
    f.shared = alq_alloc(d, SHARED, 0);
    f.v = cell(d, ALQ_UNIT);
    alq_store(d, f.shared, KEY, f.v);
    f.v = mortal(d);
    alq_store(d, f.shared, DATA, f.v);
    f.v = ALQ_UNIT;
    finish(d, spawn(d, ephemeron_and_end, f.shared, NULL));
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    is_alive(alq_ephe_get_data(d, alq_field(f.shared, KEPT)));
}

/* The third domain has looked at its ephemeron, whose key was dead then; the
 * one that ends marks the key by one of its own. */
static alq_value
mark_far_and_end(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, key, ephe);
    struct alqi_domain *far = data, *of;

    f.arg = arg;
    f.key = alq_field(f.arg, KEY);
    f.ephe = alq_ephe_make(on, 1, &f.key, alq_field(f.arg, DATA));
    alq_store(on, f.arg, KEPT, f.ephe);
    alq_store(on, f.arg, DATA, ALQ_UNIT);
    f.ephe = ALQ_UNIT;
    CHECK(alq_gc_full_major(on) == ALQ_OK);
    of = go_to(on, ALQI_HEAP_WEAK_PHASE_EPHE);
    do_share_of(d);
    do_share_of(&far->pub);
    CHECK(alqi_heap_ephe_any_waits(far) && alqi_heap_ephe_is_done(far));
    CHECK(alqi_heap_weak_phase_work(of, SIZE_MAX) < SIZE_MAX);
    CHECK(of->weak_phase.weak.n_darkened >
          of->weak_phase.weak.n_darkened_before);
    return ALQ_UNIT;
}

struct third {
    struct gate gate;
    struct alqi_domain *domain;
};

static alq_value
third_domain(struct alq_domain *on, alq_value arg, void *data)
{
    struct third *third = data;
    ALQ_FRAME(on, f, arg, key, ephe);

    f.arg = arg;
    third->domain = alqi_heap_domain(on);
    f.key = alq_field(f.arg, FAR_KEY);
    f.ephe = alq_ephe_make(on, 1, &f.key, alq_field(f.arg, FAR_DATA));
    alq_store(on, f.arg, FAR_EPHE, f.ephe);
    alq_store(on, f.arg, FAR_KEY, ALQ_UNIT);
    alq_store(on, f.arg, FAR_DATA, ALQ_UNIT);
    f.key = f.ephe = ALQ_UNIT;
    CHECK(alq_gc_minor(on) == ALQ_OK);
    return through_gate(on, ALQ_UNIT, &third->gate);
}

static void
what_the_ended_have_marked_counts(void **state)
{
    struct third third = {GATE, NULL};
    ALQ_FRAME(d, f, shared, v);
    struct alq_child *child;

    (void)state;
    n_died = 0;
    f.shared = alq_alloc(d, SHARED, 0);
    f.v = cell(d, ALQ_UNIT);
    alq_store(d, f.shared, KEY, f.v);
    f.v = cell(d, ALQ_UNIT);
    alq_store(d, f.shared, FAR_KEY, f.v);
    f.v = cell(d, f.v);
    alq_store(d, f.shared, DATA, f.v);
    f.v = mortal(d);
    alq_store(d, f.shared, FAR_DATA, f.v);
    f.v = ALQ_UNIT;
    child = spawn(d, third_domain, f.shared, &third);
    gate_await(&third.gate, 1);
    finish(d, spawn(d, mark_far_and_end, f.shared, third.domain));
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    is_alive(alq_ephe_get_data(d, alq_field(f.shared, FAR_EPHE)));
    gate_open(&third.gate);
    finish(d, child);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        T(what_overflowed_is_handed_over),
        T(an_adopter_looks_at_what_it_took),
        T(what_the_ended_have_marked_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
