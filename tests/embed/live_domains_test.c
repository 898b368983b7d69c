/* live_domains_test.c -- weak references and finalisers of several domains
 *
 * B5 ... B14 are rows of OCaml's own tests, by their names in the list of
 * scenarios that the heap is to mirror. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/test_seed.h"
#include "heap/major_cycle.h"

#include "domains_kit.h"

enum { DOMAINS = 4 };

static alq_value
cell(struct alq_domain *on, intptr_t n)
{
    alq_value v = alq_alloc_small(on, 1, 0);

    CHECK(v != ALQ_NULL);
    alq_init_small(v, 0, alq_from_int(n));
    return v;
}

static void
cell_check(alq_value v, intptr_t n)
{
    CHECK(alq_is_block(v) && alq_wosize(v) == 1);
    CHECK(alq_to_int(alq_field(v, 0)) == n);
}

static void
full_major(struct alq_domain *on)
{
    CHECK(alq_gc_full_major(on) == ALQ_OK);
}

static uint64_t
cycles(struct alq_domain *on)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(on, &c) == ALQ_OK);
    return c.major_cycles;
}

static enum alq_status
count_call(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    __atomic_add_fetch((unsigned *)alq_to_int(with), 1, __ATOMIC_RELAXED);
    return ALQ_OK;
}

static void
count_last(struct alq_domain *on, alq_value v, unsigned *n)
{
    CHECK(alq_gc_finalise_last(on, v, count_call, alq_from_int((intptr_t)n)) ==
          ALQ_OK);
}

static void
count_first(struct alq_domain *on, alq_value v, unsigned *n)
{
    CHECK(alq_gc_finalise(on, v, count_call, alq_from_int((intptr_t)n)) ==
          ALQ_OK);
}

/* In all domains at the same time, the test's too. */
static void
everywhere(alq_domain_fn *fn, alq_value arg, void *data)
{
    struct alq_child *children[DOMAINS - 1];
    ALQ_FRAME(d, f, arg);
    unsigned i;

    f.arg = arg;
    for (i = 0; i < DOMAINS - 1; i++)
        children[i] = spawn(d, fn, f.arg, data);
    fn(d, f.arg, data);
    for (i = 0; i < DOMAINS - 1; i++)
        finish(d, children[i]);
}

/* ---- B5: cases of ephemerons, in each domain at once -------------------- */

/* key lives or not, data live or not: [n] says whether the data are there. */
static void
b5_key_and_data(struct alq_domain *on)
{
    unsigned key_lives, data_live;

    for (key_lives = 0; key_lives < 2; key_lives++)
        for (data_live = 0; data_live < 2; data_live++) {
            ALQ_FRAME(on, f, key, data, ephe);
            unsigned gone = 0;

            f.key = cell(on, 1);
            f.data = cell(on, 2);
            count_last(on, f.data, &gone);
            f.ephe = alq_ephe_make(on, 1, &f.key, f.data);
            if (!key_lives)
                f.key = ALQ_NULL;
            if (!data_live)
                f.data = ALQ_NULL;
            full_major(on);
            CHECK(gone == (!key_lives && !data_live));
            CHECK(alq_ephe_check_key(on, f.ephe, 0) == (int)key_lives);
            CHECK(alq_ephe_check_data(on, f.ephe) == (int)key_lives);
            if (key_lives)
                cell_check(alq_ephe_get_data(on, f.ephe), 2);
            f.key = f.data = f.ephe = ALQ_NULL;
            full_major(on); /* it calls before it returns: `gone` ends here */
            CHECK(gone == 1);
        }
}

