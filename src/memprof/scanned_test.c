/* scanned_test.c -- the engine under a managed heap: one behaviour a test
 *
 * A tracker writes one letter an event: a, A alloc minor, major; p promote;
 * d, D dealloc minor, major; r release.  Names in brackets are the scenarios
 * of spec statmemprof section 6. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "kits/memprof/mock_heap.h"

enum { LOG = 1 << 16 };

static char events[LOG];
static size_t n_events;
static uint64_t samples, sizes;
static enum alq_source last_source;
static int verdict;    /* of alloc and promote                    */
static size_t fail_at; /* the alloc event, from 1, that fails     */
static size_t act_at;  /* the alloc event that calls act()        */
static void (*act)(void);
static struct mock_thread *main_thread;
static struct alq_profile *profile;

static void
note(char c)
{
    if (n_events < LOG - 1)
        events[n_events++] = c;
    events[n_events] = '\0';
}

static size_t
count(char c)
{
    size_t n = 0;

    for (size_t i = 0; i < n_events; i++)
        n += events[i] == c;
    return n;
}

static int
on_alloc(const struct alq_allocation *a, char c)
{
    note(c);
    samples += a->n_samples;
    sizes += a->size_words;
    last_source = a->source;
    if (act_at != 0 && count('a') + count('A') == act_at)
        act();
    return fail_at != 0 && count('a') + count('A') == fail_at ? -9 : verdict;
}

static int
alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    *data = 1;
    return on_alloc(a, 'a');
}

static int
alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    *data = 2;
    return on_alloc(a, 'A');
}

static int
on_promote(void *arg, uintptr_t *data)
{
    (void)arg;
    assert_int_equal(*data, 1);
    *data = 2;
    note('p');
    return verdict;
}

static int
dealloc_minor(void *arg, uintptr_t data)
{
    (void)arg;
    assert_int_equal(data, 1);
    note('d');
    return 0;
}

static int
dealloc_major(void *arg, uintptr_t data)
{
    (void)arg;
    assert_int_equal(data, 2);
    note('D');
    return 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    (void)arg;
    (void)data;
    note('r');
}

static const struct alq_tracker tracker = {
    .alloc_minor = alloc_minor,
    .alloc_major = alloc_major,
    .promote = on_promote,
    .dealloc_minor = dealloc_minor,
    .dealloc_major = dealloc_major,
    .release = on_release,
};

static struct alq_profile *
begin_on(struct mock_thread *t, double rate)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_profile *p = NULL;

    c.rate = rate;
    c.seed = 5;
    c.flags = 0;
    assert_int_equal(
        alqi_memprof_start(t->t.domain, &t->t, 0, &c, &tracker, &p), ALQ_OK);
    return p;
}

static enum alq_status
stop_on(struct mock_thread *t)
{
    return alqi_memprof_stop(t->t.domain, &t->t, 0);
}

static void
poll(struct mock_thread *t)
{
    assert_int_equal(alqi_memprof_poll(&t->t, NULL), ALQ_OK);
}

static void
forget_events(void)
{
    n_events = 0;
    events[0] = '\0';
    samples = sizes = 0;
}

static int
open_all(void **state)
{
    (void)state;
    mock_open();
    main_thread = &mock.thread[0];
    forget_events();
    verdict = ALQ_TRACK_KEEP;
    fail_at = act_at = 0;
    return 0;
}

static int
close_all(void **state)
{
    (void)state;
    mock_close();
    return 0;
}

static void
end(struct alq_profile *p)
{
    (void)stop_on(main_thread);
    assert_int_equal(alqi_memprof_discard(&main_thread->t, p), ALQ_OK);
    poll(main_thread);
    alqi_memprof_profile_drop(p);
}

/* ---- sampling -------------------------------------------------------------
 */

static void
every_path(unsigned rounds)
{
    static const uint32_t subs[] = {2, 11, 3, 5, 7, 4};
    int code;

    for (unsigned i = 0; i < rounds; i++) {
        uint32_t n;

        assert_int_not_equal(mock_request(main_thread, subs, 6, &code), 0);
        mock_small(main_thread, 9);
        n = mock_small(main_thread, 3);
        mock_custom(main_thread, n, 40);
        mock_major(main_thread, 300, ALQ_SOURCE_NORMAL);
        mock_major(main_thread, 13, ALQ_SOURCE_MARSHAL);
        if (i % 64 == 0) {
            for (uint32_t k = 1; k <= mock.n_objects; k++)
                mock.object[k].rooted = false;
            mock_minor();
            mock_major_cycle();
            poll(main_thread);
            mock_compact();
            mock.n_objects = 0; /* all dead */
        }
    }
    poll(main_thread);
}

