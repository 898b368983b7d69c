/* snapshot.c -- aliquot snapshot: a recording so far, as a finished trace
 *
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
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/control.h"
#include "cli/convert.h"
#include "cli/recording.h"
#include "cli/text.h"
#include "wire/side.h"

enum { ID_CONTROL = 128 };

const struct alqi_cli_option alqi_cli_snapshot_options[] = {
    {'p', "pid", "PID", NULL, "the process whose recording is meant"},
    {ID_CONTROL, "control", "NAME", NULL,
     "its control socket, when ALIQUOT names one"},
    {'o', "output", "FILE", NULL, "the trace; default aliquot.PROGRAM.PID.ctf"},
    {'f', "force", NULL, NULL, "overwrite FILE if it exists"},
    {0},
};

struct snapshot {
    struct alqi_cli_target target;
    const char *output;
    bool is_forced;
};

static bool
set(void *arg, int id, const char *value)
{
    struct snapshot *s = arg;

    if (id == 'o')
        s->output = value;
    else if (id == 'f')
        s->is_forced = true;
    else
        return alqi_cli_target_set(&s->target, id, value);
    return true;
}

/* The path as its process sees it may be another's here (containers). */
static void
path_here(const struct snapshot *s, const char *file, char *path, size_t n)
{
    snprintf(path, n, "%s", file);
    if (access(path, R_OK) != 0 && s->target.pid != 0)
        snprintf(path, n, "/proc/%d/root%s", (int)s->target.pid, file);
}

/* -1 to go on with the path of the process's recording. */
static int
recording_ask(const struct snapshot *s, char *path, size_t n)
{
    char reply[ALQI_CLI_REPLY_BYTES], file[PATH_MAX] = "";
    int rc = alqi_cli_ask(&s->target, "snapshot", reply);

    if (rc >= 0)
        return rc;
    alqi_side_get(reply, "file", file, sizeof file);
    if (file[0] == '\0') {
        alqi_cli_say("snapshot: nothing is recorded yet; 'aliquot start -p "
                     "%d' begins",
                     (int)s->target.pid);
        return ALQI_CLI_FINDING;
    }
    path_here(s, file, path, n);
    return -1;
}

static bool
packet_write(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static const char *
ended_word(const struct alqi_cli_recording *r)
{
    if (alqi_cli_recording_is_live(r))
        return "running";
    return (atomic_load(&alqi_cli_recording_header(r)->flags) &
            ALQI_RAW_EXITED) != 0
               ? "exit"
               : "killed";
}

static bool
trace_write(const struct alqi_cli_recording *r, FILE *out,
            struct alqi_cli_convert_result *result)
{
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(true);
    enum alq_status status = ALQ_ENOMEM;

    if (symbols != NULL)
        status = alqi_cli_convert(r, ended_word(r), 0, symbols, packet_write,
                                  out, result);
    alqi_symbol_table_drop(symbols);
    if (status == ALQ_OK && fflush(out) == 0)
        return true;
    alqi_cli_say("snapshot: cannot write the trace: %s",
                 status == ALQ_OK || status == ALQ_EIO
                     ? strerror(errno)
                     : alq_status_text(status));
    return false;
}

static void
name_make(const struct alqi_cli_recording *r, char *name, size_t n)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(r);
    const char *slash = strrchr(h->executable, '/');

    snprintf(name, n, "aliquot.%s.%u.ctf",
             slash != NULL ? slash + 1 : "program", h->pid);
}

/* Writes beside the name, then moves: a link fails where a file is, a rename
 * takes its place. */
static bool
trace_place(const struct snapshot *s, const char *temporary, const char *name)
{
    if ((s->is_forced ? rename(temporary, name) : link(temporary, name)) == 0)
        return true;
    if (errno == EEXIST)
        alqi_cli_say("snapshot: %s exists; -f overwrites it", name);
    else
        alqi_cli_say("snapshot: cannot create %s: %s", name, strerror(errno));
    return false;
}

static bool
is_exact(const struct alqi_cli_recording *r)
{
    const struct alqi_raw_header *h = alqi_cli_recording_header(r);

    return (atomic_load(&h->flags) & ALQI_RAW_IS_EXACT) != 0;
}

static int
trace_make(const struct snapshot *s, const struct alqi_cli_recording *r,
           const char *name)
{
    struct alqi_cli_convert_result result;
    char temporary[PATH_MAX + 16];
    mode_t mask = umask(0);
    bool ok = false;
    FILE *out;
    int fd;

    umask(mask);
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", name);
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        alqi_cli_say("snapshot: cannot create %s: %s", name, strerror(errno));
        return ALQI_CLI_UNREADABLE;
    }
    fchmod(fd, 0666 & ~mask);
    out = fdopen(fd, "w");
    ok = out != NULL && trace_write(r, out, &result);
    if (out != NULL && fclose(out) != 0)
        ok = false;
    ok = ok && trace_place(s, temporary, name);
    unlink(temporary);
    if (ok)
        printf("%s %s of %s allocated -> %s\n",
               alqi_cli_text_count((double)result.n_allocs).text,
               is_exact(r) ? "blocks" : "samples",
               alqi_cli_text_bytes(result.allocated_bytes).text, name);
    return ok ? ALQI_CLI_OK : ALQI_CLI_UNREADABLE;
}

static int
run(const struct snapshot *s, const char *path)
{
    struct alqi_cli_recording *r;
    char name[PATH_MAX], why[256];
    int rc;

    r = alqi_cli_recording_open(path, why, sizeof why);
    if (r == NULL) {
        alqi_cli_say("snapshot: %s: %s", path, why);
        return ALQI_CLI_UNREADABLE;
    }
    name_make(r, name, sizeof name);
    rc = trace_make(s, r, s->output != NULL ? s->output : name);
    alqi_cli_recording_drop(r);
    return rc;
}

int
alqi_cli_snapshot(int argc, char **argv)
{
    struct snapshot s = {.target = {.verb = "snapshot"}};
    char path[PATH_MAX + 64];
    bool has_target;
    int first;
    int rc = alqi_cli_parse("snapshot", argc, argv, set, &s, &first);

    if (rc >= 0)
        return rc;
    has_target = s.target.pid != 0 || s.target.control != NULL;
    if (argc - first + has_target != 1)
        return alqi_cli_usage("snapshot",
                              "snapshot: of what? Give -p PID or a recording");
    if (!has_target)
        return run(&s, argv[first]);
    rc = recording_ask(&s, path, sizeof path);
    return rc >= 0 ? rc : run(&s, path);
}
