/* profile_domains_test.c -- profiles of several domains, and of their heap */
#include <pthread.h>

#include "gc_kit.h"
#include "profile_kit.h"

#define MUST(e)                                                                \
    ((e) ? (void)0 : alqi_base_fail(__FILE__, __LINE__, #e)) /* any thread */

enum { STEPS = IS_HARD ? 100 : 3000 };

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
    if (p != NULL) {
        alq_profile_stop(p);
        alq_memprof_discard(p);
    }
    alq_profile_drop(p);
    teardown(state);
    assert_int_equal(log_alive(l), 0); /* .inv.datum */
    free(l);
    return 0;
}

static alq_value
run(alq_domain_fn *fn, alq_value arg, void *data)
{
    struct alq_child *child;
    alq_value result;

    assert_int_equal(alq_domain_spawn(d, fn, arg, data, NULL, &child), ALQ_OK);
    assert_int_equal(alq_domain_join(d, child, &result), ALQ_OK);
    alq_child_drop(child);
    return result;
}

static alq_value
pair(struct alq_domain *of, alq_value tail)
{
    ALQ_FRAME(of, f, tail);
    alq_value v;

    f.tail = tail;
    v = alq_alloc(of, 2, 0);
    MUST(!alq_is_null(v));
    alq_init(of, v, 1, f.tail);
    return v;
}

/* ---- who samples -------------------------------------------------------- */

static alq_value
allocate(struct alq_domain *of, alq_value arg, void *data)
{
    (void)data;
    for (unsigned i = 0; i < 100; i++)
        MUST(!alq_is_null(alq_alloc_small(of, 3, 252)));
    return arg;
}

static alq_value
spawn_one(struct alq_domain *of, alq_value arg, void *data)
{
    struct alq_child *child;

    allocate(of, arg, data);
    MUST(alq_domain_spawn(of, allocate, arg, data, NULL, &child) == ALQ_OK);
    MUST(alq_domain_join(of, child, NULL) == ALQ_OK);
    alq_child_drop(child);
    return arg;
}

static void
children_inherit(void **state)
{
    (void)state;
    run(spawn_one, ALQ_UNIT, NULL);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    run(spawn_one, ALQ_UNIT, NULL);
    assert_int_equal(l->n_words, 800);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    run(spawn_one, ALQ_UNIT, NULL);
    assert_int_equal(l->n_words, 800);
}

/* The draws of a child are its own. */
static void
children_do_not_replay_their_parents(void **state)
{
    enum { CHILDREN = 8 };
    uint64_t words[CHILDREN], n = 0;

    (void)state;
    p = log_start(l, d, 0.1, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < CHILDREN; i++) {
        words[i] = l->n_words;
        for (unsigned k = 0; k < 10; k++)
            run(allocate, ALQ_UNIT, NULL);
        words[i] = l->n_words - words[i];
    }
    for (unsigned i = 1; i < CHILDREN; i++)
        n += words[i] != words[0];
    /* 400 of 4000 words each, sd 19: two are equal with probability 0.015, all
     * with less than 1e-12 */
    assert_true(n > 0);
}

/* X9 */
static struct log *own_log;

static alq_value
stop_and_start_own(struct alq_domain *of, alq_value arg, void *data)
{
    struct alq_profile *own;

    MUST(alq_memprof_is_sampling(of));
    allocate(of, arg, data);
    MUST(alq_memprof_stop(of) == ALQ_OK);
    allocate(of, arg, data);
    own = log_start(own_log, of, 1.0, ALQ_MEMPROF_STRICT);
    allocate(of, arg, data);
    MUST(alq_memprof_stop(of) == ALQ_OK);
    MUST(alq_memprof_discard(own) == ALQ_OK);
    alq_profile_drop(own);
    return arg;
}

static void
a_child_stops_it_for_all(void **state)
{
    (void)state;
    own_log = log_new();
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    run(stop_and_start_own, ALQ_UNIT, NULL);
    assert_int_equal(l->n_words, 400);
    assert_int_equal(own_log->n_words, 400);
    allocate(d, ALQ_UNIT, NULL); /* its trigger is still armed (X4) */
    assert_int_equal(l->n_words, 400);
    assert_int_equal(alq_memprof_is_sampling(d), 0);
    assert_int_equal(alq_memprof_stop(d), ALQ_ENOTRUN);
    assert_int_equal(log_alive(own_log), 0);
    free(own_log);
}

/* X5: the one that samples has ended. */
static alq_value
start_and_end(struct alq_domain *of, alq_value arg, void *data)
{
    *(struct alq_profile **)data = log_start(l, of, 1.0, ALQ_MEMPROF_STRICT);
    allocate(of, arg, data);
    return arg;
}

static void
the_last_domain_stops_it(void **state)
{
    struct alq_profile *q = NULL;

    (void)state;
    run(start_and_end, ALQ_UNIT, &q);
    assert_int_equal(alq_memprof_is_sampling(d), 0);
    assert_int_equal(alq_profile_stop(q), ALQ_ENOTRUN);
    assert_int_equal(alq_memprof_discard(q), ALQ_OK);
    alq_profile_drop(q);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_words, 400);
    assert_int_equal(log_alive(l), 0);
}

