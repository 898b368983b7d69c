/* serve.c -- <aliquot/control.h>: the socket and the thread that serves
 *                                        [plat/door.h, wire/request.h]
 *
 *   CLOSED --start--> SERVED --stop--> CLOSING --thread's end--> CLOSED
 *                       | fork, in the child
 *                       v
 *                      OWED --a domain's next allocation--> SERVED, or CLOSED
 *
 * .inv.bounded  One client at a time, CLIENT_MS in all, and what a job takes.
 * .inv.silent   The thread has all signals blocked, runs no domain, and is no
 *               reason for the process to live: when it finds itself alone, the
 *               process exits, as it would have without it.
 * .inv.state    `lock` is of the state; it is held while the door is opened and
 *               the thread made, never while anybody waits for the thread. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "glue/control/control.h"
#include "glue/join/preload.h"
#include "glue/tracing/trace.h"
#include "heap/stop_handshake.h"
#include "heap/domain_thread.h"
#include "plat/door.h"
#include "plat/plat.h"
#include "plat/process.h"

#define NAME_DEFAULT "@aliquot.heap.%p"

enum { CLIENT_MS = 2000, ALONE_MS = 5000, STACK_BYTES = 256 * 1024 };

enum state { CLOSED, SERVED, CLOSING, OWED };

static struct {
    struct alqi_plat_lock lock;
    _Atomic(enum state) state;
    _Atomic(bool) is_over;
    struct alqi_plat_door door;
    pthread_t thread;
    char pattern[sizeof((struct sockaddr_un *)NULL)->sun_path];
    bool watches_forks;
} serve = {.door = ALQI_PLAT_DOOR_SHUT};

/* ---- one client ---------------------------------------------------------- */

static bool
obey(int client, uint64_t deadline_ns, char *said, bool *is_heard)
{
    char line[ALQI_REQUEST_BYTES];
    struct alqi_request request;
    const char *wrong;

    *is_heard = true;
    if (!alqi_plat_guest_is_allowed(client)) {
        strcpy(said, "only the process's own user and root may control it");
        return false;
    }
    *is_heard = alqi_plat_guest_hear(client, line, sizeof line, deadline_ns);
    if (!*is_heard)
        return false;
    wrong = alqi_request_read(line, &request);
    if (wrong == NULL)
        return alqi_glue_control_obey(&request, said);
    strcpy(said, wrong);
    return false;
}

static void
client_serve(int client)
{
    uint64_t deadline_ns =
        alqi_plat_mono_ns_sigsafe() + (uint64_t)CLIENT_MS * 1000000;
    char answer[ALQI_REQUEST_ANSWER_BYTES], said[ALQI_GLUE_SAID_BYTES];
    bool is_heard, is_so = obey(client, deadline_ns, said, &is_heard);

    if (!is_heard)
        return;
    alqi_request_answer(answer, is_so, said);
    deadline_ns = alqi_plat_mono_ns_sigsafe() + (uint64_t)CLIENT_MS * 1000000;
    alqi_plat_guest_tell(client, answer, deadline_ns);
}

/* ---- the thread ---------------------------------------------------------- */

static void *
thread_run(void *arg)
{
    (void)arg;
    alqi_plat_thread_name("aliquot");
    while (!atomic_load(&serve.is_over)) {
        int client = alqi_plat_door_wait(&serve.door, ALONE_MS);

        if (client >= 0) {
            client_serve(client);
            close(client);
        } else if (!alqi_plat_has_others()) {
            exit(0);
        } else if (!alqi_plat_door_is_ours(&serve.door)) {
            break; /* the program has closed it */
        }
    }
    return NULL;
}

/* 0, or errno. */
static int
thread_make(void)
{
    pthread_attr_t attr;
    sigset_t all, mask;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    error = pthread_create(&serve.thread, &attr, thread_run, NULL);
    if (error == EINVAL) /* large thread-local data: the usual size, then */
        error = pthread_create(&serve.thread, NULL, thread_run, NULL);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return error;
}

/* ---- starting and stopping ------------------------------------------------
 */

static enum alq_status
open_locked(void)
{
    char name[sizeof serve.pattern];
    int error;

    if (!alqi_glue_trace_name(serve.pattern, NULL, name, sizeof name) ||
        !alqi_plat_door_name(&serve.door, name))
        return ALQ_EINVAL;
    if (!alqi_plat_door_open(&serve.door))
        return errno == EADDRINUSE ? ALQ_EBUSY : ALQ_EIO;
    atomic_store(&serve.is_over, false);
    error = thread_make();
    if (error != 0) {
        alqi_plat_door_remove(&serve.door);
        errno = error;
        return ALQ_EIO;
    }
    atomic_store(&serve.state, SERVED);
    return ALQ_OK;
}

