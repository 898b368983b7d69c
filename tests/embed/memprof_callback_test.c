/* memprof_callback_test.c -- when callbacks run, and what they may do: stop,
 * start, discard, fail, allocate, collect (spec statmemprof 6.1) */
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

/* ---- A4: callbacks do not nest --------------------------------------------
 */

static bool is_inside;
static uint64_t n_nested_chances;

static int
allocate_inside(struct probe *p, enum event event,
                const struct alq_allocation *a, struct record *r)
{
    (void)p;
    (void)event;
    (void)a;
    (void)r;
    CHECK(!is_inside);
    is_inside = true;
    for (unsigned i = 0; i < 10; i++) {
        CHECK(!alq_is_null(alq_alloc(d, 300, 0)));
        CHECK(!alq_is_null(block(d, 3)));
    }
    if (++n_nested_chances % 50 == 0)
        CHECK(alq_gc_full_major(d) == ALQ_OK);
    CHECK(alq_memprof_flush(d, NULL) == ALQ_OK); /* does nothing */
    is_inside = false;
    return ALQ_TRACK_KEEP;
}

static void
a4_no_nested_callback(void **state)
{
    ALQ_FRAME(d, f, kept);

    (void)state;
    n_nested_chances = 0;
    probe.act = allocate_inside;
    profile = begin(d, &probe, 1.0);
    for (unsigned i = 0; i < 100; i++) {
        f.kept = alq_alloc(d, 300 + i, 0);
        f.kept = block(d, 5);
        if (i % 20 == 0)
            CHECK(alq_gc_minor(d) == ALQ_OK);
    }
    f.kept = ALQ_UNIT;
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    bury(d);
    for (unsigned i = 0; i < RELEASE; i++)
        CHECK(probe.n[i] > 0);
    CHECK(probe.n[ALLOC_MAJOR] == 100 && probe.n[ALLOC_MINOR] == 100);
    end_profile(d, profile, &probe);
}

/* ---- A10: stopped in the N-th callback ------------------------------------
 */

static uint64_t act_at;

static int
stop_at(struct probe *p, enum event event, const struct alq_allocation *a,
        struct record *r)
{
    (void)event;
    (void)r;
    if (a != NULL) {
        CHECK(probe_allocs(p) <= act_at);
        if (probe_allocs(p) == act_at)
            CHECK(alq_memprof_stop(d) == ALQ_OK);
    }
    return ALQ_TRACK_KEEP;
}

static void
a10_comballoc_stop(void **state)
{
    const unsigned step = IS_HARD ? 97 : 1;

    (void)state;
    probe.act = stop_at;
    for (unsigned n = 1; n <= 1000; n += step) {
        alq_value out[SEVEN];

        probe_forget(&probe);
        act_at = n;
        profile = begin(d, &probe, 1.0);
        for (unsigned i = 0; i < 1000 / SEVEN + 2; i++)
            CHECK(seven(d, out));
        CHECK(!alq_memprof_is_sampling(d));
        CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
        CHECK(probe_allocs(&probe) == n);
        CHECK(alq_memprof_discard(profile) == ALQ_OK);
        settle(d);
        CHECK(live_entries(profile) == 0);
        alq_profile_drop(profile);
    }
}

/* ---- A12, A22: stop, discard, start in the N-th callback ------------------
 */

static struct {
    bool discards, restarts;
    unsigned n_profiles; /* so far: the N-th is stopped in its N-th event */
    uint64_t n_alloc;    /* events of the present one                     */
    uint64_t allocs, words;
    struct alq_profile *profiles[8];
} acts;

static void
next_profile(void)
{
    acts.n_alloc = 0;
    acts.profiles[acts.n_profiles++] = begin(d, &probe, 1.0);
}

