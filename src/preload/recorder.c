/* recorder.c -- the profile that writes the recording
 *
 * A client of the engine like any other: its alloc callback writes an event
 * into the thread's stream and keeps the allocation's number as user data, its
 * dealloc callback writes the free.  Both run with the thread's mode CALLBACK,
 * so no signal handler can enter them on the same thread.
 *
 * .inv.stream  A stream is used by the one thread whose state names it, or is
 *              in the pool.
 * .inv.share   A stack shares frames with the previous one only when that one
 *              was the memo's previous capture and stands in the same chunk.
 *
 * User data of an entry: epoch (8 bits), stream (16), ordinal (40).  The epoch
 * counts forks: a child's frees of its parent's blocks are told by it. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "preload/file.h"
#include "preload/preload.h"

enum {
    STREAM_BITS = 16,
    ORDINAL_BITS = 40,
    STREAMS_MAX = 1 << STREAM_BITS,
    DROPS_EVERY = 64
};

struct alqi_preload_stream {
    struct alqi_raw_encoder encoder;
    struct alqi_raw_chunk_header *chunk;
    struct alqi_preload_stream *next; /* in the pool */
    uint32_t index;
    uint32_t sequence;
    enum alqi_raw_chunk_kind kind;
    bool has_stack; /* this chunk has an allocation to share with */
};

static struct {
    struct alqi_plat_lock lock; /* of the pool and of making the file */
    struct alqi_preload_stream *pool;
    char *slab; /* streams are carved from pages */
    size_t slab_left_bytes;
    uint32_t n_streams;
    uint32_t epoch;
    struct alq_profile *profile; /* for its counters; NULL before the start */
    _Atomic(bool) has_file;
    bool is_failed; /* no file can be made: nothing is recorded */
} recorder;

static struct alqi_preload_stream modules = {.kind = ALQI_RAW_MODULES};

void
alqi_preload_count(enum alqi_raw_counter counter, uint64_t n)
{
    atomic_fetch_add_explicit(&alqi_preload_file_header()->counters[counter], n,
                              memory_order_relaxed);
}

void
alqi_preload_flag(enum alqi_raw_flag flag)
{
    atomic_fetch_or_explicit(&alqi_preload_file_header()->flags, flag,
                             memory_order_relaxed);
}

/* ---- what the engine dropped ----------------------------------------------
 */

/* Adds what the engine's counter grew by since it was last added.  Threads may
 * pass each other here: the differences, modulo 2^64, still sum up. */
static void
drop_add(_Atomic(uint64_t) *added, uint64_t now, enum alqi_raw_counter counter)
{
    uint64_t before = atomic_exchange(added, now);

    if (now != before)
        alqi_preload_count(counter, now - before);
}

void
alqi_preload_recorder_drops(void)
{
    static _Atomic(uint64_t) nomem, cap, nested;
    struct alq_memprof_counts c;

    if (recorder.profile == NULL)
        return;
    alqi_memprof_counts(recorder.profile, &c);
    drop_add(&nomem, c.dropped_nomem, ALQI_RAW_DROPPED_NOMEM);
    drop_add(&cap, c.dropped_cap, ALQI_RAW_DROPPED_CAP);
    drop_add(&nested, c.dropped_nested, ALQI_RAW_DROPPED_NESTED);
}

/* ---- streams ------------------------------------------------------------- */

static struct alqi_preload_stream *
stream_carve_locked(void)
{
    struct alqi_preload_stream *s;

    if (recorder.n_streams >= STREAMS_MAX)
        return NULL;
    if (recorder.slab_left_bytes < sizeof *s) {
        recorder.slab = alqi_plat_pages_map(4096);
        recorder.slab_left_bytes = recorder.slab != NULL ? 4096 : 0;
        if (recorder.slab == NULL)
            return NULL;
    }
    s = (void *)recorder.slab;
    recorder.slab += (sizeof *s + 15) & ~(size_t)15;
    recorder.slab_left_bytes -= (sizeof *s + 15) & ~(size_t)15;
    s->kind = ALQI_RAW_EVENTS;
    s->index = recorder.n_streams++;
    return s;
}

static struct alqi_preload_stream *
stream_take(void)
{
    struct alqi_preload_stream *s;

    alqi_plat_lock(&recorder.lock);
    s = recorder.pool;
    if (s != NULL)
        recorder.pool = s->next;
    else
        s = stream_carve_locked();
    alqi_plat_unlock(&recorder.lock);
    return s;
}

static void
stream_give(struct alqi_preload_stream *s)
{
    alqi_plat_lock(&recorder.lock);
    s->next = recorder.pool;
    recorder.pool = s;
    alqi_plat_unlock(&recorder.lock);
}

