/* unpack.c -- see unpack.h
 *
 *   UNKNOWN --first bytes--> PLAIN, GZIP or ZSTD
 *
 * .inv.between  is_between: all members or frames so far have ended, so the
 *               file may end here.
 * .inv.ratio    More than RATIO_MAX bytes for one of the file's, beyond the
 *               first RATIO_FREE_BYTES, is no trace: a packet's header alone
 *               has that much that differs from packet to packet. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "cli/tool/cli.h"
#include "cli/tool/unpack.h"

enum {
    FILE_BYTES = 128 * 1024,
    MAGIC_BYTES = 4,
    GZIP = 16, /* added to the window bits: gzip's header, not zlib's */
    RATIO_MAX = 4096,
    RATIO_FREE_BYTES = 64 * 1024 * 1024
};

enum kind { UNKNOWN, PLAIN, GZIP_MEMBERS, ZSTD_FRAMES };

struct alqi_cli_unpack {
    /* the caller's */
    int fd;
    enum kind kind;
    /* see .inv.between; of packed files */
    bool is_between;
    bool has_more; /* the decoder was left with the output full */
    bool is_ended; /* read() has returned 0 */
    /* read from the file, and unpacked */
    uint64_t n_file_bytes, n_bytes;
    size_t at, filled;  /* of file */
    z_stream gzip;      /* begun where kind is GZIP_MEMBERS */
    ZSTD_DStream *zstd; /* NULL unless kind is ZSTD_FRAMES */
    /* "" or what is wrong; nothing is decoded from then on */
    char damage[160];
    /* bytes of the file as it is */
    unsigned char file[FILE_BYTES];
};

/* gzip has two bytes of its own, zstd four. */
static enum kind
kind_of(const unsigned char *bytes, size_t n)
{
    static const unsigned char zstd[] = {0x28, 0xB5, 0x2F, 0xFD};

    if (n >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B)
        return GZIP_MEMBERS;
    if (n >= sizeof zstd && memcmp(bytes, zstd, sizeof zstd) == 0)
        return ZSTD_FRAMES;
    return PLAIN;
}

/* The buffer of the file is not cleared: it is filled before it is read. */
struct alqi_cli_unpack *
alqi_cli_unpack_new(int fd)
{
    struct alqi_cli_unpack *u = alqi_cli_realloc(NULL, 1, sizeof *u);

    memset(u, 0, offsetof(struct alqi_cli_unpack, file));
    u->fd = fd;
    return u;
}

void
alqi_cli_unpack_drop(struct alqi_cli_unpack *u)
{
    if (u == NULL)
        return;
    if (u->kind == GZIP_MEMBERS)
        inflateEnd(&u->gzip);
    ZSTD_freeDStream(u->zstd);
    free(u);
}

/* ---- the file -------------------------------------------------------- */

/* read() that is repeated after a signal; counts the bytes and notices the
 * end. */
static ptrdiff_t
file_read(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    ssize_t got;

    do
        got = read(u->fd, bytes, n);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        u->is_ended = true;
    if (got > 0)
        u->n_file_bytes += (uint64_t)got;
    return got;
}

/* Replaces the buffer by the next bytes of the file. Requires that all of it
 * was decoded. False: read() failed. */
static bool
file_fill(struct alqi_cli_unpack *u)
{
    ptrdiff_t got = file_read(u, u->file, sizeof u->file);

    u->at = 0;
    u->filled = got > 0 ? (size_t)got : 0;
    return got >= 0;
}

/* ---- decoders -------------------------------------------------------- */

static void
damaged(struct alqi_cli_unpack *u, const char *what, const char *why)
{
    snprintf(u->damage, sizeof u->damage, "%s%s%s%s", what,
             why != NULL ? " (" : "", why != NULL ? why : "",
             why != NULL ? ")" : "");
}

/* Each decodes from file[at, filled) into bytes and returns how many. */

static size_t
gzip_decode(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    int status = Z_OK;

    u->gzip.next_in = u->file + u->at;
    u->gzip.avail_in = (uInt)(u->filled - u->at);
    u->gzip.next_out = bytes;
    u->gzip.avail_out = (uInt)n;
    if (u->is_between && u->gzip.avail_in > 0)
        status = inflateReset(&u->gzip);
    if (status == Z_OK)
        status = inflate(&u->gzip, Z_NO_FLUSH);
    u->at = u->filled - u->gzip.avail_in;
    u->is_between = status == Z_STREAM_END;
    u->has_more = u->gzip.avail_out == 0 && !u->is_between;
    if (status == Z_MEM_ERROR)
        damaged(u, "no memory to unpack it", NULL);
    else if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        damaged(u, "the gzip data is damaged", u->gzip.msg);
    return n - u->gzip.avail_out;
}

