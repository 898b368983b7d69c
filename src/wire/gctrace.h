/* gctrace.h -- the collector's events in a file           [aliquot/observe.h]
 *
 * A header, then chunks; each chunk has events of one track: 0 is the heap, 1 +
 * n domain n.  All numbers of headers are little-endian.
 *
 *   header  "ALIQGCT1"  u32 its bytes  u32 pid  u64 wall ns  u64 monotonic ns
 *   chunk   "ALQG"  u32 track  u32 bytes behind it  u32 events lost before it
 *           u64 monotonic ns at its start
 *   event   kind, point | values << 2, ns since the event before (or the
 *           chunk's start), values: LEB128; trailing zeros are left out
 *
 * .inv.track  Times of one track never go back, from chunk to chunk neither.
 * .inv.chunk  A chunk is decodable by itself, and kinds that a reader does not
 *             know are numbers with values.
 *
 * The encoder is async-signal-safe; both sides are pure and allocate nothing.
 */
#ifndef ALQI_WIRE_GCTRACE_H
#define ALQI_WIRE_GCTRACE_H

#include <stdbool.h>
#include <stdint.h>

#include <aliquot/observe.h>

#define ALQI_GCTRACE_MAGIC "ALIQGCT1"
#define ALQI_GCTRACE_CHUNK_MAGIC 0x47514C41u /* "ALQG" */

enum {
    ALQI_GCTRACE_HEADER_BYTES = 32,
    ALQI_GCTRACE_CHUNK_HEADER_BYTES = 24,
    ALQI_GCTRACE_CHUNK_BYTES_MAX = 65536, /* behind a chunk's header */
    ALQI_GCTRACE_EVENT_BYTES_MAX = 2 + 10 * (1 + ALQ_EVENT_VALUES),
    ALQI_GCTRACE_TRACKS_MAX = 4096,
    ALQI_GCTRACE_HEAP = 0
};

/* Of the file. */
struct alqi_gctrace_header {
    uint32_t pid;
    uint64_t wall_ns;
    uint64_t mono_ns;
};

/* Of a chunk. */
struct alqi_gctrace_chunk {
    uint32_t track;
    uint32_t n_bytes;
    uint32_t n_lost; /* events lost before it */
    uint64_t start_ns;
};

struct alqi_gctrace_event {
    uint8_t kind; /* of a newer version, perhaps: above ALQ_EVENT_KINDS */
    uint8_t point;
    uint64_t time_ns;
    uint64_t values[ALQ_EVENT_VALUES]; /* zeros where it has fewer */
};

/* ---- encoder ------------------------------------------------------------ */

void alqi_gctrace_put_header(uint8_t out[ALQI_GCTRACE_HEADER_BYTES],
                             const struct alqi_gctrace_header *header);
void alqi_gctrace_put_chunk(uint8_t out[ALQI_GCTRACE_CHUNK_HEADER_BYTES],
                            const struct alqi_gctrace_chunk *chunk);

struct alqi_gctrace_encoder {
    uint8_t *at;
    uint8_t *end;
    uint64_t last_ns; /* at first the chunk's start */
};

/* False, and nothing is written, when it does not fit. */
bool alqi_gctrace_put_event(struct alqi_gctrace_encoder *encoder,
                            const struct alqi_gctrace_event *event);

/* ---- decoder ------------------------------------------------------------ */

/* NULL, or what is wrong. */
const char *
alqi_gctrace_get_header(const uint8_t bytes[ALQI_GCTRACE_HEADER_BYTES],
                        struct alqi_gctrace_header *out);
const char *
alqi_gctrace_get_chunk(const uint8_t bytes[ALQI_GCTRACE_CHUNK_HEADER_BYTES],
                       struct alqi_gctrace_chunk *out);

struct alqi_gctrace_decoder {
    const uint8_t *at;
    const uint8_t *end;
    const char *error; /* set with a -1 result */
    uint64_t last_ns;  /* at first the chunk's start */
};

/* 1: *event is filled; 0: end; -1: damaged, and it stays so. */
int alqi_gctrace_next(struct alqi_gctrace_decoder *decoder,
                      struct alqi_gctrace_event *event);

#endif