/* ---- entries of domains that have ended --------------------------------- */

static alq_value
make_list(struct alq_domain *of, alq_value arg, void *data)
{
    ALQ_FRAME(of, f, list);

    f.list = arg;
    for (unsigned i = 0; i < *(unsigned *)data; i++) {
        f.list = pair(of, f.list);
        pair(of, ALQ_UNIT);
    }
    return f.list;
}

/* X11 */
static void
what_a_domain_leaves_is_adopted(void **state)
{
    unsigned n = 50;
    ALQ_FRAME(d, f, list);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.list = run(make_list, ALQ_UNIT, &n);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_alloc_minor, 100);
    assert_int_equal(l->n_promote, 50);
    assert_int_equal(l->n_dealloc_minor, 50);
    assert_int_equal(alq_gc_compact(d), ALQ_OK);
    assert_int_equal(log_alive(l), 50);
    f.list = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_dealloc_major, 50);
}

/* X1: alive by another domain alone. */
static struct alq_global box; /* a block of STEPS fields */

static alq_value
producer(struct alq_domain *of, alq_value arg, void *data)
{
    uint32_t *n = data;

    for (uint32_t i = 0; i < STEPS; i++) {
        alq_store(of, box.value, i, pair(of, ALQ_UNIT));
        __atomic_store_n(n, i + 1, __ATOMIC_RELEASE);
        if (i % 100 == 99)
            MUST(alq_gc_minor(of) == ALQ_OK);
    }
    return arg;
}

static alq_value
consumer(struct alq_domain *of, alq_value arg, void *data)
{
    ALQ_FRAME(of, f, all);
    uint32_t *n = data;

    f.all = arg;
    for (uint32_t i = 0; i < STEPS; i++) {
        while (__atomic_load_n(n, __ATOMIC_ACQUIRE) <= i)
            alq_poll(of);
        alq_store(of, f.all, i, alq_field(box.value, i));
        alq_store(of, box.value, i, ALQ_UNIT);
    }
    return f.all;
}

static void
a_block_lives_by_another_domain(void **state)
{
    struct alq_child *a, *b;
    ALQ_FRAME(d, f, all);
    uint32_t n = 0;
    alq_value result;

    (void)state;
    box.value = alq_alloc(d, STEPS, 0);
    assert_int_equal(alq_global_add(d, &box), ALQ_OK);
    f.all = alq_alloc(d, STEPS, 0);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(alq_domain_spawn(d, consumer, f.all, &n, NULL, &b),
                     ALQ_OK);
    assert_int_equal(alq_domain_spawn(d, producer, ALQ_UNIT, &n, NULL, &a),
                     ALQ_OK);
    assert_int_equal(alq_domain_join(d, a, NULL), ALQ_OK);
    assert_int_equal(alq_domain_join(d, b, &result), ALQ_OK);
    alq_child_drop(a);
    alq_child_drop(b);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_alloc_minor, STEPS);
    assert_int_equal(l->n_promote, STEPS);
    assert_int_equal(l->n_dealloc_minor, 0);
    assert_int_equal(l->n_dealloc_major, 0);
    f.all = ALQ_UNIT;
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_dealloc_major, STEPS);
    alq_global_remove(d, &box);
}

