/* rows_test.c -- rows of spec statmemprof 6.2 that no other test has: B4, B7,
 * B15 to B18, B22, B23, B30, B32 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/test_effort.h"
#include "base/test_seed.h"
#include "domains_kit.h"

static uint64_t seed;

static uint64_t
rnd(uint64_t n)
{
    seed = alqi_base_mix(seed + 0x9E3779B97F4A7C15u);
    return seed % n;
}

/* ---- B4: terms that are shared, and what is remembered about them -------- */

/* A term: its number, and two terms or none.  `terms` holds each term weakly;
 * memos[n] is an ephemeron from term n to another one, its mirror. */
enum { TERMS = IS_HARD ? 60 : 4000, NONE = -1 };

static struct {
    int left, right;
    int mirror; /* NONE: nothing is remembered */
    bool is_live;
} model[TERMS];

/* What a live term leads to lives, and its mirror. */
static void
live_from(int n)
{
    while (n != NONE && !model[n].is_live) {
        model[n].is_live = true;
        live_from(model[n].left);
        live_from(model[n].mirror);
        n = model[n].right;
    }
}

static alq_value
term_new(const alq_value *terms, int n)
{
    alq_value term = alq_alloc_small(d, 3, 0);

    assert_false(alq_is_null(term));
    alq_init_small(term, 0, alq_from_int(n));
    alq_init_small(term, 1,
                   model[n].left == NONE
                       ? ALQ_UNIT
                       : alq_weak_get(d, *terms, (size_t)model[n].left));
    alq_init_small(term, 2,
                   model[n].right == NONE
                       ? ALQ_UNIT
                       : alq_weak_get(d, *terms, (size_t)model[n].right));
    return term;
}

/* Terms of a depth of some tens, each from terms before it; all are held while
 * they are made. */
static void
terms_make(alq_value *terms, alq_value *memos, alq_value *all)
{
    alq_value v;
    int n;

    for (n = 0; n < TERMS; n++) {
        model[n].left = n < 20 ? NONE : (int)rnd((uint64_t)n);
        model[n].right = n < 20 ? NONE : (int)rnd((uint64_t)n);
        model[n].mirror = NONE;
        model[n].is_live = false;
        v = term_new(terms, n);
        alq_store(d, *all, (uintptr_t)n, v);
        assert_int_equal(alq_weak_set(d, *terms, (size_t)n, v), ALQ_OK);
    }
    for (n = 0; n < TERMS; n++) {
        if (rnd(2) == 0)
            continue;
        model[n].mirror = (int)rnd(TERMS);
        v = alq_ephe_create(d, 1);
        assert_false(alq_is_null(v));
        alq_store(d, *memos, (uintptr_t)n, v);
        assert_int_equal(
            alq_ephe_set_key(d, v, 0, alq_field(*all, (uintptr_t)n)), ALQ_OK);
        assert_int_equal(alq_ephe_set_data(
                             d, v, alq_field(*all, (uintptr_t)model[n].mirror)),
                         ALQ_OK);
    }
}

static void
terms_check(alq_value terms, alq_value memos)
{
    int n, n_live = 0, n_full = 0, n_memos = 0, n_kept = 0;

    for (n = 0; n < TERMS; n++) {
        alq_value memo = alq_field(memos, (uintptr_t)n);

        n_live += model[n].is_live;
        n_full += alq_weak_check(d, terms, (size_t)n);
        assert_int_equal(alq_weak_check(d, terms, (size_t)n), model[n].is_live);
        if (!alq_is_block(memo))
            continue;
        n_memos += model[n].is_live;
        n_kept += alq_ephe_check_data(d, memo);
        assert_int_equal(alq_ephe_check_key(d, memo, 0), model[n].is_live);
    }
    assert_int_equal(n_full, n_live); /* the exact lengths */
    assert_int_equal(n_kept, n_memos);
}

