/* output.c -- files that verbs write
 *
 * An output is open from output_open() to output_close() or output_abandon().
 * An existing file is overwritten with -f alone.  What was not written whole is
 * removed, if it is a regular file: a device or a pipe stays. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/output.h"
#include "cli/tool/pack.h"
#include "cli/tool/unpack.h"
#include "wire/ctf_packet.h"
#include "wire/raw.h"

enum { MAGIC_BYTES = 8, NAMES_MOST = 1000 };

/* ---- traces -------------------------------------------------------------- */

/* Keeps the first error in out->error. errno is cleared before, as fwrite()
 * need not set it. */
bool
alqi_cli_trace_put(void *trace_out, const void *bytes, size_t n)
{
    struct alqi_cli_trace_out *out = trace_out;

    errno = 0;
    if (fwrite(bytes, 1, n, out->file) == n)
        return true;
    if (out->error == 0)
        out->error = errno != 0 ? errno : EIO;
    return false;
}

/* Flushes first: an error of the last bytes shows only then. An error of the
 * file comes before `status`, which may only be its consequence. */
const char *
alqi_cli_trace_failure(struct alqi_cli_trace_out *out, enum alq_status status)
{
    errno = 0;
    if (fflush(out->file) != 0 && out->error == 0)
        out->error = errno != 0 ? errno : EIO;
    if (out->error != 0)
        return strerror(out->error);
    return status != ALQ_OK ? alq_status_text(status) : NULL;
}

/* ---- other files --------------------------------------------------------- */

/* O_EXCL makes the kernel refuse a file that exists: a test before the call
 * could be overtaken. */
int
alqi_cli_output_open(struct alqi_cli_output *o, const char *path,
                     bool overwrites)
{
    int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
    struct stat st;
    int fd;

    o->path = path;
    o->file = stdout;
    if (strcmp(path, "-") == 0)
        return -1;
    fd = open(path, flags | (overwrites ? O_TRUNC : O_EXCL), 0666);
    if (fd < 0 && errno == EEXIST) {
        alqi_cli_say("%s exists; -f overwrites it", path);
        return ALQI_CLI_USAGE;
    }
    if (fd < 0 || (o->file = alqi_cli_pack_fdopen(fd, path)) == NULL) {
        alqi_cli_say("cannot create %s: %s", path, strerror(errno));
        if (fd >= 0)
            close(fd);
        if (fd >= 0 && !overwrites) /* then this call has made the file */
            unlink(path);
        return ALQI_CLI_UNREADABLE;
    }
    o->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    return -1;
}

/* The reason of a write that failed long ago is gone; what stood against it
 * mostly does so still. So a byte more is written, to what is not whole
 * anyway. */
int
alqi_cli_stream_error(FILE *file)
{
    bool is_bad = ferror(file) != 0;

    errno = 0;
    if (fflush(file) != 0)
        return errno != 0 ? errno : EIO;
    if (!is_bad)
        return 0;
    errno = 0;
    if (fputc('\n', file) == EOF || fflush(file) != 0)
        return errno != 0 ? errno : EIO;
    return EIO;
}

/* A write error may show at the close only, when the last bytes go out. */
int
alqi_cli_output_close(struct alqi_cli_output *o)
{
    int error;

    if (o->file == stdout)
        return ALQI_CLI_OK; /* main looks after it */
    error = alqi_cli_stream_error(o->file);
    errno = 0;
    if (fclose(o->file) != 0 && error == 0)
        error = errno != 0 ? errno : EIO;
    if (error == 0)
        return ALQI_CLI_OK;
    alqi_cli_say("cannot write %s: %s", o->path, strerror(error));
    if (o->is_file)
        unlink(o->path);
    return ALQI_CLI_UNREADABLE;
}

void
alqi_cli_output_abandon(struct alqi_cli_output *o)
{
    if (o->file == stdout)
        return;
    fclose(o->file);
    if (o->is_file)
        unlink(o->path);
}

int
alqi_cli_output_numbered(const char *stem, const char *suffix, mode_t mode,
                         char *path, size_t capacity)
{
    int fd = -1;

    for (unsigned attempt = 0; fd < 0 && attempt < NAMES_MOST; attempt++) {
        char number[16] = "";

        if (attempt > 0)
            snprintf(number, sizeof number, ".%u", attempt);
        errno = ENAMETOOLONG;
        if ((size_t)snprintf(path, capacity, "%s%s%s", stem, number, suffix) <
            capacity)
            fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_EXCL, mode);
        if (fd < 0 && errno != EEXIST)
            break;
    }
    return fd;
}

/* rename() would replace a device or a pipe by a file, so `path` is looked at
 * first. */
bool
alqi_cli_output_replace(const char *finished, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0 || S_ISREG(st.st_mode))
        return rename(finished, path) == 0;
    errno = EEXIST;
    return false;
}

/* To open and close a pipe would be an end for who reads it.  A link that leads
 * nowhere yet has its file made, and removed again. */
bool
alqi_cli_output_try(const char *path)
{
    char made[PATH_MAX];
    struct stat st;
    bool is_new = stat(path, &st) != 0;
    int fd;

    if (!is_new && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return access(path, W_OK) == 0;
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return false;
    close(fd);
    if (is_new && realpath(path, made) != NULL)
        unlink(made);
    return true;
}

bool
alqi_cli_output_is(const char *path, const char *other)
{
    struct stat a, b;

    return strcmp(path, "-") != 0 && stat(path, &a) == 0 &&
           stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Whether the unpacked bytes begin with the mark of a recording or of a trace's
 * packet. The descriptor stays open. */
static bool
begins_as_trace(int fd)
{
    struct alqi_cli_unpack *unpack = alqi_cli_unpack_new(fd);
    uint32_t magic = ALQI_PACKET_MAGIC;
    char head[MAGIC_BYTES];
    ptrdiff_t n = 1;
    size_t at = 0;

    while (n > 0 && at < sizeof head) {
        n = alqi_cli_unpack_read(unpack, head + at, sizeof head - at);
        at += n > 0 ? (size_t)n : 0;
    }
    alqi_cli_unpack_drop(unpack);
    return at == sizeof head && (memcmp(head, ALQI_RAW_MAGIC, at) == 0 ||
                                 memcmp(head, &magic, sizeof magic) == 0);
}

/* O_NONBLOCK: the name may lead to a pipe, whose open() would wait for a
 * writer. */
bool
alqi_cli_output_is_trace(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    bool is = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              (st.st_size == 0 || begins_as_trace(fd));

    if (fd >= 0)
        close(fd);
    return is;
}

void
alqi_cli_folders_make(const char *path)
{
    char folder[PATH_MAX];

    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        mkdir(folder, 0700);
        *at = '/';
    }
}
