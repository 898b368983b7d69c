/* memprof_extra_test.c -- scenarios beyond OCaml's own tests (spec statmemprof
 * 6.4), those of one domain; values and pins */
#include <math.h>

#include "memprof_kit.h"

static struct probe probe;
static struct alq_profile *profile;

static int
open_all(void **state)
{
    probe_open(&probe, 1 << 20);
    profile = NULL;
    return domains_setup(state);
}

static int
close_all(void **state)
{
    probe_close(&probe);
    return domains_teardown(state);
}

static enum event fail_in;
static uint64_t fail_at; /* the event of that kind, from 1; 0 each */

static int
fails(struct probe *p, enum event event, const struct alq_allocation *a,
      struct record *r)
{
    (void)a;
    (void)r;
    if (event == fail_in && (fail_at == 0 || p->n[event] == fail_at))
        return -7;
    return ALQ_TRACK_KEEP;
}

/* ---- X2, X3: stop, discard and fail at once -------------------------------
 */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

/* Hard builds read the whole heap at each block. */
enum {
    MANY = ALQI_TEST_ROUNDS(1200000, 20000, 2000),
    LAST = IS_HARD ? 500 : 5000
};

static int
all_at_once(struct probe *p, enum event event, const struct alq_allocation *a,
            struct record *r)
{
    (void)r;
    if (a == NULL) {
        CHECK(event == RELEASE);
        return 0;
    }
    CHECK(probe_allocs(p) <= LAST);
    if (probe_allocs(p) < LAST)
        return ALQ_TRACK_KEEP;
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(alq_memprof_discard(profile) == ALQ_OK);
    return -7;
}

static void
x2_stop_discard_raise_in_callback(void **state)
{
    size_t bytes;
    void *m = message(d, 2 * LAST, &bytes);
    alq_value v = ALQ_NULL;
    enum alq_status st;
    int code = 0;

    (void)state;
    probe.act = all_at_once;
    profile = begin(d, &probe, 1.0);
    st = alq_unmarshal(d, m, bytes, NULL, NULL, &v);
    if (st == ALQ_OK)
        st = alq_memprof_flush(d, &code);
    CHECK(st == ALQ_ECALLBACK);
    alq_status_clear(d);
    CHECK(probe_allocs(&probe) == LAST);
    CHECK(probe.n[RELEASE] == LAST - 1);
    CHECK(live_entries(profile) == 0);
    CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
    bury(d);
    CHECK(probe_allocs(&probe) == LAST);
    alq_profile_drop(profile);
    free(m);
}

static long
resident_pages(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long all, pages;

    CHECK(f != NULL && fscanf(f, "%ld %ld", &all, &pages) == 2);
    fclose(f);
    return pages;
}

static int
stop_in_first(struct probe *p, enum event event, const struct alq_allocation *a,
              struct record *r)
{
    (void)r;
    (void)event;
    if (a != NULL && probe_allocs(p) == 1)
        CHECK(alq_memprof_stop(d) == ALQ_OK);
    return ALQ_TRACK_KEEP;
}

static void
x3_nothing_leaks_of_callbacks_that_never_run(void **state)
{
    size_t bytes;
    void *m = message(d, MANY, &bytes);
    long pages[4];

    (void)state;
    probe.act = stop_in_first;
    for (unsigned round = 0; round < 4; round++) {
        probe_forget(&probe);
        profile = begin(d, &probe, 1.0);
        unmarshalled(d, m, bytes);
        settle(d);
        CHECK(probe_allocs(&probe) == 1);
        CHECK(live_entries(profile) <= 1); /* stash and all */
        bury(d);
        CHECK(live_entries(profile) == 0);
        CHECK(alq_memprof_discard(profile) == ALQ_OK);
        alq_profile_drop(profile);
        pages[round] = resident_pages();
    }
    /* What the first round took is used again: a leak would be 64 bytes and
     * the stack, of each of MANY blocks. */
    CHECK(IS_SANITIZED ||
          pages[3] - pages[0] < (long)MANY * 64 / 4096 / 4 + 1000);
    free(m);
}

/* ---- X6: a stop whose callback fails --------------------------------------
 */

