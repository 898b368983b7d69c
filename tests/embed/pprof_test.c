/* pprof_test.c -- <aliquot/pprof.h>: descriptors that fail, moments, caps,
 * children, threads, ends; what is in a profile tests/fleet looks at */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "gc_kit.h"

enum {
    PROFILE_BYTES = 8 << 20,
    WORDS = 4,
    ROUNDS = IS_HARD ? 50 : 2000,
    DEPTHS = 300
};

/* What a profile says in all. */
struct sums {
    unsigned n_samples;
    int64_t values[4];
    bool has_other;
};

static struct alq_pprof *pprof;

static int
open_counted(void **state)
{
    const struct alq_pprof_config every = {.rate = 1};

    if (setup(state) != 0)
        return -1;
    return alq_pprof_start(d, &every, &pprof) != ALQ_OK;
}

static int
close_counted(void **state)
{
    alq_pprof_drop(pprof);
    pprof = NULL;
    return teardown(state);
}

/* ---- reading a profile ----------------------------------------------------
 */

static uint32_t
crc_of(const uint8_t *bytes, size_t n)
{
    uint32_t crc = UINT32_MAX;

    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (unsigned k = 0; k < 8; k++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

static uint32_t
little(const uint8_t *at, unsigned n)
{
    uint32_t value = 0;

    while (n-- > 0)
        value = value << 8 | at[n];
    return value;
}

/* Takes stored gzip apart, in place; returns the bytes. */
static size_t
unpack(uint8_t *bytes, size_t n)
{
    size_t at = 10, to = 0;
    bool is_last = false;

    assert_true(n > 18);
    assert_memory_equal(bytes, "\x1F\x8B\x08\0\0\0\0\0\0\xFF", 10);
    while (!is_last) {
        size_t length = little(bytes + at + 1, 2);

        assert_in_range(bytes[at], 0, 1);
        assert_int_equal(length ^ 0xFFFF, little(bytes + at + 3, 2));
        is_last = bytes[at] == 1;
        at += 5;
        assert_true(at + length + 8 <= n);
        memmove(bytes + to, bytes + at, length);
        to += length;
        at += length;
    }
    assert_int_equal(at + 8, n);
    assert_int_equal(crc_of(bytes, to), little(bytes + at, 4));
    assert_int_equal(to, little(bytes + at + 4, 4));
    return to;
}

static uint64_t
varint(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;

    do
        value |= (uint64_t)(**at & 127) << shift;
    while (shift += 7, *(*at)++ >= 128);
    return value;
}

static void
sample_add(struct sums *s, const uint8_t *at, const uint8_t *end)
{
    s->n_samples++;
    while (at < end) {
        uint64_t tag = varint(&at), n = varint(&at);
        const uint8_t *next = at + n;

        for (unsigned i = 0; tag >> 3 == 2 && at < next; i++)
            s->values[i] += (int64_t)varint(&at);
        at = next;
    }
}

static struct sums
sums_of(uint8_t *bytes, size_t n)
{
    const uint8_t *at = bytes, *end = bytes + unpack(bytes, n);
    struct sums s = {0};

    while (at < end) {
        uint64_t tag = varint(&at), length = varint(&at);

        if ((tag & 7) != 2)
            continue; /* a number, read as the length */
        if (tag >> 3 == 2)
            sample_add(&s, at, at + length);
        if (tag >> 3 == 6 && length == 7 && memcmp(at, "[other]", 7) == 0)
            s.has_other = true;
        at += length;
    }
    assert_ptr_equal(at, end);
    return s;
}

static struct sums
written(struct alq_pprof *p, enum alq_pprof_kind kind,
        struct alq_pprof_since *since)
{
    int fd = memfd_create("profile", MFD_CLOEXEC);
    uint8_t *bytes = malloc(PROFILE_BYTES);
    struct sums s;
    ssize_t n;

    assert_true(fd >= 0);
    assert_int_equal(alq_pprof_write(p, fd, kind, since), ALQ_OK);
    n = pread(fd, bytes, PROFILE_BYTES, 0);
    assert_in_range(n, 1, PROFILE_BYTES - 1);
    s = sums_of(bytes, (size_t)n);
    free(bytes);
    close(fd);
    return s;
}

/* ---- a program ------------------------------------------------------------
 */

__attribute__((noinline)) static void
blocks_make(int n)
{
    for (int i = 0; i < n; i++)
        assert_false(alq_is_null(alq_alloc(d, WORDS, 0)));
}

/* A stack of its own for each depth. */
__attribute__((noinline)) static void
deep(int depth)
{
    if (depth == 0)
        blocks_make(1);
    else
        deep(depth - 1);
    __asm__ volatile("" ::: "memory"); /* no loop in its place */
}

static void
settle(void)
{
    assert_int_equal(alq_gc_full_major(d), ALQ_OK);
    assert_int_equal(alq_memprof_flush(d, NULL), ALQ_OK);
}

static void
counts_what_is_made_and_what_is_left(void **state)
{
    struct alq_pprof_since *since;
    struct sums s;

    (void)state;
    {
        ALQ_FRAME(d, f, kept);

        f.kept = alq_alloc(d, WORDS, 0);
        blocks_make(ROUNDS);
        settle();
        s = written(pprof, ALQ_PPROF_HEAP, NULL);
        assert_int_equal(s.values[0], ROUNDS + 1);
        assert_int_equal(s.values[1], (ROUNDS + 1) * (WORDS + 1) * 8);
        assert_int_equal(s.values[2], 1);
        assert_int_equal(s.values[3], (WORDS + 1) * 8);
        assert_false(s.has_other);
        assert_int_equal(alq_pprof_since_new(pprof, &since), ALQ_OK);
    }
    settle();
    s = written(pprof, ALQ_PPROF_ALLOCS, since); /* moves it */
    assert_int_equal(s.values[0], 0);
    assert_int_equal(s.values[2], -1);
    s = written(pprof, ALQ_PPROF_HEAP, since);
    assert_int_equal(s.n_samples, 0);
    alq_pprof_since_drop(since);
}

static void
stacks_beyond_the_most_are_one(void **state)
{
    const struct alq_pprof_config few = {.rate = 1, .max_stacks = 10};
    struct alq_pprof *small;
    struct sums s, all;

    (void)state;
    assert_int_equal(alq_pprof_start(d, &few, &small), ALQ_OK);
    for (int i = 0; i < DEPTHS; i++)
        deep(i % 100);
    settle();
    s = written(small, ALQ_PPROF_HEAP, NULL);
    all = written(pprof, ALQ_PPROF_HEAP, NULL);
    assert_int_equal(s.n_samples, 11);
    assert_true(s.has_other);
    assert_true(all.n_samples >= 50);
    assert_false(all.has_other);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(s.values[i], all.values[i]);
    alq_pprof_drop(small);
}

static void
frames_beyond_the_most_are_cut(void **state)
{
    const struct alq_pprof_config flat = {.rate = 1, .callstack_frames = 1};
    struct alq_pprof *small;

    (void)state;
    assert_int_equal(alq_pprof_start(d, &flat, &small), ALQ_OK);
    for (int i = 0; i < 20; i++)
        deep(i);
    assert_int_equal(written(small, ALQ_PPROF_HEAP, NULL).n_samples, 1);
    alq_pprof_drop(small);
}

/* ---- descriptors ----------------------------------------------------------
 */

static void
a_failed_write_moves_no_moment(void **state)
{
    struct alq_pprof_since *since;
    int ends[2], full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    (void)state;
    assert_int_equal(alq_pprof_since_new(pprof, &since), ALQ_OK);
    blocks_make(ROUNDS);
    assert_true(full >= 0);
    assert_int_equal(alq_pprof_write(pprof, full, ALQ_PPROF_DELTA_HEAP, since),
                     ALQ_EIO);
    assert_int_equal(errno, ENOSPC);
    close(full);
    /* A socket whose reader has gone, with SIGPIPE as it is by default. */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[1]);
    assert_int_equal(
        alq_pprof_write(pprof, ends[0], ALQ_PPROF_DELTA_HEAP, since), ALQ_EIO);
    assert_int_equal(errno, EPIPE);
    close(ends[0]);
    assert_int_equal(written(pprof, ALQ_PPROF_DELTA_HEAP, since).values[0],
                     ROUNDS);
    assert_int_equal(written(pprof, ALQ_PPROF_DELTA_HEAP, since).values[0], 0);
    alq_pprof_since_drop(since);
}

struct reader {
    int fd;
    uint8_t *bytes;
    size_t n;
};

/* Reads little by little. */
static void *
read_slowly(void *arg)
{
    struct reader *r = arg;
    ssize_t k;

    while ((k = read(r->fd, r->bytes + r->n, 100)) > 0)
        r->n += (size_t)k;
    return NULL;
}

static void
a_pipe_that_does_not_block_is_waited_for(void **state)
{
    struct reader r = {.bytes = malloc(PROFILE_BYTES)};
    pthread_t thread;
    int ends[2];

    (void)state;
    for (int i = 0; i < 3000; i++)
        deep(i % 100);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 4096);
    r.fd = ends[0];
    assert_int_equal(pthread_create(&thread, NULL, read_slowly, &r), 0);
    assert_int_equal(alq_pprof_write(pprof, ends[1], ALQ_PPROF_HEAP, NULL),
                     ALQ_OK);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    assert_true(r.n > 4096);
    assert_int_equal(sums_of(r.bytes, r.n).values[0], 3000);
    free(r.bytes);
}

