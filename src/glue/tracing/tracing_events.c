/* tracing_events.c -- the tracker: from callbacks to events of the trace
 *
 * An allocation is put under the trace's lock. If its stack has frames that
 * were never described, the put ends with PUT_MISSING, the lock is given up,
 * the frames are described (it may be the program's code), and the put begins
 * again; frames are described once, so it comes to an end. Side records that an
 * allocation needs go before it. Promotions and frees find their stream by the
 * datum (.inv.datum). */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <aliquot/domain.h>

#include "base/base.h"
#include "glue/join/callstack.h"
#include "glue/tracing/trace_side.h"
#include "wire/side.h"
#include "glue/tracing/tracing.h"

enum { LOCATIONS = 64, MISSING = 64, THREADS_MAX = 60000 };

/* ---- data --------------------------------------------------------------- */

/* .inv.datum */
enum { DATUM_YOUNG = 1, DATUM_STREAM_SHIFT = 1, DATUM_ID_SHIFT = 8 };

_Static_assert(ALQI_TRACING_STREAMS_MAX <=
                   1 << (DATUM_ID_SHIFT - DATUM_STREAM_SHIFT),
               "a stream's number has its bits");

/* The id stands highest: it is the only part that grows. */
static uintptr_t
datum_make(uint64_t id, unsigned stream, bool is_young)
{
    return (uintptr_t)id << DATUM_ID_SHIFT |
           (uintptr_t)stream << DATUM_STREAM_SHIFT |
           (is_young ? DATUM_YOUNG : 0);
}

static unsigned
datum_stream(uintptr_t data)
{
    return data >> DATUM_STREAM_SHIFT & (ALQI_TRACING_STREAMS_MAX - 1);
}

/* ---- an allocation ------------------------------------------------------ */

/* On its way into the file. */
struct birth {
    const struct alq_allocation *a;
    enum alqi_ctf_source source;           /* as the file has it */
    const struct alq_stack_source *frames; /* whose they are */
    uint64_t who;                          /* allocates */
    unsigned rate;                         /* number    */
    uint64_t now_ns;
    /* the datum; 0: the block is not in the file */
    uintptr_t data;
    uintptr_t missing[MISSING]; /* frames that are to be described first */
    unsigned n_missing;
    /* as put or as dropped by settle; else it counts as dropped */
    bool is_counted;
    bool is_in; /* the file, or a packet on its way there */
};

enum put { PUT_DONE, PUT_DROPPED, PUT_MISSING };

/* The domain's number, or the thread's where there are no domains. */
static uint64_t
who_allocates(const struct alqi_tracing *t)
{
    return t->is_malloc ? alqi_plat_tid_sigsafe()
                        : alq_domain_id(alq_domain_self());
}

/* The trace's word for where the block is. */
static enum alqi_ctf_source
source_of(const struct alq_allocation *a, bool is_young)
{
    if (a->source == ALQ_SOURCE_CUSTOM || a->source == ALQ_SOURCE_MALLOC)
        return ALQI_CTF_EXTERNAL;
    return is_young ? ALQI_CTF_MINOR : ALQI_CTF_MAJOR;
}

/* ---- stacks ------------------------------------------------------------- */

/* Room for a stack of n frames in s->last; false: no memory. */
static bool
last_room(struct alqi_tracing_stream *s, size_t n)
{
    size_t capacity = s->last_capacity != 0 ? s->last_capacity : 64;
    uintptr_t *grown;

    if (n <= s->last_capacity)
        return true;
    while (capacity < n)
        capacity *= 2;
    grown = realloc(s->last, capacity * sizeof *grown);
    if (grown == NULL)
        return false;
    s->last = grown;
    s->last_capacity = capacity;
    return true;
}

/* Turns the writer's last stack into this one, of which *n_same frames are the
 * same.  Where frames are missing, it is the last one cut to those. */
