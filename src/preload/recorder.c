/* recorder.c -- the profile that writes the recording
 *
 * A client of the engine like any other: its alloc callback writes an event
 * into the thread's stream and keeps the allocation's number as user data, its
 * dealloc callback writes the free.  Both run with the thread's mode CALLBACK;
 * all other writers of a stream run INSIDE.  So no signal handler of the same
 * thread writes in between.
 *
 *   no profile --start--> sampling --rate--> sampling by another profile
 *                           | stop, and start again: the file goes on
 *                           '-end--> ended --close--> no profile
 *
 * .inv.share   A stack shares frames with the previous one only when that one
 *              was the capture cache's previous one and is in the same chunk.
 * .inv.again   A stack's note, if it is of the stream's chunk, is its number
 *              there.  Of the thread's captures only those whose notes are of
 *              a chunk before, or none, tell what they share.
 * .inv.runs    A stack with Python frames (python.c) has no number, and what it
 *              shares is known by what was written, not by the capture cache;
 *              no stack from the cache shares frames with it.
 * .inv.move    A realloc frees the old block before it tries the new one.  The
 *              free of the old one is held back until then: when the new one
 *              is recorded, one event frees the old one and links the two.
 *
 * .inv.reborn  What realloc or mremap made says so itself, whatever became of
 *              the old block's entry: that it is in the sample is enough.
 * .pair.profile  alqi_preload_recorder_rate(), one operation at a time
 *              (.inv.orphan) -> alqi_preload_recorder_drops(), by any thread:
 *              the profile's counters.
 *
 * User data of an entry: epoch (8 bits), stream (16), ordinal (40).  The epoch
 * counts forks: a child's frees of its parent's blocks are told by it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/defaults.h"
#include "preload/exact.h"
#include "preload/file.h"
#include "preload/mark.h"
#include "preload/preload.h"
#include "preload/pool_name.h"
#include "preload/python.h"
#include "preload/stream.h"

enum { STREAM_BITS = 16, ORDINAL_BITS = 40, DROPS_EVERY = 64 };

_Static_assert(ALQI_PRELOAD_STREAMS_MAX == 1 << STREAM_BITS, "user data");

static struct {
    uint32_t epoch;
    _Atomic(uint32_t) n_modules;         /* in the recording: .pair.modules */
    struct alq_profile *_Atomic profile; /* NULL before the first start;
                                            .pair.profile */
} recorder;

/* Samples per word, of the profile that follows a full exact mode. */
static double sampled_rate = ALQI_DEFAULT_RATE;

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

void
alqi_preload_unflag(enum alqi_raw_flag flag)
{
    atomic_fetch_and_explicit(&alqi_preload_file_header()->flags,
                              ~(uint32_t)flag, memory_order_relaxed);
}

/* ---- what the engine dropped ----------------------------------------------
 */

/* Adds what the engine's counter grew by since it was last added.  Threads may
 * pass each other here: the differences, modulo 2^64, still sum up. */
static void
drop_add(_Atomic(uint64_t) *added, uint64_t now, enum alqi_raw_counter counter)
{
    uint64_t before = atomic_exchange(added, now); /* .pair.alone */

    if (now != before)
        alqi_preload_count(counter, now - before);
}

/* Profiles that were replaced by one of another rate: what they dropped. */
static struct {
    _Atomic(uint64_t) nomem, cap, nested;
} past;

void
alqi_preload_recorder_drops(void)
{
    static _Atomic(uint64_t) nomem, cap, nested;
    struct alq_profile *profile = recorder.profile;
    struct alq_memprof_counts c;

    if (profile == NULL)
        return;
    alqi_memprof_counts(profile, &c);
    drop_add(&nomem, past.nomem + c.dropped_nomem, ALQI_RAW_DROPPED_NOMEM);
    drop_add(&cap, past.cap + c.dropped_cap, ALQI_RAW_DROPPED_CAP);
    drop_add(&nested, past.nested + c.dropped_nested, ALQI_RAW_DROPPED_NESTED);
}

/* The present profile is about to be a past one.  A thread that adds meanwhile
 * may add too much or too little; the next addition makes up for it. */
