/* compact_test.c -- compaction: what moves, what follows it, what it gives back
 *
 * Trees are rows of cells below one large block; most cells are dropped, so
 * that each pool keeps a few. */
#include "heap/major_compact.h"

#include "gc_kit.h" /* behind it: this has a domain named d */
#include "base/skip.h"

enum {
    ROWS = ALQI_TEST_ROUNDS(2000, 500, 50),
    CELLS = IS_HARD ? 64 : 512, /* of which one of KEPT_OF lives */
    KEPT_OF = 16,
    NEVER = ALQI_HEAP_COMPACT_NEVER,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    IS_SANITIZED = 1
#else
    IS_SANITIZED = 0
#endif
};

/* ---- a fragmented heap -------------------------------------------------- */

static alq_value
cell_new(struct alq_domain *on, intptr_t i)
{
    alq_value cell = alq_alloc_small(on, 3, 7);

    assert_int_not_equal(cell, ALQ_NULL);
    alq_init_small(cell, 0, alq_from_int(i));
    alq_init_small(cell, 1, alq_from_int(~i));
    alq_init_small(cell, 2, ALQ_UNIT);
    return cell;
}

/* A row of CELLS cells, then all but some dropped, when all are old. */
static alq_value
rows_new(void)
{
    ALQ_FRAME(d, f, all, row);
    intptr_t r, i;

    f.all = alq_alloc(d, ROWS, 0);
    for (r = 0; r < ROWS; r++) {
        f.row = alq_alloc(d, CELLS, 0);
        for (i = 0; i < CELLS; i++) {
            alq_value cell = cell_new(d, r * CELLS + i);

            alq_store(d, f.row, (uintptr_t)i, cell);
        }
        alq_store(d, f.all, (uintptr_t)r, f.row);
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    for (r = 0; r < ROWS; r++)
        for (i = 0; i < CELLS; i++)
            if (i % KEPT_OF != 0)
                alq_store(d, alq_field(f.all, (uintptr_t)r), (uintptr_t)i,
                          ALQ_UNIT);
    return f.all;
}

static void
rows_check(alq_value all)
{
    intptr_t r, i;

    for (r = 0; r < ROWS; r++)
        for (i = 0; i < CELLS; i++) {
            alq_value cell =
                alq_field(alq_field(all, (uintptr_t)r), (uintptr_t)i);

            if (i % KEPT_OF != 0) {
                assert_int_equal(cell, ALQ_UNIT);
                continue;
            }
            assert_int_equal(alq_to_int(alq_field(cell, 0)), r * CELLS + i);
            assert_int_equal(alq_to_int(alq_field(cell, 1)), ~(r * CELLS + i));
        }
}

static void
overhead_set(intptr_t max_overhead)
{
    struct alq_gc_control c = control();

    c.max_overhead = max_overhead;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
}

static size_t
resident_bytes(void)
{
    FILE *in = fopen("/proc/self/statm", "r");
    unsigned long size, resident;

    assert_non_null(in);
    assert_int_equal(fscanf(in, "%lu %lu", &size, &resident), 2);
    fclose(in);
    return resident * 4096;
}

static void
memory_goes_back(void **state)
{
    ALQ_FRAME(d, f, all);
    struct alq_gc_stats before, after;
    uint64_t bytes, dropped;
    size_t resident;

    (void)state;
    overhead_set(NEVER);
    f.all = rows_new();
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    before = stat_of();
    bytes = counts().heap_bytes;
    resident = resident_bytes();
    assert_int_equal(before.compactions, 0);

    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    after = stat_of();
    rows_check(f.all);
    dropped = resident > resident_bytes() ? resident - resident_bytes() : 0;
    print_message("heap %ju to %ju bytes, %zu bytes less are resident, live %ju"
                  " words\n",
                  (uintmax_t)bytes, (uintmax_t)counts().heap_bytes,
                  (size_t)dropped, (uintmax_t)after.live_words);
    assert_int_equal(after.compactions, 1);
    assert_int_equal(counts().compactions, 1);
    assert_true(after.live_words == before.live_words);
    assert_true(after.live_blocks == before.live_blocks);
    /* Each kind and class of which there is any keeps a pool that is not full;
     * cells have 4 words of a pool's 4092. */
    assert_true(counts().heap_bytes <=
                after.live_words * 8 * POOL_WORDS / 4092 + 8 * POOL_BYTES);
    if (!IS_HARD) {
        uint64_t cells = (uint64_t)ROWS * CELLS * 4 * 8;

        assert_true(bytes - counts().heap_bytes >
                    cells * (KEPT_OF - 2) / KEPT_OF);
        assert_true(counts().compacted_words * 8 < cells / KEPT_OF * 2);
        if (!IS_SANITIZED) /* that keeps memory of its own */
            assert_true(dropped > cells * (KEPT_OF - 2) / KEPT_OF);
    }
    rows_check(f.all);
}

/* Nothing is free within pools: nothing moves. */
static void
again_nothing_moves(void **state)
{
    ALQ_FRAME(d, f, all);
    uint64_t words;

    (void)state;
    f.all = rows_new();
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    words = counts().compacted_words;
    assert_true(words > 0);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(counts().compacted_words, words);
    assert_int_equal(counts().compactions, 2);
    rows_check(f.all);
}

/* ---- what upstream's tests ask ------------------------------------------ */

/* Three cycles, one compaction, one forced collection. */
static void
counts_are_exact(void **state)
{
    struct alq_gc_stats before, after;

    (void)state;
    overhead_set(NEVER);
    before = stat_of();
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    after = stat_of();
    assert_int_equal(after.compactions, before.compactions + 1);
    assert_int_equal(after.major_collections, before.major_collections + 3);
    assert_int_equal(after.forced_major_collections,
                     before.forced_major_collections + 1);
    assert_int_equal(alq_gc_compact(NULL), ALQ_EINVAL);
}

/* Two compactions after a big drop. */
static void
twice_after_a_drop(void **state)
{
    ALQ_FRAME(d, f, all, list);

    (void)state;
    f.all = rows_new();
    grow_list(&f.list, 1000);
    f.all = ALQ_UNIT;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_true(counts().heap_bytes <= 16 * POOL_BYTES);
}

/* One live cell more each time. */
static void
one_cell_more_each_time(void **state)
{
    enum { TIMES = ALQI_TEST_ROUNDS(25001, 300, 300) };
    ALQ_FRAME(d, f, list);
    alq_value v;
    unsigned i;

    (void)state;
    f.list = ALQ_UNIT;
    for (i = 0; i < TIMES; i++) {
        grow_list(&f.list, 1);
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
    }
    for (v = f.list; v != ALQ_UNIT; v = alq_field(v, 1))
        i--;
    assert_int_equal(i, 0);
    assert_int_equal(stat_of().compactions, TIMES);
}

/* Words are counted exactly across compactions. */
static void
words_are_exact(void **state)
{
    enum { CELLS_EACH = ALQI_TEST_ROUNDS(100000, 30000, 100) };
    ALQ_FRAME(d, f, list);
    uint64_t before = alq_gc_minor_words(d);
    unsigned i;

    (void)state;
    for (i = 0; i < 20; i++) {
        f.list = ALQ_UNIT;
        grow_list(&f.list, CELLS_EACH);
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
    }
    assert_true(alq_gc_minor_words(d) - before == 20 * 3 * CELLS_EACH);
}

/* ---- by itself ---------------------------------------------------------- */

static void
full_major_compacts_what_is_over(void **state)
{
    ALQ_FRAME(d, f, all);

    (void)state;
    overhead_set(NEVER);
    f.all = rows_new();
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(stat_of().compactions, 0);
    overhead_set(NEVER - 1);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(stat_of().compactions, 0);
    overhead_set(50); /* also in rows of large blocks some 100 are free */
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(stat_of().compactions, 1);
    rows_check(f.all);
    if (IS_HARD)
        return; /* pools of so small a heap are never full */
    assert_int_equal(alq_gc_full_major(d), ALQ_OK); /* nothing left to do */
    assert_int_equal(stat_of().compactions, 1);
    overhead_set(0);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(stat_of().compactions, 2);
    rows_check(f.all);
}

/* No call asks for a collection; slices of a program that allocates do. */
static void
slices_compact(void **state)
{
    ALQ_FRAME(d, f, all, list);
    uint64_t bytes;
    unsigned i;

    (void)state;
    overhead_set(IS_HARD ? 0 : 50);
    f.all = rows_new();
    for (i = 0; i < (IS_HARD ? 100000 : 300) && counts().compacted_words == 0;
         i++) {
        f.list = ALQ_UNIT;
        grow_list(&f.list, IS_HARD ? 20 : 100000);
    }
    assert_true(counts().compactions > 0);
    assert_true(counts().compacted_words > 0);
    assert_int_equal(stat_of().forced_major_collections, 0);
    rows_check(f.all);
    if (ALQI_TEST_IS_BRIEF)
        return; /* of few rows it goes back in one */
    /* Its memory goes back, not in one pause. */
    bytes = (uint64_t)ROWS * CELLS * 4 * 8 / 2;
    assert_true(counts().returned_bytes < bytes);
    for (i = 0; i < 1000 && counts().returned_bytes < bytes; i++) {
        f.list = ALQ_UNIT;
        grow_list(&f.list, 100000);
    }
    assert_true(counts().returned_bytes >= bytes);
}

/* 0: each cycle, but for the one that has just begun to be swept. */
static void
each_cycle_is_compacted(void **state)
{
    ALQ_FRAME(d, f, list);
    struct alq_gc_stats s;

    (void)state;
    overhead_set(0);
    do {
        f.list = ALQ_UNIT;
        grow_list(&f.list, IS_HARD ? 20 : 100000);
        s = stat_of();
        assert_true(s.compactions <= s.major_collections);
        assert_true(s.compactions + 2 >= s.major_collections);
    } while (s.major_collections < 8);
}

/* ---- what follows the blocks -------------------------------------------- */

enum { HELD = 48, APART = IS_HARD ? 40 : 1000 };

static alq_value ranged[HELD];
static alq_value *ranged_top = ranged + HELD;
static alq_value scanned[HELD];

static void
scan(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
     void *visit_arg)
{
    unsigned i;

    (void)arg;
    for (i = 0; i < HELD; i++)
        visit(visit_arg, &scanned[i]);
}

/* A cell that lives, and many that do not. */
static alq_value
cell_apart(struct alq_domain *on, intptr_t n)
{
    ALQ_FRAME(on, f, cell);
    intptr_t i;

    f.cell = cell_new(on, n);
    {
        ALQ_FRAME(on, g, block);

        g.block = alq_alloc(on, APART, 0); /* all are old before they die */
        for (i = 0; i < APART; i++) {
            alq_value cell = cell_new(on, -1);

            alq_store(on, g.block, (uintptr_t)i, cell);
        }
        assert_int_equal(alq_gc_minor(on), ALQ_OK);
    }
    return f.cell;
}

/* Counts how many have moved. */
static unsigned
cell_check(alq_value cell, intptr_t n, alq_value before)
{
    assert_int_equal(alq_to_int(alq_field(cell, 0)), n);
    assert_int_equal(alq_to_int(alq_field(cell, 1)), ~n);
    return cell != before;
}

/* In hard builds pools hold cells of all kinds; some must move. */
#define MOVED(n)                                                               \
    do {                                                                       \
        print_message("%u of %u moved\n", (n), (unsigned)HELD);                \
        assert_true(IS_HARD || (n) >= HELD * 3 / 4);                           \
    } while (0)

static void
all_roots_follow(void **state)
{
    static struct alq_range range = {ranged, &ranged_top, NULL, NULL};
    static struct alq_scanner scanner = {scan, NULL, NULL, NULL};
    static struct alq_global globals[HELD];
    static alq_value before[5][HELD];
    struct alq_root *boxes[HELD];
    unsigned moved[5] = {0}, i;
    ALQ_FRAME(d, f, slots[HELD]);

    (void)state;
    overhead_set(NEVER);
    memset(ranged, 0, sizeof ranged);
    memset(scanned, 0, sizeof scanned);
    memset(globals, 0, sizeof globals);
    assert_int_equal(alq_range_add(d, &range), ALQ_OK);
    assert_int_equal(alq_scanner_add(d, &scanner), ALQ_OK);
    for (i = 0; i < HELD; i++) {
        f.slots[i] = cell_apart(d, i);
        ranged[i] = cell_apart(d, 1000 + i);
        scanned[i] = cell_apart(d, 2000 + i);
        boxes[i] = alq_root_new(d, cell_apart(d, 3000 + i));
        assert_int_equal(alq_global_add(d, &globals[i]), ALQ_OK);
        globals[i].value = cell_apart(d, 4000 + i);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < HELD; i++) {
        before[0][i] = f.slots[i];
        before[1][i] = ranged[i];
        before[2][i] = scanned[i];
        before[3][i] = alq_root_get(boxes[i]);
        before[4][i] = globals[i].value;
    }
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    for (i = 0; i < HELD; i++) {
        moved[0] += cell_check(f.slots[i], i, before[0][i]);
        moved[1] += cell_check(ranged[i], 1000 + i, before[1][i]);
        moved[2] += cell_check(scanned[i], 2000 + i, before[2][i]);
        moved[3] += cell_check(alq_root_get(boxes[i]), 3000 + i, before[3][i]);
        moved[4] += cell_check(globals[i].value, 4000 + i, before[4][i]);
        alq_root_drop(d, boxes[i]);
        alq_global_remove(d, &globals[i]);
    }
    for (i = 0; i < 5; i++)
        MOVED(moved[i]);
    alq_range_remove(d, &range);
    alq_scanner_remove(d, &scanner);
}

static intptr_t finalised[2][HELD];
static unsigned n_finalised[2];

static enum alq_status
finalise_first(struct alq_domain *of, alq_value v, alq_value with)
{
    (void)of;
    assert_int_equal(alq_to_int(alq_field(v, 0)),
                     alq_to_int(alq_field(with, 0)) - 100);
    finalised[0][n_finalised[0]++] = alq_to_int(alq_field(v, 0));
    return ALQ_OK;
}

static enum alq_status
finalise_last(struct alq_domain *of, alq_value v, alq_value with)
{
    (void)of;
    assert_int_equal(v, ALQ_UNIT);
    finalised[1][n_finalised[1]++] = alq_to_int(alq_field(with, 0));
    return ALQ_OK;
}

/* Values, weakly held and to be finalised, in blocks far apart. */
static void
tables_follow(void **state)
{
    ALQ_FRAME(d, f, weak, ephes, values, with);
    static alq_value before[HELD];
    unsigned moved = 0, i;

    (void)state;
    n_finalised[0] = n_finalised[1] = 0;
    overhead_set(NEVER);
    f.weak = alq_weak_create(d, HELD);
    f.ephes = alq_alloc(d, HELD, 0);
    f.values = alq_alloc(d, HELD, 0);
    for (i = 0; i < HELD; i++) {
        alq_value v = cell_apart(d, i), ephe;

        alq_store(d, f.values, i, v);
        f.with = cell_apart(d, 100 + i);
        v = alq_field(f.values, i);
        assert_int_equal(alq_weak_set(d, f.weak, i, v), ALQ_OK);
        assert_int_equal(alq_gc_finalise(d, v, finalise_first, f.with), ALQ_OK);
        v = alq_field(f.values, i);
        assert_int_equal(alq_gc_finalise_last(d, v, finalise_last, f.with),
                         ALQ_OK);
        f.with = alq_field(f.values, i);
        ephe = alq_ephe_make(d, 1, &f.with, cell_apart(d, 200 + i));
        alq_store(d, f.ephes, i, ephe);
    }
    f.with = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < HELD; i++)
        before[i] = alq_field(f.values, i);

    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    for (i = 0; i < HELD; i++) {
        alq_value v = alq_field(f.values, i);

        moved += cell_check(v, i, before[i]);
        assert_int_equal(alq_weak_get(d, f.weak, i), v);
        assert_int_equal(alq_ephe_get_key(d, alq_field(f.ephes, i), 0), v);
        cell_check(alq_ephe_query(d, alq_field(f.ephes, i), 1, &v), 200 + i, 0);
    }
    MOVED(moved);
    assert_int_equal(n_finalised[0] + n_finalised[1], 0);

    f.values = ALQ_UNIT;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(n_finalised[0], HELD);
    assert_int_equal(n_finalised[1], HELD);
    for (i = 0; i < HELD; i++) { /* the last registered first */
        assert_int_equal(finalised[0][i], HELD - 1 - i);
        assert_int_equal(finalised[1][i], 100 + HELD - 1 - i);
        assert_int_equal(alq_weak_check(d, f.weak, i), 0);
        assert_int_equal(alq_ephe_check_key(d, alq_field(f.ephes, i), 0), 0);
    }
}

