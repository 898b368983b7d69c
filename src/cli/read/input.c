/* input.c -- the input of a verb: opened, recognised, unpacked, read
 *
 * Bytes go from a file or standard input through an unpacker into one big
 * buffer, and from there into the trace reader. A raw recording, or a data file
 * of heaptrack, is converted first, and its file is replaced by the trace that
 * it makes; what is wrong with it is kept (made_damage). While a large
 * file is read and stderr is a terminal, a line there shows how far, ten times
 * a second at most.
 *
 * Phases: open (file_open, begin, begin_reading) -> next, until the end or the
 * damage -> finish -> drop.
 *
 * Statuses: -1 means "go on"; anything else is the exit status, and its reason
 * is on stderr already. Damage is no failure of next: what was read before it
 * stays usable, and finish reports it once. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/read/input.h"
#include "cli/read/input_raw.h"
#include "cli/read/joined.h"
#include "cli/read/notes.h"
#include "cli/tool/text.h"
#include "cli/tool/unpack.h"
#include "wire/dump.h"
#include "wire/gctrace.h"
#include "wire/raw.h"

enum {
    /* of one read from the file */
    BUFFER_BYTES = 256 * 1024,
    /* smaller files are read too fast for a progress line */
    PROGRESS_FROM_BYTES = 8 * 1024 * 1024,
    PROGRESS_EVERY_MS = 100,
    /* warnings printed before the rest is only counted */
    WARNINGS_SHOWN = 10,
    /* of a raw recording's magic */
    MAGIC_BYTES = 8
};

struct alqi_cli_input {
    /* as shown in messages; the caller's */
    const char *path;
    /* owned, unless it is standard input */
    int fd;
    /* of the read that failed; 0: none; reading has stopped then */
    int read_errno;
    /* between fd and buffer; owned */
    struct alqi_cli_unpack *unpack;
    /* of the file; 0 when it cannot be known */
    uint64_t size_bytes;
    /* read from fd so far, packed if the file is */
    uint64_t read_bytes;
    /* of buffer: bytes handed out, bytes there */
    size_t used, filled;
    /* stderr is a terminal */
    bool shows_progress;
    /* when the progress line was last drawn; 0: it is not on the screen */
    uint64_t shown_ms;
    /* finish has reported the damage */
    bool said_damage;
    /* "" or what was wrong with the file that the trace was made of */
    char made_damage[200];
    /* of the traces that this one was made from; finish returns it */
    int status;
    /* of the reader, whether printed or not */
    uint64_t n_warnings;
    /* receives the reader's warnings; NULL: they go to stderr */
    alqi_ctf_warn_fn *warn;
    void *warn_arg;
    /* NULL until the header was read; owned */
    struct alqi_ctf_reader *reader;
    /* last, so that opening does not clear it */
    unsigned char buffer[BUFFER_BYTES];
};

bool
alqi_cli_input_is_raw(const void *bytes, size_t n)
{
    return n >= MAGIC_BYTES && memcmp(bytes, ALQI_RAW_MAGIC, MAGIC_BYTES) == 0;
}

static uint64_t
now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Wipes the progress line, so that a message does not stand behind it. */
static void
progress_clear(struct alqi_cli_input *in)
{
    if (in->shown_ms != 0)
        fputs("\r\033[K", stderr);
    in->shown_ms = 0;
}

/* Draws the progress line if it is due. */
static void
progress_show(struct alqi_cli_input *in)
{
    uint64_t now;

    if (!in->shows_progress || in->read_bytes < PROGRESS_FROM_BYTES)
        return;
    now = now_ms();
    if (now - in->shown_ms < PROGRESS_EVERY_MS)
        return;
    in->shown_ms = now;
    if (in->size_bytes != 0)
        fprintf(stderr, "\r\033[Kreading %.40s  %3.0f %%",
                alqi_cli_shown(in->path).text,
                100.0 * (double)in->read_bytes / (double)in->size_bytes);
    else
        fprintf(stderr, "\r\033[Kreading  %.0f MiB",
                (double)in->read_bytes / 1048576.0);
}

/* Reads the next bytes. At the end of the file filled becomes 0. False:
 * read_errno says why. */
