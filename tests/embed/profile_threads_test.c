/* profile_threads_test.c -- profiles of a managed heap: data that are values,
 * threads of a domain */
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

/* ---- data that are values ----------------------------------------------- */

/* A datum is a block that holds its own number, and a list behind it. */
struct values {
    struct alq_domain *d;
    intptr_t n, n_promoted, n_dead;
};

static alq_value
datum_new(struct values *v, alq_value last)
{
    ALQ_FRAME(v->d, f, last);
    alq_value datum;

    f.last = last;
    datum = alq_alloc(v->d, 3, 0);
    if (datum == ALQ_NULL)
        abort();
    alq_init(v->d, datum, 0, alq_from_int(++v->n));
    alq_init(v->d, datum, 1, f.last);
    f.last = datum;
    alq_gc_minor(v->d);
    return f.last;
}

static void
datum_check(alq_value datum)
{
    intptr_t n = alq_to_int(alq_field(datum, 0));
    alq_value before = alq_field(datum, 1);

    if (n < 1)
        abort();
    if (alq_is_block(before) && alq_to_int(alq_field(before, 0)) != -n)
        abort();
}

static int
values_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)a;
    *data = datum_new(arg, ALQ_UNIT);
    alq_gc_minor(((struct values *)arg)->d); /* it is a root already */
    return ALQ_TRACK_KEEP;
}

static int
values_promote(void *arg, uintptr_t *data)
{
    struct values *v = arg;
    ALQ_FRAME(v->d, f, old);
    alq_value now;

    datum_check(*data);
    alq_gc_minor(v->d); /* *data is kept up to date */
    f.old = alq_alloc(v->d, 1, 0);
    alq_init(v->d, f.old, 0, alq_from_int(-alq_to_int(alq_field(*data, 0))));
    now = alq_alloc(v->d, 3, 0); /* young, with the same number */
    alq_init(v->d, now, 0, alq_field(*data, 0));
    alq_init(v->d, now, 1, f.old);
    *data = now;
    v->n_promoted++;
    return ALQ_TRACK_KEEP;
}

static int
values_dealloc(void *arg, uintptr_t data)
{
    struct values *v = arg;

    datum_check(data);
    v->n_dead++;
    return 0;
}

static void
values_are_roots_that_move(void **state)
{
    struct values v = {.d = d};
    const struct alq_tracker tracker = {.alloc_minor = values_alloc,
                                        .alloc_major = values_alloc,
                                        .promote = values_promote,
                                        .dealloc_minor = values_dealloc,
                                        .dealloc_major = values_dealloc,
                                        .arg = &v,
                                        .flags = ALQ_TRACKER_VALUES};
    struct alq_memprof_config c = log_config(0.05, ALQ_MEMPROF_STRICT);
    ALQ_FRAME(d, f, slots[50]);
    uint64_t r = 1;

    (void)state;
    assert_int_equal(alq_memprof_start(d, &c, &tracker, &p), ALQ_OK);
    for (unsigned i = 0; i < STEPS / 4; i++) {
        alq_value made = i % 50 == 49 ? alq_alloc(d, 300, 0) : pair(ALQ_UNIT);

        r = alqi_base_mix(r + 1);
        f.slots[r % 50] = made;
        if (i % 500 == 499)
            assert_int_equal(i % 1000 == 999 ? alq_gc_compact(d)
                                             : alq_gc_full_major(d),
                             ALQ_OK);
    }
    alq_frame_clear(&f.alq_head, 50);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_true(v.n > STEPS / 100 && v.n_promoted > 3);
    assert_int_equal(v.n_dead, v.n);
}

/* ---- threads ------------------------------------------------------------ */

static void *
thread_allocates(void *arg)
{
    struct alq_thread *self;

    if (alq_thread_attach(arg, &self) != ALQ_OK)
        abort();
    for (unsigned i = 0; i < 100; i++) {
        if (alq_alloc_small(arg, 3, 252) == ALQ_NULL)
            abort();
        alq_thread_yield(arg);
    }
    /* Its turn never comes (T2). */
    if (alq_alloc(arg, 1000, 0) == ALQ_NULL ||
        alq_thread_detach(self) != ALQ_OK)
        abort();
    return NULL;
}

static void
threads_of_a_domain_are_sampled(void **state)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    struct alq_thread *self;
    struct alq_memprof_counts n;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_allocates, d),
                         0);
    self = alq_blocking_begin(d);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_alloc_minor, 100 * THREADS);
    assert_int_equal(l->n_words, 400 * THREADS);
    assert_int_equal(l->n_alloc_major, 0);
    alq_profile_counts(p, &n);
    assert_int_equal(n.sampled_words, (400 + 1001) * THREADS);
    assert_int_equal(n.live_entries, 0);
}

/* One in a callback, the others sampled: N3. */
static void
act_yield(struct log *log)
{
    if (log->n_events > 50)
        return;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(alq_thread_yield(log->d), ALQ_OK);
}

static void
threads_switch_within_callbacks(void **state)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    struct alq_thread *self;

    (void)state;
    l->d = d;
    l->act = act_yield;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, thread_allocates, d),
                         0);
    for (unsigned i = 0; i < 100; i++)
        pair(ALQ_UNIT);
    self = alq_blocking_begin(d);
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(alq_blocking_end(self), ALQ_OK);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_alloc_minor, 100 * THREADS + 100);
    assert_int_equal(log_alive(l), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open, close_)
    const struct CMUnitTest tests[] = {
        TEST(values_are_roots_that_move),
        TEST(threads_of_a_domain_are_sampled),
        TEST(threads_switch_within_callbacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
