/* domains_stress_test.c -- domains that come and go, at random
 *
 * Each domain does STEPS things of its own choice: makes nodes, shares them in
 * cells that all see, replaces and reads those of others, walks what they lead
 * to, blocks, collects, spawns a domain, ends.  A node says what it is: field 0
 * a number, field 1 its hash, then what it leads to; so a block that was freed,
 * moved wrongly or half written is found.  Custom blocks are counted: each is
 * finalised once.  In dbg and hard builds every stop verifies the heap. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/test_seed.h"
#include "domains_kit.h"

enum {
    CELLS = 512,
    STEPS = IS_HARD ? 60 : 3000,
    SEEDS = ALQI_TEST_ROUNDS(12, 6, 8),
    DEPTH = 3, /* of domains that spawn domains */
    LINKS_MAX = 6,
    LARGE_WOSIZE = 400
};

/* The cells; of each run its own, since domains that nobody joins may use them
 * after it. */
static struct alq_global shareds[SEEDS], *shared;
static uint64_t customs_made, customs_gone;
static uint64_t acting;

/* ---- random ------------------------------------------------------------- */

struct actor {
    struct alq_domain *on;
    uint64_t random;
    int depth;
};

static uint64_t
next(struct actor *a)
{
    return alqi_base_mix(a->random++);
}

static uint64_t
below(struct actor *a, uint64_t n)
{
    return next(a) % n;
}

/* ---- nodes -------------------------------------------------------------- */

static alq_value
hash_of(intptr_t number)
{
    return alq_from_int((intptr_t)(alqi_base_mix((uint64_t)number) >> 2));
}

static void
node_check(alq_value v)
{
    CHECK(alq_tag(v) == 7 && alq_wosize(v) >= 2);
    CHECK(alq_is_same(alq_field(v, 1), hash_of(alq_to_int(alq_field(v, 0)))));
}

/* Walks down a random way. */
static void
walk(struct actor *a, alq_value v)
{
    int steps = 50;

    while (steps-- > 0 && alq_is_block(v)) {
        if (alq_tag(v) != 7) {
            CHECK(alq_tag(v) == ALQ_TAG_CUSTOM || alq_tag(v) == ALQ_TAG_STRING);
            return;
        }
        node_check(v);
        if (alq_wosize(v) == 2)
            return;
        v = alq_field_acquire(v, 2 + below(a, alq_wosize(v) - 2));
    }
}

static void
finalise(alq_value v)
{
    CHECK(*(uint64_t *)alq_custom_data(v) == 0x5A5A5A5A);
    *(uint64_t *)alq_custom_data(v) = 0;
    __atomic_add_fetch(&customs_gone, 1, __ATOMIC_RELEASE);
}

static const struct alq_custom_ops ops = {.name = "stress",
                                          .finalise = finalise};

static alq_value
custom_new(struct actor *a)
{
    alq_value v = alq_alloc_custom(a->on, &ops, 24);

    CHECK(!alq_is_null(v));
    *(uint64_t *)alq_custom_data(v) = 0x5A5A5A5A;
    __atomic_add_fetch(&customs_made, 1, __ATOMIC_RELEASE);
    return v;
}

static alq_value
cell_get(struct actor *a)
{
    return alq_field_acquire(shared->value, below(a, CELLS));
}

static alq_value
leaf_new(struct actor *a)
{
    alq_value v;

    if (below(a, 3) == 0)
        return custom_new(a);
    v = alq_alloc_string(a->on, below(a, 100));
    CHECK(!alq_is_null(v));
    return v;
}

/* A node that leads to cells' values, `with` and a leaf. */
static alq_value
node_new(struct actor *a, alq_value with)
{
    uintptr_t i, n = 2 + below(a, LINKS_MAX + 1);
    ALQ_FRAME(a->on, f, with, leaf, node);

    f.with = with;
    f.leaf = below(a, 4) == 0 ? leaf_new(a) : ALQ_UNIT;
    if (below(a, 64) == 0)
        n = LARGE_WOSIZE;
    f.node = alq_alloc(a->on, n, 7);
    CHECK(!alq_is_null(f.node));
    i = next(a) >> 3;
    alq_init(a->on, f.node, 0, alq_from_int((intptr_t)i));
    alq_init(a->on, f.node, 1, hash_of((intptr_t)i));
    for (i = 2; i < n && i < LINKS_MAX + 2; i++)
        alq_init(a->on, f.node, i,
                 i == 2   ? f.with
                 : i == 3 ? f.leaf
                          : cell_get(a));
    return f.node;
}

/* ---- what domains do ---------------------------------------------------- */

/* Chains would keep everything: now and then a cell begins anew. */
static void
share(struct actor *a)
{
    uintptr_t cell = below(a, CELLS);
    alq_value with = below(a, 8) == 0 ? ALQ_UNIT : cell_get(a);
    alq_value v = node_new(a, with), old;

    switch (below(a, 4)) {
    case 0:
        alq_field_exchange(a->on, shared->value, cell, v);
        break;
    case 1:
        old = alq_field_acquire(shared->value, cell);
        alq_field_compare_exchange(a->on, shared->value, cell, &old, v);
        break;
    default:
        alq_store(a->on, shared->value, cell, v);
    }
}

/* A link of somebody's node goes elsewhere, or is cut. */
static void
relink(struct actor *a)
{
    alq_value v = cell_get(a);

    if (!alq_is_block(v) || alq_tag(v) != 7 || alq_wosize(v) < 3)
        return;
    alq_store(a->on, v, 2 + below(a, alq_wosize(v) - 2),
              below(a, 2) == 0 ? ALQ_UNIT : cell_get(a));
}