static void
x6_stop_with_a_callback_that_fails(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    (void)state;
    probe.act = fails;
    fail_in = ALLOC_MINOR;
    fail_at = 1;
    c.rate = 1.0;
    c.flags = ALQ_MEMPROF_DEFER;
    profile = begin_with(d, &probe, &c);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(!alq_is_null(block(d, 4)));
    CHECK(probe_allocs(&probe) == 0);
    CHECK(alq_memprof_stop(d) == ALQ_ECALLBACK);
    CHECK(probe_allocs(&probe) == 2);
    CHECK(!alq_memprof_is_sampling(d)); /* stopped all the same: memprof.h */
    CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
    end_profile(d, profile, &probe);
    CHECK(probe.n[RELEASE] + probe.n[DEALLOC_MINOR] == 1);
}

/* ---- X7: late alloc callbacks ---------------------------------------------
 */

static void
x7_late_alloc_callbacks(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    ALQ_FRAME(d, f, v);

    (void)state;
    c.rate = 1.0;
    c.flags = ALQ_MEMPROF_DEFER;
    probe.logs = true;
    profile = begin_with(d, &probe, &c);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(alq_gc_minor(d) == ALQ_OK);
    CHECK(probe.n_log == 0);
    settle(d);
    CHECK(strcmp(probe.log, "ad") == 0);
    probe_forget(&probe);
    f.v = block(d, 3);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "ap") == 0);
    f.v = ALQ_UNIT;
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "apD") == 0);
    probe_forget(&probe);
    f.v = block(d, 3);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    f.v = ALQ_UNIT;
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "apD") == 0);
    probe_forget(&probe);
    CHECK(!alq_is_null(alq_alloc(d, 500, 0)));
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "AD") == 0);
    end_profile(d, profile, &probe);
}

/* ---- X8: two profiles, one after the other --------------------------------
 */

static void
x8_a_stopped_profile_goes_on_beside_the_next(void **state)
{
    static struct probe second;
    struct alq_profile *next;
    ALQ_FRAME(d, f, one, two);

    (void)state;
    probe_open(&second, 16);
    profile = begin(d, &probe, 1.0);
    f.one = block(d, 3);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    next = begin(d, &second, 1.0);
    f.two = block(d, 4);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[PROMOTE] == 1 && second.n[PROMOTE] == 1);
    f.one = f.two = ALQ_UNIT;
    bury(d);
    CHECK(probe.n[DEALLOC_MAJOR] == 1 && second.n[DEALLOC_MAJOR] == 1);
    CHECK(probe_allocs(&probe) == 1 && probe_allocs(&second) == 1);
    end_profile(d, profile, &probe);
    end_profile(d, next, &second);
    probe_close(&second);
}

/* ---- X12, X13: parameters -------------------------------------------------
 */

static size_t frames_seen;

static int
count_frames(struct probe *p, enum event event, const struct alq_allocation *a,
             struct record *r)
{
    (void)p;
    (void)event;
    (void)r;
    if (a != NULL)
        frames_seen = a->callstack.n_frames;
    return ALQ_TRACK_DROP;
}

static size_t
frames_with(size_t limit)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    c.rate = 1.0;
    c.callstack_frames = limit;
    profile = begin_with(d, &probe, &c);
    frames_seen = SIZE_MAX;
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(frames_seen != SIZE_MAX);
    end_profile(d, profile, &probe);
    return frames_seen;
}

static void
x12_callstack_size_is_not_cut(void **state)
{
    size_t all;

    (void)state;
    probe.act = count_frames;
    all = frames_with(SIZE_MAX);
    CHECK(all >= 4);
    CHECK(frames_with((size_t)1 << 32) == all);
    CHECK(frames_with(((size_t)1 << 32) + 1) == all);
    CHECK(frames_with((size_t)1 << 31) == all);
    CHECK(frames_with(2) == 2);
    CHECK(frames_with(0) == 0); /* the callback has run all the same */
}

