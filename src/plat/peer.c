/* peer.c -- see peer.h
 *
 * SO_PEERCRED knows Unix sockets alone.  The kernel's socket diagnosis tells of
 * one TCP socket by its addresses, so the answer takes as long with a thousand
 * connections as with one; /proc/net/tcp would be read whole each time. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "plat/peer.h"

enum { ANSWER_BYTES = 1024 };

struct question {
    struct nlmsghdr header;
    struct inet_diag_req_v2 socket;
};

union answer {
    struct nlmsghdr header;
    char bytes[ANSWER_BYTES];
};

static bool
ask(int fd, const struct sockaddr_in *client, const struct sockaddr_in *server)
{
    struct question q = {
        .header = {.nlmsg_len = sizeof q,
                   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                   .nlmsg_flags = NLM_F_REQUEST},
        .socket = {.sdiag_family = AF_INET,
                   .sdiag_protocol = IPPROTO_TCP,
                   .idiag_states = ~0U,
                   .id = {.idiag_sport = client->sin_port,
                          .idiag_dport = server->sin_port,
                          .idiag_src = {client->sin_addr.s_addr},
                          .idiag_dst = {server->sin_addr.s_addr},
                          .idiag_cookie = {INET_DIAG_NOCOOKIE,
                                           INET_DIAG_NOCOOKIE}}},
    };

    return send(fd, &q, sizeof q, 0) == (ssize_t)sizeof q;
}

/* An error says that there is no such socket; a socket without an inode has no
 * process, and its user is not told. */
static enum alqi_plat_peer
answer_read(const union answer *a, size_t n, uid_t *uid)
{
    const struct inet_diag_msg *m = NLMSG_DATA(&a->header);
    const struct nlmsgerr *error = NLMSG_DATA(&a->header);

    if (n >= NLMSG_LENGTH(sizeof *error) && a->header.nlmsg_type == NLMSG_ERROR)
        return error->error == -ENOENT ? ALQI_PLAT_PEER_GONE
                                       : ALQI_PLAT_PEER_UNTOLD;
    if (n < NLMSG_LENGTH(sizeof *m) ||
        a->header.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return ALQI_PLAT_PEER_UNTOLD;
    *uid = m->idiag_uid;
    return m->idiag_inode != 0 ? ALQI_PLAT_PEER_KNOWN : ALQI_PLAT_PEER_GONE;
}

enum alqi_plat_peer
alqi_plat_peer_uid(const struct sockaddr_in *client,
                   const struct sockaddr_in *server, uid_t *uid)
{
    const struct timeval second = {.tv_sec = 1};
    enum alqi_plat_peer peer = ALQI_PLAT_PEER_UNTOLD;
    union answer a;
    ssize_t n;
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

    if (fd < 0)
        return peer;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    if (ask(fd, client, server)) {
        n = recv(fd, &a, sizeof a, 0);
        if (n > 0)
            peer = answer_read(&a, (size_t)n, uid);
    }
    close(fd);
    return peer;
}