static void
before_fork(void)
{
    alqi_plat_lock(&serve.lock);
    alqi_glue_control_before_fork();
}

static void
after_fork_parent(void)
{
    alqi_glue_control_after_fork(false);
    alqi_plat_unlock(&serve.lock);
}

/* A child that executes another program at once makes no thread. */
static void
after_fork_child(void)
{
    struct alqi_domain *d = alqi_heap_thread_domain();

    enum state was = atomic_load(&serve.state);

    alqi_glue_control_after_fork(true);
    if (was == SERVED || was == CLOSING)
        alqi_plat_door_leave(&serve.door); /* the parent's: it goes on there */
    if (was == CLOSING)
        atomic_store(&serve.state, CLOSED);
    if (was == SERVED) {
        atomic_store(&serve.state, OWED);
        if (d != NULL)
            alqi_heap_handshake_request_sigsafe(d);
    }
    alqi_plat_unlock(&serve.lock);
}

enum alq_status
alq_control_start(const char *name)
{
    enum alq_status status = ALQ_EBUSY;

    if (name == NULL)
        name = NAME_DEFAULT;
    if ((name[0] != '@' && name[0] != '/') ||
        strlen(name) >= sizeof serve.pattern)
        return ALQ_EINVAL;
    alqi_plat_lock(&serve.lock);
    if (atomic_load(&serve.state) == CLOSED ||
        atomic_load(&serve.state) == OWED) {
        strcpy(serve.pattern, name);
        if (!serve.watches_forks)
            serve.watches_forks = pthread_atfork(before_fork, after_fork_parent,
                                                 after_fork_child) == 0;
        alqi_heap_handshake_set(alqi_glue_control_answer);
        status = open_locked();
    }
    alqi_plat_unlock(&serve.lock);
    return status;
}

enum alq_status
alq_control_stop(void)
{
    enum state was;

    alqi_plat_lock(&serve.lock);
    was = atomic_load(&serve.state);
    if (was == SERVED || was == OWED)
        atomic_store(&serve.state, was == SERVED ? CLOSING : CLOSED);
    alqi_plat_unlock(&serve.lock);
    if (was != SERVED)
        return was == OWED ? ALQ_OK : ALQ_ENOTRUN;
    atomic_store(&serve.is_over, true);
    alqi_glue_control_hurry(true);
    alqi_plat_door_knock(&serve.door);
    pthread_join(serve.thread, NULL);
    alqi_plat_door_remove(&serve.door);
    alqi_glue_control_hurry(false);
    atomic_store(&serve.state, CLOSED);
    return ALQ_OK;
}

void
alqi_glue_control_serve_owed(void)
{
    if (ALQI_LIKELY(atomic_load(&serve.state) != OWED))
        return;
    alqi_plat_lock(&serve.lock);
    if (atomic_load(&serve.state) == OWED && open_locked() != ALQ_OK)
        atomic_store(&serve.state, CLOSED);
    alqi_plat_unlock(&serve.lock);
}

__attribute__((destructor)) static void
at_exit(void)
{
    if (atomic_load(&serve.state) == SERVED)
        alqi_plat_door_unlink(&serve.door);
}

/* ---- by environment -------------------------------------------------------
 */

static void
start_by(const char *who, const char *name)
{
    enum alq_status status = alq_control_start(name);

    if (status == ALQ_EINVAL)
        alqi_tracing_say("%s%.120s: 1, a path, or '@' and a name, of at most "
                         "107 bytes; the heap is not controlled\n",
                         who, name != NULL ? name : "");
    else if (status == ALQ_EBUSY)
        alqi_tracing_say("%s%.120s: another process has that name; the heap is "
                         "not controlled\n",
                         who, name != NULL ? name : "1");
    else if (status != ALQ_OK)
        alqi_tracing_say("%s%.120s: %s; the heap is not controlled\n", who,
                         name != NULL ? name : "1", strerrordesc_np(errno));
}

/* aliquot record --control asks the preload, which has a name for the trace.
 * False: nobody asks. */
static bool
begin_by_record(void)
{
    const struct alqi_preload_api *api = alqi_glue_preload();
    char path[ALQI_TRACING_PATH_BYTES];

    if (api == NULL || !api->heap_control(path, sizeof path))
        return false;
    alqi_glue_control_place(path);
    start_by("", NULL);
    return true;
}

void
alqi_glue_control_begin(void)
{
    static atomic_bool was_tried;
    const char *name = secure_getenv("ALIQUOT_CONTROL");

    if (atomic_exchange(&was_tried, true) ||
        (name != NULL && strcmp(name, "0") == 0) || begin_by_record() ||
        name == NULL || name[0] == '\0')
        return;
    start_by("ALIQUOT_CONTROL=", strcmp(name, "1") == 0 ? NULL : name);
}
