/* heap_pin_test.c -- blocks that are pinned: where they are, what they keep */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/domain.h>
#include <aliquot/final.h>
#include <aliquot/gc.h>
#include <aliquot/root.h>
#include <aliquot/weak.h>

#include "value_kit.h"

enum { MANY = 1000, LITTER = ALQI_CHECKS >= 3 ? 1000 : 10000 };

static struct alq_domain *d;

static int
set_up(void **state)
{
    struct alq_domain_config config = {4096, 80, 0, 0, 0};

    (void)state;
    return alq_domain_new(&config, &d) != ALQ_OK;
}

static int
tear_down(void **state)
{
    (void)state;
    return alq_domain_drop(d) != ALQ_OK;
}

static alq_value
pair(alq_value a, alq_value b)
{
    alq_value v;
    ALQ_FRAME(d, f, a, b);

    f.a = a;
    f.b = b;
    v = alq_alloc_small(d, 2, 0);
    assert_false(alq_is_null(v));
    alq_init_small(v, 0, f.a);
    alq_init_small(v, 1, f.b);
    return v;
}

/* Enough for some minor collections. */
static void
litter(void)
{
    unsigned i;

    for (i = 0; i < LITTER; i++)
        pair(alq_from_int(i), ALQ_UNIT);
}

static void
collect(void)
{
    litter();
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    litter();
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
}

static void
arguments(void **state)
{
    alq_value v = pair(ALQ_UNIT, ALQ_UNIT);

    (void)state;
    assert_int_equal(alq_pin(NULL, v), ALQ_EINVAL);
    assert_int_equal(alq_pin(d, alq_from_int(3)), ALQ_EINVAL);
    assert_int_equal(alq_pin(d, ALQ_NULL), ALQ_EINVAL);
    assert_int_equal(alq_unpin(NULL, v), ALQ_EINVAL);
    assert_int_equal(alq_unpin(d, v), ALQ_EINVAL);
    assert_int_equal(alq_pin(d, alq_weak_create(d, 1)), ALQ_EINVAL);
}

/* Nothing but the pin holds it; it holds what moves. */
static void
alone(void **state)
{
    alq_value v = pair(alq_from_int(1), ALQ_NULL);

    (void)state;
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    alq_store(d, v, 1, pair(alq_from_int(2), alq_from_int(3)));
    collect();
    assert_int_equal(alq_wosize(v), 2);
    assert_int_equal(alq_to_int(alq_field(v, 0)), 1);
    assert_int_equal(alq_to_int(alq_field(alq_field(v, 1), 1)), 3);
    alq_store(d, v, 0, pair(alq_from_int(4), alq_from_int(5)));
    collect();
    assert_int_equal(alq_to_int(alq_field(alq_field(v, 0), 0)), 4);
    assert_int_equal(alq_unpin(d, v), ALQ_OK);
    assert_int_equal(alq_unpin(d, v), ALQ_EINVAL);
}

/* Moves once it is unpinned, and everything that leads to it follows. */
static void
held_by_all(void **state)
{
    alq_value v = pair(alq_from_int(7), ALQ_UNIT);
    struct alq_global global = {ALQ_UNIT, NULL, NULL};
    struct alq_root *box = alq_root_new(d, v);
    ALQ_FRAME(d, f, slot, old, recent);

    (void)state;
    f.slot = v;
    assert_int_equal(alq_global_add(d, &global), ALQ_OK);
    global.value = v;
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    f.old = pair(ALQ_UNIT, ALQ_UNIT);
    collect();
    alq_store(d, f.old, 0, v);
    f.recent = pair(v, alq_from_int(1));
    collect();
    assert_int_equal(alq_unpin(d, v), ALQ_OK);
    collect();
    assert_same(f.slot, v);
    assert_same(alq_field(f.old, 0), v);
    assert_same(alq_field(f.recent, 0), v);
    assert_same(alq_root_get(box), v);
    assert_int_equal(alq_unpin(d, v), ALQ_OK);
    collect();
    assert_not_same(f.slot, v);
    assert_int_equal(alq_to_int(alq_field(f.slot, 0)), 7);
    assert_same(alq_field(f.old, 0), f.slot);
    assert_same(alq_field(f.recent, 0), f.slot);
    assert_same(alq_root_get(box), f.slot);
    assert_same(global.value, f.slot);
    alq_global_remove(d, &global);
    alq_root_drop(d, box);
}