static void
rate_one_is_exact(void **state) /* [A1] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);

    (void)state;
    every_path(100);
    assert_int_equal(samples, main_thread->words);
    assert_int_equal(count('a') + count('A'), 100 * (6 + 2 + 1 + 2));
    end(p);
}

static void
samples_are_binomial(void **state) /* [A5], [A6], [A9] */
{
    static const double rates[] = {0.9, 0.1, 0.001};

    (void)state;
    for (unsigned i = 0; i < ALQI_COUNT_OF(rates); i++) {
        struct alq_profile *p = begin_on(main_thread, rates[i]);
        double words, sd;

        forget_events();
        main_thread->words = 0;
        every_path(3000);
        words = (double)main_thread->words;
        sd = sqrt(words * rates[i] * (1 - rates[i]));
        /* 8 sd, mean above 100: below 1e-11 */
        assert_true(words * rates[i] > 100);
        assert_true(fabs((double)samples - words * rates[i]) < 8 * sd);
        end(p);
    }
}

static void
suspended_words_are_no_trials(void **state) /* N2, S12 */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    uint32_t was = alqi_memprof_suspend(&main_thread->t);

    (void)state;
    every_path(1);
    alqi_memprof_resume(&main_thread->t, was);
    assert_int_equal(n_events, 0);
    assert_int_equal(main_thread->words, 0);
    end(p);
}

static void
a_new_distribution_begins_at_once(void **state) /* S5 */
{
    struct alq_profile *p = begin_on(main_thread, 1e-9), *q;

    (void)state;
    mock_major(main_thread, 300, ALQ_SOURCE_NORMAL);
    q = begin_on(main_thread, 1.0); /* p has no other domain: it stops */
    mock_major(main_thread, 300, ALQ_SOURCE_NORMAL);
    poll(main_thread);
    assert_int_equal(samples, 300);
    assert_int_equal(alqi_memprof_discard(&main_thread->t, p), ALQ_OK);
    alqi_memprof_profile_drop(p);
    end(q);
}

static void
a_replaced_profile_gets_nothing_of_an_old_skip(void **state) /* .inv.armed */
{
    const struct alqi_stack_regs regs = {0, 0, 0, false};
    struct alqi_memprof_block b = {0};
    struct alq_profile *p = begin_on(main_thread, 1.0), *q;
    uint32_t n = mock_small(main_thread, 3);

    (void)state;
    poll(main_thread);
    mock_domain_open(1, &mock.domain[0]); /* p goes on there */
    mock_thread_open(1, 1, 3);
    q = begin_on(main_thread, 0.5);
    b.block = (const void *)mock.object[n].address;
    b.words_tried = 3;
    b.size_words = 2;
    b.minor = true;
    forget_events();
    alqi_memprof_small(&main_thread->t, &b, 1, &regs); /* p's last trigger */
    poll(main_thread);
    assert_int_equal(n_events, 0);
    assert_int_equal(stop_on(&mock.thread[1]), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&main_thread->t, p), ALQ_OK);
    alqi_memprof_profile_drop(p);
    end(q);
}

static void
a_block_after_a_start_is_sampled_at_the_new_rate(void **state) /* .inv.armed */
{
    struct alq_profile *p = begin_on(main_thread, 0.0);

    (void)state;
    mock_major(main_thread, 300, ALQ_SOURCE_NORMAL); /* draws an endless skip */
    end(p);
    p = begin_on(main_thread, 1.0);
    forget_events();
    mock_major(main_thread, 300, ALQ_SOURCE_NORMAL);
    poll(main_thread);
    assert_int_equal(n_events, 1);
    end(p);
}

/* ---- requests ---------------------------------------------------------------
 */

static const uint32_t seven[] = {2, 3, 4, 5, 6, 7, 8};