static enum put
stack_put_locked(struct alqi_tracing_stream *s, struct birth *b,
                 uint32_t *n_same)
{
    const struct alqi_glue_trace_names *names = &s->tracing->names;
    const struct alq_callstack *c = &b->a->callstack;
    bool is_native = b->frames == NULL;
    size_t n = c->n_frames, same = 0;
    uint64_t *codes;
    uint32_t n_last;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (n > UINT32_MAX || !last_room(s, n))
        return PUT_DROPPED;
    codes = alqi_ctf_writer_stack(s->writer, (uint32_t)n, &n_last);
    if (codes == NULL)
        return PUT_DROPPED;
    if (is_native == s->is_last_native)
        while (same < n && same < s->n_last &&
               c->frames[n - 1 - same] == s->last[same])
            same++;
    *n_same = (uint32_t)same;
    s->is_last_native = is_native;
    s->n_last = same;
    b->n_missing = 0;
    for (size_t i = same; i < n && b->n_missing < MISSING; i++) {
        uintptr_t frame = c->frames[n - 1 - i];

        codes[i] = alqi_glue_trace_names_code(names, is_native, frame);
        if (ALQI_UNLIKELY(codes[i] == 0))
            b->missing[b->n_missing++] = frame;
        s->last[i] = frame;
    }
    return b->n_missing == 0 ? PUT_DONE : PUT_MISSING;
}

/* Outside of the lock: what describes may be the program's.  False: no memory.
 */
static bool
frame_meet(struct alqi_tracing *t, const struct alq_stack_source *source,
           uintptr_t frame)
{
    struct alq_location locations[LOCATIONS];
    bool is_native = source == NULL, is_met;
    size_t n =
        alqi_glue_callstack_describe(source, frame, locations, LOCATIONS);

    alqi_plat_lock(&t->lock);
    is_met =
        atomic_load(&t->is_over) ||
        alqi_glue_trace_names_code(&t->names, is_native, frame) != 0 ||
        alqi_glue_trace_names_add(&t->names, is_native, frame, locations, n);
    if (is_native)
        t->has_new_modules = true;
    alqi_plat_unlock(&t->lock);
    return is_met;
}

/* Describes each missing frame; false: no memory, and the block is dropped. */
static bool
frames_meet(struct alqi_tracing *t, const struct birth *b)
{
    for (unsigned i = 0; i < b->n_missing; i++)
        if (!frame_meet(t, b->frames, b->missing[i]))
            return false;
    return true;
}

/* ---- what stands beside ------------------------------------------------- */

/* Tells a thread, or a domain in its place, by its index. */
static enum alq_status
thread_tell_locked(const struct alqi_tracing *t,
                   const struct alqi_side_writer *side, uint64_t who,
                   uint64_t index)
{
    char name[32] = "";

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (t->is_malloc)
        pthread_getname_np(pthread_self(), name, sizeof name);
    else
        snprintf(name, sizeof name, "domain %" PRIu64, who);
    return alqi_side_write_thread(side, index, alqi_plat_tid_sigsafe(),
                                  ALQI_SIDE_NO_PROCESS, name);
}

/* Tells the modules that were met since the last time. */
static enum alq_status
modules_tell_locked(struct alqi_tracing *t, const struct alqi_side_writer *side)
{
    const struct alqi_glue_module *m;
    enum alq_status status = ALQ_OK;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    t->has_new_modules = false;
    while (status == ALQ_OK &&
           (m = alqi_glue_native_module(t->n_modules)) != NULL) {
        t->n_modules++;
        status = alqi_glue_trace_side_module(side, m);
    }
    return status;
}

/* Tells each rate up to this one that the stream has not told, then
 * switches. */
static ALQI_NOINLINE enum alq_status
rate_switch_locked(const struct alqi_tracing *t, struct alqi_tracing_stream *s,
                   const struct alqi_side_writer *side, unsigned rate)
{
    enum alq_status status = ALQ_OK;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    for (; status == ALQ_OK && s->n_rates_told <= rate; s->n_rates_told++)
        status = alqi_side_write_rate(side, s->n_rates_told,
                                      t->rates[s->n_rates_told]);
    s->rate = rate;
    return status == ALQ_OK ? alqi_side_write_mark(side, ALQI_SIDE_RATE, rate)
                            : status;
}

/* What the file must say before an allocation: of which thread and rate it is,
 * and the modules that its frames may be in. */