static bool
buffer_fill(struct alqi_cli_input *in)
{
    ptrdiff_t n = alqi_cli_unpack_read(in->unpack, in->buffer, BUFFER_BYTES);

    if (n < 0) {
        in->read_errno = errno;
        return false;
    }
    in->used = 0;
    in->filled = (size_t)n;
    in->read_bytes = alqi_cli_unpack_file_bytes(in->unpack);
    progress_show(in);
    return true;
}

/* Hands out bytes of the buffer (alqi_ctf_read_fn): 0 at the end, -1 on
 * error. */
static ptrdiff_t
input_read(void *arg, void *bytes, size_t n)
{
    struct alqi_cli_input *in = arg;
    size_t left;

    if (in->read_errno != 0 || (in->used == in->filled && !buffer_fill(in)))
        return -1;
    left = in->filled - in->used;
    if (n > left)
        n = left;
    memcpy(bytes, in->buffer + in->used, n);
    in->used += n;
    return (ptrdiff_t)n;
}

/* Takes a warning of the reader: passes it on, or prints the first few. */
static void
input_warn(void *arg, uint64_t offset_bytes, const char *text)
{
    struct alqi_cli_input *in = arg;

    in->n_warnings++;
    if (in->warn != NULL) {
        in->warn(in->warn_arg, offset_bytes, text);
        return;
    }
    progress_clear(in);
    if (in->n_warnings <= WARNINGS_SHOWN)
        alqi_cli_say("%s: at byte %llu: %s", in->path,
                     (unsigned long long)offset_bytes, text);
    else if (in->n_warnings == WARNINGS_SHOWN + 1)
        alqi_cli_say("%s: more warnings; 'aliquot check' lists them all",
                     in->path);
}

/* Opens the file, or standard input for "-". -1: go on. */
static int
file_open(struct alqi_cli_input *in)
{
    int rc = alqi_cli_unpack_file(
        &in->path,
        "name a trace in it, or make one of all with 'aliquot merge'", &in->fd,
        &in->size_bytes);

    in->shows_progress = isatty(STDERR_FILENO) != 0;
    return rc;
}

/* What the first bytes look like, for people who named the wrong file; NULL:
 * nothing known. */
static const char *
guess(const struct alqi_cli_input *in)
{
    static const struct {
        const char *magic;
        size_t n;
        const char *text;
    } kinds[] = {
        {"\xFD"
         "7zXZ",
         5, "it is compressed: xzcat FILE | aliquot ... -"},
        {"\x1F\x8B", 2, "it is compressed twice: zcat FILE | aliquot ... -"},
        {"\x28\xB5\x2F\xFD", 4,
         "it is compressed twice: zstdcat FILE | aliquot ... -"},
        {"\x7F"
         "ELF",
         4, "it is a program; record it first: aliquot record PROGRAM"},
        {"SQLite format 3", 16, "it is a database of SQLite: sqlite3 reads it"},
        {ALQI_DUMP_MAGIC, sizeof ALQI_DUMP_MAGIC - 1,
         "it is a snapshot of a managed heap: 'aliquot heap' reads it"},
        {ALQI_GCTRACE_MAGIC, sizeof ALQI_GCTRACE_MAGIC - 1,
         "it is a recording of a collector: 'aliquot gc-trace' reads it"},
        {"PK\3\4", 4, "it is a zip archive"},
    };

    if (in->filled == 0 && alqi_cli_unpack_damage(in->unpack)[0] == '\0')
        return "it is empty";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (in->filled >= kinds[i].n &&
            memcmp(in->buffer, kinds[i].magic, kinds[i].n) == 0)
            return kinds[i].text;
    return NULL;
}

/* A profile.proto begins with its types of values: a field of one of two
 * numbers. */
static bool
is_pprof(const unsigned char *b, size_t n)
{
    return n > 6 && b[0] == 0x0A && b[1] == 4 && b[2] == 0x08 && b[4] == 0x10;
}

/* The same for files that have no magic number; what is a recording has been
 * looked at before. */
