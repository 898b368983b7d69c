/* trees.c -- thread trees under the preload, with real threads
 *
 * usage: trees          each part prints "ok WHAT" or says what is wrong
 *
 * At ratio 1 each word is sampled, so what is asked for and what is told are
 * equal.  Only blocks of a part's own size count: threads of the C library
 * bring a few of their own. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

struct tally {
    size_t bytes; /* blocks of this size count */
    _Atomic(long) allocs, frees, samples;
};

static int n_wrong; /* in this part */
static int n_failed;

static void
check(int is_right, const char *what)
{
    if (is_right)
        return;
    printf("wrong: %s\n", what);
    n_wrong++;
}

#define CHECK(x) check((x), #x)

static void
part(const char *name)
{
    if (n_wrong == 0)
        printf("ok %s\n", name);
    else
        printf("failed %s\n", name);
    n_failed += n_wrong != 0;
    n_wrong = 0;
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct tally *t = arg;

    (void)data;
    if (a->size_bytes != t->bytes)
        return ALQ_TRACK_DROP;
    t->allocs++;
    t->samples += (long)a->n_samples;
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    (void)data;
    ((struct tally *)arg)->frees++;
    return 0;
}

static struct alq_profile *
start(struct alq_domain *where, struct tally *t, double rate, unsigned flags)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker tracker = {
        .alloc_major = on_alloc, .dealloc_major = on_dealloc, .arg = t};
    struct alq_profile *p = NULL;
    enum alq_status status;

    c.rate = rate;
    c.seed = 5;
    c.flags = flags;
    status = alq_memprof_start(where, &c, &tracker, &p);
    if (status != ALQ_OK) {
        printf("wrong: start: %s\n", alq_status_text(status));
        exit(1);
    }
    return p;
}

static struct alq_profile *
start_tree(struct tally *t, double rate, unsigned flags)
{
    return start(alq_thread_tree(), t, rate, flags);
}

static void
end(struct alq_profile *p, enum alq_status wanted)
{
    CHECK(alq_profile_stop(p) == wanted);
    CHECK(alq_memprof_discard(p) == ALQ_OK);
    alq_profile_drop(p);
}

static void
churn(size_t bytes, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(malloc(bytes));
}

static void
run(void *(*body)(void *), void *arg)
{
    pthread_t id;

    CHECK(pthread_create(&id, NULL, body, arg) == 0);
    CHECK(pthread_join(id, NULL) == 0);
}

/* ---- inheritance -------------------------------------------------------- */

static pthread_barrier_t barrier;

static void *
churn_late(void *arg)
{
    pthread_barrier_wait(&barrier);
    churn((size_t)arg, 10);
    return NULL;
}

static void *
churn_100(void *arg)
{
    churn((size_t)arg, 100);
    return arg;
}

static int
churn_c11(void *arg)
{
    churn((size_t)arg, 100);
    return 7;
}

static void *
grandparent(void *arg)
{
    run(churn_100, arg);
    return NULL;
}

static void
inheritance(void)
{
    struct tally t = {.bytes = 4001};
    struct alq_profile *p;
    pthread_t before;
    void *result = NULL;
    pthread_t id;
    thrd_t c11;
    int code = 0;

    pthread_barrier_init(&barrier, NULL, 2);
    CHECK(pthread_create(&before, NULL, churn_late, (void *)t.bytes) == 0);
    p = start_tree(&t, 1.0, ALQ_MEMPROF_STRICT);
    CHECK(alq_memprof_is_sampling(alq_thread_tree()));
    CHECK(!alq_memprof_is_sampling(NULL));
    pthread_barrier_wait(&barrier);
    pthread_join(before, NULL);
    CHECK(t.allocs == 0); /* it was there before */
    CHECK(pthread_create(&id, NULL, churn_100, (void *)t.bytes) == 0);
    pthread_join(id, &result);
    CHECK(result == (void *)t.bytes);
    CHECK(t.allocs == 100);
    CHECK(thrd_create(&c11, churn_c11, (void *)t.bytes) == thrd_success);
    CHECK(thrd_join(c11, &code) == thrd_success && code == 7);
    CHECK(t.allocs == 200);
    run(grandparent, (void *)t.bytes);
    CHECK(t.allocs == 300 && t.frees == 300);
    CHECK(t.samples == 300 * ((4001 + 7) / 8 + 1));
    end(p, ALQ_OK);
    run(churn_100, (void *)t.bytes);
    CHECK(t.allocs == 300);
    part("inheritance");
}

