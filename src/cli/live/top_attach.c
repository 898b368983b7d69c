/* top_attach.c -- top, or a page, of a process that has no profiler
 *
 *   none --attach--> a child attaches; the command follows the recording
 *                    --detach, or the command's end--> none
 *
 * The child ends the recording however the command ends: the system sends it a
 * signal then.  It leaves no file. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/defaults.h"
#include "cli/attach/attach.h"
#include "cli/live/top.h"
#include "cli/tool/cli.h"
#include "cli/tool/launch.h"

#define BEGUN "begun\n"

static pid_t attached; /* the child; 0: none */

/* Removes the directory and what the process has made in it. */
static void
place_remove(const struct alqi_cli_attach_place *place)
{
    char path[PATH_MAX + 300];
    DIR *directory = opendir(place->here);
    struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", place->here, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (directory != NULL)
        closedir(directory);
    rmdir(place->here);
}

/* Records until SIGTERM, which is blocked. */
static void
record(const char *verb, struct alqi_cli_attach *attach, const sigset_t *term)
{
    const struct alqi_cli_attach_settings settings = {
        .rate = ALQI_DEFAULT_RATE, .depth = ALQI_DEFAULT_DEPTH_FRAMES};
    struct alqi_cli_attach_place place;
    struct alqi_attach_told told;

    if (!alqi_cli_attach_place_make(verb, alqi_cli_attach_target_of(attach),
                                    &place))
        return;
    if (alqi_cli_attach_begin(attach, &settings, &place, &told)) {
        (void)!write(STDERR_FILENO, BEGUN, strlen(BEGUN));
        sigwaitinfo(term, NULL);
        alqi_cli_attach_end(attach);
    }
    place_remove(&place);
}

static void
child(const char *verb, pid_t pid, int errors, pid_t parent)
{
    struct alqi_cli_attach *attach;
    char preload[PATH_MAX];
    sigset_t term;

    setpgid(0, 0); /* ^C is the command's */
    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || dup2(errors, STDERR_FILENO) < 0 ||
        !alqi_cli_preload_find(preload, sizeof preload))
        return;
    attach = alqi_cli_attach_open(verb, pid, preload);
    if (attach != NULL)
        record(verb, attach, &term);
    alqi_cli_attach_drop(attach);
}

/* Waits for the child's first line: that it has begun, or why it cannot. */
static bool
is_begun(int from)
{
    char line[1024] = "";
    FILE *said = fdopen(from, "r");
    bool is_line = said != NULL && fgets(line, sizeof line, said) != NULL;

    if (said != NULL)
        fclose(said);
    if (is_line && strcmp(line, BEGUN) == 0)
        return true;
    line[strcspn(line, "\n")] = '\0';
    return alqi_cli_refuse("%s", strncmp(line, "aliquot: ", 9) == 0 ? line + 9
                                                                    : line);
}

bool
alqi_cli_top_attach(const char *verb, pid_t pid)
{
    pid_t parent = getpid();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return alqi_cli_refuse("%s: %s", verb, strerror(errno));
    attached = fork();
    if (attached == 0) {
        close(ends[0]);
        child(verb, pid, ends[1], parent);
        _exit(0);
    }
    close(ends[1]);
    if (is_begun(ends[0]))
        return true;
    alqi_cli_top_detach();
    return false;
}

void
alqi_cli_top_detach(void)
{
    if (attached <= 0)
        return;
    kill(attached, SIGTERM);
    waitpid(attached, NULL, 0);
    attached = 0;
}