static const char *
guess_text(const struct alqi_cli_input *in)
{
    static const char html[] = "<!DOCTYPE html";
    size_t n = in->filled;

    if (is_pprof(in->buffer, n))
        return "it is a profile of pprof: 'go tool pprof' reads it";
    if (n >= sizeof html - 1 &&
        strncasecmp((const char *)in->buffer, html, sizeof html - 1) == 0)
        return "it is a page: a browser shows it";
    for (size_t i = 0; i < n; i++)
        if (in->buffer[i] < ' ' &&
            memchr("\t\n\v\f\r\033", in->buffer[i], 6) == NULL)
            return NULL;
    return n > 0 ? "it is text" : NULL;
}

/* The trace that was made of the file takes its place; what has been read is
 * thrown away, and reading begins anew. */
static void
replace(struct alqi_cli_input *in, int fd)
{
    if (in->fd != STDIN_FILENO)
        close(in->fd);
    in->fd = fd;
    alqi_cli_unpack_drop(in->unpack);
    in->unpack = alqi_cli_unpack_new(fd);
    in->size_bytes = 0;
    in->read_bytes = 0;
    in->used = in->filled = 0;
}

/* A raw recording is read anew, by its name. -1: go on. */
static int
begin_raw(struct alqi_cli_input *in)
{
    int fd;

    if (alqi_cli_unpack_is_packed(in->unpack))
        return alqi_cli_unreadable(
            "%s is a raw recording that was compressed; unpack it "
            "first",
            in->path);
    fd = alqi_cli_input_raw_open(in->fd == STDIN_FILENO ? "/dev/stdin"
                                                        : in->path);
    if (fd < 0)
        return ALQI_CLI_UNREADABLE;
    replace(in, fd);
    return -1;
}

/* A data file of heaptrack is read from the buffer on. What ended the bytes
 * early is nearer to the cause than what is wrong with the lines. -1: go on. */
static int
begin_heaptrack(struct alqi_cli_input *in)
{
    struct alqi_cli_heaptrack_result result;
    int fd = alqi_cli_input_heaptrack_open(in->path, input_read, in, &result);
    const char *why = alqi_cli_unpack_damage(in->unpack);

    if (fd < 0)
        return ALQI_CLI_UNREADABLE;
    progress_clear(in);
    if (in->read_errno != 0)
        why = strerror(in->read_errno);
    else if (why[0] == '\0')
        why = result.damage;
    snprintf(in->made_damage, sizeof in->made_damage, "%s", why);
    in->read_errno = 0;
    replace(in, fd);
    if (result.n_allocs > 0 || why[0] == '\0')
        return -1;
    return alqi_cli_unreadable("%s is no readable data file of heaptrack: %s",
                               in->path, in->made_damage);
}

/* Reads the first bytes, which say what the file is. -1: go on. */
static int
begin(struct alqi_cli_input *in)
{
    const char *other;

    if (!buffer_fill(in))
        return -1; /* the reader meets the error again */
    other = guess(in);
    if (other != NULL)
        return alqi_cli_unreadable("%s is not a trace; %s", in->path, other);
    if (alqi_cli_input_is_raw(in->buffer, in->filled))
        return begin_raw(in);
    if (alqi_cli_heaptrack_is(in->buffer, in->filled))
        return begin_heaptrack(in);
    other = guess_text(in);
    if (other != NULL)
        return alqi_cli_unreadable("%s is not a trace; %s", in->path, other);
    return -1;
}

/* Works for files that can be sought: a converted recording always, a pipe
 * never. */