static void
a_failure_ends_the_whole_request(void **state) /* X3, [A15] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);

    (void)state;
    for (size_t n = 1; n <= 7; n++) {
        struct alq_memprof_counts counts;
        int code = 0;

        forget_events();
        fail_at = n;
        assert_int_equal(mock_request(main_thread, seven, 7, &code), 0);
        assert_int_equal(code, -9);
        assert_int_equal(count('a'), n);
        assert_int_equal(count('d'), 0);
        poll(main_thread); /* ALQ_OK: the code has surfaced already */
        assert_int_equal(count('d'), n - 1);
        alqi_memprof_counts(p, &counts);
        assert_int_equal(counts.live_entries, 0);
    }
    end(p);
}

static void
no_room_gives_every_kept_block_a_death(void **state)
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    const struct alqi_stack_regs regs = {0, 0, 0, false};

    (void)state;
    alqi_memprof_skip_words(&main_thread->t);
    assert_int_equal(alqi_memprof_request(&main_thread->t, seven, 7, 1, &regs),
                     0);
    alqi_memprof_request_cancel(&main_thread->t);
    poll(main_thread);
    assert_string_equal(events, "aaaaaaaddddddd");
    end(p);
}

static void
stop_it(void)
{
    assert_int_equal(stop_on(main_thread), ALQ_OK);
}

static void
restart_it(void)
{
    stop_it();
    profile = begin_on(main_thread, 1.0);
}

static void
stop_in_a_callback_drops_the_rest(void **state) /* P7, [A22] */
{
    (void)state;
    for (size_t n = 1; n <= 7; n++) {
        struct alq_profile *p = begin_on(main_thread, 1.0);
        uint32_t first;
        int code;

        forget_events();
        act = stop_it;
        act_at = n;
        first = mock_request(main_thread, seven, 7, &code);
        poll(main_thread);
        assert_int_equal(count('a'), n);
        assert_int_equal(n_events, n);
        for (unsigned i = 0; i < 7; i++)
            mock.object[first + i].rooted = i % 2 != 0;
        mock_minor();
        poll(main_thread);
        assert_int_equal(count('p'), n / 2);
        assert_int_equal(count('d'), n - n / 2);
        end(p);
    }
}

