/* started.c -- start, stop, status and mark of a process that nobody prepared
 *                                                [doc/design/attach.md]
 *
 *   none, or ended --start--> recorded; no command stays with it
 *   recorded       --stop---> ended; what it has recorded is a file
 *
 * A process that has the profiler from its start is asked by its socket alone
 * (ask.c). */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/defaults.h"
#include "base/pattern.h"
#include "cli/attach/attach.h"
#include "cli/live/control.h"
#include "cli/live/recorded.h"
#include "cli/tool/cli.h"
#include "cli/tool/launch.h"
#include "cli/tool/text.h"
#include "wire/raw.h"

#define NAME "aliquot.%e.%p.alqraw"

/* Neither the profiler nor a heap of ours is mapped. */
static bool
has_none(pid_t pid)
{
    bool is_known, has_any;

    has_any = alqi_cli_has_mapped(pid, "/libaliquot", &is_known);
    return is_known && !has_any;
}

/* The file that the process is to make: as it is asked for, here; by default
 * here, or in its own /tmp if it sees other files. */
static bool
output_make(const struct alqi_cli_attach_target *t, const char *asked,
            char out[2 * PATH_MAX])
{
    char here[PATH_MAX];
    size_t n = 0;

    if (asked == NULL && t->is_other_mount) {
        strcpy(out, "/tmp/" NAME);
        return true;
    }
    if (asked == NULL)
        asked = NAME;
    if (asked[0] != '/') {
        if (getcwd(here, sizeof here) == NULL)
            return alqi_cli_refuse("start: -o %s: give a whole path", asked);
        alqi_base_pattern_quote(out, here, strlen(here));
        n = strlen(out);
        out[n++] = '/';
    }
    if (n + strlen(asked) >= 2 * PATH_MAX)
        return alqi_cli_refuse("start: -o %s: too long a path", asked);
    strcpy(out + n, asked);
    return true;
}

static void
told_print(const struct alqi_cli_control_target *t, const char *what,
           const char *file)
{
    printf("%d: %s %s\n", (int)t->pid, what, alqi_cli_shown(file).text);
}

static int
start(const struct alqi_cli_control_target *t, struct alqi_cli_attach *attach,
      double rate, const char *asked)
{
    char output[2 * PATH_MAX];
    const struct alqi_cli_attach_settings settings = {
        .rate = rate > 0 ? rate : ALQI_DEFAULT_RATE,
        .depth = ALQI_DEFAULT_DEPTH_FRAMES,
        .output = output,
        .is_left = true,
    };
    struct alqi_attach_told told;

    if (!output_make(alqi_cli_attach_target_of(attach), asked, output) ||
        !alqi_cli_attach_begin(attach, &settings, NULL, &told))
        return ALQI_CLI_FINDING;
    printf("%d: samples one in %s from now on, until 'aliquot stop -p %d', "
           "to %s\n",
           (int)t->pid,
           alqi_cli_text_bytes(ALQI_WORD_BYTES / settings.rate).text,
           (int)t->pid, alqi_cli_shown(told.text).text);
    return ALQI_CLI_OK;
}

static int
stop(const struct alqi_cli_control_target *t, struct alqi_cli_attach *attach)
{
    struct alqi_attach_told told;

    if (!alqi_cli_attach_told(attach, &told) ||
        told.state != ALQI_ATTACH_ATTACHED)
        return alqi_cli_finding("stop: process %d is not recorded",
                                (int)t->pid);
    if (alqi_cli_attach_recorder(&told) != 0)
        return alqi_cli_finding("stop: process %d is recorded by process %u: "
                                "end that",
                                (int)t->pid, (unsigned)told.attacher_pid);
    if (!alqi_cli_attach_end(attach))
        return ALQI_CLI_FINDING;
    told_print(t, "off, its recording is", told.text);
    return ALQI_CLI_OK;
}

/* Of the recording's header, which the process counts in as it samples; `file`
 * is as the process names it. */
