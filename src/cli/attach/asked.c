/* asked.c -- the command's half of src/preload/copy_asked.c
 *
 * The process connects to a name that both know; whose the connection is, the
 * system says. */
#include "cli/attach/asked.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/tool/proc.h"
#include "plat/socket.h"

/* Others may connect, too. */
static int
connection_await(const struct alqi_plat_socket *s, pid_t pid, int wait_ms)
{
    uint64_t until_us = alqi_cli_mono_us() + (uint64_t)wait_ms * 1000, now_us;

    while ((now_us = alqi_cli_mono_us()) < until_us) {
        int fd =
            alqi_plat_socket_accept(s, (int)((until_us - now_us) / 1000) + 1);
        struct ucred peer;
        socklen_t n = sizeof peer;

        if (fd >= 0 &&
            getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 &&
            peer.pid == pid && fcntl(fd, F_SETFL, 0) == 0)
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

int
alqi_cli_asked_connect(struct alqi_raw_header *header, pid_t pid, int wait_ms)
{
    struct alqi_plat_socket socket = ALQI_PLAT_SOCKET_CLOSED;
    char name[sizeof socket.address.sun_path];
    int fd;

    snprintf(name, sizeof name, ALQI_RAW_COPY_SOCKET, header->pid,
             (unsigned long long)header->start_mono_ns);
    if (!alqi_plat_socket_name(&socket, name) ||
        !alqi_plat_socket_open(&socket))
        return -1;
    atomic_store(&header->copy_asked, 1);
    fd = connection_await(&socket, pid, wait_ms);
    atomic_store(&header->copy_asked, 0);
    alqi_plat_socket_close(&socket);
    return fd;
}

int
alqi_cli_asked_connect_path(const char *recording, pid_t pid, int wait_ms)
{
    int fd = open(recording, O_RDWR | O_CLOEXEC), connection = -1;
    struct alqi_raw_header *h = MAP_FAILED;

    if (fd < 0)
        return -1;
    if (lseek(fd, 0, SEEK_END) >= (off_t)sizeof *h)
        h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (h == MAP_FAILED)
        return -1;
    connection = alqi_cli_asked_connect(h, pid, wait_ms);
    munmap(h, sizeof *h);
    return connection;
}