static void
drops_count_past(void)
{
    struct alq_memprof_counts c;

    if (recorder.profile == NULL)
        return;
    alqi_memprof_counts(recorder.profile, &c);
    past.nomem += c.dropped_nomem;
    past.cap += c.dropped_cap;
    past.nested += c.dropped_nested;
}

void
alqi_preload_recorder_thread_end(struct alqi_preload_thread *thread)
{
    alqi_preload_recorder_drops();
    alqi_preload_stream_give(thread);
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
        m->cache->serial != thread->memo_serial + 1 ||
        m->last.n_frames != stack->n_frames)
        return 0;
    return m->last.n_same_outer;
}

static uint64_t
data_ordinal(uintptr_t data)
{
    return data & (((uint64_t)1 << ORDINAL_BITS) - 1);
}

static uint32_t
data_stream(uintptr_t data)
{
    return (uint32_t)(data >> ORDINAL_BITS) & (ALQI_PRELOAD_STREAMS_MAX - 1);
}

static bool
data_is_inherited(uintptr_t data)
{
    return (uint32_t)(data >> (STREAM_BITS + ORDINAL_BITS)) !=
           (recorder.epoch & 0xFF);
}

/* Whether the new block is what a realloc made of the old one. */
static bool
is_moved(const struct alqi_preload_thread *thread, const void *block)
{
    return thread->moving.is_freed && thread->moving.block == block;
}

/* The place for the note of an allocation's stack, or NULL. */
static uint64_t *
note_of(const struct alqi_preload_thread *thread,
        const struct alq_callstack *stack)
{
    const struct alqi_memprof_thread *m = &thread->memprof;

    return ALQI_LIKELY(m->last.frames == stack->frames &&
                       m->last.n_frames == stack->n_frames)
               ? m->last.note
               : NULL;
}

/* By its number, if it has one; else it is given one, if it may have one. */
static bool
stack_put(struct alqi_preload_thread *thread, const struct alq_allocation *a,
          uint64_t now_ns, uint32_t n_shared)
{
    const struct alqi_preload_stream *s = thread->stream;
    struct alqi_raw_encoder *e = &thread->stream->encoder;
    const uintptr_t *frames = a->callstack.frames;
    uint32_t n_frames = (uint32_t)a->callstack.n_frames, number = e->n_named;
    uint64_t *note = note_of(thread, &a->callstack);

    if (ALQI_LIKELY(note != NULL && *note - s->notes < number))
        return alqi_raw_put_again(e, now_ns, a->size_bytes, a->n_samples,
                                  (uint32_t)(*note - s->notes), frames[0]);
    if (note == NULL || !alqi_raw_may_name(e, n_frames))
        return alqi_raw_put_alloc(e, now_ns, a->size_bytes, a->n_samples,
                                  frames, n_frames, n_shared);
    if (!alqi_raw_put_named(e, now_ns, a->size_bytes, a->n_samples, frames,
                            n_frames, n_shared))
        return false;
    *note = s->notes + number;
    thread->memprof.cache->same_below = s->notes;
    return true;
}

/* The allocation and the events that must come before it; all or none. */
static ALQI_NOINLINE bool
alloc_put_after(struct alqi_preload_thread *thread,
                const struct alq_allocation *a, double rate, uint64_t now_ns,
                uint32_t n_shared)
{
    struct alqi_preload_stream *s = thread->stream;
    struct alqi_raw_encoder *e = &s->encoder;
    struct alqi_raw_encoder before = *e;
    uint32_t from = data_stream(thread->moving.data);

    if ((ALQI_LIKELY(e->rate == rate) || alqi_raw_put_rate(e, now_ns, rate)) &&
        (!is_moved(thread, a->block) ||
         alqi_raw_put_moved(e, now_ns, from == s->index, from,
                            data_ordinal(thread->moving.data))) &&
        (alqi_preload_hot.reborn != a->block ||
         alqi_raw_put_reborn(e, now_ns)) &&
        (alqi_preload_hot.mapping != a->block ||
         alqi_raw_put_mapped(e, now_ns)) &&
        (thread->pool == 0 || alqi_raw_put_pooled(e, now_ns, thread->pool)) &&
        stack_put(thread, a, now_ns, n_shared))
        return true;
    *e = before;
    return false;
}

