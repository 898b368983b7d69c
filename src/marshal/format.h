/* format.h -- the codes of a message [doc/design/marshal.md]
 *
 * Numbers are big-endian, but for doubles, which say what they are. */
#ifndef ALQI_MARSHAL_FORMAT_H
#define ALQI_MARSHAL_FORMAT_H

#include <aliquot/marshal.h>

#include "base/base.h"

#define ALQI_MARSHAL_MAGIC_SMALL 0x8495A6BEu
#define ALQI_MARSHAL_MAGIC_BIG 0x8495A6BFu
#define ALQI_MARSHAL_MAGIC_COMPRESSED 0x8495A6BDu

/* Each code with what follows it; uN: a number of N bits. */
enum {
    ALQI_MARSHAL_INT8 = 0x00, /* the integer, signed */
    ALQI_MARSHAL_INT16 = 0x01,
    ALQI_MARSHAL_INT32 = 0x02,
    ALQI_MARSHAL_INT64 = 0x03,
    ALQI_MARSHAL_SHARED8 = 0x04, /* uN: so many objects back */
    ALQI_MARSHAL_SHARED16 = 0x05,
    ALQI_MARSHAL_SHARED32 = 0x06,
    ALQI_MARSHAL_DOUBLES32_LITTLE = 0x07,
    ALQI_MARSHAL_BLOCK32 = 0x08, /* uN: header; then the fields */
    ALQI_MARSHAL_STRING8 = 0x09, /* uN: bytes; then these */
    ALQI_MARSHAL_STRING32 = 0x0A,
    ALQI_MARSHAL_DOUBLE_BIG = 0x0B, /* the double */
    ALQI_MARSHAL_DOUBLE_LITTLE = 0x0C,
    ALQI_MARSHAL_DOUBLES8_BIG = 0x0D, /* uN: how many; then these */
    ALQI_MARSHAL_DOUBLES8_LITTLE = 0x0E,
    ALQI_MARSHAL_DOUBLES32_BIG = 0x0F,
    ALQI_MARSHAL_CODE_POINTER = 0x10,
    ALQI_MARSHAL_INFIX_POINTER = 0x11,
    ALQI_MARSHAL_CUSTOM = 0x12, /* name, 0; data.  Not written any more */
    ALQI_MARSHAL_BLOCK64 = 0x13,
    ALQI_MARSHAL_SHARED64 = 0x14,
    ALQI_MARSHAL_STRING64 = 0x15,
    ALQI_MARSHAL_DOUBLES64_BIG = 0x16,
    ALQI_MARSHAL_DOUBLES64_LITTLE = 0x17,
    ALQI_MARSHAL_CUSTOM_SIZED = 0x18, /* name, 0; u32, u64: bytes; data */
    ALQI_MARSHAL_CUSTOM_FIXED = 0x19, /* name, 0; data */

    ALQI_MARSHAL_SMALL_STRING = 0x20, /* + bytes, below 0x20 */
    ALQI_MARSHAL_SMALL_INT = 0x40,    /* + the integer, below 0x40 */
    ALQI_MARSHAL_SMALL_BLOCK = 0x80   /* + fields << 4 + tag, below 8 and 16 */
};

/* OCaml's tags that are not ours to read or write. */
enum { ALQI_MARSHAL_TAG_CLOSURE = 247, ALQI_MARSHAL_TAG_INFIX = 249 };

static inline bool
alqi_marshal_is_code(unsigned tag)
{
    return tag == ALQI_MARSHAL_TAG_CLOSURE || tag == ALQI_MARSHAL_TAG_INFIX;
}

/* Writes n bytes of the number, big-endian. */
static inline void
alqi_marshal_store(unsigned char *to, uint64_t number, unsigned n_bytes)
{
    if (n_bytes == 4) { /* one store, of which there are many */
        to[0] = (unsigned char)(number >> 24);
        to[1] = (unsigned char)(number >> 16);
        to[2] = (unsigned char)(number >> 8);
        to[3] = (unsigned char)number;
        return;
    }
    while (n_bytes-- > 0) {
        to[n_bytes] = (unsigned char)number;
        number >>= 8;
    }
}

/* Reads a number of n bytes, 8 at most, big-endian. */
static inline uint64_t
alqi_marshal_load(const unsigned char *from, unsigned n_bytes)
{
    uint64_t number = 0;
    unsigned i;

    if (n_bytes == 4) /* one load, of which there are many */
        return (uint64_t)from[0] << 24 | (uint64_t)from[1] << 16 |
               (uint64_t)from[2] << 8 | from[3];
    if (n_bytes == 8) {
        memcpy(&number, from, sizeof number);
        return __builtin_bswap64(number); /* little-endian, as all is */
    }
    for (i = 0; i < n_bytes; i++)
        number = number << 8 | from[i];
    return number;
}

#endif
