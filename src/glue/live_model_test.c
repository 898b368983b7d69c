/* live_model_test.c -- weak arrays, ephemerons and finalisers at random beside
 * a model of them
 *
 * Each object of the model has a number, which its block holds in its first
 * field, key or place.  What the model says is reachable must be there, and in
 * each weak place that refers to it; of what is not, all places tell the same;
 * what is gone is gone for good; finalisers are called once, in their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"

enum {
    SLOTS = 120,
    REFS = 4, /* fields of a block, places, keys; an ephemeron's [0]: data */
    OBJECTS = 1 << 17,
    CHECK_EVERY = ALQI_CHECKS >= 2 ? 100 : 500,
    STEPS = ALQI_CHECKS >= 3   ? 4000
            : ALQI_CHECKS >= 2 ? 20000
                               : 400000
};

enum kind { BLOCK, WEAK, EPHE };

struct object {
    enum kind kind;
    uint32_t ref[REFS]; /* numbers; 0: none */
    unsigned first_due;
    unsigned last_due;
    bool gone;
    uint32_t walk;  /* reached in */
    uint32_t asked; /* in which walk a weak place was looked at */
    bool is_full;   /* what that said */
    alq_value at;
};

static struct object objects[OBJECTS];
static uint32_t n_objects, walk, n_todo, n_ephes, n_calls, n_emptied;
static uint32_t todo[OBJECTS], ephes[OBJECTS];
static uint64_t seed;
static bool runs_by_itself; /* the collector, but for some calls */
static struct alq_domain *d;
static alq_value slots[SLOTS];
static alq_value *top = slots + SLOTS;
static uint32_t held[SLOTS];

static uint32_t
rnd(uint32_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(seed) % n);
}

static void
hold(unsigned i, alq_value v, uint32_t id)
{
    slots[i] = v;
    held[i] = id;
}

/* ---- blocks ------------------------------------------------------------- */

static uint32_t
id_of(alq_value v)
{
    if (alq_weak_length(v) > 0)
        return (uint32_t)alq_to_int(alq_weak_get(d, v, 0));
    if (alq_ephe_length(v) > 0)
        return (uint32_t)alq_to_int(alq_ephe_get_key(d, v, 0));
    return (uint32_t)alq_to_int(alq_field(v, 0));
}

/* Of an ephemeron, ref 0 is the data. */
static bool
is_full(uint32_t id, unsigned i)
{
    alq_value v = objects[id].at;

    if (objects[id].kind == WEAK)
        return alq_weak_check(d, v, i + 1);
    return i == 0 ? alq_ephe_check_data(d, v) : alq_ephe_check_key(d, v, i);
}

static alq_value
get(enum kind kind, alq_value v, unsigned i)
{
    if (kind == BLOCK)
        return alq_field(v, i + 1);
    if (kind == WEAK)
        return alq_weak_get(d, v, i + 1);
    return i == 0 ? alq_ephe_get_data(d, v) : alq_ephe_get_key(d, v, i);
}

static void
set(enum kind kind, alq_value block, unsigned i, alq_value v)
{
    enum alq_status st = ALQ_OK;

    if (kind == BLOCK)
        alq_store(d, block, i + 1, v == ALQ_NULL ? ALQ_UNIT : v);
    else if (kind == WEAK)
        st = alq_weak_set(d, block, i + 1, v);
    else if (i == 0)
        st = alq_ephe_set_data(d, block, v);
    else
        st = alq_ephe_set_key(d, block, i, v);
    assert_int_equal(st, ALQ_OK);
}

/* ---- the model ---------------------------------------------------------- */

static void
reach(uint32_t id, alq_value v)
{
    struct object *o = &objects[id];

    if (id == 0)
        return;
    assert_true(alq_is_block(v));
    assert_int_equal(id_of(v), id);
    assert_false(o->gone);
    if (o->walk == walk) {
        assert_int_equal(o->at, v);
        return;
    }
    o->walk = walk;
    o->at = v;
    todo[n_todo++] = id;
}

static bool
keys_live(const struct object *o)
{
    unsigned i;

    for (i = 1; i < REFS; i++)
        if (o->ref[i] != 0 && objects[o->ref[i]].walk != walk)
            return false;
    return true;
}

static void
reach_all(void)
{
    uint32_t i, k;
    bool again = true;

    walk++;
    n_todo = n_ephes = 0;
    for (i = 0; i < SLOTS; i++)
        reach(held[i], slots[i]);
    while (again) {
        while (n_todo > 0) {
            struct object *o = &objects[todo[--n_todo]];

            if (o->kind == EPHE)
                ephes[n_ephes++] = (uint32_t)(o - objects);
            for (i = 0; o->kind == BLOCK && i < REFS; i++)
                reach(o->ref[i], alq_field(o->at, i + 1));
        }
        again = false;
        for (k = i = 0; i < n_ephes; i++) {
            struct object *o = &objects[ephes[i]];

            if (!keys_live(o)) {
                ephes[k++] = ephes[i];
                continue;
            }
            if (o->ref[0] != 0)
                reach(o->ref[0], alq_ephe_get_data(d, o->at));
            again |= n_todo > 0;
        }
        n_ephes = k;
    }
}

