/* varint.h -- LEB128 numbers and zigzag signs, as our own formats write them
 *
 * A number is its bits in groups of seven, least significant first; the top bit
 * of each byte says that another follows.  A signed number is folded first, so
 * that small ones of either sign are short. */
#ifndef ALQI_WIRE_VARINT_H
#define ALQI_WIRE_VARINT_H

#include <stddef.h>
#include <stdint.h>

enum { ALQI_WIRE_VARINT_BYTES_MAX = 10 };

/* Writes VARINT_BYTES_MAX bytes at most; returns where the next byte goes. */
static inline uint8_t *
alqi_wire_varint_put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

/* Reads inside [*at, end) and moves *at.  NULL: *value is set; else why not. */
static inline const char *
alqi_wire_varint_get(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte;

        if (*at == end)
            return "an event runs over the end of its chunk";
        byte = *(*at)++;
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7F) << shift;
        if ((byte & 0x80) == 0) {
            *value = v;
            return NULL;
        }
    }
    return "a number has more than 64 bits";
}

static inline uint64_t
alqi_wire_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static inline int64_t
alqi_wire_unzigzag(uint64_t value)
{
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

#endif
