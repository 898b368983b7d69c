/* serve.c -- the control socket and the one thread that serves it
 *
 * A client sends a line, gets a line, and the connection ends:
 *
 *   aliquot/1 status                     aliquot/1 ok state=... rate=... ...
 *   aliquot/1 start [rate=R] [out=P]     aliquot/1 error text=...
 *   aliquot/1 stop
 *   aliquot/1 rate rate=R
 *   aliquot/1 snapshot                   (as status; the file is the recording)
 *
 * Values are encoded as in wire/side.h.
 *
 * .inv.bounded  One client at a time, a request of REQUEST_BYTES, CLIENT_MS in
 *               all: who says nothing delays the next one by that much.
 * .inv.own      The socket's descriptor is used only after its inode is seen
 *               to be the socket's: the program may close or replace any.
 * .inv.silent   The thread has all signals blocked, is never sampled, and is
 *               no reason for the process to live: when it is the last thread,
 *               the process exits, as it would have without it.
 *
 * A forked child makes its own at its first allocation, so that a child that
 * executes another program at once costs nothing. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "preload/control.h"
#include "preload/file.h"
#include "preload/preload.h"
#include "wire/side.h"

#define NAME_DEFAULT "@aliquot.%p"
#define GREETING "aliquot/1"

enum {
    REQUEST_BYTES = 4096,
    CLIENT_MS = 2000,
    LONELY_MS = 1000,
    BACKLOG = 8,
    STACK_BYTES = 256 * 1024
};

_Atomic(bool) alqi_preload_serve_owed;

static struct {
    int fd;
    dev_t device;
    ino_t inode;
    socklen_t address_bytes;
    struct sockaddr_un address;
    pid_t pid; /* whose socket it is */
} server = {.fd = -1};

/* ---- the socket ---------------------------------------------------------- */

static void
failed(const char *what)
{
    char text[300];

    snprintf(text, sizeof text, "no control: %s %s: %s", what,
             server.address.sun_path[0] != '\0' ? server.address.sun_path
                                                : server.address.sun_path + 1,
             strerrordesc_np(errno));
    alqi_preload_say(text);
}

/* '@' begins an abstract name, '/' a path; %p and %e as in file names. */
static bool
address_make(void)
{
    const char *pattern = alqi_preload_config.control[0] != '\0'
                              ? alqi_preload_config.control
                              : NAME_DEFAULT;
    struct sockaddr_un *a = &server.address;

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if ((pattern[0] != '@' && pattern[0] != '/') ||
        !alqi_preload_file_name(a->sun_path, sizeof a->sun_path, pattern)) {
        alqi_preload_say("no control: its name begins with '/' or '@', and is "
                         "at most 107 bytes long");
        return false;
    }
    server.address_bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
                    strlen(a->sun_path) + (pattern[0] == '/'));
    if (pattern[0] == '@')
        a->sun_path[0] = '\0';
    return true;
}

/* A socket's file outlives its process.  True when nobody listened there. */
static bool
stale_remove(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat st;
    bool ok = fd >= 0 && server.address.sun_path[0] != '\0' &&
              connect(fd, (void *)&server.address, server.address_bytes) != 0 &&
              errno == ECONNREFUSED &&
              lstat(server.address.sun_path, &st) == 0 &&
              S_ISSOCK(st.st_mode) && unlink(server.address.sun_path) == 0;

    if (fd >= 0)
        close(fd);
    errno = EADDRINUSE;
    return ok;
}

static bool
socket_bind(int fd)
{
    const struct sockaddr *address = (const void *)&server.address;

    fchmod(fd, 0600); /* of the file that bind makes */
    if (bind(fd, address, server.address_bytes) == 0)
        return true;
    return errno == EADDRINUSE && stale_remove() &&
           bind(fd, address, server.address_bytes) == 0;
}

static bool
socket_open(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat st;

    if (fd < 0 || !socket_bind(fd) || listen(fd, BACKLOG) != 0 ||
        fstat(fd, &st) != 0) {
        failed("cannot listen at");
        if (fd >= 0)
            close(fd);
        return false;
    }
    server.device = st.st_dev;
    server.inode = st.st_ino;
    server.fd = alqi_preload_fd_move_up(fd);
    server.pid = getpid();
    return true;
}

