/* sweep_counted_test.c -- pools that sweeping need not read
 *
 * Marking counts the marked blocks of each pool while the heap has one domain
 * (.inv.counted).  A pool of which nothing died is left as it is, one of which
 * all died becomes free; the others are read.  Which way a pool went is seen by
 * the calls, that nothing was lost by what is alive, in checking builds also by
 * their own counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/pool_area.h"
#include "heap/pool.h"

#include "domains_kit.h" /* behind it: this has a domain named d */

enum {
    DEPTH = 14,
    NODES = (1 << DEPTH) - 1,
    NODE_WORDS = 3,
    POOLS = NODES * NODE_WORDS / ALQI_HEAP_POOL_WORDS, /* and a part */
    STRINGS = 600,
    STRING_BYTES = 200,
    DATA_WOSIZE = 40
};

static unsigned n_read, n_unread; /* pools */

unsigned __real_alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned c,
                                     uintptr_t garbage);
unsigned __wrap_alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned c,
                                     uintptr_t garbage);
void __real_alqi_heap_area_give_unread(struct alqi_heap_area *area,
                                       struct alqi_heap_pool *pool);
void __wrap_alqi_heap_area_give_unread(struct alqi_heap_area *area,
                                       struct alqi_heap_pool *pool);

unsigned
__wrap_alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned c,
                            uintptr_t garbage)
{
    n_read++;
    return __real_alqi_heap_pool_sweep(pool, c, garbage);
}

void
__wrap_alqi_heap_area_give_unread(struct alqi_heap_area *area,
                                  struct alqi_heap_pool *pool)
{
    n_unread++;
    __real_alqi_heap_area_give_unread(area, pool);
}

/* Three cycles, swept to the end. */
static void
collect(void)
{
    n_read = n_unread = 0;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
}

static void
pools_without_garbage_are_not_read(void **state)
{
    ALQ_FRAME(d, f, live);

    (void)state;
    f.live = tree(d, DEPTH);
    collect();
    collect();
    assert_true(n_read < POOLS); /* of three times as many */
    assert_int_equal(n_unread, 0);
    assert_int_equal(tree_size(f.live), NODES);
}

/* The pools that become free have old headers, which blocks of another size
 * must not meet. */
static void
what_dies_as_a_whole_is_not_read(void **state)
{
    ALQ_FRAME(d, f, live, dead);
    int i;

    (void)state;
    f.live = tree(d, DEPTH);
    collect();
    f.dead = tree(d, DEPTH);
    collect();
    f.dead = ALQ_UNIT;
    collect();
    assert_true(n_unread >= POOLS - 2);
    assert_true(n_read < POOLS);
    for (i = 0, f.dead = ALQ_UNIT; i < NODES / 4; i++) {
        alq_value v = alq_alloc_small(d, 4, 0);

        CHECK(!alq_is_null(v));
        alq_init_small(v, 0, f.dead);
        alq_init_small(v, 1, f.live);
        alq_init_small(v, 2, ALQ_UNIT);
        alq_init_small(v, 3, ALQ_UNIT);
        f.dead = v;
    }
    collect();
    for (i = 0; alq_is_block(f.dead); i++)
        f.dead = alq_field(f.dead, 0);
    assert_int_equal(i, NODES / 4);
    assert_int_equal(tree_size(f.live), NODES);
}

static unsigned n_finalised;

static void
finalise(alq_value block)
{
    (void)block;
    n_finalised++;
}

static const struct alq_custom_ops ops = {.name = "counted",
                                          .finalise = finalise};

/* A list with one element more. */
static alq_value
cons(alq_value head, alq_value tail)
{
    ALQ_FRAME(d, f, head, tail);
    alq_value pair;

    f.head = head;
    f.tail = tail;
    pair = alq_alloc_small(d, 2, 0);
    CHECK(!alq_is_null(pair));
    alq_init_small(pair, 0, f.head);
    alq_init_small(pair, 1, f.tail);
    return pair;
}

/* What has a finaliser is read, though all of it died. */
static void
each_dead_custom_block_is_finalised(void **state)
{
    ALQ_FRAME(d, f, all);
    int i;

    (void)state;
    n_finalised = 0;
    for (i = 0, f.all = ALQ_UNIT; i < STRINGS; i++) {
        alq_value v = alq_alloc_custom(d, &ops, STRING_BYTES);

        CHECK(!alq_is_null(v));
        f.all = cons(v, f.all);
    }
    collect();
    assert_int_equal(n_finalised, 0);
    f.all = ALQ_UNIT;
    collect();
    assert_int_equal(n_finalised, STRINGS);
}

