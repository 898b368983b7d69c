/* clients_test.c -- several clients, threads, deferral, fork
 *
 * Names in brackets are the scenarios of spec statmemprof section 6. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "memprof/filter.h"
#include "kits/memprof/counting_tracker.h"

/* ---- clients ------------------------------------------------------------ */

static void
two_clients_each_get_their_own_distribution(
    void **state) /* DESIGN decision 10 */
{
    static struct counted other;
    struct alq_tracker t = counting_tracker;
    struct alq_memprof_config c = at_rate(0.02);
    struct alq_profile *p, *q;
    double words, sd;

    (void)state;
    memset(&other, 0, sizeof other);
    other.alloc_code = ALQ_TRACK_KEEP;
    t.arg = &other;
    p = begin(0.05);
    assert_int_equal(alqi_memprof_start(heap.domain, &self.t,
                                        ALQI_MEMPROF_SLOT_RECORDER, &c, &t, &q),
                     ALQ_OK);
    self.words = 0;
    for (unsigned i = 0; i < 200000; i++)
        fake_free(&self, fake_malloc(&self, i % 512));
    words = (double)self.words;
    sd = sqrt(words * 0.05 * 0.95);
    assert_true(fabs((double)counted.samples - words * 0.05) < 8 * sd);
    sd = sqrt(words * 0.02 * 0.98);
    assert_true(fabs((double)other.samples - words * 0.02) < 8 * sd);
    assert_int_equal(counted.allocs, counted.deallocs);
    assert_int_equal(other.allocs, other.deallocs);
    /* the faster one stops: the other's dist goes on at its own rate */
    assert_int_equal(fake_stop(&self), ALQ_OK);
    other.samples = 0;
    self.words = 0;
    for (unsigned i = 0; i < 200000; i++)
        fake_free(&self, fake_malloc(&self, i % 512));
    words = (double)self.words;
    sd = sqrt(words * 0.02 * 0.98);
    assert_true(fabs((double)other.samples - words * 0.02) < 8 * sd);
    assert_int_equal(
        alqi_memprof_stop(heap.domain, &self.t, ALQI_MEMPROF_SLOT_RECORDER),
        ALQ_OK);
    alqi_memprof_profile_drop(p);
    alqi_memprof_profile_drop(q);
}

static void
churning_a_client_does_not_bias_another(void **state)
{
    static struct counted other;
    struct alq_tracker t = counting_tracker;
    struct alq_memprof_config c = at_rate(0.02);
    struct alq_profile *q;
    double words, sd;

    (void)state;
    memset(&other, 0, sizeof other);
    t.arg = &other;
    assert_int_equal(alqi_memprof_start(heap.domain, &self.t,
                                        ALQI_MEMPROF_SLOT_RECORDER, &c, &t, &q),
                     ALQ_OK);
    self.words = 0;
    for (unsigned i = 0; i < 20000; i++) {
        struct alq_profile *p = begin(i % 2 ? 0.5 : 0.001);

        for (unsigned j = 0; j < 10; j++)
            fake_free(&self, fake_malloc(&self, 8));
        assert_int_equal(fake_stop(&self), ALQ_OK);
        for (unsigned j = 0; j < 10; j++)
            fake_free(&self, fake_malloc(&self, 8));
        assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_OK);
        alqi_memprof_profile_drop(p);
    }
    words = (double)self.words;
    sd = sqrt(words * 0.02 * 0.98);
    assert_true(fabs((double)other.samples - words * 0.02) < 8 * sd);
    assert_int_equal(
        alqi_memprof_stop(heap.domain, &self.t, ALQI_MEMPROF_SLOT_RECORDER),
        ALQ_OK);
    alqi_memprof_profile_drop(q);
}

static int
alloc_that_stops_the_recorder(void *arg, const struct alq_allocation *a,
                              uintptr_t *data)
{
    assert_int_equal(
        alqi_memprof_stop(heap.domain, &self.t, ALQI_MEMPROF_SLOT_RECORDER),
        ALQ_OK);
    return counting_alloc(arg, a, data);
}

static void
a_client_stopped_by_another_is_not_notified(void **state)
{
    static struct counted other;
    struct alq_tracker t = counting_tracker, u = counting_tracker;
    struct alq_memprof_config c = at_rate(1.0);
    struct alq_profile *p, *q;
    void *a;

    (void)state;
    memset(&other, 0, sizeof other);
    other.alloc_code = ALQ_TRACK_KEEP;
    t.alloc_major = alloc_that_stops_the_recorder;
    u.arg = &other;
    assert_int_equal(fake_start(&self, &c, &t, &p), ALQ_OK);
    assert_int_equal(alqi_memprof_start(heap.domain, &self.t,
                                        ALQI_MEMPROF_SLOT_RECORDER, &c, &u, &q),
                     ALQ_OK);
    a = fake_malloc(&self, 10);
    assert_int_equal(counted.allocs, 1);
    assert_int_equal(other.allocs, 0);
    fake_free(&self, a);
    assert_int_equal(counted.deallocs, 1);
    assert_int_equal(other.deallocs, 0);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
    alqi_memprof_profile_drop(q);
}