static void
restart_in_a_callback_ends_the_request(void **state) /* P8, [A22] */
{
    (void)state;
    for (size_t n = 1; n <= 7; n++) {
        struct alq_profile *p = begin_on(main_thread, 1.0);
        int code;

        forget_events();
        act = restart_it;
        act_at = n;
        assert_int_not_equal(mock_request(main_thread, seven, 7, &code), 0);
        act_at = 0;
        poll(main_thread);
        assert_int_equal(count('a'), n); /* the new one starts with the next */
        assert_int_equal(count('d'), n);
        mock_request(main_thread, seven, 7, &code);
        assert_int_equal(count('a'), n + 7);
        end(profile);
        assert_int_equal(count('r'), 7);
        assert_int_equal(alqi_memprof_discard(&main_thread->t, p), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
}

static void
discard_it(void)
{
    stop_it();
    assert_int_equal(alqi_memprof_discard(&main_thread->t, profile), ALQ_OK);
}

static void
discard_in_a_callback_releases(void **state) /* P6, [A12] */
{
    (void)state;
    for (size_t n = 1; n <= 7; n++) {
        int code;

        profile = begin_on(main_thread, 1.0);
        forget_events();
        act = discard_it;
        act_at = n;
        assert_int_not_equal(mock_request(main_thread, seven, 7, &code), 0);
        poll(main_thread);
        assert_int_equal(count('a'), n);
        assert_int_equal(count('r'), n);
        assert_int_equal(n_events, 2 * n);
        alqi_memprof_profile_drop(profile);
    }
}

/* ---- events in order ---------------------------------------------------- */

static void
runtime_blocks_wait_for_a_poll(void **state) /* [A19] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);

    (void)state;
    assert_false(alqi_memprof_has_pending(&main_thread->t));
    mock_small(main_thread, 5);
    assert_int_equal(n_events, 0);
    assert_true(alqi_memprof_has_pending(&main_thread->t));
    poll(main_thread);
    assert_string_equal(events, "a");
    assert_false(alqi_memprof_has_pending(&main_thread->t));
    end(p);
}

static void
late_alloc_callbacks_still_run(void **state) /* E6, [X7] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    uint32_t n;

    (void)state;
    n = mock_small(main_thread, 5);
    mock.object[n].rooted = false;
    mock_minor();
    poll(main_thread);
    assert_string_equal(events, "ad");
    forget_events();
    n = mock_small(main_thread, 5);
    mock_minor();
    mock.object[n].rooted = false;
    mock_major_cycle();
    poll(main_thread);
    assert_string_equal(events, "apD");
    forget_events();
    n = mock_major(main_thread, 500, ALQ_SOURCE_NORMAL);
    mock.object[n].rooted = false;
    mock_major_cycle();
    poll(main_thread);
    assert_string_equal(events, "AD");
    end(p);
}

static void
promote_may_drop(void **state)
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    uint32_t n = mock_small(main_thread, 5);

    (void)state;
    poll(main_thread);
    mock_minor();
    verdict = ALQ_TRACK_DROP;
    poll(main_thread);
    mock.object[n].rooted = false;
    mock_major_cycle();
    poll(main_thread);
    assert_string_equal(events, "apr");
    end(p);
}

static void
a_custom_block_has_two_lives(void **state) /* A1 of 1.4, [A11] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    uint32_t n = mock_small(main_thread, 7);

    (void)state;
    poll(main_thread);
    assert_int_equal(samples, 7); /* header counted */
    forget_events();
    mock_custom(main_thread, n, 32);
    poll(main_thread);
    assert_int_equal(samples, 32); /* none */
    assert_int_equal(last_source, ALQ_SOURCE_CUSTOM);
    mock.object[n].rooted = false;
    mock_minor();
    poll(main_thread);
    assert_string_equal(events, "add");
    end(p);
}

static void
compaction_keeps_track(void **state) /* [X16] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);

    (void)state;
    for (unsigned i = 0; i < 20000; i++)
        mock_small(main_thread, 3);
    poll(main_thread);
    mock_minor();
    poll(main_thread);
    assert_int_equal(count('p'), 20000);
    mock_compact();
    for (uint32_t n = 1; n <= mock.n_objects; n++)
        mock.object[n].rooted = false;
    mock_compact();
    mock_major_cycle();
    poll(main_thread);
    assert_int_equal(count('D'), 20000);
    end(p);
}

/* ---- domains and threads ------------------------------------------------ */

static void
an_ended_domain_leaves_its_blocks(void **state) /* D5, D7, [X11] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    struct mock_thread *child = &mock.thread[1];
    uint32_t kept, unrun;

    (void)state;
    mock_domain_open(1, &mock.domain[0]);
    mock_thread_open(1, 1, 3);
    kept = mock_small(child, 5);
    poll(child);
    unrun = mock_small(child, 5); /* its alloc callback is owed */
    mock_thread_close(1);
    mock_domain_close(1);
    assert_string_equal(events, "a");
    mock_minor();
    poll(main_thread);
    mock.object[kept].rooted = false;
    mock.object[unrun].rooted = false;
    mock_major_cycle();
    poll(main_thread);
    assert_string_equal(events, "apD");
    end(p);
}

static void
stop_in_any_domain_stops_all(void **state) /* D1, D3, D4, [X9] */
{
    struct alq_profile *p = begin_on(main_thread, 1.0), *q;
    struct mock_thread *child = &mock.thread[1];

    (void)state;
    mock_small(main_thread, 5); /* the trigger is armed */
    mock_domain_open(1, &mock.domain[0]);
    mock_thread_open(1, 1, 3);
    mock_small(child, 5);
    poll(child);
    poll(main_thread);
    assert_string_equal(events, "aa");
    assert_int_equal(stop_on(child), ALQ_OK);
    mock_small(main_thread, 5);
    mock_small(child, 5);
    poll(child);
    poll(main_thread);
    assert_string_equal(events, "aa");
    assert_int_equal(stop_on(main_thread), ALQ_ENOTRUN);
    q = begin_on(child, 1.0); /* of the child alone */
    mock_small(main_thread, 5);
    mock_small(child, 5);
    poll(child);
    poll(main_thread);
    assert_string_equal(events, "aaa");
    assert_int_equal(stop_on(child), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&child->t, q), ALQ_OK);
    alqi_memprof_profile_drop(q);
    end(p);
    mock_minor(); /* the child's entries of p are released when next met */
    poll(child);
    assert_string_equal(events, "aaarrr");
}