static void
b4_terms_and_memos(void **state)
{
    ALQ_FRAME(d, f, terms, memos, all, roots);
    int round, n, i, n_live = 0;

    (void)state;
    seed = 4 + alqi_base_test_seed();
    for (round = 0; round < 3; round++) {
        f.terms = alq_weak_create(d, TERMS);
        f.memos = alq_alloc(d, TERMS, 0);
        f.all = alq_alloc(d, TERMS, 0);
        terms_make(&f.terms, &f.memos, &f.all);
        f.roots = alq_alloc(d, 8, 0);
        for (i = 0; i < 8; i++) { /* early ones lead to few */
            n = (int)rnd(TERMS / (i < 6 ? 40 : 4));
            alq_store(d, f.roots, (uintptr_t)i, alq_field(f.all, (uintptr_t)n));
            live_from(n);
        }
        f.all = ALQ_UNIT;
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        terms_check(f.terms, f.memos);
        for (n = 0, n_live = 0; n < TERMS; n++)
            n_live += model[n].is_live;
        assert_in_range(n_live, IS_HARD ? 1 : 8, TERMS - 1);
        f.roots = ALQ_UNIT;
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        for (n = 0; n < TERMS; n++)
            model[n].is_live = false;
        terms_check(f.terms, f.memos);
    }
}

/* ---- B7: a child's finalisers run where its parent polls ----------------- */

static int order[4];
static unsigned n_order;

static enum alq_status
note_call(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    CHECK(on == d); /* the child has ended */
    CHECK(n_order < 4);
    order[n_order++] = (int)alq_to_int(with);
    return ALQ_OK;
}

static alq_value
registers(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, v[2]);
    int i;

    (void)data;
    for (i = 0; i < 2; i++) {
        f.v[i] = alq_alloc(on, 2, 0);
        CHECK(alq_gc_finalise_last(on, f.v[i], note_call,
                                   alq_from_int(10 + i)) == ALQ_OK);
        CHECK(alq_gc_finalise(on, f.v[i], note_call, alq_from_int(i)) ==
              ALQ_OK);
    }
    CHECK(alq_gc_minor(on) == ALQ_OK); /* they live */
    return arg;
}

static void
b7_a_childs_finalisers(void **state)
{
    static const int expected[] = {1, 0, 11, 10};

    (void)state;
    n_order = 0;
    finish(d, spawn(d, registers, ALQ_UNIT, NULL));
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_order, 4);
    assert_memory_equal(order, expected, sizeof order);
}

/* ---- B15 to B18: global roots ------------------------------------------- */

enum { GLOBALS = IS_HARD ? 64 : 1024, CHANGES = IS_HARD ? 300 : 60000 };

struct globals {
    struct alq_global all[GLOBALS];
    bool is_added[GLOBALS];
    intptr_t expected[GLOBALS];
    uint64_t seed;
};

/* A value that says which one it is: young, old later, or an integer. */
static alq_value
named(struct alq_domain *on, intptr_t n)
{
    alq_value v;

    if (n % 7 == 0)
        return alq_from_int(n);
    v = alq_alloc(on, n % 5 == 0 ? 300 : 2, 0);
    CHECK(!alq_is_null(v));
    alq_init(on, v, 0, alq_from_int(n));
    return v;
}

static void
named_check(alq_value v, intptr_t n)
{
    CHECK(alq_to_int(alq_is_block(v) ? alq_field(v, 0) : v) == n);
}

static void
global_change(struct alq_domain *on, struct globals *g)
{
    uint64_t r = g->seed = alqi_base_mix(g->seed + 0x9E3779B97F4A7C15u);
    unsigned i = (unsigned)(r % GLOBALS);
    alq_value v;

    if (!g->is_added[i]) {
        g->expected[i] = (intptr_t)(r >> 40);
        v = named(on, g->expected[i]); /* before it is a root */
        g->all[i] = (struct alq_global){v, NULL, NULL};
        CHECK(alq_global_add(on, &g->all[i]) == ALQ_OK);
        g->is_added[i] = true;
    } else if (r >> 32 & 1) { /* an old one gets a young value */
        g->expected[i] = (intptr_t)(r >> 40);
        v = named(on, g->expected[i]);
        g->all[i].value = v;
    } else {
        named_check(g->all[i].value, g->expected[i]);
        alq_global_remove(on, &g->all[i]);
        g->is_added[i] = false;
    }
}

static void
globals_check(struct alq_domain *on, struct globals *g)
{
    unsigned i;

    for (i = 0; i < GLOBALS; i++)
        if (g->is_added[i]) {
            named_check(g->all[i].value, g->expected[i]);
            alq_global_remove(on, &g->all[i]);
        }
}

static alq_value
change_globals(struct alq_domain *on, alq_value arg, void *data)
{
    struct globals *g = calloc(1, sizeof *g);
    unsigned i;

    (void)data;
    CHECK(g != NULL);
    g->seed = alq_bits(arg) + alqi_base_test_seed();
    for (i = 0; i < CHANGES; i++) {
        global_change(on, g);
        if (i % (CHANGES / 16) == 0)
            CHECK((i % 3 == 0 ? alq_gc_full_major : alq_gc_minor)(on) ==
                  ALQ_OK);
    }
    globals_check(on, g);
    free(g);
    return arg;
}

