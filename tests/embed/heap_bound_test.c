/* heap_bound_test.c -- the hard limit holds at each moment, also within
 * collections, whatever survives; and how much of it can be used */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/limit_heap.h"
#include "heap/state.h"

#include "domains_kit.h" /* behind them: this has a domain named d */
#include "base/skip.h"

enum { POOL = ALQI_HEAP_POOL_BYTES };

/* What heap.h says: so many bytes may be left when small blocks are refused. */
enum { KEPT = (2 * ALQI_HEAP_CLASSES + 2) * POOL };

/* ---- a look at each event ----------------------------------------------- */

struct look {
    struct alq_domain *on;
    uint64_t most;     /* that it may be */
    uint64_t seen;     /* the most that it was */
    uint64_t n_minors; /* looked at right after promotion */
};

static void
look(void *arg, const struct alq_event *event)
{
    struct look *l = arg;
    uint64_t bytes = alqi_heap_bytes(alqi_heap_domain(l->on)->heap), seen;

    CHECK(bytes <= __atomic_load_n(&l->most, __ATOMIC_RELAXED));
    seen = __atomic_load_n(&l->seen, __ATOMIC_RELAXED);
    while (bytes > seen &&
           !__atomic_compare_exchange_n(&l->seen, &seen, bytes, true,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
    if (event->kind == ALQ_EVENT_MINOR && event->point == ALQ_EVENT_END)
        __atomic_fetch_add(&l->n_minors, 1, __ATOMIC_RELAXED);
}

static uint64_t
bytes_now(struct alq_domain *on)
{
    struct alq_gc_counts c;

    CHECK(alq_gc_counters(on, &c) == ALQ_OK);
    return c.heap_bytes;
}

/* ---- ways to fill a heap ------------------------------------------------ */

static const struct alq_custom_ops plain = {"plain"};

enum way { CELLS, SIZES, KINDS, LARGE, OLD, MIXED, WAYS };

static alq_value
block_of(struct alq_domain *on, enum way way, uintptr_t i)
{
    switch (way) {
    case CELLS:
        return alq_alloc(on, 2, 0);
    case SIZES: /* each class in turn: the most pools for what there is */
        return alq_alloc(on, 2 + i % 255, 0);
    case KINDS:
        return alq_alloc(on, 2 + i % 97, i % 2 == 0 ? 0 : ALQ_TAG_ABSTRACT);
    case LARGE:
        return alq_alloc(on, 3000 + i % 5000, 0);
    case OLD: /* small ones that are born in the major heap */
        return alq_alloc_custom_mem(on, &plain, 8 + i % 500, 80000);
    default:
        return block_of(on, (enum way)(i / 7 % MIXED), i);
    }
}

/* Until it is refused; all of it survives. */
static void
fill(struct alq_domain *on, alq_value *list, enum way way)
{
    ALQ_FRAME(on, f, block, cell);
    uintptr_t i;

    for (i = 0;; i++) {
        f.block = block_of(on, way, i);
        if (f.block == ALQ_NULL)
            return;
        f.cell = alq_alloc(on, 2, 0);
        if (f.cell == ALQ_NULL)
            return;
        alq_init(on, f.cell, 0, f.block);
        alq_init(on, f.cell, 1, *list);
        *list = f.cell;
        CHECK(i < 10000000);
    }
}

static void
fill_and_look(enum way way, size_t minor_words, size_t limit)
{
    struct alq_domain_config config = {minor_words, 0, limit, 1 << 20, 0};
    struct look l = {NULL, limit, 0, 0};
    struct alq_listener listener = {look, &l, 0};

    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    l.on = d;
    assert_int_equal(alq_listener_add(d, &listener), ALQ_OK);
    {
        ALQ_FRAME(d, f, list);

        fill(d, &f.list, way);
        assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
        assert_true(bytes_now(d) <= limit);
        if (way != LARGE && way != OLD && way != MIXED)
            assert_true(bytes_now(d) > limit - KEPT);
        __atomic_store_n(&l.most, limit + (1 << 20), __ATOMIC_RELAXED);
        fill(d, &f.list, way); /* the reserve */
        assert_true(bytes_now(d) <= limit + (1 << 20));
        f.list = ALQ_UNIT;
        alq_status_clear(d);
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        __atomic_store_n(&l.most, limit, __ATOMIC_RELAXED);
        fill(d, &f.list, way);
        assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    }
    assert_true(l.n_minors > 10);
    assert_true(l.seen > limit - limit / 2);
    assert_int_equal(alq_listener_remove(d, &listener), ALQ_OK);
}

static void
no_collection_passes_it(void **state)
{
    static const size_t minors[] = {0, 4096, 1 << 20};
    static const size_t limits[] = {4 << 20, 9 << 20, 30 << 20};
    enum way way;
    size_t m, l;

    (void)state;
    for (way = 0; way < WAYS; way++)
        for (m = 0; m < ALQI_COUNT_OF(minors); m++) {
            if (IS_HARD && (way != SIZES || m != 1))
                continue; /* each allocation collects */
            for (l = 0; l < ALQI_TEST_ROUNDS(m == 0 ? 3 : 2, 1, 1); l++)
                fill_and_look(way, minors[m], limits[l]);
        }
}

/* A program whose live data leave little room still runs: minor heaps become
 * narrow, and nothing is refused. */
static void
little_room_is_enough(void **state)
{
    struct alq_domain_config config = {0, 0, 8 << 20, 1 << 20, 0};
    struct alq_gc_counts c;
    unsigned i;

    (void)state;
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    {
        ALQ_FRAME(d, g, live);
        /* Beside the pool of each size that is used: a few. */
        uintptr_t words = ((8 << 20) - KEPT - 16 * POOL) / 8;

        g.live = alq_alloc(d, words, 0);
        assert_int_not_equal(g.live, ALQ_NULL);
        for (i = 0; i < (IS_HARD ? 300 : 300000); i++) {
            alq_store(d, g.live, i % 500, alq_alloc(d, 1 + i % 9, 0));
            assert_int_equal(alq_status_of(d), ALQ_OK);
        }
        assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
        assert_true(c.heap_bytes <= 8 << 20);
    }
}

/* However wide minor heaps are, a block that fits in is not refused. */
static void
wide_minor_heaps_make_room(void **state)
{
    struct alq_domain_config config = {1 << 22, 0, 64 << 20, 1 << 20, 0};
    struct alq_gc_counts c;

    (void)state;
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    {
        ALQ_FRAME(d, f, small, large);

        f.small = tree(d, 6);
        f.large = alq_alloc(d, ((64 << 20) - KEPT - 40 * POOL) / 8, 0);
        assert_int_not_equal(f.large, ALQ_NULL);
        f.large = ALQ_UNIT;
        assert_int_equal(alq_alloc(d, (64 << 20) / 8, 0), ALQ_NULL);
        alq_status_clear(d); /* and small ones go on */
        burn(d, ALQ_UNIT, NULL);
        assert_int_equal(tree_size(f.small), 63);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
        assert_true(c.emergencies >= 2);
    }
}

/* ---- several at once ---------------------------------------------------- */

enum { DOMAINS = 4, LIMIT = 16 << 20, RESERVE = 1 << 20 };

static alq_value
fill_each_way(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, list);
    intptr_t i;

    through_gate(on, ALQ_UNIT, data); /* a full heap refuses those to come */
    for (i = 0; i < ALQI_TEST_ROUNDS(4, 2, 1); i++) {
        f.list = ALQ_UNIT;
        while (alq_status_of(on) == ALQ_OK)
            fill(on, &f.list, (enum way)((alq_to_int(arg) + i) % WAYS));
        CHECK(alq_status_of(on) == ALQ_ENOMEM);
        f.list = ALQ_UNIT;
        alq_status_clear(on);
        {
            ALQ_BLOCKING(on, blocks);
            sched_yield();
        }
    }
    return arg;
}

/* None of them may use the reserve for long: a status is cleared before more is
 * allocated. */
static void
nor_do_several_domains(void **state)
{
    struct alq_domain_config config = {0, 0, LIMIT, RESERVE, 0};
    struct alq_child *children[DOMAINS];
    struct gate gate = GATE;
    struct look l = {NULL, LIMIT + RESERVE, 0, 0};
    struct alq_listener listener = {look, &l, 0};
    int i;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects at every safe point");
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    l.on = d;
    assert_int_equal(alq_listener_add(d, &listener), ALQ_OK);
    for (i = 0; i < DOMAINS; i++)
        children[i] = spawn(d, fill_each_way, alq_from_int(i), &gate);
    gate_await(&gate, DOMAINS);
    gate_open(&gate);
    for (i = 0; i < DOMAINS; i++)
        finish(d, children[i]);
    assert_true(l.seen > LIMIT / 2);
    assert_int_equal(alq_listener_remove(d, &listener), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(bytes_now(d) < LIMIT / 8);
}

/* ---- other ends --------------------------------------------------------- */

/* Limits that are next to none, reserves that are next to all. */
static void
great_numbers_are_no_small_ones(void **state)
{
    static const size_t limits[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2};
    unsigned i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(limits); i++) {
        struct alq_domain_config config = {0, 0, limits[i], 2 << 20, 0};

        alq_domain_drop(d);
        assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
        assert_int_equal(alq_alloc(d, 1, ALQ_TAG_CUSTOM), ALQ_NULL);
        assert_int_equal(alq_status_of(d), ALQ_EINVAL); /* the reserve counts */
        assert_int_not_equal(alq_alloc(d, 3000, 0), ALQ_NULL);
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        assert_int_not_equal(alq_alloc(d, 3, 0), ALQ_NULL);
    }
}

static alq_value
look_at_config(struct alq_domain *on, alq_value arg, void *data)
{
    struct alq_gc_control c;
    struct alq_child *child = NULL;

    (void)data;
    CHECK(alq_gc_get(on, &c) == ALQ_OK);
    CHECK(c.space_overhead == 77);
    CHECK(IS_HARD || c.minor_heap_size == 8192); /* this is its own */
    CHECK(alq_alloc(on, 2 << 20, 0) != ALQ_NULL);
    CHECK(alq_alloc(on, 16 << 20, 0) == ALQ_NULL);
    CHECK(alq_status_of(on) == ALQ_ENOMEM);
    alq_status_clear(on);
    CHECK(alq_domain_spawn(on, burn, 1, NULL, NULL, &child) == ALQ_EBUSY);
    return arg;
}

/* Members of the config that are the heap's are those of its first domain. */
static void
the_first_domain_says_what_the_heap_is(void **state)
{
    struct alq_domain_config first = {4096, 77, 64 << 20, 1 << 20, 2};
    struct alq_domain_config second = {8192, 300, 1 << 20, 5 << 20, 128};
    struct alq_child *child;

    (void)state;
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&first, &d), ALQ_OK);
    assert_int_equal(
        alq_domain_spawn(d, look_at_config, ALQ_UNIT, NULL, &second, &child),
        ALQ_OK);
    finish(d, child);
}

