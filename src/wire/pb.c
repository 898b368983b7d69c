/* pb.c -- messages of protocol buffers, written field by field
 *
 * The buffer doubles; a nested message is written first, then moved up to make
 * room for its length, which only its end knows.  Keeps .inv.short. */
#include <stdlib.h>
#include <string.h>

#include "wire/pb.h"
#include "wire/varint.h"

enum { VARINT = 0, FIXED64 = 1, LENGTH = 2 };

void
alqi_pb_free(struct alqi_pb *pb)
{
    free(pb->bytes);
    *pb = (struct alqi_pb){0};
}

/* Room for n bytes more, or .inv.short. */
static bool
room(struct alqi_pb *pb, size_t n)
{
    size_t capacity = pb->capacity != 0 ? pb->capacity : 1024;
    uint8_t *grown;

    if (pb->is_short)
        return false;
    if (n <= pb->capacity - pb->n)
        return true;
    while (capacity - pb->n < n && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    grown = capacity - pb->n >= n ? realloc(pb->bytes, capacity) : NULL;
    if (grown == NULL) {
        pb->is_short = true;
        return false;
    }
    pb->bytes = grown;
    pb->capacity = capacity;
    return true;
}

/* A varint that is no field of its own: part of a packed field. */
static void
varint(struct alqi_pb *pb, uint64_t value)
{
    if (room(pb, ALQI_WIRE_VARINT_BYTES_MAX))
        pb->n = (size_t)(alqi_wire_varint_put(pb->bytes + pb->n, value) -
                         pb->bytes);
}

static void
tag(struct alqi_pb *pb, unsigned field, unsigned type)
{
    varint(pb, (uint64_t)field << 3 | type);
}

void
alqi_pb_uint(struct alqi_pb *pb, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    tag(pb, field, VARINT);
    varint(pb, value);
}

void
alqi_pb_int(struct alqi_pb *pb, unsigned field, int64_t value)
{
    alqi_pb_uint(pb, field, (uint64_t)value);
}

void
alqi_pb_fixed64(struct alqi_pb *pb, unsigned field, uint64_t value)
{
    if (value == 0)
        return;
    tag(pb, field, FIXED64);
    if (!room(pb, sizeof value))
        return;
    for (unsigned i = 0; i < sizeof value; i++)
        pb->bytes[pb->n++] = (uint8_t)(value >> 8 * i);
}

void
alqi_pb_bytes(struct alqi_pb *pb, unsigned field, const void *bytes, size_t n)
{
    tag(pb, field, LENGTH);
    varint(pb, n);
    if (n == 0 || !room(pb, n))
        return;
    memcpy(pb->bytes + pb->n, bytes, n);
    pb->n += n;
}

void
alqi_pb_text(struct alqi_pb *pb, unsigned field, const char *text)
{
    alqi_pb_bytes(pb, field, text, strlen(text));
}

void
alqi_pb_numbers(struct alqi_pb *pb, const uint64_t *values, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        alqi_pb_uint(pb, i + 1, values[i]);
}

void
alqi_pb_record(struct alqi_pb *pb, unsigned field, const uint64_t *values,
               unsigned n)
{
    size_t mark = alqi_pb_begin(pb, field);

    alqi_pb_numbers(pb, values, n);
    alqi_pb_end(pb, mark);
}

void
alqi_pb_uints(struct alqi_pb *pb, unsigned field, const uint64_t *values,
              size_t n)
{
    size_t mark;

    if (n == 0)
        return;
    mark = alqi_pb_begin(pb, field);
    for (size_t i = 0; i < n; i++)
        varint(pb, values[i]);
    alqi_pb_end(pb, mark);
}

/* A negative number is written as the unsigned one of the same bits. */
void
alqi_pb_ints(struct alqi_pb *pb, unsigned field, const int64_t *values,
             size_t n)
{
    alqi_pb_uints(pb, field, (const uint64_t *)values, n);
}

size_t
alqi_pb_begin(struct alqi_pb *pb, unsigned field)
{
    tag(pb, field, LENGTH);
    return pb->n;
}

/* The length stands in front, and how long it is only the end knows: what is
 * behind moves up. */
void
alqi_pb_end(struct alqi_pb *pb, size_t mark)
{
    uint8_t length[ALQI_WIRE_VARINT_BYTES_MAX];
    size_t n;

    if (pb->is_short)
        return;
    n = (size_t)(alqi_wire_varint_put(length, pb->n - mark) - length);
    if (!room(pb, n))
        return;
    memmove(pb->bytes + mark + n, pb->bytes + mark, pb->n - mark);
    memcpy(pb->bytes + mark, length, n);
    pb->n += n;
}