static unsigned n_freed;

static void
custom_finalise(alq_value block)
{
    (void)block;
    n_freed++;
}

/* A custom block behind a weak reference is shared, not copied, and is there
 * after a compaction with what it holds. */
static void
customs_follow(void **state)
{
    static const struct alq_custom_ops ops = {"doubles", custom_finalise};
    ALQ_FRAME(d, f, weak, custom);
    double *data;
    unsigned i;

    (void)state;
    n_freed = 0;
    f.weak = alq_weak_create(d, 1);
    f.custom = alq_alloc_custom(d, &ops, 16);
    data = alq_custom_data(f.custom);
    data[1] = 42.0;
    assert_int_equal(alq_weak_set(d, f.weak, 0, f.custom), ALQ_OK);
    for (i = 0; i < 3; i++) {
        assert_int_equal(alq_gc_compact(d), ALQ_OK);
        assert_int_equal(alq_weak_get_copy(d, f.weak, 0), f.custom);
        assert_true(((double *)alq_custom_data(f.custom))[1] == 42.0);
    }
    assert_int_equal(n_freed, 0);
    f.custom = ALQ_UNIT;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(n_freed, 1);
}

/* ---- several domains ---------------------------------------------------- */

struct party {
    intptr_t first; /* number of its cells */
    uint32_t is_ready;
    uint32_t may_look;
    unsigned moved;
};