static void
the_last_domain_stops_its_profile(void **state) /* P10, [X5] */
{
    struct alq_profile *p;

    (void)state;
    mock_domain_open(1, NULL);
    mock_thread_open(1, 1, 3);
    p = begin_on(&mock.thread[1], 1.0);
    mock_domain_open(2, &mock.domain[1]);
    mock_thread_close(1);
    mock_domain_close(1);
    assert_int_equal(alqi_memprof_discard(&main_thread->t, p), ALQ_ERUNNING);
    mock_domain_close(2);
    assert_int_equal(alqi_memprof_discard(&main_thread->t, p), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
alloc_callbacks_run_in_their_thread(void **state) /* T2, T3 */
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    struct mock_thread *other = &mock.thread[1];
    uint32_t n;

    (void)state;
    mock_thread_open(1, 0, 3);
    n = mock_small(other, 5);
    poll(main_thread);
    assert_int_equal(n_events, 0);
    poll(other);
    assert_string_equal(events, "a");
    mock.object[n].rooted = false;
    mock_minor();
    poll(main_thread); /* later ones in any thread of the domain */
    assert_string_equal(events, "ad");
    mock_small(other, 5);
    mock_thread_close(1);
    poll(main_thread);
    assert_string_equal(events, "ad");
    end(p);
}

static void
nothing_is_left_of_callbacks_that_never_run(void **state) /* B3, [X3] */
{
    (void)state;
    for (unsigned round = 0; round < 3; round++) {
        struct alq_profile *p = begin_on(main_thread, 1.0);
        struct alq_memprof_counts n;

        for (unsigned i = 0; i < 20000; i++) {
            mock.object[mock_small(main_thread, 2)].rooted = false;
            if (i % 1000 == 0)
                mock_minor();
        }
        forget_events();
        act = stop_it;
        act_at = 1;
        poll(main_thread);
        act_at = 0;
        mock_minor();
        poll(main_thread);
        assert_int_equal(count('a'), 1);
        assert_int_equal(count('d'), 1);
        alqi_memprof_counts(p, &n);
        assert_int_equal(n.live_entries, 0);
        end(p);
        mock.n_objects = 0;
    }
}

static int
each_visit(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    size_t *n = arg;

    assert_int_equal(data, 1);
    assert_int_equal(a->n_samples, 5);
    ++*n;
    return 0;
}

static void
each_visits_what_is_tracked(void **state)
{
    struct alq_profile *p = begin_on(main_thread, 1.0);
    size_t n = 0;

    (void)state;
    for (unsigned i = 0; i < 10; i++)
        mock_small(main_thread, 5);
    poll(main_thread);
    assert_int_equal(alqi_memprof_each(&main_thread->t, p, each_visit, &n),
                     ALQ_OK);
    assert_int_equal(n, 10);
    end(p);
    assert_int_equal(count('r'), 10);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rate_one_is_exact),
        TEST(samples_are_binomial),
        TEST(suspended_words_are_no_trials),
        TEST(a_new_distribution_begins_at_once),
        TEST(a_replaced_profile_gets_nothing_of_an_old_skip),
        TEST(a_block_after_a_start_is_sampled_at_the_new_rate),
        TEST(a_failure_ends_the_whole_request),
        TEST(no_room_gives_every_kept_block_a_death),
        TEST(stop_in_a_callback_drops_the_rest),
        TEST(restart_in_a_callback_ends_the_request),
        TEST(discard_in_a_callback_releases),
        TEST(runtime_blocks_wait_for_a_poll),
        TEST(late_alloc_callbacks_still_run),
        TEST(promote_may_drop),
        TEST(a_custom_block_has_two_lives),
        TEST(compaction_keeps_track),
        TEST(an_ended_domain_leaves_its_blocks),
        TEST(stop_in_any_domain_stops_all),
        TEST(the_last_domain_stops_its_profile),
        TEST(alloc_callbacks_run_in_their_thread),
        TEST(nothing_is_left_of_callbacks_that_never_run),
        TEST(each_visits_what_is_tracked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
