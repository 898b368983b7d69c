/* top_attach.c -- top of a process that has no profiler
 *
 *   none --attach--> a child, `aliquot record -p`, records; top follows the
 *                    recording --detach, or top's end--> none
 *
 * The child ends the recording however top ends: the system sends it a signal
 * then. Its trace is not kept. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/live/top.h"
#include "cli/tool/cli.h"

static struct {
    pid_t child; /* 0: none                                */
    char directory[64];
    char trace[80]; /* in it: what the child leaves */
} attached;

/* Becomes `aliquot record -p`. */
static void
child(pid_t pid, int errors, pid_t parent)
{
    char number[16];
    char *argv[] = {(char *)"aliquot", (char *)"record", (char *)"-p", number,
                    (char *)"-fo",     attached.trace,   NULL};

    snprintf(number, sizeof number, "%d", (int)pid);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    setpgid(0, 0); /* ^C is top's */
    if (getppid() == parent && dup2(errors, STDERR_FILENO) >= 0)
        execv("/proc/self/exe", argv);
    _exit(127);
}

/* Waits for the child's first line: what it records, or why it cannot. */
static bool
is_begun(int from)
{
    char line[1024] = "";
    FILE *said = fdopen(from, "r");
    bool is_line = said != NULL && fgets(line, sizeof line, said) != NULL;

    if (said != NULL)
        fclose(said);
    if (is_line && strstr(line, " from now on") != NULL)
        return true;
    line[strcspn(line, "\n")] = '\0';
    return alqi_cli_refuse("%s", strncmp(line, "aliquot: ", 9) == 0 ? line + 9
                                                                    : line);
}

bool
alqi_cli_top_attach(pid_t pid)
{
    pid_t parent = getpid();
    int ends[2];

    strcpy(attached.directory, "/tmp/aliquot-top.XXXXXX");
    if (mkdtemp(attached.directory) == NULL || pipe(ends) != 0)
        return alqi_cli_refuse("top: cannot make a directory in /tmp");
    snprintf(attached.trace, sizeof attached.trace, "%s/trace.ctf",
             attached.directory);
    attached.child = fork();
    if (attached.child == 0)
        child(pid, ends[1], parent);
    close(ends[1]);
    if (is_begun(ends[0]))
        return true;
    alqi_cli_top_detach();
    return false;
}

void
alqi_cli_top_detach(void)
{
    if (attached.child <= 0)
        return;
    kill(attached.child, SIGTERM);
    waitpid(attached.child, NULL, 0);
    attached.child = 0;
    unlink(attached.trace);
    rmdir(attached.directory);
}
