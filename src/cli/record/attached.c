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
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "cli/attach/attach.h"
#include "cli/record/meanwhile.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"

static bool
place_make(struct alqi_cli_record_run *r,
           const struct alqi_cli_attach_target *t,
           struct alqi_cli_attach_place *place)
{
    if (t->is_other_mount || t->uid != geteuid()) {
        if (!alqi_cli_attach_place_make("record", t, place))
            return false;
        strcpy(r->directory, place->here);
        return true;
    }
    if (!alqi_cli_record_directory_make(r))
        return false;
    strcpy(place->here, r->directory);
    strcpy(place->there, r->directory);
    return true;
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
    const struct alqi_cli_attach_settings settings = {
        .rate = r->rate,
        .depth = r->depth,
        .seed = r->seed,
        .has_no_rss = r->has_no_rss,
        .has_no_python = r->has_no_python,
        .has_native = r->has_native,
    };
    struct alqi_cli_attach_place place;
    struct alqi_attach_told told;

    if (process < 0 || signals < 0)
        return alqi_cli_refuse("record: process %d: %s", (int)t->pid,
                               strerror(errno));
    if (!place_make(r, t, &place) ||
        !alqi_cli_attach_begin(attach, &settings, &place, &told)) {
        rmdir(r->directory);
        return false;
    }
    say_begun(r, t, &told);
    r->pid = t->inner_pid;
    r->symbols = alqi_symbol_table_new(true);
    r->meanwhile = alqi_cli_meanwhile_begin(r);
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