/* An old block that held a pinned one dies, is freed, its place used again. */
static void
dead_holders(void **state)
{
    alq_value v = pair(alq_from_int(7), ALQ_UNIT);
    unsigned i;
    ALQ_FRAME(d, f, list);

    (void)state;
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    for (i = 0; i < 3 * MANY; i++) {
        if (i % MANY == 0) {
            f.list = ALQ_UNIT;
            collect();
        }
        f.list = pair(v, f.list);
        if (i % 100 == 0) { /* a large one */
            alq_value large = alq_alloc(d, 5000, 0);
            uintptr_t j;

            for (j = 0; j < 5000; j++)
                alq_init(d, large, j, v);
            f.list = pair(large, f.list);
        }
    }
    f.list = ALQ_UNIT;
    collect();
    assert_int_equal(alq_unpin(d, v), ALQ_OK);
    collect();
}

static unsigned n_finalised;

static void
finalise(alq_value block)
{
    (void)block;
    n_finalised++;
}

static const struct alq_custom_ops ops = {.name = "pinned",
                                          .finalise = finalise};

static void
customs(void **state)
{
    alq_value v = alq_alloc_custom(d, &ops, 8);

    (void)state;
    n_finalised = 0;
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    collect();
    collect();
    assert_int_equal(n_finalised, 0);
    assert_ptr_equal(alq_custom_ops_of(v), &ops);
    assert_int_equal(alq_unpin(d, v), ALQ_OK);
    collect();
    assert_int_equal(n_finalised, 1);
}

static void
weak_references(void **state)
{
    alq_value v = pair(alq_from_int(7), ALQ_UNIT), got;
    ALQ_FRAME(d, f, weak, recent);

    (void)state;
    assert_int_equal(alq_pin(d, v), ALQ_OK);
    f.weak = alq_weak_create(d, 1);
    assert_int_equal(alq_weak_set(d, f.weak, 0, v), ALQ_OK);
    collect();
    f.recent = alq_weak_create(d, 1);
    assert_int_equal(alq_weak_set(d, f.recent, 0, v), ALQ_OK);
    collect();
    got = alq_weak_get(d, f.weak, 0);
    assert_same(got, v);
    got = alq_weak_get(d, f.recent, 0);
    assert_same(got, v);
    assert_int_equal(alq_unpin(d, v), ALQ_OK);
    collect();
    assert_false(alq_weak_check(d, f.weak, 0));
    assert_false(alq_weak_check(d, f.recent, 0));
}

/* Pins outlive the domain, as do kept blocks of its minor heap. */
static alq_value
child(struct alq_domain *self, alq_value arg, void *data)
{
    alq_value v = alq_alloc_small(self, 2, 0);

    (void)arg;
    alq_init_small(v, 0, alq_from_int(9));
    alq_init_small(v, 1, ALQ_UNIT);
    assert_int_equal(alq_pin(self, v), ALQ_OK);
    *(alq_value *)data = v;
    return ALQ_UNIT;
}

static void
domains(void **state)
{
    struct alq_child *c;
    alq_value v[4];
    unsigned i;

    (void)state;
    for (i = 0; i < 4; i++) {
        assert_int_equal(alq_domain_spawn(d, child, ALQ_UNIT, &v[i], NULL, &c),
                         ALQ_OK);
        assert_int_equal(alq_domain_join(d, c, NULL), ALQ_OK);
        alq_child_drop(c);
        alq_store(d, v[i], 1, pair(alq_from_int(i), ALQ_UNIT));
        collect();
    }
    for (i = 0; i < 4; i++) {
        assert_int_equal(alq_to_int(alq_field(v[i], 0)), 9);
        assert_int_equal(alq_to_int(alq_field(alq_field(v[i], 1), 0)), i);
        assert_int_equal(alq_unpin(d, v[i]), ALQ_OK);
    }
    collect();
}

/* Here and there in the minor heap. */
static void
many(void **state)
{
    static alq_value v[MANY];
    unsigned i;

    (void)state;
    for (i = 0; i < MANY; i++) {
        v[i] = pair(alq_from_int(i), i > 0 ? v[i - 1] : ALQ_UNIT);
        assert_int_equal(alq_pin(d, v[i]), ALQ_OK);
        if (i % 64 == 0)
            litter();
    }
    collect();
    for (i = 0; i < MANY; i++) {
        assert_int_equal(alq_to_int(alq_field(v[i], 0)), i);
        assert_same(alq_field(v[i], 1), i > 0 ? v[i - 1] : ALQ_UNIT);
    }
    for (i = 0; i < MANY; i++)
        assert_int_equal(alq_unpin(d, v[i]), ALQ_OK);
    collect();
}

