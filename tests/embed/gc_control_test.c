/* gc_control_test.c -- the Gc module: control, stack, smoothing, memory outside
 */
#include "gc_kit.h"
#include "base/skip.h"

static const struct alq_custom_ops plain = {"plain", NULL};

static uint64_t n_freed;

static void
count_free(alq_value block)
{
    (void)block;
    n_freed++;
}

static const struct alq_custom_ops counting = {"counting", count_free};

/* ---- control ------------------------------------------------------------ */

/* B26. */
static void
what_is_set_is_got(void **state)
{
    const struct alq_gc_control a = {1 << 20, 2000, 200, 0x80, 300, 1 << 20,
                                     2,       7,    60,  70,   5000};
    const struct alq_gc_control b = {1 << 18, 0,  80, 0, 1000000, 1 << 21,
                                     1,       50, 1,  1, 0};
    struct alq_gc_control c;

    (void)state;
    assert_int_equal(alq_gc_set(d, &a), ALQ_OK);
    c = control();
    assert_memory_equal(&c, &a, sizeof c);
    assert_int_equal(alq_gc_set(d, &b), ALQ_OK);
    c = control();
    assert_memory_equal(&c, &b, sizeof c);
}

static void
the_defaults(void **state)
{
    const struct alq_gc_control expected = {
        262144, 15, 120, 0, 500, 134217728, 0, 1, 44, 100, 70000};
    struct alq_gc_control c = control();

    (void)state;
    assert_memory_equal(&c, &expected, sizeof c);
}

static void
values_are_brought_into_range(void **state)
{
    struct alq_gc_control c = control();

    (void)state;
    c.minor_heap_size = 5000;
    c.space_overhead = 0;
    c.window_size = 0;
    c.custom_major_ratio = 0;
    c.custom_minor_ratio = 0;
    c.stack_limit = 10;
    c.max_overhead = INTPTR_MAX;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    c = control();
    if (!IS_HARD)
        assert_int_equal(c.minor_heap_size, 8192);
    assert_int_equal(c.space_overhead, 1);
    assert_int_equal(c.window_size, 1);
    assert_int_equal(c.custom_major_ratio, 1);
    assert_int_equal(c.custom_minor_ratio, 1);
    assert_int_equal(c.max_overhead, 1000000);
    assert_in_range(c.stack_limit, 512 + 20, 1 << 20); /* what is in use */
    assert_int_equal(alq_gc_stack_check(d), ALQ_OK);
    c.minor_heap_size = INTPTR_MAX;
    c.window_size = 99;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(control().minor_heap_size, 4194304);
    assert_int_equal(control().window_size, 50);
}

static void
the_minor_heap_is_resized(void **state)
{
    static const intptr_t sizes[] = {4096,  1 << 22, 8192,    1 << 20,
                                     12288, 262144,  1 << 22, 4096};
    ALQ_FRAME(d, f, list);
    struct alq_gc_control c;
    unsigned i, k, n = 0;
    alq_value cell;

    (void)state;
    f.list = ALQ_UNIT;
    for (i = 0; i < ALQI_COUNT_OF(sizes); i++) {
        c = control();
        c.minor_heap_size = sizes[i];
        assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
        if (!IS_HARD) {
            assert_int_equal(control().minor_heap_size, sizes[i]);
            assert_int_equal(alq_gc_get_minor_free(d), sizes[i]);
        }
        for (k = 0; k < (IS_CHECKED ? 500 : 100000); k++) {
            cell = alq_alloc_small(d, 2, 0);
            alq_init_small(cell, 0, alq_from_int(n++));
            alq_init_small(cell, 1, f.list);
            f.list = cell;
        }
    }
    for (cell = f.list; !alq_is_same(cell, ALQ_UNIT); cell = alq_field(cell, 1))
        assert_int_equal(alq_to_int(alq_field(cell, 0)), --n);
    assert_int_equal(n, 0);
}

