/* leaves.c -- tasks under limits on malloc that are left by unwinding, and
 * where they are not */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "limits.h"

static struct alq_limits
unwinding(uint64_t words)
{
    struct alq_limits l = limits_of_words(words);

    l.flags = ALQ_LIMIT_UNWINDS;
    return l;
}

static _Noreturn void
not_here(void)
{
    printf("wrong: it was not left\n");
    abort();
}

/* ---- clean-ups ----------------------------------------------------------- */

static char noted[100];

static void
note(struct alq_domain *d, void *arg)
{
    void *p = malloc(10000); /* nothing is refused here */

    CHECK(d == NULL && p != NULL);
    CHECK(alq_is_masked(NULL) && alq_is_interrupted(NULL));
    free(p);
    strcat(noted, arg);
}

static void
deep(unsigned n)
{
    char *p;

    if (n == 0) {
        p = malloc(100000);
        free(p);
        not_here();
    }
    deep(n - 1);
    noted[0] = 'x'; /* not a tail call */
}

static enum alq_status
acquire(struct alq_domain *d, void *arg)
{
    (void)d;
    *(char **)arg = malloc(64);
    return *(char **)arg != NULL ? ALQ_OK : ALQ_ENOMEM;
}

static void
release(struct alq_domain *d, void *arg)
{
    char word[] = "r";

    free(*(char **)arg);
    note(d, word);
}

static enum alq_status
scope(struct alq_domain *d, void *arg)
{
    char three[] = "3", four[] = "4";
    ALQ_SCOPE_CLEANUP(d, c, note, three);

    (void)arg;
    {
        ALQ_SCOPE_CLEANUP(d, e, note, four);
        deep(50);
    }
    not_here();
}

static enum alq_status
cleans_up(struct alq_domain *d, void *arg)
{
    char one[] = "1", two[] = "2";
    struct alq_cleanup c;
    char *held = NULL;
    ALQ_SCOPE_CLEANUP(d, e, note, one);

    (void)arg;
    alq_cleanup_push(d, &c, note, two);
    alq_cleanup_pop(d, &c, 0);
    alq_cleanup_push(d, &c, note, two);
    (void)!alq_with_resource(d, acquire, scope, release, &held);
    not_here();
}

static void
clean_ups(void)
{
    struct alq_limits l = unwinding(1000);
    struct alq_outcome out;

    for (unsigned i = 0; i < 100; i++) {
        noted[0] = '\0';
        CHECK(alq_limit_run(NULL, &l, cleans_up, NULL, &out) == ALQ_ELIMIT);
        CHECK(strcmp(noted, "43r21") == 0);
        CHECK(out.task == ALQ_ELIMIT && out.cause == ALQ_LIMIT_WORDS);
        CHECK(out.words == alq_malloc_words(64) + 5 * alq_malloc_words(10000));
        CHECK(!alq_is_interrupted(NULL) && !alq_is_masked(NULL));
    }
    part("clean-ups");
}

/* ---- nested frames ------------------------------------------------------- */

static enum alq_status
eats(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    for (;;)
        free(malloc(72));
}

static enum alq_status
nests(struct alq_domain *d, void *arg)
{
    struct alq_limits l = unwinding(ALQ_LIMIT_NONE);

    (void)arg;
    (void)!alq_limit_run(d, &l, eats, NULL, NULL);
    not_here(); /* the outer one was reached, and left */
}