/* The key one step away; reachable from the data only; the ephemeron, too. */
static void
b5_ways(struct alq_domain *on)
{
    ALQ_FRAME(on, f, key, data, ephe, way);
    unsigned gone = 0;

    f.key = cell(on, 1);
    f.way = alq_alloc(on, 1, 0);
    alq_init(on, f.way, 0, f.key);
    f.ephe = alq_ephe_make(on, 1, &f.key, ALQ_UNIT);
    f.key = ALQ_NULL;
    full_major(on);
    CHECK(alq_ephe_check_data(on, f.ephe) == 1);
    cell_check(alq_ephe_get_key(on, f.ephe, 0), 1);
    f.key = cell(on, 3);
    f.data = alq_alloc(on, 2, 0);
    alq_init(on, f.data, 0, f.key);
    count_last(on, f.data, &gone);
    f.ephe = alq_ephe_make(on, 1, &f.key, f.data);
    alq_store(on, f.data, 1, f.ephe);
    full_major(on);
    CHECK(gone == 0 && alq_ephe_get_data(on, f.ephe) == f.data);
    f.key = f.data = ALQ_NULL;
    full_major(on);
    full_major(on);
    CHECK(gone == 1);
    CHECK(alq_ephe_check_key(on, f.ephe, 0) == 0);
    CHECK(alq_ephe_check_data(on, f.ephe) == 0);
}

/* A weak reference to what only an ephemeron led to. */
static void
b5_weak(struct alq_domain *on)
{
    ALQ_FRAME(on, f, key, data, ephe, weak);

    f.weak = alq_weak_create(on, 1);
    f.key = cell(on, 1);
    f.data = cell(on, 2);
    alq_weak_set(on, f.weak, 0, f.data);
    f.ephe = alq_ephe_make(on, 1, &f.key, f.data);
    f.data = ALQ_NULL;
    full_major(on);
    cell_check(alq_weak_get(on, f.weak, 0), 2);
    f.key = ALQ_NULL;
    full_major(on);
    full_major(on);
    full_major(on);
    CHECK(alq_weak_check(on, f.weak, 0) == 0);
}

static alq_value
b5_cases(struct alq_domain *on, alq_value arg, void *data)
{
    unsigned i;

    (void)data;
    for (i = 0; i < (IS_HARD ? 1 : 5); i++) {
        b5_key_and_data(on);
        b5_ways(on);
        b5_weak(on);
    }
    return arg;
}

static void
b5_ephemerons_in_all(void **state)
{
    (void)state;
    everywhere(b5_cases, ALQ_UNIT, NULL);
}

/* ---- B8: finalisers of domains that have ended -------------------------- */

enum { B8_DOMAINS = 3, B8_ROUNDS = IS_HARD ? 2 : 11, B8_TREES = 251 };

struct b8 {
    unsigned made;
    unsigned first;
    unsigned last;
};

static alq_value
b8_trees(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, tree, arg);
    struct b8 *b = data;
    unsigned i;

    f.arg = arg;
    for (i = 0; i < (IS_HARD ? 20 : B8_TREES); i++) {
        f.tree = tree(on, 1 + (int)(i % 6));
        count_first(on, f.tree, &b->first);
        count_last(on, f.tree, &b->last);
        count_last(on, cell(on, 1), &b->last); /* dies young */
        __atomic_add_fetch(&b->made, 1, __ATOMIC_RELAXED);
        if (i % 50 == 7)
            alq_store(on, alq_field(f.arg, 0), 0, f.tree); /* for a while */
        if (i % 100 == 50)
            CHECK(alq_gc_major_slice(on, 1000) == ALQ_OK);
    }
    return f.arg;
}

static void
b8_finalisers_are_handed_over(void **state)
{
    struct b8 b = {0, 0, 0};
    ALQ_FRAME(d, f, shared, arg);
    unsigned round, i;

    (void)state;
    f.arg = alq_alloc(d, 1, 0);
    f.shared = alq_alloc(d, 1, 0);
    alq_store(d, f.arg, 0, f.shared);
    for (round = 0; round < B8_ROUNDS; round++) {
        struct alq_child *children[B8_DOMAINS];

        for (i = 0; i < B8_DOMAINS; i++)
            children[i] = spawn(d, b8_trees, f.arg, &b);
        for (i = 0; i < B8_DOMAINS; i++)
            finish(d, children[i]);
        alq_store(d, f.shared, 0, ALQ_UNIT);
        full_major(d);
        assert_int_equal(b.first, b.made);
        full_major(d); /* what was kept for the first kind dies now */
        assert_int_equal(b.last, 2 * b.made);
    }
}