/* The words that the program has chosen; 0: it leaves them open. */
static long
chosen_words(void)
{
    char text[300];

    assert_true(alq_gc_params(d, text, sizeof text) < sizeof text);
    assert_memory_equal(text, "s=", 2);
    return strtol(text + 2, NULL, 10);
}

/* What a wide one has touched goes back when it is narrow. */
static void
a_minor_heap_gives_memory_back(void **state)
{
    enum { WIDE = 1 << 22, NARROW = 8192 };
    struct alq_gc_control c = control();
    uint64_t before;
    unsigned i;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build touches what it forbids");
    c.minor_heap_size = WIDE;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    for (i = 0; i < WIDE / 4; i++)
        alq_alloc_small(d, 3, ALQ_TAG_ABSTRACT);
    c.minor_heap_size = NARROW;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    before = counts().returned_bytes;
    assert_int_equal(alq_gc_major(d), ALQ_OK);
    assert_int_equal(alq_gc_major_slice(d, 1), ALQ_OK);
    assert_true(counts().returned_bytes - before > WIDE * 8 / 2);
}

/* What alq_gc_get has shown chooses nothing, and 0 takes a choice back. */
static void
the_choice_is_left_to_the_heap(void **state)
{
    struct alq_gc_control c = control();

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build never leaves it open");
    assert_int_equal(chosen_words(), 0);
    c.space_overhead = 100;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(chosen_words(), 0);
    c.minor_heap_size = 8192;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(chosen_words(), 8192);
    c = control();
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(chosen_words(), 8192);
    c.minor_heap_size = 0;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(chosen_words(), 0);
    assert_int_equal(control().minor_heap_size, 262144);
}

