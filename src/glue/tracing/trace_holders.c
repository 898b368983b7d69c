/* trace_holders.c -- see trace_holders.h
 *
 *   NONE --opened--> OPEN --the snapshot is whole--> NAMED in the trace
 *                      |--it is not--> removed, and said
 *
 * No state is kept: the trace decides that there is one call (trace.c).
 *
 * .inv.named_whole  A snapshot that the trace names is there to its end.
 * .inv.named_pair   Trace and snapshot tell the same process and microsecond,
 *             so that a reader takes no other trace's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "glue/join/profiler.h"
#include "glue/tracing/snapshot.h"
#include "glue/tracing/trace_holders.h"
#include "glue/tracing/trace_side.h"
#include "heap/domain_thread.h"
#include "heap/event.h"
#include "heap/hosted.h"

void
alqi_glue_trace_holders_refuse(const struct alqi_tracing *t, const char *why)
{
    alqi_tracing_say("%s: who holds its blocks is not known: %s\n", t->path,
                     why);
}

/* Why the calling thread can take no snapshot; NULL: it can. */
static const char *
refusal(const struct alqi_tracing *t, const struct alqi_domain *d)
{
    if (atomic_load(&t->is_over))
        return "the trace could not be written to its end";
    if (!t->file.is_regular)
        return "the trace is no regular file, beside which a snapshot of the "
               "heap would lie";
    if (d == NULL)
        return "the thread that ended it runs no domain, and only one that "
               "does can take a snapshot of the heap";
    if (d->heap->life.is_lost)
        return "this is a forked process without the heap's threads";
    if (alqi_heap_event_is_inside(d))
        return "it ended within the collector";
    return NULL;
}

/* Blocks that collections have found dead get their callbacks first, those of
 * ended domains too: else they would live in the trace, and be in no snapshot.
 * OCaml's callbacks wait for a place where its code may run. */
static void
deaths_tell(struct alqi_domain *d)
{
    struct alqi_memprof_domain *profiled = alqi_glue_profiled_domain(d);

    if (ALQI_HOSTS_OCAML || profiled == NULL)
        return;
    alqi_memprof_adopt(profiled);
    (void)alqi_glue_memprof_flush(d, NULL);
}

/* By its directory of when it was opened, if that is known. */
static void
name_make(const struct alqi_tracing *t, char *out, size_t capacity)
{
    snprintf(out, capacity, "%s" ALQI_TRACE_HOLDERS_SUFFIX,
             t->full_path[0] != '\0' ? t->full_path : t->path);
}

/* ALQ_OK: it is whole. */
static enum alq_status
snapshot_write(struct alqi_domain *d, const char *path, bool in_stop,
               uint64_t wall_us, int *error)
{
    int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
    enum alq_status status;

    *error = errno;
    if (fd < 0)
        return ALQ_EIO;
    status = alqi_glue_snapshot_take(d, fd, in_stop, wall_us, error);
    if (close(fd) != 0 && errno != EINTR && status == ALQ_OK) {
        *error = errno;
        status = ALQ_EIO;
    }
    if (status != ALQ_OK)
        unlink(path);
    return status;
}

/* .inv.named_pair */
static void
snapshot_name(struct alqi_tracing *t, const char *path, uint64_t wall_us)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_glue_trace_side_snapshot(&line, alqi_base_file_name(path), wall_us);
    alqi_plat_lock(&t->lock);
    (void)alqi_tracing_line_locked(t, text);
    alqi_plat_unlock(&t->lock);
}

/* errno is kept: exit may have been called for it. */
void
alqi_glue_trace_holders_write(struct alqi_tracing *t, bool in_stop)
{
    char path[ALQI_TRACING_PATH_BYTES + sizeof ALQI_TRACE_HOLDERS_SUFFIX];
    struct alqi_domain *d = alqi_heap_thread_domain();
    const char *why = refusal(t, d);
    uint64_t wall_us = alqi_glue_snapshot_now_us();
    int saved = errno, error;
    enum alq_status status;

    if (why != NULL) {
        alqi_glue_trace_holders_refuse(t, why);
        return;
    }
    name_make(t, path, sizeof path);
    if (ALQI_HOSTS_OCAML)
        alqi_heap_host_enter(d);
    deaths_tell(d);
    status = snapshot_write(d, path, in_stop, wall_us, &error);
    if (ALQI_HOSTS_OCAML)
        alqi_heap_host_leave(d);
    if (status == ALQ_OK) {
        snapshot_name(t, path, wall_us);
    } else {
        alqi_tracing_say("cannot write %s: %s; who holds the blocks of the "
                         "trace is not known\n",
                         path,
                         status == ALQ_EIO ? strerror(error)
                                           : alq_status_text(status));
    }
    errno = saved;
}
