/* stream.c -- streams of chunks: pooled, given to threads, filled
 *
 *   pool --a thread's first event--> one thread's --the thread ends--> pool
 *
 *   a stream's chunk: none --turn--> filling --full, turn--> the next one
 *   the file:         none --the first stream--> there; failed: none is made
 *                     there --streams_end--> ended --streams_close--> none
 *
 * .pair.file  alqi_preload_stream_file() (release) -> the same, and
 *             alqi_preload_stream_has_file() (acquire): the file's header.
 *
 * A forked child starts over: no pool, no file (streams_fork_child).  Keeps
 * .inv.stream of stream.h. */
#include <stdlib.h>
#include <string.h>

#include "preload/file.h"
#include "preload/stream.h"

enum { SLAB_BYTES = 4096 };

static struct {
    struct alqi_plat_lock lock;       /* of all below, and of making the file */
    struct alqi_preload_stream *pool; /* linked by `next`                 */
    char *slab;             /* where the next stream is carved            */
    size_t slab_left_bytes; /* of the slab                                */
    uint32_t n_streams;     /* ever made, in this recording               */
    bool is_forked;         /* the recording's header is to say FORKED    */
    _Atomic(bool) has_file; /* read without the lock: .pair.file          */
    bool is_failed;         /* no file can be made: nothing is recorded   */
} streams = {.lock = ALQI_PLAT_LOCK(PRELOAD_STREAMS)};

/* ---- the file ------------------------------------------------------------ */

bool
alqi_preload_stream_file(void)
{
    uint32_t was;

    if (ALQI_LIKELY(
            atomic_load_explicit(&streams.has_file, memory_order_acquire)))
        return true;
    was = alqi_preload_lock(&streams.lock);
    if (!atomic_load_explicit(&streams.has_file, memory_order_relaxed) &&
        !streams.is_failed) {
        bool ok =
            alqi_preload_file_create(streams.is_forked ? ALQI_RAW_FORKED : 0);

        streams.is_failed = !ok;
        atomic_store_explicit(&streams.has_file, ok, memory_order_release);
    }
    alqi_preload_unlock(&streams.lock, was);
    return !streams.is_failed;
}

bool
alqi_preload_stream_file_of(double rate, const char *out)
{
    /* The thread that makes a file reads what follows. */
    uint32_t was = alqi_preload_lock(&streams.lock);

    alqi_preload_config.rate = rate;
    if (out != NULL)
        strcpy(alqi_preload_config.out, out);
    streams.is_failed = false; /* asked for once more */
    alqi_preload_unlock(&streams.lock, was);
    return alqi_preload_stream_file();
}

bool
alqi_preload_stream_has_file(void)
{
    return atomic_load_explicit(&streams.has_file, memory_order_acquire);
}

/* ---- the pool ------------------------------------------------------------ */

/* A new stream, in pages that are never unmapped.  NULL: no memory, or all
 * numbers are used. */
static struct alqi_preload_stream *
carve_locked(void)
{
    struct alqi_preload_stream *s;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_STREAMS));
    if (streams.n_streams >= ALQI_PRELOAD_STREAMS_MAX)
        return NULL;
    if (streams.slab_left_bytes < sizeof *s) {
        streams.slab = alqi_plat_pages_map(SLAB_BYTES);
        streams.slab_left_bytes = streams.slab != NULL ? SLAB_BYTES : 0;
        if (streams.slab == NULL)
            return NULL;
    }
    s = (void *)streams.slab;
    streams.slab += (sizeof *s + 15) & ~(size_t)15;
    streams.slab_left_bytes -= (sizeof *s + 15) & ~(size_t)15;
    s->kind = ALQI_RAW_EVENTS;
    s->index = streams.n_streams++;
    return s;
}

/* A stream from the pool, or a new one; NULL: none can be made. */
static struct alqi_preload_stream *
take(void)
{
    struct alqi_preload_stream *s;
    uint32_t was = alqi_preload_lock(&streams.lock);

    s = streams.pool;
    if (s != NULL)
        streams.pool = s->next;
    else
        s = carve_locked();
    alqi_preload_unlock(&streams.lock, was);
    return s;
}

static void
give(struct alqi_preload_stream *s)
{
    uint32_t was = alqi_preload_lock(&streams.lock);

    s->next = streams.pool;
    streams.pool = s;
    alqi_preload_unlock(&streams.lock, was);
}

/* ---- writing ------------------------------------------------------------- */

/* The exact mode's notes are below all of them. */
static uint64_t
notes_new(void)
{
    static _Atomic(uint64_t) n_chunks;

    _Static_assert(ALQI_RAW_NAMED_MAX <= 1 << 16, "numbers fit");
    return (uint64_t)1 << 63 |
           atomic_fetch_add_explicit(&n_chunks, 1, memory_order_relaxed) << 16;
}

