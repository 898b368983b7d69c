/* pack.c -- see pack.h
 *
 * The level was chosen by measurement on two traces of 21 million events whose
 * clock has steps of 16 ms (python, cc1): 7 writes 0.48 and 0.95 bytes an event
 * at 50 and 67 ns each; 3 takes a quarter of that time and writes 1.5 and 1.25
 * times as much; 9 takes 1.4 times as long to write 1 or 2 % less.
 *
 * Matches may be as short as 4 bytes, where the level says 5: when the time has
 * changed, three bytes of each event, there are few longer ones.  With a clock
 * of microseconds that writes 5 (python) and 12 % (cc1) less, and twice as many
 * places searched another 4 % (python) with steps of 10 ms; the two together
 * take 15 % longer. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>

#include "cli/tool/pack.h"

#define SUFFIX ".zst"

enum {
    LEVEL = 7,
    MATCH_BYTES_MIN = 4,
    SEARCH_LOG = 5,
    /* of unpacked bytes: a frame with more is ended */
    FRAME_BYTES = 16 * 1024 * 1024,
    /* what is older is written out, for a reader that follows */
    FLUSH_MS = 1000,
    /* at least ZSTD_CStreamOutSize() */
    OUT_BYTES = 128 * 1024 + 1024,
    IN_BYTES = 64 * 1024
};

struct pack {
    int fd;
    ZSTD_CStream *zstd;
    /* unpacked bytes in the open frame */
    size_t n_frame_bytes;
    /* monotonic time of the last flush or frame's end */
    uint64_t flushed_ms;
    char in[IN_BYTES]; /* the stream's */
    char out[OUT_BYTES];
};

size_t
alqi_cli_pack_stem(const char *path)
{
    size_t n = strlen(path);

    if (n > strlen(SUFFIX) && strcmp(path + n - strlen(SUFFIX), SUFFIX) == 0)
        n -= strlen(SUFFIX);
    return n;
}

bool
alqi_cli_pack_is_meant(const char *path)
{
    return path[alqi_cli_pack_stem(path)] != '\0';
}

/* The coarse clock: it is asked at each write. */
static uint64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Writes the first n bytes of p->out to the file. write() may take less than it
 * is given. */
static bool
out_write(struct pack *p, size_t n)
{
    size_t at = 0;

    while (at < n) {
        ssize_t put = write(p->fd, p->out + at, n - at);

        if (put < 0 && errno != EINTR)
            return false;
        if (put > 0)
            at += (size_t)put;
    }
    return true;
}

/* Takes all of bytes; with an end or a flush, until nothing is held back. */
static bool
compress(struct pack *p, const void *bytes, size_t n, ZSTD_EndDirective how)
{
    ZSTD_inBuffer in = {bytes, n, 0};
    size_t left;

    do {
        ZSTD_outBuffer out = {p->out, sizeof p->out, 0};

        left = ZSTD_compressStream2(p->zstd, &out, &in, how);
        if (ZSTD_isError(left)) {
            errno = ENOMEM;
            return false;
        }
        if (!out_write(p, out.pos))
            return false;
    } while (in.pos < in.size || (how != ZSTD_e_continue && left > 0));
    return true;
}

/* The write function of the stream: compresses n bytes, and ends the frame or
 * flushes when it is time. Returns 0 on an error, with errno, as fopencookie(3)
 * wants. */
static ssize_t
pack_write(void *cookie, const char *bytes, size_t n)
{
    struct pack *p = cookie;
    uint64_t ms = now_ms();
    ZSTD_EndDirective how = ZSTD_e_continue;

    p->n_frame_bytes += n;
    if (p->n_frame_bytes >= FRAME_BYTES)
        how = ZSTD_e_end;
    else if (ms - p->flushed_ms >= FLUSH_MS)
        how = ZSTD_e_flush;
    if (!compress(p, bytes, n, how))
        return 0;
    if (how == ZSTD_e_end)
        p->n_frame_bytes = 0;
    if (how != ZSTD_e_continue)
        p->flushed_ms = ms;
    return (ssize_t)n;
}

/* An empty file is a frame, too: else it would be no zstd file. */
static int
pack_close(void *cookie)
{
    struct pack *p = cookie;
    bool is_good = compress(p, NULL, 0, ZSTD_e_end);
    int error = errno;

    if (close(p->fd) != 0 && is_good) {
        is_good = false;
        error = errno;
    }
    ZSTD_freeCStream(p->zstd);
    free(p);
    errno = error;
    return is_good ? 0 : EOF;
}

/* NULL with errno ENOMEM: each failure here is one of memory. fd stays the
 * caller's until the stream is open. */
static struct pack *
pack_new(int fd)
{
    struct pack *p = malloc(sizeof *p);

    if (p == NULL)
        return NULL;
    p->fd = fd;
    p->n_frame_bytes = 0;
    p->flushed_ms = now_ms();
    p->zstd = ZSTD_createCStream();
    if (p->zstd == NULL)
        goto fail_stream;
    if (ZSTD_isError(
            ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_minMatch,
                                            MATCH_BYTES_MIN)) ||
        ZSTD_isError(
            ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_searchLog, SEARCH_LOG)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_checksumFlag, 1)))
        goto fail_set;
    return p;

fail_set:
    ZSTD_freeCStream(p->zstd);
fail_stream:
    free(p);
    errno = ENOMEM;
    return NULL;
}

/* stdio's buffer is our own, so that large writes reach the compressor in one
 * piece. */
FILE *
alqi_cli_pack_fdopen(int fd, const char *path)
{
    static const cookie_io_functions_t io = {
        .write = pack_write,
        .close = pack_close,
    };
    struct pack *p;
    FILE *file;

    if (!alqi_cli_pack_is_meant(path))
        return fdopen(fd, "w");
    p = pack_new(fd);
    if (p == NULL)
        return NULL;
    file = fopencookie(p, "w", io);
    if (file == NULL) {
        ZSTD_freeCStream(p->zstd);
        free(p);
        return NULL;
    }
    setvbuf(file, p->in, _IOFBF, sizeof p->in);
    return file;
}