static void
b15_globals_of_one_domain(void **state)
{
    (void)state;
    change_globals(d, ALQ_UNIT, NULL);
}

/* B16 to B18: one after the other, at once, while others come and go. */
static void
b16_globals_of_several_domains(void **state)
{
    struct alq_child *children[3];
    int i;

    (void)state;
    for (i = 0; i < 2; i++)
        finish(d, spawn(d, change_globals, alq_from_int(i), NULL));
    for (i = 0; i < 3; i++)
        children[i] = spawn(d, change_globals, alq_from_int(10 + i), NULL);
    for (i = 0; i < (IS_HARD ? 2 : 20); i++)
        finish(d, spawn(d, burn, ALQ_UNIT, NULL));
    change_globals(d, alq_from_int(5), NULL);
    for (i = 0; i < 3; i++)
        finish(d, children[i]);
}

/* ---- B22: an alarm reads messages while messages are read --------------- */

static void *message;
static size_t message_bytes;
static unsigned n_read_in_alarm;

static void
message_check(struct alq_domain *on, int depth)
{
    alq_value v;

    CHECK(alq_unmarshal(on, message, message_bytes, NULL, NULL, &v) == ALQ_OK);
    CHECK(tree_size(v) == (1 << depth) - 1);
}

static enum alq_status
read_in_alarm(struct alq_domain *on, void *arg)
{
    message_check(on, *(int *)arg);
    n_read_in_alarm++;
    return ALQ_OK;
}

static void
b22_messages_in_an_alarm(void **state)
{
    int depth = IS_HARD ? 5 : 12, i;
    struct alq_alarm *alarm;

    (void)state;
    n_read_in_alarm = 0;
    assert_int_equal(alq_marshal_to_memory(d, tree(d, depth), NULL, &message,
                                           &message_bytes),
                     ALQ_OK);
    assert_int_equal(alq_gc_create_alarm(d, read_in_alarm, &depth, &alarm),
                     ALQ_OK);
    for (i = 0; i < 2000 && n_read_in_alarm < 10; i++) {
        message_check(d, depth);
        if (IS_HARD)
            assert_int_equal(alq_gc_major(d), ALQ_OK);
        alq_poll(d);
    }
    assert_true(n_read_in_alarm >= 10);
    alq_gc_delete_alarm(&alarm);
    free(message);
}

/* ---- B23: finalisers of customs that were read --------------------------- */

static int64_t n_alive; /* made, not finalised */

static enum alq_status
write_it(struct alq_marshal_out *out, alq_value block,
         struct alq_custom_size *size)
{
    (void)size;
    alq_marshal_put(out, alq_custom_data(block), 8);
    return ALQ_OK;
}

static enum alq_status
read_it(struct alq_marshal_in *in, void *data, size_t bytes)
{
    CHECK(bytes == 8);
    alq_marshal_get(in, data, 8);
    n_alive++;
    return ALQ_OK;
}

static void
free_it(alq_value block)
{
    CHECK(*(const uint64_t *)alq_custom_data(block) == 77);
    n_alive--;
}

static const struct alq_custom_size eight = {8, 8};
static const struct alq_custom_ops counted = {"counted", free_it, write_it,
                                              read_it, &eight};

static void
b23_customs_that_were_read(void **state)
{
    enum { N = ALQI_TEST_ROUNDS(1000000, 20000, 500) };
    static const struct alq_custom_ops *const kinds[] = {&counted, NULL};
    struct alq_unmarshal_options options = {.kinds = kinds};
    ALQ_FRAME(d, f, v);
    int64_t most = 0;
    int i;

    (void)state;
    f.v = alq_alloc_custom(d, &counted, 8);
    *(uint64_t *)alq_custom_data(f.v) = 77;
    n_alive = 1;
    assert_int_equal(
        alq_marshal_to_memory(d, f.v, NULL, &message, &message_bytes), ALQ_OK);
    for (i = 0; i < N; i++) {
        assert_int_equal(
            alq_unmarshal(d, message, message_bytes, &options, NULL, &f.v),
            ALQ_OK);
        most = n_alive > most ? n_alive : most;
    }
    assert_true(N < 1000000 || most < N / 2); /* they are freed meanwhile */
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_alive, 1);
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_alive, 0);
    free(message);
}

