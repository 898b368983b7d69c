/* file.c -- a snapshot's bytes, mapped                                 [file.h]
 *
 * A file of a program that still writes it is as long as it was when it was
 * opened, and is told to be cut. */
#include "cli/heap/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/tool/unpack.h"

/* Pages of the file are let go after so many bytes. */
enum { WINDOW_BYTES = 4 << 20, PIECE_BYTES = 1 << 16 };

/* ---- open ---------------------------------------------------------------- */

/* All that the file unpacks to, in a temporary one; its descriptor, or -1:
 * said. */
static int
unpacked(struct alqi_cli_unpack *unpack, const char *path)
{
    FILE *to = tmpfile();
    uint8_t piece[PIECE_BYTES];
    ptrdiff_t n = 0;
    int fd = -1;

    while (to != NULL &&
           (n = alqi_cli_unpack_read(unpack, piece, sizeof piece)) > 0)
        if (fwrite(piece, 1, (size_t)n, to) != (size_t)n)
            break;
    if (to == NULL || ferror(to) || n < 0 || fflush(to) != 0)
        alqi_cli_say("cannot unpack %s: %s", path, strerror(errno));
    else
        fd = dup(fileno(to));
    if (alqi_cli_unpack_damage(unpack)[0] != '\0')
        alqi_cli_say("%s: %s; what was before it is used", path,
                     alqi_cli_unpack_damage(unpack));
    if (to != NULL)
        fclose(to);
    return fd;
}

/* A descriptor of the bytes themselves, which may be fd; -1: said. */
static int
plain(int fd, const char *path)
{
    struct alqi_cli_unpack *unpack;
    struct stat st;
    char magic[sizeof ALQI_DUMP_MAGIC - 1];
    int to;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        pread(fd, magic, sizeof magic, 0) == sizeof magic &&
        memcmp(magic, ALQI_DUMP_MAGIC, sizeof magic) == 0)
        return dup(fd);
    unpack = alqi_cli_unpack_new(fd);
    to = unpacked(unpack, path);
    alqi_cli_unpack_drop(unpack);
    return to;
}

static int
map(struct alqi_cli_heap_file *file, int fd)
{
    struct alqi_dump_decoder d;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return alqi_cli_unreadable("cannot read %s: %s", file->path,
                                   strerror(errno));
    if (st.st_size == 0)
        return alqi_cli_unreadable("%s is empty", file->path);
    file->bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file->bytes == MAP_FAILED) {
        file->bytes = NULL;
        return alqi_cli_unreadable("cannot map %s: %s", file->path,
                                   strerror(errno));
    }
    file->n_bytes = (size_t)st.st_size;
    if (alqi_dump_decode(&d, file->bytes, file->n_bytes))
        return -1;
    return alqi_cli_unreadable("%s: %s: 'aliquot snapshot --graph' and "
                               "alq_heap_snapshot(3) write those, and 'aliquot "
                               "report' reads traces",
                               file->path, d.error);
}

int
alqi_cli_heap_file_open(struct alqi_cli_heap_file *file, const char *path)
{
    int fd = -1, bytes, rc;

    memset(file, 0, sizeof *file);
    rc = alqi_cli_unpack_file(
        &path, "name the file that `aliquot snapshot --graph` wrote", &fd,
        NULL);
    file->path = path;
    if (rc < 0) {
        bytes = plain(fd, path);
        rc = bytes < 0 ? ALQI_CLI_UNREADABLE : map(file, bytes);
        if (bytes >= 0)
            close(bytes);
    }
    if (fd > STDIN_FILENO)
        close(fd);
    return rc;
}

void
alqi_cli_heap_file_close(struct alqi_cli_heap_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->n_bytes);
    file->bytes = NULL;
}

/* ---- walks --------------------------------------------------------------- */

/* Whole windows before the place of reading go: the file is in the system's
 * memory still, but no part of this process. */
static void
pages_release(struct alqi_cli_heap_walk *walk)
{
    size_t n = (size_t)(walk->d.at - walk->kept) & ~(size_t)(WINDOW_BYTES - 1);
    size_t left;

    if (n > 0)
        madvise((void *)(uintptr_t)walk->kept, n, MADV_DONTNEED);
    walk->kept += n;
    left = (size_t)(walk->d.end - walk->kept);
    walk->next = walk->kept + (left < WINDOW_BYTES ? left : WINDOW_BYTES);
}

void
alqi_cli_heap_walk_begin(struct alqi_cli_heap_walk *walk,
                         const struct alqi_cli_heap_file *file)
{
    walk->file = file;
    walk->kept = file->bytes;
    alqi_dump_decode(&walk->d, file->bytes, file->n_bytes);
    pages_release(walk);
}

int
alqi_cli_heap_walk_on(struct alqi_cli_heap_walk *walk,
                      struct alqi_dump_record *record,
                      struct alqi_dump_block_read *block)
{
    do {
        pages_release(walk);
        if (alqi_dump_next_block(&walk->d, block))
            return 0;
        if (alqi_dump_next(&walk->d, record) <= 0)
            return -1;
    } while (record->kind == ALQI_DUMP_RUN);
    return 1;
}
