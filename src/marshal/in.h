/* in.h -- the data of a message, read from front to back */
#ifndef ALQI_MARSHAL_IN_H
#define ALQI_MARSHAL_IN_H

#include <string.h>

#include "marshal/format.h"

struct alq_marshal_in {
    const unsigned char *at;
    const unsigned char *end;
    bool is_short; /* more was asked for than there is */
};

static inline size_t
alqi_marshal_in_left(const struct alq_marshal_in *in)
{
    return (size_t)(in->end - in->at);
}

/* False: there are not so many, and none is taken. */
static inline bool
alqi_marshal_in_has(struct alq_marshal_in *in, uint64_t n)
{
    if (ALQI_LIKELY(alqi_marshal_in_left(in) >= n))
        return true;
    in->is_short = true;
    return false;
}

/* Zeros when they are not there. */
static inline void
alqi_marshal_in_bytes(struct alq_marshal_in *in, void *to, size_t n)
{
    if (alqi_marshal_in_has(in, n)) {
        memcpy(to, in->at, n);
        in->at += n;
    } else {
        memset(to, 0, n);
    }
}

/* A number of 1 to 8 bytes; 0 when they are not there. */
static inline uint64_t
alqi_marshal_in_number(struct alq_marshal_in *in, unsigned n)
{
    uint64_t number;

    if (!alqi_marshal_in_has(in, n))
        return 0;
    number = alqi_marshal_load(in->at, n);
    in->at += n;
    return number;
}

static inline int64_t
alqi_marshal_in_signed(struct alq_marshal_in *in, unsigned n)
{
    unsigned shift = 64 - 8 * n;

    return (int64_t)(alqi_marshal_in_number(in, n) << shift) >> shift;
}

#endif