/* A weak place or key, and what other places say. */
static void
check_place(uint32_t id, unsigned i)
{
    struct object *o = &objects[id], *to = &objects[o->ref[i]];
    bool full = is_full(id, i);

    if (to->walk == walk) {
        assert_true(full);
        assert_int_equal(get(o->kind, o->at, i), to->at);
        return;
    }
    if (to->asked == walk)
        assert_int_equal(to->is_full, full);
    to->asked = walk;
    to->is_full = full;
    if (full) {
        assert_false(to->gone);
        return;
    }
    assert_int_equal(to->first_due, 0);
    to->gone = true;
    n_emptied++;
    o->ref[i] = 0;
    if (o->kind == EPHE) {
        assert_false(alq_ephe_check_data(d, o->at));
        o->ref[0] = 0;
    }
}

static void
check(void)
{
    uint32_t id;
    unsigned i;

    reach_all();
    for (id = 1; id <= n_objects; id++) {
        struct object *o = &objects[id];

        if (o->walk != walk || o->kind == BLOCK)
            continue;
        for (i = o->kind == EPHE; i < REFS; i++)
            if (o->ref[i] != 0)
                check_place(id, i);
        if (o->kind == EPHE && o->ref[0] != 0)
            assert_true(alq_ephe_check_data(d, o->at));
    }
}

/* What an ephemeron or weak array has lost, before it is written. */
static void
look_again(uint32_t id, alq_value v)
{
    struct object *o = &objects[id];
    unsigned i;

    o->at = v;
    for (i = o->kind == EPHE; o->kind != BLOCK && i < REFS; i++)
        if (o->ref[i] != 0 && !is_full(id, i)) {
            objects[o->ref[i]].gone = true;
            o->ref[i] = 0;
            if (o->kind == EPHE)
                o->ref[0] = 0;
        }
}

/* ---- finalisers --------------------------------------------------------- */

static enum alq_status
first_call(struct alq_domain *domain, alq_value v, alq_value with)
{
    uint32_t id = (uint32_t)alq_to_int(with);

    (void)domain;
    n_calls++;
    assert_int_equal(id_of(v), id);
    assert_false(objects[id].gone);
    assert_true(objects[id].first_due > 0);
    objects[id].first_due--;
    if (rnd(3) == 0)
        hold(rnd(SLOTS), v, id); /* it lives on */
    if (rnd(20) == 0)
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    return ALQ_OK;
}

static enum alq_status
last_call(struct alq_domain *domain, alq_value v, alq_value with)
{
    uint32_t id = (uint32_t)alq_to_int(with);

    (void)domain;
    n_calls++;
    assert_int_equal(v, ALQ_UNIT);
    assert_int_equal(objects[id].first_due, 0);
    assert_true(objects[id].last_due > 0);
    objects[id].last_due--;
    objects[id].gone = true;
    if (rnd(20) == 0)
        assert_int_equal(alq_gc_major_slice(d, 100), ALQ_OK);
    return ALQ_OK;
}

/* ---- steps -------------------------------------------------------------- */

static uint32_t
pick(alq_value *v)
{
    unsigned i = rnd(SLOTS), depth = rnd(6), f;
    uint32_t id = held[i];

    *v = id == 0 ? ALQ_NULL : slots[i];
    while (depth-- > 0 && id != 0) {
        f = rnd(REFS);
        if (objects[id].kind != BLOCK || objects[id].ref[f] == 0)
            break;
        id = objects[id].ref[f];
        *v = alq_field(*v, f + 1);
    }
    return id;
}

static void
step_new(void)
{
    enum kind kind = (enum kind)rnd(3);
    uint32_t id = ++n_objects;
    struct object *o = &objects[id];
    alq_value v, to;
    unsigned i;

    assert_true(id < OBJECTS - 1);
    memset(o, 0, sizeof *o);
    o->kind = kind;
    if (kind == BLOCK)
        v = alq_alloc(d, rnd(50) == 0 ? 400 : REFS + 1, 0);
    else if (kind == WEAK)
        v = alq_weak_create(d, rnd(50) == 0 ? 400 : REFS + 1);
    else
        v = alq_ephe_create(d, REFS);
    assert_int_not_equal(v, ALQ_NULL);
    if (kind == BLOCK)
        alq_init(d, v, 0, alq_from_int(id));
    else if (kind == WEAK)
        alq_weak_set(d, v, 0, alq_from_int(id));
    else
        alq_ephe_set_key(d, v, 0, alq_from_int(id));
    for (i = 0; i < REFS; i++) {
        o->ref[i] = rnd(3) ? pick(&to) : 0;
        if (o->ref[i] != 0)
            set(kind, v, i, to);
    }
    hold(rnd(SLOTS), v, id);
}

static void
step_set(void)
{
    alq_value v, to;
    uint32_t id = pick(&v), with = pick(&to);
    unsigned i = rnd(REFS);

    if (id == 0)
        return;
    look_again(id, v);
    objects[id].ref[i] = with;
    set(objects[id].kind, v, i, to);
}

