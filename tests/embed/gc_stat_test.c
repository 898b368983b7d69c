/* gc_stat_test.c -- the Gc module: arguments, counters, statistics */
#include "gc_kit.h"
#include "value_kit.h"

static const struct alq_custom_ops plain = {"plain", NULL};

/* ---- arguments ---------------------------------------------------------- */

static void
bad_arguments_give_a_status(void **state)
{
    struct alq_gc_control good = control(), c, after;
    struct alq_gc_stats s;
    struct alq_gc_counts n;
    intptr_t *values = &c.minor_heap_size, v;
    size_t i;

    (void)state;
    assert_int_equal(alq_gc_minor(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_major(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_full_major(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_major_slice(NULL, 0), ALQ_EINVAL);
    assert_int_equal(alq_gc_counters(NULL, &n), ALQ_EINVAL);
    assert_int_equal(alq_gc_counters(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_stat(NULL, &s), ALQ_EINVAL);
    assert_int_equal(alq_gc_stat(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_quick_stat(NULL, &s), ALQ_EINVAL);
    assert_int_equal(alq_gc_quick_stat(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_print_stat(NULL, stderr), ALQ_EINVAL);
    assert_int_equal(alq_gc_print_stat(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_get(NULL, &c), ALQ_EINVAL);
    assert_int_equal(alq_gc_get(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_set(NULL, &good), ALQ_EINVAL);
    assert_int_equal(alq_gc_set(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_get_bucket(NULL, 0, &v), ALQ_EINVAL);
    assert_int_equal(alq_gc_get_bucket(d, 0, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_get_bucket(d, -1, &v), ALQ_EINVAL);
    assert_int_equal(alq_gc_stack_check(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_minor_words(NULL), 0);
    assert_int_equal(alq_gc_allocated_bytes(NULL), 0);
    assert_int_equal(alq_gc_get_minor_free(NULL), 0);
    assert_int_equal(alq_gc_get_credit(NULL), 0);
    assert_int_equal(alq_gc_huge_fallback_count(NULL), 0);
    assert_int_equal(alq_gc_params(NULL, NULL, 0), 0);
    for (i = 0; i < sizeof c / sizeof(intptr_t); i++) { /* spec 8.1, 14, too */
        c = good;
        c.space_overhead += 1; /* not even that is changed */
        values[i] = -5;
        assert_int_equal(alq_gc_set(d, &c), ALQ_EINVAL);
        after = control();
        assert_memory_equal(&after, &good, sizeof good);
    }
    c = good;
    c.allocation_policy = 3;
    assert_int_equal(alq_gc_set(d, &c), ALQ_EINVAL);
    assert_same(alq_alloc_custom_mem(d, NULL, 8, 8), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_EINVAL);
    alq_status_clear(d);
}

static void
a_ratio_of_nothing_is_refused(void **state)
{
    (void)state;
    assert_same(alq_alloc_custom_ratio(d, &plain, 8, 1, 0), ALQ_NULL);
    assert_int_equal(alq_status_of(d), ALQ_EINVAL);
    alq_status_clear(d);
}

/* ---- counters ----------------------------------------------------------- */

static uint64_t expected_words;

#define COUNTED(call, words) IS_COUNTED(!alq_is_null(call), words)
#define IS_COUNTED(is_made, words)                                             \
    do {                                                                       \
        assert_true(is_made);                                                  \
        expected_words += (words);                                             \
        assert_true(alq_gc_allocated_bytes(d) - from == expected_words * 8);   \
    } while (0)

/* Each way to allocate counts its words, headers included, whatever collections
 * come between. */
static void
every_allocation_is_counted(void **state)
{
    static const uintptr_t headers[] = {ALQ_HEADER(2, 0), ALQ_HEADER(7, 0)};
    uint64_t from = alq_gc_allocated_bytes(d);
    alq_value out[2];
    unsigned i;

    (void)state;
    expected_words = 0;
    for (i = 0; i < (IS_HARD ? 100 : 20000); i++) {
        COUNTED(alq_alloc_small(d, 3, ALQ_TAG_ABSTRACT), 4);
        IS_COUNTED(alq_alloc_several(d, 2, headers, out), 11);
        memset(alq_fields(out[0]), 1, 16);
        memset(alq_fields(out[1]), 1, 56);
        COUNTED(alq_alloc(d, 1 + i % 256, 0), 2 + i % 256);
        COUNTED(alq_alloc(d, 0, 0), 0);
        COUNTED(alq_alloc_string(d, i % 3000), 2 + i % 3000 / 8);
        COUNTED(alq_alloc_double(d, 1.5), 2);
        COUNTED(alq_alloc_double_array(d, 1 + i % 500), 2 + i % 500);
        COUNTED(alq_alloc_custom(d, &plain, 20), 5);
        COUNTED(alq_alloc_custom(d, &plain, 4000), 502);
        COUNTED(alq_alloc_custom_mem(d, &plain, 20, 100), 5);
        COUNTED(alq_alloc_custom_mem(d, &plain, 20, 100000), 5);
        COUNTED(alq_alloc_custom_ratio(d, &plain, 20, 1, 1000), 5);
        if (i % 1000 == 500)
            assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    assert_true(counts().outside_bytes == (uint64_t)i * 100100);
    assert_true(counts().minor_collections > 0);
}

/* B24, B25. */
static void
minor_words_counts_exactly(void **state)
{
    uint64_t before = alq_gc_minor_words(d);
    unsigned i, n = ALQI_TEST_ROUNDS(5000000, 1000000, 5000);

    (void)state;
    assert_true(alq_gc_minor_words(d) == before); /* does not allocate */
    for (i = 0; i < n; i++) {
        alq_init_small(alq_alloc_small(d, 2, 0), 0, ALQ_UNIT);
        if (i % (n / 10) == n / 20)
            assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    assert_true(alq_gc_minor_words(d) - before == 3 * (uint64_t)n);
    assert_true(counts().minor_words - before == 3 * (uint64_t)n);
    assert_true(stat_of().minor_words - before == 3 * (uint64_t)n);
}

/* By blocks' words, not by slots'. */
static void
promoted_words_are_exact(void **state)
{
    ALQ_FRAME(d, f, table);
    uint64_t words = 0, before;
    uintptr_t i;

    (void)state;
    f.table = alq_alloc(d, 257, 0);
    before = counts().promoted_words;
    for (i = 1; i <= 256; i++) {
        alq_store(d, f.table, i, alq_alloc(d, i, i % 2 ? 0 : ALQ_TAG_STRING));
        words += i + 1;
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_true(counts().promoted_words - before == words);
    assert_true(counts().major_words ==
                counts().promoted_words + counts().direct_words);
}

/* Spec 8.1, 10: OCaml 5's are bytes. */
static void
minor_free_is_in_words(void **state)
{
    size_t before;

    (void)state;
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    if (!IS_HARD)
        assert_int_equal(alq_gc_get_minor_free(d), 262144);
    before = alq_gc_get_minor_free(d);
    alq_alloc_small(d, 9, ALQ_TAG_ABSTRACT);
    if (!IS_HARD)
        assert_int_equal(alq_gc_get_minor_free(d), before - 10);
}

/* ---- stat --------------------------------------------------------------- */

/* A table of `n` blocks of 1 to 256 fields and 20 large ones; their words. */
static uint64_t
build(alq_value *table, unsigned n)
{
    uint64_t words = n + 21;
    unsigned i;

    *table = alq_alloc(d, n + 20, 0);
    for (i = 0; i < n + 20; i++) {
        uintptr_t wosize = i < n ? 1 + i * 7 % 256 : 300 + i;

        alq_store(d, *table, i, alq_alloc(d, wosize, i % 3 ? 0 : 252));
        words += wosize + 1;
    }
    return words;
}

static void
stat_counts_what_lives(void **state)
{
    ALQ_FRAME(d, f, table);
    unsigned n = 3000;
    uint64_t words = build(&f.table, n), i;
    struct alq_gc_stats s;

    (void)state;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    s = stat_of();
    assert_true(s.live_words == words);
    assert_true(s.live_blocks == n + 21);
    assert_true(s.fragments > 0 && s.free_blocks > 0);
    assert_true(s.heap_chunks > 21);
    for (i = 0; i < n; i += 2) {
        words -= alq_wosize(alq_field(f.table, i)) + 1;
        alq_store(d, f.table, i, ALQ_UNIT);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(stat_of().live_words == words);
    assert_true(stat_of().live_blocks == n / 2 + 21);
    assert_true(stat_of().largest_free >= 257); /* a slot of the last class */
    f.table = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    s = stat_of();
    assert_true(s.live_words == 0 && s.live_blocks == 0);
    assert_true(s.largest_free == (s.heap_words == 0 ? 0 : POOL_WORDS));
}

/* The law holds in each phase; stat collects nothing. */
static void
stat_at_any_moment(void **state)
{
    ALQ_FRAME(d, f, table);
    uint64_t cycles;
    unsigned i;

    (void)state;
    f.table = alq_alloc(d, 2000, 0);
    for (i = 0; i < ALQI_TEST_ROUNDS(200000, 60000, 2000); i++) {
        alq_store(d, f.table, i % 2000,
                  alq_alloc(d, i % 97 == 0 ? 400 : 1 + i % 30, 0));
        if (i % 1000 == 0) {
            assert_int_equal(alq_gc_major_slice(d, i % 7 * 5000), ALQ_OK);
            cycles = counts().major_cycles;
            stat_of();
            assert_true(counts().major_cycles == cycles);
        }
    }
    assert_true(counts().major_cycles > 1);
}

static void
quick_stat_leaves_out_the_blocks(void **state)
{
    ALQ_FRAME(d, f, table);
    struct alq_gc_stats s, q;

    (void)state;
    build(&f.table, 1000);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    s = stat_of();
    assert_int_equal(alq_gc_quick_stat(d, &q), ALQ_OK);
    assert_true(q.live_words == 0 && q.live_blocks == 0 && q.free_words == 0 &&
                q.free_blocks == 0 && q.largest_free == 0 && q.fragments == 0);
    assert_true(q.minor_words == s.minor_words);
    assert_true(q.promoted_words == s.promoted_words);
    assert_true(q.major_words == s.major_words);
    assert_true(q.minor_collections == s.minor_collections);
    assert_true(q.major_collections == s.major_collections);
    assert_true(q.heap_words == s.heap_words);
    assert_true(q.heap_chunks == s.heap_chunks);
    assert_true(q.top_heap_words == s.top_heap_words);
    assert_true(q.forced_major_collections == s.forced_major_collections);
    assert_true(q.stack_size > 0 && q.stack_size < 1 << 20);
}

static void
collections_are_counted(void **state)
{
    struct alq_gc_stats a = stat_of(), b;

    (void)state;
    alq_alloc(d, 1, 0);
    alq_gc_minor(d);
    b = stat_of();
    assert_true(b.minor_collections >= a.minor_collections + 1);
    assert_true(b.major_collections == a.major_collections || IS_HARD);
    a = b;
    alq_gc_major(d);
    b = stat_of();
    assert_true(b.major_collections == a.major_collections + 1);
    assert_true(b.forced_major_collections == a.forced_major_collections);
    alq_gc_full_major(d);
    b = stat_of();
    assert_true(b.major_collections == a.major_collections + 4);
    assert_true(b.forced_major_collections == a.forced_major_collections + 1);
}

/* No pool is ever in use, and yet cycles come to an end. */
static void
large_blocks_alone_are_collected(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < 3000; i++)
        alq_alloc(d, 10000, 0);
    assert_true(counts().major_cycles > 5);
    assert_true(counts().heap_bytes < 64 << 20);
}

static void
the_top_is_kept(void **state)
{
    struct alq_gc_stats before = stat_of(), high, low;

    (void)state;
    {
        ALQ_FRAME(d, f, big);
        f.big = alq_alloc(d, 10000000, 0);
        high = stat_of();
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    low = stat_of();
    assert_true(high.heap_words >= before.heap_words + 10000000);
    assert_true(low.heap_words < high.heap_words);
    assert_true(low.top_heap_words == high.top_heap_words);
}

static uint64_t
resident_bytes(void)
{
    unsigned long all, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "re");

    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu %lu", &all, &resident), 2);
    fclose(statm);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* What is counted is there: the whole process has more. */
static void
memory_that_is_the_systems_is_not_counted(void **state)
{
    struct alq_gc_stats s;

    (void)state;
    reopen("s=4M"); /* pools for all of that are promised */
    ALQ_FRAME(d, f, list);
    f.list = ALQ_UNIT;
    grow_list(&f.list, IS_HARD ? 2000 : 2000000);
    s = stat_of();
    assert_true(s.heap_words * 8 <= resident_bytes());
    f.list = ALQ_UNIT;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    s = stat_of();
    assert_true(s.heap_words * 8 <= resident_bytes());
    assert_true(s.heap_words == s.heap_chunks * POOL_WORDS); /* none is large */
    assert_true(s.heap_words <= 100 * POOL_WORDS);           /* nothing lives */
    grow_list(&f.list, 1000);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    s = stat_of();
    assert_true(s.live_words >= 3000 && s.heap_words * 8 <= resident_bytes());
}

static size_t
deep_stack(unsigned n)
{
    volatile char room[1000];
    struct alq_gc_stats s;

    room[n] = 0;
    if (n > 0)
        return deep_stack(n - 1) + (size_t)room[n];
    assert_int_equal(alq_gc_quick_stat(d, &s), ALQ_OK);
    return s.stack_size;
}

static void
stack_size_is_the_threads(void **state)
{
    (void)state;
    assert_in_range(deep_stack(200) - deep_stack(0), 200 * 125, 200 * 400);
}

/* ---- several domains ---------------------------------------------------- */

enum { CHILD_PAIRS = IS_HARD ? 500 : 100000, CHILD_WORDS = 3 * CHILD_PAIRS };

static alq_value
allocates(struct alq_domain *child, alq_value arg, void *data)
{
    uint64_t before = alq_gc_allocated_bytes(child);
    struct alq_gc_stats s;
    unsigned i;

    (void)arg;
    for (i = 0; i < CHILD_PAIRS; i++)
        alq_alloc_small(child, 2, ALQ_TAG_ABSTRACT);
    *(uint64_t *)data = alq_gc_allocated_bytes(child) - before;
    if (alq_gc_stat(child, &s) != ALQ_OK ||
        s.live_words + s.free_words + s.fragments != s.heap_words)
        *(uint64_t *)data = 0;
    return ALQ_UNIT;
}

static alq_value
has_much(struct alq_domain *child, alq_value arg, void *data)
{
    ALQ_FRAME(child, f, arg, big);

    (void)data;
    f.arg = arg;
    f.big = alq_alloc(child, 4000000, 0);
    return alq_is_null(f.big) ? ALQ_NULL : f.arg;
}

/* Spec 8.1, 12: four domains have 32 MB each, one after the other; the sum of
 * their maxima would be 128. */
static void
the_top_is_one_moments(void **state)
{
    uint64_t before = stat_of().top_heap_words, top;
    struct alq_child *child;
    alq_value v;
    unsigned i;

    (void)state;
    for (i = 0; i < 4; i++) {
        assert_int_equal(
            alq_domain_spawn(d, has_much, ALQ_UNIT, NULL, NULL, &child),
            ALQ_OK);
        assert_int_equal(alq_domain_join(d, child, &v), ALQ_OK);
        assert_same(v, ALQ_UNIT);
        alq_child_drop(child);
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    top = stat_of().top_heap_words;
    assert_true(top >= before + 4000000 && top < before + 8000000);
}

/* What ended domains allocated stays in the sums, and nothing counts twice. */
static void
ended_domains_are_counted(void **state)
{
    enum { CHILDREN = 5 };
    struct alq_child *children[CHILDREN];
    uint64_t bytes[CHILDREN], own = alq_gc_minor_words(d);
    uint64_t before = stat_of().minor_words;
    unsigned i;

    (void)state;
    for (i = 0; i < CHILDREN; i++)
        assert_int_equal(alq_domain_spawn(d, allocates, ALQ_UNIT, &bytes[i],
                                          NULL, &children[i]),
                         ALQ_OK);
    for (i = 0; i < CHILDREN; i++) {
        assert_int_equal(alq_domain_join(d, children[i], NULL), ALQ_OK);
        alq_child_drop(children[i]);
        assert_true(bytes[i] == CHILD_WORDS * 8);
        stat_of();
    }
    own = alq_gc_minor_words(d) - own;
    assert_true(stat_of().minor_words - before ==
                own + (uint64_t)CHILDREN * CHILD_WORDS);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_true(stat_of().minor_words - before ==
                own + (uint64_t)CHILDREN * CHILD_WORDS);
}

static int
no_row(void *arg, const struct alq_census_row *row)
{
    (void)arg;
    (void)row;
    return 1;
}

/* Away and back, all the time, with something to collect. */
static alq_value
comes_and_goes(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, arg, kept);

    f.arg = arg;
    while (!__atomic_load_n((bool *)data, __ATOMIC_RELAXED)) {
        f.kept = alq_alloc(on, 3, 0);
        f.kept = alq_alloc(on, 300, 0);
        {
            ALQ_BLOCKING(on, blocks);
        }
    }
    return f.arg;
}

/* Who looks reads nothing that they write; the thread sanitizer knows. */
static void
stat_beside_domains_that_come_and_go(void **state)
{
    enum { CHILDREN = 3 };
    struct alq_child *children[CHILDREN];
    struct alq_gc_stats s;
    bool is_over = false;
    unsigned i;

    (void)state;
    for (i = 0; i < CHILDREN; i++)
        assert_int_equal(alq_domain_spawn(d, comes_and_goes, ALQ_UNIT, &is_over,
                                          NULL, &children[i]),
                         ALQ_OK);
    for (i = 0; i < ALQI_TEST_ROUNDS(500, 100, 50); i++) {
        stat_of();
        assert_int_equal(alq_gc_quick_stat(d, &s), ALQ_OK);
        assert_int_equal(alq_gc_huge_fallback_count(d), 0);
        assert_int_equal(alq_census_take(d, no_row, NULL), ALQ_OK);
        alq_alloc(d, 1000, 0);
        if (i % 10 == 0)
            assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    __atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
    for (i = 0; i < CHILDREN; i++) {
        assert_int_equal(alq_domain_join(d, children[i], NULL), ALQ_OK);
        alq_child_drop(children[i]);
    }
}

/* ---- print_stat --------------------------------------------------------- */

static void
print_stat_has_its_shape(void **state)
{
    ALQ_FRAME(d, f, table);
    struct alq_gc_stats s;
    char *text = NULL, expected[2000];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    int w, h;

    (void)state;
    build(&f.table, 1000);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    s = stat_of();
    assert_int_equal(alq_gc_print_stat(d, out), ALQ_OK);
    fclose(out);
    w = snprintf(NULL, 0, "%ju", (uintmax_t)s.minor_words);
    h = snprintf(NULL, 0, "%ju", (uintmax_t)s.top_heap_words);
#define N(x) (uintmax_t)(x)
    snprintf(expected, sizeof expected,
             "minor_collections:      %ju\nmajor_collections:      %ju\n"
             "compactions:            %ju\nforced_major_collections: %ju\n\n"
             "minor_words:    %*ju\npromoted_words: %*ju\n"
             "major_words:    %*ju\n\n"
             "top_heap_words: %*ju\nheap_words:     %*ju\n"
             "live_words:     %*ju\nfree_words:     %*ju\n"
             "largest_free:   %*ju\nfragments:      %*ju\n\n"
             "live_blocks: %ju\nfree_blocks: %ju\nheap_chunks: %ju\n",
             N(s.minor_collections), N(s.major_collections), N(s.compactions),
             N(s.forced_major_collections), w, N(s.minor_words), w,
             N(s.promoted_words), w, N(s.major_words), h, N(s.top_heap_words),
             h, N(s.heap_words), h, N(s.live_words), h, N(s.free_words), h,
             N(s.largest_free), h, N(s.fragments), N(s.live_blocks),
             N(s.free_blocks), N(s.heap_chunks));
#undef N
    assert_string_equal(text, expected);
    free(text);
    out = fopen("/dev/full", "w");
    assert_non_null(out);
    assert_int_equal(alq_gc_print_stat(d, out), ALQ_EIO);
    fclose(out);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(bad_arguments_give_a_status),
        T(a_ratio_of_nothing_is_refused),
        T(every_allocation_is_counted),
        T(minor_words_counts_exactly),
        T(promoted_words_are_exact),
        T(minor_free_is_in_words),
        T(stat_counts_what_lives),
        T(stat_at_any_moment),
        T(quick_stat_leaves_out_the_blocks),
        T(collections_are_counted),
        T(large_blocks_alone_are_collected),
        T(the_top_is_kept),
        T(stack_size_is_the_threads),
        T(ended_domains_are_counted),
        T(the_top_is_one_moments),
        T(print_stat_has_its_shape),
        T(memory_that_is_the_systems_is_not_counted),
        T(stat_beside_domains_that_come_and_go),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