bool
alqi_preload_stream_turn(struct alqi_preload_stream *s, uint64_t now_ns)
{
    struct alqi_raw_encoder *e = &s->encoder;
    struct alqi_raw_chunk_header *chunk = alqi_preload_file_chunk_new(
        s->kind, s->index, s->sequence, now_ns, e->next_ordinal);

    if (chunk == NULL)
        return false;
    if (s->chunk != NULL)
        alqi_preload_file_chunk_done(s->chunk);
    s->chunk = chunk;
    s->sequence++;
    s->has_stack = false;
    s->notes = notes_new();
    e->n_named = e->n_named_frames = 0;
    e->at = (uint8_t *)(chunk + 1);
    e->end = (uint8_t *)chunk + ALQI_RAW_CHUNK_BYTES;
    e->last_ns = now_ns;
    e->last_pc = 0;
    e->rate = alqi_preload_file_header()->rate;
    return true;
}

bool
alqi_preload_stream_announce(struct alqi_preload_thread *thread,
                             uint64_t now_ns)
{
    struct alqi_preload_stream *s = thread->stream;
    bool is_new = alqi_preload_poll_name(thread->name);

    if (thread->is_announced && !is_new)
        return true;
    if (!alqi_raw_put_thread(&s->encoder, now_ns, thread->index, thread->tid,
                             thread->name) &&
        (!alqi_preload_stream_turn(s, now_ns) ||
         !alqi_raw_put_thread(&s->encoder, now_ns, thread->index, thread->tid,
                              thread->name)))
        return false;
    alqi_preload_stream_commit(s);
    thread->is_announced = true;
    return true;
}

struct alqi_preload_stream *
alqi_preload_stream_ready_slow(struct alqi_preload_thread *thread,
                               uint64_t now_ns)
{
    if (ALQI_UNLIKELY(thread->stream == NULL)) {
        if (!alqi_preload_stream_file())
            return NULL;
        thread->stream = take();
        if (thread->stream == NULL)
            return NULL;
    }
    if (ALQI_UNLIKELY(thread->stream->chunk == NULL) &&
        !alqi_preload_stream_turn(thread->stream, now_ns))
        return NULL;
    if (ALQI_UNLIKELY(!thread->is_announced) &&
        !alqi_preload_stream_announce(thread, now_ns))
        return NULL;
    return thread->stream;
}

void
alqi_preload_stream_give(struct alqi_preload_thread *thread)
{
    struct alqi_preload_stream *s = thread->stream;

    if (s == NULL)
        return;
    /* Once more: most threads get their name after their first allocation. */
    if (s->chunk != NULL && thread->hot != NULL &&
        alqi_preload_stream_has_file())
        alqi_preload_stream_announce(thread, alqi_plat_mono_ns_sigsafe());
    thread->stream = NULL;
    give(s);
}

/* ---- the end of the recording, not of the process ------------------------ */

void
alqi_preload_streams_end(void)
{
    uint32_t was = alqi_preload_lock(&streams.lock);

    atomic_store(&streams.has_file, false);
    streams.is_failed = true; /* until a start asks once more */
    alqi_preload_unlock(&streams.lock, was);
}

void
alqi_preload_stream_renew(struct alqi_preload_stream *s)
{
    if (s->chunk != NULL)
        alqi_preload_file_chunk_done(s->chunk);
    memset(&s->encoder, 0, sizeof s->encoder);
    s->chunk = NULL;
    s->sequence = 0;
    s->has_stack = false;
}

static void
thread_renew(struct alqi_preload_thread *thread)
{
    struct alqi_preload_stream *s = thread->stream;

    thread->is_announced = false;
    thread->stream = NULL;
    if (s != NULL)
        give(s);
}

void
alqi_preload_streams_close(void)
{
    uint32_t was;

    alqi_preload_threads_each(thread_renew);
    was = alqi_preload_lock(&streams.lock);
    for (struct alqi_preload_stream *s = streams.pool; s != NULL; s = s->next)
        alqi_preload_stream_renew(s);
    streams.is_forked = false;
    alqi_preload_unlock(&streams.lock, was);
    alqi_preload_file_close();
}

void
alqi_preload_streams_fork_child(void)
{
    alqi_plat_lock_break(&streams.lock);
    streams.pool = NULL;
    streams.n_streams = 0;
    streams.slab_left_bytes = 0; /* old streams point into the parent's file */
    streams.is_forked = true;
    streams.is_failed = false;
    atomic_store_explicit(&streams.has_file, false, memory_order_relaxed);
    alqi_preload_file_leave();
}
