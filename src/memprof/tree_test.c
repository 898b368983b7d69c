/* tree_test.c -- thread trees, profiles side by side
 *
 * The engine's threads are states, so most tests run them all on one thread of
 * the system, in an order they choose.  Statistical bounds are eight standard
 * errors of a binomial with over a thousand successes: a false alarm in less
 * than 1e-14 of the runs, and the seeds are fixed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "kits/memprof/counting_tracker.h"

enum { CHILDREN = 3, SEEN = 12 };

static struct fake_thread child[CHILDREN];
static struct counted by[SEEN]; /* what each profile's callbacks saw */

static int
open_tree(void **state)
{
    memset(by, 0, sizeof by);
    for (unsigned i = 0; i < SEEN; i++)
        by[i].alloc_code = ALQ_TRACK_KEEP;
    return open_all(state);
}

static struct alq_tracker
tracker_of(unsigned i)
{
    struct alq_tracker t = counting_tracker;

    t.arg = &by[i];
    return t;
}

static enum alq_status
try_tree(struct fake_thread *f, unsigned i, double rate, unsigned flags,
         struct alq_profile **out)
{
    struct alq_memprof_config c = at_rate(rate);
    struct alq_tracker t = tracker_of(i);

    c.flags = flags;
    return fake_tree_start(f, &c, &t, out);
}

static struct alq_profile *
tree(struct fake_thread *f, unsigned i, double rate, unsigned flags)
{
    struct alq_profile *p = NULL;

    assert_int_equal(try_tree(f, i, rate, flags, &p), ALQ_OK);
    return p;
}

static struct alq_profile *
whole(unsigned i, double rate, enum alqi_memprof_slot slot, unsigned flags)
{
    struct alq_memprof_config c = at_rate(rate);
    struct alq_tracker t = tracker_of(i);
    struct alq_profile *p;

    c.flags = flags;
    assert_int_equal(alqi_memprof_start(heap.domain, &self.t, slot, &c, &t, &p),
                     ALQ_OK);
    return p;
}

/* As pthread_create does it. */
static void
create(struct fake_thread *f, const struct fake_thread *creator, uint64_t seed)
{
    struct alqi_memprof_trees trees;

    alqi_memprof_trees_copy(&creator->t, &trees);
    fake_thread_open_in(f, &heap, seed, &trees);
}

static void
use(struct fake_thread *f, unsigned n_blocks)
{
    for (unsigned i = 0; i < n_blocks; i++)
        fake_free(f, fake_malloc(f, i * 7 % 512));
}

static enum alq_status
stop(struct alq_profile *p)
{
    return alqi_memprof_profile_stop(&self.t, p);
}

static enum alq_status
discard(struct alq_profile *p)
{
    enum alq_status st = alqi_memprof_discard(&self.t, p);

    alqi_memprof_profile_drop(p);
    return st;
}

/* ---- who is covered ----------------------------------------------------- */

static void
a_tree_is_the_caller_and_what_it_creates(void **state) /* D1, D2, P10 */
{
    struct alq_profile *p;

    (void)state;
    create(&child[0], &self, 1); /* before: on its own */
    p = tree(&self, 0, 1.0, ALQ_MEMPROF_STRICT);
    create(&child[1], &self, 2);
    create(&child[2], &child[1], 3);
    self.words = 0;
    use(&self, 10);
    assert_int_equal(by[0].samples, self.words);
    use(&child[0], 10);
    assert_int_equal(by[0].samples, self.words);
    use(&child[1], 20);
    use(&child[2], 30);
    assert_int_equal(by[0].samples,
                     self.words + child[1].words + child[2].words);
    assert_int_equal(by[0].allocs, 60);
    assert_int_equal(by[0].deallocs, 60);
    assert_true(alqi_memprof_tree_is_sampling(&child[2].t));
    assert_false(alqi_memprof_tree_is_sampling(&child[0].t));
    assert_false(alqi_memprof_is_sampling(heap.domain, ALQI_MEMPROF_SLOT_USER));
    assert_int_equal(stop(p), ALQ_OK);
    use(&self, 10);
    use(&child[2], 10);
    assert_int_equal(by[0].allocs, 60);
    for (unsigned i = 0; i < CHILDREN; i++)
        fake_thread_close(&child[i]);
    assert_int_equal(discard(p), ALQ_OK);
}

