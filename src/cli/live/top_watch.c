/* top_watch.c -- what of a process can be watched: its parts
 *
 * A process that has a control socket is asked by it, one part for each of its
 * heaps. One that has none is followed by the recording that it writes; if
 * there is no such recording either, the process is attached to, until
 * unwatch. */
#include <stdlib.h>
#include <string.h>

#include "cli/live/recorded.h"
#include "cli/live/top.h"
#include "cli/tool/cli.h"

struct alqi_cli_top_part *
alqi_cli_top_part_add(struct alqi_cli_top *top)
{
    top->parts =
        alqi_cli_realloc(top->parts, top->n_parts + 1, sizeof *top->parts);
    return &top->parts[top->n_parts++];
}

/* Names the processes that can be watched, one line each. */
static void
list_say(const char *verb, const struct alqi_cli_top_found *found, uint32_t n)
{
    alqi_cli_say("%s: several can be watched; which one? Give -p PID:", verb);
    for (uint32_t i = 0; i < n; i++) {
        struct alqi_cli_proc proc;

        if ((i > 0 && found[i].pid == found[i - 1].pid) ||
            !alqi_cli_proc_read(found[i].pid, &proc))
            continue;
        fprintf(stderr, "  %d  %s\n", (int)found[i].pid, proc.command);
    }
}

/* The list is sorted by process: the first and the last tell. */
static bool
is_of_one(const struct alqi_cli_top_found *found, uint32_t n)
{
    return n > 0 && found[0].pid == found[n - 1].pid;
}

/* The process has no control socket. Its recording is followed if there is one,
 * or if one can be begun. -1, or the status to exit with. */
static int
part_find(struct alqi_cli_top *top,
          const struct alqi_cli_control_target *target)
{
    struct alqi_cli_top_part *p = alqi_cli_top_part_add(top);
    struct alqi_cli_proc proc;
    char path[sizeof p->path];
    bool is_ours;

    alqi_cli_top_part_init(p, target, target->pid, false);
    if (!alqi_cli_proc_read(target->pid, &proc))
        return -1; /* the first look says so */
    is_ours = !alqi_cli_recorded_quietly(target->pid, path, sizeof path);
    if (is_ours && (!alqi_cli_top_attach(target->verb, target->pid) ||
                    !alqi_cli_recorded_quietly(target->pid, path, sizeof path)))
        return ALQI_CLI_FINDING;
    alqi_cli_top_part_init_file(p, path);
    p->pid = target->pid;
    p->is_ours = is_ours;
    return -1;
}

int
alqi_cli_top_watch(struct alqi_cli_top *top,
                   const struct alqi_cli_control_target *target,
                   bool is_of_one_wanted)
{
    struct alqi_cli_top_found *found;
    uint32_t n;
    int rc = -1;

    if (target->control != NULL) {
        alqi_cli_top_part_init(alqi_cli_top_part_add(top), target, target->pid,
                               false);
        return -1;
    }
    n = alqi_cli_top_list(target->pid, &found);
    if (n == 0 && target->pid == 0) {
        alqi_cli_say("%s: no running process can be watched: start a program "
                     "with 'aliquot record --control', or name a recording",
                     target->verb);
        rc = ALQI_CLI_FINDING;
    } else if (is_of_one_wanted && target->pid == 0 && !is_of_one(found, n)) {
        list_say(target->verb, found, n);
        rc = ALQI_CLI_USAGE;
    }
    for (uint32_t i = 0; rc < 0 && i < n; i++)
        alqi_cli_top_part_init(alqi_cli_top_part_add(top), target, found[i].pid,
                               found[i].is_heap);
    if (rc < 0 && n == 0)
        rc = part_find(top, target);
    free(found);
    return rc;
}

void
alqi_cli_top_unwatch(struct alqi_cli_top *top)
{
    for (uint32_t i = 0; i < top->n_parts; i++)
        alqi_cli_top_part_free(&top->parts[i]);
    free(top->parts);
    top->parts = NULL;
    top->n_parts = 0;
    alqi_cli_top_detach();
}