static int
stop_and_more(struct probe *p, enum event event, const struct alq_allocation *a,
              struct record *r)
{
    (void)p;
    CHECK(event != ALLOC_MAJOR);
    if (a == NULL) {
        /* Hard builds collect between any two blocks. */
        CHECK(!acts.discards || event == RELEASE || IS_HARD);
        return ALQ_TRACK_KEEP;
    }
    acts.allocs++;
    acts.n_alloc++;
    acts.words += a->size_words + 1;
    r->mark = acts.n_profiles;
    if (acts.n_alloc < acts.n_profiles)
        return ALQ_TRACK_KEEP;
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    if (acts.discards)
        CHECK(alq_memprof_discard(acts.profiles[acts.n_profiles - 1]) ==
              ALQ_OK);
    if (acts.restarts)
        next_profile();
    return ALQ_TRACK_KEEP;
}

/* Four times seven blocks and one that keeps them. */
static void
four_times(bool discards, bool restarts)
{
    ALQ_FRAME(d, f, list);

    memset(&acts, 0, sizeof acts);
    acts.discards = discards;
    acts.restarts = restarts;
    probe_forget(&probe);
    probe.act = stop_and_more;
    next_profile();
    f.list = ALQ_UNIT;
    for (unsigned i = 0; i < 4; i++) {
        alq_value all[SEVEN];

        if (i > 0 && !restarts)
            next_profile();
        CHECK(seven(d, all));
        f.list = cons(d, all[0], f.list);
    }
    if (restarts)
        CHECK(alq_memprof_stop(d) == ALQ_OK);
    if (restarts && discards)
        CHECK(alq_memprof_discard(acts.profiles[4]) == ALQ_OK);
    CHECK(alq_gc_minor(d) == ALQ_OK);
    f.list = ALQ_UNIT;
    bury(d);
}

static void
drop_profiles(void)
{
    for (unsigned i = 0; i < acts.n_profiles; i++) {
        CHECK(live_entries(acts.profiles[i]) == 0);
        alq_profile_drop(acts.profiles[i]);
    }
}

/* Each of n blocks was let go, by releases but in hard builds. */
static void
check_released(uint64_t n)
{
    uint64_t deaths = probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR];

    CHECK(probe.n[RELEASE] + deaths == n);
    CHECK(IS_HARD || deaths + probe.n[PROMOTE] == 0);
}

static void
a12_discard_in_callback(void **state)
{
    (void)state;
    four_times(true, true);
    CHECK(acts.allocs == 11 && acts.words == 50);
    check_released(11);
    drop_profiles();
    four_times(true, false);
    CHECK(acts.allocs == 10 && acts.words == 53);
    check_released(10);
    drop_profiles();
}

/* The same, block by block: no request to be cut short. */
static void
a12_discard_in_callback_one_by_one(void **state)
{
    (void)state;
    for (unsigned restarts = 0; restarts < 2; restarts++) {
        memset(&acts, 0, sizeof acts);
        acts.discards = true;
        acts.restarts = restarts;
        probe_forget(&probe);
        probe.act = stop_and_more;
        next_profile();
        for (unsigned i = 0; i < 4; i++) {
            if (i > 0 && !restarts)
                next_profile();
            for (unsigned k = 0; k < SEVEN; k++)
                CHECK(!alq_is_null(block(d, seven_words[k] - 1)));
            CHECK(!alq_is_null(block(d, 2)));
        }
        if (restarts) {
            CHECK(alq_memprof_stop(d) == ALQ_OK);
            CHECK(alq_memprof_discard(acts.profiles[acts.n_profiles - 1]) ==
                  ALQ_OK);
        }
        bury(d);
        CHECK(acts.allocs == (restarts ? 32 : 10));
        CHECK(acts.words == (restarts ? 144 : 53));
        check_released(acts.allocs);
        drop_profiles();
    }
}