static void
wait_for(struct alq_domain *on, const uint32_t *flag)
{
    ALQ_BLOCKING(on, blocks);

    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
}

/* Its cells move while it waits; then it leaves them to whoever joins. */
static alq_value
take_part(struct alq_domain *on, alq_value arg, void *data)
{
    struct party *p = data;
    alq_value before[HELD];
    ALQ_FRAME(on, f, result, cells[HELD]);
    unsigned i;

    (void)arg;
    for (i = 0; i < HELD; i++)
        f.cells[i] = cell_apart(on, p->first + i);
    for (i = 0; i < HELD; i++)
        before[i] = f.cells[i];
    __atomic_store_n(&p->is_ready, 1, __ATOMIC_RELEASE);
    wait_for(on, &p->may_look);
    for (i = 0; i < HELD; i++)
        p->moved += cell_check(f.cells[i], p->first + i, before[i]);
    f.result = alq_alloc(on, HELD, 0);
    for (i = 0; i < HELD; i++)
        alq_store(on, f.result, i, f.cells[i]);
    return f.result;
}

static void
domains_and_what_they_leave(void **state)
{
    enum { CHILDREN = 3 };
    struct party parties[CHILDREN] = {{1000}, {2000}, {3000}};
    struct alq_child *children[CHILDREN];
    ALQ_FRAME(d, f, results[CHILDREN], own);
    uint64_t bytes;
    unsigned i, k;

    (void)state;
    overhead_set(NEVER);
    for (k = 0; k < CHILDREN; k++)
        assert_int_equal(alq_domain_spawn(d, take_part, ALQ_UNIT, &parties[k],
                                          NULL, &children[k]),
                         ALQ_OK);
    f.own = cell_apart(d, 7);
    for (k = 0; k < CHILDREN; k++)
        wait_for(d, &parties[k].is_ready);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    bytes = counts().heap_bytes;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_true(counts().heap_bytes <= bytes);
    cell_check(f.own, 7, 0);
    for (k = 0; k < CHILDREN; k++)
        __atomic_store_n(&parties[k].may_look, 1, __ATOMIC_RELEASE);
    for (k = 0; k < CHILDREN; k++) {
        assert_int_equal(alq_domain_join(d, children[k], &f.results[k]),
                         ALQ_OK);
        alq_child_drop(children[k]);
        assert_true(IS_HARD || parties[k].moved > HELD / 4);
    }

    bytes = counts().heap_bytes; /* each left a pool that is not full */
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_true(IS_HARD || counts().heap_bytes < bytes);
    assert_int_equal(stat_of().compactions, 2);
    for (k = 0; k < CHILDREN; k++)
        for (i = 0; i < HELD; i++)
            cell_check(alq_field(f.results[k], i), parties[k].first + i, 0);
}

