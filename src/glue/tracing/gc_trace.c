/* gc_trace.c -- see gc_trace.h
 *
 * Each track has a buffer.  It is written when a pause has ended with half of
 * it filled, or with its first event a second old, lest much be lost with a
 * process that is killed: by the thread whose pause it was, which holds up
 * nobody else; and when its domain ends.  An event that does not fit is
 * counted, and the next chunk of its track says so.
 *
 * .inv.file   Only whole chunks are written.  Where a write fails nothing more
 *             is, so a reader finds whole chunks and then part of one at most.
 * Keeps .inv.parent (trace_file.h): A forked child writes nothing.  It frees
 * the locks of threads that it has not: a fork may happen in a stop of the
 * world, where recorder_lock, which comes before a stop, cannot be taken. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "glue/tracing/gc_trace.h"
#include "glue/tracing/trace.h"
#include "heap/state.h"
#include "plat/plat.h"
#include "wire/gctrace.h"

enum {
    TRACKS = 1 + 128, /* the heap, and domains */
    NAME_BYTES = 4096,
    CHUNK_NS = 1000000000 /* how old its first event gets, pauses willing */
};

/* A track's buffer; all fields are under its lock. */
struct track {
    struct alqi_plat_lock lock;
    uint8_t *buffer; /* a chunk's header, then its events; NULL: none yet */
    struct alqi_gctrace_encoder encoder;
    /* of the chunk's first event */
    uint64_t start_ns;
    uint32_t n_events;      /* in the chunk */
    uint32_t n_lost_before; /* this chunk */
    uint32_t n_lost;        /* since it is full */
};

struct recorder {
    struct alq_listener listener;
    int fd;
    /* of the process that may write */
    pid_t pid;
    /* taken within a track's lock */
    struct alqi_plat_lock file_lock;
    /* of the write after which there was none; 0; under file_lock */
    int failed_errno;
    /* events, of all tracks; atomic */
    uint64_t n_lost;
    char path[NAME_BYTES];
    size_t buffer_bytes; /* of each track: e in ALIQUOTPARAM */
    /* [0] is the heap's, [1 + n] that of domain n */
    struct track tracks[TRACKS];
};

static struct alqi_plat_lock recorder_lock = ALQI_PLAT_LOCK(GLUE_RECORDER);
static struct recorder *recorder; /* under the lock */
static pid_t recorder_pid; /* atomic; of the process that began the latest */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A message on stderr, by a call that takes no lock: listeners run within
 * collections. */
static void
say(const char *format, ...)
{
    char text[NAME_BYTES + 256];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n > 0)
        alqi_plat_say_sigsafe(text, (size_t)n < sizeof text ? (size_t)n
                                                            : sizeof text - 1);
}

/* ---- the file ----------------------------------------------------------- */

static bool
is_child(const struct recorder *r)
{
    return getpid() != r->pid;
}

/* Counts events that no chunk has. */
static void
lose(struct recorder *r, uint64_t n)
{
    __atomic_fetch_add(&r->n_lost, n, __ATOMIC_RELAXED);
}

/* Begins an empty chunk. */
static void
track_clear_locked(const struct recorder *r, struct track *t)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACK));
    t->encoder.at = t->buffer + ALQI_GCTRACE_CHUNK_HEADER_BYTES;
    t->encoder.end = t->buffer + r->buffer_bytes;
    t->n_events = 0;
}

/* Writes the chunk, if there is anything to tell, and begins the next one. In a
 * forked child nothing happens (.inv.parent). */
