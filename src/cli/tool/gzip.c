/* gzip.c -- see gzip.h; the compressor is zlib's */
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "cli/tool/gzip.h"

enum { GZIP = 16 /* added to the window bits: gzip's header, not zlib's */ };

/* zlib counts what it is given in an unsigned int, so it is fed in parts; the
 * room is enough for all from the beginning. */
static void
deflate_all(z_stream *z, const uint8_t *bytes, size_t n, size_t room)
{
    int status = Z_OK;

    z->next_in = (uint8_t *)(uintptr_t)bytes; /* which zlib does not change */
    while (status == Z_OK || status == Z_BUF_ERROR) {
        if (z->avail_in == 0) {
            z->avail_in = n < UINT_MAX ? (uInt)n : UINT_MAX;
            n -= z->avail_in;
        }
        if (z->avail_out == 0) {
            z->avail_out = room < UINT_MAX ? (uInt)room : UINT_MAX;
            room -= z->avail_out;
        }
        status = deflate(z, n == 0 ? Z_FINISH : Z_NO_FLUSH);
    }
}

void *
alqi_cli_gzip(const void *bytes, size_t n, size_t *n_packed)
{
    z_stream z = {0};
    uint8_t *packed;
    size_t room;

    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                     MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return NULL;
    room = deflateBound(&z, n);
    packed = malloc(room);
    if (packed != NULL) {
        z.next_out = packed;
        deflate_all(&z, bytes, n, room);
        *n_packed = z.total_out;
    }
    deflateEnd(&z);
    return packed;
}
