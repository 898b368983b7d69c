/* profile_test.c -- profiles of a managed heap, one domain */
#include <math.h>
#include <pthread.h>

#include "heap/state.h"

#include "gc_kit.h"
#include "profile_kit.h"

enum { STEPS = IS_HARD ? 300 : 20000 };

static struct log *l;
static struct alq_profile *p;

static int
open(void **state)
{
    l = log_new();
    p = NULL;
    return setup(state);
}

static int
close_(void **state)
{
    alq_memprof_stop(d);
    if (p != NULL)
        alq_memprof_discard(p);
    alq_profile_drop(p);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(log_alive(l), 0); /* .inv.datum */
    free(l);
    return teardown(state);
}

static uint64_t
allocated_words(void)
{
    return alq_gc_allocated_bytes(d) / ALQ_WORD_BYTES;
}

static alq_value
pair(alq_value tail)
{
    ALQ_FRAME(d, f, tail);
    alq_value v;

    f.tail = tail;
    v = alq_alloc(d, 2, 0);
    assert_int_not_equal(v, ALQ_NULL);
    alq_init(d, v, 1, f.tail);
    return v;
}

static void
drop_custom(alq_value v)
{
    (void)v;
}

static const struct alq_custom_ops ops = {.name = "profile test",
                                          .finalise = drop_custom};

/* ---- what is sampled ---------------------------------------------------- */

/* Of each path, some; returns the words out of the heap. */
static uint64_t
allocate_of_all_kinds(unsigned i)
{
    const uintptr_t headers[] = {ALQ_HEADER(2, 252), ALQ_HEADER(1, 252),
                                 ALQ_HEADER(9, 252)};
    alq_value out[3];

    switch (i % 8) {
    case 0:
        assert_int_equal(alq_alloc_several(d, 3, headers, out), 1);
        return 0;
    case 1:
        assert_int_not_equal(alq_alloc_string(d, i % 3000), ALQ_NULL);
        return 0;
    case 2:
        assert_int_not_equal(alq_alloc_custom_mem(d, &ops, 8, 41), ALQ_NULL);
        return 6;
    case 3: /* too large for a young one to hold */
        assert_int_not_equal(alq_alloc_custom_mem(d, &ops, 8, 100001),
                             ALQ_NULL);
        return 12501;
    case 4:
        assert_int_not_equal(alq_alloc(d, 257 + i % 1000, 0), ALQ_NULL);
        return 0;
    case 5:
        assert_int_not_equal(alq_alloc_double(d, 1.0), ALQ_NULL);
        return 0;
    case 6:
        assert_int_not_equal(alq_alloc_custom_ratio(d, &ops, 8, 1, 1000000),
                             ALQ_NULL);
        return 0;
    default:
        assert_int_not_equal(alq_alloc(d, 1 + i % 256, 0), ALQ_NULL);
        return 0;
    }
}

/* At rate 1 the words sampled are those that the collector counts. */
static void
at_rate_1_each_word_is_sampled(void **state)
{
    uint64_t words, outside = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        allocate_of_all_kinds(i); /* before: none of it */
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    words = allocated_words();
    for (unsigned i = 0; i < STEPS; i++)
        outside += allocate_of_all_kinds(i);
    words = allocated_words() - words;
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(l->n_of_source[ALQ_SOURCE_CUSTOM], outside);
    assert_int_equal(l->n_of_source[ALQ_SOURCE_NORMAL], words);
    assert_int_equal(l->n_words, words + outside);
    for (uint64_t i = 1; i <= l->n_blocks; i++) {
        const struct log_block *b = &l->block[i];

        assert_int_equal(b->n_samples,
                         b->size_words + (b->source != ALQ_SOURCE_CUSTOM));
    }
    assert_true(l->n_frames >= 2 && l->n_frames <= 16);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    words = l->n_blocks;
    for (unsigned i = 0; i < 100; i++)
        allocate_of_all_kinds(i);
    alq_gc_full_major(d);
    assert_int_equal(l->n_blocks, words);
}

/* ---- call stacks --------------------------------------------------------- */

enum { FUNCTION_BYTES = 1024, DEEP = 300 };