static void
x13_rates(void **state)
{
    static const double right[] = {0, -0.0, 1, 1e-300};
    static const double wrong[] = {-0.1, 1.0001, (double)NAN, (double)INFINITY,
                                   -(double)INFINITY};

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(right); i++) {
        profile = begin(d, &probe, right[i]);
        CHECK(alq_memprof_is_sampling(d));
        CHECK(try_begin(d, &probe, right[i], ALQ_MEMPROF_STRICT, &profile) ==
              ALQ_EBUSY);
        for (unsigned k = 0; k < 1000; k++)
            CHECK(!alq_is_null(block(d, 3)));
        CHECK((probe_allocs(&probe) == 1000) == (right[i] == 1));
        CHECK((probe_allocs(&probe) == 0) == (right[i] != 1));
        end_profile(d, profile, &probe);
        probe_forget(&probe);
    }
    profile = begin(d, &probe, 0);
    for (unsigned i = 0; i < ALQI_COUNT_OF(wrong); i++) /* before EBUSY */
        CHECK(try_begin(d, &probe, wrong[i], ALQ_MEMPROF_STRICT, &profile) ==
              ALQ_EINVAL);
    end_profile(d, profile, &probe);
    for (unsigned i = 0; i < ALQI_COUNT_OF(wrong); i++)
        CHECK(try_begin(d, &probe, wrong[i], 0, &profile) == ALQ_EINVAL);
    CHECK(!alq_memprof_is_sampling(d));
}

/* ---- X14: one dealloc of a batch fails ------------------------------------
 */

static void
x14_a_dealloc_fails_in_a_batch(void **state)
{
    ALQ_FRAME(d, f, all[5]);
    int code = 0;
    enum alq_status st;

    (void)state;
    probe.act = fails;
    /* In hard builds each is old when the next one is made. */
    fail_in = IS_HARD ? DEALLOC_MAJOR : DEALLOC_MINOR;
    fail_at = 2;
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < 5; i++)
        f.all[i] = block(d, 3);
    for (unsigned i = 0; i < 5; i++)
        f.all[i] = ALQ_UNIT;
    st = IS_HARD ? alq_gc_full_major(d) : alq_gc_minor(d);
    if (st == ALQ_OK) {
        st = alq_memprof_flush(d, &code);
        CHECK(code == -7);
    }
    CHECK(st == ALQ_ECALLBACK && alq_memprof_code(d) == -7);
    alq_status_clear(d);
    settle(d); /* the rest, if any waits */
    bury(d);
    CHECK(probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR] == 5);
    CHECK(live_entries(profile) == 0);
    end_profile(d, profile, &probe);
}

/* ---- X16: compaction ------------------------------------------------------
 */

static void
x16_compaction(void **state)
{
    enum { BLOCKS = IS_HARD ? 600 : 100000 };
    ALQ_FRAME(d, f, all);

    (void)state;
    f.all = alq_alloc(d, BLOCKS, 0);
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < BLOCKS; i++) {
        alq_value v = block(d, 1 + i % 7);

        alq_store(d, f.all, i, v);
    }
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[PROMOTE] == BLOCKS);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    for (unsigned i = 0; i < BLOCKS; i++) /* holes, so that there is reason */
        if (i % 3 != 0)
            alq_store(d, f.all, i, ALQ_UNIT);
    CHECK(alq_gc_compact(d) == ALQ_OK);
    settle(d);
    CHECK(probe.n[DEALLOC_MAJOR] == BLOCKS - (BLOCKS + 2) / 3);
    CHECK(live_entries(profile) == (BLOCKS + 2) / 3);
    CHECK(alq_gc_compact(d) == ALQ_OK);
    settle(d);
    CHECK(live_entries(profile) == (BLOCKS + 2) / 3);
    f.all = ALQ_UNIT;
    CHECK(alq_gc_compact(d) == ALQ_OK);
    bury(d);
    CHECK(probe.n[DEALLOC_MAJOR] == BLOCKS);
    CHECK(probe.n[DEALLOC_MINOR] == 0);
    end_profile(d, profile, &probe);
}

/* ---- user data that are values --------------------------------------------
 */

enum { VALUES = 2000 };

static struct {
    uint64_t allocs, promotes, deallocs, releases;
} values;

static alq_value
text(const char *what, uint64_t n)
{
    char buffer[40];
    int bytes =
        snprintf(buffer, sizeof buffer, "%s %llu", what, (unsigned long long)n);

    return alq_string_copy(d, buffer, (size_t)bytes);
}

static int
value_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)a;
    *data = alq_bits(text("young", values.allocs++));
    if (values.allocs % 37 == 0)
        CHECK(alq_gc_minor(d) == ALQ_OK); /* G4: it is a root already */
    return ALQ_TRACK_KEEP;
}