int
alqi_cli_input_again(struct alqi_cli_input *in)
{
    int fd = fcntl(in->fd, F_DUPFD_CLOEXEC, 0);

    if (fd < 0 || lseek(fd, 0, SEEK_SET) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Says why the header could not be read. What the unpacker found is nearer to
 * the cause than what the reader made of it. */
static int
open_failed(struct alqi_cli_input *in, enum alq_status st)
{
    const char *why = alqi_cli_unpack_damage(in->unpack);

    if (why[0] == '\0' && in->reader != NULL)
        why = alqi_ctf_reader_error(in->reader);
    if (in->read_errno != 0)
        alqi_cli_say("cannot read %s: %s", in->path, strerror(in->read_errno));
    else
        alqi_cli_say("%s is not a readable trace: %s", in->path,
                     why[0] != '\0' ? why : alq_status_text(st));
    return ALQI_CLI_UNREADABLE;
}

/* Reads the trace's header. -1: go on. */
static int
begin_reading(struct alqi_cli_input *in)
{
    enum alq_status st =
        alqi_ctf_reader_open(input_read, in, input_warn, in, &in->reader);

    return st == ALQ_OK ? -1 : open_failed(in, st);
}

int
alqi_cli_input_open(const char *path, alqi_ctf_warn_fn *warn, void *warn_arg,
                    struct alqi_cli_input **out)
{
    struct alqi_cli_input *in = alqi_cli_realloc(NULL, 1, sizeof *in);
    int rc;

    memset(in, 0, offsetof(struct alqi_cli_input, buffer));
    in->path = path;
    in->warn = warn;
    in->warn_arg = warn_arg;
    rc = file_open(in);
    if (rc < 0) {
        in->unpack = alqi_cli_unpack_new(in->fd);
        rc = begin(in);
    }
    if (rc < 0)
        rc = begin_reading(in);
    if (rc < 0)
        *out = in;
    else
        alqi_cli_input_drop(in);
    return rc;
}

int
alqi_cli_input_open_fd(int fd, const char *name, int status,
                       struct alqi_cli_input **out)
{
    struct alqi_cli_input *in = alqi_cli_realloc(NULL, 1, sizeof *in);
    int rc;

    memset(in, 0, offsetof(struct alqi_cli_input, buffer));
    in->path = name;
    in->fd = fd;
    in->unpack = alqi_cli_unpack_new(fd);
    in->status = status;
    rc = begin_reading(in);
    if (rc < 0)
        *out = in;
    else
        alqi_cli_input_drop(in);
    return rc;
}

void
alqi_cli_input_drop(struct alqi_cli_input *in)
{
    if (in == NULL)
        return;
    progress_clear(in);
    if (in->reader != NULL)
        alqi_ctf_reader_drop(in->reader);
    alqi_cli_unpack_drop(in->unpack);
    if (in->fd > STDERR_FILENO)
        close(in->fd);
    free(in);
}

const char *
alqi_cli_input_name(const struct alqi_cli_input *in)
{
    return in->path;
}

struct alqi_ctf_reader *
alqi_cli_input_reader(struct alqi_cli_input *in)
{
    return in->reader;
}

bool
alqi_cli_input_next(struct alqi_cli_input *in, struct alqi_ctf_event *event)
{
    int got = alqi_ctf_reader_next(in->reader, event);

    if (got <= 0)
        progress_clear(in);
    return got > 0;
}

/* The trace stops inside a packet, and that is damage. A program that is
 * killed leaves its own trace cut, which is normal; traces of malloc and
 * merged ones are written afterwards, whole. */
static bool
is_cut_copy(const struct alqi_cli_input *in)
{
    const char *context = alqi_ctf_reader_info(in->reader)->context;

    return alqi_ctf_reader_is_cut(in->reader) &&
           (alqi_cli_is_of_malloc(context) || alqi_cli_is_joined(context));
}

const char *
alqi_cli_input_damage(const struct alqi_cli_input *in)
{
    const char *error = alqi_ctf_reader_error(in->reader);

    if (in->read_errno != 0)
        return strerror(in->read_errno);
    if (in->made_damage[0] != '\0')
        return in->made_damage;
    if (alqi_cli_unpack_damage(in->unpack)[0] != '\0')
        return alqi_cli_unpack_damage(in->unpack);
    if (error[0] == '\0' && is_cut_copy(in))
        return "its end is missing";
    return error;
}

void
alqi_cli_input_warn(struct alqi_cli_input *in, alqi_ctf_warn_fn *warn,
                    void *warn_arg)
{
    in->warn = warn;
    in->warn_arg = warn_arg;
}

uint64_t
alqi_cli_input_n_warnings(const struct alqi_cli_input *in)
{
    return in->n_warnings;
}

int
alqi_cli_input_finish(struct alqi_cli_input *in)
{
    const char *damage = alqi_cli_input_damage(in);

    if (damage[0] == '\0')
        return in->status;
    if (!in->said_damage)
        alqi_cli_say("%s is damaged: %s\n"
                     "aliquot: what is shown stops there; "
                     "'aliquot check' tells more",
                     in->path, damage);
    in->said_damage = true;
    return ALQI_CLI_UNREADABLE;
}