static void
who_frees_does_not_matter(void **state)
{
    struct alq_profile *p;
    void *a, *b;

    (void)state;
    create(&child[0], &self, 1);
    p = tree(&self, 0, 1.0, 0);
    a = fake_malloc(&self, 10);
    b = fake_malloc(&self, 20);
    fake_free(&child[0], a); /* outside the tree */
    assert_int_equal(by[0].deallocs, 1);
    assert_int_equal(stop(p), ALQ_OK);
    fake_thread_close(&self);
    fake_free(&child[0], b); /* its thread has ended, its tree with it */
    assert_int_equal(by[0].deallocs, 2);
    fake_thread_open(&self, &heap, 4);
    fake_thread_close(&child[0]);
    assert_int_equal(discard(p), ALQ_OK);
}

static void
a_tree_ends_with_its_last_thread(void **state) /* P10 */
{
    struct alq_profile *p;
    void *block;

    (void)state;
    create(&child[0], &self, 1);
    p = tree(&child[0], 0, 1.0, 0);
    create(&child[1], &child[0], 2);
    fake_thread_close(&child[0]); /* before the one it created */
    block = fake_malloc(&child[1], 8);
    assert_int_equal(by[0].allocs, 1);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_ERUNNING);
    fake_thread_close(&child[1]);
    assert_int_equal(stop(p), ALQ_ENOTRUN);
    fake_free(&self, block); /* stopped, not discarded */
    assert_int_equal(by[0].deallocs, 1);
    assert_int_equal(discard(p), ALQ_OK);
}

static void
a_creation_under_way_counts(void **state) /* .inv.attached */
{
    struct alqi_memprof_trees trees;
    struct alq_memprof_counts n;
    struct alq_profile *p, *q;

    (void)state;
    create(&child[0], &self, 1);
    p = tree(&child[0], 0, 1.0, 0);
    q = tree(&child[0], 1, 1.0, ALQ_MEMPROF_BESIDE);
    assert_true(alqi_memprof_trees_copy(&child[0].t, &trees));
    assert_int_equal(trees.n, 2);
    fake_thread_close(&child[0]);
    assert_int_equal(alqi_memprof_discard(&self.t, p), ALQ_ERUNNING);
    alqi_memprof_trees_drop(&self.t, &trees, true);
    alqi_memprof_counts(q, &n);
    assert_int_equal(n.dropped_nomem, 1);
    assert_int_equal(discard(p), ALQ_OK);
    assert_int_equal(discard(q), ALQ_OK);
    assert_false(alqi_memprof_trees_copy(&self.t, &trees));
}

/* ---- start, stop, busy -------------------------------------------------- */

static void
a_thread_has_one_of_its_own(void **state) /* P1, P2 */
{
    struct alq_profile *p = tree(&self, 0, 1.0, ALQ_MEMPROF_STRICT), *q, *r;

    (void)state;
    create(&child[0], &self, 1);
    q = p;
    assert_int_equal(try_tree(&child[0], 1, 1.0, ALQ_MEMPROF_STRICT, &q),
                     ALQ_EBUSY);
    assert_ptr_equal(q, p);
    q = tree(&child[0], 1, 1.0, 0); /* moves: p goes on elsewhere */
    use(&child[0], 5);
    use(&self, 3);
    assert_int_equal(by[0].allocs, 3);
    assert_int_equal(by[1].allocs, 5);
    r = tree(&child[0], 2, 1.0, 0); /* nobody else has q: it is stopped */
    assert_int_equal(stop(q), ALQ_ENOTRUN);
    use(&child[0], 7);
    assert_int_equal(by[1].allocs, 5);
    assert_int_equal(by[2].allocs, 7);
    fake_thread_close(&child[0]);
    assert_int_equal(fake_tree_stop(&self), ALQ_OK);
    assert_int_equal(discard(p), ALQ_OK);
    assert_int_equal(discard(q), ALQ_OK);
    assert_int_equal(discard(r), ALQ_OK);
}