/* .inv.own */
static bool
socket_is_ours(void)
{
    struct stat st;

    return server.fd >= 0 && fstat(server.fd, &st) == 0 &&
           st.st_dev == server.device && st.st_ino == server.inode;
}

/* ---- one client ---------------------------------------------------------- */

static bool
wait_for(int fd, short events, uint64_t deadline_ns)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    struct pollfd p = {.fd = fd, .events = events};

    return now_ns < deadline_ns &&
           poll(&p, 1, 1 + (int)((deadline_ns - now_ns) / 1000000)) == 1;
}

/* A line without its end; false: too long, too late, or gone. */
static bool
line_read(int fd, char *line, uint64_t deadline_ns)
{
    size_t n = 0;

    while (n < REQUEST_BYTES - 1 && wait_for(fd, POLLIN, deadline_ns)) {
        ssize_t got = recv(fd, line + n, REQUEST_BYTES - 1 - n, MSG_DONTWAIT);
        char *end;

        if (got <= 0)
            return false;
        end = memchr(line + n, '\n', (size_t)got);
        n += (size_t)got;
        line[n] = '\0';
        if (end != NULL) {
            *end = '\0';
            return true;
        }
    }
    return false;
}

static void
line_write(int fd, const char *line, uint64_t deadline_ns)
{
    size_t n = strlen(line);

    while (n > 0 && wait_for(fd, POLLOUT, deadline_ns)) {
        ssize_t put = send(fd, line, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put <= 0)
            return;
        line += put;
        n -= (size_t)put;
    }
}

static bool
is_allowed(int fd)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static bool
rate_get(const char *line, double *rate, char *said)
{
    char value[64], *end;

    *rate = 0;
    if (!alqi_side_get(line, "rate", value, sizeof value))
        return true;
    *rate = strtod(value, &end);
    if (*end == '\0' && end != value && *rate > 0 && *rate <= 1)
        return true;
    strcpy(said, "the rate is no number above 0 and up to 1");
    return false;
}

static bool
obey(const char *line, char *said)
{
    char command[16], out[sizeof alqi_preload_config.out];
    const char *rest = line + strlen(GREETING);
    double rate;

    if (strncmp(line, GREETING " ", sizeof GREETING) != 0) {
        strcpy(said, "this process speaks " GREETING);
        return false;
    }
    alqi_side_get(++rest, NULL, command, sizeof command);
    if (!rate_get(rest, &rate, said))
        return false;
    if (strcmp(command, "status") == 0 || strcmp(command, "snapshot") == 0)
        return alqi_preload_control_status(said);
    if (strcmp(command, "stop") == 0)
        return alqi_preload_control_stop(said);
    if (strcmp(command, "rate") == 0 && rate > 0)
        return alqi_preload_control_rate(rate, said);
    if (strcmp(command, "start") == 0)
        return alqi_preload_control_start(
            rate,
            alqi_side_get(rest, "out", out, sizeof out) && out[0] != '\0'
                ? out
                : NULL,
            said);
    strcpy(said, "there is no such command");
    return false;
}

static void
client_serve(int fd)
{
    uint64_t deadline_ns =
        alqi_plat_mono_ns_sigsafe() + (uint64_t)CLIENT_MS * 1000000;
    char line[REQUEST_BYTES], said[ALQI_PRELOAD_SAID_BYTES];
    char reply[3 * ALQI_PRELOAD_SAID_BYTES + 64] = GREETING " error";
    bool ok = false;

    if (!is_allowed(fd))
        strcpy(said, "only the process's own user and root may control it");
    else if (line_read(fd, line, deadline_ns))
        ok = obey(line, said);
    else
        return;
    if (ok)
        snprintf(reply, sizeof reply, GREETING " ok %s", said);
    else
        alqi_side_put(reply, sizeof reply - 1, strlen(reply), "text", said);
    strcat(reply, "\n");
    line_write(fd, reply, deadline_ns);
}

