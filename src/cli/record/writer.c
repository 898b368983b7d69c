/* writer.c -- which process writes a recording, or may begin one
 *
 * [writer.h] What has replaced itself by another program has the recording
 * mapped no longer.  A forked child that allocates nothing for a while has no
 * recording yet: it has the preload, and the directory in its environment, or
 * what it has of its parent mapped. */
#include "cli/record/writer.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/tool/proc.h"

/* Whether a process has mapped a file of that name. */
static bool
has_mapped(pid_t pid, const char *name)
{
    return alqi_cli_proc_has(alqi_cli_proc_living(pid), "maps", '\n', name);
}

pid_t
alqi_cli_record_writer(const struct alqi_raw_header *h, const char *path)
{
    pid_t pid = alqi_cli_proc_here((pid_t)h->pid, h->process_start_ticks);

    return pid > 0 && has_mapped(pid, alqi_base_file_name(path)) ? pid : 0;
}

/* A child is no older than the command that has started its parent. */
static bool
is_later(pid_t pid, const char *name, uint64_t since_ticks)
{
    struct alqi_cli_proc proc;

    return alqi_cli_proc_read(pid, &proc) && proc.start_ticks >= since_ticks &&
           has_mapped(pid, "libaliquot-preload.") &&
           (alqi_cli_proc_has(pid, "environ", '\0', name) ||
            has_mapped(pid, name));
}

void
alqi_cli_record_writers_later(const char *directory,
                              void (*visit)(void *arg, pid_t pid), void *arg)
{
    const char *name = alqi_base_file_name(directory);
    struct alqi_cli_proc own = {0};
    struct dirent *entry;
    DIR *processes = opendir("/proc");

    alqi_cli_proc_read(getpid(), &own);
    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        pid_t pid = (pid_t)atoi(entry->d_name);

        if (pid > 0 && pid != getpid() && is_later(pid, name, own.start_ticks))
            visit(arg, pid);
    }
    if (processes != NULL)
        closedir(processes);
}