/* X17: many that come and go, with collections under way. */
static alq_value
churn(struct alq_domain *of, alq_value arg, void *data)
{
    unsigned n = 20;

    for (unsigned i = 0; i < (IS_HARD ? 5 : 50); i++) {
        struct alq_child *child;
        ALQ_FRAME(of, f, list);

        MUST(alq_domain_spawn(of, make_list, ALQ_UNIT, &n, NULL, &child) ==
             ALQ_OK);
        if (i % 3 == 0)
            MUST(alq_gc_minor(of) == ALQ_OK);
        if (i % 10 == 9)
            MUST(alq_gc_full_major(of) == ALQ_OK);
        MUST(alq_domain_join(of, child, &f.list) == ALQ_OK);
        alq_child_drop(child);
        make_list(of, f.list, &n);
    }
    (void)data;
    return arg;
}

static void
domains_come_and_go(void **state)
{
    struct alq_child *child[3];
    uint64_t n = IS_HARD ? 5 : 50;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            alq_domain_spawn(d, churn, ALQ_UNIT, NULL, NULL, &child[i]),
            ALQ_OK);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(alq_domain_join(d, child[i], NULL), ALQ_OK);
        alq_child_drop(child[i]);
    }
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(l->n_alloc_minor, 3 * n * 80);
    assert_int_equal(log_alive(l), 0);
    assert_int_equal(l->n_release, 0);
}

/* ---- joining, looking ---------------------------------------------------- */

static alq_value
join_and_allocate(struct alq_domain *of, alq_value arg, void *data)
{
    struct alq_profile *mine = NULL;

    allocate(of, arg, data);
    MUST(alq_memprof_join(of, p) == ALQ_OK);
    MUST(alq_memprof_join(of, p) == ALQ_EBUSY);
    MUST(alq_memprof_start(of, NULL, &alq_tracker_null, &mine) == ALQ_EBUSY);
    allocate(of, arg, data);
    return arg;
}

static void
a_domain_may_join(void **state)
{
    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(alq_memprof_join(d, p), ALQ_EBUSY);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_join(d, p), ALQ_ENOTRUN);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
    /* The child is there before the start. */
    p = log_start(l, d, 1.0, ALQ_MEMPROF_BESIDE);
    assert_int_equal(alq_profile_stop(p), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
    p = NULL;
}

/* The old one goes on in the domain that replaces nothing. */
static alq_value
replace_here(struct alq_domain *of, alq_value arg, void *data)
{
    struct alq_memprof_config c = log_config(1.0, ALQ_MEMPROF_BESIDE);
    struct alq_tracker t = log_tracker(data);
    struct alq_profile *own = NULL;

    allocate(of, arg, data);
    MUST(alq_memprof_replace(of, &c, &t, &own) == ALQ_EINVAL);
    c.flags = ALQ_MEMPROF_STRICT;
    MUST(alq_memprof_replace(of, &c, &t, &own) == ALQ_OK);
    allocate(of, arg, data);
    MUST(alq_profile_stop(own) == ALQ_OK);
    MUST(alq_memprof_discard(own) == ALQ_OK);
    alq_profile_drop(own);
    return arg;
}

static void
one_may_take_the_place_of_another(void **state)
{
    struct log *other = log_new();
    struct alq_profile *old;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    run(replace_here, ALQ_UNIT, other);
    assert_int_equal(l->n_words, 400);
    assert_int_equal(other->n_words, 400);
    assert_int_equal(alq_memprof_is_sampling(d), 1);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK); /* meets what is left */
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
    assert_int_equal(log_alive(other), 0);
    old = p;
    assert_int_equal(alq_memprof_replace(d, NULL, &alq_tracker_null, &p),
                     ALQ_OK);
    assert_int_equal(alq_profile_stop(old), ALQ_ENOTRUN); /* nobody has it */
    assert_int_equal(alq_memprof_discard(old), ALQ_OK);
    alq_profile_drop(old);
    free(other);
}

struct rendezvous {
    uint32_t there;
    uint32_t go;
};

