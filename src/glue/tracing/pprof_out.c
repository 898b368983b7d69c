/* pprof_out.c -- bytes to a descriptor, as gzip's format without compression
 *
 * Bytes are gathered in a block, which is written when it is full; the end
 * writes the last one and the trailer. After the first failed write nothing is
 * written, and the end returns its errno. The descriptor may be a file, a pipe
 * or a socket, blocking or not. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "glue/tracing/pprof_out.h"

/* ---- the descriptor ----------------------------------------------------- */

/* A socket whose reader has gone would raise SIGPIPE by write. */
static ssize_t
some_write(struct alqi_pprof_out *out, const uint8_t *bytes, size_t n)
{
    ssize_t k;

    if (!out->is_no_socket) {
        k = send(out->fd, bytes, n, MSG_NOSIGNAL);
        if (k >= 0 || errno != ENOTSOCK)
            return k;
        out->is_no_socket = true;
    }
    return write(out->fd, bytes, n);
}

/* Waits for room after a failed write. False: it did not fail for lack of
 * room. */
static bool
room_wait(const struct alqi_pprof_out *out)
{
    struct pollfd p = {.fd = out->fd, .events = POLLOUT};

    if (errno == EINTR)
        return true;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
        return false;
    return poll(&p, 1, -1) >= 0 || errno == EINTR;
}

/* Writes all bytes, or sets out->error. */
static void
all_write(struct alqi_pprof_out *out, const uint8_t *bytes, size_t n)
{
    while (n > 0 && out->error == 0) {
        ssize_t k = some_write(out, bytes, n);

        if (k > 0) {
            bytes += k;
            n -= (size_t)k;
        } else if (k == 0) {
            out->error = EIO;
        } else if (!room_wait(out)) {
            out->error = errno;
        }
    }
}

/* ---- the format --------------------------------------------------------- */

/* CRC-32 as gzip has it, four bits at a time: the table is that of the sixteen
 * values of four bits. */
static uint32_t
crc_step(uint32_t crc, const uint8_t *bytes, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};

    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static void
little_put(uint8_t *at, uint32_t value, unsigned n_bytes)
{
    for (unsigned i = 0; i < n_bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

/* Writes the block as a stored one of deflate: its last-flag, its length twice,
 * its bytes. */
static void
block_flush(struct alqi_pprof_out *out, bool is_last)
{
    out->block[0] = is_last;
    little_put(out->block + 1, (uint32_t)out->n, 2);
    little_put(out->block + 3, ~(uint32_t)out->n, 2);
    all_write(out, out->block, ALQI_PPROF_BLOCK_HEAD + out->n);
    out->n = 0;
}

/* Writes gzip's header: no name, no time. */
void
alqi_pprof_out_begin(struct alqi_pprof_out *out, int fd)
{
    static const uint8_t head[10] = {0x1F, 0x8B, 8, [9] = 0xFF};

    out->fd = fd;
    out->error = 0;
    out->is_no_socket = false;
    out->crc = 0;
    out->n_bytes = 0;
    out->n = 0;
    all_write(out, head, sizeof head);
}

/* Gathers bytes; each full block is written. */
void
alqi_pprof_out_put(struct alqi_pprof_out *out, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;

    out->crc = crc_step(out->crc, from, n);
    out->n_bytes += (uint32_t)n;
    while (n > 0) {
        size_t room = ALQI_PPROF_BLOCK_BYTES - out->n;
        size_t k = n < room ? n : room;

        memcpy(out->block + ALQI_PPROF_BLOCK_HEAD + out->n, from, k);
        out->n += k;
        from += k;
        n -= k;
        if (out->n == ALQI_PPROF_BLOCK_BYTES)
            block_flush(out, false);
    }
}

/* The last block, then the checksum and the length. */
int
alqi_pprof_out_end(struct alqi_pprof_out *out)
{
    uint8_t tail[8];

    block_flush(out, true);
    little_put(tail, out->crc, 4);
    little_put(tail + 4, out->n_bytes, 4);
    all_write(out, tail, sizeof tail);
    return out->error;
}