static void
any_thread_of_a_tree_stops_it_for_all(void **state) /* D3, P9 */
{
    struct alq_profile *p = tree(&self, 0, 1.0, ALQ_MEMPROF_STRICT), *q;

    (void)state;
    create(&child[0], &self, 1);
    create(&child[1], &child[0], 2);
    use(&self, 1);
    use(&child[0], 1);
    assert_int_equal(fake_tree_stop(&child[1]), ALQ_OK);
    assert_int_equal(fake_tree_stop(&child[1]), ALQ_ENOTRUN);
    assert_int_equal(fake_tree_stop(&self), ALQ_ENOTRUN);
    use(&self, 10);
    use(&child[0], 10);
    assert_int_equal(by[0].allocs, 2);
    /* they have let go of it, and draw no skips by its rate any more */
    assert_int_equal(child[0].t.armed.n_clients, 0);
    assert_int_equal(child[0].t.trees.n + self.t.trees.n, 0);
    q = tree(&child[0], 1, 1.0, ALQ_MEMPROF_STRICT); /* not busy any more */
    use(&self, 10);
    use(&child[0], 4);
    assert_int_equal(by[1].allocs, 4);
    assert_int_equal(stop(q), ALQ_OK); /* from outside */
    use(&child[0], 4);
    assert_int_equal(by[1].allocs, 4);
    fake_thread_close(&child[0]);
    fake_thread_close(&child[1]);
    assert_int_equal(discard(p), ALQ_OK);
    assert_int_equal(discard(q), ALQ_OK);
}

static void
those_beside_are_as_many_as_notified(void **state)
{
    struct alq_profile *p[ALQ_MEMPROF_BESIDE_MAX + 1], *own, *more = NULL;
    const unsigned beside = ALQ_MEMPROF_BESIDE | ALQ_MEMPROF_STRICT;
    struct alqi_memprof_trees trees;

    (void)state;
    for (unsigned i = 0; i < ALQ_MEMPROF_BESIDE_MAX; i++)
        p[i] = tree(&self, i, 1.0, beside);
    assert_int_equal(try_tree(&self, 0, 1.0, beside, &more), ALQ_EBUSY);
    own = tree(&self, 8, 1.0, ALQ_MEMPROF_STRICT); /* always room for it */
    assert_int_equal(try_tree(&self, 0, 1.0, beside, &more), ALQ_EBUSY);
    assert_null(more);
    use(&self, 3);
    for (unsigned i = 0; i <= ALQ_MEMPROF_BESIDE_MAX; i++)
        assert_int_equal(by[i].allocs, 3);
    assert_true(alqi_memprof_trees_copy(&self.t, &trees));
    fake_thread_open_in(&child[0], &heap, 1, &trees);
    use(&child[0], 4);
    for (unsigned i = 0; i <= ALQ_MEMPROF_BESIDE_MAX; i++)
        assert_int_equal(by[i].allocs, 7);
    assert_int_equal(stop(p[3]), ALQ_OK);
    p[8] = tree(&child[0], 9, 1.0, beside); /* here there is room again */
    use(&child[0], 1);
    assert_int_equal(by[3].allocs, 7);
    assert_int_equal(by[9].allocs, 1);
    assert_int_equal(fake_tree_stop(&self), ALQ_OK); /* those beside go on */
    assert_int_equal(fake_tree_stop(&self), ALQ_ENOTRUN);
    use(&self, 1);
    assert_int_equal(by[0].allocs, 9);
    fake_thread_close(&child[0]); /* it alone had p[8] */
    assert_int_equal(stop(p[8]), ALQ_ENOTRUN);
    for (unsigned i = 0; i <= ALQ_MEMPROF_BESIDE_MAX; i++) {
        (void)stop(p[i]);
        assert_int_equal(discard(p[i]), ALQ_OK);
    }
    assert_int_equal(discard(own), ALQ_OK);
}

