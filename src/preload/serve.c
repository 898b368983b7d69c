/* serve.c -- the control server of a malloc program     [control/server.h]
 *
 * The server opens when the library is loaded; a forked child opens its own at
 * its first allocation, so that a child that executes another program at once
 * makes no thread.  A program that confines itself closes the server for good.
 *
 * .inv.unsampled The server's thread never attaches: its countdown is parked,
 *                and what libc allocates for the thread is no trial. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "preload/control.h"
#include "preload/copy.h"
#include "preload/file.h"
#include "preload/preload.h"

#define NAME_DEFAULT "@aliquot.%p"

/* While no thread is attached: those that are ending may take a moment. */
enum { ALONE_LOOK_MS = 1000 };

static _Atomic(bool) is_closed_for_good; /* .pair.alone */

/* ---- hooks --------------------------------------------------------------- */

/* Executes a request; the reply is in `text`.  False: refused, or failed. */
static bool
execute(const struct alqi_request *r, char text[ALQI_CONTROL_TEXT_BYTES])
{
    switch (r->command) {
    case ALQI_REQUEST_START:
        return alqi_preload_control_start(
            r->rate, r->out[0] != '\0' ? r->out : NULL, text);
    case ALQI_REQUEST_STOP:
        return alqi_preload_control_stop(text);
    case ALQI_REQUEST_RATE:
        return alqi_preload_control_rate(r->rate, text);
    case ALQI_REQUEST_MARK:
        return alqi_preload_control_mark(r->out, text);
    default:
        return alqi_preload_control_status(text);
    }
}

static bool
copy(int client, char text[ALQI_CONTROL_TEXT_BYTES])
{
    return alqi_preload_copy_send(client, text, ALQI_CONTROL_TEXT_BYTES);
}

/* The socket's name, by the configured pattern: a forked child expands it anew.
 */
static bool
socket_name(const char *pattern, char name[ALQI_CONTROL_NAME_BYTES])
{
    const char *configured = alqi_preload_config.control;

    (void)pattern;
    return alqi_preload_file_name(name, ALQI_CONTROL_NAME_BYTES,
                                  configured[0] != '\0' ? configured
                                                        : NAME_DEFAULT);
}

static int
look_ms(void)
{
    return alqi_preload_threads_any() ? -1 : ALONE_LOOK_MS;
}

static void
thread_begin(void)
{
    alqi_preload_hot.left_words = ALQI_PARKED;
    alqi_preload_hot.is_ended = true; /* .inv.unsampled */
}

/* Logs that the socket cannot be served; errno says why. */
static void
failed(void)
{
    char text[300];

    snprintf(text, sizeof text, "no control: cannot serve %s: %s",
             alqi_plat_socket_text(&alqi_preload_server.socket),
             strerrordesc_np(errno));
    alqi_preload_log(text);
}

static const struct alqi_control_hooks hooks = {
    .execute = execute,
    .copy = copy,
    .name = socket_name,
    .look_ms = look_ms,
    .thread_create = alqi_preload_thread_create,
    .thread_begin = thread_begin,
    .lost = failed,
};

struct alqi_control_server alqi_preload_server =
    ALQI_CONTROL_SERVER(&hooks, PRELOAD_SERVER);

/* ---- opening and closing --------------------------------------------------
 */

void
alqi_preload_serve(const char *pattern)
{
    struct alqi_preload_hot *hot = &alqi_preload_hot;
    int64_t left = hot->left_words;
    int saved = errno;
    enum alq_status status;

    hot->left_words = ALQI_PARKED; /* .inv.unsampled */
    status = alqi_control_open(&alqi_preload_server, pattern);
    if (status == ALQ_EINVAL)
        alqi_preload_log("no control: its name begins with '/' or '@', and is "
                         "at most 107 bytes long");
    else if (status != ALQ_OK && errno != EALREADY)
        failed();
    hot->left_words = left;
    errno = saved;
}

void
alqi_preload_serve_stop(void)
{
    atomic_store(&is_closed_for_good, true);
    alqi_control_close(&alqi_preload_server);
}

void
alqi_preload_serve_fork_child(void)
{
    alqi_control_fork_child(&alqi_preload_server,
                            alqi_preload_config.has_control &&
                                !atomic_load(&is_closed_for_good));
}

__attribute__((destructor)) static void
at_exit(void)
{
    alqi_control_exit(&alqi_preload_server);
}