/* ---- pools that are held ------------------------------------------------ */

static void
held_pools_stay(void **state)
{
    ALQ_FRAME(d, f, cells[HELD]);
    struct alqi_heap *heap = alqi_heap_domain(d)->heap;
    const struct alqi_heap_area *area = &heap->area;
    static alq_value before[HELD];
    unsigned moved = 0, i;

    (void)state;
    overhead_set(NEVER);
    for (i = 0; i < HELD; i++)
        f.cells[i] = cell_apart(d, i);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < HELD; i++)
        before[i] = f.cells[i];
    for (i = 0; i < HELD; i += 2) /* any word into the block or the pool */
        alqi_heap_compact_hold(heap, f.cells[i] + i % 24);
    alqi_heap_compact_hold(heap, 0);
    alqi_heap_compact_hold(heap, (uintptr_t)&before);
    alqi_heap_compact_hold(heap, area->major_base + area->major_bytes - 1);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    for (i = 0; i < HELD; i++) {
        moved += cell_check(f.cells[i], i, before[i]);
        if (i % 2 == 0)
            assert_int_equal(f.cells[i], before[i]);
    }
    assert_true(IS_HARD || moved > HELD / 3);

    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    for (moved = i = 0; i < HELD; i++)
        moved += cell_check(f.cells[i], i, before[i]);
    MOVED(moved);
}

