/* top_snapshot.c -- a snapshot that is made while the screen goes on
 *
 * States: none (snapshot_fd is -1); being made, by a child that is another
 * aliquot and writes to a pipe; over, when the pipe ends: the child's last line
 * becomes the message. One is made at a time. The end of the screen waits for
 * it and prints what it said. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/text.h"
#include "cli/live/top_screen.h"

enum { ARGUMENTS = 8, NAMES_MOST = 1000 };

static void
say(struct alqi_cli_screen *s, const char *text)
{
    snprintf(s->message, sizeof s->message, "%s", text);
    s->is_stale = true;
}

/* The first name that is free. */
static bool
name_find(const struct alqi_cli_top_part *p, char *name, size_t n)
{
    for (unsigned i = 0; i < NAMES_MOST; i++) {
        char number[16] = "";

        if (i > 0)
            snprintf(number, sizeof number, ".%u", i);
        snprintf(name, n, "aliquot.%s.%d%s.ctf",
                 p->command[0] != '\0' ? p->command : "program", (int)p->pid,
                 number);
        if (access(name, F_OK) != 0 && errno == ENOENT)
            return true;
    }
    return false;
}

/* Becomes `aliquot snapshot` of the part. The recording of a process that has
 * ended is reached by this process's own descriptor. */
static void
child(const struct alqi_cli_top_part *p, char *name, int out)
{
    char pid[16], file[64];
    char *argv[ARGUMENTS] = {(char *)"aliquot", (char *)"snapshot",
                             (char *)"-o", name};
    int n = 4;

    snprintf(pid, sizeof pid, "%d", (int)p->pid);
    if (p->has_control && !p->is_gone && p->target.control != NULL) {
        argv[n++] = (char *)"--control";
        argv[n++] = (char *)p->target.control;
    } else if (p->has_control && !p->is_gone) {
        argv[n++] = (char *)"-p";
        argv[n++] = pid;
        if (p->is_heap)
            argv[n++] = (char *)"--heap";
    } else { /* its name is gone if aliquot record has made a trace of it */
        snprintf(file, sizeof file, "/proc/%d/fd/%d", (int)getppid(),
                 alqi_cli_follow_fd(p->follow));
        argv[n++] = file;
    }
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    execv("/proc/self/exe", argv);
    _exit(127);
}

/* Starts the child; a failed fork ends as a failed snapshot, since the pipe is
 * closed at once. */
void
alqi_cli_screen_snapshot(struct alqi_cli_screen *s)
{
    struct alqi_cli_top_part *p = alqi_cli_top_now(s->top);
    char name[512];
    int ends[2];

    if (s->snapshot_fd >= 0 || p->follow == NULL) {
        say(s, p->follow == NULL ? "nothing is recorded yet"
                                 : "a snapshot is being made");
        return;
    }
    if (!name_find(p, name, sizeof name) || pipe2(ends, O_CLOEXEC) != 0) {
        say(s, "a snapshot cannot be made here");
        return;
    }
    s->snapshot_pid = fork();
    if (s->snapshot_pid == 0)
        child(p, name, ends[1]);
    close(ends[1]);
    s->snapshot_fd = ends[0];
    s->snapshot_said[0] = '\0';
    fcntl(s->snapshot_fd, F_SETFL, O_NONBLOCK);
    say(s, "a snapshot is being made ...");
}

/* The last line of what it said. */
static void
said(struct alqi_cli_screen *s)
{
    char text[sizeof s->snapshot_said], *line, *end;

    end = strrchr(s->snapshot_said, '\n');
    if (end != NULL)
        *end = '\0';
    line = strrchr(s->snapshot_said, '\n');
    alqi_cli_clean(text, sizeof text,
                   line != NULL ? line + 1 : s->snapshot_said);
    say(s, text[0] != '\0' ? text : "the snapshot failed");
}

/* Reads what the child has said; more than there is room for is read and
 * dropped. */
static bool
take(struct alqi_cli_screen *s)
{
    size_t n = strlen(s->snapshot_said);
    char rest[256];
    ssize_t got;

    do {
        size_t room = sizeof s->snapshot_said - 1 - n;

        got = read(s->snapshot_fd, room > 0 ? s->snapshot_said + n : rest,
                   room > 0 ? room : sizeof rest);
        if (got > 0 && room > 0)
            n += (size_t)got;
        s->snapshot_said[n] = '\0';
    } while (got > 0);
    return got < 0 && (errno == EAGAIN || errno == EINTR);
}

/* Ends the state: the child is waited for. */
static void
end(struct alqi_cli_screen *s)
{
    close(s->snapshot_fd);
    s->snapshot_fd = -1;
    while (waitpid(s->snapshot_pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

void
alqi_cli_screen_snapshot_wait(struct alqi_cli_screen *s)
{
    if (s->snapshot_fd < 0 || take(s))
        return;
    end(s);
    said(s);
}

void
alqi_cli_screen_snapshot_end(struct alqi_cli_screen *s)
{
    if (s->snapshot_fd < 0)
        return;
    fcntl(s->snapshot_fd, F_SETFL, 0);
    (void)take(s);
    end(s);
    fputs(s->snapshot_said, stderr);
}
