/* jit.c -- the files that name a process's own code: found, checked, read
 *
 * Of each file:
 *
 *   absent --alqi_cli_jit_read finds it--> open --its bytes--> pieces
 *      |                                    |
 *      +--it is not to be trusted--> refused +--it grows--> read again
 *
 * A process that lives is asked through /proc/PID/root, and its files are
 * looked for at each reading; one that has ended only here, and only if it ran
 * on this host. A jitdump has times and so is asked first.
 *
 * .inv.jit_file  What is read was opened without a symbolic link that another
 *                user could have placed, is regular, belongs to the user that
 *                made the recording, and was last written after the process
 *                began. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/convert/jit.h"
#include "stack/symbol_jit.h"

enum { DUMP, MAP, FILES };

enum { BUFFER_BYTES = 1 << 20, FILE_BYTES_MAX = 1 << 30, NOTE_BYTES = 400 };

/* The file of one kind. */
struct file {
    struct alqi_symbol_jit *pieces;     /* owned */
    char path[ALQI_RAW_TEXT_BYTES_MAX]; /* as the process has it */
    int fd;                             /* -1: absent or refused */
    uint64_t at_bytes;                  /* read so far           */
    const char *refused;                /* why; NULL             */
    bool is_long;                       /* it has more than FILE_BYTES_MAX */
};

struct alqi_cli_jit {
    const struct alqi_cli_recording *recording;
    struct file files[FILES];
    char *buffer; /* of BUFFER_BYTES */
    char note[NOTE_BYTES + ALQI_RAW_TEXT_BYTES_MAX];
};

struct alqi_cli_jit *
alqi_cli_jit_new(const struct alqi_cli_recording *recording)
{
    struct alqi_cli_jit *jit = calloc(1, sizeof *jit);
    uint32_t pid = alqi_cli_recording_header(recording)->pid;
    bool ok = jit != NULL;

    if (jit == NULL)
        return NULL;
    jit->recording = recording;
    jit->buffer = malloc(BUFFER_BYTES);
    ok = jit->buffer != NULL;
    for (unsigned i = 0; i < FILES; i++) {
        jit->files[i].fd = -1;
        jit->files[i].pieces = alqi_symbol_jit_new();
        ok &= jit->files[i].pieces != NULL;
    }
    snprintf(jit->files[MAP].path, sizeof jit->files[MAP].path,
             "/tmp/perf-%" PRIu32 ".map", pid);
    snprintf(jit->files[DUMP].path, sizeof jit->files[DUMP].path,
             "/tmp/jit-%" PRIu32 ".dump", pid);
    if (ok)
        return jit;
    alqi_cli_jit_drop(jit);
    return NULL;
}

void
alqi_cli_jit_drop(struct alqi_cli_jit *jit)
{
    if (jit == NULL)
        return;
    for (unsigned i = 0; i < FILES; i++) {
        alqi_symbol_jit_drop(jit->files[i].pieces);
        if (jit->files[i].fd >= 0)
            close(jit->files[i].fd);
    }
    free(jit->buffer);
    free(jit);
}

/* ---- the file ------------------------------------------------------------ */

/* Opens a path below another process's root, where a symbolic link would lead
 * into the root of this one: no part of it may be one. -1: errno. */
static int
open_below(int root, const char *path)
{
    int at = root, next;
    char part[256];

    while (*path == '/')
        path++;
    for (size_t n; at >= 0; at = next) {
        n = strcspn(path, "/");
        snprintf(part, sizeof part, "%.*s", (int)n, path);
        path += n + strspn(path + n, "/");
        errno = ENOENT;
        next = n >= sizeof part || strcmp(part, "..") == 0
                   ? -1
                   : openat(at, part,
                            O_PATH | O_NOFOLLOW | O_CLOEXEC |
                                (*path != '\0' ? O_DIRECTORY : 0));
        if (at != root)
            close(at);
        if (*path == '\0')
            return next;
    }
    return -1;
}

/* Whether the process sees other files than this one does. */
static bool
is_elsewhere(pid_t pid, int root)
{
    struct stat theirs, ours;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    if (stat(path, &theirs) != 0 || stat("/proc/self/ns/mnt", &ours) != 0 ||
        theirs.st_ino != ours.st_ino)
        return true;
    return fstat(root, &theirs) != 0 || stat("/", &ours) != 0 ||
           theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev;
}

/* A file as the process has it, to be looked at only (O_PATH); a process that
 * has ended had it here, if anywhere. -1: errno. */
static int
file_path_open(const struct alqi_cli_jit *jit, const char *path)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(jit->recording);
    pid_t pid = alqi_cli_recording_pid(jit->recording);
    char text[256] = "";
    int root, fd;

    if (alqi_cli_recording_is_live_as(jit->recording, pid)) {
        snprintf(text, sizeof text, "/proc/%d/root", (int)pid);
        root = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (root < 0)
            return -1;
        fd = is_elsewhere(pid, root) ? open_below(root, path) : -2;
        close(root);
        if (fd != -2)
            return fd;
    } else if (gethostname(text, sizeof text - 1) != 0 ||
               strncmp(text, h->host, sizeof h->host - 1) != 0) {
        errno = ENOENT;
        return -1;
    }
    return open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
}

