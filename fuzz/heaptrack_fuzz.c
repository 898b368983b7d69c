/* heaptrack_fuzz.c -- data files of heaptrack of any content, converted
 *
 * Whatever the lines are, the trace that is made of them is whole, and has as
 * many blocks as the conversion says; no block ends twice.  The second half of
 * the bytes comes by ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/convert/heaptrack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define check(is_true) check_at((is_true), __LINE__)

static void
check_at(bool is_true, int line)
{
    if (is_true)
        return;
    fprintf(stderr, "line %d\n", line);
    abort();
}

/* Bytes that are read, or were written. */
struct text {
    const uint8_t *data;
    size_t size, at;
    uint8_t *room; /* of what is written */
};

static ptrdiff_t
text_read(void *arg, void *bytes, size_t n)
{
    struct text *t = arg;
    size_t left = t->size - t->at;

    if (t->at >= t->size / 2 && left > 1)
        left = 1;
    if (n > left)
        n = left;
    if (n > 0)
        memcpy(bytes, t->data + t->at, n);
    t->at += n;
    return (ptrdiff_t)n;
}

static bool
packet_write(void *arg, const void *bytes, size_t n)
{
    struct text *t = arg;

    t->room = realloc(t->room, t->size + n);
    check(t->room != NULL);
    memcpy(t->room + t->size, bytes, n);
    t->size += n;
    return true;
}

static void
warned(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    fprintf(stderr, "at %llu: %s\n", (unsigned long long)offset_bytes, text);
    check(false);
}

static void
trace_check(struct text *trace, uint64_t n_allocs)
{
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event e;
    uint8_t *has_ended = calloc(n_allocs + 1, 1);
    uint64_t n = 0, last_us = 0;
    int rc;

    trace->data = trace->room;
    check(has_ended != NULL);
    check(alqi_ctf_reader_open(text_read, trace, warned, NULL, &reader) ==
          ALQ_OK);
    while ((rc = alqi_ctf_reader_next(reader, &e)) > 0) {
        check(e.time_us >= last_us);
        last_us = e.time_us;
        if (e.kind == ALQI_CTF_ALLOC) {
            check(e.id == n++);
            check(e.n_codes > 0);
        }
        if (e.kind == ALQI_CTF_COLLECT)
            check(e.id < n && !has_ended[e.id]++);
    }
    check(rc == 0 && n == n_allocs);
    alqi_ctf_reader_drop(reader);
    free(has_ended);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_cli_heaptrack_result result;
    struct text file = {.data = data, .size = size}, trace = {0};

    check(alqi_cli_heaptrack_convert(text_read, &file, packet_write, &trace,
                                     &result) == ALQ_OK);
    check(result.damage[0] != '\0' || file.at == size);
    if (trace.size > 0)
        trace_check(&trace, result.n_allocs);
    else
        check(result.n_allocs == 0);
    free(trace.room);
    return 0;
}