/* ---- B30: more is grey than fits on the mark stack ----------------------- */

/* Lists side by side, and blocks of many fields below each other: each level
 * leaves a range on the stack. */
static void
b30_mark_stack(void **state)
{
    enum { LISTS = IS_HARD ? 256 : 65536, LEVELS = IS_HARD ? 64 : 4000 };
    ALQ_FRAME(d, f, lists, deep, cell);
    struct alq_gc_counts c;
    alq_value v;
    unsigned i, k;

    (void)state;
    f.lists = alq_alloc(d, LISTS, 0);
    for (k = 0; k < 3; k++)
        for (i = 0; i < LISTS; i++) {
            f.cell = alq_alloc(d, 2, 0);
            alq_init(d, f.cell, 0, alq_from_int(i + k));
            alq_init(d, f.cell, 1, alq_field(f.lists, i));
            alq_store(d, f.lists, i, f.cell);
        }
    for (i = 0; i < LEVELS; i++) {
        f.cell = alq_alloc(d, 200, 0);
        alq_init(d, f.cell, 0, f.deep);
        for (k = 1; k < 200; k++) {
            v = alq_alloc(d, 1, 0);
            alq_init(d, v, 0, alq_from_int(k));
            alq_store(d, f.cell, k, v);
        }
        f.deep = f.cell;
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < LISTS; i++)
        for (v = alq_field(f.lists, i), k = 3; k-- > 0; v = alq_field(v, 1))
            assert_int_equal(alq_to_int(alq_field(v, 0)), i + k);
    for (v = f.deep, i = 0; !alq_is_null(v); v = alq_field(v, 0), i++)
        for (k = 1; k < 200; k++)
            assert_int_equal(alq_to_int(alq_field(alq_field(v, k), 0)), k);
    assert_int_equal(i, LEVELS);
    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    assert_true(!IS_HARD || c.mark_overflows > 0); /* a stack of 8 */
}

/* ---- B32: phases, in order ----------------------------------------------- */

static struct {
    unsigned n_compactions;
    unsigned depth[64]; /* of each kind: begun and not ended */
    bool in_order;
} phases;

static void
hear_phase(void *arg, const struct alq_event *event)
{
    (void)arg;
    if (event->point == ALQ_EVENT_BEGIN) {
        phases.depth[event->kind]++;
        if (event->kind == ALQ_EVENT_SWEEP) /* what was marked is swept */
            phases.in_order &= phases.depth[ALQ_EVENT_MARK] == 0 &&
                               phases.depth[ALQ_EVENT_CYCLE] == 1;
        if (event->kind == ALQ_EVENT_COMPACT) { /* and moves after that */
            phases.in_order &= phases.depth[ALQ_EVENT_SWEEP] == 0 &&
                               phases.depth[ALQ_EVENT_STOP] > 0;
            phases.n_compactions++;
        }
    } else if (event->point == ALQ_EVENT_END) {
        phases.in_order &= phases.depth[event->kind]-- > 0;
    }
}

static void
b32_phases_are_in_order(void **state)
{
    struct alq_listener listener = {hear_phase, NULL, 0};
    ALQ_FRAME(d, f, kept);
    unsigned i;

    (void)state;
    f.kept = tree(d, IS_HARD ? 5 : 12);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    memset(&phases, 0, sizeof phases);
    phases.in_order = true;
    assert_int_equal(alq_listener_add(d, &listener), ALQ_OK);
    for (i = 0; i < 3; i++) {
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
        burn(d, ALQ_UNIT, NULL);
    }
    assert_int_equal(alq_listener_remove(d, &listener), ALQ_OK);
    assert_true(phases.in_order);
    assert_true(phases.n_compactions >= 3);
    for (i = 0; i < ALQI_COUNT_OF(phases.depth); i++)
        if (i != ALQ_EVENT_CYCLE && i != ALQ_EVENT_SWEEP && i != ALQ_EVENT_MARK)
            assert_int_equal(phases.depth[i], 0);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(b4_terms_and_memos),
        TEST(b7_a_childs_finalisers),
        TEST(b15_globals_of_one_domain),
        TEST(b16_globals_of_several_domains),
        TEST(b22_messages_in_an_alarm),
        TEST(b23_customs_that_were_read),
        TEST(b30_mark_stack),
        TEST(b32_phases_are_in_order),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
