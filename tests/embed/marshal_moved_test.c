/* marshal_moved_test.c -- a message's blocks move while it is read
 *
 * Some pools are nearly full, others nearly empty: compaction moves all that
 * the latter hold.  When a long list has come to one of those, a custom block
 * in it asks for compaction, or leaves so little of the heap's limit that what
 * comes next has to collect, which ends with one. */
#include "heap/limit_heap.h"
#include "heap/pool_class.h"
#include "heap/major_cycle.h"
#include "heap/alloc_limit.h"
#include "heap/pool.h"

#include "marshal_kit.h"

enum {
    IS_HARD = ALQI_CHECKS >= 3, /* collects at every allocation */
    CELLS = IS_HARD ? 6000 : 100000,
    BAND = 4000, /* of cells of which many live on, or few */
    NODES = IS_HARD ? 5000 : 20000,
    PAIR_WORDS = 3,
    PIECE = 4096, /* objects in a piece of the table */
    LARGE_BYTES = 2100
};

static enum { AT_A_SAFE_POINT, FOR_A_LARGE_BLOCK, FOR_THE_TABLE } when;
static bool has_acted;
static unsigned n_read; /* movers */

static enum alq_status
mover_put(struct alq_marshal_out *out, alq_value block,
          struct alq_custom_size *size)
{
    (void)block;
    (void)size;
    alq_marshal_put_number(out, 1, 1);
    return ALQ_OK;
}

/* The pool that pairs come from will be emptied. */
static bool
is_sparse(const struct alqi_domain *of)
{
    unsigned c = alqi_heap_class_of(PAIR_WORDS);
    const struct alqi_heap_lab *lab = &of->copy.labs[0][c];

    return lab->pool != NULL && alqi_heap_pool_count_free(lab->pool) >
                                    alqi_heap_class_slots(c) / 4 * 3;
}

/* In hard builds that is seldom, and never in a sparse pool. */
static bool
is_piece_full(const struct alqi_domain *of)
{
    return 2 * n_read % PIECE == 0 && (IS_HARD || is_sparse(of));
}

static void
act(struct alqi_domain *of)
{
    has_acted = true;
    if (when == AT_A_SAFE_POINT) {
        of->heap->compact.is_due = true;
        alqi_heap_alloc_limit_request(of, &of->requests.want_minor);
    } else {
        of->heap->bound.limit_bytes =
            alqi_heap_bytes(of->heap) +
            of->heap->area.n_promised * ALQI_HEAP_POOL_BYTES;
    }
}

static enum alq_status
mover_get(struct alq_marshal_in *in, void *to, size_t bytes)
{
    struct alqi_domain *of = alqi_heap_domain(d);

    (void)bytes;
    *(uint64_t *)to = alq_marshal_get_number(in, 1);
    n_read++;
    of->heap->bound.limit_bytes = SIZE_MAX;
    if (!has_acted &&
        (when == FOR_THE_TABLE ? is_piece_full(of) : is_sparse(of)))
        act(of);
    return ALQ_OK;
}

static const struct alq_custom_size mover_size = {8, 8};
static const struct alq_custom_ops mover_ops = {.name = "test.mover",
                                                .serialise = mover_put,
                                                .deserialise = mover_get,
                                                .fixed = &mover_size};
static const struct alq_custom_ops *const movers[] = {&mover_ops, NULL};

/* Each node has a mover; with large blocks every other one a string. */
static alq_value
list(void)
{
    ALQ_FRAME(d, f, v, first);
    size_t i, n = when == FOR_A_LARGE_BLOCK ? NODES / 4 : NODES;

    for (f.v = ALQ_UNIT, i = 0; i < n; i++) {
        if (when == FOR_A_LARGE_BLOCK) {
            f.first = alq_alloc_string(d, LARGE_BYTES);
            memset(alq_string_chars(f.first), (int)i, LARGE_BYTES);
            f.v = pair(f.first, f.v);
        }
        f.first = alq_alloc_custom(d, &mover_ops, 8);
        *(uint64_t *)alq_custom_data(f.first) = 1;
        f.v = pair(f.first, f.v);
    }
    return f.v;
}

/* All become old, and most of them die. */
static void
make_sparse(alq_value *kept)
{
    struct alq_gc_control c;
    alq_value v;
    unsigned i;

    assert_int_equal(alq_gc_get(d, &c), ALQ_OK);
    c.max_overhead = 1000000; /* not by itself */
    assert_int_equal(alq_gc_set(d, &c), ALQ_OK);
    *kept = alq_alloc(d, CELLS, 0);
    for (i = 0; i < CELLS; i++) {
        v = pair(alq_from_int(i), ALQ_UNIT); /* may move what is kept */
        alq_store(d, *kept, i, v);
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    for (i = 0; i < CELLS; i++)
        if (i / BAND % 2 == 0 ? i % 5 == 0 : i % 16 != 0)
            alq_store(d, *kept, i, ALQ_UNIT);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
}

static uint64_t
compactions(void)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    return c.compactions;
}

static void
read_and_move(void)
{
    const struct alq_unmarshal_options options = {.kinds = movers};
    ALQ_FRAME(d, f, v, back, kept);
    struct alqi_heap *heap = alqi_heap_domain(d)->heap;
    uint64_t before;
    void *bytes;
    size_t n;

    f.v = list();
    assert_int_equal(alq_marshal_to_memory(d, f.v, NULL, &bytes, &n), ALQ_OK);
    make_sparse(&f.kept);
    before = compactions();
    n_read = 0;
    has_acted = false;
    assert_int_equal(alq_unmarshal(d, bytes, n, &options, NULL, &f.back),
                     ALQ_OK);
    heap->bound.limit_bytes = SIZE_MAX;
    assert_true(has_acted);
    assert_true(compactions() > before);
    is_twin(f.v, f.back);
    free(bytes);
}

static void
at_a_safe_point(void **state)
{
    (void)state;
    when = AT_A_SAFE_POINT;
    read_and_move();
}

static void
for_a_large_block(void **state)
{
    (void)state;
    when = FOR_A_LARGE_BLOCK;
    read_and_move();
}

/* A piece of the table is full. */
static void
for_the_table(void **state)
{
    (void)state;
    when = FOR_THE_TABLE;
    read_and_move();
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(at_a_safe_point),
        TEST(for_a_large_block),
        TEST(for_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