static void *stack_message;
static size_t stack_bytes;
static alq_value stack_unused;

/* One block of each way. */
static ALQI_NOINLINE void
maker(unsigned way)
{
    const uintptr_t header = ALQ_HEADER(2, 252);

    switch (way) {
    case 0:
        stack_unused = alq_alloc_small(d, 2, 252);
        break;
    case 1:
        alq_alloc_several(d, 1, &header, &stack_unused);
        break;
    case 2:
        stack_unused = alq_alloc(d, 2, 252);
        break;
    case 3:
        stack_unused = alq_alloc(d, 1000, 252);
        break;
    case 4:
        stack_unused = alq_string_copy(d, "abc", 3);
        break;
    case 5:
        stack_unused = alq_alloc_custom_mem(d, &ops, 8, 100001);
        break;
    default:
        alq_unmarshal(d, stack_message, stack_bytes, NULL, NULL, &stack_unused);
    }
    __asm__ volatile("" : : : "memory"); /* no tail call */
}

static ALQI_NOINLINE void
deep(unsigned n, unsigned way)
{
    if (n == 0)
        maker(way);
    else
        deep(n - 1, way);
    __asm__ volatile("" : : : "memory");
}

static size_t stack_wanted;
static unsigned n_stacks, n_wrong_stacks;

static int
stack_check(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    const struct alq_callstack *s = &a->callstack;
    bool is_wrong;

    (void)arg;
    (void)data;
    n_stacks++;
    is_wrong = s->n_frames < stack_wanted ||
               s->frames[0] - (uintptr_t)maker > FUNCTION_BYTES;
    for (size_t i = 1; i < stack_wanted && i <= DEEP && !is_wrong; i++)
        is_wrong = s->frames[i] - (uintptr_t)deep > FUNCTION_BYTES;
    n_wrong_stacks += is_wrong;
    return ALQ_TRACK_DROP;
}

/* The innermost frame is the program's, whatever way it allocates, how deep the
 * stack is, and how often it comes again. */
static void
stacks_begin_with_the_program(void **state)
{
    static const size_t limits[] = {1, 10, 200, SIZE_MAX};
    static const unsigned depths[] = {0, 3, 50, DEEP};
    const struct alq_tracker tracker = {.alloc_minor = stack_check,
                                        .alloc_major = stack_check};

    (void)state;
    assert_int_equal(alq_marshal_to_memory(d, pair(pair(ALQ_UNIT)), NULL,
                                           &stack_message, &stack_bytes),
                     ALQ_OK);
    n_stacks = n_wrong_stacks = 0;
    for (unsigned i = 0; i < 4; i++) {
        struct alq_memprof_config c = log_config(1.0, ALQ_MEMPROF_STRICT);

        c.callstack_frames = limits[i];
        assert_int_equal(alq_memprof_start(d, &c, &tracker, &p), ALQ_OK);
        for (unsigned k = 0; k < 4; k++)
            for (unsigned n = 0; n < 7 * 4; n++) {
                stack_wanted =
                    limits[i] < depths[k] + 1u ? limits[i] : depths[k] + 1u;
                deep(depths[k], n % 7);
                assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
            }
        assert_int_equal(alq_memprof_stop(d), ALQ_OK);
        assert_int_equal(alq_memprof_discard(p), ALQ_OK);
        alq_profile_drop(p);
        p = NULL;
    }
    free(stack_message);
    assert_true(n_stacks >= 4 * 4 * 4 * 8);
    assert_int_equal(n_wrong_stacks, 0);
}

static void
unmarshal_list(unsigned n, const void *message, size_t bytes, alq_value *out)
{
    (void)n;
    assert_int_equal(alq_unmarshal(d, message, bytes, NULL, NULL, out), ALQ_OK);
}

