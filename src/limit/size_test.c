/* size_test.c -- limits of the heap and of live words on a scripted heap
 *
 * As frame_test.c; numbers are those of spec memprof-limits 5. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kits/limit/scripted_heap.h"

/* ---- heap --------------------------------------------------------------- */

static void
heap_limit_collects_first_and_is_strict_11(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.heap_bytes = 4096;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    h.bytes = h.bytes_live = 4096;
    heap_wake(NULL);
    assert_int_equal(allocate(1), ALQ_OK); /* equal is not over */
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 0);
    h.bytes = 5000; /* garbage alone */
    heap_wake(NULL);
    assert_int_equal(allocate(1), ALQ_OK);
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 1);
    h.bytes = h.bytes_live = 4097;
    heap_wake(NULL);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* Code that swallows the failure goes on; the heap is small again. */
static void
reached_is_reached_though_the_heap_shrinks_12(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    (void)state;
    l.heap_bytes = 4096;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_OK);
    h.bytes = h.bytes_live = 4097;
    heap_wake(NULL);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    for (uint64_t bytes = 4096; bytes > 0; bytes /= 2) {
        h.bytes = h.bytes_live = bytes;
        heap_wake(NULL);
        assert_int_equal(allocate(1), ALQ_ELIMIT);
        assert_int_equal(allocate(1000), ALQ_ELIMIT);
        assert_int_equal(poll_now(), ALQ_ELIMIT);
        assert_true(h.t.is_interrupted);
    }
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 1); /* once judged */
    assert_true(alqi_limit_close(&f, ALQ_OK, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_HEAP);
    assert_false(h.t.is_interrupted);
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    for (int i = 0; i < 100; i++) { /* another task is judged anew */
        heap_wake(NULL);
        assert_int_equal(allocate(1000), ALQ_OK);
        assert_int_equal(poll_now(), ALQ_OK);
    }
    assert_false(alqi_limit_close(&f, ALQ_OK, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_NOT);
}

/* What lives nearly fills it: no collection for each little that is made. */
static void
tight_heap_is_not_collected_again_and_again(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.heap_bytes = 16000; /* a part: 1,000 bytes, 125 words */
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    for (unsigned i = 1; i <= 3; i++) { /* it leaves a part and more */
        h.bytes = 16001;
        h.bytes_live = 15000;
        heap_wake(NULL);
        assert_int_equal(allocate(1), ALQ_OK);
        assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], i);
    }
    for (unsigned i = 4; i <= 6; i++) { /* less, but the task did its part */
        h.bytes = 16001;
        h.bytes_live = 15001;
        heap_wake(NULL);
        assert_int_equal(allocate(125), ALQ_OK);
        assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], i);
    }
    h.bytes = 16001;
    heap_wake(NULL);
    assert_int_equal(allocate(124), ALQ_OK);
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 7);
    h.bytes = 16001;
    heap_wake(NULL);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 7);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

static void
heap_over_its_limit_before_the_task_10(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.heap_bytes = 0;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_OK); /* nothing is not over nothing */
    assert_false(alqi_limit_close(&f, ALQ_OK, NULL));
    h.bytes = h.bytes_live = 1;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    assert_int_equal(allocate(1), ALQ_ELIMIT); /* the heap need not grow */
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

static void
compatible_heap_limit_counts_garbage(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.heap_bytes = 4096;
    l.flags = ALQ_LIMIT_GARBAGE_COUNTS;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    h.bytes = 5000;
    heap_wake(NULL);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 0);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
}

/* ---- live words --------------------------------------------------------- */

static void
open_live(struct alqi_limit_frame *f, uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.live_words = words;
    assert_int_equal(alqi_limit_open(&h.t, f, &l, true), ALQ_OK);
}

/* A sample, of a block that is found dead by such a collection. */
static void
track(uint64_t words, enum alqi_limit_collection dies_in)
{
    h.dies_in[h.n_charges] = dies_in;
    h.charges[h.n_charges++] = alqi_limit_charge(&h.t, words);
}

static void
let_all_die(void)
{
    for (unsigned i = 0; i < h.n_charges; i++)
        if (h.charges[i] != NULL)
            alqi_limit_charge_end(h.charges[i]);
    h.n_charges = 0;
}

