/* top_list.c -- processes that can be asked, by the names of their sockets
 *
 * The kernel lists every abstract name of a network namespace.  Anyone may take
 * a name: who listens there is looked at when it is asked (ask.c). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/proc.h"
#include "cli/live/top.h"

enum { LISTENING = 0x10000, DEPTH_MOST = 1000 };

/* "...: 00000002 00000000 00010000 0001 01 12345 @aliquot.4711" */
static bool
line_take(const char *line, struct alqi_cli_top_found *f)
{
    const char *name = strstr(line, " @aliquot.");
    unsigned flags;
    char *end;
    long pid;

    if (name == NULL || sscanf(line, "%*s %*s %*s %x", &flags) != 1 ||
        (flags & LISTENING) == 0)
        return false;
    name += strlen(" @aliquot.");
    f->is_heap = strncmp(name, "heap.", 5) == 0;
    if (f->is_heap)
        name += 5;
    pid = strtol(name, &end, 10);
    f->pid = (pid_t)pid;
    return end != name && (*end == '\n' || *end == '\0') && pid > 0 &&
           pid < 1 << 30;
}

/* Whether `above` is the process or one that started it. Bounded, as processes
 * may end and numbers be used again meanwhile. */
static bool
is_below(pid_t pid, pid_t above)
{
    struct alqi_cli_proc proc;

    for (int i = 0; i < DEPTH_MOST && pid > 0; i++) {
        if (pid == above)
            return true;
        if (!alqi_cli_proc_read(pid, &proc))
            return false;
        pid = proc.parent;
    }
    return false;
}

/* Whether the user may ask it, or it is below the process that was named. */
static bool
is_wanted(const struct alqi_cli_top_found *f, pid_t below)
{
    uid_t uid;

    if (!alqi_cli_proc_owner(f->pid, &uid))
        return false;
    if (below != 0)
        return is_below(f->pid, below);
    return geteuid() == 0 || uid == geteuid();
}

/* By process; malloc's heap before the managed one. */
static int
compare(const void *left, const void *right)
{
    const struct alqi_cli_top_found *a = left, *b = right;

    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->is_heap - b->is_heap;
}

/* A process without a socket of a number's name is not found here. */
uint32_t
alqi_cli_top_list(pid_t below, struct alqi_cli_top_found **found)
{
    FILE *names = fopen("/proc/net/unix", "re");
    struct alqi_cli_top_found f;
    char line[300];
    uint32_t n = 0;

    *found = NULL;
    while (names != NULL && fgets(line, sizeof line, names) != NULL) {
        if (!line_take(line, &f) || !is_wanted(&f, below))
            continue;
        *found = alqi_cli_grow(*found, n, sizeof **found);
        (*found)[n++] = f;
    }
    if (names != NULL)
        fclose(names);
    if (n > 1)
        qsort(*found, n, sizeof **found, compare);
    return n;
}