/* ---- a tree's end ------------------------------------------------------- */

struct tree {
    struct tally t;
    struct alq_profile *p;
    pthread_t child;
    void *block;
};

static void *
outlives(void *arg)
{
    struct tree *tree = arg;

    pthread_barrier_wait(&barrier); /* its creator has ended */
    tree->block = malloc(tree->t.bytes);
    return NULL;
}

static void *
begins_tree(void *arg)
{
    struct tree *tree = arg;

    tree->p = start_tree(&tree->t, 1.0, 0);
    CHECK(pthread_create(&tree->child, NULL, outlives, tree) == 0);
    pthread_exit(NULL);
}

static void
last_thread(void)
{
    struct tree tree = {.t.bytes = 4002};

    run(begins_tree, &tree);
    CHECK(alq_memprof_discard(tree.p) == ALQ_ERUNNING);
    pthread_barrier_wait(&barrier);
    pthread_join(tree.child, NULL);
    CHECK(tree.t.allocs == 1);
    free(tree.block); /* outside of the tree */
    CHECK(tree.t.frees == 1);
    end(tree.p, ALQ_ENOTRUN);
    part("last thread");
}

static void *
waits_to_be_cancelled(void *arg)
{
    churn((size_t)arg, 1);
    for (;;)
        pause();
}

static void *
begins_doomed(void *arg)
{
    struct tree *tree = arg;
    pthread_attr_t huge;
    pthread_t id;

    tree->p = start_tree(&tree->t, 1.0, ALQ_MEMPROF_BESIDE);
    pthread_attr_init(&huge);
    CHECK(pthread_attr_setstacksize(&huge, (size_t)1 << 46) == 0);
    CHECK(pthread_create(&id, &huge, churn_100, (void *)tree->t.bytes) != 0);
    pthread_attr_destroy(&huge);
    CHECK(pthread_create(&tree->child, NULL, waits_to_be_cancelled,
                         (void *)tree->t.bytes) == 0);
    return NULL;
}

static void
cancelled(void)
{
    struct tree tree = {.t.bytes = 4003};

    run(begins_doomed, &tree);
    while (tree.t.frees == 0)
        sched_yield();
    CHECK(alq_memprof_discard(tree.p) == ALQ_ERUNNING);
    pthread_cancel(tree.child);
    pthread_join(tree.child, NULL);
    CHECK(tree.t.allocs == 1);
    end(tree.p, ALQ_ENOTRUN);
    part("creation that fails, cancellation");
}

/* ---- what a new thread finds -------------------------------------------- */

struct place {
    size_t bytes, stack_bytes;
    uintptr_t top;
};

static void *
looks_around(void *arg)
{
    struct place *place = arg;
    pthread_attr_t a;
    void *low;

    place->top = (uintptr_t)__builtin_frame_address(0);
    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, &low, &place->stack_bytes);
    place->top = (uintptr_t)low + place->stack_bytes - place->top;
    pthread_attr_destroy(&a);
    churn(place->bytes, 3);
    return NULL;
}

static void
look(struct place *place)
{
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    pthread_attr_t a;
    pthread_t id;

    pthread_attr_init(&a);
    CHECK(pthread_attr_setstacksize(&a, least + 16384) == 0);
    CHECK(pthread_create(&id, &a, looks_around, place) == 0);
    pthread_join(id, NULL);
    pthread_attr_destroy(&a);
}

static void
small_stacks(void)
{
    struct tally t = {.bytes = 4004};
    struct place without = {.bytes = t.bytes}, with = without;
    struct alq_profile *p;

    look(&without);
    p = start_tree(&t, 1.0, 0);
    look(&with);
    end(p, ALQ_OK);
    CHECK(t.allocs == 3);
    CHECK(with.stack_bytes == without.stack_bytes);
    CHECK(with.top == without.top); /* no frame of ours below the first */
    part("small stacks");
}