static void
a22_stop_start_in_callback(void **state)
{
    (void)state;
    for (unsigned restarts = 0; restarts < 2; restarts++) {
        four_times(false, restarts);
        CHECK(acts.allocs == (restarts ? 11 : 10));
        CHECK(acts.words == (restarts ? 50 : 53));
        /* Each is told of in one heap, what was promoted in the major one:
         * that is the probe's own law.  None is left out. */
        CHECK(probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR] == acts.allocs);
        CHECK(probe.n[DEALLOC_MAJOR] == probe.n[PROMOTE]);
        CHECK(probe.n[RELEASE] == 0);
        if (restarts) /* the list's cells live, the requests were cut short */
            CHECK(probe.n[PROMOTE] == 4);
        drop_profiles();
    }
}

/* ---- A13, A14, A15: callbacks that fail -----------------------------------
 */

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

static void
a13_exception_callback(void **state)
{
    int code = 0;

    (void)state;
    probe.act = fails;
    fail_in = ALLOC_MAJOR;
    fail_at = 0;
    profile = begin(d, &probe, 1.0);
    (void)alq_alloc(d, 1000, 0); /* its callback runs here, or at the flush */
    if (alq_status_of(d) == ALQ_OK)
        CHECK(alq_memprof_flush(d, &code) == ALQ_ECALLBACK && code == -7);
    CHECK(probe.n[ALLOC_MAJOR] == 1);
    alq_status_clear(d);
    settle(d);
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    end_profile(d, profile, &probe);
}

static void
a14_exception_callback_minor(void **state)
{
    (void)state;
    probe.act = fails;
    fail_in = ALLOC_MINOR;
    fail_at = 0;
    profile = begin(d, &probe, 1.0);
    CHECK(alq_is_null(alq_alloc_small(d, 3, 0)));
    CHECK(alq_status_of(d) == ALQ_ECALLBACK);
    alq_status_clear(d);
    CHECK(probe.n[ALLOC_MINOR] == 1);
    settle(d); /* it has surfaced already */
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(!alq_is_null(block(d, 3)));
    end_profile(d, profile, &probe);
}

static int
fail_with_its_number(struct probe *p, enum event event,
                     const struct alq_allocation *a, struct record *r)
{
    (void)p;
    (void)r;
    if (a == NULL)
        return ALQ_TRACK_KEEP;
    CHECK(event == ALLOC_MINOR);
    acts.allocs++;
    acts.words += a->size_words + 1;
    return ++acts.n_alloc >= acts.n_profiles ? -7 : ALQ_TRACK_KEEP;
}

static void
a15_exception_comballoc(void **state)
{
    ALQ_FRAME(d, f, list);
    unsigned failed = 0;

    (void)state;
    memset(&acts, 0, sizeof acts);
    probe.act = fail_with_its_number;
    f.list = ALQ_UNIT;
    for (unsigned i = 1; i <= 10; i++) {
        alq_value all[SEVEN], cell;

        acts.n_profiles = i;
        acts.n_alloc = 0;
        profile = begin(d, &probe, 1.0);
        cell = seven(d, all) ? cons(d, all[0], f.list) : ALQ_NULL;
        if (!alq_is_null(cell)) {
            f.list = cell;
        } else {
            CHECK(alq_status_of(d) == ALQ_ECALLBACK);
            alq_status_clear(d);
            failed++;
        }
        CHECK(alq_memprof_stop(d) == ALQ_OK);
        CHECK(alq_gc_minor(d) == ALQ_OK);
        settle(d);
        alq_profile_drop(profile);
    }
    f.list = ALQ_UNIT;
    bury(d);
    CHECK(failed == 8);
    CHECK(acts.allocs == 52 && acts.words == 250);
    CHECK(probe.n[DEALLOC_MINOR] + probe.n[DEALLOC_MAJOR] == 44);
    CHECK(probe.n_failures == 8);
    CHECK(probe.open == 0);
}

/* ---- A19: at once, or at a poll -------------------------------------------
 */