static int
value_promote(void *arg, uintptr_t *data)
{
    (void)arg;
    CHECK(strncmp(alq_string_chars(ALQ_VALUE(*data)), "young ", 6) == 0);
    *data = alq_bits(text("old", values.promotes++));
    if (values.promotes % 41 == 0)
        CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(strncmp(alq_string_chars(ALQ_VALUE(*data)), "old ", 4) == 0);
    return ALQ_TRACK_KEEP;
}

static int
value_dealloc_minor(void *arg, uintptr_t data)
{
    (void)arg;
    CHECK(alq_has_tag(ALQ_VALUE(data), ALQ_TAG_STRING));
    CHECK(strncmp(alq_string_chars(ALQ_VALUE(data)), "young ", 6) == 0);
    values.deallocs++;
    return 0;
}

static int
value_dealloc_major(void *arg, uintptr_t data)
{
    (void)arg;
    CHECK(alq_has_tag(ALQ_VALUE(data), ALQ_TAG_STRING));
    CHECK(strncmp(alq_string_chars(ALQ_VALUE(data)), "old ", 4) == 0);
    values.deallocs++;
    return 0;
}

static void
value_release(void *arg, uintptr_t data)
{
    (void)arg;
    CHECK(alq_has_tag(ALQ_VALUE(data), ALQ_TAG_STRING));
    values.releases++;
}

static void
data_that_are_values_live_and_move(void **state)
{
    static const struct alq_tracker tracker = {
        value_alloc,         value_alloc,   value_promote, value_dealloc_minor,
        value_dealloc_major, value_release, NULL,          ALQ_TRACKER_VALUES,
    };
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    const unsigned n = IS_HARD ? VALUES / 20 : VALUES;
    ALQ_FRAME(d, f, all);

    (void)state;
    memset(&values, 0, sizeof values);
    c.rate = 1.0;
    f.all = alq_alloc(d, VALUES, 0);
    CHECK(alq_memprof_start(d, &c, &tracker, &profile) == ALQ_OK);
    for (unsigned i = 0; i < n; i++) {
        alq_value v = block(d, 3);

        CHECK(!alq_is_null(v));
        if (i % 2 == 0)
            alq_store(d, f.all, i, v);
        if (i % 500 == 99)
            CHECK(alq_gc_compact(d) == ALQ_OK);
    }
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(values.allocs == n && values.promotes == n / 2);
    CHECK(values.deallocs == n / 2);
    for (unsigned i = 0; i < n / 2; i++)
        alq_store(d, f.all, i, ALQ_UNIT);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    bury(d);
    CHECK(values.deallocs == n / 2 + n / 4);
    CHECK(alq_gc_compact(d) == ALQ_OK);
    CHECK(alq_memprof_discard(profile) == ALQ_OK);
    CHECK(values.releases == n / 4);
    CHECK(live_entries(profile) == 0);
    alq_profile_drop(profile);
    bury(d);
}

/* ---- pins: young, and there after a collection ----------------------------
 */

static void
a_pinned_block_is_promoted_once(void **state)
{
    ALQ_FRAME(d, f, v);

    (void)state;
    profile = begin(d, &probe, 1.0);
    probe.logs = true;
    f.v = block(d, 3);
    CHECK(alq_pin(d, f.v) == ALQ_OK);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(alq_gc_minor(d) == ALQ_OK);
        settle(d);
        CHECK(strcmp(probe.log, "a") == 0); /* it is where it was */
    }
    CHECK(alq_gc_full_major(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "a") == 0);
    alq_unpin(d, f.v);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    settle(d);
    CHECK(strcmp(probe.log, "ap") == 0);
    f.v = ALQ_UNIT;
    bury(d);
    CHECK(strcmp(probe.log, "apD") == 0);
    end_profile(d, profile, &probe);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(x2_stop_discard_raise_in_callback),
        TEST(x3_nothing_leaks_of_callbacks_that_never_run),
        TEST(x6_stop_with_a_callback_that_fails),
        TEST(x7_late_alloc_callbacks),
        TEST(x8_a_stopped_profile_goes_on_beside_the_next),
        TEST(x12_callstack_size_is_not_cut),
        TEST(x13_rates),
        TEST(x14_a_dealloc_fails_in_a_batch),
        TEST(x16_compaction),
        TEST(data_that_are_values_live_and_move),
        TEST(a_pinned_block_is_promoted_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
