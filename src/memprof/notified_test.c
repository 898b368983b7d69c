/* notified_test.c -- the engine under a malloc: one behaviour a test
 *
 * Names in brackets are the scenarios of spec statmemprof section 6. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "memprof/filter.h"
#include "kits/memprof/counting_tracker.h"

/* ---- counts ------------------------------------------------------------- */

static void
rate_one_samples_every_word(void **state) /* [A1] */
{
    struct alq_profile *p = begin(1.0);
    struct alq_memprof_counts n;
    void *block[500];
    uint64_t bytes = 0;

    (void)state;
    for (size_t i = 0; i < 500; i++) {
        block[i] = fake_malloc(&self, i * 7);
        bytes += i * 7;
    }
    assert_int_equal(counted.allocs, 500);
    assert_int_equal(counted.samples, self.words);
    assert_int_equal(counted.words, self.words);
    assert_int_equal(counted.bytes, bytes);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.sampled_blocks, 500);
    assert_int_equal(n.sampled_words, self.words);
    assert_int_equal(n.live_entries, 500);
    for (size_t i = 0; i < 500; i++)
        fake_free(&self, block[i]);
    assert_int_equal(counted.deallocs, 500);
    assert_int_equal(counted.minors, 0);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.live_entries, 0);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
    assert_int_equal(counted.releases, 0);
    alqi_memprof_profile_drop(p);
}