/* B7: a child's finalisers are called by its parent, the first kind first, the
 * last registered first. */
static char b7_told[64];

static enum alq_status
b7_tell(struct alq_domain *on, alq_value v, alq_value with)
{
    size_t at = strlen(b7_told);

    (void)v;
    CHECK(on == d && at + 2 < sizeof b7_told);
    b7_told[at] = (char)alq_to_int(with);
    b7_told[at + 1] = '\0';
    return ALQ_OK;
}

static alq_value
b7_child(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, values[2]);
    unsigned i;

    (void)data;
    for (i = 0; i < 2; i++) {
        f.values[i] = cell(on, (intptr_t)i);
        CHECK(alq_gc_finalise_last(on, f.values[i], b7_tell,
                                   alq_from_int('a' + (intptr_t)i)) == ALQ_OK);
        CHECK(alq_gc_finalise(on, f.values[i], b7_tell,
                              alq_from_int('A' + (intptr_t)i)) == ALQ_OK);
    }
    return arg;
}

static void
b7_parent_calls_the_childs(void **state)
{
    (void)state;
    b7_told[0] = '\0';
    finish(d, spawn(d, b7_child, ALQ_UNIT, NULL));
    full_major(d);
    full_major(d);
    assert_string_equal(b7_told, "BAba");
}

/* ---- B12: lifetimes, each domain in its part of one array --------------- */

enum { B12_PART = IS_HARD ? 10 : 100, B12_CYCLES = IS_HARD ? 3 : 20 };

struct b12 {
    uint32_t parts;
};

static alq_value
b12_lifetimes(struct alq_domain *on, alq_value arg, void *data)
{
    struct b12 *b = data;
    uint32_t part = __atomic_fetch_add(&b->parts, 1, __ATOMIC_RELAXED);
    uint64_t erased[B12_PART], start, random = part;
    ALQ_FRAME(on, f, weak, held);
    unsigned i, n_gone = 0;

    f.weak = arg;
    f.held = alq_alloc(on, B12_PART, 0);
    for (i = 0; i < B12_PART; i++)
        erased[i] = 1; /* 0: held; else one more than the cycle it was
                          dropped in */
    for (start = cycles(on); cycles(on) < start + B12_CYCLES;) {
        size_t place;

        random = alqi_base_mix(random + 1);
        i = random % B12_PART;
        place = part * B12_PART + i;
        if (erased[i] == 0) {
            CHECK(alq_weak_get(on, f.weak, place) == alq_field(f.held, i));
            alq_store(on, f.held, i, ALQ_UNIT);
            erased[i] = cycles(on) + 1;
        } else if (!alq_weak_check(on, f.weak, place)) {
            alq_value v = cell(on, (intptr_t)place);

            alq_store(on, f.held, i, v);
            alq_weak_set(on, f.weak, place, v);
            erased[i] = 0;
            n_gone++;
        } else {
            CHECK(cycles(on) + 1 < erased[i] + 2);
        }
        /* What others hold is full or empty: looking does not keep it. */
        alq_weak_check(on, f.weak, (random >> 32) % (DOMAINS * B12_PART));
        if (i % 8 == 0)
            CHECK(alq_gc_major_slice(on, 20) == ALQ_OK);
    }
    CHECK(n_gone > B12_PART);
    return ALQ_UNIT;
}

static void
b12_weak_lifetimes(void **state)
{
    struct b12 b = {0};

    (void)state;
    everywhere(b12_lifetimes, alq_weak_create(d, DOMAINS * B12_PART), &b);
}

/* ---- B14: all write and read the same places ---------------------------- */

enum { B14_PLACES = 16, B14_STEPS = ALQI_TEST_ROUNDS(60000, 15000, 300) };

static void
b14_check(alq_value v, unsigned place)
{
    if (v == ALQ_NULL)
        return;
    CHECK(alq_is_block(v) && alq_wosize(v) == 3);
    CHECK(alq_field(v, 0) == alq_from_int(place));
    CHECK(alq_field(v, 2) ==
          alq_from_int((intptr_t)(alqi_base_mix(alq_field(v, 1)) >> 2)));
}