static void
header_print(const struct alqi_cli_control_target *t, const char *file,
             bool is_paused)
{
    struct alqi_raw_header h;
    char path[PATH_MAX + 64];
    ssize_t n = -1;
    int fd;

    alqi_cli_path_here(t->pid, file, path, sizeof path);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0) {
        n = pread(fd, &h, sizeof h, 0);
        close(fd);
    }
    if (n != (ssize_t)sizeof h || !(h.rate > 0) ||
        memcmp(h.magic, ALQI_RAW_MAGIC, sizeof h.magic) != 0)
        told_print(t, "recorded to", file);
    else if ((h.flags & ALQI_RAW_IS_EXACT) != 0)
        told_print(t, "every block is recorded to", file);
    else
        printf("%d: %s, %" PRIu64 " sampled blocks, one in %s, in %s\n",
               (int)t->pid, is_paused ? "stopped" : "sampling",
               (uint64_t)h.counters[ALQI_RAW_SAMPLES],
               alqi_cli_text_bytes(ALQI_WORD_BYTES / h.rate).text,
               alqi_cli_shown(file).text);
}

/* A command that was to end the recording may have ended without it. */
static int
status(const struct alqi_cli_control_target *t, struct alqi_cli_attach *attach)
{
    struct alqi_attach_told told;
    bool is_left;

    if (!alqi_cli_attach_told(attach, &told) ||
        told.state != ALQI_ATTACH_ATTACHED) {
        printf("%d: off, nothing is recorded\n", (int)t->pid);
        return ALQI_CLI_OK;
    }
    is_left = told.attacher_pid != ALQI_ATTACH_NOBODY &&
              alqi_cli_attach_recorder(&told) == 0;
    header_print(t, told.text, is_left);
    if (is_left)
        printf("its recorder, process %u, has ended: 'aliquot stop -p %d' ends "
               "the recording, which all commands read; 'aliquot start -p %d' "
               "begins another\n",
               (unsigned)told.attacher_pid, (int)t->pid, (int)t->pid);
    return ALQI_CLI_OK;
}

/* Of a process with the profiler from its start, which nobody can ask. */
static int
bound_status(const struct alqi_cli_control_target *t)
{
    char path[PATH_MAX + 64];

    if (!alqi_cli_recorded_quietly(t->pid, path, sizeof path))
        return ALQI_CLI_SILENT;
    header_print(t, path, false);
    printf("it is recorded from its start, without a control socket: 'aliquot "
           "snapshot -p %d' writes a trace of it now; stop, rate and mark "
           "need 'aliquot record --control'\n",
           (int)t->pid);
    return ALQI_CLI_OK;
}

static int
mark(const struct alqi_cli_control_target *t, struct alqi_cli_attach *attach,
     const char *name)
{
    if (!alqi_cli_attach_mark(attach, name))
        return ALQI_CLI_FINDING;
    printf("%d: the phase '%s' begins\n", (int)t->pid,
           alqi_cli_shown(name).text);
    return ALQI_CLI_OK;
}

int
alqi_cli_started(const struct alqi_cli_control_target *t, const char *command,
                 double rate, const char *output)
{
    bool is_start = strcmp(command, "start") == 0;
    struct alqi_cli_attach *attach;
    char preload[PATH_MAX];
    int rc;

    if (!t->is_heap && strcmp(command, "status") == 0 &&
        !alqi_cli_attach_is_late(t->pid))
        return bound_status(t);
    if (t->is_heap ||
        (!alqi_cli_attach_is_late(t->pid) && !(is_start && has_none(t->pid))))
        return ALQI_CLI_SILENT;
    if (strcmp(command, "rate") == 0)
        return alqi_cli_finding("rate: process %d was attached to, and keeps "
                                "the interval that it was started with: stop "
                                "it, and start it with another",
                                (int)t->pid);
    if (!alqi_cli_preload_find(preload, sizeof preload))
        return ALQI_CLI_FINDING;
    attach = alqi_cli_attach_open(command, t->pid, preload);
    if (attach == NULL)
        return ALQI_CLI_FINDING;
    if (is_start)
        rc = start(t, attach, rate, output);
    else if (strcmp(command, "mark") == 0)
        rc = mark(t, attach, output);
    else
        rc = strcmp(command, "stop") == 0 ? stop(t, attach) : status(t, attach);
    alqi_cli_attach_drop(attach);
    return rc;
}