static enum alq_status
side_put_locked(struct alqi_tracing *t, struct alqi_tracing_stream *s,
                const struct birth *b, uint64_t *thread)
{
    struct alqi_side_writer side = {s->writer, &t->n_texts, s->last_us};
    uint64_t index = *thread / 2 - 1;
    enum alq_status status = ALQ_OK;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (ALQI_UNLIKELY((*thread & 1) == 0)) {
        *thread |= 1;
        status = thread_tell_locked(t, &side, b->who, index);
    }
    if (status == ALQ_OK && t->has_new_modules)
        status = modules_tell_locked(t, &side);
    if (status == ALQ_OK && s->thread != index) {
        s->thread = index;
        status = alqi_side_write_mark(&side, ALQI_SIDE_THREAD, index);
    }
    if (status == ALQ_OK && ALQI_UNLIKELY(s->rate != b->rate))
        status = rate_switch_locked(t, s, &side, b->rate);
    return status;
}

/* ---- into the file ------------------------------------------------------ */

/* The entry of `who` in threads, made if it is new; valid until the next one is
 * made. NULL: no memory. */
static uint64_t *
thread_at_locked(struct alqi_tracing *t, uint64_t who)
{
    bool is_new;
    uint64_t *at = alqi_base_map_at(&t->threads, who, &is_new);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (at != NULL && is_new)
        *at = ((t->threads.n_used - 1) % THREADS_MAX + 1) * 2;
    return at;
}

/* wire/side.h RATE: for tools that know one rate. */
static uint64_t
samples_scaled(const struct alqi_tracing *t, const struct birth *b)
{
    uint64_t n = b->a->n_samples;
    double scaled = (double)n * (t->rates[0] / t->rates[b->rate]);

    if (ALQI_LIKELY(b->rate == 0) || !(scaled < 0x1p53))
        return n;
    return scaled < 1 ? 1 : (uint64_t)(scaled + 0.5);
}

/* The event itself; the writer's stack is in place already. */
static enum alq_status
birth_write_locked(struct alqi_tracing *t, struct alqi_tracing_stream *s,
                   const struct birth *b, uint32_t n_same, uint64_t *id)
{
    const struct alq_allocation *a = b->a;
    enum alq_status status = alqi_ctf_write_alloc_in_place(
        s->writer, s->last_us, t->is_malloc ? a->size_bytes : a->size_words,
        samples_scaled(t, b), b->source, (uint32_t)a->callstack.n_frames,
        n_same, id);

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    if (status == ALQ_OK)
        s->n_last = a->callstack.n_frames;
    return status;
}

/* One attempt to put the allocation. Format 2 has one stream; format 3 spreads
 * domains, or threads, over streams. */
static enum put
birth_put_locked(struct alqi_tracing *t, struct birth *b)
{
    uint64_t *thread, id = 0;
    struct alqi_tracing_stream *s;
    enum alq_status status;
    uint32_t n_same;
    unsigned number;
    enum put put;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_GLUE_TRACING));
    thread = thread_at_locked(t, b->who);
    if (thread == NULL)
        return PUT_DROPPED;
    number = t->format < 3
                 ? 0
                 : (unsigned)((*thread / 2 - 1) % ALQI_TRACING_STREAMS_MAX);
    if (t->streams[number] == NULL &&
        alqi_tracing_stream_open(t, number) != ALQ_OK)
        return PUT_DROPPED;
    s = t->streams[number];
    put = stack_put_locked(s, b, &n_same);
    if (put != PUT_DONE)
        return put;
    s->last_us = alqi_tracing_time_us(t, b->now_ns);
    status = side_put_locked(t, s, b, thread);
    if (status == ALQ_OK)
        status = birth_write_locked(t, s, b, n_same, &id);
    b->data = datum_make(id, number, b->source == ALQI_CTF_MINOR);
    b->is_counted = true;
    b->is_in = status == ALQ_OK;
    alqi_tracing_settle_locked(s, status, b->now_ns);
    return PUT_DONE;
}

/* Under the lock, but for the program's own part. Counts the block, whatever
 * came of it. */
