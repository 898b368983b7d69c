/* reach_test.c -- numbers of blocks: written, then read, they are the same */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_seed.h"
#include "wire/reach.h"

enum { NUMBERS = 20000, ROUNDS = 20, CLASSES = 2 };

static const struct alqi_ctf_info info = {.version = 2,
                                          .word_bits = 8,
                                          .rate = 1,
                                          .executable = "",
                                          .host = "",
                                          .params = "",
                                          .context = ""};

/* Packets of a trace, one behind the other, and how many are read. */
struct bytes {
    uint8_t *at;
    size_t n, n_read;
};

static ptrdiff_t
bytes_read(void *arg, void *to, size_t capacity)
{
    struct bytes *b = arg;
    size_t n = b->n - b->n_read < capacity ? b->n - b->n_read : capacity;

    memcpy(to, b->at + b->n_read, n);
    b->n_read += n;
    return (ptrdiff_t)n;
}

static bool
packet_take(void *arg, const void *packet, size_t n_bytes)
{
    struct bytes *b = arg;

    b->at = realloc(b->at, b->n + n_bytes);
    memcpy(b->at + b->n, packet, n_bytes);
    b->n += n_bytes;
    return true;
}

static uint64_t
next(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
    return *random >> 33;
}

/* Ascending with runs and gaps, some of them large; now and then back. */
static void
numbers_make(uint64_t *numbers, uint64_t *random)
{
    uint64_t at = 0;

    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t kind = next(random) % 16;

        at += kind < 8    ? 1
              : kind < 15 ? 1 + next(random) % 100
                          : next(random) << 20;
        if (next(random) % 1000 == 0)
            at = next(random) % 1000;
        numbers[i] = at;
    }
}

static void
runs_check(const char *line, const uint64_t *numbers, size_t *n)
{
    struct alqi_side_reach_runs runs;
    uint64_t first, n_run;

    assert_true(strlen(line) < ALQI_SIDE_LINE_BYTES);
    assert_true(alqi_side_reach_open(&runs, line));
    while (alqi_side_reach_next(&runs, &first, &n_run))
        for (uint64_t i = 0; i < n_run; i++)
            assert_int_equal(first + i, numbers[(*n)++]);
    assert_string_equal(runs.at, "");
}

/* The lines of the trace tell the numbers, in their order. */
static void
trace_check(struct bytes *b, const uint64_t *numbers, size_t n_wanted)
{
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    size_t n = 0;

    assert_int_equal(alqi_ctf_reader_open(bytes_read, b, NULL, NULL, &reader),
                     ALQ_OK);
    while (alqi_ctf_reader_next(reader, &event) == 1)
        if (event.kind == ALQI_CTF_LOCATION)
            runs_check(event.location.entries[0].function, numbers, &n);
    assert_int_equal(n, n_wanted);
    alqi_ctf_reader_drop(reader);
}

static void
there_and_back(void **state)
{
    uint64_t random = 5 + alqi_base_test_seed();
    uint64_t *numbers = malloc(NUMBERS * sizeof *numbers);

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        struct alqi_side_reach reach = {.class = "lost"};
        struct bytes b = {0};
        struct alqi_ctf_writer *writer;
        uint64_t n_texts = 0;
        struct alqi_side_writer side = {NULL, &n_texts, 0};

        numbers_make(numbers, &random);
        assert_int_equal(
            alqi_ctf_writer_open(&info, packet_take, &b, NULL, NULL, &writer),
            ALQ_OK);
        side.writer = writer;
        for (size_t i = 0; i < NUMBERS; i++)
            assert_int_equal(alqi_side_reach_put(&reach, &side, numbers[i]),
                             ALQ_OK);
        assert_int_equal(alqi_side_reach_end(&reach, &side), ALQ_OK);
        assert_int_equal(alqi_side_reach_end(&reach, &side), ALQ_OK);
        assert_int_equal(alqi_ctf_writer_close(writer), ALQ_OK);
        trace_check(&b, numbers, NUMBERS);
        free(b.at);
    }
    free(numbers);
}