/* With half as much overhead there are more cycles, and the heap is smaller. */
static void
the_overhead_bounds_the_heap(void **state)
{
    static const intptr_t overheads[] = {30, 120, 400};
    uint64_t cycles[3], bytes[3];
    unsigned i, k;

    (void)state;
    if (IS_CHECKED || IS_WATCHED)
        return;
    for (k = 0; k < ALQI_COUNT_OF(overheads); k++) {
        ALQ_FRAME(d, f, table);
        struct alq_gc_control c = control();

        c.space_overhead = overheads[k];
        assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
        f.table = alq_alloc(d, 400000, 0);
        for (i = 0; i < 400000; i++)
            alq_store(d, f.table, i, alq_alloc(d, 5, 0));
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        cycles[k] = counts().major_cycles;
        bytes[k] = 0;
        for (i = 0; i < 6000000; i++) {
            alq_store(d, f.table, alqi_base_mix(i) % 400000,
                      alq_alloc(d, 5, 0));
            if (i % 4096 == 0 && counts().heap_bytes > bytes[k])
                bytes[k] = counts().heap_bytes;
        }
        cycles[k] = counts().major_cycles - cycles[k];
        f.table = ALQ_UNIT;
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    assert_true(cycles[0] > 2 * cycles[1] && cycles[1] > 2 * cycles[2]);
    assert_true(bytes[0] < bytes[1] && bytes[1] < bytes[2]);
    /* 22.4 MB live: cells of 6 words, and the table. */
    assert_true(bytes[0] < 22400000 * 2);
    assert_true(bytes[2] > 22400000 * 2);
}

/* Until more of the heap may be accessed; so many words. */
static uint64_t
grow_until_ready(alq_value *list, alq_value old)
{
    uint64_t before = ready_words(old), after;

    do {
        grow_list(list, 1000);
        after = ready_words(old);
    } while (after == before);
    return after - before;
}

static void
the_heap_grows_by_the_increment(void **state)
{
    static const intptr_t words[] = {1 << 20, 3 << 20};
    ALQ_FRAME(d, f, list, old);
    struct alq_gc_control c = control();
    uint64_t before;
    unsigned i;

    (void)state;
    if (IS_CHECKED)
        return;
    f.list = ALQ_UNIT;
    f.old = alq_alloc(d, 1, 0);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    for (i = 0; i < ALQI_COUNT_OF(words); i++) {
        c.major_heap_increment = words[i];
        assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
        assert_in_range(grow_until_ready(&f.list, f.old), words[i],
                        words[i] + 64 * POOL_WORDS);
    }
    c.major_heap_increment = 100; /* percent */
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    before = ready_words(f.old);
    assert_in_range(grow_until_ready(&f.list, f.old), before,
                    before + 64 * POOL_WORDS);
}

/* Live cells in each pool of the table's blocks, by address. */
struct pool_use {
    uintptr_t at;
    unsigned n;
};

static int
by_address(const void *a, const void *b)
{
    uintptr_t x = ((const struct pool_use *)a)->at;
    uintptr_t y = ((const struct pool_use *)b)->at;

    return (x > y) - (x < y);
}

static unsigned
pools_of(alq_value table, struct pool_use *pools, unsigned most)
{
    unsigned n = 0, k;
    uintptr_t i;

    for (i = 0; i < alq_wosize(table); i++) {
        uintptr_t at =
            alq_bits(alq_field(table, i)) & ~(uintptr_t)(POOL_BYTES - 1);

        if (!alq_is_block(alq_field(table, i)))
            continue;
        for (k = 0; k < n && pools[k].at != at; k++)
            continue;
        if (k == n) {
            assert_true(n < most);
            pools[n++] = (struct pool_use){at, 0};
        }
        pools[k].n++;
    }
    qsort(pools, n, sizeof *pools, by_address);
    return n;
}

enum { CELLS = 585 * 40, CELLS_A_POOL = 4092 / 7 }; /* of 6 fields */

/* Pools in which more or less of the cells are dead; where the next cell is
 * promoted to. */
static uintptr_t
next_place(enum alq_gc_policy policy, struct pool_use *pools, unsigned *n)
{
    ALQ_FRAME(d, f, table, cell);
    struct alq_gc_control c = control();
    unsigned i;

    c.allocation_policy = policy;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    f.table = alq_alloc(d, CELLS, 0);
    for (i = 0; i < CELLS; i++)
        alq_store(d, f.table, i, alq_alloc(d, 6, 0));
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    *n = pools_of(f.table, pools, 100);
    for (i = 0; i < CELLS; i++) { /* in waves, and not first the fullest */
        uintptr_t pool =
            (alq_bits(alq_field(f.table, i)) - pools[0].at) / POOL_BYTES;

        if (alqi_base_mix(i) % 16 <= (pool * 7 + 5) % 11 + 1)
            alq_store(d, f.table, i, ALQ_UNIT);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    *n = pools_of(f.table, pools, 100);
    f.cell = alq_alloc(d, 6, 0);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    return alq_bits(f.cell) & ~(uintptr_t)(POOL_BYTES - 1);
}

static void
first_fit_fills_the_lowest_pool(void **state)
{
    struct pool_use pools[100];
    unsigned n, i;
    uintptr_t at = next_place(ALQ_GC_FIRST_FIT, pools, &n);

    (void)state;
    assert_true(n > 20);
    for (i = 0; pools[i].n == CELLS_A_POOL; i++)
        continue;
    assert_true(at == pools[i].at);
}

static void
best_fit_fills_the_fullest_pool(void **state)
{
    struct pool_use pools[100];
    unsigned n, i, best = 0, chosen = 0;
    uintptr_t at = next_place(ALQ_GC_BEST_FIT, pools, &n);

    (void)state;
    assert_true(n > 20);
    for (i = 0; i < n; i++) {
        if (pools[i].n < CELLS_A_POOL && pools[i].n > best)
            best = pools[i].n;
        if (pools[i].at == at)
            chosen = pools[i].n;
    }
    assert_int_equal(chosen, best);
    assert_true(pools[0].n != best); /* else first fit would do as well */
}

static void
a_change_of_policy_collects(void **state)
{
    struct alq_gc_control c = control();
    struct alq_gc_stats before = stat_of(), after;

    (void)state;
    c.allocation_policy = ALQ_GC_BEST_FIT;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    after = stat_of();
    assert_true(after.forced_major_collections ==
                before.forced_major_collections + 1);
    assert_true(after.major_collections == before.major_collections + 2);
    assert_true(after.compactions == before.compactions + 1);
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_true(stat_of().forced_major_collections ==
                before.forced_major_collections + 1);
}

/* ---- the stack ---------------------------------------------------------- */

static unsigned
deepest(unsigned n)
{
    volatile char room[1000];
    unsigned m;

    room[n % 1000] = 0;
    if (alq_gc_stack_check(d) != ALQ_OK)
        return n;
    m = deepest(n + 1);
    return m + (unsigned)room[n % 1000];
}

static void
the_stack_has_a_limit(void **state)
{
    struct alq_gc_control c = control();
    unsigned n;

    (void)state;
    c.stack_limit = 100000; /* 800 KB */
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    n = deepest(0);
    assert_in_range(n, 200, 800);
    c.stack_limit = INTPTR_MAX; /* the thread's own: it does not fault */
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_true(deepest(0) > n);
}

/* ---- smoothing ---------------------------------------------------------- */

static intptr_t
bucket(intptr_t n)
{
    intptr_t v = -1;

    assert_int_equal(alq_gc_get_bucket(d, n, &v), ALQ_OK);
    return v;
}

/* X19.  A list of some 50 MB, about to be marked: buckets have work. */
static void
buckets_hold_work_for_later(void **state)
{
    static const intptr_t windows[] = {1, 7, 50};
    struct alq_gc_control c = control();
    unsigned i, k, rounds;

    (void)state;
    if (IS_CHECKED)
        return;
    for (i = 0; i < ALQI_COUNT_OF(windows); i++) {
        ALQ_FRAME(d, f, list);
        intptr_t w = windows[i], v, seen = 0;

        c.window_size = w;
        assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
        f.list = ALQ_UNIT;
        grow_list(&f.list, 2000000);
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(bucket(0), 0);
        /* A window of one has none for as long as the list takes to double. */
        for (rounds = 0; rounds < (w == 1 ? 1000 : 10000) && seen < 20;
             rounds++) {
            grow_list(&f.list, 2000);
            for (k = 0; k < 60; k++) {
                v = bucket(k);
                assert_in_range(v, 0, 1000000);
                if (k >= w)
                    assert_int_equal(v, 0);
                seen += k > 0 && v > 0;
            }
        }
        assert_true(w == 1 ? seen == 0 : seen >= 20);
        assert_int_equal(bucket(w), 0);
        assert_int_equal(bucket(INTPTR_MAX), 0);
    }
}

/* Work that waits in the fiftieth bucket when there are only two. */
static void
a_smaller_window_has_no_bucket_behind_it(void **state)
{
    ALQ_FRAME(d, f, list);
    struct alq_gc_control c = control();
    intptr_t before, after, n;
    unsigned rounds;

    (void)state;
    if (IS_CHECKED)
        return;
    c.window_size = 50;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    f.list = ALQ_UNIT;
    grow_list(&f.list, 2000000);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (rounds = 0; rounds < 10000 && bucket(40) == 0; rounds++)
        grow_list(&f.list, 2000);
    assert_true(bucket(40) > 0);
    for (before = 0, n = 1; n < 50; n++)
        before += bucket(n);
    c.window_size = 2;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    for (n = 2; n < 60; n++)
        assert_int_equal(bucket(n), 0);
    after = bucket(1);
    assert_true(after > 0 && after <= before); /* none is made up */
}

static void
slices_in_advance_are_credit(void **state)
{
    ALQ_FRAME(d, f, list);
    intptr_t credit, later;
    uint64_t marked;

    (void)state;
    if (IS_CHECKED)
        return;
    f.list = ALQ_UNIT;
    grow_list(&f.list, 2000000);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_get_credit(d), 0);
    marked = counts().marked_words;
    assert_int_equal(alq_gc_major_slice(d, 500000), ALQ_OK);
    credit = alq_gc_get_credit(d);
    assert_in_range(credit, 10000, 1000000);
    assert_true(counts().marked_words > marked + 500000 / 2);
    assert_int_equal(bucket(0), 0);
    marked = counts().marked_words;
    do { /* automatic slices spend it, and do not work */
        later = alq_gc_get_credit(d);
        assert_true(later <= credit);
        assert_true(counts().marked_words == marked);
        credit = later;
        grow_list(&f.list, 100);
    } while (alq_gc_get_credit(d) > 0);
    while (counts().marked_words == marked)
        grow_list(&f.list, 100);
}

/* Asked to do all that is due, it leaves the next one nothing. */
static void
a_slice_of_0_does_the_next_ones_work(void **state)
{
    ALQ_FRAME(d, f, list);
    uint64_t marked;
    unsigned rounds;

    (void)state;
    if (IS_CHECKED)
        return;
    f.list = ALQ_UNIT;
    grow_list(&f.list, 3000000);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_major_slice(d, 1), ALQ_OK); /* begins to mark */
    for (rounds = 0; rounds < 3; rounds++) {
        grow_list(&f.list, 40000);
        marked = counts().marked_words;
        assert_int_equal(alq_gc_major_slice(d, 0), ALQ_OK);
        assert_true(counts().marked_words > marked);
        assert_int_equal(bucket(0), 0);
    }
}

