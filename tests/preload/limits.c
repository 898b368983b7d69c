/* limits.c -- tasks under limits on malloc, under the preload
 *
 * usage: limits          each part prints "ok WHAT" or says what is wrong
 *        limits short    the same, with fewer tasks
 *        limits none     without the preload
 *
 * Nothing is printed while a task runs: it would allocate. */
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "limits.h"

enum { SEQUENCES = 1500, BLOCKS_MAX = 400 };

int n_wrong;
int n_failed;
unsigned n_tasks = 2000;

void
check(int is_right, const char *what, int line)
{
    if (is_right)
        return;
    if (n_wrong++ < 5)
        fprintf(stderr, "wrong: line %d: %s\n", line, what);
}

void
part(const char *name)
{
    printf("%s %s\n", n_wrong == 0 ? "ok" : "failed", name);
    n_failed += n_wrong != 0;
    n_wrong = 0;
}

struct alq_limits
limits_of_words(uint64_t words)
{
    struct alq_limits l = ALQ_LIMITS_NONE;

    l.words = words;
    return l;
}

uint32_t
draw(uint32_t below)
{
    static __thread uint64_t s = 0x9E3779B97F4A7C15u;

    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return (uint32_t)(s >> 32) % below;
}

void *
request(unsigned kind, size_t n_bytes)
{
    void *p = NULL;

    switch (kind) {
    case 0:
        return malloc(n_bytes);
    case 1:
        return calloc(1, n_bytes);
    case 2:
        return realloc(NULL, n_bytes);
    case 3:
        return posix_memalign(&p, 64, n_bytes) == 0 ? p : NULL;
    case 4:
        return aligned_alloc(64, n_bytes);
    case 5:
        return memalign(32, n_bytes);
    case 6:
        return valloc(n_bytes);
    case 7: /* counted twice: it is a new request */
        p = malloc(n_bytes);
        if (p != NULL) {
            void *q = realloc(p, n_bytes);

            if (q == NULL)
                free(p);
            p = q;
        }
        return p;
    default:
        return pvalloc(n_bytes);
    }
}

uint64_t
request_words(unsigned kind, size_t n_bytes)
{
    return alq_malloc_words(n_bytes) * (kind == 7 ? 2 : 1);
}

/* ---- without ------------------------------------------------------------- */

static enum alq_status
must_not_run(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    check(0, "it was run", 0);
    return ALQ_OK;
}

static void
none(void)
{
    struct alq_limits l = limits_of_words(1);
    struct alq_outcome out = {.words = 77};
    uint64_t bytes = 5, points;

    CHECK(alq_limit_run(NULL, &l, must_not_run, NULL, &out) == ALQ_ENOHEAP);
    CHECK(out.words == 77);
    CHECK(alq_limit_run(NULL, &l, NULL, NULL, &out) == ALQ_EINVAL);
    CHECK(alq_limit_each_point(NULL, 0, must_not_run, NULL, NULL, &points) ==
          ALQ_ENOHEAP);
    CHECK(alq_malloc_live_bytes(&bytes) == ALQ_ENOHEAP && bytes == 5);
    CHECK(alq_malloc_live_bytes(NULL) == ALQ_EINVAL);
    CHECK(alq_malloc_poll() == ALQ_OK);
    CHECK(alq_is_interrupted(NULL) == 0);
    CHECK(alq_mask_begin(NULL) == 0);
    part("none");
}

/* ---- exactly ------------------------------------------------------------- */

struct sequence {
    uint64_t limit_words, words; /* that it was given */
    void *block[BLOCKS_MAX];
    unsigned n;
};

/* Until a request fails: which must be the one that crosses. */
static enum alq_status
until_refused(struct alq_domain *d, void *arg)
{
    struct sequence *s = arg;

    CHECK(d == NULL);
    while (s->n < BLOCKS_MAX) {
        unsigned kind = draw(REQUESTS);
        size_t n_bytes = 1 + (draw(8) == 0 ? draw(100000) : draw(600));
        uint64_t words = request_words(kind, n_bytes);
        void *p;

        if (kind == 7 && s->words + words > s->limit_words)
            kind = 0, words = request_words(0, n_bytes);
        errno = 0;
        p = request(kind, n_bytes);
        CHECK((p != NULL) == (s->words + words <= s->limit_words));
        if (p == NULL) {
            CHECK(kind == 3 || errno == ENOMEM);
            return ALQ_ENOMEM;
        }
        s->words += words;
        s->block[s->n++] = p;
        if (draw(4) == 0)
            free(s->block[--s->n]);
    }
    return ALQ_OK;
}

