/* server.h -- the thread that serves a process's control socket
 *                                                   [doc/design/control.md]
 *
 * One server serves one name: the preload's for malloc, the library's for the
 * managed heap.  The owner says in hooks what a request does; the server reads
 * requests, writes replies, and follows forks.  libc only. */
#ifndef ALQI_CONTROL_SERVER_H
#define ALQI_CONTROL_SERVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <aliquot/status.h>

#include "plat/plat.h"
#include "plat/socket.h"
#include "wire/request.h"

enum {
    ALQI_CONTROL_TEXT_BYTES = 8192,
    ALQI_CONTROL_NAME_BYTES = sizeof((struct sockaddr_un *)NULL)->sun_path
};

struct alqi_control_hooks {
    /* Carries a request out.  True: text is the state, "state=... ...", as in
     * wire/request.h; false: text says why not. */
    bool (*execute)(const struct alqi_request *request,
                    char text[ALQI_CONTROL_TEXT_BYTES]);
    /* Serves the client with a copy of the process (wire/copy.h); false: text
     * says why not.  NULL: it is carried out as the others. */
    bool (*copy)(int client, char text[ALQI_CONTROL_TEXT_BYTES]);
    /* The socket's name by the pattern of alqi_control_open; false: the name
     * is too long. */
    bool (*name)(const char *pattern, char name[ALQI_CONTROL_NAME_BYTES]);
    /* How long the server's thread waits before it looks whether it is the
     * last thread; negative: another thread is known to run. */
    int (*look_ms)(void);
    /* pthread_create, or what stands for it. */
    int (*thread_create)(pthread_t *thread, const pthread_attr_t *attr,
                         void *(*run)(void *), void *arg);
    /* The server's thread begins; may be NULL. */
    void (*thread_begin)(void);
    /* The program has closed the socket, and another cannot be opened: errno;
     * the thread ends.  May be NULL. */
    void (*lost)(void);
};

enum alqi_control_state {
    ALQI_CONTROL_CLOSED,
    ALQI_CONTROL_OPEN,    /* the thread serves                              */
    ALQI_CONTROL_CLOSING, /* alqi_control_close waits for the thread to end */
    ALQI_CONTROL_OWED     /* in a forked child: to be opened when it first
                             allocates                                      */
};

struct alqi_control_server {
    const struct alqi_control_hooks *hooks;
    struct alqi_plat_lock lock;             /* of `state`                   */
    _Atomic(enum alqi_control_state) state; /* .inv.state of server.c       */
    _Atomic(bool) is_closing;               /* the thread is to end         */
    struct alqi_plat_socket socket;         /* the thread's, while OPEN     */
    pthread_t thread;                       /* while OPEN and CLOSING       */
    char pattern[ALQI_CONTROL_NAME_BYTES];  /* of the last open; under lock */
};

#define ALQI_CONTROL_SERVER(its_hooks, rank)                                   \
    {                                                                          \
        .hooks = (its_hooks), .lock = ALQI_PLAT_LOCK(rank),                    \
        .socket = ALQI_PLAT_SOCKET_CLOSED                                      \
    }

/* Listens at the name that hooks make of the pattern, which is shorter than
 * ALQI_CONTROL_NAME_BYTES, and makes the thread.  A failure leaves the server
 * CLOSED.  NULL: by the last pattern, if the server is OWED still.  No signal
 * handler runs on the calling thread meanwhile.
 *
 * Errors   ALQ_EINVAL  the name begins with neither '@' nor '/', or is too long
 *          ALQ_EBUSY   errno EALREADY: the server is OPEN or CLOSING, or, by
 *                      NULL, not OWED; EADDRINUSE: another process has the name
 *          ALQ_EIO     errno: the socket or the thread cannot be made */
enum alq_status alqi_control_open(struct alqi_control_server *s,
                                  const char *pattern);

/* Ends the thread, waits for it, and closes the socket; an OWED server is
 * CLOSED at once.  False: the server was neither. */
bool alqi_control_close(struct alqi_control_server *s);

/* Removes the socket's path: the process ends. */
void alqi_control_exit(const struct alqi_control_server *s);

/* In a forked child, whose parent need not have held `lock` across the fork.
 * Leaves the parent its socket.  `is_wanted`: the server is OWED then, else
 * CLOSED. */
void alqi_control_fork_child(struct alqi_control_server *s, bool is_wanted);

static inline enum alqi_control_state
alqi_control_state(const struct alqi_control_server *s)
{
    /* Pairs with alqi_control_close, which is done with the socket when it
     * stores CLOSED, without the lock. */
    return atomic_load_explicit(&s->state, memory_order_acquire);
}

#endif