/* ---- threads ------------------------------------------------------------ */

static int
alloc_that_exits(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)a;
    (void)data;
    pthread_exit(NULL);
}

static void
close_thread(void *arg)
{
    struct fake_thread *f = arg;

    fake_thread_close(f);
    free(f->in_hand); /* the block that malloc did not get to return */
}

static void *
exiting_thread(void *arg)
{
    static struct fake_thread f;

    (void)arg;
    fake_thread_open(&f, &heap, 3);
    pthread_cleanup_push(close_thread, &f);
    fake_malloc(&f, 10);
    abort(); /* not reached */
    pthread_cleanup_pop(1);
    return NULL;
}

static void
a_callback_may_end_its_thread(void **state) /* [A23] */
{
    struct alq_tracker t = counting_tracker;
    struct alq_memprof_config c = at_rate(1.0);
    struct alq_memprof_counts n;
    struct alq_profile *p;
    pthread_t id;

    (void)state;
    t.alloc_major = alloc_that_exits;
    assert_int_equal(fake_start(&self, &c, &t, &p), ALQ_OK);
    assert_int_equal(pthread_create(&id, NULL, exiting_thread, NULL), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.live_entries, 0);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

/* ---- deferral ----------------------------------------------------------- */

static struct alq_profile *
begin_deferred(void)
{
    struct alq_memprof_config c = at_rate(1.0);

    c.flags |= ALQ_MEMPROF_DEFER;
    return begin_with(&c);
}

static void
deferred_callbacks_wait_for_flush(void **state) /* [A19], [X7] */
{
    struct alq_profile *p = begin_deferred();
    void *a = fake_malloc(&self, 10), *b = fake_malloc(&self, 20);

    (void)state;
    fake_free(&self, a); /* before its alloc callback: E6 */
    assert_int_equal(counted.allocs + counted.deallocs, 0);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.allocs, 2);
    assert_int_equal(counted.deallocs, 1);
    assert_int_equal(counted.n_frames, FAKE_DEPTH);
    assert_int_equal(counted.last_frame, FAKE_FRAME + FAKE_DEPTH - 1);
    fake_free(&self, b);
    assert_int_equal(counted.deallocs, 1);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.deallocs, 2);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
stop_runs_the_callers_alloc_callbacks(void **state) /* P3, [X6] */
{
    struct alq_profile *p = begin_deferred();
    void *a = fake_malloc(&self, 10);
    int code = 0;

    (void)state;
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(counted.allocs, 1);
    fake_free(&self, a);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.deallocs, 1);
    alqi_memprof_profile_drop(p);

    p = begin_deferred();
    a = fake_malloc(&self, 10);
    counted.alloc_code = -5;
    assert_int_equal(fake_stop(&self), ALQ_ECALLBACK);
    assert_false(alqi_memprof_is_sampling(heap.domain, ALQI_MEMPROF_SLOT_USER));
    assert_int_equal(fake_stop(&self), ALQ_ENOTRUN);
    assert_int_equal(alqi_memprof_flush(&self.t, &code), ALQ_ECALLBACK);
    assert_int_equal(code, -5);
    fake_free(&self, a);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.deallocs, 1);
    alqi_memprof_profile_drop(p);
}

static void *
thread_that_owes(void *arg)
{
    static struct fake_thread f;
    void **out = arg;

    fake_thread_open(&f, &heap, 3);
    out[0] = fake_malloc(&f, 10);
    assert_int_equal(alqi_memprof_flush(&f.t, NULL), ALQ_OK);
    fake_free(&f, out[0]); /* its dealloc is owed */
    out[0] = NULL;
    out[1] = fake_malloc(&f, 10); /* its alloc is owed */
    fake_thread_close(&f);
    return NULL;
}

static void
an_ending_thread_hands_over(void **state) /* T2, T3 */
{
    struct alq_profile *p = begin_deferred();
    struct alq_memprof_counts n;
    void *out[2];
    pthread_t id;

    (void)state;
    assert_int_equal(pthread_create(&id, NULL, thread_that_owes, out), 0);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(counted.allocs, 1);
    assert_int_equal(counted.deallocs, 0);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.deallocs, 1);
    fake_free(&self, out[1]);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.allocs, 1);
    assert_int_equal(counted.deallocs, 1);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.live_entries, 0);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

