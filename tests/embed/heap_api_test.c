/* heap_api_test.c -- each call of the heap by itself */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "base/test_effort.h"
#include "base/skip.h"
#include "value_kit.h"

static struct alq_domain *d;

static int
setup(void **state)
{
    (void)state;
    return alq_domain_new(NULL, &d) != ALQ_OK;
}

static int
teardown(void **state)
{
    (void)state;
    alq_frames_set(d, NULL); /* skip() has jumped out of them */
    alq_domain_drop(d);
    return 0;
}

static struct alq_gc_counts
counts(void)
{
    struct alq_gc_counts c;

    assert_int_equal(alq_gc_counters(d, &c), ALQ_OK);
    return c;
}

/* ---- domains ------------------------------------------------------------ */

static void
bad_configs_are_refused(void **state)
{
    struct alq_domain *other = NULL;
    struct alq_domain_config few = {4095, 0, 0, 0, 0};
    struct alq_domain_config many = {4194305, 0, 0, 0, 0};
    struct alq_domain_config wild = {0, 1000001, 0, 0, 0};

    (void)state;
    assert_int_equal(alq_domain_new(&few, &other), ALQ_EINVAL);
    assert_int_equal(alq_domain_new(&many, &other), ALQ_EINVAL);
    assert_int_equal(alq_domain_new(&wild, &other), ALQ_EINVAL);
    assert_int_equal(alq_domain_new(NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_domain_new(NULL, &other), ALQ_EBUSY);
    assert_null(other);
    alq_domain_drop(NULL);
}

static void
a_domain_follows_another(void **state)
{
    unsigned i;

    (void)state;
    for (i = 0; i < 20; i++) {
        alq_domain_drop(d);
        assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
        assert_false(alq_is_null(alq_alloc(d, 100000, 0)));
    }
}

/* ---- values ------------------------------------------------------------- */

static void
integers_keep_63_bits(void **state)
{
    static const intptr_t n[] = {0, 1, -1, INTPTR_MAX / 2, INTPTR_MIN / 2};
    size_t i;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(n); i++) {
        assert_true(alq_is_int(alq_from_int(n[i])));
        assert_false(alq_is_block(alq_from_int(n[i])));
        assert_true(alq_to_int(alq_from_int(n[i])) == n[i]);
    }
    assert_false(alq_is_int(ALQ_NULL) || alq_is_block(ALQ_NULL));
    assert_same(ALQ_UNIT, alq_from_int(0));
}

static void
strings_of_each_length(void **state)
{
    char text[3000];
    size_t n;

    (void)state;
    memset(text, 'x', sizeof text);
    for (n = 0; n < sizeof text; n += n < 40 ? 1 : 37) {
        alq_value s = alq_string_copy(d, text, n);

        assert_true(alq_has_tag(s, ALQ_TAG_STRING));
        assert_int_equal(alq_string_bytes(s), n);
        assert_int_equal(strlen(alq_string_chars(s)), n);
        assert_int_equal(alq_wosize(s), n / 8 + 1);
        assert_memory_equal(alq_string_chars(s), text, n);
    }
}

static void
alloc_fills(void **state)
{
    static const uintptr_t sizes[] = {1, 2, 255, 256, 257, 5000};
    size_t i;
    uintptr_t f;

    (void)state;
    for (i = 0; i < ALQI_COUNT_OF(sizes); i++) {
        alq_value block = alq_alloc(d, sizes[i], 7);
        alq_value bytes = alq_alloc_double_array(d, sizes[i]);

        assert_int_equal(alq_wosize(bytes), sizes[i]);
        for (f = 0; f < sizes[i]; f++)
            assert_true(alq_double(bytes, f) == 0.0);
        block = alq_alloc(d, sizes[i], 7);
        assert_int_equal(alq_tag(block), 7);
        assert_int_equal(alq_wosize(block), sizes[i]);
        for (f = 0; f < sizes[i]; f++)
            assert_same(alq_field(block, f), ALQ_UNIT);
    }
    assert_int_equal(alq_wosize(alq_alloc(d, 0, 3)), 0);
    assert_same(alq_alloc(d, 0, 3), alq_alloc(d, 0, 0));
    assert_true(alq_double(alq_alloc_double(d, 2.5), 0) == 2.5);
}

