/* out.c -- where a message goes: counted, to memory that grows, or to a buffer
 *
 *   COUNT    bytes go to `scratch`, over and over; `gone` counts
 *   MEMORY   from malloc, doubled when full
 *   BUFFER   the caller's; too small is a failure
 *
 * The first failure stays and nothing is written after it.  The header's place
 * is left free at the front; a big header moves the data up at the end. */
#include <stdlib.h>
#include <string.h>

#include "marshal/out.h"

enum { MEMORY_FIRST_BYTES = 4096 };

static void
begin(struct alq_marshal_out *out, uint64_t limit,
      enum alqi_marshal_out_mode mode)
{
    *out = (struct alq_marshal_out){.limit = limit, .mode = mode};
    if (limit < ALQ_MARSHAL_HEADER_BYTES)
        alqi_marshal_out_fail(out, ALQ_ETOOBIG, "limit_bytes is passed");
}

void
alqi_marshal_out_count(struct alq_marshal_out *out, uint64_t limit)
{
    begin(out, limit, ALQI_MARSHAL_COUNT);
    out->start = out->at = out->scratch;
    out->end = out->scratch + sizeof out->scratch;
    out->gone = ALQ_MARSHAL_HEADER_BYTES;
}

void
alqi_marshal_out_memory(struct alq_marshal_out *out, uint64_t limit)
{
    begin(out, limit, ALQI_MARSHAL_MEMORY);
    out->start = malloc(MEMORY_FIRST_BYTES);
    if (out->start == NULL) {
        alqi_marshal_out_fail(out, ALQ_ENOMEM, "no memory for the message");
        return;
    }
    out->at = out->start + ALQ_MARSHAL_HEADER_BYTES;
    out->end = out->start + MEMORY_FIRST_BYTES;
}

void
alqi_marshal_out_buffer(struct alq_marshal_out *out, uint64_t limit,
                        void *buffer, size_t bytes)
{
    begin(out, limit, ALQI_MARSHAL_BUFFER);
    out->start = out->at = buffer;
    out->end = out->start + bytes;
    if (alqi_marshal_out_room(out, ALQ_MARSHAL_HEADER_BYTES))
        out->at += ALQ_MARSHAL_HEADER_BYTES;
}

bool
alqi_marshal_out_fail(struct alq_marshal_out *out, enum alq_status status,
                      const char *text)
{
    if (out->status == ALQ_OK) {
        out->status = status;
        out->text = text;
    }
    return false;
}

/* Whether so many bytes more keep within the limit. */
static bool
is_within(struct alq_marshal_out *out, size_t more)
{
    uint64_t total = alqi_marshal_out_total(out);

    return (total <= out->limit && more <= out->limit - total) ||
           alqi_marshal_out_fail(out, ALQ_ETOOBIG, "limit_bytes is passed");
}

/* Doubles the memory. */
static bool
grow(struct alq_marshal_out *out, size_t n)
{
    size_t used = (size_t)(out->at - out->start);
    size_t size = 2 * (size_t)(out->end - out->start);
    unsigned char *start;

    if (size - used < n)
        size = used + n;
    start = realloc(out->start, size);
    if (start == NULL)
        return alqi_marshal_out_fail(out, ALQ_ENOMEM,
                                     "no memory for the message");
    out->start = start;
    out->at = start + used;
    out->end = start + size;
    return true;
}

/* Any number of bytes, but for COUNT. */
static bool
room(struct alq_marshal_out *out, size_t n)
{
    if ((size_t)(out->end - out->at) >= n)
        return true;
    switch (out->mode) {
    case ALQI_MARSHAL_COUNT:
        out->gone += (uint64_t)(out->at - out->start);
        out->at = out->start;
        return true;
    case ALQI_MARSHAL_MEMORY:
        return grow(out, n);
    case ALQI_MARSHAL_BUFFER:
        break;
    }
    return alqi_marshal_out_fail(out, ALQ_ETOOBIG, "the buffer is too small");
}

bool
alqi_marshal_out_room_slow(struct alq_marshal_out *out, size_t n)
{
    return is_within(out, 0) && room(out, n);
}

bool
alqi_marshal_out_bytes(struct alq_marshal_out *out, const void *bytes, size_t n)
{
    if (out->status != ALQ_OK || !is_within(out, n))
        return false;
    if (out->mode == ALQI_MARSHAL_COUNT) {
        out->gone += n;
        return true;
    }
    if (!room(out, n))
        return false;
    memcpy(out->at, bytes, n);
    out->at += n;
    return true;
}

bool
alqi_marshal_out_finish(struct alq_marshal_out *out,
                        const struct alqi_marshal_sizes *sizes)
{
    const size_t more = ALQ_MARSHAL_HEADER_BYTES_MAX - ALQ_MARSHAL_HEADER_BYTES;
    unsigned char *data = out->start + ALQ_MARSHAL_HEADER_BYTES;

    if (alqi_marshal_header_is_big(sizes)) {
        if (!room(out, more))
            return false;
        data = out->start + ALQ_MARSHAL_HEADER_BYTES; /* it may have moved */
        if (out->mode != ALQI_MARSHAL_COUNT)
            memmove(data + more, data, (size_t)(out->at - data));
        out->at += more;
    }
    if (!is_within(out, 0))
        return false;
    if (out->mode != ALQI_MARSHAL_COUNT)
        alqi_marshal_header_write(out->start, sizes);
    return true;
}
