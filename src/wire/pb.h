/* pb.h -- messages of protocol buffers, written field by field
 *
 * For code that may depend on nothing: fields go into a buffer in the order of
 * the calls, a message within a message between begin and end.  The buffer is
 * taken when it suits the writer, between two fields of the outermost message.
 *
 * .inv.short  When memory runs out the buffer is marked, and stays as it is:
 *             one look at the end is enough. */
#ifndef ALQI_WIRE_PB_H
#define ALQI_WIRE_PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros is an empty one. */
struct alqi_pb {
    uint8_t *bytes;
    size_t n;
    size_t capacity;
    bool is_short;
};

void alqi_pb_free(struct alqi_pb *pb);

/* A field of each wire type.  A number that is 0 is left out, as is its custom;
 * an empty text or an empty message is not: in a list it counts. */
void alqi_pb_uint(struct alqi_pb *pb, unsigned field, uint64_t value);
void alqi_pb_int(struct alqi_pb *pb, unsigned field, int64_t value);
void alqi_pb_fixed64(struct alqi_pb *pb, unsigned field, uint64_t value);
void alqi_pb_bytes(struct alqi_pb *pb, unsigned field, const void *bytes,
                   size_t n);
void alqi_pb_text(struct alqi_pb *pb, unsigned field, const char *text);

/* Fields 1 to n of the message that is written, a number each; and a message
 * of such fields alone. */
void alqi_pb_numbers(struct alqi_pb *pb, const uint64_t *values, unsigned n);
void alqi_pb_record(struct alqi_pb *pb, unsigned field, const uint64_t *values,
                    unsigned n);

/* Packed fields; none of no numbers. */
void alqi_pb_uints(struct alqi_pb *pb, unsigned field, const uint64_t *values,
                   size_t n);
void alqi_pb_ints(struct alqi_pb *pb, unsigned field, const int64_t *values,
                  size_t n);

/* Fields written between begin and end are the field's message; begin returns
 * the mark that end takes.  They nest. */
size_t alqi_pb_begin(struct alqi_pb *pb, unsigned field);
void alqi_pb_end(struct alqi_pb *pb, size_t mark);

#endif