static void
unmarshalled_objects_are_sampled_one_by_one(void **state)
{
    static const unsigned n_of[] = {20, 2000};
    ALQ_FRAME(d, f, list);
    void *message;
    size_t bytes;

    (void)state;
    for (unsigned k = 0; k < 2; k++) {
        f.list = ALQ_UNIT;
        for (unsigned i = 0; i < n_of[k]; i++)
            f.list = pair(f.list);
        assert_int_equal(
            alq_marshal_to_memory(d, f.list, NULL, &message, &bytes), ALQ_OK);
        p = log_start(l, d, 1.0, 0);
        unmarshal_list(n_of[k], message, bytes, &f.list);
        assert_int_equal(l->n_blocks, 0); /* they wait */
        assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
        assert_int_equal(l->n_of_source[ALQ_SOURCE_MARSHAL], 3 * n_of[k]);
        assert_int_equal(k == 0 ? l->n_alloc_minor : l->n_alloc_major, n_of[k]);
        f.list = ALQ_UNIT;
        assert_int_equal(alq_memprof_stop(d), ALQ_OK);
        assert_int_equal(alq_memprof_discard(p), ALQ_OK);
        alq_profile_drop(p);
        p = NULL;
        assert_int_equal(log_alive(l), 0);
        memset(l, 0, offsetof(struct log, answer));
        free(message);
    }
}

static void
nothing_is_observed_before_a_start(void **state)
{
    (void)state;
    allocate_of_all_kinds(0);
    assert_null(alqi_heap_domain(d)->heap->observer.hooks);
    assert_int_equal(alq_memprof_is_sampling(d), 0);
    assert_int_equal(alq_memprof_stop(d), ALQ_ENOTRUN);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_null(alqi_heap_domain(d)->heap->observer.hooks);
    p = log_start(l, d, 0.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(alq_memprof_is_sampling(d), 1);
    assert_non_null(alqi_heap_domain(d)->heap->observer.hooks);
    for (unsigned i = 0; i < STEPS; i++)
        allocate_of_all_kinds(i);
    assert_int_equal(l->n_blocks, 0);
    assert_int_equal(alq_memprof_start(d, NULL, &alq_tracker_null, &p),
                     ALQ_EBUSY);
}

/* ---- events, in order --------------------------------------------------- */

static void
a_young_block_dies_or_is_promoted(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    alq_gc_full_major(d);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.v = pair(ALQ_UNIT);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_string_equal(l->order, "ap");
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_string_equal(l->order, "apD");
    pair(ALQ_UNIT);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_string_equal(l->order, "apDad");
}

static void
a_large_block_waits_for_a_poll(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.v = alq_alloc(d, 1000, 0);
    assert_int_equal(l->n_events, 0);
    alq_poll(d);
    assert_string_equal(l->order, "A");
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_string_equal(l->order, "AD");
}

/* X7: its events come then, all of them. */
static void
what_died_before_its_turn_is_told_late(void **state)
{
    ALQ_FRAME(d, f, v);
    void *message;
    size_t bytes;

    (void)state;
    f.v = pair(ALQ_UNIT);
    assert_int_equal(alq_marshal_to_memory(d, f.v, NULL, &message, &bytes),
                     ALQ_OK);
    alq_gc_full_major(d);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT | ALQ_MEMPROF_DEFER);
    unmarshal_list(1, message, bytes, &f.v);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_events, 0);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_string_equal(l->order, "apD");
    unmarshal_list(1, message, bytes, &f.v);
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_string_equal(l->order, "apDad");
    free(message);
}

static void
deferred_callbacks_wait_for_a_flush(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    alq_gc_full_major(d);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT | ALQ_MEMPROF_DEFER);
    f.v = pair(ALQ_UNIT);
    f.v = alq_alloc(d, 1000, 0);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    alq_poll(d);
    assert_int_equal(l->n_events, 0);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(l->n_events, IS_HARD ? 4 : 3); /* "apAD", "adA" */
    assert_int_equal(l->n_dealloc_minor, !IS_HARD);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_dealloc_major, IS_HARD);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(l->n_dealloc_major, 1 + IS_HARD);
}

