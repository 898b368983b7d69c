/* ending.c -- `aliquot leaks` of a process that waits with its end
 *
 * [src/preload/ending.c] The process says through the pipe of limits that it
 * waits.  What it leaves goes to standard error, as the program's own standard
 * output is not ours to write to; then a word of the recording's header lets
 * the process go.  It is this process that looks, not one that it starts:
 * the system may let none but its ancestors look into the program. */
#include "cli/record/ending.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/attach/asked.h"
#include "cli/attach/end.h"
#include "cli/record/writer.h"
#include "cli/tool/cli.h"
#include "cli/tool/output.h"

enum { ASKED_MS = 5000 }; /* for the process to connect */

/* Where it goes: the file, made anew for each process, or standard error. */
static int
output_open(const struct alqi_cli_record_run *run)
{
    if (run->leaks_output == NULL)
        return dup(STDERR_FILENO);
    return open(run->leaks_output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
                0666);
}

static void
unwritten_say(struct alqi_cli_record_run *run, int error)
{
    if (run->leaks_output == NULL)
        return; /* standard error cannot be written: nobody would read it */
    run->n_unwritten++;
    alqi_cli_say("record: cannot write %s: %s", run->leaks_output,
                 strerror(error));
}

/* Has what is printed to standard output go there.  What could not be written
 * does not go to the program's own output. */
static void
leaks_print(struct alqi_cli_record_run *run, int output, pid_t pid,
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
    int error;

    snprintf(number, sizeof number, "%d", (int)pid);
    dup2(output, STDOUT_FILENO);
    (void)alqi_cli_leaks_at_end(argv[4] != NULL ? 5 : 4, argv, found, watch);
    error = alqi_cli_stream_error(stdout);
    __fpurge(stdout);
    clearerr(stdout);
    if (error != 0)
        unwritten_say(run, error);
}

static void
leaks_say(struct alqi_cli_record_run *run, pid_t pid,
          struct alqi_cli_reaches *found,
          const struct alqi_cli_end_watch *watch)
{
    int output, own;

    fflush(stdout);
    own = dup(STDOUT_FILENO);
    output = output_open(run);
    if (output >= 0) {
        leaks_print(run, output, pid, found, watch);
        close(output);
    } else {
        unwritten_say(run, errno);
    }
    if (own >= 0) {
        dup2(own, STDOUT_FILENO);
        close(own);
    }
}

/* A process that is let go to its end. */
struct going {
    const struct alqi_cli_record_run *run;
    struct alqi_raw_header *header;
    pid_t pid; /* as it is known here */
};

static void
process_go(void *arg)
{
    struct going *g = arg;

    atomic_store(&g->header->ending, ALQI_RAW_ENDING_LOOKED);
}

/* A copy of the process that it makes itself. */
static int
process_ask(void *arg)
{
    struct going *g = arg;

    return alqi_cli_asked_connect(g->header, g->pid, ASKED_MS);
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
    pid_t pid = alqi_cli_record_writer(h, path);
    struct going going = {run, h, pid};
    const struct alqi_cli_end_watch watch = {process_go, process_ask, is_wanted,
                                             &going};
    struct alqi_cli_reaches *found;

    run->reaches = alqi_cli_realloc(run->reaches, run->n_reaches + 1,
                                    sizeof *run->reaches);
    found = &run->reaches[run->n_reaches++];
    *found =
        (struct alqi_cli_reaches){.pid = h->pid, .start_ns = h->start_mono_ns};
    if (pid > 0)
        leaks_say(run, pid, found, &watch);
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