static alq_value
wait_then_join(struct alq_domain *of, alq_value arg, void *data)
{
    struct rendezvous *r = data;

    __atomic_store_n(&r->there, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&r->go, __ATOMIC_ACQUIRE) == 0)
        alq_poll(of);
    return join_and_allocate(of, arg, data);
}

static void
a_domain_that_is_there_joins(void **state)
{
    struct rendezvous r = {0, 0};
    struct alq_child *child;

    (void)state;
    assert_int_equal(
        alq_domain_spawn(d, wait_then_join, ALQ_UNIT, &r, NULL, &child),
        ALQ_OK);
    while (__atomic_load_n(&r.there, __ATOMIC_ACQUIRE) == 0)
        alq_poll(d);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    __atomic_store_n(&r.go, 1, __ATOMIC_RELEASE);
    assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
    alq_child_drop(child);
    assert_int_equal(l->n_words, 400);
    assert_int_equal(alq_memprof_is_sampling(d), 1);
}

static uint32_t youngest, oldest; /* of those that were looked at */

static int
look(void *arg, const struct alq_allocation *a, uintptr_t data)
{
    uint64_t *n = arg;

    if (a->size_words != 2 || a->block == NULL ||
        l->block[data].state == LOG_OVER)
        return 1;
    ++*n;
    youngest = a->age < youngest ? a->age : youngest;
    oldest = a->age > oldest ? a->age : oldest;
    return 0;
}

static alq_value
keep_until(struct alq_domain *of, alq_value arg, void *data)
{
    struct rendezvous *r = data;
    unsigned n = 50;
    ALQ_FRAME(of, f, list);

    f.list = make_list(of, arg, &n);
    __atomic_store_n(&r->there, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&r->go, __ATOMIC_ACQUIRE) == 0)
        alq_poll(of);
    return arg;
}

static void
each_visits_all_domains(void **state)
{
    struct rendezvous r = {0, 0};
    struct alq_child *child;
    unsigned n = 50;
    uint64_t n_seen = 0;
    ALQ_FRAME(d, f, left, own);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(
        alq_domain_spawn(d, keep_until, ALQ_UNIT, &r, NULL, &child), ALQ_OK);
    while (__atomic_load_n(&r.there, __ATOMIC_ACQUIRE) == 0)
        alq_poll(d);
    f.own = make_list(d, ALQ_UNIT, &n);
    f.left = run(make_list, ALQ_UNIT, &n); /* of one that has ended */
    assert_int_equal(alq_memprof_each(p, look, &n_seen), ALQ_OK);
    assert_true(n_seen >= 150 && n_seen <= 300);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    n_seen = 0;
    youngest = UINT32_MAX;
    oldest = 0;
    assert_int_equal(alq_memprof_each(p, look, &n_seen), ALQ_OK);
    assert_int_equal(n_seen, 150);
    assert_true(youngest >= 2 && (IS_HARD || oldest <= 4));
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(alq_gc_major(d), ALQ_OK);
    f.left = make_list(d, f.left, &n);
    n_seen = youngest = 0;
    assert_int_equal(alq_memprof_each(p, look, &n_seen), ALQ_OK);
    assert_true(oldest >= 7);
    __atomic_store_n(&r.go, 1, __ATOMIC_RELEASE);
    assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
    alq_child_drop(child);
    assert_int_equal(alq_memprof_stop(d), ALQ_OK);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    assert_int_equal(alq_memprof_each(p, look, &n_seen), ALQ_EGONE);
}

/* ---- the heap ends ------------------------------------------------------- */