/* ---- ends -----------------------------------------------------------------
 */

static void
a_child_has_none(void **state)
{
    pid_t child;
    int status;

    (void)state;
    blocks_make(10);
    assert_int_equal(alq_fork(d, &child), ALQ_OK);
    if (child == 0) {
        struct alq_pprof_since *since;
        bool is_right =
            alq_pprof_write(pprof, 1, ALQ_PPROF_HEAP, NULL) == ALQ_ENOTRUN &&
            alq_pprof_since_new(pprof, &since) == ALQ_ENOTRUN;

        blocks_make(10);
        (void)alq_gc_full_major(d);
        alq_pprof_drop(pprof);
        blocks_make(10);
        _exit(is_right ? 7 : 8);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(written(pprof, ALQ_PPROF_HEAP, NULL).values[0], 10);
}

static void
outlives_its_heap(void **state)
{
    struct sums s;

    (void)state;
    {
        ALQ_FRAME(d, f, kept);

        f.kept = alq_alloc(d, WORDS, 0);
        assert_int_equal(written(pprof, ALQ_PPROF_HEAP, NULL).values[2], 1);
    }
    assert_int_equal(alq_domain_drop(d), ALQ_OK);
    s = written(pprof, ALQ_PPROF_HEAP, NULL);
    assert_int_equal(s.values[0], 1);
    assert_int_equal(s.values[2], 0);
    alq_pprof_drop(pprof);
    pprof = NULL;
    assert_int_equal(alq_domain_new(NULL, &d), ALQ_OK);
    assert_int_equal(alq_pprof_start(d, NULL, &pprof), ALQ_OK);
}

/* Writers on threads of their own while the domain allocates, collects, and
 * starts and drops others. */
static atomic_bool is_over;

static void *
write_again_and_again(void *arg)
{
    struct alq_pprof_since *since;
    int64_t last = 0, all = 0;

    assert_int_equal(alq_pprof_since_new(pprof, &since), ALQ_OK);
    while (!atomic_load(&is_over)) {
        struct sums s = written(pprof, ALQ_PPROF_HEAP, NULL);

        assert_true(s.values[0] >= last && s.values[2] >= 0);
        last = s.values[0];
        all += written(pprof, ALQ_PPROF_DELTA_HEAP, since).values[0];
    }
    all += written(pprof, ALQ_PPROF_DELTA_HEAP, since).values[0];
    alq_pprof_since_drop(since);
    *(int64_t *)arg = all;
    return NULL;
}

static void
others_write_meanwhile(void **state)
{
    enum { WRITERS = 3 };
    pthread_t thread[WRITERS];
    int64_t all[WRITERS];

    (void)state;
    atomic_store(&is_over, false);
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(
            pthread_create(&thread[i], NULL, write_again_and_again, &all[i]),
            0);
    for (int i = 0; i < ROUNDS; i++) {
        struct alq_pprof *other = NULL;

        deep(i % 50);
        if (i % 100 == 0) {
            assert_int_equal(alq_pprof_start(d, NULL, &other), ALQ_OK);
            settle();
            alq_pprof_drop(other);
        }
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(written(pprof, ALQ_PPROF_HEAP, NULL).values[0], ROUNDS);
    for (int i = 0; i < WRITERS; i++)
        assert_in_range(all[i], 0, ROUNDS); /* they began at some time */
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_counted, close_counted)
    const struct CMUnitTest tests[] = {
        T(counts_what_is_made_and_what_is_left),
        T(stacks_beyond_the_most_are_one),
        T(frames_beyond_the_most_are_cut),
        T(a_failed_write_moves_no_moment),
        T(a_pipe_that_does_not_block_is_waited_for),
        T(a_child_has_none),
        T(outlives_its_heap),
        T(others_write_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
