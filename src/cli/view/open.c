/* open.c -- see open.h
 *
 * An index belongs to a trace of one size and time, and of the same first and
 * last bytes: its key.  A new one is written beside its place and moved there
 * when it is whole, so that whoever reads the old one keeps it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/tool/output.h"
#include "cli/merge/inputs.h"
#include "cli/analysis/view_index.h"
#include "cli/convert/heap_held.h"
#include "cli/view/open.h"
#include "view/index.h"

#define SUFFIX ".aliquot-index"

enum { PATH_BYTES = 4096, PROBE_BYTES = 4096, N_PLACES = 2 };

struct opener {
    /* the caller's; filled when the index is mapped */
    struct alqi_cli_view_file *file;
    /* the caller's, or NULL */
    struct alqi_cli_suppress *suppress;
    /* the files of the operand, which may be a folder */
    struct alqi_cli_paths paths;
    /* an index may be found, and a new one is left */
    bool keeps;
    /* key and places are valid: the operand is one file */
    bool has_key;
    mode_t mode; /* of the trace: who may read it may read its index */
    /* of the trace as it is now */
    unsigned char key[ALQI_VIEW_KEY_BYTES];
    char places[N_PLACES][PATH_BYTES]; /* "" where there is none */
};

/* ---- keys ---------------------------------------------------------------- */

/* FNV-1a with a final mix; no protection against a forged index, which is
 * verified when it is opened. */
static uint64_t
hash_bytes(const unsigned char *bytes, size_t n)
{
    uint64_t h = n;

    for (size_t i = 0; i < n; i++)
        h = (h ^ bytes[i]) * 0x100000001B3u;
    return alqi_base_mix(h);
}

/* Hash of up to PROBE_BYTES at that offset. */
static uint64_t
hash_at(int fd, off_t at)
{
    unsigned char bytes[PROBE_BYTES];
    ssize_t n = pread(fd, bytes, sizeof bytes, at);

    return hash_bytes(bytes, n > 0 ? (size_t)n : 0);
}

/* Of what tells files of that name apart; 0: there is none. */
static uint64_t
hash_stat(const char *path)
{
    struct stat st;
    uint64_t words[3];

    if (stat(path, &st) != 0)
        return 0;
    words[0] = (uint64_t)st.st_size;
    words[1] = (uint64_t)st.st_mtim.tv_sec;
    words[2] = (uint64_t)st.st_mtim.tv_nsec;
    return hash_bytes((const unsigned char *)words, sizeof words);
}

/* Of the snapshot beside the trace, whose holders the index has. */
static uint64_t
hash_beside(const char *path)
{
    char beside[PATH_BYTES + sizeof ALQI_CLI_HEAP_HELD_SUFFIX];

    snprintf(beside, sizeof beside, "%s" ALQI_CLI_HEAP_HELD_SUFFIX, path);
    return hash_stat(beside);
}

/* False when the trace is no file that could be known again. */
static bool
key_make(struct opener *o)
{
    struct stat st;
    uint64_t words[ALQI_VIEW_KEY_BYTES / 8] = {0};
    static const char version[] = ALQI_VERSION; /* whose work it is */
    int fd;

    if (o->paths.n_paths != 1 || o->paths.has_many)
        return false;
    fd = open(o->paths.paths[0].path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return false;
    }
    o->mode = st.st_mode & 0666;
    words[0] = (uint64_t)st.st_size;
    words[1] =
        (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
    words[2] = hash_at(fd, 0);
    words[3] =
        hash_at(fd, st.st_size > PROBE_BYTES ? st.st_size - PROBE_BYTES : 0);
    words[4] = hash_bytes((const unsigned char *)version, strlen(version)) +
               hash_beside(o->paths.paths[0].path);
    memcpy(o->key, words, sizeof words);
    close(fd);
    return true;
}

/* ---- places -------------------------------------------------------------- */

/* The index's place in the cache, by a hash of the trace's whole path; "" where
 * there is no cache. */
static void
cache_place(char *place, const char *path)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool has_cache = cache != NULL && cache[0] == '/';
    char *whole = realpath(path, NULL);
    int n;

    place[0] = '\0';
    if (whole == NULL || (!has_cache && home == NULL)) {
        free(whole);
        return;
    }
    n = snprintf(
        place, PATH_BYTES, "%s%s/aliquot/%016llx" SUFFIX,
        has_cache ? cache : home, has_cache ? "" : "/.cache",
        (unsigned long long)hash_bytes((unsigned char *)whole, strlen(whole)));
    if (n >= PATH_BYTES)
        place[0] = '\0';
    free(whole);
}

/* Fills the places: beside the trace, then in the cache, for traces in folders
 * that cannot be written. */
static void
places_find(struct opener *o)
{
    const char *path = o->paths.paths[0].path;

    if (snprintf(o->places[0], PATH_BYTES, "%s" SUFFIX, path) >= PATH_BYTES)
        o->places[0][0] = '\0';
    cache_place(o->places[1], path);
}