/* ---- several at once ---------------------------------------------------- */

enum { ROUNDS = 200000, EACH_BYTES = 120, EACH_WORDS = 16 };

struct branch {
    struct tally t;
    double rate;
    struct branch *next;
};

static void *
nests(void *arg)
{
    struct branch *b = arg;
    struct alq_profile *p = start_tree(&b->t, b->rate, ALQ_MEMPROF_BESIDE);

    if (b->next != NULL)
        run(nests, b->next);
    churn(EACH_BYTES, ROUNDS);
    end(p, ALQ_OK);
    return NULL;
}

/* Eight standard errors: a false alarm in less than 1e-14 of the runs. */
static void
law(const struct tally *t, double threads, double rate)
{
    double words = threads * ROUNDS * EACH_WORDS;
    double sd = sqrt(words * rate * (1 - rate));

    CHECK(fabs((double)t->samples - words * rate) <= 8 * sd);
    CHECK(t->allocs == t->frees && t->allocs > 1000);
}

static void
several(void)
{
    static struct branch b[4] = {{{.bytes = EACH_BYTES}, 0.02, &b[1]},
                                 {{.bytes = EACH_BYTES}, 0.005, NULL},
                                 {{.bytes = EACH_BYTES}, 0.001, &b[3]},
                                 {{.bytes = EACH_BYTES}, 0.03, NULL}};
    struct tally all = {.bytes = EACH_BYTES}, too = all;
    struct alq_profile *p = start(NULL, &all, 0.004, ALQ_MEMPROF_STRICT);
    struct alq_profile *q = start(NULL, &too, 0.0007, ALQ_MEMPROF_BESIDE);
    pthread_t one, two;

    CHECK(pthread_create(&one, NULL, nests, &b[0]) == 0);
    CHECK(pthread_create(&two, NULL, nests, &b[2]) == 0);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    end(p, ALQ_OK);
    end(q, ALQ_OK);
    law(&b[0].t, 2, b[0].rate);
    law(&b[1].t, 1, b[1].rate);
    law(&b[2].t, 2, b[2].rate);
    law(&b[3].t, 1, b[3].rate);
    law(&all, 4, 0.004);
    law(&too, 4, 0.0007);
    part("several at once");
}

/* ---- within callbacks --------------------------------------------------- */

static struct tally inner = {.bytes = 4006};
static struct alq_profile *inner_profile;

static int
dealloc_that_starts(void *arg, uintptr_t data)
{
    unsigned where = (unsigned)(uintptr_t)arg;

    (void)data;
    if (inner_profile == NULL)
        inner_profile = start(where ? alq_thread_tree() : NULL, &inner, 1.0,
                              ALQ_MEMPROF_BESIDE);
    churn(inner.bytes, 5); /* in a callback: not sampled */
    return 0;
}

static int
keep(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)a;
    (void)data;
    return ALQ_TRACK_KEEP;
}

/* With the profile stopped, nothing but the callback's start makes the thread
 * draw again. */
static void
start_in_dealloc(unsigned where)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker tracker = {.alloc_major = keep,
                                  .dealloc_major = dealloc_that_starts,
                                  .arg = (void *)(uintptr_t)where};
    struct alq_profile *p;
    void *block;

    inner.allocs = inner.frees = 0;
    inner_profile = NULL;
    c.rate = 1.0;
    CHECK(alq_memprof_start(NULL, &c, &tracker, &p) == ALQ_OK);
    block = malloc(100);
    CHECK(alq_memprof_stop(NULL) == ALQ_OK);
    churn(64, 100);
    free(block);
    CHECK(inner_profile != NULL);
    churn(inner.bytes, 9);
    CHECK(inner.allocs == 9 && inner.frees == 9);
    end(inner_profile, ALQ_OK);
    CHECK(alq_memprof_discard(p) == ALQ_OK);
    alq_profile_drop(p);
}

static int
alloc_that_creates(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    static _Atomic(int) done;

    if (a->size_bytes == 5001 && atomic_exchange(&done, 1) == 0)
        run(churn_100, (void *)((struct tally *)arg)->bytes);
    return on_alloc(arg, a, data);
}

