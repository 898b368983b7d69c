/* snapshot.c -- aliquot snapshot: a recording so far, as a finished trace; or
 * the graph of a managed heap
 *
 * The graph is written by the process, which is asked until it is done.
 * The recording stays and goes on.  The trace appears under its name when it
 * is whole, so it may take the recording's own place. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/live/control.h"
#include "cli/live/recorded.h"
#include "cli/live/top.h"
#include "cli/convert/convert.h"
#include "cli/convert/heap_trace.h"
#include "cli/tool/output.h"
#include "cli/tool/proc.h"
#include "cli/convert/recording.h"
#include "cli/tool/text.h"
#include "wire/ctf_packet.h"
#include "wire/side.h"

struct snapshot {
    struct alqi_cli_control_target target;
    /* NULL: the default name */
    const char *output;
    bool is_forced;
    bool is_graph; /* of all blocks of a managed heap, instead of a trace */
};

const struct alqi_cli_option alqi_cli_snapshot_options[] = {
    ALQI_CLI_TARGET_ROWS(struct snapshot, target),
    {'o', "output", "FILE", NULL, "the trace; default aliquot.PROGRAM.PID.ctf",
     ALQI_CLI_TEXT(struct snapshot, output)},
    {0, "graph", NULL, NULL,
     "instead: all blocks of its managed heap, for aliquot heap",
     ALQI_CLI_FLAG(struct snapshot, is_graph)},
    {'f', "force", NULL, NULL, "overwrite FILE if it exists",
     ALQI_CLI_FLAG(struct snapshot, is_forced)},
    {0},
};

/* Without a control socket, as under `record -p`, the recording is found by
 * what the process has mapped. True: path is set. */
static bool
recording_find(const struct snapshot *s, char *path, size_t n)
{
    struct alqi_cli_top_found *found;
    uint32_t n_sockets;

    if (s->target.pid == 0 || s->target.control != NULL)
        return false;
    n_sockets = alqi_cli_top_list(s->target.pid, &found);
    free(found);
    return n_sockets == 0 && alqi_cli_recorded_quietly(s->target.pid, path, n);
}

/* Asks the process for its recording. -1 to go on with the path of the file. */
static int
recording_ask(const struct snapshot *s, char *path, size_t n)
{
    char reply[ALQI_CLI_REPLY_BYTES], file[PATH_MAX] = "";
    int rc;

    if (recording_find(s, path, n))
        return -1;
    rc = alqi_cli_ask(&s->target, "snapshot", reply);
    if (rc >= 0)
        return rc;
    alqi_side_get(reply, "file", file, sizeof file);
    if (file[0] == '\0')
        return alqi_cli_finding(
            "snapshot: nothing is recorded yet; 'aliquot start -p "
            "%d' begins",
            (int)s->target.pid);
    alqi_cli_path_here(s->target.pid, file, path, n);
    return -1;
}

/* Whether the whole trace was written; says why not. */
static bool
is_written(struct alqi_cli_trace_out *out, enum alq_status status)
{
    const char *why = alqi_cli_trace_failure(out, status);

    if (why != NULL)
        alqi_cli_say("snapshot: cannot write the trace: %s", why);
    return why == NULL;
}

/* Converts all that is recorded so far; false after a message. */
static bool
trace_write(const struct alqi_cli_recording *r, FILE *file,
            struct alqi_cli_convert_result *result)
{
    struct alqi_cli_trace_out out = {.file = file};
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(true);
    enum alq_status status = ALQ_ENOMEM;

    if (symbols != NULL)
        status = alqi_cli_convert(r, alqi_cli_recording_ended(r), 0, NULL,
                                  symbols, alqi_cli_trace_put, &out, result);
    alqi_symbol_table_drop(symbols);
    return is_written(&out, status);
}

/* The default name in the current folder. */
static void
name_make(const char *executable, uint64_t pid, char *name, size_t n)
{
    const char *slash = strrchr(executable, '/');

    snprintf(name, n, "aliquot.%s.%" PRIu64 ".ctf",
             slash != NULL ? slash + 1 : "program", pid);
}

