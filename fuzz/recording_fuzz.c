/* recording_fuzz.c -- whole recordings of any content, read and converted
 *
 * The input is a list of chunks: kind, stream, sequence, the header's numbers
 * in short, a length, and as many bytes.  Each becomes a chunk of a recording
 * in memory; the header's counts may be lies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/convert/convert.h"
#include "cli/convert/reach.h"
#include "cli/convert/exact.h"

enum { CHUNKS_MAX = 16, HEAD_BYTES = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file = -1;
static char path[64];

#define check(is_true) check_at((is_true), __LINE__)

static void
check_at(bool is_true, int line)
{
    if (is_true)
        return;
    fprintf(stderr, "line %d\n", line);
    abort();
}

static void
put(const void *bytes, size_t n, off_t at)
{
    check(pwrite(file, bytes, n, at) == (ssize_t)n);
}

/* No modules: their paths would be opened. */
static const uint8_t *
chunk_put(off_t at, const uint8_t *p, size_t *left)
{
    static const uint8_t kinds[] = {ALQI_RAW_EXACT, ALQI_RAW_NODES,
                                    ALQI_RAW_EVENTS, ALQI_RAW_EXACT};
    size_t n = p[5] | (size_t)p[6] << 8;
    struct alqi_raw_chunk_header h = {
        .magic = ALQI_RAW_CHUNK_MAGIC,
        .kind = kinds[p[0] & 3],
        .stream = p[1],
        .sequence = p[2],
        .start_ns = (uint64_t)p[3] << (p[0] >> 2 & 31),
        .first_ordinal = (uint64_t)p[4] << (p[0] >> 2 & 31),
        .used = UINT32_MAX, /* more than there is */
    };

    *left -= HEAD_BYTES;
    if (n > *left)
        n = *left;
    if (n > ALQI_RAW_CHUNK_BYTES - sizeof h)
        n = ALQI_RAW_CHUNK_BYTES - sizeof h;
    if ((p[0] & 0x80) == 0)
        h.used = (uint32_t)n;
    put(&h, sizeof h, at);
    put(p + HEAD_BYTES, n, at + (off_t)sizeof h);
    *left -= n;
    return p + HEAD_BYTES + n;
}

/* What is left of the input, and where it goes. */
struct rest {
    const uint8_t *data;
    size_t size;
    off_t at;
};

static void
chunks_put(struct rest *rest, int n_most)
{
    for (int i = 0; i < n_most && rest->size >= HEAD_BYTES; i++) {
        check(ftruncate(file, rest->at + ALQI_RAW_CHUNK_BYTES) == 0);
        rest->data = chunk_put(rest->at, rest->data, &rest->size);
        rest->at += ALQI_RAW_CHUNK_BYTES;
    }
}

static struct rest
recording_make(const uint8_t *data, size_t size, int n_chunks)
{
    struct alqi_raw_header header = {
        .header_bytes = ALQI_RAW_HEADER_BYTES,
        .chunk_bytes = ALQI_RAW_CHUNK_BYTES,
        .depth_frames = 256,
        .rate = 1,
        .n_chunks = UINT32_MAX,
        .flags = ALQI_RAW_IS_EXACT,
        .n_cmdline_bytes = UINT32_MAX,
    };
    struct rest rest = {data, size, ALQI_RAW_HEADER_BYTES};

    memcpy(header.magic, ALQI_RAW_MAGIC, sizeof header.magic);
    check(ftruncate(file, 0) == 0 && ftruncate(file, rest.at) == 0);
    put(&header, sizeof header, 0);
    chunks_put(&rest, n_chunks);
    return rest;
}

/* The order of time, and stacks that end. */
static void
exact_read(const struct alqi_cli_recording *recording)
{
    const struct alqi_cli_exact_event *e;
    const struct alqi_cli_exact_node *nodes;
    uint64_t last_ns = 0, last_ticks = 0;
    struct alqi_cli_exact *x;
    bool no_memory;

    x = alqi_cli_exact_open(recording, &no_memory);
    check(!no_memory);
    if (x == NULL)
        return;
    nodes = alqi_cli_exact_nodes(x);
    for (uint32_t i = 0; i < alqi_cli_exact_n_nodes(x); i++)
        check(
            nodes[i].n_frames == 0 ||
            (nodes[i].parent < i && nodes[i].n_frames <= ALQI_RAW_FRAMES_MAX));
    check(alqi_cli_exact_n_streams(x) <= CHUNKS_MAX);
    while ((e = alqi_cli_exact_next(x)) != NULL) {
        check(e->time_ns >= last_ns && e->event->ticks >= last_ticks);
        check(e->stream < alqi_cli_exact_n_streams(x));
        last_ns = e->time_ns;
        last_ticks = e->event->ticks;
    }
    alqi_cli_exact_drop(x);
}

static bool
packet(void *arg, const void *bytes, size_t n_bytes)
{
    *(size_t *)arg += bytes != NULL ? n_bytes : 0;
    return true;
}

/* The same, chunk after chunk, while it is read. */
static void
grown_read(const uint8_t *data, size_t size, struct alqi_symbol_table *symbols)
{
    struct rest rest = recording_make(data, size, 1);
    struct alqi_cli_convert_result result;
    struct alqi_cli_recording *recording;
    struct alqi_cli_conversion *c;
    size_t n_bytes = 0;
    char error[200];
    bool is_more;

    recording = alqi_cli_recording_open(path, error, sizeof error);
    check(recording != NULL);
    check(alqi_cli_conversion_open(recording, 0, symbols, packet, &n_bytes,
                                   &result, &c) == ALQ_OK);
    for (int i = 1; i <= CHUNKS_MAX; i++) {
        do
            check(alqi_cli_conversion_step(c, 100, &is_more) == ALQ_OK);
        while (is_more);
        chunks_put(&rest, 1);
        check(alqi_cli_recording_grow(recording, 0));
        check(alqi_cli_conversion_more(c) == ALQ_OK);
    }
    check(alqi_cli_conversion_step(c, UINT64_MAX, &is_more) == ALQ_OK);
    check(!is_more);
    check(alqi_cli_conversion_end(c, "exit") == ALQ_OK);
    check(alqi_cli_conversion_close(c) == ALQ_OK);
    check(n_bytes > 0);
    alqi_cli_recording_drop(recording);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(false);
    struct alqi_cli_convert_result result;
    struct alqi_cli_recording *recording;
    /* Of blocks that may be in the recording. */
    struct alqi_cli_reached reached[] = {
        {0x1000, 0, 0, ALQI_VIEW_LOST},
        {0x1000, 0, ALQI_CLI_REACHED_EXACT, ALQI_VIEW_HELD},
    };
    struct alqi_cli_reaches reaches = {.at = reached, .n = 2};
    size_t n_bytes = 0;
    char error[200];

    if (file < 0) {
        file = memfd_create("recording", MFD_CLOEXEC);
        check(file >= 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    (void)recording_make(data, size, CHUNKS_MAX);
    recording = alqi_cli_recording_open(path, error, sizeof error);
    check(recording != NULL && symbols != NULL);
    exact_read(recording);
    check(alqi_cli_convert(recording, "exit", 1 + size % 3, &reaches, symbols,
                           packet, &n_bytes, &result) == ALQ_OK);
    check(n_bytes > 0);
    alqi_cli_recording_drop(recording);
    grown_read(data, size, symbols);
    alqi_symbol_table_drop(symbols);
    return 0;
}
