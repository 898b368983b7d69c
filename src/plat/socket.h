/* socket.h -- the control socket of a process, and a client that has connected
 *
 * A Unix stream socket.  A client sends one line, is sent one line, and goes.
 *
 * .inv.own      A control socket's descriptor is used only after its inode is
 *               seen to be the socket's: the program may close or replace any
 *               descriptor.
 * .inv.peer     Only the process's own user and root are served: the kernel
 *               says whose process the client is.
 * .inv.deadline A client is read from and written to until a deadline of the
 *               caller's, never longer.
 *
 * No malloc, no stdio. */
#ifndef ALQI_PLAT_SOCKET_H
#define ALQI_PLAT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct alqi_plat_socket {
    int fd;       /* that listens; -1: closed */
    dev_t device; /* of fd, while it is open: .inv.own */
    ino_t inode;  /* likewise */
    pid_t pid;    /* of the process that opened it */
    socklen_t address_bytes;
    struct sockaddr_un address; /* of the last alqi_plat_socket_name */
};

#define ALQI_PLAT_SOCKET_CLOSED                                                \
    {                                                                          \
        .fd = -1                                                               \
    }

/* Sets the address: '@' begins an abstract name, '/' a path.  False: the name
 * begins otherwise, or is longer than 107 bytes. */
bool alqi_plat_socket_name(struct alqi_plat_socket *s, const char *name);
/* The name, without the '@'. */
const char *alqi_plat_socket_text(const struct alqi_plat_socket *s);

/* Listens at the address, and takes a path over from a process that has ended.
 * The descriptor is a high number, out of the program's way.  False: errno. */
bool alqi_plat_socket_open(struct alqi_plat_socket *s);
/* Whether the descriptor is still the socket: .inv.own. */
bool alqi_plat_socket_is_ours(const struct alqi_plat_socket *s);
/* Removes the path, if this process made it.  For the end of the process: the
 * socket stays open. */
void alqi_plat_socket_unlink(const struct alqi_plat_socket *s);
/* Removes the path likewise and closes the socket. */
void alqi_plat_socket_close(struct alqi_plat_socket *s);
/* Closes the descriptor in a forked child; the parent's socket stays open. */
void alqi_plat_socket_leave(struct alqi_plat_socket *s);

/* The next client; -1: none within timeout_ms (negative: no limit), a wake-up,
 * or the descriptor is no longer the socket. */
int alqi_plat_socket_accept(const struct alqi_plat_socket *s, int timeout_ms);
/* Ends a call of accept that waits.  Any thread. */
void alqi_plat_socket_wake(const struct alqi_plat_socket *s);

/* .inv.peer */
bool alqi_plat_client_is_allowed(int client);
/* Reads a line of less than n bytes and drops its end.  False: the line is too
 * long or incomplete at the deadline, or the client has gone. */
bool alqi_plat_client_read_line(int client, char *line, size_t n,
                                uint64_t deadline_ns);
/* Writes what the client takes until the deadline. */
void alqi_plat_client_write(int client, const char *text, uint64_t deadline_ns);

/* Whether the process has a thread that runs besides the calling one.  True
 * where the system does not tell. */
bool alqi_plat_has_other_threads(void);

#endif
