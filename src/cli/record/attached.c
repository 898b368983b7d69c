/* attached.c -- aliquot record -p: a process that runs, from now until it is
 * enough
 *
 *   look -> directory -> attach -> wait -> detach -> (traces.c)
 *
 * The process itself makes the recording, so the directory must be where it may
 * write: beside the output, if it is this user's and sees the same files, else
 * in its own /tmp. */
#include "cli/record/attached.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "base/pattern.h"
#include "cli/attach/attach.h"
#include "cli/record/traces.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"

enum { SETTINGS_BYTES = 4096 };

/* Where the process makes the recording, as it knows the place. */
struct place {
    char path[PATH_MAX + 16];
};

/* A directory in the process's /tmp, of its user. /tmp is reached by
 * descriptor: the process's files cannot be named any more when it has ended.
 * False: the reason has been said. */
static bool
foreign_make(struct alqi_cli_record_run *r,
             const struct alqi_cli_attach_target *t, struct place *there)
{
    char parent[PATH_MAX];
    int fd;

    snprintf(parent, sizeof parent, "%s/tmp", t->root);
    fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(r->directory, sizeof r->directory,
             "/proc/self/fd/%d/.aliquot-raw.XXXXXX", fd);
    if (fd < 0 || mkdtemp(r->directory) == NULL ||
        chown(r->directory, t->uid, t->gid) != 0)
        return alqi_cli_refuse("record: cannot make a directory for process "
                               "%d in %s: %s",
                               (int)t->pid, parent, strerror(errno));
    snprintf(there->path, sizeof there->path, "/tmp/%s",
             alqi_base_file_name(r->directory));
    return true;
}

static bool
place_make(struct alqi_cli_record_run *r,
           const struct alqi_cli_attach_target *t, struct place *there)
{
    if (t->is_other_mount || t->uid != geteuid())
        return foreign_make(r, t, there);
    if (!alqi_cli_record_directory_make(r))
        return false;
    strcpy(there->path, r->directory);
    return true;
}

/* The text of ALIQUOT for the library. False: the path is too long. */
static bool
settings_make(const struct alqi_cli_record_run *r, const struct place *there,
              char out[SETTINGS_BYTES])
{
    char pattern[2 * sizeof there->path];

    alqi_base_pattern_quote(pattern, there->path, strlen(there->path));
    if (snprintf(out, SETTINGS_BYTES,
                 "rate=%.17g,depth=%" PRIu64 ",seed=%" PRIu64
                 ",rss=%d,python=%d,native=%d,attacher=%d,out=%s/"
                 "%%e.%%p.%%n" ALQI_CLI_RECORDING_SUFFIX,
                 r->rate, r->depth, r->seed, !r->has_no_rss, !r->has_no_python,
                 r->has_native, (int)getpid(), pattern) < SETTINGS_BYTES)
        return true;
    return alqi_cli_refuse("record: %s: the path is too long", there->path);
}

/* ---- until it is enough -------------------------------------------------- */

/* From here on the signals that end a command end the recording. */
static int
signals_open(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC);
}

/* True: the process runs on. */
static bool
wait_for_end(const struct alqi_cli_record_run *r, int process, int signals)
{
    struct pollfd fds[] = {{process, POLLIN, 0}, {signals, POLLIN, 0}};
    uint64_t end_us = alqi_cli_mono_us() + (uint64_t)r->for_us;

    for (;;) {
        uint64_t now_us = alqi_cli_mono_us();
        int left_ms = -1;

        if (r->for_us > 0 && now_us >= end_us)
            return true;
        if (r->for_us > 0)
            left_ms = end_us - now_us < 1000000000
                          ? (int)((end_us - now_us) / 1000) + 1
                          : 1000000;
        if (poll(fds, 2, left_ms) > 0)
            return (fds[0].revents & POLLIN) == 0;
    }
}

static void
say_begun(const struct alqi_cli_record_run *r,
          const struct alqi_cli_attach_target *t,
          const struct alqi_attach_told *told)
{
    if (!r->is_quiet)
        alqi_cli_say("recording %s (%d) from now on: %u addresses in %u "
                     "modules lead to the profiler; ^C ends it",
                     alqi_base_file_name(t->executable), (int)t->pid,
                     told->n_words, told->n_modules);
}

static bool
record(struct alqi_cli_record_run *r, struct alqi_cli_attach *attach)
{
    const struct alqi_cli_attach_target *t = alqi_cli_attach_target_of(attach);
    int process = pidfd_open(t->pid, 0), signals = signals_open();
    char settings[SETTINGS_BYTES];
    struct alqi_attach_told told;
    struct place there;

    if (process < 0 || signals < 0)
        return alqi_cli_refuse("record: process %d: %s", (int)t->pid,
                               strerror(errno));
    if (!place_make(r, t, &there) || !settings_make(r, &there, settings) ||
        !alqi_cli_attach_begin(attach, settings, &told)) {
        rmdir(r->directory);
        return false;
    }
    say_begun(r, t, &told);
    r->pid = t->inner_pid;
    if (wait_for_end(r, process, signals))
        alqi_cli_attach_end(attach);
    close(process);
    return true;
}

bool
alqi_cli_record_attached(struct alqi_cli_record_run *r, const char *preload)
{
    struct alqi_cli_attach *attach =
        alqi_cli_attach_open("record", (pid_t)r->attached_pid, preload);
    bool ok = attach != NULL && record(r, attach);

    alqi_cli_attach_drop(attach);
    return ok;
}