/* ---- when memory is short ----------------------------------------------- */

/* What other sizes have left free makes room for these. */
static void
limit_is_kept_by_compacting(void **state)
{
    enum { ALL = 200000, BLOCKS = 70000, KEPT = 16 };
    struct alq_domain_config config = {4096, 80, 12 << 20, 65536, 0};
    unsigned i;

    (void)state;
    if (IS_HARD)
        ALQI_SKIP("a hard build collects the whole at each allocation");
    alq_domain_drop(d);
    assert_int_equal(alq_domain_new(&config, &d), ALQ_OK);
    overhead_set(NEVER);
    {
        ALQ_FRAME(d, f, cells, kept);

        f.cells = alq_alloc(d, ALL, 0);
        for (i = 0; i < ALL; i++) {
            alq_value cell = cell_new(d, i);

            alq_store(d, f.cells, i, cell);
        }
        for (i = 0; i < ALL; i++)
            if (i % KEPT != 0)
                alq_store(d, f.cells, i, ALQ_UNIT);
        f.kept = ALQ_UNIT;
        for (i = 0; i < BLOCKS; i++) {
            alq_value block = alq_alloc(d, 9, 0);

            assert_int_not_equal(block, ALQ_NULL);
            alq_store(d, block, 0, f.kept);
            f.kept = block;
        }
        for (i = 0; i < ALL; i += KEPT)
            cell_check(alq_field(f.cells, i), i, 0);
        assert_int_equal(alq_status_of(d), ALQ_OK);
        assert_true(counts().emergencies > 0);
        assert_true(counts().compactions > 0);
        assert_true(counts().compactions <= counts().emergencies);
        assert_true(counts().heap_bytes <= config.limit_bytes);
    }
}

