/* library.c -- the preload and the C library among a process's mappings */
#include "cli/attach/library.h"

#include <string.h>

#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "plat/inject.h"

const char *
alqi_cli_library_name(const struct alqi_cli_attach_target *t)
{
    for (size_t i = 0; i < t->n_mappings; i++) {
        const char *path = t->mappings[i].path;

        if (strncmp(alqi_base_file_name(path), "libaliquot-preload.", 19) == 0)
            return path;
    }
    return NULL;
}

/* The C library's text has the return from signals. */
uintptr_t
alqi_cli_come_back(const char *verb, const struct alqi_cli_attach_target *t)
{
    uintptr_t found = 0;

    for (size_t i = 0; i < t->n_mappings && found == 0; i++) {
        const struct alqi_cli_mapping *m = &t->mappings[i];

        if (m->is_executable &&
            strcmp(alqi_base_file_name(m->path), "libc.so.6") == 0)
            found =
                alqi_plat_come_back_find(t->pid, m->start, m->end - m->start);
    }
    if (found == 0)
        alqi_cli_say("%s: process %d has a C library that this command does "
                     "not know",
                     verb, (int)t->pid);
    return found;
}