static void
sequence_run(void)
{
    struct sequence s = {.limit_words = draw(3) == 0 ? draw(100) : draw(30000)};
    struct alq_limits l = limits_of_words(s.limit_words);
    struct alq_outcome out;
    enum alq_status status = alq_limit_run(NULL, &l, until_refused, &s, &out);

    CHECK(status == (out.task == ALQ_OK ? ALQ_OK : ALQ_ELIMIT));
    CHECK(out.cause == (out.task == ALQ_OK ? ALQ_LIMIT_NOT : ALQ_LIMIT_WORDS));
    CHECK(out.words == s.words);
    while (s.n > 0)
        free(s.block[--s.n]);
}

static void
sequences(const char *name)
{
    for (unsigned i = 0; i < SEQUENCES; i++)
        sequence_run();
    part(name);
}

static int
keep(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)a;
    (void)data;
    return ALQ_TRACK_KEEP;
}

struct alq_profile *
profile_start(double rate)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker tracker = {.alloc_major = keep};
    struct alq_profile *p = NULL;

    c.rate = rate;
    CHECK(alq_memprof_start(NULL, &c, &tracker, &p) == ALQ_OK);
    return p;
}

void
profile_end(struct alq_profile *p)
{
    CHECK(alq_profile_stop(p) == ALQ_OK);
    CHECK(alq_memprof_discard(p) == ALQ_OK);
    alq_profile_drop(p);
}

static _Atomic int is_over;

/* Every start and stop makes all threads draw again. */
static void *
kicks(void *arg)
{
    (void)arg;
    while (!is_over)
        profile_end(profile_start(1e-3));
    return NULL;
}

static struct alq_profile *stopped_within;

static void *
stop_it(void *arg)
{
    (void)arg;
    CHECK(alq_profile_stop(stopped_within) == ALQ_OK);
    return NULL;
}

/* Another thread stops the profile while its callback runs, then the callback
 * allocates. */
static int
allocates_when_stopped(void *arg, const struct alq_allocation *a,
                       uintptr_t *data)
{
    unsigned *n_calls = arg;
    pthread_t id;

    (void)a;
    (void)data;
    ++*n_calls;
    CHECK(pthread_create(&id, NULL, stop_it, NULL) == 0);
    pthread_join(id, NULL);
    free(malloc(1000));
    return ALQ_TRACK_DROP;
}

static void
changes_within(void)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    unsigned n_calls = 0;
    struct alq_tracker tracker = {.alloc_major = allocates_when_stopped,
                                  .arg = &n_calls};

    c.rate = 1;
    CHECK(alq_memprof_start(NULL, &c, &tracker, &stopped_within) == ALQ_OK);
    free(malloc(100));
    free(malloc(100));
    CHECK(n_calls == 1);
    CHECK(alq_memprof_discard(stopped_within) == ALQ_OK);
    alq_profile_drop(stopped_within);
    part("profiles change within a callback");
}

static void
exactly(void)
{
    struct alq_profile *p;
    pthread_t id;

    sequences("exact");
    p = profile_start(1);
    sequences("exact, each word sampled");
    profile_end(p);
    p = profile_start(0.01);
    sequences("exact, many sampled");
    profile_end(p);
    is_over = 0;
    CHECK(pthread_create(&id, NULL, kicks, NULL) == 0);
    sequences("exact, re-armed");
    is_over = 1;
    pthread_join(id, NULL);
}

static void *
sequences_beside(void *arg)
{
    (void)arg;
    for (unsigned i = 0; i < SEQUENCES / 8; i++)
        sequence_run();
    return NULL;
}