static void
track_write_locked(struct recorder *r, struct track *t)
{
    struct alqi_gctrace_chunk chunk = {
        .track = (uint32_t)(t - r->tracks),
        .n_lost = t->n_lost_before,
        .start_ns = t->start_ns,
    };

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACK));
    if (t->buffer == NULL || (t->n_events == 0 && t->n_lost_before == 0))
        return;
    if (is_child(r))
        return;
    chunk.n_bytes =
        (uint32_t)(t->encoder.at - t->buffer) - ALQI_GCTRACE_CHUNK_HEADER_BYTES;
    alqi_gctrace_put_chunk(t->buffer, &chunk);
    alqi_plat_lock(&r->file_lock);
    if (r->failed_errno == 0) {
        r->failed_errno = alqi_plat_write_sigsafe(
            r->fd, t->buffer, (size_t)(t->encoder.at - t->buffer));
        if (r->failed_errno != 0)
            say("aliquot: cannot write %s: %s; the recording of the collector "
                "ends here\n",
                r->path, strerror(r->failed_errno));
    }
    if (r->failed_errno != 0)
        lose(r, t->n_events);
    alqi_plat_unlock(&r->file_lock);
    t->n_lost_before = t->n_lost;
    t->n_lost = 0;
    track_clear_locked(r, t);
}

/* ---- events ------------------------------------------------------------- */

/* Maps the buffer at the track's first event; false: no memory. */
static bool
track_open_locked(const struct recorder *r, struct track *t)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACK));
    if (t->buffer == NULL) {
        t->buffer = alqi_plat_pages_map(r->buffer_bytes);
        if (t->buffer == NULL)
            return false;
        track_clear_locked(r, t);
        t->n_lost_before = t->n_lost;
        t->n_lost = 0;
    }
    return true;
}

/* Puts an event into the chunk, or counts it as lost. A chunk begins no earlier
 * than the last event of the one before: times do not go back. */
static void
track_put_locked(struct recorder *r, struct track *t,
                 const struct alqi_gctrace_event *event)
{
    bool is_put = track_open_locked(r, t);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACK));
    if (is_put && t->n_events == 0) {
        if (event->time_ns > t->encoder.last_ns)
            t->encoder.last_ns = event->time_ns;
        t->start_ns = t->encoder.last_ns;
    }
    is_put = is_put && alqi_gctrace_put_event(&t->encoder, event);
    if (is_put) {
        t->n_events++;
    } else {
        t->n_lost++;
        lose(r, 1);
    }
}

static void
track_flush(struct recorder *r, struct track *t)
{
    alqi_plat_lock(&t->lock);
    track_write_locked(r, t);
    alqi_plat_unlock(&t->lock);
}

/* Half full, or a second old. */
static bool
track_is_due_locked(const struct recorder *r, const struct track *t,
                    uint64_t now_ns)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACK));
    if (t->buffer == NULL || t->n_events == 0)
        return false;
    return (size_t)(t->encoder.at - t->buffer) >= r->buffer_bytes / 2 ||
           (now_ns > t->start_ns && now_ns - t->start_ns >= CHUNK_NS);
}

static void
track_flush_due(struct recorder *r, struct track *t, uint64_t now_ns)
{
    alqi_plat_lock(&t->lock);
    if (track_is_due_locked(r, t, now_ns))
        track_write_locked(r, t);
    alqi_plat_unlock(&t->lock);
}

static void heap_gone(struct recorder *r);

/* The listener: called by the thread whose event it is, by several at once. A
 * track is written at the end of a pause, when it delays nobody else. */
static void
recorder_event(void *arg, const struct alq_event *event)
{
    struct recorder *r = arg;
    struct alqi_gctrace_event e = {
        (uint8_t)event->kind, (uint8_t)event->point, event->time_ns, {0}};
    unsigned n =
        event->domain == ALQ_EVENT_HEAP ? ALQI_GCTRACE_HEAP : 1 + event->domain;

    ALQI_ASSERT(n < TRACKS);
    memcpy(e.values, event->values, sizeof e.values);
    alqi_plat_lock(&r->tracks[n].lock);
    track_put_locked(r, &r->tracks[n], &e);
    alqi_plat_unlock(&r->tracks[n].lock);
    if (event->kind == ALQ_EVENT_HEAP_END) {
        heap_gone(r);
        return;
    }
    if (event->kind == ALQ_EVENT_DOMAIN_END)
        track_flush(r, &r->tracks[n]);
    if (event->kind != ALQ_EVENT_PAUSE || event->point != ALQ_EVENT_END)
        return;
    track_flush_due(r, &r->tracks[n], event->time_ns);
    track_flush_due(r, &r->tracks[ALQI_GCTRACE_HEAP], event->time_ns);
}

