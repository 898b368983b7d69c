/* symbol_elf_unpack.c -- zlib, zstd and xz, each into a bounded buffer
 *
 * The output is bounded before the first byte (.inv.bound): a section by the
 * size that it claims and that was judged plausible, xz by 256 MiB.  A stream
 * that ends early, runs over, or is damaged gives nothing. */
#include "stack/symbol_elf_image.h"

#include <limits.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

bool
alqi_symbol_unpack_zlib(uint8_t *to, size_t to_bytes, const uint8_t *from,
                        size_t from_bytes)
{
    z_stream z;
    int got = Z_OK;
    size_t done_bytes = 0, used_bytes = 0, turn_bytes;

    memset(&z, 0, sizeof z);
    if (inflateInit(&z) != Z_OK)
        return false;
    /* zlib counts in 32 bits, sections in 64. */
    while (got == Z_OK) {
        turn_bytes = from_bytes - used_bytes;
        z.avail_in = turn_bytes < INT_MAX ? (uInt)turn_bytes : INT_MAX;
        z.next_in = (Bytef *)(uintptr_t)(from + used_bytes);
        turn_bytes = to_bytes - done_bytes;
        z.avail_out = turn_bytes < INT_MAX ? (uInt)turn_bytes : INT_MAX;
        z.next_out = to + done_bytes;
        got = inflate(&z, Z_NO_FLUSH);
        used_bytes = (size_t)(z.next_in - from);
        done_bytes = (size_t)(z.next_out - to);
    }
    inflateEnd(&z);
    return got == Z_STREAM_END && done_bytes == to_bytes;
}

bool
alqi_symbol_unpack_zstd(uint8_t *to, size_t to_bytes, const uint8_t *from,
                        size_t from_bytes)
{
    return ZSTD_decompress(to, to_bytes, from, from_bytes) == to_bytes;
}

uint8_t *
alqi_symbol_unpack_xz(const uint8_t *from, size_t from_bytes, size_t *bytes)
{
    enum { FIRST_BYTES = 1 << 20, LAST_BYTES = 1 << 28 };
    lzma_stream xz = LZMA_STREAM_INIT;
    lzma_ret got = LZMA_OK;
    size_t capacity_bytes = FIRST_BYTES;
    uint8_t *to = malloc(capacity_bytes), *grown;

    if (to == NULL || lzma_stream_decoder(&xz, LAST_BYTES, 0) != LZMA_OK)
        goto fail;
    xz.next_in = from;
    xz.avail_in = from_bytes;
    xz.next_out = to;
    xz.avail_out = capacity_bytes;
    while ((got = lzma_code(&xz, LZMA_FINISH)) == LZMA_OK) {
        if (xz.avail_out > 0)
            continue;
        if (capacity_bytes >= LAST_BYTES)
            break;
        grown = realloc(to, 2 * capacity_bytes);
        if (grown == NULL)
            break;
        to = grown;
        xz.next_out = to + capacity_bytes;
        xz.avail_out = capacity_bytes;
        capacity_bytes *= 2;
    }
    *bytes = (size_t)xz.total_out;
    lzma_end(&xz);
    if (got == LZMA_STREAM_END)
        return to;
fail:
    free(to);
    return NULL;
}