static void
a_domain_has_those_beside_its_own_too(void **state)
{
    struct alq_profile *p[ALQ_MEMPROF_BESIDE_MAX], *own;
    struct alq_memprof_config c = at_rate(1.0);
    struct alq_tracker t = tracker_of(9);

    (void)state;
    c.flags |= ALQ_MEMPROF_BESIDE;
    for (unsigned i = 0; i < ALQ_MEMPROF_BESIDE_MAX; i++)
        p[i] = whole(i, 1.0, ALQI_MEMPROF_SLOT_USER, ALQ_MEMPROF_BESIDE);
    own = NULL;
    assert_int_equal(fake_start(&self, &c, &t, &own), ALQ_EBUSY);
    assert_null(own);
    assert_false(alqi_memprof_is_sampling(heap.domain, ALQI_MEMPROF_SLOT_USER));
    assert_int_equal(fake_stop(&self), ALQ_ENOTRUN);
    own = whole(8, 1.0, ALQI_MEMPROF_SLOT_USER, ALQ_MEMPROF_STRICT);
    create(&child[0], &self, 1);
    use(&child[0], 3);
    assert_int_equal(stop(p[5]), ALQ_OK);
    assert_int_equal(stop(p[5]), ALQ_ENOTRUN);
    use(&self, 2);
    for (unsigned i = 0; i < ALQ_MEMPROF_BESIDE_MAX; i++) {
        assert_int_equal(by[i].allocs, i == 5 ? 3 : 5);
        if (i != 5)
            assert_int_equal(stop(p[i]), ALQ_OK);
        assert_int_equal(discard(p[i]), ALQ_OK);
    }
    assert_int_equal(stop(own), ALQ_OK);
    assert_false(alqi_memprof_is_sampling(heap.domain, ALQI_MEMPROF_SLOT_USER));
    assert_int_equal(discard(own), ALQ_OK);
    fake_thread_close(&child[0]);
}

static struct alq_profile *started_inside;

static int
alloc_that_nests(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    if (started_inside == NULL)
        started_inside = tree(&self, 1, 1.0, ALQ_MEMPROF_BESIDE);
    return counting_alloc(arg, a, data);
}

static void
a_tree_may_start_within_a_callback(void **state) /* K10 */
{
    struct alq_memprof_config c = at_rate(1.0);
    struct alq_tracker t = tracker_of(0);
    struct alq_profile *p;
    void *block;

    (void)state;
    started_inside = NULL;
    t.alloc_major = alloc_that_nests;
    assert_int_equal(fake_tree_start(&self, &c, &t, &p), ALQ_OK);
    block = fake_malloc(&self, 10); /* p's alone: it was sampled before */
    assert_int_equal(by[0].allocs, 1);
    assert_int_equal(by[1].allocs, 0);
    fake_free(&self, block);
    use(&self, 4);
    assert_int_equal(by[0].allocs, 5);
    assert_int_equal(by[1].allocs, 4);
    assert_int_equal(stop(p), ALQ_OK);
    assert_int_equal(stop(started_inside), ALQ_OK);
    assert_int_equal(discard(p), ALQ_OK);
    assert_int_equal(discard(started_inside), ALQ_OK);
}

static void
stop_runs_what_the_caller_owes(void **state) /* P3 */
{
    struct alq_profile *p =
        tree(&self, 0, 1.0, ALQ_MEMPROF_DEFER | ALQ_MEMPROF_BESIDE);
    void *a = fake_malloc(&self, 10);
    int code = 0;

    (void)state;
    assert_int_equal(by[0].allocs, 0);
    by[0].alloc_code = -3;
    assert_int_equal(stop(p), ALQ_ECALLBACK);
    assert_int_equal(by[0].allocs, 1);
    assert_int_equal(alqi_memprof_flush(&self.t, &code), ALQ_ECALLBACK);
    assert_int_equal(code, -3);
    assert_int_equal(stop(p), ALQ_ENOTRUN);
    fake_free(&self, a);
    assert_int_equal(discard(p), ALQ_OK);
}

/* ---- the dist ------------------------------------------------------------ */