static enum alq_status
nests_inner(struct alq_domain *d, void *arg)
{
    struct alq_limits l = unwinding(100);
    struct alq_outcome out;

    (void)arg;
    CHECK(alq_limit_run(d, &l, eats, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.words == 100);
    return ALQ_OK;
}

static enum alq_status
fails(struct alq_domain *d, void *arg)
{
    (void)d;
    for (;;) {
        void *p = malloc(72);

        if (p == NULL)
            break;
        free(p);
    }
    *(int *)arg = 1;
    return ALQ_ENOMEM;
}

static enum alq_status
nests_other(struct alq_domain *d, void *arg)
{
    struct alq_limits l = limits_of_words(ALQ_LIMIT_NONE);

    CHECK(alq_limit_run(d, &l, fails, arg, NULL) == ALQ_ENOMEM);
    free(malloc(1)); /* back in the frame that unwinds */
    not_here();
}

static void
frames(void)
{
    struct alq_limits l = unwinding(1000);
    struct alq_outcome out;
    int has_failed = 0;

    CHECK(alq_limit_run(NULL, &l, nests, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_WORDS);
    CHECK(alq_limit_run(NULL, &l, nests_inner, NULL, &out) == ALQ_OK);
    CHECK(alq_limit_run(NULL, &l, nests_other, &has_failed, &out) ==
          ALQ_ELIMIT);
    CHECK(has_failed);
    part("frames");
}

/* ---- where a task is not left -------------------------------------------- */

static volatile int n_refused;

static int
compares(const void *a, const void *b)
{
    void *p = malloc(100000);

    n_refused += p == NULL;
    free(p);
    return *(const int *)a - *(const int *)b;
}

static enum alq_status
in_a_library(struct alq_domain *d, void *arg)
{
    int v[] = {3, 1, 2, 5, 4};

    (void)d;
    (void)arg;
    n_refused = 0;
    qsort(v, 5, sizeof *v, compares);
    CHECK(n_refused >= 4 && v[0] == 1 && v[4] == 5);
    CHECK(strdup("the library's own") == NULL && errno == ENOMEM);
    free(malloc(1));
    not_here();
}

static void
on_signal(int signal)
{
    void *p = malloc(100000);

    (void)signal;
    n_refused += p == NULL;
    free(p);
    CHECK(alq_malloc_poll() == ALQ_ELIMIT);
}

static enum alq_status
in_a_handler(struct alq_domain *d, void *arg)
{
    struct sigaction action = {.sa_handler = on_signal}, before;
    static char room[65536];
    stack_t other = {.ss_sp = room, .ss_size = sizeof room}, old;

    (void)d;
    if (arg != NULL) {
        action.sa_flags = SA_ONSTACK;
        sigaltstack(&other, &old);
    }
    sigaction(SIGUSR1, &action, &before);
    n_refused = 0;
    pthread_kill(pthread_self(), SIGUSR1);
    CHECK(n_refused == 1);
    sigaction(SIGUSR1, &before, NULL);
    if (arg != NULL)
        sigaltstack(&old, NULL);
    alq_malloc_poll();
    not_here();
}

static enum alq_status
behind_a_barrier(struct alq_domain *d, void *arg)
{
    void *p;

    (void)arg;
    alq_foreign_begin(d);
    p = malloc(100000);
    CHECK(p == NULL);
    CHECK(alq_malloc_poll() == ALQ_ELIMIT);
    alq_foreign_end(d);
    p = malloc(1);
    not_here();
}

static enum alq_status
masked(struct alq_domain *d, void *arg)
{
    int was = alq_mask_begin(d);
    void *p = malloc(100000);

    (void)arg;
    CHECK(p != NULL);
    free(p);
    alq_mask_end(d, was);
    free(malloc(1));
    not_here();
}

static void
barriers(void)
{
    struct alq_limits l = unwinding(1000);
    char here;

    CHECK(alq_limit_run(NULL, &l, in_a_library, NULL, NULL) == ALQ_ELIMIT);
    CHECK(alq_limit_run(NULL, &l, in_a_handler, NULL, NULL) == ALQ_ELIMIT);
    CHECK(alq_limit_run(NULL, &l, in_a_handler, &here, NULL) == ALQ_ELIMIT);
    CHECK(alq_limit_run(NULL, &l, behind_a_barrier, NULL, NULL) == ALQ_ELIMIT);
    CHECK(alq_limit_run(NULL, &l, masked, NULL, NULL) == ALQ_ELIMIT);
    part("barriers");
}

/* ---- beside a managed heap ----------------------------------------------- */

static struct alq_domain *heap;

static enum alq_status
mallocs(struct alq_domain *d, void *arg)
{
    void *p = malloc(100000);

    (void)arg;
    CHECK(p == NULL); /* the heap's frame is not left */
    free(p);
    CHECK(alq_alloc(d, 3, 0) != ALQ_NULL);
    return ALQ_OK;
}

static enum alq_status
heap_within(struct alq_domain *d, void *arg)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    (void)d;
    (void)arg;
    l.words = 100000;
    l.flags = ALQ_LIMIT_UNWINDS;
    CHECK(alq_limit_run(heap, &l, mallocs, NULL, NULL) == ALQ_OK);
    free(malloc(1));
    not_here();
}

static enum alq_status
fills(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    for (unsigned i = 0; i < 100000; i++)
        if (alq_alloc(heap, 3, 0) == ALQ_NULL)
            return ALQ_OK; /* refused, and not left */
    return ALQ_ESTATE;
}

static enum alq_status
malloc_within(struct alq_domain *d, void *arg)
{
    struct alq_limits l = unwinding(1000);

    (void)arg;
    CHECK(alq_limit_run(NULL, &l, fills, NULL, NULL) == ALQ_OK);
    (void)!alq_alloc(d, 3, 0);
    not_here();
}

static void
two_heaps(void)
{
    struct alq_limits l = unwinding(1000);

    CHECK(alq_domain_new(NULL, &heap) == ALQ_OK);
    for (unsigned i = 0; i < 20; i++) {
        CHECK(alq_limit_run(NULL, &l, heap_within, NULL, NULL) == ALQ_ELIMIT);
        CHECK(alq_limit_run(heap, &l, malloc_within, NULL, NULL) == ALQ_ELIMIT);
        alq_status_clear(heap);
    }
    CHECK(alq_domain_drop(heap) == ALQ_OK);
    part("two heaps");
}

/* ---- threads that end within a task -------------------------------------- */

static enum alq_status
ends_its_thread(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    pthread_exit(NULL);
}

static void *
runs(void *arg)
{
    struct alq_limits l = limits_of_words(100000); /* for what that needs */

    (void)arg;
    (void)!alq_limit_run(NULL, &l, ends_its_thread, NULL, NULL);
    return NULL;
}

static void
at_the_end(void *arg)
{
    void *p = malloc(1000000);

    (void)arg;
    CHECK(p != NULL);
    free(p);
}

/* Against the rule, but its destructors must not suffer. */
static void
ends(void)
{
    pthread_key_t key;
    pthread_t id;

    CHECK(pthread_key_create(&key, at_the_end) == 0);
    for (unsigned i = 0; i < 50; i++) {
        CHECK(pthread_create(&id, NULL, runs, NULL) == 0);
        pthread_join(id, NULL);
    }
    pthread_key_delete(key);
    part("ends");
}

void
leaves_parts(void)
{
    clean_ups();
    frames();
    barriers();
    two_heaps();
    ends();
}