static void
rate_zero_samples_nothing_and_is_busy(void **state) /* [A2] */
{
    struct alq_profile *p = begin(0.0), *q = NULL;
    struct alq_memprof_config c = at_rate(0.5);

    (void)state;
    for (unsigned i = 0; i < 1000; i++)
        fake_free(&self, fake_malloc(&self, 100000));
    assert_int_equal(counted.allocs, 0);
    assert_int_equal(fake_start(&self, &c, &counting_tracker, &q), ALQ_EBUSY);
    assert_null(q);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
samples_are_binomial(void **state) /* [A5] */
{
    static const struct {
        size_t lo, hi, rounds;
        double rate;
    } runs[] = {{300, 3000, 3, 1e-3}, {300, 3000, 3, 0.01},
                {300, 3000, 3, 0.9},  {1, 250, 100, 0.1},
                {8, 9, 100000, 0.01}, {2400000, 2400001, 30, 0.1}};

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(runs); i++) {
        struct alq_profile *p = begin(runs[i].rate);
        double mean, sd, words;
        uint64_t samples = counted.samples;

        self.words = 0;
        for (size_t r = 0; r < runs[i].rounds; r++)
            for (size_t b = runs[i].lo; b < runs[i].hi; b++)
                fake_free(&self, fake_malloc(&self, b));
        words = (double)self.words;
        mean = words * runs[i].rate;
        sd = sqrt(mean * (1 - runs[i].rate));
        /* 8 sd of a binomial with mean above 100: below 1e-11. */
        assert_true(mean > 100);
        assert_true(fabs((double)(counted.samples - samples) - mean) < 8 * sd);
        assert_int_equal(counted.allocs, counted.deallocs);
        assert_int_equal(fake_stop(&self), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
}

static void
same_seed_same_samples(void **state)
{
    uint64_t allocs[2];

    (void)state;
    for (unsigned round = 0; round < 2; round++) {
        struct alq_profile *p = begin(0.01);
        uint64_t before = counted.samples;

        assert_int_equal(alqi_memprof_seed(p), 7);
        for (unsigned i = 0; i < 10000; i++)
            fake_free(&self, fake_malloc(&self, i));
        allocs[round] = counted.samples - before;
        assert_int_equal(fake_stop(&self), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
    assert_int_equal(allocs[0], allocs[1]);
}

/* ---- arguments and orderings -------------------------------------------- */

static void
bad_arguments_change_nothing(void **state) /* [X13] */
{
    const double bad[] = {-0.1, 1.0001, (double)NAN, (double)INFINITY};
    const double good[] = {0, -0.0, 1, 1e-300};
    struct alq_profile *p = NULL;
    struct alq_memprof_config c;

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(bad); i++) {
        c = at_rate(bad[i]);
        assert_int_equal(fake_start(&self, &c, &counting_tracker, &p),
                         ALQ_EINVAL);
        assert_null(p);
    }
    c = at_rate(0.5);
    assert_int_equal(fake_start(&self, &c, NULL, &p), ALQ_EINVAL);
    assert_int_equal(fake_start(&self, &c, &counting_tracker, NULL),
                     ALQ_EINVAL);
    assert_int_equal(fake_stop(&self), ALQ_ENOTRUN);
    assert_int_equal(alqi_memprof_discard(&self.t, NULL), ALQ_EINVAL);
    for (unsigned i = 0; i < ALQI_COUNT_OF(good); i++) {
        p = begin(good[i]);
        /* EINVAL is told before EBUSY. */
        c = at_rate((double)NAN);
        assert_int_equal(fake_start(&self, &c, &counting_tracker, &p),
                         ALQ_EINVAL);
        assert_int_equal(fake_stop(&self), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
}

static void
start_stop_discard_in_every_order(void **state) /* [A21] */
{
    struct alq_profile *p, *q, *r;
    struct alq_memprof_config c = at_rate(0.5);

    (void)state;
    assert_int_equal(fake_stop(&self), ALQ_ENOTRUN);
    p = begin(0.5);
    assert_true(alqi_memprof_is_sampling(heap.domain, ALQI_MEMPROF_SLOT_USER));
    assert_int_equal(fake_start(&self, &c, &counting_tracker, &q), ALQ_EBUSY);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_ERUNNING);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_false(alqi_memprof_is_sampling(heap.domain, ALQI_MEMPROF_SLOT_USER));
    assert_int_equal(fake_stop(&self), ALQ_ENOTRUN);
    q = begin(0.25); /* the old one may be discarded while a new one samples */
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_EGONE);
    assert_int_equal(alqi_memprof_discard(&self.t, q), ALQ_ERUNNING);
    c.flags = 0; /* moves the domain; nobody else has q: it stops itself [X5] */
    r = begin_with(&c);
    assert_int_equal(alqi_memprof_discard(&self.t, q), ALQ_OK);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&self.t, r), ALQ_OK);
    alqi_memprof_profile_drop(p);
    alqi_memprof_profile_drop(q);
    alqi_memprof_profile_drop(r);
}

static void
stop_keeps_tracking_discard_ends_it(void **state) /* P4, P5 */
{
    struct alq_profile *p = begin(1.0);
    void *a = fake_malloc(&self, 1), *b = fake_malloc(&self, 1), *c;

    (void)state;
    assert_int_equal(fake_stop(&self), ALQ_OK);
    c = fake_malloc(&self, 1);
    assert_int_equal(counted.allocs, 2);
    fake_free(&self, a);
    assert_int_equal(counted.deallocs, 1);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
    assert_int_equal(counted.releases, 1);
    fake_free(&self, b);
    fake_free(&self, c);
    assert_int_equal(counted.deallocs, 1);
    alqi_memprof_profile_drop(p);
}

static void
two_profiles_one_after_the_other(void **state) /* [X8] */
{
    struct alq_profile *p = begin(1.0), *q;
    void *a = fake_malloc(&self, 1), *b;

    (void)state;
    assert_int_equal(fake_stop(&self), ALQ_OK);
    q = begin(1.0);
    b = fake_malloc(&self, 1);
    fake_free(&self, b);
    fake_free(&self, a);
    assert_int_equal(counted.allocs, 2);
    assert_int_equal(counted.deallocs, 2);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
    alqi_memprof_profile_drop(q);
}

/* ---- callbacks ---------------------------------------------------------- */

static void
drop_and_null_track_nothing(void **state)
{
    struct alq_profile *p;
    struct alq_tracker none;
    struct alq_memprof_config c = at_rate(1.0);

    (void)state;
    counted.alloc_code = ALQ_TRACK_DROP;
    p = begin(1.0);
    fake_free(&self, fake_malloc(&self, 10));
    assert_int_equal(counted.allocs, 1);
    assert_int_equal(counted.deallocs + counted.releases, 0);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
    memset(&none, 0, sizeof none);
    assert_int_equal(fake_start(&self, &c, &none, &p), ALQ_OK);
    fake_free(&self, fake_malloc(&self, 10));
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
failures_surface_from_flush_once(void **state) /* [A13], [X14] */
{
    struct alq_profile *p = begin(1.0);
    struct alq_memprof_counts n;
    void *block[5];
    int code = 0;

    (void)state;
    counted.alloc_code = -3;
    fake_free(&self, fake_malloc(&self, 10));
    assert_int_equal(counted.deallocs + counted.releases, 0);
    assert_int_equal(alqi_memprof_flush(&self.t, &code), ALQ_ECALLBACK);
    assert_int_equal(code, -3);
    assert_int_equal(alqi_memprof_flush(&self.t, &code), ALQ_OK);
    counted.alloc_code = ALQ_TRACK_KEEP;
    for (unsigned i = 0; i < 5; i++)
        block[i] = fake_malloc(&self, 10);
    for (unsigned i = 0; i < 5; i++) {
        counted.dealloc_code = -10 - (int)i;
        fake_free(&self, block[i]);
    }
    assert_int_equal(counted.deallocs, 5);
    assert_int_equal(alqi_memprof_flush(&self.t, &code), ALQ_ECALLBACK);
    assert_int_equal(code, -10); /* the first */
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.callback_failures, 6);
    assert_int_equal(n.live_entries, 0);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
call_stacks_are_cut_on_the_outside(void **state) /* [X12] */
{
    static const struct {
        size_t limit, expect;
    } cases[] = {{0, 0},
                 {1, 1},
                 {4, 4},
                 {SIZE_MAX, FAKE_DEPTH},
                 {((size_t)1 << 32), FAKE_DEPTH},
                 {((size_t)1 << 32) + 1, FAKE_DEPTH},
                 {(size_t)1 << 31, FAKE_DEPTH}};

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(cases); i++) {
        struct alq_memprof_config c = at_rate(1.0);
        struct alq_profile *p;

        c.callstack_frames = cases[i].limit;
        p = begin_with(&c);
        fake_free(&self, fake_malloc(&self, 1));
        assert_int_equal(counted.n_frames, cases[i].expect);
        if (cases[i].expect > 0)
            assert_int_equal(counted.last_frame,
                             FAKE_FRAME + cases[i].expect - 1);
        assert_int_equal(fake_stop(&self), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
}

static int
alloc_that_allocates(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct counted *s = arg;
    void *inner = fake_malloc(s->f, 1000); /* not sampled: [A4] */

    assert_int_equal(alqi_memprof_skip_words(&s->f->t),
                     ALQI_SAMPLE_NEVER_WORDS);
    fake_free(s->f, inner);
    if (s->to_free != NULL) {
        void *b = s->to_free;

        s->to_free = NULL;
        fake_free(s->f, b); /* tracked: its dealloc waits for our end */
        assert_int_equal(s->deallocs, s->nested);
    }
    assert_int_equal(alqi_memprof_flush(&s->f->t, NULL), ALQ_OK);
    return counting_alloc(arg, a, data);
}

static void
callbacks_never_nest(void **state) /* [A4], N2 */
{
    struct alq_tracker t = counting_tracker;
    struct alq_memprof_config c = at_rate(1.0);
    struct alq_profile *p;
    void *a, *b;

    (void)state;
    t.alloc_major = alloc_that_allocates;
    assert_int_equal(fake_start(&self, &c, &t, &p), ALQ_OK);
    a = fake_malloc(&self, 10);
    counted.to_free = a;
    b = fake_malloc(&self, 10);
    assert_int_equal(counted.deallocs, 1); /* ran after the alloc callback */
    fake_free(&self, b);
    assert_int_equal(counted.allocs, 2);
    assert_int_equal(counted.deallocs, 2);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static int
alloc_that_stops(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct counted *s = arg;
    int r = counting_alloc(arg, a, data);

    if (s->allocs == s->nested)
        assert_int_equal(fake_stop(s->f), ALQ_OK);
    return r;
}

static void
stop_in_the_nth_callback(void **state) /* [A10], [A22] */
{
    struct alq_tracker t = counting_tracker;
    struct alq_memprof_config c = at_rate(1.0);

    (void)state;
    t.alloc_major = alloc_that_stops;
    for (uint64_t n = 1; n <= 50; n++) {
        struct alq_profile *p;
        void *block[60];

        memset(&counted, 0, sizeof counted);
        counted.f = &self;
        counted.alloc_code = ALQ_TRACK_KEEP;
        counted.nested = n;
        assert_int_equal(fake_start(&self, &c, &t, &p), ALQ_OK);
        for (unsigned i = 0; i < 60; i++)
            block[i] = fake_malloc(&self, i);
        assert_int_equal(counted.allocs, n);
        for (unsigned i = 0; i < 60; i++)
            fake_free(&self, block[i]);
        assert_int_equal(counted.deallocs, n);
        assert_int_equal(fake_stop(&self), ALQ_ENOTRUN);
        assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
}

static struct alq_profile *in_callback;

static int
alloc_that_discards(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct counted *s = arg;
    int r = counting_alloc(arg, a, data);

    if (s->allocs != s->nested)
        return r;
    assert_int_equal(fake_stop(s->f), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&s->f->t, in_callback), ALQ_OK);
    /* the releases of the others wait for the end of this callback */
    assert_int_equal(s->releases, 0);
    return s->dealloc_code;
}

static void
discard_in_the_nth_callback(void **state) /* [A12], [X2]: keep, drop, fail */
{
    struct alq_tracker t = counting_tracker;
    struct alq_memprof_config c = at_rate(1.0);

    (void)state;
    t.alloc_major = alloc_that_discards;
    for (int code = -1; code <= 1; code++)
        for (uint64_t n = 1; n <= 20; n++) {
            void *block[30];

            memset(&counted, 0, sizeof counted);
            counted.f = &self;
            counted.alloc_code = ALQ_TRACK_KEEP;
            counted.dealloc_code = code;
            counted.nested = n;
            assert_int_equal(fake_start(&self, &c, &t, &in_callback), ALQ_OK);
            for (unsigned i = 0; i < 30; i++)
                block[i] = fake_malloc(&self, i);
            for (unsigned i = 0; i < 30; i++)
                fake_free(&self, block[i]);
            assert_int_equal(counted.allocs, n);
            assert_int_equal(counted.deallocs, 0);
            assert_int_equal(counted.releases, code > 0 ? n : n - 1);
            alqi_memprof_profile_drop(in_callback);
        }
}

static void
frees_out_of_a_handler_wait(void **state)
{
    struct alq_profile *p = begin(1.0);
    void *block[ALQI_MEMPROF_DELAYED_FREES + 3];

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(block); i++)
        block[i] = fake_malloc(&self, 100);
    self.t.mode = ALQI_MEMPROF_INSIDE; /* a handler interrupts the engine */
    for (unsigned i = 0; i < ALQI_COUNT_OF(block); i++)
        fake_free(&self, block[i]);
    assert_int_equal(self.t.n_delayed, ALQI_MEMPROF_DELAYED_FREES);
    assert_int_equal(self.t.dropped_nested, 3); /* freed, and stale now */
    self.t.mode = ALQI_MEMPROF_IDLE;
    assert_int_equal(counted.deallocs, 0);
    alqi_memprof_skip_words(&self.t); /* any visit of the engine */
    assert_int_equal(counted.deallocs, ALQI_MEMPROF_DELAYED_FREES);
    assert_int_equal(heap.delayed_freed, ALQI_MEMPROF_DELAYED_FREES);
    /* the stale ones die when their addresses come again, or are released */
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
    assert_int_equal(counted.releases, 3);
    alqi_memprof_profile_drop(p);
}

static void
a_stale_entry_dies_when_its_address_comes_again(void **state)
{
    struct alq_profile *p = begin(1.0);
    struct alqi_stack_regs regs = {0, 0, 0, false};
    char place[64];

    (void)state;
    assert_int_equal(alqi_memprof_skip_words(&self.t), 1);
    alqi_memprof_sampled(&self.t, place, 64, 0, &regs);
    alqi_memprof_sampled(&self.t, place, 64, 0, &regs);
    assert_int_equal(counted.allocs, 2);
    assert_int_equal(counted.deallocs, 1);
    assert_true(alqi_memprof_freeing(&self.t, place));
    assert_int_equal(counted.deallocs, 2);
    assert_false(alqi_memprof_filter_hit(place));
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
realloc_buries_or_puts_back(void **state)
{
    struct alq_profile *p = begin(1.0);
    void *a = fake_malloc(&self, 100), *b;

    (void)state;
    assert_null(fake_realloc(&self, a, 200, true));
    assert_int_equal(counted.deallocs, 0);
    assert_true(alqi_memprof_filter_hit(a));
    b = fake_realloc(&self, a, 100000, false);
    assert_int_equal(counted.deallocs, 1);
    assert_int_equal(counted.allocs, 2);
    fake_free(&self, b);
    assert_int_equal(counted.deallocs, 2);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
put_back_after_a_discard_releases(void **state)
{
    struct alq_profile *p = begin(1.0);
    void *a = fake_malloc(&self, 100);
    struct alqi_memprof_entry *taken;
    bool ok;

    (void)state;
    taken = alqi_memprof_realloc_begin(&self.t, a, &ok);
    assert_true(ok);
    assert_non_null(taken);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
    assert_int_equal(counted.releases, 0);
    alqi_memprof_realloc_failed(&self.t, taken);
    assert_int_equal(counted.releases, 1);
    fake_free(&self, a);
    assert_int_equal(counted.deallocs, 0);
    alqi_memprof_profile_drop(p);
}

static void
the_cap_drops_and_counts(void **state)
{
    struct alq_memprof_config c = at_rate(1.0);
    struct alq_memprof_counts n;
    struct alq_profile *p;
    void *block[20];

    (void)state;
    c.max_entries = 8;
    p = begin_with(&c);
    for (unsigned i = 0; i < 20; i++)
        block[i] = fake_malloc(&self, 1);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.live_entries, 8);
    assert_int_equal(n.dropped_cap, 12);
    assert_int_equal(counted.allocs, 8);
    for (unsigned i = 0; i < 20; i++)
        fake_free(&self, block[i]);
    assert_int_equal(counted.deallocs, 8);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static int
count_visit(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    uint64_t *n = arg;

    assert_int_equal(a->age, 0);
    assert_true(data >= 1 && data <= 100);
    assert_int_equal(a->size_bytes, data - 1);
    assert_int_equal(a->n_samples, a->size_words + 1);
    return ++*n == 60 && data == 0;
}

static int
stop_visit(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    (void)a;
    (void)data;
    return ++*(uint64_t *)arg == 7;
}

static void
each_visits_what_lives(void **state)
{
    struct alq_profile *p = begin(1.0);
    void *block[100];
    uint64_t n = 0;

    (void)state;
    for (unsigned i = 0; i < 100; i++)
        block[i] = fake_malloc(&self, i);
    for (unsigned i = 0; i < 100; i += 2)
        fake_free(&self, block[i]);
    assert_int_equal(alqi_memprof_each(&self.t, p, count_visit, &n), ALQ_OK);
    assert_int_equal(n, 50);
    n = 0;
    assert_int_equal(alqi_memprof_each(&self.t, p, stop_visit, &n), ALQ_OK);
    assert_int_equal(n, 7);
    assert_int_equal(alqi_memprof_each(&self.t, NULL, stop_visit, &n),
                     ALQ_EINVAL);
    for (unsigned i = 1; i < 100; i += 2)
        fake_free(&self, block[i]);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
    assert_int_equal(alqi_memprof_each(&self.t, p, count_visit, &n), ALQ_EGONE);
    alqi_memprof_profile_drop(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rate_one_samples_every_word),
        TEST(rate_zero_samples_nothing_and_is_busy),
        TEST(samples_are_binomial),
        TEST(same_seed_same_samples),
        TEST(bad_arguments_change_nothing),
        TEST(start_stop_discard_in_every_order),
        TEST(stop_keeps_tracking_discard_ends_it),
        TEST(two_profiles_one_after_the_other),
        TEST(drop_and_null_track_nothing),
        TEST(failures_surface_from_flush_once),
        TEST(call_stacks_are_cut_on_the_outside),
        TEST(callbacks_never_nest),
        TEST(stop_in_the_nth_callback),
        TEST(discard_in_the_nth_callback),
        TEST(frees_out_of_a_handler_wait),
        TEST(a_stale_entry_dies_when_its_address_comes_again),
        TEST(realloc_buries_or_puts_back),
        TEST(put_back_after_a_discard_releases),
        TEST(the_cap_drops_and_counts),
        TEST(each_visits_what_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