static int
exists_say(const char *shown)
{
    alqi_cli_say("snapshot: %s exists; -f overwrites it",
                 alqi_cli_shown(shown).text);
    return ALQI_CLI_USAGE;
}

/* What stands where the file is to go, before there is one.  -1 to go on, or
 * the exit status. */
static int
place_check(const struct snapshot *s, const char *name, const char *shown)
{
    struct stat st;

    if (lstat(name, &st) != 0)
        return -1;
    if (!s->is_forced)
        return exists_say(shown);
    if (stat(name, &st) != 0 || S_ISREG(st.st_mode))
        return -1;
    return alqi_cli_unreadable("snapshot: %s is not a regular file",
                               alqi_cli_shown(shown).text);
}

/* Gives the trace its name, which another one may have taken meanwhile: a link
 * fails then, a rename takes its place.  The exit status. */
static int
trace_place(const struct snapshot *s, const char *temporary, const char *name)
{
    int rc;

    if (s->is_forced ? alqi_cli_output_replace(temporary, name)
                     : link(temporary, name) == 0)
        return ALQI_CLI_OK;
    rc = errno == EEXIST ? place_check(s, name, name) : -1;
    return rc >= 0 ? rc
                   : alqi_cli_unreadable("snapshot: cannot create %s: %s", name,
                                         strerror(errno));
}

/* Whether every block was recorded. */
static bool
is_exact(const struct alqi_cli_recording *r)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(r);

    return (atomic_load(&h->flags) & ALQI_RAW_IS_EXACT) != 0;
}

/* Writes it to out, and what it is of to result. */
typedef bool write_fn(const void *arg, FILE *out,
                      struct alqi_cli_convert_result *result);

static bool
recording_write(const void *arg, FILE *out,
                struct alqi_cli_convert_result *result)
{
    return trace_write(arg, out, result);
}

/* Makes the trace in a temporary file beside its name, then places it. `what`
 * NULL: the trace was copied, and nothing was counted. */
static int
trace_make(const struct snapshot *s, write_fn *write, const void *arg,
           const char *what, const char *name)
{
    struct alqi_cli_convert_result result;
    char temporary[PATH_MAX + 16];
    int rc = place_check(s, name, name), fd;
    mode_t mask = umask(0);
    bool ok = false;
    FILE *out;

    umask(mask);
    if (rc >= 0)
        return rc;
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", name);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0)
        return alqi_cli_unreadable("snapshot: cannot create %s: %s", name,
                                   strerror(errno));
    fchmod(fd, 0666 & ~mask);
    out = fdopen(fd, "w");
    if (out == NULL) {
        alqi_cli_say("snapshot: cannot create %s: %s", name, strerror(errno));
        close(fd);
    }
    ok = out != NULL && write(arg, out, &result);
    if (out != NULL && fclose(out) != 0 && ok) {
        alqi_cli_say("snapshot: cannot write the trace: %s", strerror(errno));
        ok = false;
    }
    rc = ok ? trace_place(s, temporary, name) : ALQI_CLI_UNREADABLE;
    unlink(temporary);
    if (rc == ALQI_CLI_OK && what != NULL)
        printf("%s %s of %s allocated -> %s\n",
               alqi_cli_text_count((double)result.n_allocs).text, what,
               alqi_cli_text_bytes(result.allocated_bytes).text,
               alqi_cli_shown(name).text);
    else if (rc == ALQI_CLI_OK)
        printf("copied -> %s\n", alqi_cli_shown(name).text);
    return rc;
}

/* Copies a trace of several streams as it is. Readers pass over what is cut of
 * the last packet. */
static bool
streams_write(const void *arg, FILE *out,
              struct alqi_cli_convert_result *result)
{
    FILE *in = fopen(arg, "re");
    char bytes[65536];
    size_t n;
    bool ok = in != NULL;

