/* door.h -- a Unix socket at which a process is asked, one guest at a time
 *
 * A guest sends a line, gets a line, and goes.
 *
 * .inv.own      The door's descriptor is used only after its inode is seen to
 *               be the socket's: the program may close or replace any.
 * .inv.who      Nobody is heard but the process's own user and root: the kernel
 *               says who it is.
 * .inv.bounded  A guest has until its deadline, for all it says and hears.
 *
 * No malloc, no stdio. */
#ifndef ALQI_PLAT_DOOR_H
#define ALQI_PLAT_DOOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

struct alqi_plat_door {
    int fd;
    dev_t device;
    ino_t inode;
    pid_t pid; /* whose it is */
    socklen_t address_bytes;
    struct sockaddr_un address;
};

#define ALQI_PLAT_DOOR_SHUT                                                    \
    {                                                                          \
        .fd = -1                                                               \
    }

/* '@' begins an abstract name, '/' a path.  False: neither, or too long. */
bool alqi_plat_door_name(struct alqi_plat_door *door, const char *name);
/* Without the '@'. */
const char *alqi_plat_door_text(const struct alqi_plat_door *door);

/* Takes the name, and a path from a process that is gone.  False: errno. */
bool alqi_plat_door_open(struct alqi_plat_door *door);
bool alqi_plat_door_is_ours(const struct alqi_plat_door *door);
/* Its path goes, if this process made it: at the end of the process. */
void alqi_plat_door_unlink(const struct alqi_plat_door *door);
/* The same, and it is shut. */
void alqi_plat_door_remove(struct alqi_plat_door *door);
/* In a forked child: the parent's stays open there. */
void alqi_plat_door_leave(struct alqi_plat_door *door);
/* Ends a wait for guests.  Any thread. */
void alqi_plat_door_knock(const struct alqi_plat_door *door);

/* The next guest; -1: none within timeout_ms (below 0: however long), or the
 * door is no longer ours. */
int alqi_plat_door_wait(const struct alqi_plat_door *door, int timeout_ms);

/* .inv.who */
bool alqi_plat_guest_is_allowed(int guest);
/* A line of less than n bytes, without its end; false: too long, too late, or
 * gone. */
bool alqi_plat_guest_hear(int guest, char *line, size_t n,
                          uint64_t deadline_ns);
void alqi_plat_guest_tell(int guest, const char *line, uint64_t deadline_ns);

/* Whether the process has another thread than the calling one. */
bool alqi_plat_has_others(void);

#endif