/* Garbage until the heap has `most` bytes, or was collected for lack of room;
 * how many there were before. */
static uint64_t
litter(struct alq_domain *on, uint64_t most)
{
    ALQ_FRAME(on, f, big);
    struct alq_gc_counts c;
    uint64_t before, bytes;

    CHECK(alq_gc_counters(on, &c) == ALQ_OK);
    before = c.emergencies;
    do {
        bytes = c.heap_bytes;
        f.big = alq_alloc(on, 2000, ALQ_TAG_ABSTRACT);
        CHECK(alq_gc_counters(on, &c) == ALQ_OK);
    } while (c.heap_bytes < most && c.emergencies == before);
    return bytes;
}

/* Of garbage that fills the heap nothing is in the way of a new domain. */
static void
a_spawn_collects_first(void **state)
{
    struct alq_domain_config config = {4096, 1000000, 8 << 20, 65536, 0};
    struct alq_gc_counts before, after;
    uint64_t full;
    unsigned i;

    (void)state;
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    full = litter(d, UINT64_MAX);
    assert_true(full <= 8 << 20);
    for (i = 0; i < (IS_HARD ? 3 : 100); i++) {
        litter(d, full - 3 * POOL);
        assert_int_equal(alq_gc_counters(d, &before), ALQ_OK);
        finish(d, spawn(d, burn, ALQ_UNIT, NULL));
        assert_int_equal(alq_gc_counters(d, &after), ALQ_OK);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        if (after.emergencies > before.emergencies)
            return;
    }
    fail_msg("no spawn was short of memory");
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(no_collection_passes_it),
        TEST(little_room_is_enough),
        TEST(wide_minor_heaps_make_room),
        TEST(nor_do_several_domains),
        TEST(great_numbers_are_no_small_ones),
        TEST(a_spawn_collects_first),
        TEST(the_first_domain_says_what_the_heap_is),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