/* Maps what fd holds; closes it. */
static bool
map(struct alqi_cli_view_file *file, int fd)
{
    struct stat st;

    file->bytes = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        file->n_bytes = (size_t)st.st_size;
        file->bytes = mmap(NULL, file->n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    close(fd);
    if (file->bytes == MAP_FAILED)
        file->bytes = NULL;
    return file->bytes != NULL;
}

void
alqi_cli_view_close(struct alqi_cli_view_file *file)
{
    if (file->bytes != NULL)
        munmap(file->bytes, file->n_bytes);
    file->bytes = NULL;
}

/* Whole, of this version, and of this trace as it is now. */
static bool
is_fresh(const struct opener *o)
{
    struct alqi_view_index x;
    const unsigned char *key =
        alqi_view_index_key(o->file->bytes, o->file->n_bytes);
    const char *error;

    if (key == NULL || memcmp(key, o->key, sizeof o->key) != 0)
        return false;
    error = alqi_view_index_open(&x, o->file->bytes, o->file->n_bytes);
    alqi_view_index_close(&x);
    return error == NULL;
}

/* Maps the first index that is whole and of this trace. */
static bool
find(struct opener *o)
{
    for (int i = 0; i < N_PLACES; i++) {
        int fd = o->places[i][0] != '\0'
                     ? open(o->places[i], O_RDONLY | O_CLOEXEC)
                     : -1;

        if (fd < 0 || !map(o->file, fd))
            continue;
        if (is_fresh(o))
            return true;
        alqi_cli_view_close(o->file);
    }
    return false;
}

/* ---- making -------------------------------------------------------------- */

/* A file that will be moved to a place, whose name is put in path; or one that
 * nobody else sees. A place without a file or a stream is passed over, and
 * nothing of it stays. */
static FILE *
out_open(const struct opener *o, char *path, const char **place)
{
    *place = NULL;
    for (int i = 0; o->keeps && o->has_key && i < N_PLACES; i++) {
        FILE *out;
        int fd;

        if (o->places[i][0] == '\0')
            continue;
        if (i > 0)
            alqi_cli_folders_make(o->places[i]);
        if (snprintf(path, PATH_BYTES, "%s.XXXXXX", o->places[i]) >= PATH_BYTES)
            continue;
        fd = mkostemp(path, O_CLOEXEC);
        if (fd < 0)
            continue;
        fchmod(fd, o->mode);
        out = fdopen(fd, "w+b");
        if (out != NULL) {
            *place = o->places[i];
            return out;
        }
        close(fd);
        unlink(path);
    }
    return tmpfile();
}

/* Moves a whole index to its place, or removes what there is of it. */
static void
out_settle(const char *path, const char *place, bool is_whole)
{
    if (place == NULL)
        return;
    if (is_whole && rename(path, place) == 0)
        return;
    unlink(path);
}

/* Reads the trace and writes its index to out. -1, or the status to exit with.
 * A damaged trace has an index of its readable part. */
static int
write_index(struct opener *o, struct alqi_cli_input *input, FILE *out)
{
    const char *error = alqi_cli_view_index_write(input, o->file->operand,
                                                  o->key, o->suppress, out);
    int status = alqi_cli_input_finish(input);

    if (error != NULL)
        return alqi_cli_unreadable("%s: %s%s%s", o->file->operand, error,
                                   errno != 0 ? ": " : "",
                                   errno != 0 ? strerror(errno) : "");
    (void)status; /* said; what was read before the damage is shown */
    return -1;
}

/* Makes a new index and maps it. A second descriptor is mapped, as map() closes
 * what it is given. */
static int
make(struct opener *o)
{
    struct alqi_cli_input *input;
    char path[PATH_BYTES];
    const char *place;
    FILE *out;
    int rc = alqi_cli_inputs_open(&o->paths, &input);

    if (rc >= 0)
        return rc;
    out = out_open(o, path, &place);
    if (out == NULL) {
        alqi_cli_say("cannot make a file for the index of %s: %s",
                     o->file->operand, strerror(errno));
        alqi_cli_input_drop(input);
        return ALQI_CLI_UNREADABLE;
    }
    errno = 0;
    rc = write_index(o, input, out);
    out_settle(path, place, rc < 0);
    if (rc < 0 && !map(o->file, dup(fileno(out)))) {
        alqi_cli_say("cannot map the index of %s: %s", o->file->operand,
                     strerror(errno));
        rc = ALQI_CLI_UNREADABLE;
    }
    fclose(out);
    alqi_cli_input_drop(input);
    return rc;
}

/* An index is made anew unless it may be kept, the trace has a key, and a fresh
 * one is found. */
int
alqi_cli_view_open(struct alqi_cli_view_file *file, const char *operand,
                   bool keeps, struct alqi_cli_suppress *suppress)
{
    struct opener *o = alqi_cli_zeros(1, sizeof *o);
    int rc;

    memset(file, 0, sizeof *file);
    file->operand = operand;
    o->file = file;
    o->keeps = keeps && suppress == NULL;
    o->suppress = suppress;
    rc = alqi_cli_paths_add(&o->paths, operand);
    if (rc < 0) {
        o->has_key = key_make(o);
        if (o->has_key)
            places_find(o);
        if (!o->keeps || !o->has_key || !find(o))
            rc = make(o);
    }
    alqi_cli_paths_free(&o->paths);
    free(o);
    return rc;
}
