/* heap_beside.c -- see heap_beside.h
 *
 * The file lies in the trace's directory, by the name that the trace has for
 * it; that of a trace which was renamed with it by the trace's own.
 *
 * .inv.of_trace   A file is the trace's if both tell the same process and the
 * same microsecond: of another trace it would tell of blocks that have the same
 * numbers, and are others. */
#include "cli/convert/heap_beside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_name.h"
#include "cli/convert/heap_held.h"
#include "cli/tool/text.h"
#include "wire/dump_decode.h"
#include "wire/side.h"

/* Of the first record, which has a command line. */
enum { HEAD_BYTES = 2 * ALQI_SIDE_LINE_BYTES };

/* Who took a snapshot, and when. */
struct moment {
    uint64_t pid, us;
};

/* A pipe of that name would not come to an end. NULL: errno says why. */
static FILE *
file_open(const char *path)
{
    struct stat st;
    FILE *in;

    if (stat(path, &st) != 0)
        return NULL;
    in = S_ISREG(st.st_mode) ? fopen(path, "rbe") : NULL;
    if (!S_ISREG(st.st_mode))
        errno = 0;
    return in;
}

/* "": the file tells it; else what it is. */
static const char *
moment_read(FILE *in, struct moment *moment)
{
    uint8_t bytes[HEAD_BYTES];
    size_t n = fread(bytes, 1, sizeof bytes, in);
    struct alqi_dump_decoder d;
    struct alqi_dump_record record;

    if (!alqi_dump_decode(&d, bytes, n) || alqi_dump_next(&d, &record) <= 0 ||
        record.kind != ALQI_DUMP_PROGRAM)
        return "is no heap snapshot";
    *moment = (struct moment){record.numbers[0], record.numbers[1]};
    return "";
}

/* That it is not the trace's. */
static void
other_say(struct alqi_cli_heap_beside *b, const struct moment *is,
          const struct moment *wanted)
{
    int n = snprintf(b->why, sizeof b->why,
                     "%s is a snapshot of another trace: of process %" PRIu64
                     ", %s",
                     b->path, is->pid, alqi_cli_text_time(is->us).text);

    snprintf(b->why + n, sizeof b->why - (size_t)n,
             "; this one is of process %" PRIu64 ", %s", wanted->pid,
             alqi_cli_text_time(wanted->us).text);
}

/* Whether the file of that name, in the trace's directory, is the trace's. */
static bool
is_found(struct alqi_cli_heap_beside *b, const char *trace, const char *name,
         const struct moment *wanted)
{
    struct moment is = {0};
    const char *what;
    FILE *in;

    snprintf(b->path, sizeof b->path, "%.*s%s",
             (int)(alqi_base_file_name(trace) - trace), trace, name);
    b->why[0] = '\0';
    in = file_open(b->path);
    if (in == NULL && errno != 0) {
        snprintf(b->why, sizeof b->why,
                 "%s, the snapshot that belongs to the trace: %s", b->path,
                 strerror(errno));
        return false;
    }
    what = in != NULL ? moment_read(in, &is) : "is no regular file";
    if (in != NULL)
        fclose(in);
    if (what[0] != '\0')
        snprintf(b->why, sizeof b->why, "%s %s", b->path, what);
    else if (is.pid != wanted->pid || is.us != wanted->us)
        other_say(b, &is, wanted);
    return b->why[0] == '\0';
}

void
alqi_cli_heap_beside_find(struct alqi_cli_heap_beside *b, const char *trace,
                          uint64_t pid, const char *line)
{
    struct moment wanted = {pid, alqi_side_get_number(line, "us", 10)};
    char name[256] = "", own[PATH_MAX];

    *b = (struct alqi_cli_heap_beside){0};
    snprintf(own, sizeof own, "%s" ALQI_CLI_HEAP_HELD_SUFFIX,
             alqi_base_file_name(trace));
    if (!alqi_side_get(line, "file", name, sizeof name) ||
        strchr(name, '/') != NULL)
        snprintf(b->why, sizeof b->why,
                 "the trace names no file beside it as its snapshot");
    else if (!is_found(b, trace, own, &wanted))
        (void)is_found(b, trace, name, &wanted);
}

bool
alqi_cli_heap_beside_read(struct alqi_cli_heap_beside *b,
                          struct alqi_cli_reaches *out)
{
    if (alqi_cli_heap_held(b->path, out))
        return true;
    snprintf(b->why, sizeof b->why, "%s is not whole", b->path);
    return false;
}
