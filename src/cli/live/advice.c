/* advice.c -- why nothing of a process is to be had, and what works
 *                                                              [advice.h]
 * States of a process, as they are seen from outside; the first that holds
 * counts:
 *
 *   ended      nothing can be done
 *   recorded   from its start, without a control socket: its recording is read
 *   startable  it has a socket, or was attached to: `start` begins
 *   bound      it has the profiler from its start, and no socket: nothing
 *              begins
 *   managed    it has a heap of ours, and no profiler of malloc
 *   bare       it has neither: it can be attached to, or there is a reason why
 *              not
 *
 * .inv.true  A command that is named was looked at: it does what is said. */
#include "cli/live/advice.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attach/attach.h"
#include "cli/live/control.h"
#include "cli/live/top.h"
#include "cli/tool/cli.h"
#include "cli/tool/proc.h"

enum { WHY_BYTES = 1000 };

/* The process has a control socket of that kind. */
static bool
has_socket(pid_t pid, bool is_heap)
{
    struct alqi_cli_top_found *found;
    uint32_t n = alqi_cli_top_list(pid, &found);
    bool has = false;

    for (uint32_t i = 0; i < n; i++)
        has |= found[i].pid == pid && found[i].is_heap == is_heap;
    free(found);
    return has;
}

/* Of a process with a heap of ours. */
static int
managed_say(const char *verb, pid_t pid)
{
    if (strcmp(verb, "leaks") != 0)
        return alqi_cli_finding("%s: process %d has a managed heap, and its "
                                "malloc is not recorded: name the trace of "
                                "its heap",
                                verb, (int)pid);
    if (!has_socket(pid, true))
        return alqi_cli_finding(
            "leaks: process %d has a managed heap, whose collector frees what "
            "is lost: start it with ALIQUOT_CONTROL=1, and 'aliquot snapshot "
            "--graph -p PID' and 'aliquot heap' show who holds the rest",
            (int)pid);
    return alqi_cli_finding(
        "leaks: process %d has a managed heap, whose collector frees what is "
        "lost: 'aliquot snapshot --graph -p %d' and 'aliquot heap' show who "
        "holds the rest",
        (int)pid, (int)pid);
}

/* Of a process that nobody prepared: what attaching to it would say. */
static int
bare_say(const char *verb, pid_t pid)
{
    struct alqi_cli_attach *attach;
    char why[WHY_BYTES];

    alqi_cli_say_into(why, sizeof why);
    attach = alqi_cli_attach_open(verb, pid, "");
    alqi_cli_say_into(NULL, 0);
    if (attach == NULL)
        return alqi_cli_finding("%s", why);
    alqi_cli_attach_drop(attach);
    return alqi_cli_finding("%s: process %d is not recorded: 'aliquot record "
                            "-p %d' records it as it runs, and so does "
                            "'aliquot start -p %d', which does not stay beside "
                            "it",
                            verb, (int)pid, (int)pid, (int)pid);
}

/* Of a process with the profiler from its start and without a socket. */
static int
bound_say(const char *verb, pid_t pid, const char *recording)
{
    if (recording != NULL)
        return alqi_cli_finding(
            "%s: process %d is recorded from its start, to %s, and has no "
            "control socket: 'aliquot snapshot -p %d', 'aliquot top -p %d' "
            "and 'aliquot leaks -p %d' read the recording; 'aliquot record "
            "--control' starts a program that can be stopped and marked",
            verb, (int)pid, recording, (int)pid, (int)pid, (int)pid);
    return alqi_cli_finding(
        "%s: process %d has the profiler from its start, records nothing, and "
        "has no control socket, so nothing can begin a recording: start it "
        "anew with 'aliquot record', or with ALIQUOT=off,control beside "
        "LD_PRELOAD",
        verb, (int)pid);
}

int
alqi_cli_advise(const char *verb, pid_t pid, const char *recording)
{
    struct alqi_cli_proc proc;
    bool is_known;

    if (!alqi_cli_proc_read(pid, &proc))
        return alqi_cli_finding("%s: process %d has ended", verb, (int)pid);
    if (has_socket(pid, false) || alqi_cli_attach_is_late(pid))
        return alqi_cli_finding("%s: process %d records nothing now: 'aliquot "
                                "start -p %d' begins",
                                verb, (int)pid, (int)pid);
    if (alqi_cli_has_mapped(pid, "/libaliquot-preload.so", &is_known))
        return bound_say(verb, pid, recording);
    if (alqi_cli_has_mapped(pid, "/libaliquot.so", &is_known))
        return managed_say(verb, pid);
    return bare_say(verb, pid);
}