static unsigned
n_runs(const char *line, uint64_t *sum)
{
    struct alqi_side_reach_runs runs;
    uint64_t first, n;
    unsigned n_read = 0;

    *sum = 0;
    if (!alqi_side_reach_open(&runs, line))
        return 0;
    while (alqi_side_reach_next(&runs, &first, &n)) {
        n_read++;
        *sum += first;
    }
    return n_read;
}

static void
from_outside(void **state)
{
    uint64_t sum;

    (void)state;
    assert_int_equal(n_runs("reach class=lost", &sum), 0);
    assert_int_equal(n_runs("reach class=lost ids=", &sum), 0);
    assert_int_equal(n_runs("reach class=lost from=120 ids=0x5,2,7x3", &sum),
                     3);
    assert_int_equal(sum, 120 + 127 + 135);
    assert_int_equal(n_runs("reach ids=1,x", &sum), 1);
    assert_int_equal(n_runs("reach ids=1x,2", &sum), 0);
    assert_int_equal(n_runs("reach ids=1x0,2", &sum), 0);
    assert_int_equal(n_runs("reach ids=1,,2", &sum), 1);
    assert_int_equal(n_runs("reach ids=,1", &sum), 0);
    assert_int_equal(n_runs("reach ids=-1", &sum), 0);
    assert_int_equal(n_runs("reach from=18446744073709551615 ids=0", &sum), 0);
    assert_int_equal(n_runs("reach from=18446744073709551614 ids=0,0", &sum),
                     1);
    assert_int_equal(n_runs("reach from=9 ids=18446744073709551615", &sum), 0);
    assert_int_equal(n_runs("reach ids=0x18446744073709551615,0", &sum), 1);
}

/* Writes a step into a trace and reads it. */
static void
holder_check(const struct alqi_side_holder *put, const char *wanted)
{
    struct bytes b = {0};
    uint64_t n_texts = 0;
    struct alqi_side_writer side = {NULL, &n_texts, 0};
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    struct alqi_side_holder got;
    char name[ALQI_SIDE_HOLDER_BYTES];

    assert_int_equal(
        alqi_ctf_writer_open(&info, packet_take, &b, NULL, NULL, &side.writer),
        ALQ_OK);
    assert_int_equal(alqi_side_holder_put(&side, put), ALQ_OK);
    assert_int_equal(alqi_ctf_writer_close(side.writer), ALQ_OK);
    assert_int_equal(alqi_ctf_reader_open(bytes_read, &b, NULL, NULL, &reader),
                     ALQ_OK);
    do
        assert_int_equal(alqi_ctf_reader_next(reader, &event), 1);
    while (event.kind != ALQI_CTF_LOCATION);
    assert_true(
        alqi_side_holder_get(&got, event.location.entries[0].function, name));
    assert_int_equal(got.id, put->id);
    assert_int_equal(got.in, put->in);
    assert_int_equal(got.most, put->most > 0 ? put->most : 1);
    assert_string_equal(got.name, wanted);
    alqi_ctf_reader_drop(reader);
    free(b.at);
}

/* A name's bytes that need three in the line, and more of them than are kept,
 * which are cut between two characters. */
static void
holders(void **state)
{
    struct alqi_side_holder h = {.id = 2, .in = 1, .most = 12, .name = "a b=%"};
    char name[2 * ALQI_SIDE_HOLDER_BYTES], wanted[ALQI_SIDE_HOLDER_BYTES];

    (void)state;
    holder_check(&h, "a b=%");
    h = (struct alqi_side_holder){.id = UINT64_MAX, .name = name};
    memset(name, ' ', sizeof name);
    name[sizeof name - 1] = '\0';
    memset(wanted, ' ', sizeof wanted);
    wanted[sizeof wanted - 1] = '\0';
    holder_check(&h, wanted);
    memcpy(name + sizeof wanted - 2, "\xC3\xA9", 2);
    wanted[sizeof wanted - 2] = '\0';
    holder_check(&h, wanted);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(holders),
        cmocka_unit_test(from_outside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
