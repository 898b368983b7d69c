/* header.c -- the header of a message, both ways
 *
 * The big form is written when a number does not fit the small one; a
 * compressed message is refused by its magic number. */
#include "marshal/header.h"

bool
alqi_marshal_header_is_big(const struct alqi_marshal_sizes *sizes)
{
    /* There are fewer objects than words. */
    return sizes->data_bytes > UINT32_MAX || sizes->words_32 > UINT32_MAX ||
           sizes->words_64 > UINT32_MAX;
}

void
alqi_marshal_header_write(unsigned char *to,
                          const struct alqi_marshal_sizes *sizes)
{
    if (alqi_marshal_header_is_big(sizes)) {
        alqi_marshal_store(to, ALQI_MARSHAL_MAGIC_BIG, 4);
        alqi_marshal_store(to + 4, 0, 4);
        alqi_marshal_store(to + 8, sizes->data_bytes, 8);
        alqi_marshal_store(to + 16, sizes->objects, 8);
        alqi_marshal_store(to + 24, sizes->words_64, 8);
    } else {
        alqi_marshal_store(to, ALQI_MARSHAL_MAGIC_SMALL, 4);
        alqi_marshal_store(to + 4, sizes->data_bytes, 4);
        alqi_marshal_store(to + 8, sizes->objects, 4);
        alqi_marshal_store(to + 12, sizes->words_32, 4);
        alqi_marshal_store(to + 16, sizes->words_64, 4);
    }
}

static void
read_small(const unsigned char *from, struct alq_marshal_header *out)
{
    out->data_bytes = alqi_marshal_load(from + 4, 4);
    out->objects = alqi_marshal_load(from + 8, 4);
    out->heap_words = alqi_marshal_load(from + 16, 4);
}

static void
read_big(const unsigned char *from, struct alq_marshal_header *out)
{
    out->data_bytes = alqi_marshal_load(from + 8, 8);
    out->objects = alqi_marshal_load(from + 16, 8);
    out->heap_words = alqi_marshal_load(from + 24, 8);
}

enum alq_status
alqi_marshal_header_read(const void *bytes, size_t n,
                         struct alq_marshal_header *out)
{
    uint64_t magic;

    if (n < ALQ_MARSHAL_HEADER_BYTES)
        return ALQ_EINVAL;
    magic = alqi_marshal_load(bytes, 4);
    if (magic == ALQI_MARSHAL_MAGIC_COMPRESSED)
        return ALQ_ENOTSUP;
    if (magic != ALQI_MARSHAL_MAGIC_SMALL && magic != ALQI_MARSHAL_MAGIC_BIG)
        return ALQ_EFORMAT;
    out->header_bytes = magic == ALQI_MARSHAL_MAGIC_BIG
                            ? ALQ_MARSHAL_HEADER_BYTES_MAX
                            : ALQ_MARSHAL_HEADER_BYTES;
    if (n < out->header_bytes)
        return ALQ_EINVAL;
    if (magic == ALQI_MARSHAL_MAGIC_BIG)
        read_big(bytes, out);
    else
        read_small(bytes, out);
    return ALQ_OK;
}