/* A list of strings, each with its number in each byte. */
static alq_value
strings(int n)
{
    ALQ_FRAME(d, f, all);
    char chars[STRING_BYTES];
    int i;

    for (i = 0, f.all = ALQ_UNIT; i < n; i++) {
        alq_value string;

        memset(chars, i, sizeof chars);
        string = alq_string_copy(d, chars, sizeof chars);
        CHECK(!alq_is_null(string));
        f.all = cons(string, f.all);
    }
    return f.all;
}

/* Every second string dies: each pool is read, and what is left is used again
 * without harm to the others. */
static void
pools_with_both_are_read(void **state)
{
    ALQ_FRAME(d, f, all, more);
    alq_value v;
    int i;

    (void)state;
    f.all = strings(STRINGS);
    collect();
    for (i = 0, v = f.all; alq_is_block(v); v = alq_field(v, 1))
        if (i++ % 2 == 0)
            alq_store(d, v, 0, ALQ_UNIT);
    collect();
    assert_true(n_read >= STRINGS * STRING_BYTES / ALQI_HEAP_POOL_BYTES);
    f.more = strings(STRINGS);
    collect();
    for (i = STRINGS, v = f.all; alq_is_block(v); v = alq_field(v, 1)) {
        char chars[STRING_BYTES];

        memset(chars, --i, sizeof chars);
        if (alq_is_block(alq_field(v, 0)))
            assert_memory_equal(alq_string_chars(alq_field(v, 0)), chars,
                                sizeof chars);
    }
    assert_int_equal(i, 0);
}

/* Blocks that are born while marking are in no count: their pools are read in
 * that cycle, and counted in the next. */
static void
pools_that_blocks_were_born_in_are_read(void **state)
{
    struct alqi_domain *heap_d = (struct alqi_domain *)d;
    ALQ_FRAME(d, f, live, born);

    (void)state;
    f.live = tree(d, DEPTH);
    collect();
    while (heap_d->heap->cycle.phase != ALQI_HEAP_MARK) {
        f.born = tree(d, 5);
        CHECK(alq_gc_major_slice(d, 1) == ALQ_OK);
    }
    f.born = tree(d, DEPTH); /* pools that only such blocks are in, too */
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_int_equal(tree_size(f.born), NODES);
    collect();
    assert_int_equal(tree_size(f.born), NODES);
    f.born = ALQ_UNIT;
    collect();
    assert_true(n_unread >= POOLS - 2);
    assert_int_equal(tree_size(f.live), NODES);
}

/* What ephemerons alone lead to is marked, and counted, in a loop of its own.
 */
static void
data_of_ephemerons_are_counted(void **state)
{
    ALQ_FRAME(d, f, key, all, ephe);
    alq_value v;
    int i, k;

    (void)state;
    f.key = tree(d, 1);
    for (i = 0, f.all = ALQ_UNIT; i < STRINGS; i++) {
        v = alq_alloc_small(d, DATA_WOSIZE, 0);
        CHECK(!alq_is_null(v));
        for (k = 0; k < DATA_WOSIZE; k++)
            alq_init_small(v, k, alq_from_int(i));
        f.ephe = alq_ephe_make(d, 1, &f.key, v);
        CHECK(!alq_is_null(f.ephe));
        f.all = cons(f.ephe, f.all);
    }
    collect();
    collect();
    assert_int_equal(n_unread, 0);
    for (v = f.all; alq_is_block(v); v = alq_field(v, 1)) {
        alq_value data = alq_ephe_get_data(d, alq_field(v, 0));

        CHECK(alq_is_block(data));
        assert_int_equal(alq_to_int(alq_field(data, DATA_WOSIZE - 1)), --i);
    }
    assert_int_equal(i, 0);
}

/* Where there is, or was, a second domain nothing is counted. */
static void
with_two_domains_all_is_read(void **state)
{
    ALQ_FRAME(d, f, live, dead);

    (void)state;
    f.live = tree(d, DEPTH);
    f.dead = tree(d, DEPTH);
    collect();
    finish(d, spawn(d, burn, ALQ_UNIT, NULL));
    f.dead = ALQ_UNIT;
    collect();
    assert_int_equal(n_unread, 0);
    assert_true(n_read >= POOLS * 3);
    assert_int_equal(tree_size(f.live), NODES);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pools_without_garbage_are_not_read),
        TEST(what_dies_as_a_whole_is_not_read),
        TEST(each_dead_custom_block_is_finalised),
        TEST(pools_with_both_are_read),
        TEST(pools_that_blocks_were_born_in_are_read),
        TEST(data_of_ephemerons_are_counted),
        TEST(with_two_domains_all_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