/* The work of slices, spread or not, finishes cycles, and the heap keeps to
 * its size. */
static void
windows_do_not_stop_the_cycles(void **state)
{
    static const intptr_t windows[] = {1, 50};
    uint64_t bytes[2];
    unsigned i, k;

    (void)state;
    if (IS_CHECKED || IS_WATCHED)
        return;
    for (k = 0; k < 2; k++) {
        ALQ_FRAME(d, f, table);
        struct alq_gc_control c = control();
        uint64_t cycles;

        c.window_size = windows[k];
        assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
        f.table = alq_alloc(d, 500000, 0);
        cycles = counts().major_cycles;
        for (i = 0; i < 5000000; i++)
            alq_store(d, f.table, alqi_base_mix(i) % 500000,
                      alq_alloc(d, 4, 0));
        assert_true(counts().major_cycles > cycles + 2);
        bytes[k] = counts().heap_bytes;
        f.table = ALQ_UNIT;
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    assert_true(bytes[1] < bytes[0] * 2);
}

/* ---- custom memory ------------------------------------------------------ */

static void
much_held_is_born_old(void **state)
{
    struct alq_gc_control c = control();
    alq_value young, old;

    (void)state;
    young = alq_alloc_custom_mem(d, &plain, 8, 70000);
    assert_true(alq_is_young(d, young));
    old = alq_alloc_custom_mem(d, &plain, 8, 70001);
    assert_false(alq_is_young(d, old));
    assert_int_equal(alq_wosize(old), 2);
    assert_int_equal(*(uint64_t *)alq_custom_data(old), 0);
    c.custom_minor_max_size = 1000;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_true(alq_is_young(d, alq_alloc_custom_mem(d, &plain, 8, 1000)));
    assert_false(alq_is_young(d, alq_alloc_custom_mem(d, &plain, 8, 1001)));
    {
        ALQ_FRAME(d, f, old);
        f.old = alq_alloc_custom_mem(d, &counting, 8, 70001);
        n_freed = 0;
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
        assert_int_equal(n_freed, 0);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_freed, 1);
}

/* Minor collections while `n` young blocks hold `bytes` each. */
static uint64_t
minors_of(unsigned n, size_t bytes, intptr_t ratio)
{
    struct alq_gc_control c = control();
    uint64_t before;

    c.custom_minor_ratio = ratio;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    before = counts().minor_collections;
    while (n-- > 0)
        alq_alloc_custom_mem(d, &plain, 8, bytes);
    return counts().minor_collections - before;
}

/* 2 MiB of minor heap: at 100 percent they hold as much, then it is emptied. */
static void
young_blocks_hold_a_bounded_amount(void **state)
{
    (void)state;
    if (IS_CHECKED)
        return;
    assert_in_range(minors_of(3200, 65536, 100), 90, 100);
    assert_in_range(minors_of(3200, 65536, 1000), 9, 10);
    assert_in_range(minors_of(3200, 65536, 10), 750, 1100);
    assert_in_range(minors_of(3200, 0, 1), 0, 1);
}

/* Held memory of old garbage is about what the ratio says, whether blocks are
 * born old or become so. */
enum { RING = 100, BORN_OLD = 100000, BORN_YOUNG = 60000 };

static double
garbage_held(intptr_t ratio, size_t held)
{
    ALQ_FRAME(d, f, table, ring);
    struct alq_gc_control c = control();
    uint64_t most = 0, live, i;

    c.custom_major_ratio = ratio;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    f.table = alq_alloc(d, 4000000, 0); /* 32 MB live */
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    n_freed = 0;
    f.ring = alq_alloc(d, RING, 0);
    for (i = 0; i < 10000; i++) {
        alq_store(d, f.ring, i % RING,
                  alq_alloc_custom_mem(d, &counting, 8, held));
        live = i + 1 - n_freed;
        if (i > 5000 && live > most)
            most = live;
    }
    f.table = f.ring = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    return (double)most * (double)held / 32e6;
}

static void
old_garbage_holds_a_bounded_amount(void **state)
{
    double at_44, at_200;

    (void)state;
    if (IS_CHECKED)
        return;
    at_44 = garbage_held(44, BORN_YOUNG);
    assert_true(at_44 > 0.4 && at_44 < 2.5);
    at_44 = garbage_held(44, BORN_OLD);
    at_200 = garbage_held(200, BORN_OLD);
    /* 44 percent of 2.2 times what lives is 0.97 of it. */
    assert_true(at_44 > 0.4 && at_44 < 2.0);
    assert_true(at_200 > 2.5 * at_44 && at_200 < 6 * at_44);
}

/* So many at once that the resource lasts: 1000 of them, and few of those that
 * are dead are not free. */
static void
a_scarce_resource_is_given_back(void **state)
{
    uint64_t most = 0, i;

    (void)state;
    n_freed = 0;
    for (i = 0; i < (IS_CHECKED ? 3000 : 100000); i++) {
        alq_alloc_custom_ratio(d, &counting, 8, 1, 1000);
        if (i - n_freed > most)
            most = i - n_freed;
    }
    assert_true(most <= 2500);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(what_is_set_is_got),
        T(the_defaults),
        T(values_are_brought_into_range),
        T(the_minor_heap_is_resized),
        T(the_choice_is_left_to_the_heap),
        T(a_minor_heap_gives_memory_back),
        T(the_overhead_bounds_the_heap),
        T(the_heap_grows_by_the_increment),
        T(first_fit_fills_the_lowest_pool),
        T(best_fit_fills_the_fullest_pool),
        T(a_change_of_policy_collects),
        T(the_stack_has_a_limit),
        T(buckets_hold_work_for_later),
        T(a_smaller_window_has_no_bucket_behind_it),
        T(slices_in_advance_are_credit),
        T(a_slice_of_0_does_the_next_ones_work),
        T(windows_do_not_stop_the_cycles),
        T(much_held_is_born_old),
        T(young_blocks_hold_a_bounded_amount),
        T(old_garbage_holds_a_bounded_amount),
        T(a_scarce_resource_is_given_back),
    };

    unsetenv("ALIQUOTPARAM");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