static void
bad_arguments_give_a_status(void **state)
{
    static const uintptr_t none[] = {ALQ_HEADER(0, 0)};
    static const uintptr_t large[] = {ALQ_HEADER(200, 0), ALQ_HEADER(200, 0)};
    alq_value out[2];

    (void)state;
#define REFUSED(call) IS_REFUSED(alq_is_null(call))
#define IS_REFUSED(is_refused)                                                 \
    do {                                                                       \
        assert_true(is_refused);                                               \
        assert_int_equal(alq_status_of(d), ALQ_EINVAL);                        \
        alq_status_clear(d);                                                   \
    } while (0)
    REFUSED(alq_alloc(d, 1, 256));
    REFUSED(alq_alloc(d, 1, ALQ_TAG_CUSTOM));
    REFUSED(alq_alloc(d, ALQ_WOSIZE_MAX + 1, 0));
    REFUSED(alq_alloc_small(d, 0, 0));
    REFUSED(alq_alloc_small(d, ALQ_SMALL_WOSIZE_MAX + 1, 0));
    REFUSED(alq_alloc_custom(d, NULL, 8));
    REFUSED(alq_string_copy(d, NULL, 1));
    IS_REFUSED(!alq_alloc_several_slow(d, 1, none, out));
    IS_REFUSED(!alq_alloc_several_slow(d, 2, large, out));
    IS_REFUSED(!alq_alloc_several_slow(d, 0, large, out));
#undef REFUSED
    assert_int_equal(alq_gc_minor(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_major(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_full_major(NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_major_slice(NULL, 0), ALQ_EINVAL);
    assert_int_equal(alq_gc_counters(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_range_add(d, NULL), ALQ_EINVAL);
    assert_int_equal(alq_global_add(NULL, NULL), ALQ_EINVAL);
    assert_int_equal(alq_scanner_add(d, NULL), ALQ_EINVAL);
    alq_root_drop(d, NULL);
}

static void
the_first_status_stays(void **state)
{
    (void)state;
    alq_alloc(d, 1, 256);
    alq_alloc(d, ALQ_WOSIZE_MAX, 0);
    assert_int_equal(alq_status_of(d), ALQ_EINVAL);
    assert_false(alq_is_null(alq_alloc(d, 1, 0))); /* all others work */
    alq_status_clear(d);
    assert_int_equal(alq_status_of(d), ALQ_OK);
    alq_alloc(d, ALQ_WOSIZE_MAX, 0);
    assert_int_equal(alq_status_of(d), ALQ_ENOMEM);
    alq_status_clear(d);
}

/* ---- frames ------------------------------------------------------------- */

static int
leaves_early(int depth)
{
    ALQ_FRAME(d, f, a, many[3], b);

    assert_int_equal(f_site.n_slots, 5);
    assert_string_equal(f_site.function, "leaves_early");
    assert_true(alq_is_null(f.a) && alq_is_null(f.b));
    assert_true(alq_is_null(f.many[0]) && alq_is_null(f.many[1]) &&
                alq_is_null(f.many[2]));
    f.b = alq_string_copy(d, "deep", 4);
    if (depth == 0)
        return 1;
    if (leaves_early(depth - 1) != 1)
        return 0;
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    assert_string_equal(alq_string_chars(f.b), "deep");
    return 1;
}

static void
frames_are_popped(void **state)
{
    struct alq_frame *before = alq_frames_get(d);

    (void)state;
    assert_int_equal(leaves_early(50), 1);
    assert_ptr_equal(alq_frames_get(d), before);
}

/* In hard builds each collection forbids the places it has emptied. */
static void
a_forgotten_root_faults(void **state)
{
    int status;
    pid_t child;

    (void)state;
    if (ALQI_CHECKS < 3)
        ALQI_SKIP("only a hard build closes the old place");
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alq_value lost;

        signal(SIGSEGV, SIG_DFL);
        lost = alq_alloc(d, 3, 0);
        alq_alloc(d, 3, 0);
        _exit((int)alq_bits(alq_field(lost, 0)));
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

/* ---- custom blocks ------------------------------------------------------ */

static unsigned finalised[1000];

static void
count_end(alq_value block)
{
    finalised[*(unsigned *)alq_custom_data(block)]++;
}

static const struct alq_custom_ops counting = {.name = "counting",
                                               .finalise = count_end};
static const struct alq_custom_ops plain = {.name = "plain"};

static void
finalisers_run_once(void **state)
{
    ALQ_FRAME(d, f, list);
    unsigned i, runs = 0;

    (void)state;
    memset(finalised, 0, sizeof finalised);
    f.list = ALQ_UNIT;
    for (i = 0; i < 1000; i++) {
        alq_value c = alq_alloc_custom(d, &counting, i % 3 == 0 ? 5000 : 4);
        alq_value cell;

        *(unsigned *)alq_custom_data(c) = i;
        if (i % 2 == 0) {
            ALQ_FRAME(d, g, c);
            g.c = c;
            cell = alq_alloc_small(d, 2, 0);
            alq_init_small(cell, 0, g.c);
            alq_init_small(cell, 1, f.list);
            f.list = cell;
        }
        alq_alloc_custom(d, &plain, 1);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < 1000; i++)
        assert_int_equal(finalised[i], i % 2);
    f.list = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    for (i = 0; i < 1000; i++)
        runs += finalised[i] == 1;
    assert_int_equal(runs, 1000);
}

static void
finalisers_run_when_the_heap_ends(void **state)
{
    alq_value c;

    (void)state;
    memset(finalised, 0, sizeof finalised);
    c = alq_alloc_custom(d, &counting, 8); /* promoted */
    *(unsigned *)alq_custom_data(c) = 1;
    {
        ALQ_FRAME(d, f, c);
        f.c = c;
        alq_gc_minor(d);
    }
    c = alq_alloc_custom(d, &counting, 9000); /* large */
    *(unsigned *)alq_custom_data(c) = 2;
    c = alq_alloc_custom(d, &counting, 8); /* young */
    *(unsigned *)alq_custom_data(c) = 3;
    alq_domain_drop(d);
    assert_int_equal(finalised[1] * 100 + finalised[2] * 10 + finalised[3],
                     111);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
}

/* ---- collection --------------------------------------------------------- */

static void
garbage_is_reused(void **state)
{
    uint64_t heap_bytes = 0;
    unsigned i, k;

    (void)state;
    for (k = 0; k < 3; k++) {
        ALQ_FRAME(d, f, list);
        f.list = ALQ_UNIT;
        for (i = 0; i < ALQI_TEST_ROUNDS(200000, 60000, 3000); i++) {
            alq_value cell = alq_alloc_small(d, 1 + i % 9, 0);
            uintptr_t j;

            for (j = 0; j <= i % 9; j++)
                alq_init_small(cell, j, f.list);
            f.list = cell;
        }
        if (k > 0)
            assert_true(counts().heap_bytes <= 2 * heap_bytes + (1 << 20));
        heap_bytes = counts().heap_bytes;
        f.list = ALQ_UNIT;
        assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    }
    /* What the open runs of the classes keep, and no more. */
    assert_true(counts().heap_bytes <= 80 * 32768);
}

/* Slices alone finish cycles, while the program goes on. */
static void
allocation_drives_the_cycles(void **state)
{
    ALQ_FRAME(d, f, keep);
    unsigned i;

    (void)state;
    f.keep = alq_alloc(d, 1000, 0);
    for (i = 0; i < ALQI_TEST_ROUNDS(3000000, 300000, 5000); i++) {
        alq_value v = alq_alloc_small(d, 4, ALQ_TAG_ABSTRACT);

        alq_store(d, f.keep, i % 1000, v);
    }
    for (i = 0; i < (ALQI_CHECKS >= 3 ? 500 : 3000); i++)
        alq_store(d, f.keep, i % 1000, alq_alloc(d, 600, 0));
    assert_true(counts().major_cycles > 1);
    assert_true(counts().heap_bytes < 64 << 20);
}

static void
polls_do_what_is_due(void **state)
{
    ALQ_FRAME(d, f, old, young);
    unsigned i;
    uint64_t before;

    (void)state;
    f.old = alq_alloc(d, 100000, 0);
    for (i = 0; i < 1000; i++) { /* large: asks for a slice */
        alq_store(d, f.old, i, ALQ_UNIT);
        alq_poll(d);
    }
    before = counts().slices;
    f.young = alq_alloc(d, 100000, 0);
    alq_poll(d);
    assert_true(counts().slices > before);
}

/* Each at its place, not all at once. */
static void
slices_share_the_work(void **state)
{
    ALQ_FRAME(d, f, keep);
    struct alq_gc_counts c;
    unsigned i;

    (void)state;
    if (ALQI_CHECKS >= 3)
        ALQI_SKIP("a hard build has slices everywhere");
    f.keep = alq_alloc(d, 100000, 0);
    for (i = 0; i < ALQI_TEST_ROUNDS(3000000, 1000000, 1000); i++) {
        alq_value v = alq_alloc(d, 4, 0);

        alq_store(d, f.keep, i * 7919u % 100000, v);
    }
    c = counts();
    assert_true(c.major_cycles > 5);
    assert_true((c.marked_words + c.swept_words) / c.slices < 16000);
}

/* ---- memory given back -------------------------------------------------- */

/* The thread sanitizer keeps shadows of it, which stay. */
#if defined(__SANITIZE_THREAD__)
#define IS_RESIDENT_TOLD 0
#else
#define IS_RESIDENT_TOLD 1
#endif

static uint64_t
resident_bytes(void)
{
    unsigned long all, resident;
    FILE *statm = fopen("/proc/self/statm", "r");

    assert_non_null(statm);
    assert_int_equal(fscanf(statm, "%lu %lu", &all, &resident), 2);
    fclose(statm);
    return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

enum {
    PEAK_ROWS = ALQI_TEST_ROUNDS(40000, 10000, 10000), /* of 2 KB */
    PEAK_BYTES = PEAK_ROWS * 2000
};

static void
peak(alq_value *slot)
{
    unsigned i;

    *slot = ALQ_UNIT;
    for (i = 0; i < PEAK_ROWS; i++) {
        alq_value row = alq_alloc(d, 250, 0);

        assert_false(alq_is_null(row));
        alq_init(d, row, 0, *slot);
        *slot = row;
    }
}

static void
memory_goes_back_when_asked(void **state)
{
    ALQ_FRAME(d, f, rows);
    uint64_t at_first = resident_bytes(), at_peak;

    (void)state;
    peak(&f.rows);
    alq_gc_minor(d);
    at_peak = resident_bytes();
    assert_true(!IS_RESIDENT_TOLD || at_peak >= at_first + PEAK_BYTES);
    f.rows = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(counts().returned_bytes >= PEAK_BYTES / 2);
    assert_true(!IS_RESIDENT_TOLD ||
                resident_bytes() <= at_peak - PEAK_BYTES / 2);
    peak(&f.rows); /* and may come again */
    peak(&f.rows);
}

static void
memory_goes_back_by_and_by(void **state)
{
    ALQ_FRAME(d, f, rows);
    uint64_t at_peak, until;
    unsigned i;

    (void)state;
    peak(&f.rows);
    alq_gc_minor(d);
    at_peak = resident_bytes();
    f.rows = ALQ_UNIT;
    until = counts().major_cycles + 10;
    while (counts().major_cycles < until) {
        ALQ_FRAME(d, g, row, before);

        for (i = 0; i < (ALQI_CHECKS >= 3 ? 1 : 100); i++) {
            g.before = g.row;
            g.row = alq_alloc(d, 200, 0);
            alq_init(d, g.row, 0, g.before);
        }
        alq_gc_minor(d); /* so that they are promoted */
    }
    assert_true(counts().returned_bytes >= PEAK_BYTES / 2);
    if (IS_RESIDENT_TOLD && !ALQI_TEST_IS_BRIEF) /* there it is a small peak */
        assert_true(resident_bytes() <= at_peak - PEAK_BYTES / 2);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(bad_configs_are_refused),
        T(a_domain_follows_another),
        T(integers_keep_63_bits),
        T(strings_of_each_length),
        T(alloc_fills),
        T(bad_arguments_give_a_status),
        T(the_first_status_stays),
        T(frames_are_popped),
        T(a_forgotten_root_faults),
        T(finalisers_run_once),
        T(finalisers_run_when_the_heap_ends),
        T(garbage_is_reused),
        T(allocation_drives_the_cycles),
        T(polls_do_what_is_due),
        T(slices_share_the_work),
        T(memory_goes_back_when_asked),
        T(memory_goes_back_by_and_by),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
