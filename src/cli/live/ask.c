/* ask.c -- a request to a control socket, and its answer
 *
 * Phases: the target's owner is checked, then its malloc's socket and its
 * heap's are tried, up to TRIES times, as a forked process makes its socket
 * anew. An attempt connects, checks the peer, sends a line and waits for a
 * line. What fails is explained from outside (alqi_cli_say_silent): by what the
 * process has mapped.
 *
 * Whoever listens at a process's name may be another: the kernel tells who it
 * is, and nothing is sent to, or believed of, anyone else (peer_check). */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/live/advice.h"
#include "cli/live/control.h"
#include "cli/live/recorded.h"
#include "cli/tool/proc.h"
#include "wire/request.h"
#include "wire/side.h"

enum { ANSWER_MS = 10000, TRIES = 5, RETRY_US = 50000 };

#define GREETING ALQI_REQUEST_GREETING " "

/* A process's number, within what the kernel gives. */
bool
alqi_cli_pid_take(void *to, const char *verb, const char *value)
{
    char *end;
    long pid = strtol(value, &end, 10);

    if (*end != '\0' || end == value || pid <= 0 || pid > 1 << 30)
        return alqi_cli_refuse("%s: --pid %s: write the number of a process",
                               verb, value);
    *(pid_t *)to = (pid_t)pid;
    return true;
}

/* A process of another mount namespace has its files below /proc/PID/root. */
void
alqi_cli_path_here(pid_t pid, const char *file, char *path, size_t n)
{
    snprintf(path, n, "%s", file);
    if (access(path, R_OK) != 0 && pid != 0)
        snprintf(path, n, "/proc/%d/root%s", (int)pid, file);
}

/* ---- why it does not answer ---------------------------------------------- */

bool
alqi_cli_has_mapped(pid_t pid, const char *name, bool *is_known)
{
    char path[64], line[5000];
    bool found = false;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    f = fopen(path, "re");
    *is_known = f != NULL;
    while (f != NULL && !found && fgets(line, sizeof line, f) != NULL)
        found = strstr(line, name) != NULL;
    if (f != NULL)
        fclose(f);
    return found;
}

/* The user's name or number; valid until the next call. */
static const char *
user_name(uid_t uid)
{
    static char number[24];
    const struct passwd *user = getpwuid(uid);

    snprintf(number, sizeof number, "user %u", (unsigned)uid);
    return user != NULL ? user->pw_name : number;
}

int
alqi_cli_say_silent(const struct alqi_cli_control_target *t)
{
    char path[PATH_MAX + 64];
    bool is_known;

    if (t->pid == 0)
        return alqi_cli_finding("%s: no answer from the control socket %s: %s",
                                t->verb, t->control, strerror(errno));
    if (alqi_cli_has_mapped(t->pid, "/libaliquot.so", &is_known) || t->is_heap)
        alqi_cli_say("%s: the heap of process %d has no control socket: start "
                     "it with ALIQUOT_CONTROL=1, or with 'aliquot record "
                     "--control'",
                     t->verb, (int)t->pid);
    else if (is_known)
        return alqi_cli_advise(
            t->verb, t->pid,
            alqi_cli_recorded_quietly(t->pid, path, sizeof path) ? path : NULL);
    else
        alqi_cli_say("%s: process %d has no control socket, and this user may "
                     "not read what it has mapped",
                     t->verb, (int)t->pid);
    return ALQI_CLI_FINDING;
}

/* -1 to go on. */
static int
target_check(const struct alqi_cli_control_target *t)
{
    uid_t uid;

    if (t->pid == 0)
        return t->control != NULL
                   ? -1
                   : alqi_cli_usage(t->verb, "%s: which process? Give -p PID",
                                    t->verb);
    if (!alqi_cli_proc_owner(t->pid, &uid))
        return alqi_cli_finding("%s: there is no process %d", t->verb,
                                (int)t->pid);
    if (geteuid() == 0 || geteuid() == uid)
        return -1;
    return alqi_cli_finding(
        "%s: process %d is %s's: only that user and root may control "
        "it",
        t->verb, (int)t->pid, user_name(uid));
}

/* ---- the connection ------------------------------------------------------ */

/* The socket's address: by the name that was given, else by the process's
 * number. A leading '@' stands for the zero byte of an abstract name. */
static bool
address_make(const struct alqi_cli_control_target *t, struct sockaddr_un *a,
             socklen_t *n)
{
    size_t bytes;

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if (t->control == NULL)
        snprintf(a->sun_path, sizeof a->sun_path,
                 t->is_heap ? ALQI_REQUEST_NAME_HEAP : ALQI_REQUEST_NAME,
                 (int)t->pid);
    else if (strlen(t->control) < sizeof a->sun_path)
        strcpy(a->sun_path, t->control);
    bytes = strlen(a->sun_path);
    if (bytes == 0)
        return alqi_cli_refuse(
            "%s: --control: a path, or '@' and a name, of at most "
            "107 bytes",
            t->verb);
    *n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
    if (a->sun_path[0] == '@')
        a->sun_path[0] = '\0';
    return true;
}