/* Writes an allocation into the chunk that there is; false: the chunk is full.
 * Most allocations need no mark before them. */
static inline bool
alloc_put_once(struct alqi_preload_thread *thread,
               const struct alq_allocation *a, double rate, uint64_t now_ns,
               uint32_t n_shared)
{
    if (ALQI_LIKELY(thread->stream->encoder.rate == rate &&
                    thread->moving.block == NULL && thread->pool == 0 &&
                    alqi_preload_hot.reborn == NULL &&
                    alqi_preload_hot.mapping == NULL))
        return stack_put(thread, a, now_ns, n_shared);
    return alloc_put_after(thread, a, rate, now_ns, n_shared);
}

/* Writes an allocation, in the next chunk if this one is full; false: no space.
 * A new chunk has no stack to share frames with (.inv.share). */
static bool
alloc_put(struct alqi_preload_thread *thread, const struct alq_allocation *a,
          double rate, uint64_t now_ns, bool is_made)
{
    uint32_t n_shared = is_made ? alqi_preload_python_shared(thread)
                                : frames_shared(thread, &a->callstack);

    return ALQI_LIKELY(alloc_put_once(thread, a, rate, now_ns, n_shared)) ||
           (alqi_preload_stream_turn(thread->stream, now_ns) &&
            alloc_put_once(thread, a, rate, now_ns, 0));
}

/* A profile's rate is its tracker's argument: when rates change, the blocks
 * of each are told apart without a look at anything shared. */
static void *
arg_from_rate(double rate)
{
    uintptr_t bits;

    _Static_assert(sizeof bits == sizeof rate, "a pointer holds a double");
    memcpy(&bits, &rate, sizeof bits);
    return (void *)bits;
}

static double
rate_from_arg(void *arg)
{
    uintptr_t bits = (uintptr_t)arg;
    double rate;

    memcpy(&rate, &bits, sizeof rate);
    return rate;
}

/* What the samples of the block whose callback runs stand for. */
static int64_t
sampled_bytes(const struct alqi_preload_thread *thread, void *arg)
{
    return (int64_t)((double)alqi_memprof_running_samples(&thread->memprof) *
                     ALQI_WORD_BYTES / rate_from_arg(arg));
}

/* The allocation with Python frames in its stack; false: it has none. */
static bool
python_make(struct alqi_preload_thread *thread, const struct alq_allocation *a,
            struct alq_allocation *made)
{
    struct alq_callstack stack;

    if (!alqi_preload_python_stack(thread, &a->callstack, &stack))
        return false;
    *made = *a;
    made->callstack = stack;
    return true;
}

/* The alloc callback.  A block without space in the recording is counted and
 * dropped; the others keep their place in it as user data. */
static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct alqi_preload_thread *thread = alqi_preload_current();
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    struct alqi_preload_stream *s = alqi_preload_stream_ready(thread, now_ns);
    struct alq_allocation made;
    bool is_made = false;

    if (ALQI_LIKELY(s != NULL))
        alqi_preload_poll(thread, now_ns);
    if (ALQI_UNLIKELY(s != NULL && (is_made = python_make(thread, a, &made)))) {
        a = &made;
        now_ns = alqi_plat_mono_ns_sigsafe(); /* python.c .inv.told */
    }
    thread->pool = s != NULL ? alqi_preload_pool_number(a->block) : 0;
    if (ALQI_UNLIKELY(thread->pool != 0))
        now_ns = alqi_plat_mono_ns_sigsafe(); /* pool_name.c .inv.named */
    if (ALQI_UNLIKELY(s == NULL || !alloc_put(thread, a, rate_from_arg(arg),
                                              now_ns, is_made))) {
        alqi_preload_count(ALQI_RAW_DROPPED_SPACE, 1);
        return ALQ_TRACK_DROP;
    }
    alqi_preload_stream_commit(s);
    if (ALQI_UNLIKELY(is_moved(thread, a->block))) {
        thread->moving.block = NULL;
        alqi_preload_count(ALQI_RAW_FREES, 1);
    }
    s->has_stack = true;
    thread->memo_serial = thread->memprof.cache->serial;
    if (is_made) { /* .inv.runs */
        alqi_preload_python_written(thread);
        thread->memo_serial--;
    }
    alqi_preload_count(ALQI_RAW_SAMPLES, 1);
    if (ALQI_UNLIKELY(s->encoder.next_ordinal % DROPS_EVERY == 0))
        alqi_preload_recorder_drops();
    if (ALQI_UNLIKELY(thread->memprof.last.incomplete))
        alqi_preload_count(ALQI_RAW_INCOMPLETE, 1);
    if (ALQI_UNLIKELY(thread->memprof.last.truncated))
        alqi_preload_count(ALQI_RAW_TRUNCATED, 1);
    *data = data_from(s, s->encoder.next_ordinal - 1);
    alqi_preload_poll_alive(sampled_bytes(thread, arg));
    return ALQ_TRACK_KEEP;
}

