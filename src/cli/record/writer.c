/* writer.c -- which process writes a recording
 *
 * [writer.h] What has replaced itself by another program has the recording
 * mapped no longer. */
#include "cli/record/writer.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/tool/proc.h"

/* Whether a process has mapped a file of that name. */
static bool
has_mapped(pid_t pid, const char *name)
{
    char path[64], *line = NULL;
    size_t capacity = 0;
    bool is_found = false;
    FILE *maps;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
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
    pid_t pid = alqi_cli_proc_here((pid_t)h->pid, h->process_start_ticks);

    return pid > 0 && has_mapped(pid, alqi_base_file_name(path)) ? pid : 0;
}
