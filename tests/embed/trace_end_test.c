/* trace_end_test.c -- how traces begin and end, and what goes wrong */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "glue/tracing/trace.h"
#include "trace_play.h"

/* ---- ends --------------------------------------------------------------- */

/* The exit status of a child that runs fn. */
static int
in_a_child(void (*fn)(const char *path), const char *path)
{
    pid_t pid;
    int status;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        fn(path);
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void
flushes_and_is_killed(const char *path)
{
    begin(path, 0);
    for (int i = 0; i < 30000; i++) { /* full packets are written unasked */
        play_one();
        if (i == 20000)
            (void)!alq_trace_flush();
    }
    raise(SIGKILL);
}

static void
what_was_flushed_survives(void **state)
{
    const char *path = path_of("killed");
    struct read_trace t;
    int status;

    (void)state;
    source_set(describe);
    status = in_a_child(flushes_and_is_killed, path);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    read_trace(&t, path, true);
    assert_in_range(t.n_allocs, 20001, 30000);
    assert_string_equal(alqi_ctf_reader_error(t.reader), "");
    assert_int_equal(t.n_warnings, 0);
    assert_null(read_text(&t, "end"));
    read_drop(&t);
}

static void
exits(const char *path)
{
    begin(path, 0);
    for (int i = 0; i < 10; i++)
        play_one();
    exit(7);
}

static void
the_process_may_end_it(void **state)
{
    const char *path = path_of("exit");
    struct read_trace t;

    (void)state;
    assert_int_equal(WEXITSTATUS(in_a_child(exits, path)), 7);
    read_trace(&t, path, false);
    assert_int_equal(t.n_allocs, 10);
    assert_non_null(read_text(&t, "end"));
    read_drop(&t);
}

static const struct alq_event heap_end = {.kind = ALQ_EVENT_HEAP_END,
                                          .point = ALQ_EVENT_MOMENT};

static void
the_heap_may_end_it(void **state)
{
    const char *path = path_of("heap-end");
    struct alq_trace_counts c;
    struct read_trace t;

    (void)state;
    begin(path, 0);
    for (int i = 0; i < 10; i++)
        play_one();
    listener->event(listener->arg, &heap_end);
    listener = NULL;
    read_trace(&t, path, false);
    assert_int_equal(t.n_allocs, 10);
    read_drop(&t);
    assert_int_equal(play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, NULL, 0),
                     ALQ_TRACK_DROP); /* too late, and harmless */
    play_collect(&blocks[0]);
    assert_int_equal(alq_trace_stop(NULL), ALQ_ENOTRUN);
    assert_int_equal(alq_trace_count(&c), ALQ_ENOTRUN);
    begin(path, 0);
    assert_int_equal(n_running, 1); /* the old profile was let go */
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
}

/* A child has the parent's trace in memory, but not under way. */
static void
goes_on_in_a_child(const char *path)
{
    (void)path;
    for (int i = 0; i < 5000; i++)
        if (play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, NULL, 0) !=
            ALQ_TRACK_DROP)
            _exit(1);
    play_promote(&blocks[0]);
    play_collect(&blocks[1]);
    if (alq_trace_flush() != ALQ_ENOTRUN || alq_trace_stop(NULL) != ALQ_ENOTRUN)
        _exit(2);
    listener->event(listener->arg, &heap_end); /* not of its trace */
    listener = NULL;
    begin(path_of("child"), 0); /* one of its own */
    play_one();
    exit(3);
}

static void
a_forked_child_writes_nothing(void **state)
{
    const char *path = path_of("fork");
    struct read_trace t;

    (void)state;
    begin(path, 0);
    for (int i = 0; i < 10; i++)
        play_one();
    assert_int_equal(WEXITSTATUS(in_a_child(goes_on_in_a_child, path)), 3);
    for (int i = 0; i < 10; i++)
        play_one();
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    read_trace(&t, path_of("child"), false);
    assert_int_equal(t.n_allocs, 1);
    assert_true(t.pid != (uint64_t)getpid());
    read_drop(&t);
    path = path_of("fork");
    read_trace(&t, path, false);
    assert_int_equal(t.n_allocs, 20);
    assert_int_equal(t.n_promotes + t.n_collects, 0);
    read_drop(&t);
}

