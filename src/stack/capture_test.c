/* capture_test.c -- captures against libgcc's unwinder, and replay against
 * walks that start without a cache */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_seed.h"
#include "stack/arch.h"
#include "stack/capture.h"
#include "stack/capture_test.h"
#include "stack/capture_layout.h"

enum { SEED = 0x5EED, N_RANDOM = 100000, CAPACITY = 64 };

static capture_test_tree *const trees[4] = {
    capture_test_tree_o0, capture_test_tree_o2, capture_test_tree_o3,
    capture_test_tree_fp};
static struct alqi_stack_cache *cache, *fresh;
static struct alqi_stack_layouts few;
static uint64_t n_checked, n_replayed, n_truncated, n_few;

/* Whether this file's functions sign where they return to, and the processor
 * does: then captures have met such addresses. */
#if defined(__ARM_FEATURE_PAC_DEFAULT)
#include <sys/auxv.h>
static bool
is_signing(void)
{
    return (getauxval(AT_HWCAP) & HWCAP_PACA) != 0;
}
#else
static bool
is_signing(void)
{
    return false;
}
#endif

static uint64_t n_signed;

/* The frame record of the caller: its caller's fp, the return address. */
static inline __attribute__((always_inline)) void
signature_count(void)
{
    const uintptr_t *record = __builtin_frame_address(0);

    n_signed += alqi_arch_code_address(record[1]) != record[1];
}

/* The reported frame of the innermost function is one past an address in it;
 * from the next one on they are return addresses. */
__attribute__((noinline)) void
capture_test_agree(uint32_t max)
{
    void *theirs[CAPACITY + 1];
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r = alqi_stack_capture(cache, &here, 0, 0, max);
    int n = capture_test_referee(theirs, CAPACITY + 1);

    signature_count();
    assert_true(r.n_frames > 1);
    assert_false(r.incomplete);
    assert_int_equal(r.truncated, n > (int)r.n_frames);
    for (uint32_t i = 1; i < r.n_frames; i++)
        assert_int_equal(r.frames[i], (uintptr_t)theirs[i]);
    n_checked++;
}

/* With a cache, without, and by a layout: all that a result says must be equal.
 */
__attribute__((noinline)) void
capture_test_replay(uint32_t max)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r, f;
    struct alqi_stack_frames by;

    r = alqi_stack_capture(cache, &here, 0, 0, max);
    alqi_stack_cache_init(fresh, CAPACITY);
    f = alqi_stack_capture(fresh, &here, 0, 0, max);
    assert_int_equal(r.n_frames, f.n_frames);
    assert_int_equal(r.truncated, f.truncated);
    assert_int_equal(r.incomplete, f.incomplete);
    assert_memory_equal(r.frames, f.frames, r.n_frames * sizeof f.frames[0]);
    assert_int_equal(f.n_same_outer, 0);
    by = alqi_stack_layout_capture(&few, cache, &here, 0, 0, max);
    if (by.pcs != NULL) {
        assert_int_equal(by.n, f.n_frames);
        assert_false(f.incomplete);
        assert_memory_equal(by.pcs, f.frames, f.n_frames * sizeof f.frames[0]);
        n_few++;
    }
    n_checked++;
    n_replayed += r.n_same_outer > 0;
    n_truncated += r.truncated;
}

/* From the caller's registers: the same frames but the innermost. */
__attribute__((noinline)) void
capture_test_caller(uint32_t max)
{
    struct alqi_stack_regs caller = alqi_stack_regs_of_caller();
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r, c;

    alqi_stack_cache_init(cache, CAPACITY);
    alqi_stack_cache_init(fresh, CAPACITY);
    r = alqi_stack_capture(cache, &here, 0, 0, max);
    c = alqi_stack_capture(fresh, &caller, 0, 0, max);
    assert_false(c.incomplete);
    assert_int_equal(c.n_frames, r.n_frames - caller.is_return);
    assert_memory_equal(c.frames, r.frames + caller.is_return,
                        c.n_frames * sizeof c.frames[0]);
    n_checked++;
}

static int
setup(void **state)
{
    (void)state;
    cache = malloc(alqi_stack_cache_bytes(CAPACITY));
    fresh = malloc(alqi_stack_cache_bytes(CAPACITY));
    alqi_stack_cache_init(cache, CAPACITY);
    return cache == NULL || fresh == NULL;
}

static void
test_agrees_with_libgcc(void **state)
{
    (void)state;
    n_checked = n_signed = 0;
    for (uint64_t i = 0; i < 1024; i++)
        trees[i % 4](12, i * 0x9E3779B97F4A7C15u, capture_test_agree, CAPACITY);
    assert_true(n_checked >= 1024);
    assert_true(n_signed == 0 || is_signing());
    /* all but those whose signature is 0 by chance */
    assert_true(!is_signing() || n_signed > n_checked / 2);
}

static void
test_starts_at_the_caller(void **state)
{
    (void)state;
    n_checked = 0;
    for (uint64_t i = 0; i < 1024; i++)
        trees[i % 4](12, i * 0x9E3779B97F4A7C15u, capture_test_caller,
                     CAPACITY);
    assert_true(n_checked >= 1024);
}

static void
test_replay_equals_fresh_walk(void **state)
{
    uint64_t x = SEED + alqi_base_test_seed();

    (void)state;
    n_checked = n_replayed = n_truncated = n_few = 0;
    while (n_checked < N_RANDOM) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        trees[x >> 62]((x >> 33) % 60, x >> 20, capture_test_replay,
                       x % 7 == 0 ? 20 : CAPACITY);
    }
    assert_true(n_replayed > N_RANDOM / 10);
    assert_true(n_truncated > N_RANDOM / 100);
    assert_true(n_few > N_RANDOM / 10);
}

enum { BRANCH_DEPTH = 12, BRANCH_FRAMES = 10, N_BRANCHES = 2000 };

/* Calls itself from as many places as there are ways, all with one frame. */
static __attribute__((noinline)) unsigned
branch(uint64_t path, unsigned n_ways, unsigned depth)
{
    unsigned way = (unsigned)(path % n_ways), n;

    if (depth == 0) {
        capture_test_replay(BRANCH_FRAMES);
        return 1;
    }
    if (way == 0)
        n = branch(path / n_ways, n_ways, depth - 1) + 1;
    else if (way == 1)
        n = branch(path / n_ways, n_ways, depth - 1) * 3;
    else if (way == 2)
        n = branch(path / n_ways, n_ways, depth - 1) ^ 5;
    else
        n = branch(path / n_ways, n_ways, depth - 1) - 7;
    __asm__ volatile("" : "+r"(n)); /* no tail call */
    return n;
}

/* By one layout whose rows differ: as were seen before, or that are new. */
static void
test_recursion(void **state)
{
    static const unsigned n_ways[] = {1, 2, 4, 2, 3, 1, 2};
    uint64_t x = SEED + alqi_base_test_seed();

    (void)state;
    n_checked = n_few = 0;
    for (unsigned i = 0; i < sizeof n_ways / sizeof n_ways[0]; i++)
        for (unsigned j = 0; j < N_BRANCHES; j++) {
            x = x * 6364136223846793005u + 1442695040888963407u;
            branch(x >> 33, n_ways[i], BRANCH_DEPTH);
        }
    assert_true(n_few > n_checked / 10 * 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agrees_with_libgcc),
        cmocka_unit_test(test_starts_at_the_caller),
        cmocka_unit_test(test_replay_equals_fresh_walk),
        cmocka_unit_test(test_recursion),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