/* ---- start -------------------------------------------------------------- */

/* 0, or errno. */
static int
file_begin(struct recorder *r)
{
    uint8_t bytes[ALQI_GCTRACE_HEADER_BYTES];
    struct alqi_gctrace_header header = {
        .pid = (uint32_t)r->pid,
        .wall_ns = alqi_plat_wall_ns_sigsafe(),
        .mono_ns = alqi_plat_mono_ns_sigsafe(),
    };
    int error;

    r->fd =
        open(r->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (r->fd < 0)
        return errno;
    alqi_gctrace_put_header(bytes, &header);
    error = alqi_plat_write_sigsafe(r->fd, bytes, sizeof bytes);
    if (error != 0) {
        close(r->fd);
        unlink(r->path);
    }
    return error;
}

/* Makes a recorder and its file; on failure errno has the reason, and nothing
 * is left. */
static enum alq_status
recorder_new(const char *path, size_t buffer_bytes, struct recorder **out)
{
    struct recorder *r = alqi_plat_pages_map(sizeof *r);
    int error;

    if (r == NULL)
        return ALQ_ENOMEM;
    r->listener.event = recorder_event;
    r->listener.arg = r;
    r->pid = getpid();
    r->buffer_bytes = buffer_bytes;
    alqi_plat_lock_init(&r->file_lock, ALQI_RANK_GLUE_TRACK_FILE);
    for (unsigned i = 0; i < TRACKS; i++)
        alqi_plat_lock_init(&r->tracks[i].lock, ALQI_RANK_GLUE_TRACK);
    if (strlen(path) >= sizeof r->path)
        error = ENAMETOOLONG;
    else
        error = (strcpy(r->path, path), file_begin(r));
    if (error == 0) {
        *out = r;
        return ALQ_OK;
    }
    alqi_plat_pages_unmap(r, sizeof *r);
    errno = error;
    return error == EEXIST ? ALQ_EEXIST : ALQ_EIO;
}

static void
recorder_drop(struct recorder *r)
{
    unsigned i;

    for (i = 0; i < TRACKS; i++)
        if (r->tracks[i].buffer != NULL)
            alqi_plat_pages_unmap(r->tracks[i].buffer, r->buffer_bytes);
    alqi_plat_pages_unmap(r, sizeof *r);
}

/* Requires recorder_lock. */
static enum alq_status
start_locked(struct alq_domain *d, const char *path)
{
    size_t words = (size_t)1 << alqi_heap_domain(d)->heap->tuning.record_log2;
    struct recorder *r;
    enum alq_status status;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_RECORDER));
    if (recorder != NULL)
        return ALQ_EBUSY;
    status = recorder_new(path, words * ALQ_WORD_BYTES, &r);
    if (status != ALQ_OK)
        return status;
    status = alq_listener_add(d, &r->listener);
    if (status == ALQ_OK) {
        recorder = r;
        __atomic_store_n(&recorder_pid, r->pid, __ATOMIC_RELEASE);
        return ALQ_OK;
    }
    close(r->fd);
    unlink(r->path);
    recorder_drop(r);
    return status;
}

/* One recording at a time, of the process. */
enum alq_status
alq_gc_trace_start(struct alq_domain *d, const char *path)
{
    enum alq_status status;

    if (d == NULL || path == NULL)
        return ALQ_EINVAL;
    alqi_plat_lock(&recorder_lock);
    status = start_locked(d, path);
    alqi_plat_unlock(&recorder_lock);
    return status;
}

/* ---- stop --------------------------------------------------------------- */

/* Each track twice: a chunk tells what was lost before it, so events that were
 * lost last need one more. */
static void
flush_all(struct recorder *r)
{
    unsigned i;

    for (i = 0; i < TRACKS; i++) {
        track_flush(r, &r->tracks[i]);
        track_flush(r, &r->tracks[i]); /* what was lost at the end */
    }
}