/* A fresh chunk for the stream; the old one, if any, is full. */
static bool
stream_turn(struct alqi_preload_stream *s, uint64_t now_ns)
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
    e->at = (uint8_t *)(chunk + 1);
    e->end = (uint8_t *)chunk + ALQI_RAW_CHUNK_BYTES;
    e->last_ns = now_ns;
    e->last_pc = 0;
    return true;
}

/* wire/raw.h .inv.commit */
static void
stream_commit(struct alqi_preload_stream *s)
{
    size_t used = (size_t)(s->encoder.at - (uint8_t *)(s->chunk + 1));

    atomic_store_explicit(&s->chunk->used, (uint32_t)used,
                          memory_order_release);
}

/* ---- the file ------------------------------------------------------------ */

static bool
file_ensure(void)
{
    if (ALQI_LIKELY(
            atomic_load_explicit(&recorder.has_file, memory_order_acquire)))
        return true;
    alqi_plat_lock(&recorder.lock);
    if (!atomic_load_explicit(&recorder.has_file, memory_order_relaxed) &&
        !recorder.is_failed) {
        bool ok =
            alqi_preload_file_create(recorder.epoch != 0 ? ALQI_RAW_FORKED : 0);

        recorder.is_failed = !ok;
        atomic_store_explicit(&recorder.has_file, ok, memory_order_release);
    }
    alqi_plat_unlock(&recorder.lock);
    return !recorder.is_failed;
}

/* ---- threads ------------------------------------------------------------- */

static bool
thread_put(struct alqi_preload_thread *thread, uint64_t now_ns)
{
    struct alqi_preload_stream *s = thread->stream;
    char name[17] = "";

    prctl(PR_GET_NAME, name);
    if (!alqi_raw_put_thread(&s->encoder, now_ns, thread->index, thread->tid,
                             name) &&
        (!stream_turn(s, now_ns) ||
         !alqi_raw_put_thread(&s->encoder, now_ns, thread->index, thread->tid,
                              name)))
        return false;
    stream_commit(s);
    thread->is_announced = true;
    return true;
}

/* The calling thread's stream with room for an event, or NULL. */
static struct alqi_preload_stream *
stream_ready(struct alqi_preload_thread *thread, uint64_t now_ns)
{
    if (ALQI_UNLIKELY(thread->stream == NULL)) {
        if (!file_ensure())
            return NULL;
        thread->stream = stream_take();
        if (thread->stream == NULL)
            return NULL;
    }
    if (ALQI_UNLIKELY(thread->stream->chunk == NULL) &&
        !stream_turn(thread->stream, now_ns))
        return NULL;
    if (ALQI_UNLIKELY(!thread->is_announced) && !thread_put(thread, now_ns))
        return NULL;
    return thread->stream;
}

void
alqi_preload_recorder_thread_end(struct alqi_preload_thread *thread)
{
    struct alqi_preload_stream *s = thread->stream;

    alqi_preload_recorder_drops();
    if (s == NULL)
        return;
    /* Once more: most threads get their name after their first allocation. */
    if (s->chunk != NULL && thread->hot != NULL)
        thread_put(thread, alqi_plat_mono_ns_sigsafe());
    thread->stream = NULL;
    stream_give(s);
}

/* ---- callbacks ----------------------------------------------------------- */

static uintptr_t
data_from(const struct alqi_preload_stream *s, uint64_t ordinal)
{
    return (uintptr_t)(((uint64_t)(recorder.epoch & 0xFF)
                        << (STREAM_BITS + ORDINAL_BITS)) |
                       ((uint64_t)s->index << ORDINAL_BITS) |
                       (ordinal & (((uint64_t)1 << ORDINAL_BITS) - 1)));
}

/* .inv.share */
static uint32_t
frames_shared(const struct alqi_preload_thread *thread,
              const struct alq_callstack *stack)
{
    const struct alqi_memprof_thread *m = &thread->memprof;

    if (!thread->stream->has_stack ||
        m->memo->serial != thread->memo_serial + 1 ||
        m->last.n_frames != stack->n_frames)
        return 0;
    return m->last.n_same_outer;
}