/* ---- .inv.silent --------------------------------------------------------- */

static bool
task_is_alive(const char *tid)
{
    char path[64], text[128];
    const char *end;
    ssize_t n;
    int fd;

    snprintf(path, sizeof path, "/proc/self/task/%s/stat", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    end = strrchr(text, ')');
    return end != NULL && end[1] != '\0' && end[2] != 'Z' && end[2] != 'X';
}

struct task_entry { /* linux_dirent64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

static bool
others_are_alive(void)
{
    _Alignas(8) char room[2048];
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned long self = (unsigned long)alqi_plat_tid_sigsafe();
    bool is_found = fd < 0; /* who cannot tell stays */
    long n;

    while (!is_found &&
           (n = syscall(SYS_getdents64, fd, room, sizeof room)) > 0)
        for (long at = 0; at < n && !is_found;) {
            const struct task_entry *e = (const void *)(room + at);

            is_found = e->name[0] != '.' &&
                       strtoul(e->name, NULL, 10) != self &&
                       task_is_alive(e->name);
            at += e->bytes;
        }
    if (fd >= 0)
        close(fd);
    return is_found;
}

void
alqi_preload_serve_wake(void)
{
    int fd;

    if (server.fd < 0 || server.pid != getpid())
        return;
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)!connect(fd, (void *)&server.address, server.address_bytes);
    close(fd);
}

/* ---- the thread ---------------------------------------------------------- */

static void
serve_next(int timeout_ms)
{
    struct pollfd p = {.fd = server.fd, .events = POLLIN};
    int client;

    if (poll(&p, 1, timeout_ms) <= 0 || !socket_is_ours())
        return;
    client = accept4(server.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0)
        return;
    client_serve(client);
    close(client);
}

static void *
serve(void *arg)
{
    (void)arg;
    alqi_preload_hot.left_words = ALQI_PARKED;
    alqi_preload_hot.is_ended = true; /* it never attaches */
    prctl(PR_SET_NAME, "aliquot");
    for (;;) {
        bool is_lonely = !alqi_preload_threads_any();

        if (is_lonely && !others_are_alive())
            exit(0);
        if (!socket_is_ours() && !socket_open())
            return NULL;
        serve_next(is_lonely ? LONELY_MS : -1);
    }
}

/* Not our own: the server takes over nobody's profiles. */
static int
thread_create(pthread_attr_t *attr)
{
    static int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                         void *);
    pthread_t thread;

    if (create == NULL)
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    return create != NULL ? create(&thread, attr, serve, NULL) : ENOSYS;
}

static bool
thread_make(void)
{
    pthread_attr_t attr;
    sigset_t all, mask;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = thread_create(&attr);
    if (error == EINVAL) { /* large thread-local data: the usual size, then */
        pthread_attr_destroy(&attr);
        pthread_attr_init(&attr);
        pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
        error = thread_create(&attr);
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    errno = error;
    return error == 0;
}

static void
on_exit_remove(void)
{
    if (server.pid == getpid() && server.address.sun_path[0] != '\0')
        unlink(server.address.sun_path);
}

void
alqi_preload_serve(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    int64_t left = hot->left_words;
    int saved = errno;

    /* What libc allocates for a thread is no trial. */
    hot->left_words = ALQI_PARKED;
    if (address_make() && socket_open()) {
        if (!thread_make()) {
            failed("cannot make a thread for");
            close(server.fd);
            server.fd = -1;
        } else if (server.address.sun_path[0] != '\0') {
            atexit(on_exit_remove);
        }
    }
    hot->left_words = left;
    errno = saved;
}

void
alqi_preload_serve_fork_child(void)
{
    if (!alqi_preload_config.has_control)
        return;
    if (socket_is_ours()) /* the parent's: it goes on there */
        close(server.fd);
    server.fd = -1;
    atomic_store(&alqi_preload_serve_owed, true);
}

void
alqi_preload_serve_late(void)
{
    if (atomic_exchange(&alqi_preload_serve_owed, false))
        alqi_preload_serve();
}