static void
a_pinned_block_is_young_as_long_as_it_stays(void **state)
{
    ALQ_FRAME(d, f, v, w);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.v = pair(ALQ_UNIT);
    assert_int_equal(alq_pin(d, f.v), ALQ_OK);
    f.w = f.v;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(f.v, f.w);
    assert_string_equal(l->order, "a");
    assert_int_equal(alq_unpin(d, f.v), ALQ_OK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_string_equal(l->order, "ap");
    f.v = f.w = pair(ALQ_UNIT);
    assert_int_equal(alq_pin(d, f.v), ALQ_OK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(alq_unpin(d, f.v), ALQ_OK);
    f.v = f.w = ALQ_UNIT;
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_string_equal(l->order, "apad");
}

static void
promotion_and_compaction_are_no_allocation(void **state)
{
    ALQ_FRAME(d, f, keep);
    struct alq_memprof_counts n;
    uint64_t blocks;

    (void)state;
    p = log_start(l, d, 0.5, ALQ_MEMPROF_STRICT);
    f.keep = ALQ_UNIT;
    for (unsigned i = 0; i < STEPS / 2; i++) {
        f.keep = pair(f.keep);
        pair(ALQ_UNIT);
    }
    blocks = l->n_blocks;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(l->n_blocks, blocks);
    assert_int_equal(l->n_promote + l->n_dealloc_minor, blocks);
    alq_profile_counts(p, &n);
    assert_int_equal(n.live_entries, log_alive(l));
    assert_int_equal(n.sampled_blocks, blocks);
    assert_int_equal(n.sampled_words, l->n_words);
    f.keep = ALQ_UNIT;
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(log_alive(l), 0);
}

/* ---- failures ----------------------------------------------------------- */

static void
a_failing_alloc_fails_the_allocation(void **state)
{
    uint64_t words;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    l->fail_at = 1;
    words = allocated_words();
    assert_int_equal(alq_alloc_small(d, 3, 252), ALQ_NULL);
    assert_int_equal(allocated_words(), words);
    assert_int_equal(alq_status_of(d), ALQ_ECALLBACK);
    assert_int_equal(alq_memprof_code(d), LOG_CODE);
    alq_status_clear(d);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK); /* was told */
    assert_int_not_equal(alq_alloc_small(d, 3, 252), ALQ_NULL);
    assert_int_equal(log_alive(l), 1);
}

/* X3, X4: 8 blocks of a request; the n-th callback fails. */
static void
a_request_fails_as_a_whole(void **state)
{
    uintptr_t headers[8];
    alq_value out[8];

    (void)state;
    for (unsigned i = 0; i < 8; i++)
        headers[i] = ALQ_HEADER(1 + i, 252);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned n = 1; n <= 10; n++) {
        uint64_t dead = l->n_dealloc_minor;

        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        dead = l->n_dealloc_minor;
        l->n_events = 0;
        l->fail_at = n;
        assert_int_equal(alq_alloc_several(d, 8, headers, out), n > 8);
        l->fail_at = 0;
        assert_int_equal(alq_status_of(d), n > 8 ? ALQ_OK : ALQ_ECALLBACK);
        alq_status_clear(d);
        if (!IS_HARD) {
            alq_poll(d); /* which collects nothing */
            assert_int_equal(l->n_dealloc_minor - dead, n > 8 ? 0 : n - 1);
        }
        assert_int_equal(alq_gc_minor(d), ALQ_OK);
        assert_int_equal(l->n_dealloc_minor - dead, n > 8 ? 8 : n - 1);
    }
    assert_int_equal(log_alive(l), 0);
}

/* X14: one of five fails; the others are told, in the next poll. */
static void
a_failing_dealloc_surfaces_once(void **state)
{
    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < 5; i++)
        pair(ALQ_UNIT);
    l->fail_at = 7;
    assert_int_equal(alq_gc_minor(d), IS_HARD ? ALQ_OK : ALQ_ECALLBACK);
    if (IS_HARD)
        return; /* they died one by one */
    assert_int_equal(l->n_dealloc_minor, 2);
    assert_int_equal(alq_memprof_code(d), LOG_CODE);
    alq_poll(d);
    assert_int_equal(alq_status_of(d), ALQ_OK);
    assert_int_equal(l->n_dealloc_minor, 5);
}