static alq_value
b14_block(struct alq_domain *on, unsigned place, intptr_t n)
{
    alq_value v = alq_alloc_small(on, 3, 0);

    CHECK(v != ALQ_NULL);
    alq_init_small(v, 0, alq_from_int(place));
    alq_init_small(v, 1, alq_from_int(n));
    alq_init_small(
        v, 2,
        alq_from_int(
            (intptr_t)(alqi_base_mix((uint64_t)alq_from_int(n)) >> 2)));
    return v;
}

/* Fields: a weak array, ephemerons.  Each may at any moment be set, copied or
 * dropped by another. */
static alq_value
b14_races(struct alq_domain *on, alq_value arg, void *data)
{
    uint64_t random =
        __atomic_add_fetch((uint64_t *)data, 1, __ATOMIC_RELAXED) * 100;
    ALQ_FRAME(on, f, arg, mine, seen);
    unsigned step, place;

    f.arg = arg;
    for (step = 0; step < B14_STEPS; step++) {
        alq_value weak, ephe;

        random = alqi_base_mix(random + 1);
        place = random % B14_PLACES;
        if (random >> 32 & 1)
            f.mine = b14_block(on, place, (intptr_t)(random >> 34));
        else
            f.mine = ALQ_NULL;
        weak = alq_field(f.arg, 0);
        ephe = alq_field(f.arg, 1 + place);
        f.seen = alq_weak_get(on, weak, place);
        b14_check(f.seen, place);
        if (f.mine != ALQ_NULL) {
            alq_weak_set(on, weak, place, f.mine);
            alq_ephe_set_key(on, ephe, 0, f.mine);
            alq_ephe_set_data(on, ephe, f.mine);
        } else if (random >> 33 & 1) {
            alq_ephe_blit_key(on, ephe, 0, ephe, 1, 1);
            alq_ephe_blit_data(on, ephe, ephe);
        } else {
            alq_ephe_set_key(on, ephe, 1, f.seen);
        }
        b14_check(alq_ephe_get_data(on, ephe), place);
        b14_check(alq_ephe_get_key(on, ephe, 0), place);
        b14_check(alq_ephe_get_key(on, ephe, 1), place);
        if (random >> 40 & 1)
            f.seen = alq_weak_get_copy(on, alq_field(f.arg, 0), place);
        b14_check(f.seen, place);
        if ((random >> 41) % 8 == 0)
            CHECK(alq_gc_major_slice(on, 30) == ALQ_OK);
        b14_check(f.seen, place);
    }
    return ALQ_UNIT;
}

static void
b14_races_of_places(void **state)
{
    ALQ_FRAME(d, f, shared, v);
    uint64_t seed = alqi_base_test_seed();
    unsigned i;

    (void)state;
    f.shared = alq_alloc(d, 1 + B14_PLACES, 0);
    f.v = alq_weak_create(d, B14_PLACES);
    alq_store(d, f.shared, 0, f.v);
    for (i = 0; i < B14_PLACES; i++) {
        f.v = alq_ephe_create(d, 2);
        alq_store(d, f.shared, 1 + i, f.v);
    }
    f.v = ALQ_NULL;
    everywhere(b14_races, f.shared, &seed);
}

/* ---- ends, in each moment of a cycle ------------------------------------ */

/* What a domain leaves: its blocks stand in `shared`, which another holds. */
enum { LEFT = 5, LEFT_WEAK = 0, LEFT_EPHES = 1, LEFT_KEYS = 2, LEFT_FIELDS };

struct leaver {
    struct gate gate;
    unsigned first;
    unsigned last;
};

