/* serve.c -- <aliquot/control.h>: when the managed heap's control server opens
 * and closes                                            [control/server.h]
 *
 * By a call, or by the environment at the first heap.  A forked child opens its
 * own when a domain next serves requests (control.c), so that a child that
 * executes another program at once makes no thread.
 *
 * .inv.forked  The server's lock, then control.c's, is held across a fork: the
 *              child finds no half of either. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "glue/control/control.h"
#include "glue/join/preload.h"
#include "glue/tracing/trace.h"
#include "heap/stop_handshake.h"
#include "heap/domain_thread.h"

#define NAME_DEFAULT "@aliquot.heap.%p"

/* ---- fork ---------------------------------------------------------------- */

static void
before_fork(void)
{
    alqi_plat_lock(&alqi_glue_control_server.lock);
    alqi_glue_control_before_fork();
}

static void
after_fork_parent(void)
{
    alqi_glue_control_after_fork(false);
    alqi_plat_unlock(&alqi_glue_control_server.lock);
}

/* A server that was open, or owed, is owed in the child; the domain's thread
 * opens it at its next handshake. */
static void
after_fork_child(void)
{
    enum alqi_control_state was = alqi_control_state(&alqi_glue_control_server);
    bool is_wanted = was == ALQI_CONTROL_OPEN || was == ALQI_CONTROL_OWED;
    struct alqi_domain *d = alqi_heap_thread_domain();

    alqi_glue_control_after_fork(true);
    alqi_control_fork_child(&alqi_glue_control_server, is_wanted);
    if (is_wanted && d != NULL)
        alqi_heap_handshake_request_sigsafe(d);
}

__attribute__((constructor(ALQI_FORK_SERVER))) static void
forks_watch(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* ---- by a call ----------------------------------------------------------- */

/* The handshake's function is set first: a request may come at once. */
enum alq_status
alq_control_start(const char *name)
{
    if (name == NULL)
        name = NAME_DEFAULT;
    if ((name[0] != '@' && name[0] != '/') ||
        strlen(name) >= ALQI_CONTROL_NAME_BYTES)
        return ALQ_EINVAL;
    alqi_heap_handshake_set(alqi_glue_control_answer);
    return alqi_control_open(&alqi_glue_control_server, name);
}

enum alq_status
alq_control_stop(void)
{
    return alqi_control_close(&alqi_glue_control_server) ? ALQ_OK : ALQ_ENOTRUN;
}

__attribute__((destructor)) static void
at_exit(void)
{
    alqi_control_exit(&alqi_glue_control_server);
}

/* ---- by environment -------------------------------------------------------
 */

/* Starts the server for the environment; a failure is logged, and the program
 * goes on. */
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

/* Once a process, whatever comes of it. ALIQUOT_CONTROL=0 refuses aliquot
 * record, too. */
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