/* ---- what is heard ------------------------------------------------------ */

struct heard {
    unsigned n_begins;
    unsigned n_ends;
    uint64_t given_bytes;
    uint64_t moved_bytes;
};

static void
hear(void *arg, const struct alq_event *event)
{
    struct heard *h = arg;

    assert_int_equal(event->kind, ALQ_EVENT_COMPACT);
    h->n_begins += event->point == ALQ_EVENT_BEGIN;
    if (event->point == ALQ_EVENT_END) {
        h->n_ends++;
        h->given_bytes += event->values[0];
        h->moved_bytes += event->values[1];
    }
    assert_int_equal(h->n_begins - h->n_ends, event->point == ALQ_EVENT_BEGIN);
}

static void
listeners_hear_of_it(void **state)
{
    struct heard h = {0};
    struct alq_listener listener = {hear, &h, 1u << ALQ_EVENT_COMPACT};
    struct alq_pauses before, after;
    uint64_t bytes;
    ALQ_FRAME(d, f, all);

    (void)state;
    overhead_set(NEVER);
    f.all = rows_new();
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    bytes = counts().heap_bytes;
    assert_int_equal(alq_listener_add(d, &listener), ALQ_OK);
    assert_int_equal(alq_pauses_get(d, &before), ALQ_OK);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(alq_pauses_get(d, &after), ALQ_OK);
    assert_int_equal(alq_listener_remove(d, &listener), ALQ_OK);
    assert_int_equal(h.n_begins, 1);
    assert_int_equal(h.n_ends, 1);
    assert_true(h.given_bytes >= bytes - counts().heap_bytes);
    assert_true(h.given_bytes <= counts().returned_bytes);
    assert_true(h.moved_bytes == counts().compacted_words * 8);
    assert_true(after.count > before.count);
    assert_true(after.sum_ns > before.sum_ns);
    rows_check(f.all);
}