/* Keys 0, 2, 4 will live. */
static void
leaver_fill(struct alq_domain *on, alq_value shared, struct leaver *l)
{
    ALQ_FRAME(on, f, shared, key, ephe, weak, all);
    unsigned i;

    f.shared = shared;
    f.weak = alq_weak_create(on, LEFT);
    f.all = alq_alloc(on, LEFT, 0);
    for (i = 0; i < LEFT; i++) {
        f.key = cell(on, (intptr_t)i);
        alq_weak_set(on, f.weak, i, f.key);
        count_first(on, f.key, &l->first);
        count_last(on, f.key, &l->last);
        f.ephe = cell(on, 100 + (intptr_t)i);
        f.ephe = alq_ephe_make(on, 1, &f.key, f.ephe);
        alq_store(on, f.all, i, f.ephe);
        if (i % 2 == 0)
            alq_store(on, alq_field(f.shared, LEFT_KEYS), i, f.key);
    }
    alq_store(on, f.shared, LEFT_WEAK, f.weak);
    alq_store(on, f.shared, LEFT_EPHES, f.all);
}

static alq_value
leave(struct alq_domain *on, alq_value arg, void *data)
{
    struct leaver *l = data;
    ALQ_FRAME(on, f, arg);

    f.arg = arg;
    leaver_fill(on, f.arg, l);
    return through_gate(on, f.arg, &l->gate);
}

/* Weak places and ephemerons tell the same, and of what lives all. */
static void
left_check(alq_value shared, bool settled)
{
    alq_value weak = alq_field(shared, LEFT_WEAK);
    alq_value ephes = alq_field(shared, LEFT_EPHES);
    alq_value keys = alq_field(shared, LEFT_KEYS);
    unsigned i;

    for (i = 0; i < LEFT; i++) {
        alq_value ephe = alq_field(ephes, i);
        bool lives = i % 2 == 0;

        assert_int_equal(alq_weak_check(d, weak, i),
                         alq_ephe_check_key(d, ephe, 0));
        assert_int_equal(alq_weak_check(d, weak, i),
                         alq_ephe_check_data(d, ephe));
        if (lives)
            assert_int_equal(alq_weak_get(d, weak, i), alq_field(keys, i));
        if (lives)
            cell_check(alq_ephe_get_data(d, ephe), 100 + (intptr_t)i);
        else if (settled)
            assert_int_equal(alq_weak_check(d, weak, i), 0);
    }
}

/* The child ends after so many slices; returns whether the cycle was over. */
static bool
leave_at(unsigned moment, bool by_the_way)
{
    struct leaver l = {GATE, 0, 0};
    struct alqi_domain *self = alqi_heap_domain(d);
    struct alq_child *child;
    ALQ_FRAME(d, f, shared, keys);
    uint64_t cycle;
    unsigned i;
    bool over;

    f.shared = alq_alloc(d, LEFT_FIELDS, 0);
    f.keys = alq_alloc(d, LEFT, 0);
    alq_store(d, f.shared, LEFT_KEYS, f.keys);
    child = spawn(d, leave, f.shared, &l);
    gate_await(&l.gate, 1);
    full_major(d); /* the child is away: all that is done for it by others */
    assert_int_equal(l.first + l.last, 0);
    cycle = cycles(d);
    for (i = 0; i < moment; i++)
        alqi_heap_slice(self, 1);
    over = cycles(d) > cycle;
    left_check(f.shared, false);
    gate_open(&l.gate);
    if (by_the_way) /* while this one goes on with its slices */
        for (i = 0; i < 50; i++)
            alqi_heap_slice(self, 1);
    finish(d, child);
    left_check(f.shared, false);
    while (cycles(d) < cycle + 2) {
        assert_int_equal(alq_gc_major_slice(d, 30), ALQ_OK);
        left_check(f.shared, false);
    }
    full_major(d);
    full_major(d);
    left_check(f.shared, true);
    assert_int_equal(l.first, LEFT / 2);
    assert_int_equal(l.last, LEFT / 2);
    f.keys = ALQ_NULL;
    alq_store(d, f.shared, LEFT_KEYS, ALQ_UNIT);
    full_major(d);
    full_major(d);
    assert_int_equal(l.first, LEFT);
    assert_int_equal(l.last, LEFT);
    return over;
}

static void
ends_at_each_moment(void **state)
{
    unsigned moment, step = IS_HARD ? 7 : 1;

    (void)state;
    for (moment = 0; !leave_at(moment, moment & 1); moment += step)
        continue;
    assert_true(moment > 20);
}