/* As gzip_decode(), but a new frame needs no reset. */
static size_t
zstd_decode(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    ZSTD_inBuffer in = {u->file, u->filled, u->at};
    ZSTD_outBuffer out = {bytes, n, 0};
    size_t status = ZSTD_decompressStream(u->zstd, &out, &in);

    u->at = in.pos;
    u->is_between = status == 0;
    u->has_more = out.pos == n && !u->is_between;
    if (ZSTD_isError(status))
        damaged(u, "the zstd data is damaged", ZSTD_getErrorName(status));
    return out.pos;
}

/* Decodes with the file's decoder, and stops what violates .inv.ratio: a small
 * file may unpack to terabytes. */
static size_t
decode(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    size_t got = u->kind == GZIP_MEMBERS ? gzip_decode(u, bytes, n)
                                         : zstd_decode(u, bytes, n);

    u->n_bytes += got;
    if (u->damage[0] == '\0' && u->n_bytes > RATIO_FREE_BYTES &&
        u->n_bytes / RATIO_MAX > u->n_file_bytes)
        damaged(u, "it unpacks to more than a trace could", NULL);
    return got;
}

static bool
decoder_start(struct alqi_cli_unpack *u)
{
    if (u->kind == ZSTD_FRAMES)
        return (u->zstd = ZSTD_createDStream()) != NULL;
    if (u->kind == GZIP_MEMBERS)
        return inflateInit2(&u->gzip, MAX_WBITS + GZIP) == Z_OK;
    return true;
}

/* Reads enough to tell the kind; false on error. */
static bool
begin(struct alqi_cli_unpack *u)
{
    while (u->filled < MAGIC_BYTES && !u->is_ended) {
        ptrdiff_t got =
            file_read(u, u->file + u->filled, sizeof u->file - u->filled);

        if (got < 0)
            return false;
        u->filled += (size_t)got;
    }
    u->kind = kind_of(u->file, u->filled);
    if (!decoder_start(u)) {
        u->kind = PLAIN;
        u->at = u->filled = 0;
        damaged(u, "no memory to unpack it", NULL);
    }
    return true;
}

/* ---- reading --------------------------------------------------------- */

/* First what begin() read into the buffer, then straight from the file. */
static ptrdiff_t
plain_read(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    size_t left = u->filled - u->at;

    if (left == 0)
        return file_read(u, bytes, n);
    n = n < left ? n : left;
    memcpy(bytes, u->file + u->at, n);
    u->at += n;
    return (ptrdiff_t)n;
}

/* Decodes until there are bytes for the caller. A file that ends within a
 * member or frame is damaged; one that ends between two is complete. */
static ptrdiff_t
packed_read(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    while (u->damage[0] == '\0') {
        size_t got;

        if (u->at == u->filled && !u->has_more) {
            if (!file_fill(u))
                return -1;
            if (u->filled == 0 && !u->is_between)
                damaged(u, "the compressed data ends too early", NULL);
            if (u->filled == 0)
                return 0;
        }
        got = decode(u, bytes, n);
        if (got > 0)
            return (ptrdiff_t)got;
    }
    return 0;
}

ptrdiff_t
alqi_cli_unpack_read(struct alqi_cli_unpack *u, void *bytes, size_t n)
{
    if (u->kind == UNKNOWN && !begin(u))
        return -1;
    if (u->damage[0] != '\0')
        return 0;
    return u->kind == PLAIN ? plain_read(u, bytes, n)
                            : packed_read(u, bytes, n);
}

const char *
alqi_cli_unpack_damage(const struct alqi_cli_unpack *u)
{
    return u->damage;
}

bool
alqi_cli_unpack_is_packed(const struct alqi_cli_unpack *u)
{
    return u->kind == GZIP_MEMBERS || u->kind == ZSTD_FRAMES;
}

uint64_t
alqi_cli_unpack_file_bytes(const struct alqi_cli_unpack *u)
{
    return u->n_file_bytes;
}

/* A folder opens as a file does and fails at the first read: it is told here,
 * with what to do. */
int
alqi_cli_unpack_file(const char **path, const char *directory_hint, int *fd,
                     uint64_t *size_bytes)
{
    struct stat st;

    if (strcmp(*path, "-") == 0) {
        *fd = STDIN_FILENO;
        *path = "standard input";
    } else {
        *fd = open(*path, O_RDONLY | O_CLOEXEC);
    }
    if (*fd < 0 || fstat(*fd, &st) != 0)
        return alqi_cli_unreadable("cannot open %s: %s", *path,
                                   strerror(errno));
    if (S_ISDIR(st.st_mode))
        return alqi_cli_unreadable("%s is a directory: %s", *path,
                                   directory_hint);
    if (S_ISREG(st.st_mode) && size_bytes != NULL)
        *size_bytes = (uint64_t)st.st_size;
    return -1;
}
