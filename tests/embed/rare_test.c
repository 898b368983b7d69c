/* rare_test.c -- moments that chance seldom makes, set up by hand */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "heap/limit_heap.h"
#include "heap/alloc_direct.h"
#include "heap/large.h"
#include "heap/major_pace.h"
#include "plat/plat.h"

static struct alq_domain *d;

static int
set_up(void **state)
{
    (void)state;
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

static int
tear_down(void **state)
{
    (void)state;
    return alq_domain_drop(d) != ALQ_OK;
}

/* ---- another domain reaches the limit first ----------------------------- */

static size_t taken_meanwhile;

alq_value __real_alqi_heap_large_new(struct alqi_domain *of, uintptr_t header);
alq_value __wrap_alqi_heap_large_new(struct alqi_domain *of, uintptr_t header);

alq_value
__wrap_alqi_heap_large_new(struct alqi_domain *of, uintptr_t header)
{
    alq_value block = __real_alqi_heap_large_new(of, header);

    of->heap->large.bytes += taken_meanwhile;
    return block;
}

static void
a_large_block_past_the_limit_is_given_up(void **state)
{
    const uintptr_t header = ALQ_HEADER(10000, ALQ_TAG_STRING);
    struct alqi_domain *of = alqi_heap_domain(d);
    struct alqi_heap *heap = of->heap;
    size_t n_large = heap->large.n, bytes = heap->large.bytes, taken;

    (void)state;
    taken =
        alqi_heap_bytes(heap) + heap->area.n_promised * ALQI_HEAP_POOL_BYTES;
    heap->bound.limit_bytes = taken + 100000;
    taken_meanwhile = 50000; /* less than is left, but with the block more */
    assert_int_equal(alqi_heap_direct_try_nogc(of, header), ALQ_NULL);
    assert_int_equal(heap->large.n, n_large);
    assert_int_equal(heap->large.bytes, bytes + taken_meanwhile);
    heap->large.bytes = bytes;
    taken_meanwhile = 1000;
    assert_int_not_equal(alqi_heap_direct_try_nogc(of, header), ALQ_NULL);
    heap->large.bytes -= taken_meanwhile;
    heap->bound.limit_bytes = SIZE_MAX;
}

/* ---- a phase is late ---------------------------------------------------- */

/* What a slice gets that much work is due for; when it was asked for lies
 * between *from and *to. */
static uint64_t
slice_until(uint64_t *from, uint64_t *to)
{
    struct alqi_domain *of = alqi_heap_domain(d);
    struct alqi_heap_share share;

    of->pace.debt_words = 1e9;
    *from = alqi_plat_mono_ns_sigsafe();
    share = alqi_heap_pace_slice(of, 0);
    *to = alqi_plat_mono_ns_sigsafe();
    return share.until_ns;
}

/* A slice's time more for each percent of what is allowed. */
static void
a_late_slice_has_more_time(void **state)
{
    struct alqi_domain *of = alqi_heap_domain(d);
    struct alqi_heap *heap = of->heap;
    const uint64_t late_at = heap->pace.late_at;
    uint64_t slice_ns, from, to, until, later, due_ns;
    double allowed;

    (void)state;
    heap->cycle.slice_us = 1000 * 1000;
    slice_ns = (uint64_t)1000 * 1000 * 1000;
    heap->pace.late_at = of->sums.counts.promoted_words +
                         of->sums.counts.direct_words + of->sums.cost_words +
                         (1u << 20);
    until = slice_until(&from, &to);
    assert_in_range(until, from + slice_ns, to + slice_ns);
    of->sums.counts.direct_words += 1u << 20; /* on time, just */
    until = slice_until(&from, &to);
    assert_in_range(until, from + slice_ns, to + slice_ns);
    allowed = alqi_heap_pace_allowed_words(heap);
    later = (uint64_t)(3 * allowed / 100) + 1;
    of->sums.counts.direct_words += later; /* by 3 %, or a little more */
    due_ns = (uint64_t)((1 + 100 * (double)later / allowed) * (double)slice_ns);
    assert_true(due_ns >= 4 * slice_ns);
    until = slice_until(&from, &to);
    assert_in_range(until, from + due_ns - 1000, to + due_ns + 1000);
    of->sums.counts.direct_words -= later + (1u << 20);
    of->pace.paid_words -= later + (1u << 20); /* .inv.grow, for the others */
    heap->pace.late_at = late_at;
    of->pace.debt_words = 0;
}

/* ---- a call that waits holds what is pinned ----------------------------- */

static alq_value pinned;
static unsigned n_calls;

static void
litter(void)
{
    unsigned i;

    for (i = 0; i < 1000; i++)
        alq_init_small(alq_alloc_small(d, 1, 0), 0, alq_from_int(6));
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
}

/* Comes first: the other call waits meanwhile. */
static enum alq_status
unpin_and_collect(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)v;
    (void)with;
    assert_int_equal(n_calls++, 0);
    assert_int_equal(alq_unpin(on, pinned), ALQ_OK);
    litter();
    litter();
    return ALQ_OK;
}

static enum alq_status
with_what_was_pinned(struct alq_domain *on, alq_value v, alq_value with)
{
    (void)on;
    (void)v;
    assert_int_equal(n_calls++, 1);
    assert_false(alq_is_young(d, with));
    assert_int_equal(alq_to_int(alq_field(with, 0)), 5);
    return ALQ_OK;
}

static void
what_a_waiting_call_holds_moves(void **state)
{
    ALQ_FRAME(d, f, pinned, values[2]);
    unsigned i;

    (void)state;
    n_calls = 0;
    f.pinned = alq_alloc(d, 1, 0);
    alq_init(d, f.pinned, 0, alq_from_int(5));
    assert_int_equal(alq_pin(d, f.pinned), ALQ_OK);
    pinned = f.pinned;
    for (i = 0; i < 2; i++) {
        f.values[i] = alq_alloc(d, 1, 0);
        alq_init(d, f.values[i], 0, ALQ_UNIT);
    }
    assert_int_equal(
        alq_gc_finalise_last(d, f.values[0], with_what_was_pinned, f.pinned),
        ALQ_OK);
    assert_int_equal(
        alq_gc_finalise_last(d, f.values[1], unpin_and_collect, ALQ_UNIT),
        ALQ_OK);
    f.pinned = f.values[0] = f.values[1] = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(n_calls, 2);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_large_block_past_the_limit_is_given_up),
        TEST(a_late_slice_has_more_time),
        TEST(what_a_waiting_call_holds_moves),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