/* Writes all, closes, and forgets the recorder. Requires that nobody calls
 * recorder_event any more. */
static enum alq_status
finish_locked(uint64_t *n_lost)
{
    struct recorder *r = recorder;
    int error;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_RECORDER));
    recorder = NULL;
    flush_all(r);
    if (close(r->fd) != 0 && r->failed_errno == 0)
        r->failed_errno = errno;
    error = is_child(r) ? 0 : r->failed_errno;
    *n_lost = r->n_lost;
    if (r->n_lost > 0 && error == 0 && !is_child(r))
        say("aliquot: %s: %" PRIu64 " events of the collector were lost: "
            "buffers were full\n",
            r->path, r->n_lost);
    recorder_drop(r);
    errno = error;
    return error == 0 ? ALQ_OK : ALQ_EIO;
}

/* When the listener is removed nobody is in it, so the recorder can go. */
enum alq_status
alq_gc_trace_stop(struct alq_domain *d, uint64_t *n_dropped)
{
    enum alq_status status = ALQ_ENOTRUN;
    uint64_t n_lost = 0;

    if (d == NULL)
        return ALQ_EINVAL;
    alqi_plat_lock(&recorder_lock);
    if (recorder != NULL) {
        status = alq_listener_remove(d, &recorder->listener);
        if (status == ALQ_OK)
            status = finish_locked(&n_lost);
    }
    alqi_plat_unlock(&recorder_lock);
    if (n_dropped != NULL)
        *n_dropped = n_lost;
    return status;
}

/* The heap has ended, and its listeners with it: the recording is finished. */
static void
heap_gone(struct recorder *r)
{
    uint64_t n_lost;

    alqi_plat_lock(&recorder_lock);
    if (recorder == r)
        finish_locked(&n_lost);
    alqi_plat_unlock(&recorder_lock);
}

/* The program ends with its heap. The file stays open: other threads may be in
 * it. A forked child has nothing to write. */
__attribute__((destructor)) static void
at_exit(void)
{
    if (__atomic_load_n(&recorder_pid, __ATOMIC_ACQUIRE) != getpid())
        return;
    alqi_plat_lock(&recorder_lock);
    if (recorder != NULL)
        flush_all(recorder);
    alqi_plat_unlock(&recorder_lock);
}

/* ---- fork --------------------------------------------------------------- */

/* The recorder stays that of the parent, which has its file, until the child
 * stops it. */
static void
after_fork_child(void)
{
    struct recorder *r = recorder;

    alqi_plat_lock_break(&recorder_lock);
    for (unsigned i = 0; r != NULL && i < TRACKS; i++)
        alqi_plat_lock_break(&r->tracks[i].lock);
    if (r != NULL)
        alqi_plat_lock_break(&r->file_lock);
}

__attribute__((constructor)) static void
forks_watch(void)
{
    pthread_atfork(NULL, NULL, after_fork_child);
}

/* ---- by environment ----------------------------------------------------- */

/* Once a process; a failure is logged, and the program goes on. */
void
alqi_glue_gc_trace_begin(struct alq_domain *d)
{
    static atomic_bool was_tried;
    const char *name = secure_getenv("ALIQUOT_GC_TRACE");
    char path[NAME_BYTES];
    enum alq_status status;

    if (name == NULL || *name == '\0' || atomic_exchange(&was_tried, true))
        return;
    if (!alqi_glue_trace_name(name, NULL, path, sizeof path)) {
        say("aliquot: ALIQUOT_GC_TRACE=%.40s...: the name is too long; the "
            "collector is not recorded\n",
            name);
        return;
    }
    status = alq_gc_trace_start(d, path);
    if (status == ALQ_OK)
        return;
    say("aliquot: ALIQUOT_GC_TRACE=%s: %s; the collector is not recorded\n",
        name,
        status == ALQ_EIO || status == ALQ_EEXIST ? strerror(errno)
                                                  : alq_status_text(status));
}