static bool
alloc_put(struct alqi_preload_thread *thread, const struct alq_allocation *a,
          uint64_t now_ns)
{
    struct alqi_preload_stream *s = thread->stream;
    uint32_t n_frames = (uint32_t)a->callstack.n_frames;
    uint32_t n_shared = frames_shared(thread, &a->callstack);

    if (ALQI_LIKELY(alqi_raw_put_alloc(&s->encoder, now_ns, a->size_bytes,
                                       a->n_samples, a->callstack.frames,
                                       n_frames, n_shared)))
        return true;
    return stream_turn(s, now_ns) &&
           alqi_raw_put_alloc(&s->encoder, now_ns, a->size_bytes, a->n_samples,
                              a->callstack.frames, n_frames, 0);
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct alqi_preload_thread *thread = alqi_preload_current();
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    struct alqi_preload_stream *s = stream_ready(thread, now_ns);

    (void)arg;
    if (ALQI_UNLIKELY(s == NULL || !alloc_put(thread, a, now_ns))) {
        alqi_preload_count(ALQI_RAW_DROPPED_SPACE, 1);
        return ALQ_TRACK_DROP;
    }
    stream_commit(s);
    s->has_stack = true;
    thread->memo_serial = thread->memprof.memo->serial;
    alqi_preload_count(ALQI_RAW_SAMPLES, 1);
    if (ALQI_UNLIKELY(s->encoder.next_ordinal % DROPS_EVERY == 0))
        alqi_preload_recorder_drops();
    if (ALQI_UNLIKELY(thread->memprof.last.incomplete))
        alqi_preload_count(ALQI_RAW_INCOMPLETE, 1);
    if (ALQI_UNLIKELY(thread->memprof.last.truncated))
        alqi_preload_count(ALQI_RAW_TRUNCATED, 1);
    *data = data_from(s, s->encoder.next_ordinal - 1);
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    struct alqi_preload_thread *thread = alqi_preload_current();
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    uint64_t bits = data;
    uint64_t ordinal = bits & (((uint64_t)1 << ORDINAL_BITS) - 1);
    uint32_t stream = (uint32_t)(bits >> ORDINAL_BITS) & (STREAMS_MAX - 1);
    struct alqi_preload_stream *s;
    bool is_own;

    (void)arg;
    if ((uint32_t)(bits >> (STREAM_BITS + ORDINAL_BITS)) !=
        (recorder.epoch & 0xFF)) {
        alqi_preload_count(ALQI_RAW_INHERITED_FREES, 1);
        return 0;
    }
    s = stream_ready(thread, now_ns);
    is_own = s != NULL && s->index == stream;
    if (s == NULL ||
        (!alqi_raw_put_free(&s->encoder, now_ns, is_own, stream, ordinal) &&
         (!stream_turn(s, now_ns) ||
          !alqi_raw_put_free(&s->encoder, now_ns, is_own, stream, ordinal)))) {
        alqi_preload_count(ALQI_RAW_LOST_FREES, 1);
        return 0;
    }
    stream_commit(s);
    alqi_preload_count(ALQI_RAW_FREES, 1);
    return 0;
}

/* Serialised by the unwinder; a lost module costs names, not samples. */
static void
on_module(void *arg, const struct alqi_stack_module *m)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    (void)arg;
    if (!file_ensure())
        return;
    if (modules.chunk == NULL && !stream_turn(&modules, now_ns))
        return;
    if (!alqi_raw_put_module(&modules.encoder, now_ns, m->start, m->end,
                             m->bias, m->path, m->build_id,
                             m->build_id_bytes) &&
        (!stream_turn(&modules, now_ns) ||
         !alqi_raw_put_module(&modules.encoder, now_ns, m->start, m->end,
                              m->bias, m->path, m->build_id,
                              m->build_id_bytes)))
        return;
    stream_commit(&modules);
}

/* ---- start, fork --------------------------------------------------------- */

void
alqi_preload_recorder_start(void)
{
    static const struct alq_tracker tracker = {
        .alloc_major = on_alloc,
        .dealloc_major = on_dealloc,
    };
    struct alq_memprof_config config = {
        .rate = alqi_preload_config.rate,
        .callstack_frames = alqi_preload_config.depth_frames,
        .seed = alqi_preload_config.seed,
    };
    struct alq_profile *profile;
    enum alq_status status;

    modules.index = STREAMS_MAX;
    alqi_stack_on_module(on_module, NULL);
    if (!file_ensure())
        return;
    status = alqi_memprof_start(
        alqi_preload_domain, &alqi_preload_current()->memprof,
        ALQI_MEMPROF_SLOT_RECORDER, &config, &tracker, &profile);
    if (status != ALQ_OK) {
        alqi_preload_say(alq_status_text(status));
        return;
    }
    alqi_preload_file_header()->seed = alqi_memprof_seed(profile);
    recorder.profile = profile; /* it runs until the process ends */
}

void
alqi_preload_recorder_fork_child(void)
{
    atomic_store_explicit(&recorder.lock.state, 0, memory_order_relaxed);
    recorder.epoch++;
    recorder.pool = NULL;
    recorder.n_streams = 0;
    recorder.slab_left_bytes = 0; /* old streams point into the parent's file */
    recorder.is_failed = false;
    atomic_store_explicit(&recorder.has_file, false, memory_order_relaxed);
    memset(&modules.encoder, 0, sizeof modules.encoder);
    modules.chunk = NULL;
    modules.sequence = 0;
    alqi_preload_file_leave();
    alqi_stack_forget(); /* every module is announced again, to the new file */
}