/* ---- time --------------------------------------------------------------- */

static uint64_t
bytes_written(void)
{
    struct alq_trace_counts c;

    assert_int_equal(alq_trace_count(&c), ALQ_OK);
    return c.bytes;
}

static void
a_second_later_it_is_written(void **state)
{
    const struct alq_event pause = {.kind = ALQ_EVENT_PAUSE,
                                    .point = ALQ_EVENT_END};
    uint64_t before;

    (void)state;
    begin(path_of("second"), 0);
    before = bytes_written();
    play_one();
    listener->event(listener->arg, &pause);
    assert_true(bytes_written() == before);
    __atomic_fetch_add(&clock_ns, UINT64_C(1100000000), __ATOMIC_RELAXED);
    listener->event(listener->arg, &pause); /* by the heap */
    assert_true(bytes_written() > before);
    before = bytes_written();
    listener->event(listener->arg, &pause);
    assert_true(bytes_written() == before); /* nothing new */
    play_one();
    assert_true(bytes_written() == before);
    __atomic_fetch_add(&clock_ns, UINT64_C(1100000000), __ATOMIC_RELAXED);
    play_one(); /* by an event */
    assert_true(bytes_written() > before);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
}

/* ---- failures ----------------------------------------------------------- */

static void
arguments_are_looked_at(void **state)
{
    struct alq_trace_config c = {.path = path_of("args"), .rate = 0.5};
    struct stat st;

    (void)state;
    assert_int_equal(alq_trace_start_with(&fake_domain, NULL), ALQ_EINVAL);
    assert_int_equal(alq_trace_start(&fake_domain, NULL, 0.5), ALQ_EINVAL);
    assert_int_equal(alq_trace_start(&fake_domain, c.path, 0), ALQ_EINVAL);
    assert_int_equal(alq_trace_start(&fake_domain, c.path, 1.5), ALQ_EINVAL);
    assert_int_equal(alq_trace_start(&fake_domain, c.path, (double)NAN),
                     ALQ_EINVAL);
    c.format = 1;
    assert_int_equal(alq_trace_start_with(&fake_domain, &c), ALQ_EINVAL);
    assert_int_equal(alq_trace_start(&fake_domain, "/nowhere/x", 0.5), ALQ_EIO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(alq_trace_start(&fake_domain, "/tmp", 0.5), ALQ_EIO);
    assert_int_equal(errno, EISDIR);
    start_status = ALQ_EBUSY;
    assert_int_equal(alq_trace_start(&fake_domain, c.path, 0.5), ALQ_EBUSY);
    start_status = ALQ_OK;
    assert_int_equal(stat(c.path, &st), -1); /* no trace of nothing */
    assert_null(listener);
    assert_int_equal(alq_trace_stop(NULL), ALQ_ENOTRUN);
    assert_int_equal(alq_trace_flush(), ALQ_ENOTRUN);
    assert_int_equal(alq_trace_count(NULL), ALQ_EINVAL);
    begin(c.path, 0);
    assert_true(started.callstack_frames == SIZE_MAX && started.rate == 0.01 &&
                started.flags == ALQ_MEMPROF_BESIDE);
    assert_int_equal(alq_trace_start(&fake_domain, c.path, 0.5), ALQ_EBUSY);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
}

static void
tries_the_same_file(const char *path)
{
    /* In a process of its own: a child's memory says that a trace runs. */
    if (alq_trace_stop(NULL) != ALQ_ENOTRUN ||
        alq_trace_start(&fake_domain, path, 0.5) != ALQ_EBUSY ||
        errno != EAGAIN)
        _exit(1);
}

static void
two_processes_do_not_write_one_file(void **state)
{
    const char *path = path_of("locked");
    struct read_trace t;

    (void)state;
    begin(path, 0);
    play_one();
    listener = NULL; /* so that the child may begin */
    assert_int_equal(in_a_child(tries_the_same_file, path), 0);
    assert_int_equal(alq_trace_stop(NULL), ALQ_OK);
    read_trace(&t, path, false);
    assert_int_equal(t.n_allocs, 1);
    read_drop(&t);
}

/* stderr of the child that runs fn, and its status. */
static int
what_is_said(void (*fn)(const char *path), const char *path, char *text,
             size_t size)
{
    int fds[2], status, saved = dup(2);
    ssize_t n, at = 0;

    assert_int_equal(pipe(fds), 0);
    dup2(fds[1], 2);
    status = in_a_child(fn, path);
    dup2(saved, 2);
    close(saved);
    close(fds[1]);
    while ((n = read(fds[0], text + at, size - 1 - (size_t)at)) > 0)
        at += n;
    text[at] = '\0';
    close(fds[0]);
    return status;
}

static unsigned
n_lines(const char *text)
{
    unsigned n = 0;

    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

static void
meets_a_full_disk(const char *path)
{
    if (alq_trace_start(&fake_domain, path, 0.5) != ALQ_EIO || errno != ENOSPC)
        _exit(1);
}

static void
writes_past_the_limit(const char *path)
{
    struct rlimit limit = {100000, 100000};
    struct alq_trace_counts c;
    struct stat st;

    setrlimit(RLIMIT_FSIZE, &limit);
    begin(path, 0);
    for (int i = 0; i < 40000; i++)
        play_one();
    if (n_blocks == 0 || n_blocks >= 40000)
        _exit(1);
    play_collect(&blocks[0]); /* of no use any more, and harmless */
    if (alq_trace_stop(&c) != ALQ_EIO || errno != EFBIG)
        _exit(2);
    if (stat(path, &st) != 0 || (uint64_t)st.st_size != c.bytes)
        _exit(3);
    if (c.allocations != 40000 || c.collections != 1 || c.dropped == 0 ||
        c.dropped > 40001)
        _exit(4);
    /* For the parent, who reads the file. */
    printf("%llu\n",
           (unsigned long long)(c.allocations + c.collections - c.dropped));
    fflush(stdout);
}

static void
without_room_the_program_goes_on(void **state)
{
    const char *path = path_of("full");
    char text[2000], count[40] = "";
    int saved = dup(1), fds[2], status;
    struct read_trace t;

    (void)state;
    status = what_is_said(meets_a_full_disk, "/dev/full", text, sizeof text);
    assert_int_equal(status, 0);
    assert_string_equal(text, ""); /* the caller was told */

    assert_int_equal(pipe(fds), 0);
    dup2(fds[1], 1);
    status = what_is_said(writes_past_the_limit, path, text, sizeof text);
    dup2(saved, 1);
    close(saved);
    close(fds[1]);
    assert_int_equal(status, 0);
    assert_int_equal(n_lines(text), 1); /* said once */
    assert_non_null(strstr(text, "the trace ends here"));
    assert_true(read(fds[0], count, sizeof count - 1) > 0);
    close(fds[0]);
    read_trace(&t, path, true); /* its whole packets */
    assert_int_equal(t.n_warnings, 0);
    assert_true(t.n_allocs + t.n_collects == strtoull(count, NULL, 10));
    assert_true(t.n_allocs > 1000);
    read_drop(&t);
}

static void
writes_into_a_pipe(const char *path)
{
    struct alq_trace_counts c;
    int reader = open(path, O_RDONLY | O_NONBLOCK);

    begin(path, 0);
    close(reader);
    for (int i = 0; i < 20000; i++)
        play_one();
    if (alq_trace_stop(&c) != ALQ_EIO || errno != EPIPE || c.dropped != 20000)
        _exit(1);
}

static void
a_pipe_that_nobody_reads_kills_nobody(void **state)
{
    const char *path = path_of("pipe");
    char text[2000];

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(what_is_said(writes_into_a_pipe, path, text, sizeof text),
                     0);
    assert_int_equal(n_lines(text), 1);
}

/* The n-th allocation fails, for each n: a trace is short of events then, but
 * never wrong, and counts them. */
static void
memory_may_be_short_anywhere(void **state)
{
    const char *path = path_of("short");
    unsigned n_short = 0, n_refused = 0;
    int null = open("/dev/null", O_WRONLY), saved = dup(2);

    (void)state;
    dup2(null, 2);
    for (long k = 0;; k++) {
        struct alq_trace_config c = {
            .path = path, .rate = 0.5, .format = k % 2 == 0 ? 2 : 3};
        struct alq_trace_counts counts;
        uintptr_t frames[FRAMES_MAX];
        struct read_trace t;
        enum alq_status status;
        bool was_reached;

        n_blocks = 0;
        seed = 3;
        fail_in = k;
        status = alq_trace_start_with(&fake_domain, &c);
        if (status != ALQ_OK) {
            fail_in = -1;
            assert_int_equal(status, ALQ_ENOMEM);
            n_refused++;
            continue;
        }
        for (int i = 0; i < 60; i++) {
            self = 1 + i % 3;
            play_alloc(true, ALQ_SOURCE_NORMAL, 1, 1, frames,
                       random_stack(frames));
        }
        self = 1;
        was_reached = fail_in < 0;
        fail_in = -1;
        (void)alq_trace_stop(&counts);
        assert_true(counts.allocations == 60);
        read_trace(&t, path, false);
        assert_true(t.n_allocs + counts.dropped == 60);
        read_drop(&t);
        n_short += counts.dropped > 0;
        if (!was_reached)
            break;
    }
    dup2(saved, 2);
    close(saved);
    close(null);
    assert_true(n_refused > 0 && n_short > 0);
}

/* ---- several at once ---------------------------------------------------- */

enum { THREADS = 4, THREAD_EVENTS = 8000 };

static void *
play_thread(void *arg)
{
    uintptr_t data[16] = {0};
    uint64_t rng = (uint64_t)(uintptr_t)arg;

    self = (uint64_t)(uintptr_t)arg;
    for (unsigned i = 0; i < THREAD_EVENTS; i++) {
        uintptr_t frames[8];
        struct alq_allocation a = {.n_samples = 1, .size_words = i % 30};
        uintptr_t *at = &data[i % 16];

        rng = alqi_base_mix(rng + i);
        if (*at != 0)
            tracker.dealloc_minor(tracker.arg, *at);
        *at = 0;
        for (unsigned k = 0; k < 8; k++)
            frames[k] = 0x1000 + k * 256 + (rng >> k * 4) % 4;
        a.callstack = (struct alq_callstack){frames, 8};
        if (tracker.alloc_minor(tracker.arg, &a, at) != ALQ_TRACK_KEEP)
            *at = 0;
    }
    return NULL;
}

static void
threads_at_once(unsigned format)
{
    const char *path = path_of("threads");
    struct alq_trace_counts counts;
    pthread_t thread[THREADS];
    struct read_trace t;

    source_set(describe);
    begin(path, format);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, play_thread, (void *)(i + 1)), 0);
    for (int i = 0; i < 20; i++)
        assert_int_equal(alq_trace_flush(), ALQ_OK);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(alq_trace_stop(&counts), ALQ_OK);
    read_trace(&t, path, false);
    assert_true(t.n_allocs == THREADS * THREAD_EVENTS && counts.dropped == 0);
    compare_counts(&t, &counts);
    read_drop(&t);
}

