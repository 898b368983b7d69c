/* limit_heap_test.c -- limits of memory: the heap's, and of what lives; numbers
 * are the scenarios of spec memprof-limits 5 */
#include <stdio.h>
#include <unistd.h>

#include "glue/join/profiler.h"

#include "limit_kit.h" /* behind it: this has a domain named d */
#include "base/skip.h"

enum { BLOCK_WORDS = 101 };

/* ---- tasks that keep what they make -------------------------------------- */

struct hoard {
    uint64_t n;       /* of blocks to make, 101 words each    */
    uint64_t n_kept;  /* of them, the first so many are kept  */
    uint64_t made;    /* is counted                           */
    alq_value *holds; /* a root of somebody's, or NULL        */
};

/* In a list, newest first. */
static enum alq_status
hoard(struct alq_domain *on, void *arg)
{
    struct hoard *h = arg;
    ALQ_FRAME(on, f, list, one);

    f.list = h->holds != NULL ? *h->holds : ALQ_UNIT;
    for (h->made = 0; h->made < h->n; h->made++) {
        f.one = alq_alloc(on, BLOCK_WORDS - 1, 0);
        if (f.one == ALQ_NULL)
            break;
        if (h->made >= h->n_kept)
            continue;
        alq_init(on, f.one, 0, f.list);
        f.list = f.one;
    }
    if (h->holds != NULL)
        *h->holds = f.list;
    return alq_status_of(on);
}

static struct alq_limits
limit_live(uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.live_words = words;
    return l;
}

static bool
is_charging(void)
{
    return alqi_glue_profiler_samples((struct alqi_domain *)d,
                                      ALQI_MEMPROF_SLOT_LIVE);
}

/* ---- live words ---------------------------------------------------------- */

enum { LIVE_WORDS = 400000 };

/* Where it stops is the planner's law; each run is out of it with 2e-13, and
 * the blocks that pass while it is judged are some. */
static void
task_that_keeps_what_it_makes_is_stopped(void **state)
{
    uint64_t interval = alq_limit_live_interval(LIVE_WORDS);
    uint64_t least = alq_limit_safe_words(LIVE_WORDS, interval, 1e-13);
    uint64_t most = alq_limit_stop_words(LIVE_WORDS, interval, 1e-13);

    (void)state;
    assert_int_equal(interval, 1000);
    assert_true(least > LIVE_WORDS * 0.6 && most < LIVE_WORDS * 1.5);
    for (int run = 0; run < reps(50, 5, 0); run++) {
        struct alq_limits l = limit_live(LIVE_WORDS);
        struct hoard h = {UINT64_MAX, UINT64_MAX, 0, NULL};
        struct alq_outcome out;

        l.flags = (unsigned)run % 2 * ALQ_LIMIT_GARBAGE_COUNTS;
        assert_int_equal(alq_limit_run(d, &l, hoard, &h, &out), ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_LIVE);
        assert_int_equal(out.words, h.made * BLOCK_WORDS);
        assert_true(out.words > least);
        assert_true(out.words < most + 5 * BLOCK_WORDS);
        assert_true(out.live_words >= LIVE_WORDS);
        assert_int_equal(out.live_words % interval, 0);
        assert_false(is_charging());
    }
}

/* Of 40 times as much a quarter is kept: the estimate is within 8 standard
 * deviations at the end, but in 1e-14 of all runs. */
static void
garbage_does_not_count(void **state)
{
    uint64_t kept = LIVE_WORDS / 4 / BLOCK_WORDS;
    struct hoard h = {40 * LIVE_WORDS / BLOCK_WORDS, kept, 0, NULL};
    struct alq_limits l = limit_live(LIVE_WORDS);
    struct alq_outcome out;

    (void)state;
    if (IS_HARD)
        h.n = h.n_kept = 300;
    assert_int_equal(alq_limit_run(d, &l, hoard, &h, &out), ALQ_OK);
    assert_int_equal(out.words, h.n * BLOCK_WORDS);
    /* It collects the young whenever they come to the limit. */
    assert_true(out.live_words <
                LIVE_WORDS + 20 * alq_limit_live_interval(LIVE_WORDS));
}

struct family {
    int n;        /* of inner tasks */
    bool forgets; /* what the one before has left */
    bool lets_inner_pay;
    int done;
};

