/* socket.c -- the control socket and its clients
 *
 *   CLOSED --open--> OPEN --close, leave--> CLOSED
 *
 * The thread that serves moves the state; any thread may wake it up.  A wake-up
 * is a connection that is closed at once: accept gives it out as a client that
 * says nothing.  Keeps .inv.own, .inv.peer and .inv.deadline of socket.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/socket.h"

enum { BACKLOG = 8 };

/* ---- the socket ---------------------------------------------------------- */

static bool
is_path(const struct alqi_plat_socket *s)
{
    return s->address.sun_path[0] != '\0';
}

bool
alqi_plat_socket_name(struct alqi_plat_socket *s, const char *name)
{
    struct sockaddr_un *a = &s->address;
    size_t n = strlen(name);

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if ((name[0] != '@' && name[0] != '/') || n >= sizeof a->sun_path)
        return false;
    memcpy(a->sun_path, name, n);
    s->address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
                                   (name[0] == '/'));
    if (name[0] == '@')
        a->sun_path[0] = '\0';
    return true;
}

const char *
alqi_plat_socket_text(const struct alqi_plat_socket *s)
{
    return is_path(s) ? s->address.sun_path : s->address.sun_path + 1;
}

static int
socket_make(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A socket's path outlives its process.  Removes the path if no process listens
 * there; false: one does, errno says so. */
static bool
stale_remove(const struct alqi_plat_socket *s)
{
    int fd = socket_make();
    struct stat st;
    bool ok = fd >= 0 && is_path(s) &&
              connect(fd, (const void *)&s->address, s->address_bytes) != 0 &&
              errno == ECONNREFUSED && lstat(s->address.sun_path, &st) == 0 &&
              S_ISSOCK(st.st_mode) && unlink(s->address.sun_path) == 0;

    if (fd >= 0)
        close(fd);
    errno = EADDRINUSE;
    return ok;
}

static bool
socket_bind(const struct alqi_plat_socket *s, int fd)
{
    const struct sockaddr *address = (const void *)&s->address;

    fchmod(fd, 0600); /* of the file that bind makes */
    if (bind(fd, address, s->address_bytes) == 0)
        return true;
    return errno == EADDRINUSE && stale_remove(s) &&
           bind(fd, address, s->address_bytes) == 0;
}

/* Out of the way of programs that expect 3, and of the 63 and 255 of shells:
 * the same file under a high number, closed on exec; fd itself where there is
 * none. The kernel's table of descriptors grows from 64 to 256 places for it.
 */
static int
fd_move_up(int fd)
{
    static const int floors[] = {230, 100, 20};

    for (size_t i = 0; i < ALQI_COUNT_OF(floors); i++) {
        int high = fcntl(fd, F_DUPFD_CLOEXEC, floors[i]);

        if (high >= 0) {
            close(fd);
            return high;
        }
    }
    return fd;
}

bool
alqi_plat_socket_open(struct alqi_plat_socket *s)
{
    int fd = socket_make(), error;
    struct stat st;

    if (fd < 0 || !socket_bind(s, fd) || listen(fd, BACKLOG) != 0 ||
        fstat(fd, &st) != 0) {
        error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
        return false;
    }
    s->device = st.st_dev;
    s->inode = st.st_ino;
    s->fd = fd_move_up(fd);
    s->pid = getpid();
    return true;
}

bool
alqi_plat_socket_is_ours(const struct alqi_plat_socket *s)
{
    struct stat st;

    return s->fd >= 0 && fstat(s->fd, &st) == 0 && st.st_dev == s->device &&
           st.st_ino == s->inode;
}

void
alqi_plat_socket_unlink(const struct alqi_plat_socket *s)
{
    if (s->fd >= 0 && s->pid == getpid() && is_path(s))
        unlink(s->address.sun_path);
}

void
alqi_plat_socket_close(struct alqi_plat_socket *s)
{
    alqi_plat_socket_unlink(s);
    alqi_plat_socket_leave(s);
}

void
alqi_plat_socket_leave(struct alqi_plat_socket *s)
{
    if (alqi_plat_socket_is_ours(s))
        close(s->fd);
    s->fd = -1;
}

void
alqi_plat_socket_wake(const struct alqi_plat_socket *s)
{
    int fd;

    if (s->fd < 0 || s->pid != getpid())
        return;
    fd = socket_make();
    if (fd < 0)
        return;
    (void)!connect(fd, (const void *)&s->address, s->address_bytes);
    close(fd);
}

int
alqi_plat_socket_accept(const struct alqi_plat_socket *s, int timeout_ms)
{
    struct pollfd p = {.fd = s->fd, .events = POLLIN};

    if (poll(&p, 1, timeout_ms) <= 0 || !alqi_plat_socket_is_ours(s))
        return -1;
    return accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* ---- a client ------------------------------------------------------------ */

bool
alqi_plat_client_is_allowed(int client)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
           (peer.uid == 0 || peer.uid == geteuid());
}

static bool
wait_for(int fd, short events, uint64_t deadline_ns)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    struct pollfd p = {.fd = fd, .events = events};

    return now_ns < deadline_ns &&
           poll(&p, 1, 1 + (int)((deadline_ns - now_ns) / 1000000)) == 1;
}

bool
alqi_plat_client_read_line(int client, char *line, size_t n_line,
                           uint64_t deadline_ns)
{
    size_t n = 0;

    while (n < n_line - 1 && wait_for(client, POLLIN, deadline_ns)) {
        ssize_t got = recv(client, line + n, n_line - 1 - n, MSG_DONTWAIT);
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

void
alqi_plat_client_write(int client, const char *text, uint64_t deadline_ns)
{
    size_t n = strlen(text);

    while (n > 0 && wait_for(client, POLLOUT, deadline_ns)) {
        ssize_t put = send(client, text, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put <= 0)
            return;
        text += put;
        n -= (size_t)put;
    }
}

/* ---- other threads ------------------------------------------------------- */

struct task_entry { /* linux_dirent64 */
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

/* The state stands behind the name, which may have any letters. */
static bool
task_is_alive(int tasks, const char *tid)
{
    char path[32] = "", text[128];
    const char *end;
    ssize_t n;
    int fd;

    if (strlen(tid) + sizeof "/stat" > sizeof path)
        return false;
    strcpy(path, tid);
    strcat(path, "/stat");
    fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    end = strrchr(text, ')');
    return end != NULL && end[1] != '\0' && end[2] != 'Z' && end[2] != 'X';
}

bool
alqi_plat_has_other_threads(void)
{
    _Alignas(8) char room[2048];
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned long self = (unsigned long)alqi_plat_tid_sigsafe();
    bool is_found = fd < 0;
    long n;

    while (!is_found &&
           (n = syscall(SYS_getdents64, fd, room, sizeof room)) > 0)
        for (long at = 0; at < n && !is_found;) {
            const struct task_entry *e = (const void *)(room + at);

            is_found = e->name[0] != '.' &&
                       strtoul(e->name, NULL, 10) != self &&
                       task_is_alive(fd, e->name);
            at += e->bytes;
        }
    if (fd >= 0)
        close(fd);
    return is_found;
}