/* .inv.jit_file; NULL, or why the file is not one. */
static const char *
distrust(const struct alqi_cli_jit *jit, int fd)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(jit->recording);
    struct stat st;

    if (fstat(fd, &st) != 0)
        return strerror(errno);
    if (S_ISLNK(st.st_mode))
        return "it is a symbolic link";
    if (!S_ISREG(st.st_mode))
        return "it is no regular file";
    if (st.st_uid != alqi_cli_recording_owner(jit->recording))
        return "it belongs to another user";
    if ((atomic_load(&h->flags) & ALQI_RAW_LATE) == 0 &&
        (uint64_t)st.st_mtim.tv_sec + 1 < h->start_wall_ns / 1000000000)
        return "it is older than the process";
    return NULL;
}

/* Opens the file if it is there, and is to be trusted: to open another kind
 * could do something. */
static void
file_find(const struct alqi_cli_jit *jit, struct file *f)
{
    char path[64];
    int fd;

    if (f->fd >= 0)
        return;
    fd = file_path_open(jit, f->path);
    if (fd < 0) {
        f->refused = errno == ENOENT ? NULL : strerror(errno);
        return;
    }
    f->refused = distrust(jit, fd);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (f->refused == NULL) {
        f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (f->fd < 0)
            f->refused = strerror(errno);
    }
    close(fd);
}

/* Reads what the file has from at_bytes on. */
static void
file_read(const struct alqi_cli_jit *jit, struct file *f, bool is_dump)
{
    ssize_t n = 1;
    size_t n_taken;
    bool is_full;

    while (f->fd >= 0 && n > 0) {
        f->is_long = f->at_bytes >= FILE_BYTES_MAX;
        if (f->is_long)
            return;
        n = pread(f->fd, jit->buffer, BUFFER_BYTES, (off_t)f->at_bytes);
        if (n <= 0)
            return;
        is_full = n == BUFFER_BYTES;
        n_taken = is_dump
                      ? alqi_symbol_jit_take_dump(f->pieces,
                                                  (const uint8_t *)jit->buffer,
                                                  (size_t)n, is_full)
                      : alqi_symbol_jit_take_map(f->pieces, jit->buffer,
                                                 (size_t)n, is_full);
        f->at_bytes += n_taken;
        if (n_taken == 0)
            return;
    }
}

void
alqi_cli_jit_read(struct alqi_cli_jit *jit)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(jit->recording);

    if (jit->files[DUMP].fd < 0 && h->has_jit_dump != 0 &&
        h->jit_dump[0] == '/')
        snprintf(jit->files[DUMP].path, sizeof jit->files[DUMP].path, "%s",
                 h->jit_dump);
    for (unsigned i = 0; i < FILES; i++) {
        file_find(jit, &jit->files[i]);
        file_read(jit, &jit->files[i], i == DUMP);
    }
}

/* ---- answers ------------------------------------------------------------- */

bool
alqi_cli_jit_has_any(const struct alqi_cli_jit *jit)
{
    for (unsigned i = 0; i < FILES; i++)
        if (jit->files[i].fd >= 0 || jit->files[i].refused != NULL)
            return true;
    return false;
}

/* A piece's number says whose it is in its lowest bit. */
bool
alqi_cli_jit_find(const struct alqi_cli_jit *jit, uint64_t address,
                  uint64_t time_ns, uint64_t *piece)
{
    for (unsigned i = 0; i < FILES; i++) {
        uint32_t found =
            alqi_symbol_jit_find(jit->files[i].pieces, address, time_ns);

        *piece = (uint64_t)found * FILES + i;
        if (found != ALQI_SYMBOL_NO_CODE)
            return true;
    }
    return false;
}

void
alqi_cli_jit_frame(struct alqi_cli_jit *jit, uint64_t piece, uint64_t address,
                   struct alqi_symbol_frame *frame)
{
    if (!alqi_symbol_jit_frame(jit->files[piece % FILES].pieces,
                               (uint32_t)(piece / FILES), address, frame))
        *frame =
            (struct alqi_symbol_frame){.function = "[no memory]", .file = ""};
}

/* What a file has beyond its pieces; false: nothing. */
static bool
note_make(struct alqi_cli_jit *jit, const struct file *f)
{
    struct alqi_symbol_jit_counts n = alqi_symbol_jit_counts(f->pieces);
    size_t used;

    if (f->refused != NULL)
        snprintf(jit->note, sizeof jit->note, "%s is ignored: %s", f->path,
                 f->refused);
    if (f->refused != NULL || (n.n_odd == 0 && n.n_over == 0 && !f->is_long))
        return f->refused != NULL;
    used = (size_t)snprintf(jit->note, sizeof jit->note, "%s:", f->path);
    if (n.n_odd > 0)
        used += (size_t)snprintf(jit->note + used, sizeof jit->note - used,
                                 " entries without sense: %" PRIu64, n.n_odd);
    if (n.n_over > 0)
        used += (size_t)snprintf(jit->note + used, sizeof jit->note - used,
                                 "%s entries too long or too many: %" PRIu64,
                                 n.n_odd > 0 ? "," : "", n.n_over);
    if (f->is_long)
        snprintf(jit->note + used, sizeof jit->note - used,
                 "%s only the first GiB is read",
                 n.n_odd + n.n_over > 0 ? "," : "");
    return true;
}

const char *
alqi_cli_jit_note(struct alqi_cli_jit *jit, unsigned index)
{
    for (unsigned i = 0; i < FILES; i++)
        if (note_make(jit, &jit->files[i]) && index-- == 0)
            return jit->note;
    return NULL;
}
