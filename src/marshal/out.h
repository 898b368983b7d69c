/* out.h -- where a message goes: counted, to memory that grows, or to a buffer
 *
 * The first failure stays and nothing is written after it.  The first
 * ALQ_MARSHAL_HEADER_BYTES are left free for the header. */
#ifndef ALQI_MARSHAL_OUT_H
#define ALQI_MARSHAL_OUT_H

#include "marshal/header.h"

enum alqi_marshal_out_mode {
    ALQI_MARSHAL_COUNT,  /* bytes go to `scratch`, over and over */
    ALQI_MARSHAL_MEMORY, /* start: from malloc, the caller's     */
    ALQI_MARSHAL_BUFFER
};

struct alq_marshal_out {
    unsigned char *start;
    unsigned char *at;
    unsigned char *end;
    uint64_t gone;  /* bytes counted that are not between start and at */
    uint64_t limit; /* of all bytes */
    enum alqi_marshal_out_mode mode;
    enum alq_status status;
    const char *text; /* of a failure */
    unsigned char scratch[256];
};

void alqi_marshal_out_count(struct alq_marshal_out *out, uint64_t limit);
void alqi_marshal_out_memory(struct alq_marshal_out *out, uint64_t limit);
void alqi_marshal_out_buffer(struct alq_marshal_out *out, uint64_t limit,
                             void *buffer, size_t bytes);

/* False, always. */
bool alqi_marshal_out_fail(struct alq_marshal_out *out, enum alq_status status,
                           const char *text);

/* Makes room for n bytes, at most 256, behind `at`; false: it failed. */
bool alqi_marshal_out_room_slow(struct alq_marshal_out *out, size_t n);

bool alqi_marshal_out_bytes(struct alq_marshal_out *out, const void *bytes,
                            size_t n);

/* Writes the header, makes sure of the limit; false: it failed. */
bool alqi_marshal_out_finish(struct alq_marshal_out *out,
                             const struct alqi_marshal_sizes *sizes);

static inline uint64_t
alqi_marshal_out_total(const struct alq_marshal_out *out)
{
    return out->gone + (uint64_t)(out->at - out->start);
}

static inline bool
alqi_marshal_out_room(struct alq_marshal_out *out, size_t n)
{
    return ALQI_LIKELY((size_t)(out->end - out->at) >= n) ||
           alqi_marshal_out_room_slow(out, n);
}

/* A code and a number of n bytes behind it. */
static inline bool
alqi_marshal_out_code(struct alq_marshal_out *out, unsigned code,
                      uint64_t number, unsigned n)
{
    if (!alqi_marshal_out_room(out, 1 + n))
        return false;
    *out->at++ = (unsigned char)code;
    alqi_marshal_store(out->at, number, n);
    out->at += n;
    return true;
}

#endif
