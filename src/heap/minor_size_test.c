/* minor_size_test.c -- sizes of a minor heap under programs that are formulas
 *
 * A program is a function: of so many bytes allocated, how many survive.  Each
 * test runs thousands of collections of one, or of one after another, and looks
 * at the size that most of them had, and at the smallest and largest.  No
 * domain runs; the policy reads counters alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "heap/minor_size.h"

enum { COLLECTIONS = 4000, KB = 1024, MB = 1024 * 1024 };

static struct alqi_heap heap;
static struct alqi_domain d;

static void
start(uintptr_t heap_bytes)
{
    memset(&heap, 0, sizeof heap);
    memset(&d, 0, sizeof d);
    d.heap = &heap;
    heap.domains[0] = &d;
    heap.n_slots = 1;
    heap.area.n_used = heap_bytes / ALQI_HEAP_POOL_BYTES;
    alqi_heap_minor_size_start(&heap.young.policy, 2 * MB);
}

/* Bytes that survive when so many were allocated. */
typedef double survivors_fn(double bytes, unsigned turn);

struct result {
    double usual; /* the size that most collections had */
    double share; /* of the collections */
    uintptr_t least;
    uintptr_t most;
};

static struct result
run(survivors_fn *survivors, unsigned n)
{
    static unsigned at[64];
    struct result r = {0, 0, UINTPTR_MAX, 0};
    unsigned i, best = 0;

    memset(at, 0, sizeof at);
    for (i = 0; i < n; i++) {
        uintptr_t bytes = alqi_heap_minor_size_bytes(&d);

        assert_int_equal(bytes % ALQI_HEAP_CHUNK_BYTES, 0); /* .inv.size */
        d.sums.counts.minor_words += bytes / 8;
        d.sums.counts.promoted_words +=
            (uint64_t)survivors((double)bytes, i) / ALQ_WORD_BYTES;
        alqi_heap_minor_size_note_stw(&heap);
        at[63 - __builtin_clzll(bytes)]++;
        r.least = bytes < r.least ? bytes : r.least;
        r.most = bytes > r.most ? bytes : r.most;
    }
    for (i = 0; i < 64; i++)
        if (at[i] > at[best])
            best = i;
    r.usual = (double)((uintptr_t)1 << best);
    r.share = (double)at[best] / n;
    return r;
}

static double
none(double bytes, unsigned turn)
{
    return 0 * bytes * turn;
}

static double
always_the_same_share(double bytes, unsigned turn)
{
    (void)turn;
    return 0.42 * bytes;
}

/* What is under construction lives, half of a MiB: the rest is dead. */
static double
half_a_tree(double bytes, unsigned turn)
{
    double tree = MB;

    if (bytes < tree)
        return bytes * (1 - bytes / (2 * tree));
    return tree / 2 * (turn % 3);
}

/* Far fewer survive from 151 chunks on, which is what the longest pause leads
 * to where 0.4215 survive: an odd number, half of which is tried later. */
static double
less_from_151_chunks(double bytes, unsigned turn)
{
    (void)turn;
    return (bytes < 151.0 * ALQI_HEAP_CHUNK_BYTES ? 0.4215 : 0.2) * bytes;
}

static void
where_all_die_it_stays(void **state)
{
    struct result r;

    (void)state;
    start(64 * MB);
    r = run(none, COLLECTIONS);
    assert_true(r.least == 2 * MB && r.most == 2 * MB);
}

static void
where_size_does_not_matter_pauses_are_short(void **state)
{
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    r = run(always_the_same_share, COLLECTIONS);
    assert_true(r.usual == 256 * KB && r.share > 0.9);
    assert_true(0.42 * (double)r.most <= 2 * MB); /* tries have bounds, too */
}

/* Four promote at the same time: a pause is a quarter of that. */
static void
pauses_of_several_are_shorter(void **state)
{
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    heap.young.workers.n = 4;
    r = run(always_the_same_share, COLLECTIONS);
    assert_true(r.usual == 1 * MB && r.share > 0.9);
}

static void
where_blocks_die_soon_it_grows(void **state)
{
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    r = run(half_a_tree, COLLECTIONS);
    assert_true(r.usual == 32 * MB && r.share > 0.8);
}

