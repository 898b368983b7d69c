/* gctrace_decode.c -- the collector's events, read back
 *
 * The bytes may come from anywhere: every number is bounded before it is used,
 * and nothing is allocated.  Damage stays: the decoder gives nothing more of
 * the chunk. */
#include <string.h>

#include "wire/bytes.h"
#include "wire/gctrace.h"
#include "wire/varint.h"

const char *
alqi_gctrace_get_header(const uint8_t bytes[ALQI_GCTRACE_HEADER_BYTES],
                        struct alqi_gctrace_header *out)
{
    struct alqi_wire_in in = {bytes, bytes + ALQI_GCTRACE_HEADER_BYTES, false};
    char magic[8];

    alqi_wire_in_take(&in, magic, sizeof magic);
    if (memcmp(magic, ALQI_GCTRACE_MAGIC, sizeof magic) != 0)
        return "it does not begin as one";
    if (alqi_wire_in_u32(&in) != ALQI_GCTRACE_HEADER_BYTES)
        return "its header has a length that this version does not know";
    out->pid = alqi_wire_in_u32(&in);
    out->wall_ns = alqi_wire_in_u64(&in);
    out->mono_ns = alqi_wire_in_u64(&in);
    return NULL;
}

const char *
alqi_gctrace_get_chunk(const uint8_t bytes[ALQI_GCTRACE_CHUNK_HEADER_BYTES],
                       struct alqi_gctrace_chunk *out)
{
    struct alqi_wire_in in = {bytes, bytes + ALQI_GCTRACE_CHUNK_HEADER_BYTES,
                              false};

    if (alqi_wire_in_u32(&in) != ALQI_GCTRACE_CHUNK_MAGIC)
        return "no chunk begins here";
    out->track = alqi_wire_in_u32(&in);
    out->n_bytes = alqi_wire_in_u32(&in);
    out->n_lost = alqi_wire_in_u32(&in);
    out->start_ns = alqi_wire_in_u64(&in);
    if (out->track >= ALQI_GCTRACE_TRACKS_MAX)
        return "a chunk is of a domain that cannot be";
    if (out->n_bytes > ALQI_GCTRACE_CHUNK_BYTES_MAX)
        return "a chunk is longer than it may be";
    return NULL;
}

static bool
fail(struct alqi_gctrace_decoder *d, const char *why)
{
    d->error = why;
    return false;
}

/* A number; false: cut, or too wide. */
static bool
get(struct alqi_gctrace_decoder *d, uint64_t *value)
{
    d->error = alqi_wire_varint_get(&d->at, d->end, value);
    return d->error == NULL;
}

/* The time of an event (.inv.track). */
static bool
get_time(struct alqi_gctrace_decoder *d, uint64_t *time_ns)
{
    uint64_t delta_ns;

    if (!get(d, &delta_ns))
        return false;
    if (delta_ns > UINT64_MAX - d->last_ns)
        return fail(d, "a time is beyond all times");
    *time_ns = d->last_ns + delta_ns;
    return true;
}

/* One event, whole. */
static bool
get_event(struct alqi_gctrace_decoder *d, struct alqi_gctrace_event *e)
{
    unsigned i, n;

    memset(e, 0, sizeof *e);
    if (d->end - d->at < 2)
        return fail(d, "an event runs over the end of its chunk");
    e->kind = d->at[0];
    e->point = d->at[1] & 3;
    n = d->at[1] >> 2;
    d->at += 2;
    if (e->point > ALQ_EVENT_MOMENT)
        return fail(d, "an event is neither a beginning, an end nor a moment");
    if (n > ALQ_EVENT_VALUES)
        return fail(d, "an event has more values than it may");
    if (!get_time(d, &e->time_ns))
        return false;
    for (i = 0; i < n; i++)
        if (!get(d, &e->values[i]))
            return false;
    return true;
}

int
alqi_gctrace_next(struct alqi_gctrace_decoder *d,
                  struct alqi_gctrace_event *event)
{
    if (d->error != NULL)
        return -1;
    if (d->at == d->end)
        return 0;
    if (!get_event(d, event))
        return -1;
    d->last_ns = event->time_ns;
    return 1;
}