static void
check_distribution(const struct counted *s, double words, double rate)
{
    double sd = sqrt(words * rate * (1 - rate));

    assert_true(words * rate > 1000);
    assert_true(fabs((double)s->samples - words * rate) <= 8 * sd);
    assert_int_equal(s->allocs, s->deallocs);
}

/* The process by the user's, one beside it and the recorder's; in it a tree,
 * in that another, in that one at ratio 1. */
static void
each_of_many_gets_its_own_distribution(void **state) /* DESIGN decision 10 */
{
    static const double rate[7] = {0.01, 0.03, 0.002, 0.05, 0.2, 1.0, 0.004};
    struct alq_profile *p[7];
    double words[7] = {0};

    (void)state;
    p[0] = whole(0, rate[0], ALQI_MEMPROF_SLOT_USER, 0);
    p[1] = whole(1, rate[1], ALQI_MEMPROF_SLOT_USER, ALQ_MEMPROF_BESIDE);
    p[2] = whole(2, rate[2], ALQI_MEMPROF_SLOT_RECORDER, 0);
    p[3] = tree(&self, 3, rate[3], 0);
    create(&child[0], &self, 11);
    p[4] = tree(&child[0], 4, rate[4], ALQ_MEMPROF_BESIDE);
    create(&child[1], &child[0], 12);
    p[5] = tree(&child[1], 5, rate[5], ALQ_MEMPROF_BESIDE);
    p[6] = tree(&child[1], 6, rate[6], ALQ_MEMPROF_BESIDE);
    fake_thread_open(&child[2], &heap, 13); /* in no tree */
    self.words = 0;
    for (unsigned i = 0; i < 500; i++) {
        use(&self, 30);
        use(&child[0], 50);
        use(&child[1], 70);
        use(&child[2], 20);
    }
    words[5] = words[6] = (double)child[1].words;
    words[4] = words[5] + (double)child[0].words;
    words[3] = words[4] + (double)self.words;
    words[0] = words[1] = words[2] = words[3] + (double)child[2].words;
    for (unsigned i = 0; i < 7; i++)
        if (i != 5)
            check_distribution(&by[i], words[i], rate[i]);
    assert_int_equal(by[5].samples, child[1].words);
    assert_int_equal(by[5].allocs, 35000);
    for (unsigned i = 0; i < 7; i++) {
        assert_int_equal(stop(p[i]), ALQ_OK);
        assert_int_equal(discard(p[i]), ALQ_OK);
    }
    for (unsigned i = 0; i < CHILDREN; i++)
        fake_thread_close(&child[i]);
}

/* Blocks of one word: what a lower rate samples the highest samples, too, and
 * of two lower ones each takes its own of it by chance. */
static void
lower_rates_take_of_the_highest(void **state) /* thinning */
{
    enum { BLOCKS = 100000 };
    static const double rate[3] = {0.3, 0.1, 0.05};
    double both = 0, joint = rate[1] * rate[2] / rate[0];
    struct alq_profile *p[3];

    (void)state;
    for (unsigned i = 0; i < 3; i++)
        p[i] = tree(&self, i, rate[i], ALQ_MEMPROF_BESIDE);
    for (unsigned i = 0; i < BLOCKS; i++) {
        uint64_t was[3] = {by[0].allocs, by[1].allocs, by[2].allocs};

        fake_free(&self, fake_malloc(&self, 0)); /* the header word alone */
        if (by[0].allocs == was[0])
            assert_int_equal(by[1].allocs + by[2].allocs, was[1] + was[2]);
        both += by[1].allocs != was[1] && by[2].allocs != was[2];
    }
    for (unsigned i = 0; i < 3; i++)
        check_distribution(&by[i], BLOCKS, rate[i]);
    assert_true(fabs(both - BLOCKS * joint) <=
                8 * sqrt(BLOCKS * joint * (1 - joint)));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(stop(p[i]), ALQ_OK);
        assert_int_equal(discard(p[i]), ALQ_OK);
    }
}

