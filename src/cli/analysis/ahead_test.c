/* ahead_test.c -- what is read ahead is what a plain reading gives, with a
 * thread and where none can be had */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/test_seed.h"
#include "cli/analysis/ahead.h"

enum { FUNCTIONS = 40, DEPTH = 9 };

static uint64_t rng_state;

static uint64_t
rng(void)
{
    return alqi_base_mix(rng_state++);
}

/* ---- traces ---------------------------------------------------------- */

static bool
packet_put(void *arg, const void *bytes, size_t n)
{
    return write(*(int *)arg, bytes, n) == (ssize_t)n;
}

static void
lookup(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static struct alqi_ctf_entry entry;
    static char function[16];

    (void)arg;
    snprintf(function, sizeof function, "f%u", (unsigned)code);
    entry = (struct alqi_ctf_entry){
        .file = "a.c", .function = function, .line = (int32_t)code};
    *out = (struct alqi_ctf_location){code, 1, &entry};
}

/* An allocation, or the end of the one before it, in one of two streams. */
static void
event_put(struct alqi_ctf_writer *writer, uint64_t time_us, bool *is_live,
          uint64_t *id)
{
    uint64_t codes[DEPTH];
    uint32_t n = (uint32_t)(rng() % (DEPTH + 1));

    if (*is_live && rng() % 2 == 0) {
        assert_int_equal(alqi_ctf_write_collect(writer, time_us, *id), ALQ_OK);
        *is_live = false;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        codes[i] = 2 + rng() % FUNCTIONS; /* 1: no stack */
    assert_int_equal(alqi_ctf_write_alloc(writer, time_us, rng() >> 30, 1,
                                          ALQI_CTF_MAJOR, codes, n, id),
                     ALQ_OK);
    *is_live = true;
}

/* A file with a trace of two streams, of so many events beside locations. */
static int
trace_make(unsigned n_events)
{
    static const struct alqi_ctf_info info = {.version = 3,
                                              .word_bits = 64,
                                              .rate = 1,
                                              .executable = "a",
                                              .host = "b",
                                              .params = "",
                                              .context = ""};
    struct alqi_ctf_writer *writers[2];
    uint64_t next_id = 0, ids[2] = {0};
    bool is_live[2] = {false};
    int fd = memfd_create("trace", 0);

    assert_true(fd >= 0);
    for (uint16_t i = 0; i < 2; i++)
        assert_int_equal(alqi_ctf_writer_open_stream(&info, i, &next_id,
                                                     packet_put, &fd, lookup,
                                                     NULL, &writers[i]),
                         ALQ_OK);
    for (unsigned i = 0; i < n_events; i++) {
        unsigned w = rng() % 8 == 0;

        event_put(writers[w], i, &is_live[w], &ids[w]);
    }
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(alqi_ctf_writer_close(writers[i]), ALQ_OK);
    return fd;
}

static struct alqi_cli_input *
trace_open(int fd)
{
    struct alqi_cli_input *in;

    char path[40]; /* opened anew, with an offset of its own */

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    assert_int_equal(
        alqi_cli_input_open_fd(open(path, O_RDONLY), "trace", 0, &in), -1);
    return in;
}

/* ---- readings -------------------------------------------------------- */

/* The next event that is read ahead. */
struct source {
    struct alqi_cli_ahead *ahead;
    const struct alqi_cli_batch *batch;
    uint32_t at;
};

static bool
source_next(struct source *s, struct alqi_ctf_event *e, uint32_t *node)
{
    while (s->batch == NULL || s->at == s->batch->n) {
        s->batch = alqi_cli_ahead_next(s->ahead);
        s->at = 0;
        if (s->batch == NULL)
            return false;
    }
    *node = s->batch->steps[s->at].node;
    *e = alqi_cli_batch_event(s->batch, s->at++);
    return true;
}

/* The plain event with what the other one leaves out. */
static void
event_compare(const struct alqi_ctf_event *plain,
              const struct alqi_ctf_event *got)
{
    assert_int_equal(got->kind, plain->kind);
    assert_int_equal(got->domain, plain->domain);
    assert_int_equal(got->time_us, plain->time_us);
    if (plain->kind == ALQI_CTF_LOCATION) {
        assert_int_equal(got->location.code, plain->location.code);
        assert_string_equal(got->location.entries[0].function,
                            plain->location.entries[0].function);
        return;
    }
    assert_int_equal(got->id, plain->id);
    if (plain->kind != ALQI_CTF_ALLOC)
        return;
    assert_int_equal(got->length, plain->length);
    assert_int_equal(got->n_samples, plain->n_samples);
    assert_int_equal(got->source, plain->source);
}

/* Reads the trace both ways; the number of events beside locations. */
static unsigned
readings_compare(int fd)
{
    struct alqi_cli_input *inputs[] = {trace_open(fd), trace_open(fd)};
    struct alqi_cli_stacks stacks[2];
    struct alqi_ctf_event plain, got;
    struct source source = {0};
    uint32_t node;
    unsigned n = 0;

    alqi_cli_stacks_init(&stacks[0]);
    alqi_cli_stacks_init(&stacks[1]);
    source.ahead = alqi_cli_ahead_begin(inputs[1], &stacks[1]);
    while (alqi_cli_input_next(inputs[0], &plain)) {
        assert_true(source_next(&source, &got, &node));
        event_compare(&plain, &got);
        if (plain.kind == ALQI_CTF_ALLOC)
            assert_int_equal(node,
                             alqi_cli_stacks_of_event(&stacks[0], &plain));
        n += plain.kind != ALQI_CTF_LOCATION;
    }
    assert_false(source_next(&source, &got, &node));
    assert_false(source_next(&source, &got, &node));
    alqi_cli_ahead_end(source.ahead);
    assert_int_equal(stacks[1].n_nodes, stacks[0].n_nodes);
    for (int i = 0; i < 2; i++) {
        alqi_cli_stacks_free(&stacks[i]);
        alqi_cli_input_drop(inputs[i]);
    }
    return n;
}

/* No events; fewer than a batch, one batch, and more than the ring has. */
static void
all_lengths(void)
{
    static const unsigned lengths[] = {
        0,
        1,
        ALQI_CLI_BATCH_STEPS - FUNCTIONS,
        ALQI_CLI_BATCH_STEPS,
        3 * ALQI_CLI_BATCH_STEPS,
        20 * ALQI_CLI_BATCH_STEPS + 1,
    };

    for (size_t i = 0; i < ALQI_COUNT_OF(lengths); i++) {
        int fd = trace_make(lengths[i]);

        assert_int_equal(readings_compare(fd), lengths[i]);
        close(fd);
    }
}

static void
a_thread_reads(void **state)
{
    (void)state;
    all_lengths();
}

/* Stacks of so many bytes are not to be had. */
static void
no_thread_can_be_had(void **state)
{
    pthread_attr_t before, huge;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_getattr_default_np(&before), 0);
    pthread_attr_init(&huge);
    assert_int_equal(pthread_attr_setstacksize(&huge, (size_t)1 << 47), 0);
    assert_int_equal(pthread_setattr_default_np(&huge), 0);
    assert_int_not_equal(
        pthread_create(&thread, NULL, (void *(*)(void *))abort, NULL), 0);
    all_lengths();
    assert_int_equal(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&huge);
    pthread_attr_destroy(&before);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_reads),
        cmocka_unit_test(no_thread_can_be_had),
    };

    rng_state = 1 + alqi_base_test_seed();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
