/* paths.c -- operands of a verb as a list of traces
 *
 * [paths.h] A named file is taken as it is; opening it later says what is
 * wrong. A directory gives its regular files whose first bytes are those of a
 * trace or of a raw recording, packed traces included. "-" is standard input,
 * never a directory. Subdirectories are not entered. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/convert/heap_held.h"
#include "cli/tool/cli.h"
#include "cli/read/input.h"
#include "cli/convert/heaptrack.h"
#include "cli/read/paths.h"
#include "cli/tool/unpack.h"
#include "wire/ctf_packet.h"

/* Appends a copy of the path. Out of memory ends the command. */
static void
add(struct alqi_cli_paths *p, const char *path, bool is_listed)
{
    if ((p->n_paths & (p->n_paths - 1)) == 0)
        p->paths = alqi_cli_realloc(
            p->paths, p->n_paths == 0 ? 1 : 2 * (size_t)p->n_paths,
            sizeof *p->paths);
    p->paths[p->n_paths].path = strdup(path);
    if (p->paths[p->n_paths].path == NULL)
        alqi_cli_realloc(NULL, SIZE_MAX / 2, 1); /* says so and ends */
    p->paths[p->n_paths++].is_listed = is_listed;
}

/* Reads up to n bytes, unpacked; returns how many there are. */
static size_t
head_read(int fd, unsigned char *head, size_t n, bool *is_packed)
{
    struct alqi_cli_unpack *unpack = alqi_cli_unpack_new(fd);
    size_t have = 0;
    ptrdiff_t got;

    while (have < n &&
           (got = alqi_cli_unpack_read(unpack, head + have, n - have)) > 0)
        have += (size_t)got;
    *is_packed = alqi_cli_unpack_is_packed(unpack);
    alqi_cli_unpack_drop(unpack);
    return have;
}

/* A regular file, as *is_file says, that begins like a trace, like a data file
 * of heaptrack or, not packed, like a raw recording. O_NONBLOCK keeps a pipe in
 * the directory from stopping the command. */
static bool
is_trace(const char *path, bool *is_file)
{
    unsigned char head[64];
    bool is_packed = false;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t n = 0;

    *is_file = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    if (*is_file)
        n = head_read(fd, head, sizeof head, &is_packed);
    if (fd >= 0)
        close(fd);
    if (n < 8)
        return false;
    return (!is_packed && alqi_cli_input_is_raw(head, n)) ||
           alqi_cli_heaptrack_is(head, n) ||
           (head[0] == (ALQI_PACKET_MAGIC & 0xFF) &&
            head[1] == (ALQI_PACKET_MAGIC >> 8 & 0xFF) &&
            head[2] == (ALQI_PACKET_MAGIC >> 16 & 0xFF) &&
            head[3] == ALQI_PACKET_MAGIC >> 24);
}

/* A snapshot that is read with the trace beside which it lies. */
static bool
is_beside_trace(const char *path)
{
    char trace[4096];
    size_t n = strlen(path), k = strlen(ALQI_CLI_HEAP_HELD_SUFFIX);

    if (n < k || strcmp(path + n - k, ALQI_CLI_HEAP_HELD_SUFFIX) != 0)
        return false;
    snprintf(trace, sizeof trace, "%.*s", (int)(n - k), path);
    return access(trace, F_OK) == 0;
}

/* Adds the traces of a directory in order of name, and says how many files are
 * none; having no trace is an error.
 * -1: go on. */
static int
add_directory(struct alqi_cli_paths *p, const char *directory)
{
    uint32_t n_before = p->n_paths, n_others = 0;
    struct dirent **entries;
    int n = scandir(directory, &entries, NULL, alphasort);

    if (n < 0)
        return alqi_cli_unreadable("cannot list %s: %s", directory,
                                   strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[4096];
        bool is_file = false;
        int length =
            snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);

        if (length < (int)sizeof path && is_trace(path, &is_file))
            add(p, path, true);
        else if (is_file && !is_beside_trace(path))
            n_others++;
        free(entries[i]);
    }
    free(entries);
    if (p->n_paths > n_before && n_others > 0)
        alqi_cli_say("%s: %u file%s no trace and %s left out", directory,
                     n_others, n_others == 1 ? " is" : "s are",
                     n_others == 1 ? "was" : "were");
    if (p->n_paths > n_before)
        return -1;
    return alqi_cli_unreadable("there is no trace in the directory %s",
                               directory);
}

/* What is not there is added as a file: opening it says what is wrong. */
int
alqi_cli_paths_add(struct alqi_cli_paths *p, const char *operand)
{
    struct stat st;

    if (p->n_paths > 0)
        p->has_many = true;
    if (strcmp(operand, "-") == 0 || stat(operand, &st) != 0 ||
        !S_ISDIR(st.st_mode)) {
        add(p, operand, false);
        return -1;
    }
    p->has_many = true;
    return add_directory(p, operand);
}

/* On failure the list is empty and freed. */
int
alqi_cli_paths_from(struct alqi_cli_paths *p, const char *verb, int argc,
                    char **argv, int first)
{
    memset(p, 0, sizeof *p);
    if (first >= argc)
        return alqi_cli_usage(verb,
                              "%s: which trace? Name a file, several, a "
                              "directory, or '-' for standard input",
                              verb);
    for (int i = first; i < argc; i++) {
        int rc = alqi_cli_paths_add(p, argv[i]);

        if (rc >= 0) {
            alqi_cli_paths_free(p);
            return rc;
        }
    }
    return -1;
}

void
alqi_cli_paths_free(struct alqi_cli_paths *p)
{
    for (uint32_t i = 0; i < p->n_paths; i++)
        free(p->paths[i].path);
    free(p->paths);
    memset(p, 0, sizeof *p);
}
