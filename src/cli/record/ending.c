/* ending.c -- `aliquot leaks` of a process that waits with its end
 *
 * [src/preload/ending.c] The process says through the pipe of limits that it
 * waits.  What it leaves goes to standard error, as the program's own standard
 * output is not ours to write to; then a word of the recording's header lets
 * the process go.  It is this process that looks, not one that it starts:
 * the system may let none but its ancestors look into the program. */
#include "cli/record/ending.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/attach/end.h"
#include "cli/tool/cli.h"

/* Where it goes: the file, made anew for each process, or standard error. */
static int
output_open(const struct alqi_cli_record_run *run)
{
    int fd;

    if (run->leaks_output == NULL)
        return dup(STDERR_FILENO);
    fd =
        open(run->leaks_output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        alqi_cli_say("record: cannot create %s: %s", run->leaks_output,
                     strerror(errno));
    return fd;
}

/* Prints there what would go to standard output. */
static void
leaks_say(const struct alqi_cli_record_run *run, uint32_t pid,
          struct alqi_cli_reaches *found,
          const struct alqi_cli_end_watch *watch)
{
    char number[16];
    char *argv[] = {(char *)"leaks",
                    (char *)"--no-pager",
                    (char *)"-p",
                    number,
                    (char *)(run->leaks_output != NULL ? "--json" : NULL),
                    NULL};
    int output = output_open(run), own;

    snprintf(number, sizeof number, "%u", pid);
    fflush(stdout);
    own = dup(STDOUT_FILENO);
    if (output >= 0 && dup2(output, STDOUT_FILENO) >= 0) {
        (void)alqi_cli_leaks_at_end(argv[4] != NULL ? 5 : 4, argv, found,
                                    watch);
        fflush(stdout);
    }
    if (output >= 0)
        close(output);
    if (own >= 0) {
        dup2(own, STDOUT_FILENO);
        close(own);
    }
}

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

/* The process that writes the recording, which knows itself by the number in
 * it: in a container it has another one here.  0: it has ended. */
static pid_t
process_of(const struct alqi_raw_header *h, const char *path)
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

/* A process that is let go to its end. */
struct going {
    const struct alqi_cli_record_run *run;
    struct alqi_raw_header *header;
};

static void
process_go(void *arg)
{
    struct going *g = arg;

    atomic_store(&g->header->ending, ALQI_RAW_ENDING_LOOKED);
}

/* Another one says that it waits. */
static bool
is_wanted(void *arg)
{
    const struct going *g = arg;
    struct pollfd pipe = {.fd = g->run->limits.pipe, .events = POLLIN};

    return poll(&pipe, 1, 0) > 0;
}

/* Of the process that has the recording. */
static void
process_look(struct alqi_cli_record_run *run, struct alqi_raw_header *h,
             const char *path)
{
    pid_t pid = process_of(h, path);
    struct going going = {run, h};
    const struct alqi_cli_end_watch watch = {process_go, is_wanted, &going};
    struct alqi_cli_reaches *found;

    run->reaches = alqi_cli_realloc(run->reaches, run->n_reaches + 1,
                                    sizeof *run->reaches);
    found = &run->reaches[run->n_reaches++];
    *found =
        (struct alqi_cli_reaches){.pid = h->pid, .start_ns = h->start_mono_ns};
    if (pid > 0)
        leaks_say(run, (uint32_t)pid, found, &watch);
}

void
alqi_cli_record_ending_look(struct alqi_cli_record_run *run, const char *path)
{
    struct alqi_raw_header *h;
    int fd = run->is_leaks ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0)
        return;
    h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (h == MAP_FAILED)
        return;
    if (atomic_load(&h->ending) == ALQI_RAW_ENDING_WAITS) {
        process_look(run, h, path);
        atomic_store(&h->ending, ALQI_RAW_ENDING_LOOKED);
    }
    munmap(h, sizeof *h);
}

const struct alqi_cli_reaches *
alqi_cli_record_ending_found(const struct alqi_cli_record_run *run,
                             const struct alqi_raw_header *h)
{
    for (size_t i = 0; i < run->n_reaches; i++)
        if (run->reaches[i].pid == h->pid &&
            run->reaches[i].start_ns == h->start_mono_ns)
            return &run->reaches[i];
    return NULL;
}

void
alqi_cli_record_ending_free(struct alqi_cli_record_run *run)
{
    for (size_t i = 0; i < run->n_reaches; i++)
        alqi_cli_reaches_free(&run->reaches[i]);
    free(run->reaches);
    run->reaches = NULL;
    run->n_reaches = 0;
}
