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
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
leaks_say(const struct alqi_cli_record_run *run, uint32_t pid)
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
        (void)alqi_cli_leaks(argv[4] != NULL ? 5 : 4, argv);
        fflush(stdout);
    }
    if (output >= 0)
        close(output);
    if (own >= 0) {
        dup2(own, STDOUT_FILENO);
        close(own);
    }
}

void
alqi_cli_record_ending_look(const struct alqi_cli_record_run *run,
                            const char *path)
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
        leaks_say(run, h->pid);
        atomic_store(&h->ending, ALQI_RAW_ENDING_LOOKED);
    }
    munmap(h, sizeof *h);
}
