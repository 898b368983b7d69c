/* gctrace_fuzz.c -- the decoder of a collector's events on any bytes
 *
 * The first 24 bytes are tried as a chunk's header, the first 32 as the
 * file's, all of them as events.  What decodes is encoded again, and must come
 * back as it was. */
#include <stdlib.h>
#include <string.h>

#include "wire/gctrace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static void
headers(const uint8_t *data, size_t size)
{
    uint8_t again[ALQI_GCTRACE_HEADER_BYTES];
    struct alqi_gctrace_header header;
    struct alqi_gctrace_chunk chunk;

    if (size >= ALQI_GCTRACE_HEADER_BYTES &&
        alqi_gctrace_get_header(data, &header) == NULL) {
        alqi_gctrace_put_header(again, &header);
        check(memcmp(again, data, ALQI_GCTRACE_HEADER_BYTES) == 0);
    }
    if (size >= ALQI_GCTRACE_CHUNK_HEADER_BYTES &&
        alqi_gctrace_get_chunk(data, &chunk) == NULL) {
        check(chunk.n_bytes <= ALQI_GCTRACE_CHUNK_BYTES_MAX);
        check(chunk.track < ALQI_GCTRACE_TRACKS_MAX);
        alqi_gctrace_put_chunk(again, &chunk);
        check(memcmp(again, data, ALQI_GCTRACE_CHUNK_HEADER_BYTES) == 0);
    }
}

static void
again_is_the_same(const struct alqi_gctrace_event *e, uint64_t last_ns)
{
    uint8_t bytes[ALQI_GCTRACE_EVENT_BYTES_MAX];
    struct alqi_gctrace_encoder to = {bytes, bytes + sizeof bytes, last_ns};
    struct alqi_gctrace_decoder from = {bytes, NULL, NULL, last_ns};
    struct alqi_gctrace_event got;

    check(alqi_gctrace_put_event(&to, e));
    from.end = to.at;
    check(alqi_gctrace_next(&from, &got) == 1);
    check(memcmp(&got, e, sizeof got) == 0); /* both were zeroed */
    check(alqi_gctrace_next(&from, &got) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_gctrace_decoder d;
    struct alqi_gctrace_event event;
    uint64_t last_ns = 1000;
    uint8_t *bytes = malloc(size + 1); /* its own end, for the sanitizer */
    int got;

    check(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    headers(bytes, size);
    d = (struct alqi_gctrace_decoder){bytes, bytes + size, NULL, last_ns};
    while ((got = alqi_gctrace_next(&d, &event)) > 0) {
        check(event.point <= ALQ_EVENT_MOMENT && event.time_ns >= last_ns);
        again_is_the_same(&event, last_ns);
        last_ns = event.time_ns;
    }
    check((got < 0) == (d.error != NULL) && d.at <= d.end);
    free(bytes);
    return 0;
}