static void
domains_may_write_at_once(void **state)
{
    (void)state;
    threads_at_once(2);
    threads_at_once(3);
}

/* The program ends the trace while others allocate. */
static void
it_may_end_under_their_hands(void **state)
{
    pthread_t thread[THREADS];
    struct read_trace t;

    (void)state;
    for (int round = 0; round < 20; round++) {
        struct alq_trace_counts c = {0};

        begin(path_of("ends"), round % 2 == 0 ? 2 : 3);
        for (uintptr_t i = 0; i < THREADS; i++)
            assert_int_equal(
                pthread_create(&thread[i], NULL, play_thread, (void *)(i + 1)),
                0);
        while (c.allocations < (uint64_t)round * 1000)
            assert_int_equal(alq_trace_count(&c), ALQ_OK);
        assert_int_equal(alq_trace_stop(&c), ALQ_OK);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        read_trace(&t, path_of("ends"), false);
        /* Those that came too late are counted. */
        assert_true(t.n_allocs + t.n_collects ==
                    c.allocations + c.collections - c.dropped);
        read_drop(&t);
    }
}

/* ---- by the environment ------------------------------------------------- */

static double rate_wanted;

static void
begins_by_environment(const char *path)
{
    (void)path;
    alqi_glue_trace_begin(&fake_domain);
    if ((getenv("MEMTRACE") != NULL || getenv("MEMTRACE_RATE") != NULL ||
         getenv("MEMTRACE_FORMAT") != NULL) &&
        alq_trace_flush() == ALQ_OK)
        _exit(9); /* its children would write the same file */
    if (alq_trace_flush() != ALQ_OK)
        _exit(1);
    if (started.rate != rate_wanted)
        _exit(2);
    play_one();
    exit(0);
}