/* ---- fork --------------------------------------------------------------- */

static void
check_child(bool prepared, void *block)
{
    void *b;

    if (prepared)
        fake_free(&self, block); /* tracked in the child, too */
    if (counted.deallocs != (prepared ? 1 : 0))
        _exit(1);
    b = fake_malloc(&self, 10);
    if (counted.allocs != 2)
        _exit(2);
    fake_free(&self, b);
    if (counted.deallocs != (prepared ? 2 : 1))
        _exit(3);
    if (fake_stop(&self) != ALQ_OK)
        _exit(4);
    _exit(0);
}

static void
fork_with(bool prepared)
{
    struct alq_profile *p = begin(1.0);
    void *block = fake_malloc(&self, 10);
    pid_t pid;
    int status;

    if (prepared) {
        self.t.mode = ALQI_MEMPROF_INSIDE;
        alqi_memprof_fork_prepare();
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (prepared) {
            alqi_memprof_fork_child();
            self.t.mode = ALQI_MEMPROF_IDLE;
        } else {
            alqi_memprof_fork_child_unprepared(&self.t);
        }
        check_child(prepared, block);
    }
    if (prepared) {
        alqi_memprof_fork_parent();
        self.t.mode = ALQI_MEMPROF_IDLE;
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    fake_free(&self, block);
    assert_int_equal(counted.deallocs, 1);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    alqi_memprof_profile_drop(p);
}

static void
a_forked_child_goes_on(void **state)
{
    (void)state;
    fork_with(true);
}

static void
an_unprepared_child_starts_afresh(void **state)
{
    (void)state;
    fork_with(false);
}

/* ---- a thread that is not in the child ---------------------------------- */

static struct fake_thread lost;
static pthread_barrier_t barrier;

static void *
thread_that_stays_behind(void *arg)
{
    void **out = arg;

    fake_thread_open(&lost, &heap, 3);
    out[0] = fake_malloc(&lost, 10); /* its alloc callback is owed */
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    assert_int_equal(alqi_memprof_flush(&lost.t, NULL), ALQ_OK);
    fake_thread_close(&lost);
    return NULL;
}

static void
child_of_two_threads(struct alq_profile *p, void *block)
{
    struct alq_memprof_counts n;

    alqi_memprof_fork_child();
    self.t.mode = ALQI_MEMPROF_IDLE;
    alqi_memprof_thread_end(&lost.t);
    alqi_memprof_counts(p, &n);
    if (n.live_entries != 0) /* the callback cannot run any more */
        _exit(1);
    fake_free(&self, block);
    block = fake_malloc(&self, 10);
    fake_free(&self, block);
    if (alqi_memprof_flush(&self.t, NULL) != ALQ_OK)
        _exit(2);
    if (counted.allocs != 1 || counted.deallocs != 1)
        _exit(3);
    _exit(0);
}

static void
a_child_ends_threads_that_are_not_there(void **state)
{
    struct alq_profile *p = begin_deferred();
    pthread_t id;
    void *out[1];
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
    assert_int_equal(pthread_create(&id, NULL, thread_that_stays_behind, out),
                     0);
    pthread_barrier_wait(&barrier);
    self.t.mode = ALQI_MEMPROF_INSIDE;
    alqi_memprof_fork_prepare();
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child_of_two_threads(p, out[0]);
    alqi_memprof_fork_parent();
    self.t.mode = ALQI_MEMPROF_IDLE;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    pthread_barrier_wait(&barrier);
    assert_int_equal(pthread_join(id, NULL), 0);
    assert_int_equal(counted.allocs, 1);
    fake_free(&self, out[0]);
    assert_int_equal(fake_stop(&self), ALQ_OK);
    assert_int_equal(alqi_memprof_flush(&self.t, NULL), ALQ_OK);
    assert_int_equal(counted.deallocs, 1);
    alqi_memprof_profile_drop(p);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_all, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_clients_each_get_their_own_distribution),
        TEST(churning_a_client_does_not_bias_another),
        TEST(a_client_stopped_by_another_is_not_notified),
        TEST(a_callback_may_end_its_thread),
        TEST(deferred_callbacks_wait_for_flush),
        TEST(stop_runs_the_callers_alloc_callbacks),
        TEST(an_ending_thread_hands_over),
        TEST(a_forked_child_goes_on),
        TEST(an_unprepared_child_starts_afresh),
        TEST(a_child_ends_threads_that_are_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
