/* dwarf_bytes.h -- a bounded cursor over bytes nobody vouches for
 *
 * A read past the end yields 0, NULL or "" and marks the cursor bad; the mark
 * stays, so a reader may check once after a group of reads.  Little-endian
 * machines. */
#ifndef ALQI_STACK_DWARF_BYTES_H
#define ALQI_STACK_DWARF_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct alqi_stack_bytes {
    const uint8_t *at;  /* the next byte; never beyond end */
    const uint8_t *end; /* fixed: nothing from here on is read */
    bool is_bad;        /* a read went past the end, or a user says damage */
};

static inline size_t
alqi_stack_bytes_left(const struct alqi_stack_bytes *b)
{
    return (size_t)(b->end - b->at);
}

/* The next n bytes, or NULL: there are fewer, and none is left then. */
static inline const uint8_t *
alqi_stack_bytes_take(struct alqi_stack_bytes *b, uint64_t n)
{
    const uint8_t *p = b->at;

    if (alqi_stack_bytes_left(b) < n) {
        b->is_bad = true;
        b->at = b->end;
        return NULL;
    }
    b->at += n;
    return p;
}

static inline void
alqi_stack_bytes_skip(struct alqi_stack_bytes *b, uint64_t n)
{
    alqi_stack_bytes_take(b, n);
}

/* The next n bytes, 8 at most, as an unsigned number. */
static inline uint64_t
alqi_stack_bytes_uint(struct alqi_stack_bytes *b, unsigned n)
{
    const uint8_t *p = alqi_stack_bytes_take(b, n);
    uint64_t v = 0;

    if (p != NULL)
        memcpy(&v, p, n);
    return v;
}

/* The next n bytes, 8 at most, as a signed number. */
static inline int64_t
alqi_stack_bytes_int(struct alqi_stack_bytes *b, unsigned n)
{
    unsigned unused = 64 - 8 * n;

    return (int64_t)(alqi_stack_bytes_uint(b, n) << unused) >> unused;
}

static inline uint8_t
alqi_stack_bytes_u8(struct alqi_stack_bytes *b)
{
    return (uint8_t)alqi_stack_bytes_uint(b, 1);
}

/* Bits past the 64th are read and dropped. */
static inline uint64_t
alqi_stack_bytes_uleb(struct alqi_stack_bytes *b)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t x;

    do {
        x = alqi_stack_bytes_u8(b);
        if (shift < 64)
            v |= (uint64_t)(x & 127) << shift;
        shift += 7;
    } while ((x & 128) != 0);
    return v;
}

/* A signed LEB128 number; bits past the 64th are read and dropped. */
static inline int64_t
alqi_stack_bytes_sleb(struct alqi_stack_bytes *b)
{
    uint64_t v = 0;
    unsigned shift = 0;
    uint8_t x;

    do {
        x = alqi_stack_bytes_u8(b);
        if (shift < 64)
            v |= (uint64_t)(x & 127) << shift;
        shift += 7;
    } while ((x & 128) != 0);
    if (shift < 64 && (x & 64) != 0)
        v |= ~(uint64_t)0 << shift;
    return (int64_t)v;
}

/* A text inside the bytes, taken with its NUL; "" where the NUL is missing. */
static inline const char *
alqi_stack_bytes_text(struct alqi_stack_bytes *b)
{
    const uint8_t *text = b->at;
    const uint8_t *nul = memchr(text, '\0', alqi_stack_bytes_left(b));

    if (nul == NULL) {
        b->is_bad = true;
        b->at = b->end;
        return "";
    }
    b->at = nul + 1;
    return (const char *)text;
}

#endif
