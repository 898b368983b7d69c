/* serve.c -- the control socket and the one thread that serves it
 *                                        [plat/door.h, wire/request.h]
 *
 * .inv.bounded  One client at a time, CLIENT_MS in all: who says nothing delays
 *               the next one by that much.
 * .inv.silent   The thread has all signals blocked, is never sampled, and is
 *               no reason for the process to live: when it is the last thread,
 *               the process exits, as it would have without it.
 *
 * A forked child makes its own at its first allocation, so that a child that
 * executes another program at once costs nothing. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plat/door.h"
#include "preload/control.h"
#include "plat/process.h"
#include "preload/file.h"
#include "preload/preload.h"
#include "wire/request.h"

#define NAME_DEFAULT "@aliquot.%p"

enum { CLIENT_MS = 2000, LONELY_MS = 1000, STACK_BYTES = 256 * 1024 };

_Atomic(bool) alqi_preload_serve_owed;

static struct alqi_plat_door door = ALQI_PLAT_DOOR_SHUT;
static pthread_t server;
static _Atomic(bool) has_server; /* that nobody has joined */
static _Atomic(bool) is_stopping;

/* ---- the socket ---------------------------------------------------------- */

static void
failed(const char *what)
{
    char text[300];

    snprintf(text, sizeof text, "no control: %s %s: %s", what,
             alqi_plat_door_text(&door), strerrordesc_np(errno));
    alqi_preload_say(text);
}

/* %p and %e as in file names. */
static bool
door_name(void)
{
    const char *pattern = alqi_preload_config.control[0] != '\0'
                              ? alqi_preload_config.control
                              : NAME_DEFAULT;
    char name[sizeof door.address.sun_path];

    if (alqi_preload_file_name(name, sizeof name, pattern) &&
        alqi_plat_door_name(&door, name))
        return true;
    alqi_preload_say("no control: its name begins with '/' or '@', and is "
                     "at most 107 bytes long");
    return false;
}

static bool
door_open(void)
{
    if (!alqi_plat_door_open(&door)) {
        failed("cannot listen at");
        return false;
    }
    door.fd = alqi_preload_fd_move_up(door.fd);
    return true;
}

/* ---- one client ---------------------------------------------------------- */

static bool
obey(const struct alqi_request *r, char *said)
{
    switch (r->command) {
    case ALQI_REQUEST_START:
        return alqi_preload_control_start(
            r->rate, r->out[0] != '\0' ? r->out : NULL, said);
    case ALQI_REQUEST_STOP:
        return alqi_preload_control_stop(said);
    case ALQI_REQUEST_RATE:
        return alqi_preload_control_rate(r->rate, said);
    default:
        return alqi_preload_control_status(said);
    }
}

static void
client_serve(int client)
{
    uint64_t deadline_ns =
        alqi_plat_mono_ns_sigsafe() + (uint64_t)CLIENT_MS * 1000000;
    char line[ALQI_REQUEST_BYTES], said[ALQI_PRELOAD_SAID_BYTES];
    char answer[ALQI_REQUEST_ANSWER_BYTES];
    struct alqi_request request;
    const char *wrong;
    bool is_so = false;

    if (!alqi_plat_guest_is_allowed(client)) {
        strcpy(said, "only the process's own user and root may control it");
    } else if (alqi_plat_guest_hear(client, line, sizeof line, deadline_ns)) {
        wrong = alqi_request_read(line, &request);
        if (wrong == NULL)
            is_so = obey(&request, said);
        else
            strcpy(said, wrong);
    } else {
        return;
    }
    alqi_request_answer(answer, is_so, said);
    alqi_plat_guest_tell(client, answer, deadline_ns);
}

void
alqi_preload_serve_wake(void)
{
    alqi_plat_door_knock(&door);
}

/* ---- the thread ---------------------------------------------------------- */

static void
serve_next(int timeout_ms)
{
    int client = alqi_plat_door_wait(&door, timeout_ms);

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
    alqi_plat_thread_name("aliquot");
    for (;;) {
        bool is_lonely = !alqi_preload_threads_any();

        if (is_lonely && !alqi_plat_has_others())
            exit(0);
        if (atomic_load(&is_stopping))
            return NULL;
        if (!alqi_plat_door_is_ours(&door) && !door_open())
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
    if (create == NULL)
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    return create != NULL ? create(&server, attr, serve, NULL) : ENOSYS;
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
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = thread_create(&attr);
    if (error == EINVAL) { /* large thread-local data: the usual size, then */
        pthread_attr_destroy(&attr);
        pthread_attr_init(&attr);
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
    alqi_plat_door_unlink(&door);
}

void
alqi_preload_serve(void)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    int64_t left = hot->left_words;
    int saved = errno;

    /* What libc allocates for a thread is no trial. */
    hot->left_words = ALQI_PARKED;
    if (door_name() && door_open()) {
        atomic_store(&has_server, thread_make());
        if (!atomic_load(&has_server)) {
            failed("cannot make a thread for");
            alqi_plat_door_remove(&door);
        } else if (door.address.sun_path[0] != '\0') {
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
    atomic_store(&has_server, false);
    alqi_plat_door_leave(&door); /* the parent's: it goes on there */
    atomic_store(&alqi_preload_serve_owed, true);
}

void
alqi_preload_serve_late(void)
{
    if (atomic_exchange(&alqi_preload_serve_owed, false) &&
        !atomic_load(&is_stopping))
        alqi_preload_serve();
}

void
alqi_preload_serve_stop(void)
{
    atomic_store(&is_stopping, true);
    if (!atomic_exchange(&has_server, false))
        return;
    alqi_plat_door_knock(&door);
    pthread_join(server, NULL);
    alqi_plat_door_remove(&door);
}
