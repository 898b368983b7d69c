/* walked_test.c -- stacks that the heap's program tells itself
 *
 * The walk's frames are 1, 2, 3 ..., so that a callback can check every one of
 * them, however deep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kits/memprof/mock_heap.h"

enum { DEEP = 300000 };

static size_t depth;  /* of the stack that the walk finds */
static bool does_say; /* it says */
static size_t n_walks, n_notified, told_frames;
static bool is_native;    /* the last stack was the machine's */
static uint64_t below[3]; /* of the walk for each of the first callbacks */
static size_t n_below;
static bool is_memory_short;
static struct alq_profile *profile;

void *__real_alqi_plat_pages_map(size_t bytes);
void *__wrap_alqi_plat_pages_map(size_t bytes);

void *
__wrap_alqi_plat_pages_map(size_t bytes)
{
    return is_memory_short ? NULL : __real_alqi_plat_pages_map(bytes);
}

static bool
walk(uintptr_t *frames, size_t max_frames, size_t *n_frames)
{
    size_t n = depth < max_frames ? depth : max_frames;

    n_walks++;
    for (size_t i = 0; i < n; i++)
        frames[i] = i + 1;
    *n_frames = n;
    return does_say;
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    const struct alq_callstack *c = &a->callstack;

    (void)arg;
    (void)data;
    if (n_below < sizeof below / sizeof below[0])
        below[n_below++] = mock_words_below;
    n_notified++;
    told_frames = c->n_frames;
    is_native = c->n_frames > 0 && c->frames[0] == 0x1000;
    for (size_t i = 0; i < c->n_frames && !is_native; i++)
        assert_int_equal(c->frames[i], i + 1);
    return ALQ_TRACK_KEEP;
}

static const struct alq_tracker tracker = {
    .alloc_minor = on_alloc,
    .alloc_major = on_alloc,
};

static void
begin(size_t callstack_frames, unsigned flags)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alqi_memprof_thread *t = &mock.thread[0].t;

    c.rate = 1;
    c.seed = 3;
    c.callstack_frames = callstack_frames;
    c.flags = flags;
    n_notified = 0;
    assert_int_equal(
        alqi_memprof_start(t->domain, t, 0, &c, &tracker, &profile), ALQ_OK);
}

static void
end(void)
{
    struct alqi_memprof_thread *t = &mock.thread[0].t;

    assert_int_equal(alqi_memprof_stop(t->domain, t, 0), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(t, profile), ALQ_OK);
    assert_int_equal(alqi_memprof_flush(t, NULL), ALQ_OK);
    alqi_memprof_profile_drop(profile);
}

/* One block told at once, and one whose callback waits. */
static void
allocate(size_t expect)
{
    static const uint32_t sub = 3;
    struct mock_thread *t = &mock.thread[0];
    size_t before = n_notified;
    int code;

    told_frames = 0;
    assert_int_not_equal(mock_request(t, &sub, 1, &code), 0);
    assert_int_equal(alqi_memprof_flush(&t->t, NULL), ALQ_OK);
    assert_int_equal(n_notified, before + 1);
    assert_int_equal(told_frames, expect);
    told_frames = 0;
    mock_major(t, 40, ALQ_SOURCE_MARSHAL);
    assert_int_equal(alqi_memprof_flush(&t->t, NULL), ALQ_OK);
    assert_int_equal(n_notified, before + 2);
    assert_int_equal(told_frames, expect);
}

static void
its_frames_are_notified(void **state)
{
    static const size_t depths[] = {1, 2, 7, 8, 20, 511, 512, 513, 70000, DEEP};

    (void)state;
    begin(SIZE_MAX, 0);
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        depth = depths[i];
        allocate(depth);
        assert_false(is_native);
    }
    depth = 0; /* none of its code runs */
    allocate(0);
    end();
}

static void
callbacks_that_wait_get_them_too(void **state)
{
    (void)state;
    begin(SIZE_MAX, ALQ_MEMPROF_DEFER);
    for (depth = 1; depth < 100000; depth = depth * 3 + 1)
        allocate(depth);
    end();
}

static void
the_limit_is_as_wide_as_any_stack(void **state)
{
    static const size_t limits[] = {1, 6, 7, 8, 4096, 4097, 65536, 100000};

    (void)state;
    depth = 100001;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        begin(limits[i], 0);
        allocate(limits[i]);
        end();
    }
    n_walks = 0;
    begin(0, 0); /* no frames: nobody is asked */
    allocate(0);
    end();
    assert_int_equal(n_walks, 0);
}

static void
the_machines_stack_stands_in(void **state)
{
    (void)state;
    does_say = false;
    depth = 5;
    begin(SIZE_MAX, 0);
    allocate(20);
    assert_true(is_native);
    does_say = true;
    allocate(5);
    assert_false(is_native);
    end();
}

/* The innermost frames are what there is room for. */
static void
without_memory_a_stack_is_cut(void **state)
{
    static const uint32_t sub = 3;
    int code;

    (void)state;
    depth = 400;
    begin(SIZE_MAX, 0);
    allocate(400);
    depth = DEEP;
    is_memory_short = true;
    told_frames = 0;
    assert_int_not_equal(mock_request(&mock.thread[0], &sub, 1, &code), 0);
    is_memory_short = false;
    assert_in_range(told_frames, 400, DEEP - 1);
    allocate(DEEP);
    end();
}

/* Its callback finds the walk that was made for its own block. */
static void
each_block_of_a_request_is_walked_for(void **state)
{
    static const uint32_t sub[] = {3, 5, 2};
    int code;

    (void)state;
    depth = 4;
    begin(SIZE_MAX, 0);
    n_below = 0;
    assert_int_not_equal(mock_request(&mock.thread[0], sub, 3, &code), 0);
    assert_int_equal(n_below, 3);
    assert_int_equal(below[0], 7);
    assert_int_equal(below[1], 2);
    assert_int_equal(below[2], 0);
    end();
}

static int
open_all(void **state)
{
    (void)state;
    mock_open();
    mock_walk = walk;
    does_say = true;
    is_memory_short = false;
    return 0;
}

static int
close_all(void **state)
{
    (void)state;
    mock_close();
    return 0;
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)
    const struct CMUnitTest tests[] = {
        T(its_frames_are_notified),
        T(callbacks_that_wait_get_them_too),
        T(the_limit_is_as_wide_as_any_stack),
        T(the_machines_stack_stands_in),
        T(without_memory_a_stack_is_cut),
        T(each_block_of_a_request_is_walked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
