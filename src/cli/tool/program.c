/* program.c -- what is known of a program before it starts
 *
 * The file is looked for as execvp() does, and its first bytes are read;
 * nothing of it runs. Two steps: path_find() fills path, is_found and
 * is_executable; only an executable file is then opened for its kind and its
 * interpreter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/program.h"

static bool
is_executable_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           access(path, X_OK) == 0;
}

/* Tests one candidate. A file that exists without the right to run it counts as
 * found: the message can then say why it does not start. */
static void
path_look(struct alqi_cli_program *out)
{
    out->is_executable = is_executable_file(out->path);
    out->is_found |= out->is_executable || access(out->path, F_OK) == 0;
}

/* Fills out->path. A name with a slash is a path; any other is tried in each
 * folder of PATH, an empty entry of which means the current folder. The last
 * candidate stays in out->path when none can run. */
static void
path_find(const char *name, struct alqi_cli_program *out)
{
    const char *dirs = getenv("PATH");

    if (strchr(name, '/') != NULL) {
        snprintf(out->path, sizeof out->path, "%s", name);
        path_look(out);
        return;
    }
    if (dirs == NULL)
        dirs = "/bin:/usr/bin";
    while (*name != '\0') {
        size_t n = strcspn(dirs, ":");

        snprintf(out->path, sizeof out->path, "%.*s%s%s", (int)n, dirs,
                 n != 0 ? "/" : "./", name);
        path_look(out);
        if (out->is_executable || dirs[n] == '\0')
            return;
        dirs += n + 1;
    }
}

void
alqi_cli_program_inspect(const char *name, struct alqi_cli_program *out)
{
    memset(out, 0, sizeof *out);
    path_find(name, out);
    if (out->is_executable)
        out->kind = alqi_plat_program_look(out->path, out->interpreter);
}