/* Each inner task leaves a tenth of LIVE_WORDS behind. */
static enum alq_status
raise_family(struct alq_domain *on, void *arg)
{
    struct family *family = arg;
    ALQ_FRAME(on, f, list);

    f.list = ALQ_UNIT;
    for (family->done = 0; family->done < family->n; family->done++) {
        struct alq_limits l = limit_live(LIVE_WORDS / 2);
        struct hoard h = {LIVE_WORDS / 10 / BLOCK_WORDS, UINT64_MAX, 0,
                          &f.list};
        enum alq_status status = alq_limit_run(
            on, family->lets_inner_pay ? &l : NULL, hoard, &h, NULL);

        if (status != ALQ_OK)
            return status;
        if (family->forgets)
            f.list = ALQ_UNIT;
    }
    return ALQ_OK;
}

/* The samples of 400,000 words are 400, and their standard deviation 20: less
 * than 6 or more than 14 tenths are 8 of them, 1e-14 of all runs. */
static void
what_inner_tasks_leave_alive_is_the_outer_one_s(void **state)
{
    (void)state;
    for (int pays = 0; pays < (IS_HARD ? 0 : 2); pays++) {
        struct alq_limits l = limit_live(LIVE_WORDS);
        struct family f = {1000, false, pays != 0, 0};
        struct alq_outcome out;

        assert_int_equal(alq_limit_run(d, &l, raise_family, &f, &out),
                         ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_LIVE);
        assert_in_range(f.done, 6, 14);
        f = (struct family){40, true, pays != 0, 0};
        assert_int_equal(alq_limit_run(d, &l, raise_family, &f, &out), ALQ_OK);
        assert_false(is_charging());
    }
}

/* Whoever made it pays, whoever holds it: the next task begins with nothing. */
static void
earlier_tasks_do_not_count(void **state)
{
    struct alq_outcome out;
    ALQ_FRAME(d, f, list);

    (void)state;
    f.list = ALQ_UNIT;
    for (int i = 0; i < 10; i++) {
        struct alq_limits l = limit_live(LIVE_WORDS);
        struct hoard h = {LIVE_WORDS / 4 / BLOCK_WORDS, UINT64_MAX, 0, &f.list};

        if (IS_HARD)
            h.n = 30;
        assert_int_equal(alq_limit_run(d, &l, hoard, &h, &out), ALQ_OK);
        assert_true(out.live_words < LIVE_WORDS / 2);
    }
}

static volatile int may_end;

static enum alq_status
hoard_inside(struct alq_domain *on, void *arg)
{
    struct alq_limits l = limit_live(LIVE_WORDS);

    l.flags = ALQ_LIMIT_UNWINDS;
    (void)arg;
    while (!may_end) {
        struct hoard h = {UINT64_MAX, UINT64_MAX, 0, NULL};

        (void)!alq_limit_run(on, &l, hoard, &h, NULL);
        l.live_words = 2 * LIVE_WORDS; /* beyond the outer one's */
    }
    return ALQ_OK;
}

static void
unwinding_ends_what_it_leaves(void **state)
{
    struct alq_limits l = limit_words(LIVE_WORDS * 3);
    struct alq_outcome out;

    (void)state;
    l.flags = ALQ_LIMIT_UNWINDS;
    if (IS_HARD)
        l.words = 2000;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(alq_limit_run(d, &l, hoard_inside, NULL, &out),
                         ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_WORDS);
        assert_false(is_charging());
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
}

/* ---- the heap's size ------------------------------------------------------
 */

/* What the process may keep of a heap that was compacted. */
enum { LEFT_BYTES = 16 << 20 };