static void
step_get(void)
{
    alq_value v, got;
    uint32_t id = pick(&v);
    unsigned i = rnd(REFS);

    if (id == 0 || objects[id].kind == BLOCK)
        return;
    look_again(id, v);
    got = get(objects[id].kind, v, i);
    assert_int_equal(got == ALQ_NULL, objects[id].ref[i] == 0);
    if (got == ALQ_NULL)
        return;
    assert_int_equal(id_of(got), objects[id].ref[i]);
    hold(rnd(SLOTS), got, objects[id].ref[i]);
}

/* From one weak array or ephemeron to another, perhaps the same. */
static void
step_blit(void)
{
    alq_value a, b;
    uint32_t from = pick(&a), to = pick(&b), moved[REFS];
    unsigned i, j, n;
    struct object *o = &objects[to];

    if (from == 0 || to == 0 || o->kind == BLOCK ||
        objects[from].kind != o->kind)
        return;
    look_again(from, a);
    look_again(to, b);
    i = 1 + rnd(REFS - 1);
    j = 1 + rnd(REFS - 1);
    n = rnd(REFS - (i > j ? i : j) + 1);
    memcpy(moved, &objects[from].ref[i], n * sizeof moved[0]);
    memcpy(&o->ref[j], moved, n * sizeof moved[0]);
    if (o->kind == WEAK) {
        assert_int_equal(alq_weak_blit(d, a, i + 1, b, j + 1, n), ALQ_OK);
        return;
    }
    assert_int_equal(alq_ephe_blit_key(d, a, i, b, j, n), ALQ_OK);
    if (rnd(2)) {
        o->ref[0] = objects[from].ref[0];
        assert_int_equal(alq_ephe_blit_data(d, a, b), ALQ_OK);
    }
}

static void
step_finalise(void)
{
    alq_value v;
    uint32_t id = pick(&v);

    if (id == 0)
        return;
    if (rnd(2)) {
        objects[id].first_due++;
        assert_int_equal(alq_gc_finalise(d, v, first_call, alq_from_int(id)),
                         ALQ_OK);
    } else {
        objects[id].last_due++;
        assert_int_equal(
            alq_gc_finalise_last(d, v, last_call, alq_from_int(id)), ALQ_OK);
    }
}

/* Nothing is left to be found: what is not reachable is gone. */
static void
step_settle(void)
{
    uint32_t before, id;
    unsigned i;

    do {
        before = n_calls;
        assert_int_equal(rnd(2) ? alq_gc_full_major(d) : alq_gc_compact(d),
                         ALQ_OK);
    } while (n_calls != before);
    check();
    for (id = 1; id <= n_objects; id++) {
        struct object *o = &objects[id];

        if (o->walk != walk) {
            assert_int_equal(o->first_due + o->last_due, 0);
            o->gone = true;
            continue;
        }
        for (i = 0; o->kind != BLOCK && i < REFS; i++)
            assert_true(o->ref[i] == 0 || objects[o->ref[i]].walk == walk);
    }
}

/* The minor heap fills up, so that slices come in the midst of it. */
static void
step_garbage(void)
{
    unsigned i, n = rnd(60);

    for (i = 0; i < n; i++)
        assert_int_not_equal(alq_alloc(d, rnd(20), 0), ALQ_NULL);
}

static void
step(void)
{
    uint32_t which = rnd(1000);
    alq_value v;
    uint32_t id;

    if (which < 250)
        step_new();
    else if (which < 450)
        step_set();
    else if (which < 550)
        step_get();
    else if (which < 620)
        step_blit();
    else if (which < 660)
        step_finalise();
    else if (which < 760) {
        id = pick(&v);
        hold(rnd(SLOTS), v, id);
    } else if (which < 860)
        hold(rnd(SLOTS), ALQ_UNIT, 0);
    else if (which < 975 && runs_by_itself)
        step_garbage();
    else if (which < 975)
        assert_int_equal(alq_gc_major_slice(d, 1 + rnd(rnd(3) ? 12 : 200)),
                         ALQ_OK);
    else if (runs_by_itself && rnd(50) != 0)
        return;
    else if (which < 990)
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
    else if (which < 998)
        assert_int_equal(alq_gc_major(d), ALQ_OK);
    else
        step_settle();
}

static void
at_random(void **state)
{
    static struct alq_range range = {slots, &top, NULL, NULL};
    struct alq_domain_config config = {.minor_words = 4096,
                                       .space_overhead = 1};
    uint64_t run;
    unsigned i;

    (void)state;
    for (run = 1; run <= 4; run++) {
        seed = run;
        runs_by_itself = run % 2 == 0;
        n_objects = walk = n_calls = n_emptied = 0;
        memset(held, 0, sizeof held);
        memset(slots, 0, sizeof slots);
        memset(objects, 0, sizeof objects);
        assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
        assert_int_equal(alq_range_add(d, &range), ALQ_OK);
        for (i = 0; i < STEPS; i++) {
            step();
            if (i % CHECK_EVERY == 0)
                check();
        }
        step_settle();
        assert_true(n_calls > STEPS / 100 && n_emptied > STEPS / 100);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        alq_domain_drop(d);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