/* Old blocks, in pools that are nearly empty: others move, those do not. */
static void
compaction(void **state)
{
    static struct alq_root *boxes[MANY];
    static alq_value at[MANY];
    unsigned i, n_moved = 0;

    (void)state;
    for (i = 0; i < MANY; i++) {
        unsigned j;

        boxes[i] = alq_root_new(d, ALQ_UNIT);
        for (j = 0; j < 40; j++) /* most die afterwards */
            alq_root_set(d, boxes[i],
                         pair(alq_from_int(i),
                              j % 20 != 0 ? alq_root_get(boxes[i]) : ALQ_UNIT));
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < MANY; i++) {
        alq_store(d, alq_root_get(boxes[i]), 1, ALQ_UNIT);
        at[i] = alq_root_get(boxes[i]);
        if (i % 100 == 0)
            assert_int_equal(alq_pin(d, at[i]), ALQ_OK);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    for (i = 0; i < MANY; i++) {
        alq_value v = alq_root_get(boxes[i]);

        assert_int_equal(alq_to_int(alq_field(v, 0)), i);
        n_moved += !alq_is_same(v, at[i]);
        if (i % 100 == 0) {
            assert_same(v, at[i]);
            assert_int_equal(alq_unpin(d, v), ALQ_OK);
        }
        alq_root_drop(d, boxes[i]);
    }
    assert_true(n_moved > 0);
}

enum { TURNS = ALQI_CHECKS >= 3 ? 100 : 3000, SHARED = 64 };

/* Each pins what it has made and what others have, in one table. */
static alq_value
pinner(struct alq_domain *self, alq_value arg, void *data)
{
    alq_value pinned[SHARED] = {0};
    unsigned turn, i, slot;
    ALQ_FRAME(self, f, table, v);

    (void)data;
    f.table = arg;
    for (turn = 0; turn < TURNS; turn++) {
        i = turn % SHARED;
        slot = turn * 7 % SHARED;
        if (!alq_is_null(pinned[i])) {
            assert_int_equal(alq_wosize(pinned[i]), 2);
            assert_int_equal(alq_to_int(alq_field(pinned[i], 0)), 77);
            assert_int_equal(alq_unpin(self, pinned[i]), ALQ_OK);
        }
        for (unsigned j = 0; j < 40; j++) {
            f.v = alq_alloc_small(self, 2, 0);
            assert_false(alq_is_null(f.v));
            alq_init_small(f.v, 0, alq_from_int(77));
            alq_init_small(f.v, 1, ALQ_UNIT);
        }
        alq_store(self, f.v, 1, alq_field_acquire(f.table, slot));
        if (turn % 3 == 0)
            alq_store(self, f.v, 1, ALQ_UNIT);
        if (turn % 5 == 0 && alq_is_block(alq_field_acquire(f.table, slot)))
            f.v = alq_field_acquire(f.table, slot);
        pinned[i] = f.v;
        assert_int_equal(alq_pin(self, f.v), ALQ_OK);
        alq_store(self, f.table, slot, f.v);
    }
    for (i = 0; i < SHARED; i++)
        if (!alq_is_null(pinned[i]))
            assert_int_equal(alq_unpin(self, pinned[i]), ALQ_OK);
    return ALQ_UNIT;
}

static void
together(void **state)
{
    struct alq_child *c[3];
    unsigned i;
    ALQ_FRAME(d, f, table);

    (void)state;
    f.table = alq_alloc(d, SHARED, 0);
    for (i = 0; i < SHARED; i++)
        alq_init(d, f.table, i, ALQ_UNIT);
    for (i = 0; i < 3; i++)
        assert_int_equal(
            alq_domain_spawn(d, pinner, f.table, NULL, NULL, &c[i]), ALQ_OK);
    for (i = 0; i < 20; i++)
        assert_int_equal(alq_gc_major_slice(d, 1000), ALQ_OK);
    for (i = 0; i < 3; i++) {
        assert_int_equal(alq_domain_join(d, c[i], NULL), ALQ_OK);
        alq_child_drop(c[i]);
    }
    collect();
    for (i = 0; i < SHARED; i++)
        if (alq_is_block(alq_field(f.table, i)))
            assert_int_equal(alq_to_int(alq_field(alq_field(f.table, i), 0)),
                             77);
}

/* ---- finalisers --------------------------------------------------------- */

static unsigned n_called[3];

static enum alq_status
called_with(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    if (alq_is_block(v))
        assert_int_equal(alq_to_int(alq_field(v, 0)), 5);
    if (alq_is_block(with)) {
        assert_int_equal(alq_to_int(alq_field(with, 0)), 5);
        n_called[2]++;
    } else {
        n_called[alq_to_int(with)]++;
    }
    return ALQ_OK;
}

static void
litter_of_one(void)
{
    unsigned i;

    for (i = 0; i < LITTER; i++)
        alq_init_small(alq_alloc_small(d, 1, 0), 0, alq_from_int(6));
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
}

/* A pinned young block that has one holds up no others.  What a pinned one is
 * to be passed to waits for it, and lives. */
static void
finalisers(void **state)
{
    ALQ_FRAME(d, f, pinned, values[3], kept[50]);
    unsigned i;

    (void)state;
    n_called[0] = n_called[1] = n_called[2] = 0;
    f.pinned = alq_alloc(d, 1, 0);
    alq_init(d, f.pinned, 0, alq_from_int(5));
    assert_int_equal(alq_pin(d, f.pinned), ALQ_OK);
    assert_int_equal(
        alq_gc_finalise_last(d, f.pinned, called_with, alq_from_int(1)),
        ALQ_OK);
    assert_int_equal(alq_gc_finalise(d, f.pinned, called_with, alq_from_int(0)),
                     ALQ_OK);
    for (i = 0; i < 3; i++) {
        f.values[i] = alq_alloc(d, 1, 0);
        alq_init(d, f.values[i], 0, alq_from_int(5));
    }
    assert_int_equal(alq_gc_finalise(d, f.values[2], called_with, f.pinned),
                     ALQ_OK);
    assert_int_equal(
        alq_gc_finalise(d, f.values[0], called_with, alq_from_int(0)), ALQ_OK);
    assert_int_equal(
        alq_gc_finalise_last(d, f.values[1], called_with, alq_from_int(1)),
        ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < 3; i++)
        f.values[i] = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(n_called[0] == 1 && n_called[1] == 1 && n_called[2] == 0);
    for (i = 0; i < 50; i++) { /* in places that are free */
        f.kept[i] = alq_alloc(d, 1, 0);
        alq_init(d, f.kept[i], 0, alq_from_int(6));
    }
    litter_of_one();
    assert_int_equal(alq_unpin(d, f.pinned), ALQ_OK);
    f.pinned = ALQ_UNIT;
    for (i = 0; i < 3; i++)
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(n_called[0] == 2 && n_called[1] == 2 && n_called[2] == 1);
}

/* ---- finalisers of many pinned ones -------------------------------------- */

static uint64_t n_moved_bytes;

void *__real_memmove(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__real_memcpy(void *to, const void *from, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);

void *
__wrap_memmove(void *to, const void *from, size_t n)
{
    n_moved_bytes += n;
    return __real_memmove(to, from, n);
}

void *
__wrap_memcpy(void *to, const void *from, size_t n)
{
    n_moved_bytes += n;
    return __real_memcpy(to, from, n);
}

static unsigned n_due;

/* Called in this order: those registered later first. */
static enum alq_status
due(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    assert_int_equal(alq_to_int(with), MANY - 1 - n_due);
    n_due++;
    return ALQ_OK;
}

static enum alq_status
not_due(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    (void)with;
    fail();
    return ALQ_OK;
}

static alq_value
new_cell(void)
{
    alq_value v = alq_alloc(d, 1, 0);

    assert_false(alq_is_null(v));
    alq_init(d, v, 0, ALQ_UNIT);
    return v;
}

/* The finalisers of pinned blocks, which wait, are in no other's way: in each
 * minor collection an entry is moved once or twice, and keeps its order. */
static void
many_wait_for_pinned_ones(void **state)
{
    ALQ_FRAME(d, f, pinned, others, v);
    enum { ENTRY_BYTES = 24, TIMES = 2 };
    struct alq_gc_counts before, after;
    unsigned i;

    (void)state;
    n_due = 0;
    f.pinned = alq_alloc(d, MANY, 0);
    f.others = alq_alloc(d, MANY, 0);
    for (i = 0; i < MANY; i++) {
        f.v = new_cell();
        alq_store(d, f.pinned, i, f.v);
        assert_int_equal(alq_pin(d, f.v), ALQ_OK);
        assert_int_equal(alq_gc_finalise(d, f.v, not_due, ALQ_UNIT), ALQ_OK);
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
    n_moved_bytes = 0;
    for (i = 0; i < MANY; i++) {
        f.v = new_cell();
        alq_store(d, f.others, i, f.v);
        assert_int_equal(alq_gc_finalise(d, f.v, due, alq_from_int(i)), ALQ_OK);
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
    assert_in_range(n_moved_bytes, 0,
                    (after.minor_collections - before.minor_collections) *
                        TIMES * 2 * MANY * ENTRY_BYTES);
    f.v = f.others = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_due, MANY);
    for (i = 0; i < MANY; i++)
        assert_int_equal(alq_unpin(d, alq_field(f.pinned, i)), ALQ_OK);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(arguments),    TEST(alone),      TEST(held_by_all),
        TEST(dead_holders), TEST(customs),    TEST(weak_references),
        TEST(domains),      TEST(many),       TEST(compaction),
        TEST(together),     TEST(finalisers), TEST(many_wait_for_pinned_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