static void
live_words_are_what_is_left_by_collections(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_outcome out;

    (void)state;
    open_live(&f, 1000);
    assert_int_equal(h.interval, alqi_limit_live_interval(1000));
    track(600, ALQI_LIMIT_SHRINK);
    assert_int_equal(allocate(1), ALQ_OK);
    assert_int_equal(h.n_asked, 0);
    track(600, ALQI_LIMIT_YOUNG);
    assert_int_equal(allocate(1), ALQ_OK); /* collects the young */
    assert_int_equal(allocate(1), ALQ_OK); /* and is saved by it */
    assert_int_equal(h.n_collected[ALQI_LIMIT_YOUNG], 1);
    assert_int_equal(h.n_collected[ALQI_LIMIT_ALL], 0);
    track(600, ALQI_LIMIT_SHRINK);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_int_equal(h.n_collected[ALQI_LIMIT_ALL], 1);
    assert_int_equal(h.n_collected[ALQI_LIMIT_SHRINK], 0);
    assert_true(alqi_limit_close(&f, ALQ_OK, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_LIVE);
    assert_int_equal(out.live_words, 1200);
    assert_int_equal(h.n_charging, 0);
    let_all_die();
}

static void
come_by(int times, uint64_t words)
{
    for (int i = 0; i < times; i++) {
        heap_wake(NULL);
        assert_int_equal(allocate(words), ALQ_OK);
    }
}

/* Saved by a full collection, it is not judged again for an eighth. */
static void
full_collections_are_apart(void **state)
{
    struct alqi_limit_frame f = none();

    (void)state;
    open_live(&f, 8000);
    track(7000, ALQI_LIMIT_SHRINK);
    for (unsigned round = 1; round <= 5; round++) {
        track(1500, ALQI_LIMIT_ALL);
        come_by(3, 1);
        assert_int_equal(h.n_collected[ALQI_LIMIT_ALL], round);
        track(1500, ALQI_LIMIT_ALL);
        come_by(9, 111);
        assert_int_equal(h.n_collected[ALQI_LIMIT_YOUNG], round);
        assert_int_equal(h.n_collected[ALQI_LIMIT_ALL], round);
        h.words += 1;
    }
    come_by(3, 1);
    assert_int_equal(h.n_collected[ALQI_LIMIT_ALL], 6);
    assert_false(alqi_limit_close(&f, ALQ_OK, NULL));
    let_all_die();
}

static void
garbage_counts_if_it_is_asked_to(void **state)
{
    struct alqi_limit_frame f = none();
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)state;
    l.live_words = 1000;
    l.flags = ALQ_LIMIT_GARBAGE_COUNTS;
    assert_int_equal(alqi_limit_open(&h.t, &f, &l, true), ALQ_OK);
    track(999, ALQI_LIMIT_YOUNG);
    assert_int_equal(allocate(1), ALQ_OK);
    track(1, ALQI_LIMIT_YOUNG);
    assert_int_equal(allocate(1), ALQ_ELIMIT);
    assert_int_equal(h.n_collected[ALQI_LIMIT_YOUNG], 0);
    assert_true(alqi_limit_close(&f, ALQ_OK, NULL));
    let_all_die();
}

/* What an inner task leaves alive is the outer one's, also if that one alone is
 * limited; and whoever comes next begins with nothing. */
static void
live_words_nest(void **state)
{
    struct alqi_limit_frame outer = none(), middle = none(), inner = none();
    struct alq_outcome out;

    (void)state;
    track(5000, ALQI_LIMIT_SHRINK); /* nobody's */
    assert_null(h.charges[0]);
    open_live(&outer, 1000);
    open_words(&middle, ALQ_LIMIT_NONE);
    track(100, ALQI_LIMIT_SHRINK);
    open_live(&inner, 500);
    track(400, ALQI_LIMIT_SHRINK);
    assert_int_equal(allocate(1), ALQ_OK);
    assert_false(alqi_limit_close(&inner, ALQ_OK, &out));
    assert_int_equal(out.live_words, 400);
    open_live(&inner, 450);
    track(440, ALQI_LIMIT_SHRINK);
    assert_int_equal(allocate(1), ALQ_OK);
    track(60, ALQI_LIMIT_SHRINK);
    assert_int_equal(allocate(1), ALQ_ELIMIT); /* both at once */
    assert_true(alqi_limit_close(&inner, ALQ_OK, &out));
    assert_int_equal(out.live_words, 500);
    assert_false(alqi_limit_close(&middle, ALQ_OK, &out));
    assert_int_equal(out.live_words, 0); /* it has no limit of that kind */
    alqi_limit_charge_end(h.charges[2]); /* of a frame that is gone */
    h.charges[2] = NULL;
    assert_true(alqi_limit_close(&outer, ALQ_OK, &out));
    assert_int_equal(out.cause, ALQ_LIMIT_LIVE);
    assert_int_equal(out.live_words, 600);
    assert_int_equal(h.n_charging, 0);
    open_live(&outer, 10);
    assert_int_equal(allocate(1), ALQ_OK);
    assert_false(alqi_limit_close(&outer, ALQ_OK, &out));
    assert_int_equal(out.live_words, 0);
    let_all_die();
}

static void
interval_of_a_live_limit(void **state)
{
    (void)state;
    assert_int_equal(alqi_limit_live_interval(0), 25);
    assert_int_equal(alqi_limit_live_interval(10000), 25);
    assert_int_equal(alqi_limit_live_interval(400000), 1000);
    assert_int_equal(alqi_limit_live_interval(UINT64_MAX), 10000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heap_limit_collects_first_and_is_strict_11),
        cmocka_unit_test(reached_is_reached_though_the_heap_shrinks_12),
        cmocka_unit_test(tight_heap_is_not_collected_again_and_again),
        cmocka_unit_test(heap_over_its_limit_before_the_task_10),
        cmocka_unit_test(compatible_heap_limit_counts_garbage),
        cmocka_unit_test(live_words_are_what_is_left_by_collections),
        cmocka_unit_test(full_collections_are_apart),
        cmocka_unit_test(garbage_counts_if_it_is_asked_to),
        cmocka_unit_test(live_words_nest),
        cmocka_unit_test(interval_of_a_live_limit),
    };

    return scripted_run("size", tests, ALQI_COUNT_OF(tests));
}
