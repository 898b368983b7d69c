/* writer.c -- which process writes a recording
 *
 * [writer.h] Its number in the recording is that of its own namespace: another
 * process may have it here.  The one that is meant has the recording mapped. */
#include "cli/record/writer.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/attach/target.h"
#include "cli/tool/proc.h"

/* Whether a process has mapped a file of that name. */
static bool
has_mapped(pid_t pid, const char *name)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    bool is_found = false;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps",
             (int)alqi_cli_proc_living(pid));
    maps = fopen(path, "re");
    while (maps != NULL && !is_found && getline(&line, &capacity, maps) > 0)
        is_found = strstr(line, name) != NULL;
    if (maps != NULL)
        fclose(maps);
    free(line);
    return is_found;
}

pid_t
alqi_cli_record_writer(const struct alqi_raw_header *h, const char *path)
{
    const char *name = alqi_base_file_name(path);
    struct dirent *entry;
    pid_t found = 0, pid;
    DIR *directory;

    if (alqi_cli_attach_inner_pid((pid_t)h->pid) == (pid_t)h->pid &&
        has_mapped((pid_t)h->pid, name))
        return (pid_t)h->pid;
    directory = opendir("/proc");
    while (directory != NULL && found == 0 &&
           (entry = readdir(directory)) != NULL) {
        pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && alqi_cli_attach_inner_pid(pid) == (pid_t)h->pid &&
            has_mapped(pid, name))
            found = pid;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}
