/* door.c -- see door.h */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plat/door.h"
#include "plat/plat.h"

enum { BACKLOG = 8 };

/* ---- the door ------------------------------------------------------------ */

static bool
is_path(const struct alqi_plat_door *d)
{
    return d->address.sun_path[0] != '\0';
}

bool
alqi_plat_door_name(struct alqi_plat_door *d, const char *name)
{
    struct sockaddr_un *a = &d->address;
    size_t n = strlen(name);

    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if ((name[0] != '@' && name[0] != '/') || n >= sizeof a->sun_path)
        return false;
    memcpy(a->sun_path, name, n);
    d->address_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n +
                                   (name[0] == '/'));
    if (name[0] == '@')
        a->sun_path[0] = '\0';
    return true;
}

const char *
alqi_plat_door_text(const struct alqi_plat_door *d)
{
    return is_path(d) ? d->address.sun_path : d->address.sun_path + 1;
}

static int
socket_make(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* A socket's file outlives its process.  True when nobody listened there. */
static bool
stale_remove(const struct alqi_plat_door *d)
{
    int fd = socket_make();
    struct stat st;
    bool ok = fd >= 0 && is_path(d) &&
              connect(fd, (const void *)&d->address, d->address_bytes) != 0 &&
              errno == ECONNREFUSED && lstat(d->address.sun_path, &st) == 0 &&
              S_ISSOCK(st.st_mode) && unlink(d->address.sun_path) == 0;

    if (fd >= 0)
        close(fd);
    errno = EADDRINUSE;
    return ok;
}

static bool
socket_bind(const struct alqi_plat_door *d, int fd)
{
    const struct sockaddr *address = (const void *)&d->address;

    fchmod(fd, 0600); /* of the file that bind makes */
    if (bind(fd, address, d->address_bytes) == 0)
        return true;
    return errno == EADDRINUSE && stale_remove(d) &&
           bind(fd, address, d->address_bytes) == 0;
}

bool
alqi_plat_door_open(struct alqi_plat_door *d)
{
    int fd = socket_make(), error;
    struct stat st;

    if (fd < 0 || !socket_bind(d, fd) || listen(fd, BACKLOG) != 0 ||
        fstat(fd, &st) != 0) {
        error = errno;
        if (fd >= 0)
            close(fd);
        errno = error;
        return false;
    }
    d->device = st.st_dev;
    d->inode = st.st_ino;
    d->fd = fd;
    d->pid = getpid();
    return true;
}

bool
alqi_plat_door_is_ours(const struct alqi_plat_door *d)
{
    struct stat st;

    return d->fd >= 0 && fstat(d->fd, &st) == 0 && st.st_dev == d->device &&
           st.st_ino == d->inode;
}

void
alqi_plat_door_unlink(const struct alqi_plat_door *d)
{
    if (d->fd >= 0 && d->pid == getpid() && is_path(d))
        unlink(d->address.sun_path);
}

void
alqi_plat_door_remove(struct alqi_plat_door *d)
{
    alqi_plat_door_unlink(d);
    alqi_plat_door_leave(d);
}

void
alqi_plat_door_leave(struct alqi_plat_door *d)
{
    if (alqi_plat_door_is_ours(d))
        close(d->fd);
    d->fd = -1;
}

void
alqi_plat_door_knock(const struct alqi_plat_door *d)
{
    int fd;

    if (d->fd < 0 || d->pid != getpid())
        return;
    fd = socket_make();
    if (fd < 0)
        return;
    (void)!connect(fd, (const void *)&d->address, d->address_bytes);
    close(fd);
}

int
alqi_plat_door_wait(const struct alqi_plat_door *d, int timeout_ms)
{
    struct pollfd p = {.fd = d->fd, .events = POLLIN};

    if (poll(&p, 1, timeout_ms) <= 0 || !alqi_plat_door_is_ours(d))
        return -1;
    return accept4(d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* ---- a guest ------------------------------------------------------------- */

bool
alqi_plat_guest_is_allowed(int guest)
{
    struct ucred peer;
    socklen_t n = sizeof peer;

    return getsockopt(guest, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
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
alqi_plat_guest_hear(int guest, char *line, size_t n_line, uint64_t deadline_ns)
{
    size_t n = 0;

    while (n < n_line - 1 && wait_for(guest, POLLIN, deadline_ns)) {
        ssize_t got = recv(guest, line + n, n_line - 1 - n, MSG_DONTWAIT);
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
alqi_plat_guest_tell(int guest, const char *line, uint64_t deadline_ns)
{
    size_t n = strlen(line);

    while (n > 0 && wait_for(guest, POLLOUT, deadline_ns)) {
        ssize_t put = send(guest, line, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        if (put <= 0)
            return;
        line += put;
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
alqi_plat_has_others(void)
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
                       task_is_alive(fd, e->name);
            at += e->bytes;
        }
    if (fd >= 0)
        close(fd);
    return is_found;
}