/* The listener is the process itself, or of a user that is trusted as much.
 * False: said. */
static bool
peer_check(const struct alqi_cli_control_target *t, int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;
    uid_t uid = geteuid();

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) != 0)
        return false;
    if (t->pid != 0)
        alqi_cli_proc_owner(t->pid, &uid);
    if ((t->pid == 0 || peer.pid == t->pid) &&
        (peer.uid == uid || peer.uid == 0 || (t->pid == 0 && uid == 0)))
        return true;
    return alqi_cli_refuse(
        "%s: process %d of %s listens in its place; nothing was sent", t->verb,
        (int)peer.pid, user_name(peer.uid));
}

/* Sends the request and reads a line into reply; false with errno. The wait is
 * for each piece, so a server that trickles may take longer. */
static bool
exchange(int fd, const char *request, int answer_ms, char *reply)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    size_t n = 0;

    /* Who is refused may be told before the request is sent. */
    dprintf(fd, GREETING "%s\n", request);
    while (n < ALQI_CLI_REPLY_BYTES - 1 && poll(&p, 1, answer_ms) > 0) {
        ssize_t got = read(fd, reply + n, ALQI_CLI_REPLY_BYTES - 1 - n);
        char *end;

        if (got <= 0)
            return false;
        n += (size_t)got;
        reply[n] = '\0';
        end = strchr(reply, '\n');
        if (end != NULL) {
            *end = '\0';
            return true;
        }
    }
    errno = ETIMEDOUT;
    return false;
}

/* -1 with a connection, -2 to try again, or the exit status. */
static int
connection_open(const struct alqi_cli_control_target *t, int *fd)
{
    struct sockaddr_un address;
    int rc = -2;
    socklen_t n = 0;

    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0)
        return rc;
    if (!address_make(t, &address, &n))
        rc = ALQI_CLI_USAGE;
    else if (connect(*fd, (void *)&address, n) == 0)
        rc = peer_check(t, *fd) ? -1 : ALQI_CLI_FINDING;
    if (rc != -1)
        close(*fd);
    return rc;
}

/* -1 with a reply, -2 to try again, or the exit status. */
static int
attempt(const struct alqi_cli_control_target *t, const char *request,
        char *reply)
{
    int fd, rc = connection_open(t, &fd);

    if (rc != -1)
        return rc;
    if (!exchange(fd, request, t->answer_ms > 0 ? t->answer_ms : ANSWER_MS,
                  reply))
        rc = -2;
    close(fd);
    return rc;
}

/* -1 with a reply, -2 to try again, or the exit status. malloc's socket; if
 * there is none, the managed heap's. */
static int
attempt_any(const struct alqi_cli_control_target *t, const char *request,
            char *reply)
{
    struct alqi_cli_control_target heap = *t;
    int rc = attempt(t, request, reply);

    if (rc != -2 || t->pid == 0 || t->control != NULL || t->is_heap)
        return rc;
    heap.is_heap = true;
    return attempt(&heap, request, reply);
}

/* An answer that is not "ok" says in "text" why it refuses. */
int
alqi_cli_ask(const struct alqi_cli_control_target *t, const char *request,
             char reply[ALQI_CLI_REPLY_BYTES])
{
    char text[ALQI_CLI_REPLY_BYTES];
    int rc = target_check(t);

    if (rc >= 0)
        return rc;
    signal(SIGPIPE, SIG_IGN);
    rc = attempt_any(t, request, reply);
    for (int i = 1; i < TRIES && rc == -2; i++) {
        usleep(RETRY_US); /* its socket may be about to be made anew */
        rc = attempt_any(t, request, reply);
    }
    if (rc == -2)
        return t->has_other_way ? ALQI_CLI_SILENT : alqi_cli_say_silent(t);
    if (rc >= 0)
        return rc;
    if (strncmp(reply, GREETING "ok ", strlen(GREETING "ok ")) == 0) {
        memmove(reply, reply + strlen(GREETING),
                strlen(reply + strlen(GREETING)) + 1);
        return -1;
    }
    if (!alqi_side_get(reply, "text", text, sizeof text))
        snprintf(text, sizeof text,
                 "it answers what this command does not "
                 "understand");
    return alqi_cli_finding("%s: %s", t->verb, text);
}

int
alqi_cli_connect(const struct alqi_cli_control_target *t, const char *request,
                 int *fd)
{
    int rc = target_check(t);

    if (rc >= 0)
        return rc;
    signal(SIGPIPE, SIG_IGN);
    rc = connection_open(t, fd);
    for (int i = 1; i < TRIES && rc == -2; i++) {
        usleep(RETRY_US);
        rc = connection_open(t, fd);
    }
    if (rc == -1)
        dprintf(*fd, GREETING "%s\n", request);
    return rc == -2 ? ALQI_CLI_SILENT : rc;
}
