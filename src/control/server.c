/* server.c -- one thread, one client at a time       [doc/design/control.md]
 *
 *   CLOSED --open--> OPEN --close--> CLOSING --the thread has ended--> CLOSED
 *                     | fork, in the child
 *                     v
 *                    OWED --open--> OPEN, or CLOSED where that fails
 *
 * .inv.state    `state` changes under `lock`, which is held while the socket is
 *               opened and the thread made, never while the thread is waited
 *               for.  Its holder has all signals blocked.  Only CLOSING becomes
 *               CLOSED without it: the closing thread stores that when it is
 *               done with the socket, and a reader's load acquires it.
 * .inv.bounded  A client has CLIENT_MS to send its line and, once the request
 *               is carried out, CLIENT_MS to take its reply.
 * .inv.silent   The server's thread has all signals blocked and is no reason
 *               for the process to live: as the last thread it ends the
 *               process, as the process would have ended without it. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "control/server.h"
#include "plat/process.h"

enum { CLIENT_MS = 2000, STACK_BYTES = 256 * 1024 };

/* ---- one client ---------------------------------------------------------- */

static uint64_t
client_deadline_ns(void)
{
    return alqi_plat_mono_ns_sigsafe() + (uint64_t)CLIENT_MS * 1000000;
}

/* Reads the request and carries it out.  False: the client has sent none, or
 * has been served. */
static bool
request_serve(const struct alqi_control_server *s, int client, char *reply)
{
    char line[ALQI_REQUEST_BYTES], text[ALQI_CONTROL_TEXT_BYTES];
    struct alqi_request request;
    const char *wrong = "only the process's own user and root may control it";
    bool is_done = false;

    if (alqi_plat_client_is_allowed(client)) {
        if (!alqi_plat_client_read_line(client, line, sizeof line,
                                        client_deadline_ns()))
            return false;
        wrong = alqi_request_read(line, &request);
        if (wrong == NULL && request.command == ALQI_REQUEST_COPY &&
            s->hooks->copy != NULL) {
            if (s->hooks->copy(client, text))
                return false;
        } else if (wrong == NULL) {
            is_done = s->hooks->execute(&request, text);
        }
    }
    alqi_request_answer(reply, is_done, wrong != NULL ? wrong : text);
    return true;
}

static void
client_serve(const struct alqi_control_server *s, int client)
{
    char reply[ALQI_REQUEST_ANSWER_BYTES];

    if (request_serve(s, client, reply))
        alqi_plat_client_write(client, reply, client_deadline_ns());
    close(client);
}

/* ---- the thread ---------------------------------------------------------- */

/* The program may have closed the socket: then there is another. */
static bool
socket_keep(struct alqi_control_server *s)
{
    if (alqi_plat_socket_is_ours(&s->socket) ||
        alqi_plat_socket_open(&s->socket))
        return true;
    if (s->hooks->lost != NULL)
        s->hooks->lost();
    return false;
}

/* The server's thread, until the socket is closed or lost. */
static void *
thread_run(void *arg)
{
    struct alqi_control_server *s = arg;

    if (s->hooks->thread_begin != NULL)
        s->hooks->thread_begin();
    alqi_plat_thread_name("aliquot");
    for (;;) {
        int look_ms = s->hooks->look_ms(), client;

        if (look_ms >= 0 && !alqi_plat_has_other_threads())
            exit(0); /* .inv.silent */
        if (atomic_load(&s->is_closing) || !socket_keep(s))
            return NULL;
        client = alqi_plat_socket_accept(&s->socket, look_ms);
        if (client >= 0)
            client_serve(s, client);
    }
}

/* 0, or errno. */
static int
thread_make(struct alqi_control_server *s)
{
    pthread_attr_t attr;
    int error;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = s->hooks->thread_create(&s->thread, &attr, thread_run, s);
    if (error == EINVAL) /* much thread-local data: the usual size, then */
        error = s->hooks->thread_create(&s->thread, NULL, thread_run, s);
    pthread_attr_destroy(&attr);
    return error;
}

/* ---- opening and closing --------------------------------------------------
 */

/* Takes the lock with all signals blocked (.inv.state); returns the mask for
 * state_unlock. */
static sigset_t
state_lock(struct alqi_control_server *s)
{
    sigset_t all, mask;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    alqi_plat_lock(&s->lock);
    return mask;
}

static void
state_unlock(struct alqi_control_server *s, const sigset_t *mask)
{
    alqi_plat_unlock(&s->lock);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
}

/* Opens the socket and makes the thread.  Otherwise the server is CLOSED, and
 * errno says why but for ALQ_EINVAL. */
static enum alq_status
open_locked(struct alqi_control_server *s)
{
    char name[ALQI_CONTROL_NAME_BYTES];
    int error;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(alqi_plat_lock_rank(&s->lock)));
    atomic_store(&s->state, ALQI_CONTROL_CLOSED);
    if (!s->hooks->name(s->pattern, name) ||
        !alqi_plat_socket_name(&s->socket, name))
        return ALQ_EINVAL;
    if (!alqi_plat_socket_open(&s->socket))
        return errno == EADDRINUSE ? ALQ_EBUSY : ALQ_EIO;
    atomic_store(&s->is_closing, false);
    error = thread_make(s);
    if (error != 0) {
        alqi_plat_socket_close(&s->socket);
        errno = error;
        return ALQ_EIO;
    }
    atomic_store(&s->state, ALQI_CONTROL_OPEN);
    return ALQ_OK;
}

enum alq_status
alqi_control_open(struct alqi_control_server *s, const char *pattern)
{
    enum alq_status status = ALQ_EBUSY;
    sigset_t mask = state_lock(s);
    enum alqi_control_state state = alqi_control_state(s);

    errno = EALREADY;
    if (state == ALQI_CONTROL_OWED ||
        (pattern != NULL && state == ALQI_CONTROL_CLOSED)) {
        if (pattern != NULL)
            strcpy(s->pattern, pattern);
        status = open_locked(s);
    }
    state_unlock(s, &mask);
    return status;
}

bool
alqi_control_close(struct alqi_control_server *s)
{
    sigset_t mask = state_lock(s);
    enum alqi_control_state was = alqi_control_state(s);

    if (was == ALQI_CONTROL_OWED)
        atomic_store(&s->state, ALQI_CONTROL_CLOSED);
    if (was == ALQI_CONTROL_OPEN)
        atomic_store(&s->state, ALQI_CONTROL_CLOSING);
    state_unlock(s, &mask);
    if (was != ALQI_CONTROL_OPEN)
        return was == ALQI_CONTROL_OWED;
    atomic_store(&s->is_closing, true);
    alqi_plat_socket_wake(&s->socket);
    pthread_join(s->thread, NULL);
    alqi_plat_socket_close(&s->socket);
    atomic_store(&s->state, ALQI_CONTROL_CLOSED);
    return true;
}

void
alqi_control_exit(const struct alqi_control_server *s)
{
    if (alqi_control_state(s) == ALQI_CONTROL_OPEN)
        alqi_plat_socket_unlink(&s->socket);
}

/* ---- fork ---------------------------------------------------------------- */

void
alqi_control_fork_child(struct alqi_control_server *s, bool is_wanted)
{
    alqi_plat_socket_leave(&s->socket);
    atomic_store(&s->state,
                 is_wanted ? ALQI_CONTROL_OWED : ALQI_CONTROL_CLOSED);
    alqi_plat_lock_break(&s->lock);
}