static void
dropped_and_failed_promotions_are_released(void **state)
{
    ALQ_FRAME(d, f, v, w);

    (void)state;
    if (IS_HARD)
        return; /* collects between the two */
    alq_gc_full_major(d);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.v = pair(ALQ_UNIT);
    f.w = pair(ALQ_UNIT);
    l->fail_at = 3;
    l->promote_answer = ALQ_TRACK_DROP;
    assert_int_equal(alq_gc_minor(d), ALQ_ECALLBACK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(l->n_promote, 2);
    assert_int_equal(l->n_release, 2);
    f.v = f.w = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_dealloc_major, 0);
}

/* ---- stop, discard, start ----------------------------------------------- */

static void
stop_keeps_and_discard_drops(void **state)
{
    ALQ_FRAME(d, f, v, w);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.v = pair(ALQ_UNIT);
    f.w = pair(ALQ_UNIT);
    assert_int_equal(alq_memprof_discard(p), ALQ_ERUNNING);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_stop(d), ALQ_ENOTRUN);
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_promote + l->n_dealloc_minor + l->n_dealloc_major,
                     IS_HARD ? 3 : 2);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_EGONE);
    assert_int_equal(l->n_release, 1);
    f.w = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(log_alive(l), 0);
}

/* X8 */
static void
an_old_profile_goes_on_beside_a_new_one(void **state)
{
    struct log *l2 = log_new();
    struct alq_profile *p2;
    ALQ_FRAME(d, f, v, w);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.v = pair(ALQ_UNIT);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    p2 = log_start(l2, d, 1.0, ALQ_MEMPROF_STRICT);
    f.w = pair(ALQ_UNIT);
    assert_int_equal(l->n_blocks, 1);
    assert_int_equal(l2->n_blocks, 1);
    f.v = f.w = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(log_alive(l), 0);
    assert_int_equal(log_alive(l2), 0);
    assert_int_equal(alq_profile_stop(p2), ALQ_OK);
    assert_int_equal(alq_profile_stop(p2), ALQ_ENOTRUN);
    assert_int_equal(alq_memprof_discard(p2), ALQ_OK);
    alq_profile_drop(p2);
    free(l2);
}

static void
profiles_beside_each_other_each_see_their_rate(void **state)
{
    struct log *l2 = log_new();
    struct alq_profile *p2;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    p2 = log_start(l2, d, 0.25, ALQ_MEMPROF_BESIDE);
    for (unsigned i = 0; i < STEPS; i++)
        assert_int_not_equal(alq_alloc_small(d, 3, 252), ALQ_NULL);
    assert_int_equal(l->n_words, 4 * STEPS);
    /* 7 sigma on both sides: 3e-12 */
    assert_true(fabs((double)l2->n_words - STEPS) <
                7 * sqrt(4 * STEPS * 0.25 * 0.75));
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_is_sampling(d), 0);
    assert_int_equal(alq_profile_stop(p2), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p2), ALQ_OK);
    alq_profile_drop(p2);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(log_alive(l2), 0);
    free(l2);
}

/* ---- callbacks that do things ------------------------------------------- */

static alq_value
child(struct alq_domain *of, alq_value arg, void *data)
{
    (void)data;
    if (alq_alloc_small(of, 3, 252) == ALQ_NULL)
        abort();
    return arg;
}

/* Whatever a program may do where it allocates. */
static void
act_all(struct log *log)
{
    struct alq_thread *self = alq_thread_self(log->d);
    struct alq_child *c;

    if (log->n_events > 40)
        return;
    assert_int_not_equal(alq_alloc(log->d, 10, 0), ALQ_NULL);
    assert_int_not_equal(alq_alloc(log->d, 1000, 0), ALQ_NULL);
    assert_int_equal(alq_gc_minor(log->d), ALQ_OK);
    if (log->n_events % 8 == 0)
        assert_int_equal(alq_gc_full_major(log->d), ALQ_OK);
    assert_int_equal(alq_memprof_flush(log->d, NULL), ALQ_OK);
    assert_int_equal(alq_thread_detach(self), ALQ_ESTATE);
    assert_int_equal(alq_domain_drop(log->d), ALQ_ESTATE);
    assert_ptr_equal(alq_blocking_begin(log->d), self);
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    if (log->n_events % 8 != 1)
        return;
    assert_int_equal(alq_domain_spawn(log->d, child, ALQ_UNIT, NULL, NULL, &c),
                     ALQ_OK);
    assert_int_equal(alq_domain_join(log->d, c, NULL), ALQ_OK);
    alq_child_drop(c);
}

