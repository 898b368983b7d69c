/* ctf_nomem_test.c -- each allocation of reader and writer fails, one per round
 *
 * malloc, calloc and realloc of the wire part go through --wrap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kits/wire/golden.h"
#include "wire/side.h"

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static long n_allowed = -1; /* before the one that fails; -1: all */

static bool
is_refused(void)
{
    return n_allowed >= 0 && n_allowed-- == 0;
}

void *
__wrap_malloc(size_t n)
{
    return is_refused() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return is_refused() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
    return is_refused() ? NULL : __real_realloc(p, n);
}

static void
note(void *arg, uint64_t offset_bytes, const char *text)
{
    bool *has_clipped = arg;

    (void)offset_bytes;
    *has_clipped |= strstr(text, "too deep") != NULL;
}

/* True if the whole trace was read. */
static bool
read_once(struct golden_source *source, long fail_at)
{
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    bool has_clipped = false;
    enum alq_status status;
    int got = -1;

    source->at = 0;
    n_allowed = fail_at;
    status =
        alqi_ctf_reader_open(golden_read, source, note, &has_clipped, &reader);
    if (status == ALQ_OK)
        while ((got = alqi_ctf_reader_next(reader, &event)) > 0)
            ;
    n_allowed = -1;
    if (got < 0) {
        assert_true(status == ALQ_OK || status == ALQ_ENOMEM);
        assert_non_null(strstr(alqi_ctf_reader_error(reader), "no memory"));
    }
    alqi_ctf_reader_drop(reader);
    return got == 0 && !has_clipped;
}

static void
reader_without_memory(void **state)
{
    struct golden_source source = {
        golden_trace(GOLDEN_DIR "/traces", "synth-deep.v2"), 0};
    long k = 0;

    (void)state;
    while (!read_once(&source, k))
        assert_true(++k < 1000);
    assert_true(k > 10); /* else nothing was refused */
    free(source.data.bytes);
}

/* A fixed room, so that only the writer asks for memory. */
struct room {
    uint8_t bytes[1 << 20];
    size_t n;
};

static bool
take_packet(void *arg, const void *bytes, size_t n)
{
    struct room *room = arg;

    assert_true(n <= sizeof room->bytes - room->n);
    memcpy(room->bytes + room->n, bytes, n);
    room->n += n;
    return true;
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char function[3000];
    static const struct alqi_ctf_entry entry = {"a.c", function, 1, 2, 3};

    (void)arg;
    memset(function, 'x', sizeof function - 1);
    snprintf(function, 20, "f%u", (unsigned)code);
    out->n_entries = code % 3 != 0;
    out->entries = &entry;
}

enum { WRITTEN = 150 };

/* The number of allocations written before memory ran out. */
static uint64_t
write_once(struct room *room, long fail_at)
{
    static const struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = 1e-5,
        .executable = "",
        .host = "",
        .params = "",
        .context = "",
    };
    enum alq_status status;
    struct alqi_ctf_writer *w;
    uint64_t codes[400], id, n = 0;

    for (uint64_t i = 0; i < 400; i++)
        codes[i] = 2 + i;
    room->n = 0;
    n_allowed = fail_at;
    status = alqi_ctf_writer_open(&info, take_packet, room, look_up, NULL, &w);
    if (status != ALQ_OK) {
        n_allowed = -1;
        assert_int_equal(status, ALQ_ENOMEM);
        return 0;
    }
    while (n < WRITTEN &&
           (status = alqi_ctf_write_alloc(w, n, n, 1, ALQI_CTF_EXTERNAL, codes,
                                          2 * (uint32_t)n, &id)) == ALQ_OK)
        n++;
    status = alqi_ctf_writer_close(w);
    n_allowed = -1;
    assert_true(status == ALQ_OK || status == ALQ_ENOMEM);
    return n;
}

/* Whatever was written before reads back. */
static void
writer_without_memory(void **state)
{
    struct room *room = malloc(sizeof *room);
    uint64_t n_written = 0;
    long k = 0;

    (void)state;
    for (; n_written < WRITTEN; k++) {
        struct golden_source source = {{0}, 0};
        struct alqi_ctf_reader *reader;
        struct alqi_ctf_event event;
        uint64_t n_read = 0;

        assert_true(k < 1000);
        n_written = write_once(room, k);
        if (room->n == 0)
            continue;
        source.data.bytes = room->bytes;
        source.data.n = room->n;
        assert_int_equal(
            alqi_ctf_reader_open(golden_read, &source, NULL, NULL, &reader),
            ALQ_OK);
        while (alqi_ctf_reader_next(reader, &event) > 0)
            n_read += event.kind == ALQI_CTF_ALLOC;
        assert_string_equal(alqi_ctf_reader_error(reader), "");
        assert_true(n_read == n_written);
        alqi_ctf_reader_drop(reader);
    }
    assert_true(k > 10);
    free(room);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_without_memory),
        cmocka_unit_test(writer_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