/* Writes the free of a recorded block by its user data.  The parent's blocks
 * are in another recording: their frees are counted alone. */
static void
free_put(struct alqi_preload_thread *thread, uintptr_t data)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();
    uint64_t ordinal = data_ordinal(data);
    uint32_t stream = data_stream(data);
    struct alqi_preload_stream *s;
    bool is_own;

    if (data_is_inherited(data)) {
        alqi_preload_count(ALQI_RAW_INHERITED_FREES, 1);
        return;
    }
    s = alqi_preload_stream_ready(thread, now_ns);
    is_own = s != NULL && s->index == stream;
    if (ALQI_LIKELY(s != NULL))
        alqi_preload_poll(thread, now_ns);
    if (s == NULL ||
        (!alqi_raw_put_free(&s->encoder, now_ns, is_own, stream, ordinal) &&
         (!alqi_preload_stream_turn(s, now_ns) ||
          !alqi_raw_put_free(&s->encoder, now_ns, is_own, stream, ordinal)))) {
        alqi_preload_count(ALQI_RAW_LOST_FREES, 1);
        return;
    }
    alqi_preload_stream_commit(s);
    alqi_preload_count(ALQI_RAW_FREES, 1);
}

/* The dealloc callback.  The free of a block that realloc moves is held back
 * (.inv.move). */
static int
on_dealloc(void *arg, uintptr_t data)
{
    struct alqi_preload_thread *thread = alqi_preload_current();

    if (thread->moving.block != NULL && thread->moving.data == data)
        thread->moving.is_freed = true;
    else
        free_put(thread, data);
    alqi_preload_poll_alive(-sampled_bytes(thread, arg));
    return 0;
}

/* ---- realloc ------------------------------------------------------------- */

struct alqi_preload_moving
alqi_preload_recorder_moving(struct alqi_preload_thread *thread,
                             const struct alqi_memprof_entry *taken,
                             const void *block)
{
    struct alqi_preload_moving outer = thread->moving, now = {0};

    if (block != NULL &&
        alqi_memprof_realloc_data(taken, on_dealloc, &now.data) &&
        !data_is_inherited(now.data))
        now.block = block;
    thread->moving = now;
    return outer;
}

void
alqi_preload_recorder_moved(struct alqi_preload_thread *thread,
                            struct alqi_preload_moving outer)
{
    struct alqi_preload_moving moving = thread->moving;

    thread->moving = outer;
    if (moving.block != NULL && moving.is_freed) {
        int saved = errno;
        int64_t left = alqi_preload_park(thread);
        uint32_t was = alqi_memprof_enter(&thread->memprof);

        free_put(thread, moving.data);
        alqi_memprof_leave(&thread->memprof, was);
        alqi_preload_unpark(thread, left);
        errno = saved;
    }
}