static void
the_environment_may_ask_for_it(void **state)
{
    static const struct {
        const char *path, *rate, *format;
        int status;
        const char *said;
    } rows[] = {
        {"env.%p", "0.25", NULL, 0, ""},
        {"env.%p", "0.25", "3", 0, ""},
        {"env.%p", "", NULL, 0, ""},
        {"no/such", "0.25", NULL, 1, "No such file"},
        {"env", "2", NULL, 1, "MEMTRACE_RATE=2"},
        {"env", "0.1x", NULL, 1, "MEMTRACE_RATE=0.1x"},
        {"env", "0.25", "4", 1, "MEMTRACE_FORMAT=4"},
        {"/dev/full", "0.25", NULL, 1, "No space left"},
    };

    (void)state;
    for (size_t i = 0; i < ALQI_COUNT_OF(rows); i++) {
        char path[300], text[2000];

        snprintf(path, sizeof path, "%s",
                 rows[i].path[0] == '/' ? rows[i].path : path_of(rows[i].path));
        setenv("MEMTRACE", path, 1);
        setenv("MEMTRACE_RATE", rows[i].rate, 1);
        rate_wanted = rows[i].rate[0] == '\0' ? 1e-6 : 0.25;
        if (rows[i].format != NULL)
            setenv("MEMTRACE_FORMAT", rows[i].format, 1);
        else
            unsetenv("MEMTRACE_FORMAT");
        assert_int_equal(WEXITSTATUS(what_is_said(begins_by_environment, path,
                                                  text, sizeof text)),
                         rows[i].status);
        assert_int_equal(n_lines(text), rows[i].status);
        assert_non_null(strstr(text, rows[i].said));
    }
    unsetenv("MEMTRACE");
    unsetenv("MEMTRACE_RATE");
    unsetenv("MEMTRACE_FORMAT");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_environment_may_ask_for_it),
        cmocka_unit_test(what_was_flushed_survives),
        cmocka_unit_test(the_process_may_end_it),
        cmocka_unit_test(the_heap_may_end_it),
        cmocka_unit_test(a_forked_child_writes_nothing),
        cmocka_unit_test(a_second_later_it_is_written),
        cmocka_unit_test(arguments_are_looked_at),
        cmocka_unit_test(two_processes_do_not_write_one_file),
        cmocka_unit_test(without_room_the_program_goes_on),
        cmocka_unit_test(a_pipe_that_nobody_reads_kills_nobody),
        cmocka_unit_test(memory_may_be_short_anywhere),
        cmocka_unit_test(domains_may_write_at_once),
        cmocka_unit_test(it_may_end_under_their_hands),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