static void
trees_that_come_and_go_bias_nobody(void **state) /* .inv.armed */
{
    const double rate = 0.02;
    struct alq_profile *q = whole(0, rate, ALQI_MEMPROF_SLOT_RECORDER, 0);
    struct alq_profile *r = tree(&self, 1, rate, 0);

    (void)state;
    self.words = 0;
    for (unsigned i = 0; i < 4000; i++) {
        struct alq_profile *p =
            tree(&self, 2, i % 2 ? 0.5 : 0.001, ALQ_MEMPROF_BESIDE);

        use(&self, 10);
        assert_int_equal(stop(p), ALQ_OK);
        use(&self, 10);
        assert_int_equal(discard(p), ALQ_OK);
    }
    check_distribution(&by[0], (double)self.words, rate);
    check_distribution(&by[1], (double)self.words, rate);
    assert_int_equal(stop(q), ALQ_OK);
    assert_int_equal(stop(r), ALQ_OK);
    assert_int_equal(discard(q), ALQ_OK);
    assert_int_equal(discard(r), ALQ_OK);
}

/* ---- fork --------------------------------------------------------------- */

/* child[0] is not in the forked process; p is its tree, q is both threads'. */
static void
child_of_two(bool prepared, struct alq_profile *p, struct alq_profile *q,
             void *block)
{
    uint64_t before = by[1].allocs;

    if (prepared) {
        alqi_memprof_fork_child();
        self.t.mode = ALQI_MEMPROF_IDLE;
        alqi_memprof_thread_end(&child[0].t);
        fake_free(&self, block);
        if (by[0].deallocs != 1)
            _exit(1);
    } else {
        alqi_memprof_fork_child_unprepared(&self.t);
    }
    if (stop(p) != ALQ_ENOTRUN) /* its last thread is not here */
        _exit(2);
    use(&self, 3);
    if (by[1].allocs != before + 3)
        _exit(3);
    if (fake_tree_stop(&self) != ALQ_OK || stop(q) != ALQ_ENOTRUN)
        _exit(4);
    _exit(0);
}

static void
fork_with(bool prepared)
{
    struct alq_profile *q = tree(&self, 1, 1.0, 0), *p;
    void *block;
    pid_t pid;
    int status;

    create(&child[0], &self, 1);
    p = tree(&child[0], 0, 1.0, ALQ_MEMPROF_BESIDE);
    block = fake_malloc(&child[0], 10);
    self.t.mode = ALQI_MEMPROF_INSIDE;
    if (prepared)
        alqi_memprof_fork_prepare();
    else
        self.t.mode = ALQI_MEMPROF_IDLE;
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        child_of_two(prepared, p, q, block);
    if (prepared)
        alqi_memprof_fork_parent();
    self.t.mode = ALQI_MEMPROF_IDLE;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    fake_free(&self, block);
    fake_thread_close(&child[0]);
    assert_int_equal(stop(p), ALQ_ENOTRUN);
    assert_int_equal(stop(q), ALQ_OK);
    assert_int_equal(discard(p), ALQ_OK);
    assert_int_equal(discard(q), ALQ_OK);
}

static void
a_forked_child_has_its_threads_trees(void **state)
{
    (void)state;
    fork_with(true);
}

static void
an_unprepared_child_has_them_too(void **state)
{
    (void)state;
    fork_with(false);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_tree, close_all)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_is_the_caller_and_what_it_creates),
        TEST(who_frees_does_not_matter),
        TEST(a_tree_ends_with_its_last_thread),
        TEST(a_creation_under_way_counts),
        TEST(a_thread_has_one_of_its_own),
        TEST(any_thread_of_a_tree_stops_it_for_all),
        TEST(those_beside_are_as_many_as_notified),
        TEST(a_domain_has_those_beside_its_own_too),
        TEST(a_tree_may_start_within_a_callback),
        TEST(stop_runs_what_the_caller_owes),
        TEST(each_of_many_gets_its_own_distribution),
        TEST(lower_rates_take_of_the_highest),
        TEST(trees_that_come_and_go_bias_nobody),
        TEST(a_forked_child_has_its_threads_trees),
        TEST(an_unprepared_child_has_them_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