    *result = (struct alqi_cli_convert_result){0};
    while (ok && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        ok = fwrite(bytes, 1, n, out) == n;
    ok = ok && ferror(in) == 0 && fflush(out) == 0;
    if (!ok)
        alqi_cli_say("snapshot: cannot copy the trace: %s", strerror(errno));
    if (in != NULL)
        fclose(in);
    return ok;
}

/* The trace of a managed heap, which its process writes itself: with names of
 * the source. */
static bool
heap_write(const void *arg, FILE *file, struct alqi_cli_convert_result *result)
{
    const char *path = arg;
    struct alqi_cli_trace_out out = {.file = file};
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(true);
    struct alqi_cli_heap_result heap;
    enum alq_status status = ALQ_ENOMEM;

    if (symbols != NULL)
        status = alqi_cli_heap_trace_write(
            path, alqi_cli_heap_trace_is_live(path) ? "running" : "killed",
            NULL, symbols, alqi_cli_trace_put, &out, &heap);
    alqi_symbol_table_drop(symbols);
    *result = (struct alqi_cli_convert_result){
        .n_allocs = heap.n_allocs,
        .allocated_bytes = heap.allocated_bytes,
    };
    return is_written(&out, status);
}

/* A trace of several streams is copied, one of ours is rewritten. */
static int
run_heap(const struct snapshot *s, const char *path)
{
    struct alqi_cli_heap_head head;
    char name[PATH_MAX], why[256];
    const char *name_made;

    if (!alqi_cli_heap_trace_head(path, &head, why, sizeof why))
        return alqi_cli_unreadable("snapshot: %s: %s", path, why);
    name_make(head.executable, head.pid, name, sizeof name);
    name_made = s->output != NULL ? s->output : name;
    return head.version >= 3
               ? trace_make(s, streams_write, path, NULL, name_made)
               : trace_make(s, heap_write, path, "sampled blocks", name_made);
}

/* True: anything but a trace, which begins as its packets do. */
static bool
is_recording(const char *path)
{
    uint8_t magic[8] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, magic, sizeof magic, 0) : 0;
    uint32_t packet = ALQI_PACKET_MAGIC;

    if (fd >= 0)
        close(fd);
    return n < (ssize_t)sizeof packet ||
           memcmp(magic, &packet, sizeof packet) != 0;
}

/* Makes a snapshot of the file at path; returns the status. */
static int
run(const struct snapshot *s, const char *path)
{
    struct alqi_cli_recording *r;
    char name[PATH_MAX], why[256];
    int rc;

    if (!is_recording(path))
        return run_heap(s, path);
    r = alqi_cli_recording_open(path, why, sizeof why);
    if (r == NULL)
        return alqi_cli_unreadable("snapshot: %s: %s", path, why);
    name_make(alqi_cli_recording_header(r)->executable,
              alqi_cli_recording_header(r)->pid, name, sizeof name);
    rc = trace_make(s, recording_write, r,
                    is_exact(r) ? "blocks" : "sampled blocks",
                    s->output != NULL ? s->output : name);
    alqi_cli_recording_drop(r);
    return rc;
}

/* ---- the graph of a managed heap ----------------------------------------- */

/* A name, and what it ends in while it is written. */
enum { PART_BYTES = PATH_MAX + 32 };

/* Where it goes: as given, or by the program's name; from the root on, for the
 * process may have another working directory, and another root. */
static bool
graph_name(const struct snapshot *s, char *name, size_t n)
{
    struct alqi_cli_proc proc;
    const char *slash;
    char here[PATH_MAX];

    if (getcwd(here, sizeof here) == NULL)
        here[0] = '\0';
    if (s->output != NULL)
        return (size_t)snprintf(name, n, "%s%s%s",
                                s->output[0] != '/' ? here : "",
                                s->output[0] != '/' ? "/" : "", s->output) < n;
    if (s->target.pid == 0)
        return false;
    if (!alqi_cli_proc_read(s->target.pid, &proc))
        proc.command[0] = '\0'; /* asking it says so */
    slash = strrchr(proc.command, '/');
    return (size_t)snprintf(name, n, "%s/aliquot.%s.%d.heap", here,
                            slash != NULL ? slash + 1 : proc.command,
                            (int)s->target.pid) < n;
}