static void
a19_minor_no_postpone(void **state)
{
    size_t bytes;
    void *m = message(d, 1, &bytes);

    (void)state;
    profile = begin(d, &probe, 1.0);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(probe.n[ALLOC_MINOR] == 1);
    CHECK(!alq_is_null(alq_alloc(d, 3, 0)));
    CHECK(probe.n[ALLOC_MINOR] == 2);
    /* What the library makes is told of at a poll of this thread, in order. */
    unmarshalled(d, m, bytes);
    CHECK(!alq_is_null(block(d, 3)));
    CHECK(probe.n[ALLOC_MINOR] == 4);
    CHECK(probe.blocks_of[ALQ_SOURCE_MARSHAL] == 1);
    free(m);
    end_profile(d, profile, &probe);
}

/* ---- A21: start, stop, discard in any order -------------------------------
 */

static struct alq_profile *
null_profile(void)
{
    struct alq_profile *p = NULL;
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;

    c.rate = 1.0;
    CHECK(alq_memprof_start(d, &c, &alq_tracker_null, &p) == ALQ_OK);
    CHECK(alq_memprof_is_sampling(d));
    return p;
}

static void
stopped(void)
{
    CHECK(alq_memprof_stop(d) == ALQ_OK);
    CHECK(!alq_memprof_is_sampling(d));
}

static void
discarded(struct alq_profile *p)
{
    CHECK(alq_memprof_discard(p) == ALQ_OK);
}

static void
a21_start_stop(void **state)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p, *q, *none = NULL;

    (void)state;
    CHECK(!alq_memprof_is_sampling(d));
    p = null_profile(); /* start, stop, discard */
    stopped();
    discarded(p);
    CHECK(!alq_memprof_is_sampling(d));
    alq_profile_drop(p);
    CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN); /* stop without a start */

    p = null_profile(); /* start twice */
    CHECK(alq_memprof_start(d, &c, &alq_tracker_null, &none) == ALQ_EBUSY);
    CHECK(none == NULL && alq_memprof_is_sampling(d));
    CHECK(alq_memprof_discard(p) == ALQ_ERUNNING); /* discard, not stopped */
    CHECK(alq_memprof_is_sampling(d));
    stopped();
    discarded(p);
    CHECK(alq_memprof_discard(p) == ALQ_EGONE); /* discard twice */
    alq_profile_drop(p);

    for (unsigned order = 0; order < 6; order++) { /* two profiles */
        p = null_profile();
        stopped();
        if (order == 1 || order == 2)
            discarded(p);
        q = null_profile();
        if (order == 5) {
            discarded(p); /* while the second one samples */
            CHECK(alq_memprof_is_sampling(d));
        }
        stopped();
        if (order >= 2)
            discarded(q);
        if (order == 3 || order == 4)
            discarded(p);
        CHECK(alq_memprof_stop(d) == ALQ_ENOTRUN);
        alq_profile_drop(p);
        alq_profile_drop(q);
    }

    p = null_profile(); /* without STRICT the second takes its place */
    c.flags = 0;
    CHECK(alq_memprof_start(d, &c, &alq_tracker_null, &q) == ALQ_OK);
    CHECK(alq_profile_stop(p) == ALQ_ENOTRUN); /* nobody had it any more */
    CHECK(alq_profile_stop(q) == ALQ_OK);
    CHECK(!alq_memprof_is_sampling(d));
    discarded(p);
    discarded(q);
    alq_profile_drop(p);
    alq_profile_drop(q);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a4_no_nested_callback),   TEST(a10_comballoc_stop),
        TEST(a12_discard_in_callback), TEST(a12_discard_in_callback_one_by_one),
        TEST(a13_exception_callback),  TEST(a14_exception_callback_minor),
        TEST(a15_exception_comballoc), TEST(a19_minor_no_postpone),
        TEST(a21_start_stop),          TEST(a22_stop_start_in_callback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
