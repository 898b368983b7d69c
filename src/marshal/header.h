/* header.h -- the header of a message
 *
 *   small   magic, u32: data bytes, objects, words on 32 bits, on 64 bits
 *   big     magic, u32: 0, u64: data bytes, objects, words on 64 bits */
#ifndef ALQI_MARSHAL_HEADER_H
#define ALQI_MARSHAL_HEADER_H

#include "marshal/format.h"

struct alqi_marshal_sizes {
    uint64_t data_bytes;
    uint64_t objects;
    uint64_t words_32; /* of all blocks, with headers */
    uint64_t words_64;
};

bool alqi_marshal_header_is_big(const struct alqi_marshal_sizes *sizes);

/* Writes 20 or 32 bytes. */
void alqi_marshal_header_write(unsigned char *to,
                               const struct alqi_marshal_sizes *sizes);

/* As alq_marshal_header_read, of arguments that are no NULL. */
enum alq_status alqi_marshal_header_read(const void *bytes, size_t n,
                                         struct alq_marshal_header *out);

#endif