static void
callbacks(void)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct tally t = {.bytes = 4007};
    struct alq_tracker tracker = {.alloc_major = alloc_that_creates,
                                  .dealloc_major = on_dealloc,
                                  .arg = &t};
    struct alq_profile *p;

    start_in_dealloc(0);
    start_in_dealloc(1);
    c.rate = 1.0;
    CHECK(alq_memprof_start(alq_thread_tree(), &c, &tracker, &p) == ALQ_OK);
    free(malloc(5001));
    CHECK(t.allocs == 100 && t.frees == 100); /* covered, and not suspended */
    end(p, ALQ_OK);
    part("callbacks");
}

/* ---- fork --------------------------------------------------------------- */

static struct tree other;

static void *
holds_a_tree(void *arg)
{
    (void)arg;
    other.p = start_tree(&other.t, 1.0, 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static int
forked(pid_t pid, struct tally *t, struct alq_profile *p)
{
    int status = 0;

    if (pid == 0) {
        n_wrong = 0;
        churn(t->bytes, 5);
        CHECK(alq_profile_stop(other.p) == ALQ_ENOTRUN);
        run(churn_100, (void *)t->bytes);
        CHECK(t->allocs == 105 && t->frees == 105);
        end(p, ALQ_OK);
        fflush(stdout);
        _exit(n_wrong);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void
forks(void)
{
    struct tally t = {.bytes = 4008};
    struct alq_profile *p;
    pthread_t id;

    CHECK(pthread_create(&id, NULL, holds_a_tree, NULL) == 0);
    pthread_barrier_wait(&barrier);
    p = start_tree(&t, 1.0, 0);
    fflush(stdout);
    CHECK(forked(fork(), &t, p));
    CHECK(forked(_Fork(), &t, p));
    churn(t.bytes, 5);
    CHECK(t.allocs == 5 && t.frees == 5);
    end(p, ALQ_OK);
    pthread_barrier_wait(&barrier);
    pthread_join(id, NULL);
    end(other.p, ALQ_ENOTRUN);
    part("fork");
}

/* ---- everything at once ------------------------------------------------- */

enum { STORMS = 4, GENERATIONS = 300 };

static _Atomic(int) n_begun;

static void *
twig(void *arg)
{
    void *kept = malloc(48);

    churn(100, 20);
    if (((uintptr_t)arg & 7) == 0) {
        struct tally t = {.bytes = 100};
        struct alq_profile *p = start_tree(&t, 1.0, ALQ_MEMPROF_BESIDE);

        churn(100, 20);
        end(p, ALQ_OK);
        CHECK(t.allocs == 20 && t.frees == 20);
    }
    n_begun++;
    return kept;
}

static void *
storm(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (unsigned i = 0; i < GENERATIONS; i++) {
        struct tally t = {.bytes = 48};
        struct alq_profile *p = start_tree(&t, 0.5, i & 1);
        pthread_t id[3];

        for (unsigned k = 0; k < 3; k++)
            CHECK(pthread_create(&id[k], NULL, twig,
                                 (void *)(uintptr_t)(seed + i + k)) == 0);
        if (i % 3 == 0)
            CHECK(alq_profile_stop(p) == ALQ_OK);
        for (unsigned k = 0; k < 3; k++) {
            void *kept;

            pthread_join(id[k], &kept);
            free(kept);
        }
        end(p, i % 3 == 0 ? ALQ_ENOTRUN : ALQ_OK);
        CHECK(t.allocs == t.frees);
    }
    return NULL;
}

static void
storms(void)
{
    pthread_t id[STORMS];

    for (uintptr_t i = 0; i < STORMS; i++)
        CHECK(pthread_create(&id[i], NULL, storm, (void *)(i * 1000)) == 0);
    for (unsigned i = 0; i < STORMS; i++)
        pthread_join(id[i], NULL);
    CHECK(n_begun == STORMS * GENERATIONS * 3);
    part("storms");
}

int
main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    inheritance();
    last_thread();
    cancelled();
    small_stacks();
    several();
    callbacks();
    forks();
    storms();
    return n_failed != 0;
}