static void
when_the_heap_ends_data_are_released(void **state)
{
    unsigned n = 50;
    uint64_t n_seen = 0;
    ALQ_FRAME(d, f, list);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.list = make_list(d, ALQ_UNIT, &n);
    f.list = make_list(d, f.list, &n);
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    f.list = make_list(d, f.list, &n);
    d->frames = NULL;
    f.alq_head.outer = NULL;
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    assert_int_equal(log_alive(l), 0);
    assert_int_equal(l->n_dealloc_minor + l->n_dealloc_major + l->n_release,
                     300);
    assert_true(l->n_release >= 100 && l->n_release <= 200);
    assert_int_equal(alq_profile_stop(p), ALQ_ENOTRUN);
    assert_int_equal(alq_memprof_each(p, look, &n_seen), ALQ_ESTATE);
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
    assert_int_equal(alq_memprof_each(p, look, &n_seen), ALQ_OK);
    assert_int_equal(n_seen, 0);
    assert_int_equal(alq_memprof_discard(p), ALQ_OK);
    alq_profile_drop(p);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    allocate(d, ALQ_UNIT, NULL);
    assert_int_equal(l->n_words, 900 + 400);
    f.alq_head.domain = d;
    d->frames = &f.alq_head;
}

/* Heaps one after the other in several threads, some of which overlap. */
static void *
heap_of_its_own(void *arg)
{
    struct log *log = log_new();

    (void)arg;
    for (unsigned i = 0; i < (IS_HARD ? 20 : 200); i++) {
        struct alq_domain *of;
        struct alq_profile *q;
        enum alq_status st = alq_domain_new(NULL, &of);
        unsigned n = 10;

        MUST(st == ALQ_OK);
        q = log_start(log, of, 0.5, ALQ_MEMPROF_STRICT);
        {
            ALQ_FRAME(of, f, list);

            f.list = make_list(of, ALQ_UNIT, &n);
            MUST(alq_gc_minor(of) == ALQ_OK);
        }
        if (i % 2 == 0)
            MUST(alq_memprof_stop(of) == ALQ_OK);
        if (i % 4 == 0)
            MUST(alq_memprof_discard(q) == ALQ_OK);
        alq_profile_drop(q);
        MUST(alq_domain_drop(of) == ALQ_OK);
    }
    return log;
}

static void
heaps_follow_each_other(void **state)
{
    struct log *logs[2];
    pthread_t threads[2];

    (void)state;
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, heap_of_its_own, NULL), 0);
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(pthread_join(threads[i], (void **)&logs[i]), 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(logs[i]->n_blocks > 100);
        assert_int_equal(log_alive(logs[i]), 0);
        free(logs[i]);
    }
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
}

/* ---- forks --------------------------------------------------------------- */

