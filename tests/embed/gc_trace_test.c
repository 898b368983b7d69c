/* gc_trace_test.c -- a recording of the collector against what was heard */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe_kit.h"
#include "heap/event.h"
#include "plat/plat.h"
#include "wire/gctrace.h"

static const uint64_t SECOND_NS = 1000000000;
static char dir[] = "/tmp/aliquot-gc-trace-XXXXXX";

static const char *
path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", dir, name);
    unlink(path);
    return path;
}

static uint8_t *
read_file(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    bytes = malloc(*n + 1);
    assert_non_null(bytes);
    rewind(file);
    assert_int_equal(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

struct recorded {
    uint64_t n_events;
    uint64_t n_lost;
    bool is_cut; /* the file ends within a chunk */
};

/* The next event of the track that was heard, from *at on. */
static const struct alq_event *
next_heard(size_t *at, uint32_t track)
{
    while (*at < heard.n && track_of(&heard.events[*at]) != track)
        ++*at;
    return *at < heard.n ? &heard.events[(*at)++] : NULL;
}

static void
compare_chunk(const struct alqi_gctrace_chunk *c, const uint8_t *bytes,
              size_t *at, struct recorded *out)
{
    struct alqi_gctrace_decoder dec = {bytes, bytes + c->n_bytes, NULL,
                                       c->start_ns};
    struct alqi_gctrace_event e;
    uint32_t i;
    int got;

    for (i = 0; i < c->n_lost && heard.n > 0; i++)
        assert_non_null(next_heard(at, c->track));
    while ((got = alqi_gctrace_next(&dec, &e)) > 0) {
        const struct alq_event *h = next_heard(at, c->track);

        out->n_events++;
        if (heard.n == 0)
            continue;
        assert_non_null(h);
        assert_int_equal(e.kind, h->kind);
        assert_int_equal(e.point, h->point);
        assert_true(e.time_ns == h->time_ns);
        assert_memory_equal(e.values, h->values, sizeof e.values);
    }
    assert_int_equal(got, 0);
}

/* Against what was heard, if anything. */
static struct recorded
compare(const char *path)
{
    struct recorded out = {0};
    struct alqi_gctrace_header h;
    struct alqi_gctrace_chunk c;
    size_t n, at = ALQI_GCTRACE_HEADER_BYTES, heard_at[TRACKS] = {0};
    uint8_t *bytes = read_file(path, &n);

    assert_true(n >= at);
    assert_null(alqi_gctrace_get_header(bytes, &h));
    assert_int_equal(h.pid, getpid());
    while (at + ALQI_GCTRACE_CHUNK_HEADER_BYTES <= n) {
        assert_null(alqi_gctrace_get_chunk(bytes + at, &c));
        at += ALQI_GCTRACE_CHUNK_HEADER_BYTES;
        if (c.n_bytes > n - at)
            break;
        assert_true(c.track < TRACKS);
        out.n_lost += c.n_lost;
        compare_chunk(&c, bytes + at, &heard_at[c.track], &out);
        at += c.n_bytes;
    }
    out.is_cut = at != n;
    free(bytes);
    return out;
}

static void
a_recording_has_what_was_heard(void **state)
{
    const char *path = path_of("all");
    uint64_t n_lost = 99;
    struct recorded r;

    (void)state;
    listen(0);
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    churn(300000);
    assert_int_equal(alq_gc_full_major(domain), ALQ_OK);
    assert_int_equal(alq_gc_trace_stop(domain, &n_lost), ALQ_OK);
    listen_no_more();
    assert_int_equal(n_lost, 0);
    r = compare(path);
    assert_true(r.n_events == heard.n && r.n_lost == 0 && !r.is_cut);
    assert_true(heard.n > 1000);
}

/* One pause with more events than a buffer holds. */
static void
loss_is_counted(void **state)
{
    const char *path = path_of("lost");
    uint64_t n_lost = 0;
    struct recorded r;
    int i;

    (void)state;
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    alqi_heap_entry_begin(alqi_heap_domain(domain));
    for (i = 0; i < 20000; i++)
        assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    alqi_heap_entry_end(alqi_heap_domain(domain));
    assert_int_equal(alq_gc_trace_stop(domain, &n_lost), ALQ_OK);
    assert_true(n_lost > 10000);
    heard.n = 0; /* events are only counted here */
    r = compare(path);
    assert_true(r.n_lost == n_lost && !r.is_cut);
    assert_true(r.n_events > 1000);
}

static void
starts_and_stops_are_checked(void **state)
{
    char other[200];
    uint64_t n;
    FILE *file;

    (void)state;
    snprintf(other, sizeof other, "%s", path_of("other"));
    assert_int_equal(alq_gc_trace_start(NULL, other), ALQ_EINVAL);
    assert_int_equal(alq_gc_trace_start(domain, NULL), ALQ_EINVAL);
    assert_int_equal(alq_gc_trace_stop(NULL, &n), ALQ_EINVAL);
    assert_int_equal(alq_gc_trace_stop(domain, &n), ALQ_ENOTRUN);
    assert_int_equal(alq_gc_trace_start(domain, "/nowhere/at/all"), ALQ_EIO);
    assert_int_equal(errno, ENOENT);
    file = fopen(other, "w");
    fclose(file);
    assert_int_equal(alq_gc_trace_start(domain, other), ALQ_EEXIST);
    unlink(other);
    assert_int_equal(alq_gc_trace_start(domain, other), ALQ_OK);
    assert_int_equal(alq_gc_trace_start(domain, path_of("third")), ALQ_EBUSY);
    assert_int_equal(access(path_of("third"), F_OK), -1);
    assert_int_equal(alq_gc_trace_stop(domain, NULL), ALQ_OK);
    assert_int_equal(alq_gc_trace_stop(domain, NULL), ALQ_ENOTRUN);
}

static void
a_full_disk_ends_the_recording(void **state)
{
    const char *path = path_of("full");
    struct rlimit old, small = {20000, RLIM_INFINITY};
    uint64_t n_lost = 0;
    struct recorded r;

    (void)state;
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    listen(0);
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    setrlimit(RLIMIT_FSIZE, &small);
    churn(600000);
    while (heard.n < 8000)
        assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    setrlimit(RLIMIT_FSIZE, &old);
    errno = 0;
    assert_int_equal(alq_gc_trace_stop(domain, &n_lost), ALQ_EIO);
    assert_int_equal(errno, EFBIG);
    listen_no_more();
    r = compare(path);
    assert_true(n_lost > 0 && r.n_events + n_lost == heard.n);
    assert_true(r.n_events > 100 && r.is_cut);
}

static void
a_child_leaves_the_file_alone(void **state)
{
    const char *path = path_of("fork");
    struct recorded r;
    int status;
    pid_t child;

    (void)state;
    listen(0);
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    churn(1000);
    fflush(NULL);
    child = fork();
    if (child == 0) {
        churn(300000);
        exit(0); /* its destructors run */
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    churn(1000);
    assert_int_equal(alq_gc_trace_stop(domain, NULL), ALQ_OK);
    listen_no_more();
    r = compare(path);
    assert_true(r.n_events == heard.n && r.n_lost == 0 && !r.is_cut);
}

static void
the_end_of_the_heap_ends_it(void **state)
{
    const char *path = path_of("end");
    struct recorded r;

    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    churn(1000);
    assert_int_equal(teardown(state), 0);
    heard.n = 0;
    r = compare(path);
    assert_true(r.n_events > 0 && !r.is_cut);
    assert_int_equal(setup(state), 0);
    assert_int_equal(alq_gc_trace_stop(domain, NULL), ALQ_ENOTRUN);
}

/* What the clock says; 0: it goes as the system's. */
static uint64_t stands_at_ns;
/* A thread that reads the clock has to wait until it may go on. */
static __thread bool is_held;
static sem_t is_there, may_go;

uint64_t __real_alqi_plat_mono_ns_sigsafe(void);
uint64_t __wrap_alqi_plat_mono_ns_sigsafe(void);

uint64_t
__wrap_alqi_plat_mono_ns_sigsafe(void)
{
    uint64_t at_ns = __atomic_load_n(&stands_at_ns, __ATOMIC_RELAXED);

    if (is_held) {
        is_held = false;
        sem_post(&is_there);
        while (sem_wait(&may_go) != 0)
            continue;
    }
    return at_ns != 0 ? at_ns : __real_alqi_plat_mono_ns_sigsafe();
}

static void
clock_set(uint64_t at_ns)
{
    __atomic_store_n(&stands_at_ns, at_ns, __ATOMIC_RELAXED);
}

/* A start that cannot write its file. */
static void *
start_held(void *path)
{
    is_held = true;
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_EIO);
    return NULL;
}

/* The thread that holds the recorder's lock is not in the child. */
static void
a_child_records_whatever_its_parent_was_at(void **state)
{
    char held[200];
    struct rlimit old, none = {0, 0};
    pthread_t thread;
    pid_t child;
    int status;

    (void)state;
    strcpy(held, path_of("held"));
    sem_init(&is_there, 0, 0);
    sem_init(&may_go, 0, 0);
    assert_int_equal(pthread_create(&thread, NULL, start_held, held), 0);
    while (sem_wait(&is_there) != 0)
        continue;
    fflush(NULL);
    child = fork();
    if (child == 0) {
        alarm(900);
        _exit(alq_gc_trace_start(domain, path_of("child")) != ALQ_OK ||
              alq_gc_trace_stop(domain, NULL) != ALQ_OK);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    getrlimit(RLIMIT_FSIZE, &old);
    none.rlim_max = old.rlim_max;
    setrlimit(RLIMIT_FSIZE, &none);
    sem_post(&may_go);
    pthread_join(thread, NULL);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, 0);
}

/* A process may be killed: half a buffer may be hours of its life. */
static void
what_is_a_second_old_is_written(void **state)
{
    uint64_t begun_ns = __real_alqi_plat_mono_ns_sigsafe();
    const char *path = path_of("old");
    uint64_t n_heard;

    (void)state;
    clock_set(begun_ns);
    listen(0);
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    n_heard = heard.n;
    clock_set(begun_ns + SECOND_NS);
    assert_int_equal(alq_gc_minor(domain), ALQ_OK);
    clock_set(0);
    listen_no_more();
    assert_true(compare(path).n_events >= n_heard);
    assert_int_equal(alq_gc_trace_stop(domain, NULL), ALQ_OK);
}

static alq_value
collect_once(struct alq_domain *d, alq_value arg, void *data)
{
    (void)data;
    assert_int_equal(alq_gc_minor(d), ALQ_OK);
    return arg;
}

/* Nobody would come to it any more. */
static void
what_a_domain_did_is_written_at_its_end(void **state)
{
    const char *path = path_of("domain");
    struct alq_child *child;
    struct stat st;

    (void)state;
    assert_int_equal(alq_gc_trace_start(domain, path), ALQ_OK);
    assert_int_equal(
        alq_domain_spawn(domain, collect_once, ALQ_UNIT, NULL, NULL, &child),
        ALQ_OK);
    assert_int_equal(alq_domain_join(domain, child, NULL), ALQ_OK);
    alq_child_drop(child);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > ALQI_GCTRACE_HEADER_BYTES);
    assert_int_equal(alq_gc_trace_stop(domain, NULL), ALQ_OK);
}

/* e in ALIQUOTPARAM: half a buffer is written, of 4 KiB or 64; or what is a
 * second old, which nothing is. */
static off_t
bytes_after_minors(const char *params, unsigned n)
{
    const char *path = path_of("e");
    struct alq_domain *on;
    struct stat st;

    setenv("ALIQUOTPARAM", params, 1);
    assert_int_equal(alq_domain_new(NULL, &on), ALQ_OK);
    unsetenv("ALIQUOTPARAM");
    clock_set(__real_alqi_plat_mono_ns_sigsafe());
    assert_int_equal(alq_gc_trace_start(on, path), ALQ_OK);
    while (n-- > 0)
        assert_int_equal(alq_gc_minor(on), ALQ_OK);
    clock_set(0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(alq_gc_trace_stop(on, NULL), ALQ_OK);
    assert_int_equal(alq_domain_drop(on), ALQ_OK);
    return st.st_size;
}

static void
e_is_the_size_of_buffers(void **state)
{
    (void)state;
    assert_true(bytes_after_minors("e=9", 150) > ALQI_GCTRACE_HEADER_BYTES);
    assert_true(bytes_after_minors("e=13", 150) == ALQI_GCTRACE_HEADER_BYTES);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_recording_has_what_was_heard),
        TEST(loss_is_counted),
        TEST(starts_and_stops_are_checked),
        TEST(a_full_disk_ends_the_recording),
        TEST(a_child_leaves_the_file_alone),
        TEST(the_end_of_the_heap_ends_it),
        TEST(what_is_a_second_old_is_written),
        TEST(a_child_records_whatever_its_parent_was_at),
        TEST(what_a_domain_did_is_written_at_its_end),
        cmocka_unit_test(e_is_the_size_of_buffers),
    };
    int failed;

    if (mkdtemp(dir) == NULL)
        return 1;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    path_of("all"), path_of("lost"), path_of("other"), path_of("third");
    path_of("full"), path_of("fork"), path_of("end"), path_of("e"),
        path_of("old"), path_of("domain"), path_of("held"), path_of("child");
    rmdir(dir);
    return failed;
}
