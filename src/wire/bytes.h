/* bytes.h -- cursors over the format's primitive encodings [spec memtrace 2]
 *
 * Both cursors are sticky: a read past the end yields 0 and sets `bad`, a
 * write past the end is left out and sets `bad`.  So a record is decoded or
 * encoded straight through and checked once, at its end.
 *
 * .inv.cursor  at <= end, always; nothing outside [at, end) is touched. */
#ifndef ALQI_WIRE_BYTES_H
#define ALQI_WIRE_BYTES_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct alqi_wire_in {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

struct alqi_wire_out {
    uint8_t *at;
    uint8_t *end;
    bool bad;
};

static inline size_t
alqi_wire_in_left(const struct alqi_wire_in *in)
{
    return (size_t)(in->end - in->at);
}

/* Copies the next n bytes; false, and the cursor is bad: there are fewer. */
static inline bool
alqi_wire_in_take(struct alqi_wire_in *in, void *bytes, size_t n)
{
    if (__builtin_expect(alqi_wire_in_left(in) < n, 0)) {
        in->bad = true;
        in->at = in->end;
        return false;
    }
    memcpy(bytes, in->at, n);
    in->at += n;
    return true;
}

static inline uint8_t
alqi_wire_in_u8(struct alqi_wire_in *in)
{
    uint8_t v = 0;

    return alqi_wire_in_take(in, &v, sizeof v) ? v : 0;
}

static inline uint16_t
alqi_wire_in_u16(struct alqi_wire_in *in)
{
    uint16_t v = 0;

    return alqi_wire_in_take(in, &v, sizeof v) ? le16toh(v) : 0;
}

static inline uint32_t
alqi_wire_in_u32(struct alqi_wire_in *in)
{
    uint32_t v = 0;

    return alqi_wire_in_take(in, &v, sizeof v) ? le32toh(v) : 0;
}

static inline uint64_t
alqi_wire_in_u64(struct alqi_wire_in *in)
{
    uint64_t v = 0;

    return alqi_wire_in_take(in, &v, sizeof v) ? le64toh(v) : 0;
}

/* The 254 form is signed: every known writer and reader treats it so. */
static inline int64_t
alqi_wire_in_vint(struct alqi_wire_in *in)
{
    uint8_t tag = alqi_wire_in_u8(in);

    if (__builtin_expect(tag < 253, 1))
        return tag;
    if (tag == 253)
        return alqi_wire_in_u16(in);
    if (tag == 254)
        return (int32_t)alqi_wire_in_u32(in);
    return (int64_t)alqi_wire_in_u64(in);
}

/* A string inside the input, NUL included in what is taken; "" if its end is
 * missing. */
static inline const char *
alqi_wire_in_str(struct alqi_wire_in *in)
{
    const char *s = (const char *)in->at;
    const uint8_t *nul = memchr(in->at, 0, alqi_wire_in_left(in));

    if (nul == NULL) {
        in->bad = true;
        in->at = in->end;
        return "";
    }
    in->at = nul + 1;
    return s;
}

static inline size_t
alqi_wire_out_left(const struct alqi_wire_out *out)
{
    return (size_t)(out->end - out->at);
}

static inline void
alqi_wire_out_put(struct alqi_wire_out *out, const void *bytes, size_t n)
{
    if (__builtin_expect(alqi_wire_out_left(out) < n, 0)) {
        out->bad = true;
        return;
    }
    memcpy(out->at, bytes, n);
    out->at += n;
}

static inline void
alqi_wire_out_u8(struct alqi_wire_out *out, uint8_t v)
{
    alqi_wire_out_put(out, &v, sizeof v);
}

static inline void
alqi_wire_out_u16(struct alqi_wire_out *out, uint16_t v)
{
    v = htole16(v);
    alqi_wire_out_put(out, &v, sizeof v);
}

static inline void
alqi_wire_out_u32(struct alqi_wire_out *out, uint32_t v)
{
    v = htole32(v);
    alqi_wire_out_put(out, &v, sizeof v);
}

static inline void
alqi_wire_out_u64(struct alqi_wire_out *out, uint64_t v)
{
    v = htole64(v);
    alqi_wire_out_put(out, &v, sizeof v);
}

/* In the shortest form. */
static inline void
alqi_wire_out_vint(struct alqi_wire_out *out, int64_t v)
{
    if (v >= 0 && v <= 252) {
        alqi_wire_out_u8(out, (uint8_t)v);
    } else if (v >= 253 && v <= UINT16_MAX) {
        alqi_wire_out_u8(out, 253);
        alqi_wire_out_u16(out, (uint16_t)v);
    } else if (v >= INT32_MIN && v <= INT32_MAX) {
        alqi_wire_out_u8(out, 254);
        alqi_wire_out_u32(out, (uint32_t)v);
    } else {
        alqi_wire_out_u8(out, 255);
        alqi_wire_out_u64(out, (uint64_t)v);
    }
}

static inline void
alqi_wire_out_str(struct alqi_wire_out *out, const char *s)
{
    alqi_wire_out_put(out, s, strlen(s) + 1);
}

#endif