/* ---- a domain that is away ---------------------------------------------- */

/* Its weak places are emptied by another's slices, its finalisers wait. */
static void
cleaned_while_away(void **state)
{
    struct leaver l = {GATE, 0, 0};
    ALQ_FRAME(d, f, shared, keys);
    struct alq_child *child;
    uint64_t cycle;

    (void)state;
    f.shared = alq_alloc(d, LEFT_FIELDS, 0);
    f.keys = alq_alloc(d, LEFT, 0);
    alq_store(d, f.shared, LEFT_KEYS, f.keys);
    child = spawn(d, leave, f.shared, &l);
    gate_await(&l.gate, 1);
    cycle = cycles(d);
    while (cycles(d) < cycle + 4) {
        alqi_heap_slice(alqi_heap_domain(d), 3);
        if (alqi_heap_domain(d)->heap->cycle.phase != ALQI_HEAP_MARK)
            assert_int_equal(alq_gc_minor(d), ALQ_OK);
        left_check(f.shared, false);
    }
    /* Kept for calls that only the child can make. */
    assert_int_equal(l.first + l.last, 0);
    assert_int_equal(alq_weak_check(d, alq_field(f.shared, LEFT_WEAK), 1), 1);
    gate_open(&l.gate);
    finish(d, child);
    full_major(d);
    full_major(d);
    left_check(f.shared, true);
    assert_int_equal(l.first, LEFT / 2);
    assert_int_equal(l.last, LEFT / 2);
}

/* The same without finalisers: nothing waits for the child. */
static alq_value
away(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, key, data, ephes, ephe, weak);
    unsigned i;

    f.arg = arg;
    f.weak = alq_weak_create(on, LEFT);
    f.ephes = alq_alloc(on, LEFT, 0);
    for (i = 0; i < LEFT; i++) {
        f.key = cell(on, (intptr_t)i);
        f.data = cell(on, 100 + (intptr_t)i);
        alq_weak_set(on, f.weak, i, f.key);
        f.ephe = alq_ephe_make(on, 1, &f.key, f.data);
        alq_store(on, f.ephes, i, f.ephe);
        if (i % 2 == 0)
            alq_store(on, alq_field(f.arg, LEFT_KEYS), i, f.key);
    }
    alq_store(on, f.arg, LEFT_WEAK, f.weak);
    alq_store(on, f.arg, LEFT_EPHES, f.ephes);
    f.key = f.data = f.ephe = f.ephes = f.weak = ALQ_NULL;
    return through_gate(on, f.arg, data);
}

static void
emptied_while_away(void **state)
{
    struct gate gate = GATE;
    ALQ_FRAME(d, f, shared, keys);
    struct alq_child *child;
    uint64_t cycle;

    (void)state;
    f.shared = alq_alloc(d, LEFT_FIELDS, 0);
    f.keys = alq_alloc(d, LEFT, 0);
    alq_store(d, f.shared, LEFT_KEYS, f.keys);
    child = spawn(d, away, f.shared, &gate);
    gate_await(&gate, 1);
    cycle = cycles(d);
    while (cycles(d) < cycle + 4) {
        alqi_heap_slice(alqi_heap_domain(d), 3);
        if (alqi_heap_domain(d)->heap->cycle.phase != ALQI_HEAP_MARK)
            assert_int_equal(alq_gc_minor(d), ALQ_OK);
        left_check(f.shared, false);
    }
    left_check(f.shared, true);
    gate_open(&gate);
    finish(d, child);
    left_check(f.shared, true);
}

#define TEST(test)                                                             \
    cmocka_unit_test_setup_teardown(test, domains_setup, domains_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(b5_ephemerons_in_all),
        TEST(b7_parent_calls_the_childs),
        TEST(b8_finalisers_are_handed_over),
        TEST(b12_weak_lifetimes),
        TEST(b14_races_of_places),
        TEST(ends_at_each_moment),
        TEST(cleaned_while_away),
        TEST(emptied_while_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
