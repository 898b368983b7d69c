/* symbol_bytes.h -- reading numbers and texts inside bounds
 *
 * A read past the end gives 0 or "" and sets `is_bad`; callers look at the
 * flag where it decides something, not after each read. */
#ifndef ALQI_STACK_SYMBOL_BYTES_H
#define ALQI_STACK_SYMBOL_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct alqi_symbol_bytes {
    const uint8_t *at, *end;
    bool is_bad;
};

static inline size_t
alqi_symbol_bytes_left(const struct alqi_symbol_bytes *b)
{
    return (size_t)(b->end - b->at);
}

static inline void
alqi_symbol_bytes_skip(struct alqi_symbol_bytes *b, uint64_t bytes)
{
    if (bytes > alqi_symbol_bytes_left(b)) {
        b->is_bad = true;
        bytes = alqi_symbol_bytes_left(b);
    }
    b->at += bytes;
}

/* Little-endian, 1 to 8 bytes. */
static inline uint64_t
alqi_symbol_bytes_number(struct alqi_symbol_bytes *b, unsigned bytes)
{
    uint64_t value = 0;
    unsigned i;

    if (bytes > alqi_symbol_bytes_left(b)) {
        b->is_bad = true;
        b->at = b->end;
        return 0;
    }
    for (i = 0; i < bytes; i++)
        value |= (uint64_t)b->at[i] << (8 * i);
    b->at += bytes;
    return value;
}

static inline uint8_t
alqi_symbol_bytes_u8(struct alqi_symbol_bytes *b)
{
    if (b->at == b->end) {
        b->is_bad = true;
        return 0;
    }
    return *b->at++;
}

/* Bits past the 64th are read and dropped. */
static inline uint64_t
alqi_symbol_bytes_uleb(struct alqi_symbol_bytes *b)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = alqi_symbol_bytes_u8(b);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    return value;
}

static inline int64_t
alqi_symbol_bytes_sleb(struct alqi_symbol_bytes *b)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = alqi_symbol_bytes_u8(b);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

static inline const char *
alqi_symbol_bytes_text(struct alqi_symbol_bytes *b)
{
    const uint8_t *text = b->at;
    const uint8_t *nul = memchr(text, '\0', alqi_symbol_bytes_left(b));

    if (nul == NULL) {
        b->is_bad = true;
        b->at = b->end;
        return "";
    }
    b->at = nul + 1;
    return (const char *)text;
}

#endif
