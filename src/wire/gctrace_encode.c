/* gctrace_encode.c -- the collector's events into a chunk
 *
 * An event is written whole or not at all; trailing zeros of its values are
 * left out.  Async-signal-safe.  Keeps .inv.track: a clock that seems to go
 * back is held. */
#include "base/base.h"
#include "wire/bytes.h"
#include "wire/gctrace.h"
#include "wire/varint.h"

void
alqi_gctrace_put_header(uint8_t bytes[ALQI_GCTRACE_HEADER_BYTES],
                        const struct alqi_gctrace_header *header)
{
    struct alqi_wire_out out = {bytes, bytes + ALQI_GCTRACE_HEADER_BYTES,
                                false};

    alqi_wire_out_put(&out, ALQI_GCTRACE_MAGIC, 8);
    alqi_wire_out_u32(&out, ALQI_GCTRACE_HEADER_BYTES);
    alqi_wire_out_u32(&out, header->pid);
    alqi_wire_out_u64(&out, header->wall_ns);
    alqi_wire_out_u64(&out, header->mono_ns);
    ALQI_ASSERT(!out.bad && out.at == out.end);
}

void
alqi_gctrace_put_chunk(uint8_t bytes[ALQI_GCTRACE_CHUNK_HEADER_BYTES],
                       const struct alqi_gctrace_chunk *chunk)
{
    struct alqi_wire_out out = {bytes, bytes + ALQI_GCTRACE_CHUNK_HEADER_BYTES,
                                false};

    alqi_wire_out_u32(&out, ALQI_GCTRACE_CHUNK_MAGIC);
    alqi_wire_out_u32(&out, chunk->track);
    alqi_wire_out_u32(&out, chunk->n_bytes);
    alqi_wire_out_u32(&out, chunk->n_lost);
    alqi_wire_out_u64(&out, chunk->start_ns);
    ALQI_ASSERT(!out.bad && out.at == out.end);
}

static unsigned
values_of(const struct alqi_gctrace_event *event)
{
    unsigned n = ALQ_EVENT_VALUES;

    while (n > 0 && event->values[n - 1] == 0)
        n--;
    return n;
}

bool
alqi_gctrace_put_event(struct alqi_gctrace_encoder *e,
                       const struct alqi_gctrace_event *event)
{
    unsigned i, n = values_of(event);
    uint8_t *at = e->at;

    if (e->end - at < ALQI_GCTRACE_EVENT_BYTES_MAX)
        return false;
    *at++ = event->kind;
    *at++ = (uint8_t)(event->point | n << 2);
    /* .inv.track: a clock that seems to go back is held. */
    if (event->time_ns > e->last_ns) {
        at = alqi_wire_varint_put(at, event->time_ns - e->last_ns);
        e->last_ns = event->time_ns;
    } else {
        at = alqi_wire_varint_put(at, 0);
    }
    for (i = 0; i < n; i++)
        at = alqi_wire_varint_put(at, event->values[i]);
    e->at = at;
    return true;
}