static void
the_heap_bounds_it(void **state)
{
    struct result r;

    (void)state;
    start(20 * MB);
    r = run(half_a_tree, COLLECTIONS);
    assert_true(r.most == 4 * MB);
    heap.area.n_used = 0; /* later the heap is small */
    r = run(half_a_tree, COLLECTIONS);
    assert_true(heap.young.policy.bytes <= 2 * MB);
}

static void
it_follows_the_program(void **state)
{
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    run(always_the_same_share, COLLECTIONS);
    r = run(half_a_tree, COLLECTIONS);
    assert_true(r.usual == 32 * MB && r.share > 0.7);
    r = run(always_the_same_share, COLLECTIONS);
    assert_true(r.usual == 256 * KB && r.share > 0.9);
}

static void
a_fixed_size_is_fixed(void **state)
{
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    d.sizes.fixed_bytes = 1 * MB;
    r = run(always_the_same_share, COLLECTIONS);
    assert_true(r.least == 1 * MB && r.most == 1 * MB);
    assert_true(heap.young.policy.bytes == 2 * MB);
}

/* .inv.size, in `run`: also of half of an odd number of chunks. */
static void
each_size_is_whole_chunks(void **state)
{
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    r = run(less_from_151_chunks, COLLECTIONS);
    assert_true(r.most >= (uintptr_t)151 * ALQI_HEAP_CHUNK_BYTES);
}

/* Two domains, one of which ends: the counts fall. */
static void
domains_come_and_go(void **state)
{
    static struct alqi_domain other;
    struct result r;

    (void)state;
    start(400 * (uintptr_t)MB);
    memset(&other, 0, sizeof other);
    other.heap = &heap;
    heap.young.is_shared = true;
    other.sums.counts.minor_words = other.sums.counts.promoted_words = 1 << 30;
    heap.domains[heap.n_slots++] = &other;
    run(always_the_same_share, 10);
    memset(&other.sums.counts, 0, sizeof other.sums.counts);
    r = run(always_the_same_share, COLLECTIONS);
    assert_true(r.usual == 256 * KB && r.share > 0.9);
}

/* What was not touched from one trim to the next. */
static void
trimmed_is_what_nobody_needed(void **state)
{
    uintptr_t slice = (uintptr_t)alqi_plat_pages_map(32 * MB);

    (void)state;
    assert_int_not_equal(slice, 0);
    start(64 * MB);
    d.sizes.base = slice;
    d.sizes.touched_bytes = d.sizes.widest_bytes = 16 * MB;
    d.young.end = slice + 4 * MB;
    if (ALQI_CHECKS >= 3) { /* hard: it goes through the whole slice */
        assert_int_equal(alqi_heap_minor_size_trim(&d), 0);
        return;
    }
    assert_int_equal(alqi_heap_minor_size_trim(&d), 0);
    assert_int_equal(alqi_heap_minor_size_trim(&d), 12 * MB);
    assert_int_equal(d.sizes.touched_bytes, 4 * MB);
    assert_int_equal(alqi_heap_minor_size_trim(&d), 0);
    d.sizes.touched_bytes = d.sizes.widest_bytes = 8 * MB;
    d.sizes.fixed_bytes = 4 * MB; /* chosen: it is wider no more */
    assert_int_equal(alqi_heap_minor_size_trim(&d), 4 * MB);
    alqi_plat_pages_unmap((void *)slice, 32 * MB);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(where_all_die_it_stays),
        cmocka_unit_test(where_size_does_not_matter_pauses_are_short),
        cmocka_unit_test(pauses_of_several_are_shorter),
        cmocka_unit_test(where_blocks_die_soon_it_grows),
        cmocka_unit_test(the_heap_bounds_it),
        cmocka_unit_test(it_follows_the_program),
        cmocka_unit_test(a_fixed_size_is_fixed),
        cmocka_unit_test(each_size_is_whole_chunks),
        cmocka_unit_test(domains_come_and_go),
        cmocka_unit_test(trimmed_is_what_nobody_needed),
    };

    return cmocka_run_group_tests_name("nursery", tests, NULL, NULL);
}