/* Serialised by the unwinder; a lost module costs names, not samples. */
static void
on_module(void *arg, const struct alqi_stack_module *m)
{
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    (void)arg;
    alqi_preload_python_module(m->start);
    if (!alqi_preload_stream_has_file() &&
        ((!alqi_preload_recorder_is_on() &&
          alqi_preload_exact_is(ALQI_PRELOAD_EXACT_OFF)) ||
         !alqi_preload_stream_file()))
        return; /* what another client met; a start forgets it */
    if (alqi_preload_python_is_unread())
        alqi_preload_flag(ALQI_RAW_PYTHON_UNREAD);
    if (modules.chunk == NULL && !alqi_preload_stream_turn(&modules, now_ns))
        return;
    if (!alqi_raw_put_module(&modules.encoder, now_ns, m->start, m->end,
                             m->bias, m->path, m->build_id,
                             m->build_id_bytes) &&
        (!alqi_preload_stream_turn(&modules, now_ns) ||
         !alqi_raw_put_module(&modules.encoder, now_ns, m->start, m->end,
                              m->bias, m->path, m->build_id,
                              m->build_id_bytes)))
        return;
    alqi_preload_stream_commit(&modules);
    atomic_fetch_add_explicit(&recorder.n_modules, 1, memory_order_release);
}

/* .pair.modules  on_module() (release) -> alqi_preload_recorder_n_modules()
 *                (acquire): their records are in the recording. */
uint32_t
alqi_preload_recorder_n_modules(void)
{
    return atomic_load_explicit(&recorder.n_modules, memory_order_acquire);
}

/* ---- start, fork --------------------------------------------------------- */

/* The header tells the largest rate before the first allocation of it
 * (.pair.alone: what is recorded at it is committed later). */
static void
most_rate_raise(double rate)
{
    _Atomic(uint64_t) *most = &alqi_preload_file_header()->most_rate_bits;
    uint64_t bits, now = atomic_load(most);

    memcpy(&bits, &rate, sizeof bits); /* ordered as the rates are: no sign */
    while (bits > now && !atomic_compare_exchange_weak(most, &now, bits))
        continue;
}

/* Makes the recording if there is none; false: no file can be made.  A new
 * recording has all modules announced to it. */
static bool
file_begin(double rate, const char *out)
{
    bool had_file = alqi_preload_stream_has_file();

    if (!alqi_preload_stream_file_of(rate, out))
        return false;
    if (!had_file) { /* another client may have met modules before */
        modules.index = ALQI_PRELOAD_STREAMS_MAX;
        alqi_stack_on_module(on_module, NULL);
        alqi_stack_forget();
    }
    return true;
}

enum alq_status
alqi_preload_recorder_rate(struct alqi_preload_thread *thread, double rate,
                           const char *out)
{
    const struct alq_tracker tracker = {
        .alloc_major = on_alloc,
        .dealloc_major = on_dealloc,
        .arg = arg_from_rate(rate),
    };
    const struct alq_memprof_config config = {
        .rate = rate,
        .callstack_frames = alqi_preload_config.depth_frames,
        .seed = recorder.profile == NULL ? alqi_preload_config.seed : 0,
    };
    struct alq_profile *profile;
    enum alq_status status;
    uint32_t was;

    if (!file_begin(rate, out))
        return ALQ_EIO;
    most_rate_raise(rate);
    status = alqi_memprof_start(alqi_preload_domain, &thread->memprof,
                                ALQI_MEMPROF_SLOT_RECORDER, &config, &tracker,
                                &profile);
    if (status != ALQ_OK)
        return status;
    drops_count_past();
    if (recorder.profile == NULL)
        alqi_preload_file_header()->seed = alqi_memprof_seed(profile);
    was = alqi_preload_bypass_begin();
    alqi_memprof_profile_drop(recorder.profile);
    alqi_preload_bypass_end(was);
    recorder.profile = profile;
    return ALQ_OK;
}

void
alqi_preload_recorder_start(void)
{
    enum alq_status status;

    if (alqi_preload_config.is_exact) {
        if (alqi_preload_config.rate > 0)
            sampled_rate = alqi_preload_config.rate;
        if (file_begin(1, NULL))
            alqi_preload_exact_start();
        return;
    }
    status = alqi_preload_recorder_rate(alqi_preload_current(),
                                        alqi_preload_config.rate, NULL);
    if (status != ALQ_OK && status != ALQ_EIO) /* which is logged */
        alqi_preload_log(alq_status_text(status));
}