static uint64_t
resident_bytes(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long long all, resident;

    CHECK(f != NULL && fscanf(f, "%llu %llu", &all, &resident) == 2);
    fclose(f);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Workers fill the heap up to its limit, a hundred times, the first of them one
 * of 1 GiB: when the heap is compacted, the next one finds all of it, and the
 * process is about as large as before the first. */
static void
monitor_recovers_31(void **state)
{
    uint64_t before = resident_bytes();

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects at every safe point");
    for (int cycle = 0; cycle < reps(100, 2, 0); cycle++) {
        uint64_t limit = (uint64_t)(IS_BRIEF     ? 16
                                    : cycle == 0 ? 1024
                                                 : 64)
                         << 20;
        struct alq_limits l = ALQ_LIMITS_NONE;
        struct hoard h = {UINT64_MAX, UINT64_MAX, 0, NULL};
        struct alq_outcome out;

        l.heap_bytes = limit;
        assert_int_equal(alq_limit_run(d, &l, hoard, &h, &out), ALQ_ELIMIT);
        assert_int_equal(out.cause, ALQ_LIMIT_HEAP);
        assert_true(out.heap_bytes > limit);
        assert_true(h.made * BLOCK_WORDS * 8 > limit / 10 * 8);
        assert_true(h.made * BLOCK_WORDS * 8 < limit / 10 * 11 + (8 << 20));
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
        if (!IS_BRIEF) /* sanitizers keep memory back */
            assert_true(resident_bytes() < before + LEFT_BYTES);
    }
}

enum { SCATTERED = 600000, ONE_IN = 20, DENSE = 300000 };

/* In a list, newest first. */
static enum alq_status
put(struct alq_domain *on, size_t wosize, alq_value *list)
{
    alq_value v = alq_alloc(on, wosize, 0);

    if (v == ALQ_NULL)
        return alq_status_of(on);
    alq_init(on, v, 0, *list);
    *list = v;
    return ALQ_OK;
}

/* Of small blocks one in 20 is kept, in as many pages as all; then others come
 * that do not fit between them. */
static enum alq_status
scatter(struct alq_domain *on, void *arg)
{
    enum alq_status status = ALQ_OK;
    ALQ_FRAME(on, f, dropped, kept);

    (void)arg;
    f.dropped = f.kept = ALQ_UNIT;
    for (int i = 0; i < SCATTERED && status == ALQ_OK; i++)
        status = put(on, 4, i % ONE_IN == 0 ? &f.kept : &f.dropped);
    f.dropped = ALQ_UNIT;
    for (int i = 0; i < DENSE && status == ALQ_OK; i++)
        status = put(on, 9, &f.dropped);
    return status;
}

/* No collection alone brings it under the limit again. */
static void
heap_limit_compacts(void **state)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects at every safe point");
    l.heap_bytes = 30000000;
    assert_int_equal(alq_limit_run(d, &l, scatter, NULL, &out), ALQ_OK);
    assert_true(out.heap_bytes > l.heap_bytes / 2);
    assert_true(out.heap_bytes <= l.heap_bytes);
    l.flags = ALQ_LIMIT_GARBAGE_COUNTS;
    assert_int_equal(alq_limit_run(d, &l, scatter, NULL, &out), ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_HEAP);
    assert_true(out.heap_bytes > l.heap_bytes);
}

/* ---- memory out of the heap ---------------------------------------------- */

enum { OUTSIDE_WORDS = 1000 };

static enum alq_status
hold_outside(struct alq_domain *on, void *arg)
{
    static const struct alq_custom_ops ops = {"outside"};
    ALQ_FRAME(on, f, list, one, cell);
    uint64_t *made = arg;

    f.list = ALQ_UNIT;
    for (*made = 0; *made < 100000; ++*made) {
        f.one = alq_alloc_custom_mem(on, &ops, 8, OUTSIDE_WORDS * 8);
        f.cell = f.one != ALQ_NULL ? alq_alloc(on, 2, 0) : ALQ_NULL;
        if (f.cell == ALQ_NULL)
            break;
        alq_init(on, f.cell, 0, f.one);
        alq_init(on, f.cell, 1, f.list);
        f.list = f.cell;
    }
    return alq_status_of(on);
}

/* 8 standard deviations, as above. */
static void
memory_out_of_the_heap_counts(void **state)
{
    struct alq_limits l = limit_live(LIVE_WORDS);
    struct alq_outcome out;
    uint64_t made;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects at every safe point");
    assert_int_equal(alq_limit_run(d, &l, hold_outside, &made, &out),
                     ALQ_ELIMIT);
    assert_int_equal(out.cause, ALQ_LIMIT_LIVE);
    assert_in_range(made, LIVE_WORDS * 6 / 10 / OUTSIDE_WORDS,
                    LIVE_WORDS * 14 / 10 / OUTSIDE_WORDS);
}

int
main(void)
{
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, domains_setup, domains_teardown)
    const struct CMUnitTest tests[] = {
        TEST(task_that_keeps_what_it_makes_is_stopped),
        TEST(garbage_does_not_count),
        TEST(what_inner_tasks_leave_alive_is_the_outer_one_s),
        TEST(earlier_tasks_do_not_count),
        TEST(unwinding_ends_what_it_leaves),
        TEST(memory_out_of_the_heap_counts),
        TEST(monitor_recovers_31),
        TEST(heap_limit_compacts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