/* As it was given. */
static const char *
graph_shown(const struct snapshot *s, const char *name)
{
    return s->output != NULL ? s->output : strrchr(name, '/') + 1;
}

/* Waits until the process has written it.  -1 to go on, or the exit status. */
static int
graph_await(const struct snapshot *s, char reply[ALQI_CLI_REPLY_BYTES])
{
    const struct timespec step = {.tv_nsec = 50000000};
    char graph[16] = "", note[500] = "";
    int rc;

    while (alqi_side_get(reply, "graph", graph, sizeof graph) &&
           strcmp(graph, "writing") == 0) {
        nanosleep(&step, NULL);
        rc = alqi_cli_ask(&s->target, "status", reply);
        if (rc >= 0)
            return rc;
        graph[0] = '\0';
    }
    if (strcmp(graph, "done") == 0)
        return -1;
    alqi_side_get(reply, "note", note, sizeof note);
    return alqi_cli_finding("snapshot: %s", note[0] != '\0'
                                                ? alqi_cli_shown(note).text
                                                : "no managed heap answers "
                                                  "there");
}

/* What the process has written gets its name, where the process has its files;
 * what had the name until now is there until then. */
static int
graph_take(const struct snapshot *s, const char *part, const char *name)
{
    char from[PART_BYTES + 64], to[PART_BYTES + 64];
    struct stat st;
    size_t n_less = strlen(part) - strlen(name);

    alqi_cli_path_here(s->target.pid, part, from, sizeof from);
    snprintf(to, sizeof to, "%.*s", (int)(strlen(from) - n_less), from);
    if (!s->is_forced && lstat(to, &st) == 0) {
        unlink(from);
        return exists_say(graph_shown(s, name));
    }
    if (rename(from, to) != 0 || stat(to, &st) != 0)
        return alqi_cli_finding("snapshot: cannot name %s: %s; it is %s",
                                alqi_cli_shown(to).text, strerror(errno),
                                alqi_cli_shown(from).text);
    printf("%s of blocks and edges -> %s\n",
           alqi_cli_text_bytes((double)st.st_size).text,
           alqi_cli_shown(graph_shown(s, name)).text);
    return ALQI_CLI_OK;
}

static int
run_graph(struct snapshot *s)
{
    char name[PATH_MAX], part[PART_BYTES], reply[ALQI_CLI_REPLY_BYTES];
    int rc;

    s->target.is_heap = true;
    if (!graph_name(s, name, sizeof name))
        return alqi_cli_usage("snapshot", "snapshot: --graph needs -p PID, or "
                                          "--control and -o FILE");
    rc = place_check(s, name, graph_shown(s, name));
    if (rc >= 0)
        return rc;
    snprintf(part, sizeof part, "%s.%d.part", name, (int)getpid());
    rc = alqi_cli_command(&s->target, "graph", 0, part, reply);
    if (rc < 0)
        rc = graph_await(s, reply);
    return rc >= 0 ? rc : graph_take(s, part, name);
}

/* Either a process or a file: one of them, not both. */
int
alqi_cli_snapshot(int argc, char **argv)
{
    struct snapshot s = {.target = {.verb = "snapshot"}};
    char path[PATH_MAX + 64];
    bool has_target;
    int first;
    int rc = alqi_cli_parse("snapshot", argc, argv, &s, &first);

    if (rc >= 0)
        return rc;
    has_target = s.target.pid != 0 || s.target.control != NULL;
    if (argc - first + has_target != 1)
        return alqi_cli_usage("snapshot",
                              "snapshot: of what? Give -p PID or a recording");
    if (s.is_graph)
        return has_target ? run_graph(&s)
                          : alqi_cli_usage("snapshot",
                                           "snapshot: --graph is of a process: "
                                           "give -p PID");
    if (!has_target)
        return run(&s, argv[first]);
    rc = recording_ask(&s, path, sizeof path);
    return rc >= 0 ? rc : run(&s, path);
}
