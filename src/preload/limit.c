/* limit.c -- limits on the bytes that the process allocates, or keeps alive
 *
 *   counting (live.c) --a sum passes its limit--> due --the thread takes it-->
 *   reached, once and for all
 *
 * The thread whose allocation passes a limit writes the sums into the
 * recording's header and notifies the aliquot that records the process, through
 * a named pipe beside the recording.  That aliquot makes the report and sends
 * the signal.  If no process reads the pipe, the thread logs a line and signals
 * its own process; for SIGKILL it does so in any case, since the recording is
 * complete.
 *
 * .inv.libc  System calls are made without the libc, whose wrappers are
 *            cancellation points. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/file.h"
#include "preload/limit.h"
#include "preload/live.h"
#include "preload/stream.h"

/* ---- notification -------------------------------------------------------- */

/* Beside the recording.  False: too long. */
static bool
pipe_name(char *out, size_t capacity)
{
    const char *path = alqi_preload_file_path();
    const char *slash = strrchr(path, '/');

    return slash != NULL &&
           (size_t)snprintf(out, capacity, "%.*s/" ALQI_RAW_LIMIT_PIPE,
                            (int)(slash - path), path) < capacity;
}

/* In one write. */
bool
alqi_preload_recorder_notify(void)
{
    char name[1300], line[300];
    const char *path = alqi_preload_file_path();
    const char *slash = strrchr(path, '/');
    long fd, put;
    int n;

    if ((!alqi_preload_config.has_limit_notify &&
         !alqi_preload_config.has_leaks) ||
        alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE ||
        !pipe_name(name, sizeof name))
        return false;
    n = snprintf(line, sizeof line, "%s\n", slash + 1);
    if (n < 0 || (size_t)n >= sizeof line)
        return false;
    fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    put = syscall(SYS_write, fd, line, (size_t)n);
    syscall(SYS_close, fd);
    return put == n;
}

/* A pipe that is read can be opened for writing. */
bool
alqi_preload_recorder_is_there(void)
{
    char name[1300];
    long fd;

    if (!pipe_name(name, sizeof name))
        return false;
    fd = syscall(SYS_openat, AT_FDCWD, name, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0)
        syscall(SYS_close, fd);
    return fd >= 0;
}

/* Logs a limit that is reached, where no aliquot was notified. */
static void
limit_log(enum alqi_raw_limit_kind kind, const struct alqi_raw_limit *l)
{
    bool is_live = kind == ALQI_RAW_LIMIT_LIVE;
    const char *path = alqi_preload_file_path();
    char text[1500];

    snprintf(text, sizeof text, "limit reached: %llu bytes %s, of %llu%s%s",
             (unsigned long long)(is_live ? l->live_bytes : l->alloc_bytes),
             is_live ? "are alive" : "were allocated",
             (unsigned long long)l->bytes,
             path[0] != '\0' ? "; recorded to " : "", path);
    alqi_preload_log(text);
}

/* ---- a limit is reached -------------------------------------------------- */

/* Writes the sums into the limit's place in the header. at_ns is stored last:
 * where it is set, the rest is there.
 *
 * .pair.reached  note() (release) -> a reader of the recording (acquire): the
 *                sums. */
static void
note(struct alqi_preload_thread *thread, enum alqi_raw_limit_kind kind)
{
    uint32_t was = alqi_memprof_enter(&thread->memprof);
    struct alqi_raw_limit *l;

    (void)alqi_preload_stream_file(); /* a child may have none yet */
    l = &alqi_preload_file_header()->limits[kind];
    l->bytes = alqi_preload_config.limit_bytes[kind];
    l->live_bytes = alqi_preload_live_bytes();
    l->alloc_bytes = alqi_preload_live_alloc_bytes();
    atomic_store_explicit(&l->at_ns, alqi_plat_mono_ns_sigsafe(),
                          memory_order_release);
    alqi_memprof_leave(&thread->memprof, was);
}

/* Notes a limit and takes its consequence, which may end the process. */
static void
reached(struct alqi_preload_thread *thread, enum alqi_raw_limit_kind kind)
{
    int signal = alqi_preload_config.limit_signal;
    bool is_notified;

    note(thread, kind);
    is_notified = alqi_preload_recorder_notify();
    if (!is_notified)
        limit_log(kind, &alqi_preload_file_header()->limits[kind]);
    if (signal == SIGKILL || (signal != 0 && !is_notified))
        syscall(SYS_kill, getpid(), signal);
}

void
alqi_preload_limit_reached(struct alqi_preload_thread *thread)
{
    uint32_t due = atomic_exchange(&alqi_preload_live_due, 0);
    int saved = errno;

    for (unsigned kind = 0; kind < ALQI_RAW_LIMITS; kind++)
        if ((due >> kind & 1) != 0)
            reached(thread, (enum alqi_raw_limit_kind)kind);
    errno = saved;
}

/* By the samples of the recording; of an exact one, by every block. */
void
alqi_preload_limit_start(void)
{
    const struct alqi_preload_config *c = &alqi_preload_config;
    struct alqi_preload_thread *thread = alqi_preload_current();
    enum alq_status status;
    bool has_any = false;
    int64_t left;

    for (unsigned kind = 0; kind < ALQI_RAW_LIMITS; kind++) {
        alqi_preload_live_limit((enum alqi_raw_limit_kind)kind,
                                c->limit_bytes[kind]);
        has_any = has_any || c->limit_bytes[kind] != 0;
    }
    if (!has_any)
        return;
    left = alqi_preload_park(thread);
    status = alqi_preload_live_start(thread, c->is_exact ? 1 : c->rate);
    alqi_preload_unpark(thread, left);
    if (status != ALQ_OK)
        alqi_preload_log("no limit: no memory for the profiler's tables");
}