static void
birth_put(struct alqi_tracing *t, struct birth *b)
{
    enum put put;

    alqi_plat_lock(&t->lock);
    b->now_ns = alqi_plat_mono_ns_sigsafe();
    while (!atomic_load(&t->is_over) &&
           (put = birth_put_locked(t, b)) != PUT_DONE) {
        bool is_met;

        if (put == PUT_DROPPED)
            break;
        alqi_plat_unlock(&t->lock);
        is_met = frames_meet(t, b);
        alqi_plat_lock(&t->lock);
        b->now_ns = alqi_plat_mono_ns_sigsafe();
        if (!is_met)
            break;
    }
    t->counts.allocations++;
    t->counts.n_samples += b->a->n_samples;
    t->counts.dropped += !b->is_counted;
    alqi_plat_unlock(&t->lock);
}

/* ---- the tracker -------------------------------------------------------- */

/* In a forked child nothing is tracked: the file is the parent's. */
static int
on_alloc(const struct alqi_tracing_source *source,
         const struct alq_allocation *a, bool is_young, uintptr_t *data)
{
    struct alqi_tracing *t = source->tracing;
    struct birth b;

    if (alqi_glue_trace_file_is_childs(&t->file))
        return ALQ_TRACK_DROP;
    b.a = a;
    b.data = 0;
    b.source = source_of(a, is_young);
    b.frames = t->is_malloc ? NULL : alqi_glue_callstack_source();
    b.who = who_allocates(t);
    b.rate = source->rate;
    b.is_counted = b.is_in = false;
    birth_put(t, &b);
    *data = b.data;
    return b.is_in ? ALQ_TRACK_KEEP : ALQ_TRACK_DROP;
}

static int
on_alloc_minor(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, a, true, data);
}

static int
on_alloc_major(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    return on_alloc(arg, a, false, data);
}

/* A later event of a block, in the stream that has its allocation. */
static void
later_put(struct alqi_tracing *t, uintptr_t data,
          enum alq_status (*write)(struct alqi_ctf_writer *writer,
                                   uint64_t time_us, uint64_t id),
          uint64_t *count)
{
    struct alqi_tracing_stream *s;
    uint64_t now_ns;

    alqi_plat_lock(&t->lock);
    ++*count;
    s = t->streams[datum_stream(data)];
    if (s == NULL) { /* over */
        t->counts.dropped++;
    } else {
        now_ns = alqi_plat_mono_ns_sigsafe();
        s->last_us = alqi_tracing_time_us(t, now_ns);
        alqi_tracing_settle_locked(
            s, write(s->writer, s->last_us, (uint64_t)(data >> DATUM_ID_SHIFT)),
            now_ns);
    }
    alqi_plat_unlock(&t->lock);
}

/* A block whose event said major, or that was promoted, has no further event
 * (.inv.datum). */
static int
on_promote(void *arg, uintptr_t *data)
{
    struct alqi_tracing *t = ((const struct alqi_tracing_source *)arg)->tracing;

    if (alqi_glue_trace_file_is_childs(&t->file))
        return ALQ_TRACK_DROP;
    if (*data & DATUM_YOUNG) {
        later_put(t, *data, alqi_ctf_write_promote, &t->counts.promotions);
        *data &= ~(uintptr_t)DATUM_YOUNG;
    }
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    struct alqi_tracing *t = ((const struct alqi_tracing_source *)arg)->tracing;

    if (!alqi_glue_trace_file_is_childs(&t->file))
        later_put(t, data, alqi_ctf_write_collect, &t->counts.collections);
    return 0;
}

const struct alq_tracker alqi_tracing_tracker = {
    .alloc_minor = on_alloc_minor,
    .alloc_major = on_alloc_major,
    .promote = on_promote,
    .dealloc_minor = on_dealloc,
    .dealloc_major = on_dealloc,
};

bool
alqi_tracing_knows(const struct alq_tracker *tracker, uintptr_t datum,
                   struct alqi_tracing_object *out)
{
    const struct alqi_tracing_source *source = tracker->arg;

    if (tracker->dealloc_major != on_dealloc ||
        alqi_glue_trace_file_is_childs(&source->tracing->file) ||
        atomic_load(&source->tracing->is_over))
        return false;
    out->stream = datum_stream(datum);
    out->id = datum >> DATUM_ID_SHIFT;
    return true;
}