/* In callbacks of the spawned domain nothing is done. */
static void
act_here(struct log *log)
{
    if (alq_domain_self() == log->d)
        act_all(log);
}

static void
a_callback_may_do_what_the_program_may(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    l->d = d;
    l->act = act_here;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < 10; i++) {
        f.v = pair(i % 2 == 0 ? f.v : ALQ_UNIT);
        f.v = alq_alloc(d, 500, 0);
    }
    f.v = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(l->n_blocks >= 20 && l->n_events > 40);
    assert_int_equal(log_alive(l), 0);
}

/* X2: out of a callback among many. */
static void
act_stop_discard(struct log *log)
{
    if (log->n_dealloc_minor != 100)
        return;
    assert_int_equal(alq_memprof_stop(log->d), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
}

static void
stop_and_discard_and_fail_in_a_callback(void **state)
{
    uint64_t n = IS_HARD ? 150 : 5000;

    (void)state;
    l->d = d;
    l->act = act_stop_discard;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < n; i++)
        pair(ALQ_UNIT);
    l->fail_at = n + 100;
    if (!IS_HARD)
        assert_int_equal(alq_gc_minor(d), ALQ_ECALLBACK);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_int_equal(l->n_dealloc_minor, 100);
    assert_int_equal(l->n_dealloc_minor + l->n_release, l->n_blocks);
    assert_int_equal(log_alive(l), 0);
    assert_int_equal(alq_memprof_is_sampling(d), 0);
}

static struct log *second;
static struct alq_profile *second_profile;

/* P8 */
static void
act_restart(struct log *log)
{
    if (log->n_events != 2)
        return;
    assert_int_equal(alq_memprof_stop(log->d), ALQ_OK);
    second_profile = log_start(second, log->d, 1.0, ALQ_MEMPROF_STRICT);
}

static void
restarted_in_a_callback_of_a_request(void **state)
{
    uintptr_t headers[5];
    alq_value out[5];

    (void)state;
    for (unsigned i = 0; i < 5; i++)
        headers[i] = ALQ_HEADER(1 + i, 252);
    second = log_new();
    l->d = d;
    l->act = act_restart;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(alq_alloc_several(d, 5, headers, out), 1);
    assert_int_equal(l->n_blocks, 2); /* the rest is nobody's */
    assert_int_equal(second->n_blocks, 0);
    alq_poll(d);
    assert_int_equal(l->n_dealloc_minor, 2);
    pair(ALQ_UNIT);
    assert_int_equal(second->n_blocks, 1);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_discard(second_profile), ALQ_OK);
    alq_profile_drop(second_profile);
    assert_int_equal(log_alive(second), 0);
    free(second);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open, close_)
    const struct CMUnitTest tests[] = {
        TEST(at_rate_1_each_word_is_sampled),
        TEST(unmarshalled_objects_are_sampled_one_by_one),
        TEST(stacks_begin_with_the_program),
        TEST(nothing_is_observed_before_a_start),
        TEST(a_young_block_dies_or_is_promoted),
        TEST(a_large_block_waits_for_a_poll),
        TEST(what_died_before_its_turn_is_told_late),
        TEST(deferred_callbacks_wait_for_a_flush),
        TEST(a_pinned_block_is_young_as_long_as_it_stays),
        TEST(promotion_and_compaction_are_no_allocation),
        TEST(a_failing_alloc_fails_the_allocation),
        TEST(a_request_fails_as_a_whole),
        TEST(a_failing_dealloc_surfaces_once),
        TEST(dropped_and_failed_promotions_are_released),
        TEST(stop_keeps_and_discard_drops),
        TEST(an_old_profile_goes_on_beside_a_new_one),
        TEST(profiles_beside_each_other_each_see_their_rate),
        TEST(a_callback_may_do_what_the_program_may),
        TEST(stop_and_discard_and_fail_in_a_callback),
        TEST(restarted_in_a_callback_of_a_request),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