enum alq_status
alqi_preload_recorder_stop(struct alqi_preload_thread *thread)
{
    enum alq_status status = alqi_memprof_stop(
        alqi_preload_domain, &thread->memprof, ALQI_MEMPROF_SLOT_RECORDER);

    if (status == ALQ_OK)
        alqi_preload_flag(ALQI_RAW_PAUSED);
    alqi_preload_recorder_drops();
    return status;
}

bool
alqi_preload_recorder_is_on(void)
{
    return alqi_memprof_is_sampling(alqi_preload_domain,
                                    ALQI_MEMPROF_SLOT_RECORDER);
}

bool
alqi_preload_recorder_has_all(void)
{
    return alqi_preload_exact_is(ALQI_PRELOAD_EXACT_ALL) ||
           (alqi_preload_config.rate >= 1 && alqi_preload_recorder_is_on());
}

/* Whom block_tell tells. */
struct told {
    void (*visit)(void *arg, const void *block, uint32_t stream,
                  uint64_t ordinal);
    void *arg;
};

/* The parent's blocks are in another recording. */
static void
block_tell(void *arg, const void *block, uintptr_t data)
{
    const struct told *told = arg;

    if (!data_is_inherited(data))
        told->visit(told->arg, block, data_stream(data), data_ordinal(data));
}

void
alqi_preload_recorder_each_alone(void (*visit)(void *arg, const void *block,
                                               uint32_t stream,
                                               uint64_t ordinal),
                                 void *arg)
{
    struct told told = {visit, arg};

    alqi_memprof_each_alone(on_dealloc, block_tell, &told);
}

void
alqi_preload_recorder_take_over(void)
{
    char text[200];
    double bytes = ALQI_WORD_BYTES / sampled_rate;
    uint64_t ms = (alqi_plat_mono_ns_sigsafe() -
                   alqi_preload_file_header()->start_mono_ns) /
                  1000000;

    snprintf(text, sizeof text,
             "the exact mode's tables are full (--max-memory) after "
             "%" PRIu64 ".%03u s: from here allocations are sampled, one in "
             "%.0f bytes",
             ms / 1000, (unsigned)(ms % 1000), bytes);
    alqi_preload_log(text);
    alqi_preload_recorder_rate(alqi_preload_current(), sampled_rate, NULL);
}

void
alqi_preload_recorder_end(struct alqi_preload_thread *thread)
{
    uint32_t was;

    if (alqi_preload_recorder_is_on())
        alqi_memprof_stop(alqi_preload_domain, &thread->memprof,
                          ALQI_MEMPROF_SLOT_RECORDER);
    alqi_preload_recorder_drops();
    alqi_preload_ended(ALQI_RAW_DETACHED);
    alqi_preload_streams_end();
    if (recorder.profile == NULL)
        return;
    drops_count_past();
    alqi_memprof_discard(&thread->memprof, recorder.profile);
    was = alqi_preload_bypass_begin();
    alqi_memprof_profile_drop(recorder.profile);
    alqi_preload_bypass_end(was);
    recorder.profile = NULL;
}

void
alqi_preload_recorder_close(void)
{
    recorder.epoch++;
    alqi_preload_poll_renew();
    alqi_preload_streams_close();
    alqi_preload_stream_renew(&modules);
    alqi_preload_python_close();
    alqi_preload_pool_name_close();
    alqi_preload_mark_close();
    atomic_store(&recorder.n_modules, 0);
}

void
alqi_preload_recorder_fork_child(bool is_prepared)
{
    recorder.epoch++;
    alqi_preload_poll_fork_child(is_prepared);
    alqi_preload_streams_fork_child();
    modules.chunk = NULL; /* the parent's */
    alqi_preload_stream_renew(&modules);
    alqi_preload_python_fork_child();
    alqi_preload_pool_name_fork_child();
    alqi_preload_mark_fork_child();
    atomic_store(&recorder.n_modules, 0);
    alqi_stack_forget(); /* every module is announced again, to the new file */
}
