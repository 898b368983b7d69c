/* peer.h -- whose the other end of a TCP connection within this machine is */
#ifndef ALQI_PLAT_PEER_H
#define ALQI_PLAT_PEER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/types.h>

enum alqi_plat_peer {
    ALQI_PLAT_PEER_KNOWN,
    ALQI_PLAT_PEER_GONE,   /* no process has that end any more */
    ALQI_PLAT_PEER_UNTOLD, /* the system does not tell          */
};

/* *uid becomes the user of the socket at `client` that is connected with
 * `server`, both of this network namespace.  Threads: any. */
enum alqi_plat_peer alqi_plat_peer_uid(const struct sockaddr_in *client,
                                       const struct sockaddr_in *server,
                                       uid_t *uid);

#endif
