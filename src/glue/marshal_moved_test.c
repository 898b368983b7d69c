/* marshal_moved_test.c -- a message's blocks move while it is read
 *
 * The heap is sparse, so that compaction moves much.  In the midst of a long
 * list a custom block asks for one, or leaves so little of the heap's limit
 * that what comes next has to collect, which ends with one. */
#include "heap/bound.h"
#include "heap/cycle.h"
#include "heap/limit.h"

#include "glue/marshal_kit.h"

enum {
    IS_HARD = ALQI_CHECKS >= 3, /* collects at every allocation */
    CELLS = IS_HARD ? 3000 : 200000,
    ONE_OF = 10, /* lives on */
    NODES = 6000,
    LARGE_BYTES = 300000
};

static enum { AT_A_SAFE_POINT, FOR_A_LARGE_BLOCK, FOR_THE_TABLE } when;

static enum alq_status
mover_put(struct alq_marshal_out *out, alq_value block,
          struct alq_custom_size *size)
{
    (void)block;
    (void)size;
    alq_marshal_put_number(out, 1, 1);
    return ALQ_OK;
}

static enum alq_status
mover_get(struct alq_marshal_in *in, void *to, size_t bytes)
{
    struct alqi_domain *of = alqi_heap_domain(d);

    (void)bytes;
    *(uint64_t *)to = alq_marshal_get_number(in, 1);
    if (when == AT_A_SAFE_POINT) {
        of->heap->compact.is_due = true;
        alqi_heap_limit_want(of, &of->want_minor);
    } else {
        of->heap->limit_bytes =
            alqi_heap_bytes(of->heap) +
            of->heap->area.n_promised * ALQI_HEAP_POOL_BYTES;
    }
    return ALQ_OK;
}

static const struct alq_custom_size mover_size = {8, 8};
static const struct alq_custom_ops mover_ops = {.name = "test.mover",
                                                .serialise = mover_put,
                                                .deserialise = mover_get,
                                                .fixed = &mover_size};
static const struct alq_custom_ops *const movers[] = {&mover_ops, NULL};

/* Nodes: a number, and the rest.  One holds the mover, behind which comes what
 * has to be made: a node, a string, or the first object of another piece of
 * the table. */
static alq_value
list_with(size_t mover_at)
{
    ALQ_FRAME(d, f, v, first);
    size_t i;

    for (f.v = ALQ_UNIT, i = NODES; i-- > 0;) {
        f.first = alq_from_int((intptr_t)i);
        if (i == mover_at) {
            f.first = alq_alloc_custom(d, &mover_ops, 8);
            *(uint64_t *)alq_custom_data(f.first) = 1;
        } else if (i == mover_at + 1 && when == FOR_A_LARGE_BLOCK) {
            f.first = alq_alloc_string(d, LARGE_BYTES);
            memset(alq_string_chars(f.first), 'x', LARGE_BYTES);
        }
        f.v = pair(f.first, f.v);
    }
    return f.v;
}

/* All become old, and most of them die. */
static void
make_sparse(alq_value *kept)
{
    alq_value v;
    unsigned i;

    *kept = alq_alloc(d, CELLS, 0);
    for (i = 0; i < CELLS; i++) {
        v = pair(alq_from_int(i), ALQ_UNIT); /* may move what is kept */
        alq_store(d, *kept, i, v);
    }
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    for (i = 0; i < CELLS; i++)
        if (i % ONE_OF != 0)
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
read_and_move(size_t mover_at)
{
    const struct alq_unmarshal_options options = {.kinds = movers};
    ALQ_FRAME(d, f, v, back, kept);
    struct alqi_heap *heap = alqi_heap_domain(d)->heap;
    uint64_t before;
    void *bytes;
    size_t n;

    f.v = list_with(mover_at);
    assert_int_equal(alq_marshal_to_memory(d, f.v, NULL, &bytes, &n), ALQ_OK);
    make_sparse(&f.kept);
    before = compactions();
    assert_int_equal(alq_unmarshal(d, bytes, n, &options, NULL, &f.back),
                     ALQ_OK);
    heap->limit_bytes = SIZE_MAX;
    assert_true(compactions() > before);
    is_twin(f.v, f.back);
    free(bytes);
}

static void
at_a_safe_point(void **state)
{
    (void)state;
    when = AT_A_SAFE_POINT;
    read_and_move(NODES / 2);
}

static void
for_a_large_block(void **state)
{
    (void)state;
    when = FOR_A_LARGE_BLOCK;
    read_and_move(NODES / 2);
}

/* The mover is object 4096: the table's first piece is full. */
static void
for_the_table(void **state)
{
    (void)state;
    when = FOR_THE_TABLE;
    read_and_move(4096 - 2);
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