static void
cut_all(struct actor *a)
{
    uintptr_t i;

    for (i = below(a, 4); i < CELLS; i += 4)
        alq_store(a->on, shared->value, i, ALQ_UNIT);
}

static void
block(struct actor *a)
{
    ALQ_FRAME(a->on, f, kept);

    f.kept = node_new(a, cell_get(a));
    {
        ALQ_BLOCKING(a->on, blocks);

        if (below(a, 4) == 0)
            usleep((useconds_t)below(a, 300));
        else
            sched_yield();
    }
    walk(a, f.kept);
}

static void
collect(struct actor *a)
{
    switch (below(a, 8)) {
    case 0:
        CHECK((below(a, 2) == 0 ? alq_gc_full_major(a->on)
                                : alq_gc_compact(a->on)) == ALQ_OK);
        break;
    case 1:
        CHECK(alq_gc_major(a->on) == ALQ_OK);
        break;
    case 2:
    case 3:
    case 4:
        CHECK(alq_gc_major_slice(a->on, below(a, 5000)) == ALQ_OK);
        break;
    default:
        CHECK(alq_gc_minor(a->on) == ALQ_OK);
    }
}

static alq_domain_fn act;

static void
step(struct actor *a)
{
    uint64_t what = below(a, 1000);

    if (what < 600)
        share(a);
    else if (what < 700)
        relink(a);
    else if (what < 900)
        walk(a, cell_get(a));
    else if (what < 940)
        block(a);
    else if (what < 970)
        alq_poll(a->on);
    else if (what < 990)
        collect(a);
    else if (what < 993)
        cut_all(a);
}

/* Spawns, if there is room; the child may be forgotten. */
static struct alq_child *
spawn_some(struct actor *a)
{
    struct alq_domain_config config = {4096 << below(a, 5), 0, 0, 0, 0};
    struct alq_child *child = NULL;
    uint64_t *seed = malloc(2 * sizeof *seed);
    enum alq_status status;

    CHECK(seed != NULL);
    seed[0] = next(a);
    seed[1] = (uint64_t)a->depth + 1;
    __atomic_add_fetch(&acting, 1, __ATOMIC_RELAXED);
    status = alq_domain_spawn(a->on, act, node_new(a, cell_get(a)), seed,
                              &config, &child);
    if (status == ALQ_OK)
        return child;
    CHECK(status == ALQ_EBUSY);
    __atomic_sub_fetch(&acting, 1, __ATOMIC_RELAXED);
    free(seed);
    return NULL;
}

static alq_value
act(struct alq_domain *on, alq_value arg, void *data)
{
    uint64_t *seed = data;
    struct actor a = {on, seed[0], (int)seed[1]};
    struct alq_child *child = NULL;
    alq_value v;
    ALQ_FRAME(on, f, arg, kept);
    int i, n;

    free(seed);
    f.arg = arg;
    n = STEPS / 2 + (int)below(&a, STEPS);
    for (i = 0; i < n; i++) {
        if (a.depth < DEPTH && child == NULL && below(&a, STEPS / 3) == 0)
            child = spawn_some(&a);
        step(&a);
        if (i % 16 == 0)
            f.kept = node_new(&a, f.kept);
        if (i % 400 == 0)
            f.kept = ALQ_UNIT;
    }
    if (child != NULL && below(&a, 3) != 0) {
        CHECK(alq_domain_join(on, child, &v) == ALQ_OK);
        walk(&a, v);
    }
    alq_child_drop(child);
    walk(&a, f.kept);
    node_check(f.arg);
    f.kept = node_new(&a, f.kept);
    __atomic_sub_fetch(&acting, 1, __ATOMIC_RELEASE);
    return f.kept;
}

static void
one_run(unsigned run, uint64_t seed)
{
    struct actor a = {NULL, seed, 0};
    struct alq_domain_config config = {4096 << below(&a, 4),
                                       (unsigned)(20 + below(&a, 200)), 0, 0,
                                       (unsigned)(1 + below(&a, 8))};
    struct alq_child *children[4];
    uint64_t *own = malloc(2 * sizeof *own);
    unsigned i;

    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    a.on = d;
    shared = &shareds[run];
    shared->value = alq_alloc(d, CELLS, 0);
    assert_int_equal(alq_global_add(d, shared), ALQ_OK);
    for (i = 0; i < ALQI_COUNT_OF(children); i++)
        children[i] = spawn_some(&a);
    assert_non_null(own);
    own[0] = next(&a);
    own[1] = 1;
    __atomic_add_fetch(&acting, 1, __ATOMIC_RELAXED);
    act(d, node_new(&a, ALQ_UNIT), own);
    for (i = 0; i < ALQI_COUNT_OF(children); i++) {
        alq_value v;

        if (children[i] == NULL)
            continue;
        assert_int_equal(alq_domain_join(d, children[i], &v), ALQ_OK);
        node_check(v);
        alq_child_drop(children[i]);
    }
}

/* Domains that were forgotten may be the last ones. */
static void
await_the_end(void)
{
    while (__atomic_load_n(&acting, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&customs_gone, __ATOMIC_ACQUIRE) <
               __atomic_load_n(&customs_made, __ATOMIC_ACQUIRE))
        usleep(1000);
}

static void
domains_come_and_go(void **state)
{
    uint64_t seed = 20261122 + alqi_base_test_seed();
    unsigned i;

    (void)state;
    for (i = 0; i < SEEDS; i++) {
        print_message("seed %llu\n", (unsigned long long)(seed + i));
        one_run(i, seed + i);
        assert_int_equal(alq_domain_drop(d), ALQ_OK);
        await_the_end();
        assert_int_equal(customs_gone, customs_made);
    }
    assert_true(customs_made > SEEDS * 10);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domains_come_and_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