static void
a_forked_child_goes_on(void **state)
{
    unsigned n = 50;
    ALQ_FRAME(d, f, list);
    int pid, status;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.list = make_list(d, ALQ_UNIT, &n);
    assert_int_equal(alq_fork(d, &pid), ALQ_OK);
    if (pid == 0) {
        f.list = make_list(d, f.list, &n);
        MUST(alq_gc_full_major(d) == ALQ_OK);
        MUST(log_alive(l) == 100 && l->n_blocks == 200);
        f.list = ALQ_UNIT;
        MUST(alq_gc_full_major(d) == ALQ_OK && log_alive(l) == 0);
        MUST(alq_memprof_stop(d) == ALQ_OK);
        MUST(alq_memprof_discard(p) == ALQ_OK);
        _exit(7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(log_alive(l), 50);
}

static pthread_barrier_t both_fork;
static __thread bool is_plain, is_ours; /* fork, alq_fork */

static void
meet_if_plain(void)
{
    if (is_plain)
        pthread_barrier_wait(&both_fork);
}

static void
meet_if_ours(void)
{
    if (is_ours)
        pthread_barrier_wait(&both_fork);
}

static void *
fork_plainly(void *arg)
{
    int status, pid;

    is_plain = true;
    pid = fork();
    if (pid == 0)
        _exit(7);
    MUST(pid > 0 && waitpid(pid, &status, 0) == pid);
    return arg;
}

/* Both ways to fork take the locks of heap and profiler in one order, or two
 * threads would wait for each other.  They meet in handlers that come, were the
 * library's not registered before the program's, between its own: the first of
 * the file's tests, since no profile has been started. */
static void
two_threads_fork(void **state)
{
    pthread_t thread;
    int pid, status;

    (void)state;
    assert_int_equal(pthread_barrier_init(&both_fork, NULL, 2), 0);
    assert_int_equal(pthread_atfork(meet_if_plain, NULL, NULL), 0);
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(pthread_atfork(meet_if_ours, NULL, NULL), 0);
    assert_int_equal(pthread_create(&thread, NULL, fork_plainly, NULL), 0);
    is_ours = true;
    assert_int_equal(alq_fork(d, &pid), ALQ_OK);
    if (pid == 0)
        _exit(7);
    is_ours = false;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_barrier_destroy(&both_fork);
}

/* fork(2) with another domain running: what needs the heap says so. */
static void
a_lost_heap_is_left_alone(void **state)
{
    struct rendezvous r = {0, 0};
    struct alq_child *child;
    struct alq_memprof_counts n;
    uint64_t n_seen = 0;
    int pid, status;

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    assert_int_equal(
        alq_domain_spawn(d, keep_until, ALQ_UNIT, &r, NULL, &child), ALQ_OK);
    while (__atomic_load_n(&r.there, __ATOMIC_ACQUIRE) == 0)
        alq_poll(d);
    pid = fork();
    if (pid == 0) {
        MUST(alq_is_null(alq_alloc_small(d, 3, 252)));
        MUST(alq_memprof_stop(d) == ALQ_ESTATE);
        MUST(alq_memprof_flush(d, NULL) == ALQ_ESTATE);
        MUST(alq_memprof_each(p, look, &n_seen) == ALQ_ESTATE);
        alq_profile_counts(p, &n);
        MUST(n.sampled_blocks >= 100);
        MUST(alq_profile_stop(p) == ALQ_OK);
        MUST(alq_memprof_discard(p) == ALQ_OK);
        _exit(7);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    __atomic_store_n(&r.go, 1, __ATOMIC_RELEASE);
    assert_int_equal(alq_domain_join(d, child, NULL), ALQ_OK);
    alq_child_drop(child);
}

/* ---- who may call -------------------------------------------------------- */

static void *
stranger(void *arg)
{
    struct alq_profile *q = NULL;
    uint64_t n_seen = 0;

    (void)arg;
    MUST(alq_memprof_start(d, NULL, &alq_tracker_null, &q) == ALQ_ESTATE);
    MUST(alq_memprof_stop(d) == ALQ_ESTATE);
    MUST(alq_memprof_flush(d, NULL) == ALQ_ESTATE);
    MUST(alq_memprof_join(d, p) == ALQ_ESTATE);
    MUST(alq_memprof_each(p, look, &n_seen) == ALQ_ESTATE);
    MUST(alq_memprof_is_sampling(d) == 1);
    MUST(alq_memprof_discard(p) == ALQ_ERUNNING);
    MUST(alq_profile_stop(p) == ALQ_OK);
    MUST(alq_profile_stop(p) == ALQ_ENOTRUN);
    MUST(alq_memprof_discard(p) == ALQ_OK);
    return NULL;
}

static void
a_stranger_may_stop_and_discard(void **state)
{
    unsigned n = 50;
    pthread_t thread;
    ALQ_FRAME(d, f, list);

    (void)state;
    p = log_start(l, d, 1.0, ALQ_MEMPROF_STRICT);
    f.list = make_list(d, ALQ_UNIT, &n);
    assert_int_equal(pthread_create(&thread, NULL, stranger, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    allocate(d, ALQ_UNIT, NULL);
    assert_int_equal(l->n_blocks, 100);
    assert_int_equal(alq_memprof_is_sampling(d), 0);
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(log_alive(l), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open, close_)
    const struct CMUnitTest tests[] = {
        TEST(two_threads_fork),
        TEST(children_inherit),
        TEST(children_do_not_replay_their_parents),
        TEST(a_child_stops_it_for_all),
        TEST(the_last_domain_stops_it),
        TEST(what_a_domain_leaves_is_adopted),
        TEST(a_block_lives_by_another_domain),
        TEST(domains_come_and_go),
        TEST(a_domain_may_join),
        TEST(one_may_take_the_place_of_another),
        TEST(a_domain_that_is_there_joins),
        TEST(each_visits_all_domains),
        TEST(when_the_heap_ends_data_are_released),
        TEST(heaps_follow_each_other),
        TEST(a_forked_child_goes_on),
        TEST(a_lost_heap_is_left_alone),
        TEST(a_stranger_may_stop_and_discard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