static void
verbose_says_it(void **state)
{
    struct alq_gc_control c = control();
    char text[2000];
    int saved = dup(2), pipes[2];
    ssize_t n;

    (void)state;
    c.verbose = ALQ_GC_LOG_COMPACT | ALQ_GC_LOG_DUE;
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    assert_int_equal(pipe(pipes), 0);
    dup2(pipes[1], 2);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    dup2(saved, 2);
    close(saved);
    close(pipes[1]);
    n = read(pipes[0], text, sizeof text - 1);
    close(pipes[0]);
    assert_true(n > 0);
    text[n] = '\0';
    assert_non_null(strstr(text, "aliquot: compaction is not due: "));
    assert_non_null(strstr(text, "aliquot: compaction 1: "));
}

int
main(void)
{
#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(memory_goes_back),
        TEST(again_nothing_moves),
        TEST(counts_are_exact),
        TEST(twice_after_a_drop),
        TEST(one_cell_more_each_time),
        TEST(words_are_exact),
        TEST(full_major_compacts_what_is_over),
        TEST(slices_compact),
        TEST(each_cycle_is_compacted),
        TEST(all_roots_follow),
        TEST(tables_follow),
        TEST(customs_follow),
        TEST(domains_and_what_they_leave),
        TEST(held_pools_stay),
        TEST(limit_is_kept_by_compacting),
        TEST(listeners_hear_of_it),
        TEST(verbose_says_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