static void
threads(void)
{
    enum { THREADS = 8 };
    pthread_t id[THREADS];

    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_create(&id[i], NULL, sequences_beside, NULL) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(id[i], NULL);
    part("threads");
}

/* ---- what fails, and what does not --------------------------------------- */

static enum alq_status
refusals(struct alq_domain *d, void *arg)
{
    char *old = malloc(100), *p;
    void *out = old;

    (void)d;
    (void)arg;
    strcpy(old, "as it was");
    CHECK(malloc(8000) == NULL && errno == ENOMEM);
    CHECK(alq_is_interrupted(NULL));
    CHECK(malloc(1) == NULL); /* from now on, whatever it asks for */
    CHECK(calloc(1, 1) == NULL);
    p = realloc(old, 50);
    CHECK(p == NULL && strcmp(old, "as it was") == 0);
    errno = 0;
    CHECK(posix_memalign(&out, 16, 1) == ENOMEM && errno == 0 && out == old);
    CHECK(strdup("x") == NULL);
    CHECK(alq_malloc_poll() == ALQ_ELIMIT);
    free(old);
    CHECK(realloc(NULL, 1) == NULL);
    return ALQ_OK;
}

static void
refused(void)
{
    struct alq_limits l = limits_of_words(500);
    struct alq_outcome out;
    void *p;

    CHECK(alq_limit_run(NULL, &l, refusals, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.task == ALQ_OK && out.cause == ALQ_LIMIT_WORDS);
    CHECK(out.words == alq_malloc_words(100));
    p = malloc(8000);
    CHECK(p != NULL && !alq_is_interrupted(NULL));
    free(p);
    part("refused");
}

static enum alq_status
frees_by_realloc(struct alq_domain *d, void *arg)
{
    void *p = malloc(80);

    (void)d;
    (void)arg;
    CHECK(malloc(8000) == NULL);
    CHECK(realloc(p, 0) == NULL); /* it frees, whatever the limit */
    return ALQ_OK;
}

static enum alq_status
graceful(struct alq_domain *d, void *arg)
{
    unsigned *n = arg;
    void *p;

    (void)d;
    CHECK(malloc(8000) == NULL);
    while ((p = malloc(72)) != NULL) { /* 10 words */
        (*n)++;
        free(p);
    }
    p = malloc(72);
    CHECK(p != NULL);
    free(p);
    return ALQ_OK;
}

static void
grace(void)
{
    struct alq_limits l = limits_of_words(500);
    unsigned n = 0;

    CHECK(alq_limit_run(NULL, &l, frees_by_realloc, NULL, NULL) == ALQ_ELIMIT);
    l.policy = ALQ_LIMIT_GRACE;
    l.grace_words = 205;
    CHECK(alq_limit_run(NULL, &l, graceful, &n, NULL) == ALQ_ELIMIT);
    CHECK(n == 20);
    part("grace");
}

struct excuses {
    unsigned n_asked, n_given;
    enum alq_limit_cause cause;
};

static enum alq_status
excuse(struct alq_domain *d, void *arg, enum alq_limit_cause cause)
{
    struct excuses *e = arg;
    void *p = malloc(100000);

    CHECK(d == NULL && p != NULL && alq_is_masked(NULL));
    free(p);
    e->cause = cause;
    return e->n_asked++ < e->n_given ? ALQ_OK : ALQ_ELIMIT;
}

static enum alq_status
hundred(struct alq_domain *d, void *arg)
{
    unsigned *n = arg;

    (void)d;
    for (unsigned i = 0; i < 100; i++) {
        void *p = malloc(72);

        *n += p != NULL;
        free(p);
    }
    return ALQ_OK;
}

static void
callback(void)
{
    struct excuses e = {.n_given = 7};
    struct alq_limits l = limits_of_words(500);
    struct alq_outcome out;
    unsigned n = 0;

    l.on_limit = excuse;
    l.on_limit_arg = &e;
    CHECK(alq_limit_run(NULL, &l, hundred, &n, &out) == ALQ_ELIMIT);
    CHECK(n == 50 + 7 && e.n_asked == 50 && e.cause == ALQ_LIMIT_WORDS);
    CHECK(out.words == 570);
    e = (struct excuses){.n_given = 1000};
    l.policy = ALQ_LIMIT_GRACE;
    l.grace_words = 200; /* a warning each 200 words */
    n = 0;
    CHECK(alq_limit_run(NULL, &l, hundred, &n, &out) == ALQ_ELIMIT);
    CHECK(n == 100 && e.n_asked == 3);
    part("callback");
}

/* ---- nested -------------------------------------------------------------- */

static enum alq_status
eats(struct alq_domain *d, void *arg)
{
    uint64_t n = *(uint64_t *)arg;

    (void)d;
    for (; n > 0; n--) {
        void *p = malloc(72);

        if (p == NULL)
            return ALQ_ENOMEM;
        free(p);
    }
    return ALQ_OK;
}

static enum alq_status
outer(struct alq_domain *d, void *arg)
{
    struct alq_limits l = limits_of_words(500);
    struct alq_outcome out;
    uint64_t n = 1000;

    (void)arg;
    CHECK(alq_limit_run(d, &l, eats, &n, &out) == ALQ_ELIMIT);
    CHECK(out.words == 500);
    CHECK(alq_limit_run(d, &l, eats, &n, &out) == ALQ_ELIMIT);
    n = 10;
    CHECK(eats(d, &n) == ALQ_OK); /* 1100 */
    n = 1000;
    l = limits_of_words(5000);
    CHECK(alq_limit_run(d, &l, eats, &n, &out) == ALQ_ELIMIT);
    CHECK(out.words == 300 && out.cause == ALQ_LIMIT_WORDS);
    CHECK(malloc(1) == NULL); /* the outer end was reached, too */
    return ALQ_OK;
}

static void
nested(void)
{
    struct alq_limits l = limits_of_words(1400);
    struct alq_outcome out;

    CHECK(alq_limit_run(NULL, &l, outer, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.words == 1400 && out.cause == ALQ_LIMIT_WORDS);
    part("nested");
}

/* ---- masks --------------------------------------------------------------- */

static enum alq_status
masked(struct alq_domain *d, void *arg)
{
    uint64_t n = 100;
    int was = alq_mask_begin(d);

    (void)arg;
    CHECK(alq_is_masked(d));
    CHECK(eats(d, &n) == ALQ_OK);
    CHECK(alq_is_interrupted(d) == 0 || n == 100);
    CHECK(alq_malloc_poll() == ALQ_OK);
    alq_mask_end(d, was);
    CHECK(malloc(1) == NULL);
    return ALQ_OK;
}

static void
masks(void)
{
    struct alq_limits l = limits_of_words(500);
    struct alq_outcome out;

    CHECK(alq_limit_run(NULL, &l, masked, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.words == 1000);
    part("masks");
}

/* ---- tokens and time ------------------------------------------------------
 */

static void *
sets(void *arg)
{
    alq_token_set(arg);
    return NULL;
}

static enum alq_status
until_stopped(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    for (;;) {
        void *p = malloc(1000);

        if (p == NULL)
            return ALQ_ENOMEM;
        free(p);
    }
}

static enum alq_status
sets_then_eats(struct alq_domain *d, void *arg)
{
    struct alq_token *token = arg;
    pthread_t id;
    unsigned n = 0;
    void *p;

    (void)d;
    CHECK(pthread_create(&id, NULL, sets, token) == 0);
    pthread_join(id, NULL);
    while ((p = malloc(1000)) != NULL && n++ < 1000)
        free(p);
    CHECK(p == NULL && n <= 17); /* 16 KiB */
    return ALQ_OK;
}

static enum alq_status
polls(struct alq_domain *d, void *arg)
{
    (void)d;
    (void)arg;
    while (alq_malloc_poll() == ALQ_OK)
        continue;
    return ALQ_ELIMIT;
}

static void
tokens_and_time(void)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    struct alq_outcome out;

    l.token = alq_token_new();
    CHECK(alq_limit_run(NULL, &l, sets_then_eats, l.token, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_TOKEN);
    CHECK(alq_limit_run(NULL, &l, must_not_run, NULL, &out) == ALQ_ELIMIT);
    alq_token_drop(l.token);
    l.token = NULL;
    l.time_ns = 2000000;
    CHECK(alq_limit_run(NULL, &l, until_stopped, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_TIME && out.time_ns >= l.time_ns);
    CHECK(alq_limit_run(NULL, &l, polls, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_TIME);
    l.time_ns = ALQ_LIMIT_NONE;
    l.cpu_ns = 2000000;
    CHECK(alq_limit_run(NULL, &l, until_stopped, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.cause == ALQ_LIMIT_CPU && out.cpu_ns >= l.cpu_ns);
    part("tokens and time");
}

/* ---- every point --------------------------------------------------------- */

static unsigned n_alive;

static enum alq_status
builds(struct alq_domain *d, void *arg)
{
    char *p, *q = NULL, *r = NULL;

    (void)d;
    (void)arg;
    p = malloc(10);
    if (p == NULL)
        return ALQ_ENOMEM;
    n_alive++;
    q = calloc(3, 7);
    r = q != NULL ? realloc(p, 1000) : NULL;
    p = r != NULL ? r : p;
    free(q);
    free(p);
    n_alive--;
    return r != NULL ? ALQ_OK : ALQ_ENOMEM;
}

static enum alq_status
none_alive(struct alq_domain *d, void *arg, uint64_t passed)
{
    (void)d;
    (void)arg;
    (void)passed;
    return n_alive == 0 ? ALQ_OK : ALQ_ESTATE;
}

static void
each_point(void)
{
    uint64_t points = 0;

    CHECK(alq_limit_each_point(NULL, 0, builds, none_alive, NULL, &points) ==
          ALQ_OK);
    CHECK(points == 3);
    part("each point");
}

/* ---- forks, callbacks ---------------------------------------------------- */

static enum alq_status
forks(struct alq_domain *d, void *arg)
{
    uint64_t n = 20;
    int status;
    pid_t pid;

    (void)arg;
    CHECK(eats(d, &n) == ALQ_OK);
    pid = fork();
    if (pid == 0) {
        n = 30;
        CHECK(eats(d, &n) == ALQ_OK);
        CHECK(malloc(1) == NULL);
        _exit(n_wrong);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    n = 30;
    CHECK(eats(d, &n) == ALQ_OK);
    CHECK(malloc(1) == NULL);
    return ALQ_OK;
}

static unsigned n_called;

static int
runs_limits(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct alq_limits l = limits_of_words(1);
    void *p = malloc(100000);

    (void)arg;
    (void)a;
    (void)data;
    CHECK(p != NULL); /* no callback is refused anything */
    CHECK(alq_malloc_poll() == ALQ_OK);
    CHECK(alq_limit_run(NULL, &l, must_not_run, NULL, NULL) == ALQ_ESTATE);
    free(p);
    n_called++;
    return ALQ_TRACK_DROP;
}

static void
forks_and_callbacks(void)
{
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct alq_tracker tracker = {.alloc_major = runs_limits};
    struct alq_limits l = limits_of_words(500);
    struct alq_profile *p;
    struct alq_outcome out;
    uint64_t n = 60;

    CHECK(alq_limit_run(NULL, &l, forks, NULL, &out) == ALQ_ELIMIT);
    CHECK(out.words == 500);
    c.rate = 1;
    CHECK(alq_memprof_start(NULL, &c, &tracker, &p) == ALQ_OK);
    CHECK(alq_limit_run(NULL, &l, eats, &n, &out) == ALQ_ELIMIT);
    CHECK(out.words == 500 && n_called >= 50);
    profile_end(p);
    part("forks and callbacks");
}

int
main(int argc, char **argv)
{
    static char room[4096];

    setvbuf(stdout, room, _IOLBF, sizeof room);
    if (argc > 1 && strcmp(argv[1], "none") == 0) {
        none();
        return n_failed != 0;
    }
    if (argc > 1 && strcmp(argv[1], "short") == 0)
        n_tasks = 50;
    exactly();
    changes_within();
    threads();
    refused();
    grace();
    callback();
    nested();
    masks();
    tokens_and_time();
    samples_parts();
    each_point();
    forks_and_callbacks();
    leaves_parts();
    return n_failed != 0;
}
