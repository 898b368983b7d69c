/* raw_decode.c -- one chunk of a recording, read back
 *
 * The bytes may come from anywhere: every count is bounded before it is used,
 * and nothing is allocated.  A damaged event ends the reading of its chunk;
 * the next chunk stands alone (.inv.alone).  Events that are part of an
 * allocation (MOVED, MAPPED, REBORN, POOLED) are folded into it. */
#include <string.h>

#include "wire/raw.h"
#include "wire/side.h"
#include "wire/varint.h"

static bool
fail(struct alqi_raw_decoder *d, const char *why)
{
    d->error = why;
    return false;
}

/* A number; false: cut, or too wide. */
static bool
get(struct alqi_raw_decoder *d, uint64_t *value)
{
    d->error = alqi_wire_varint_get(&d->at, d->end, value);
    return d->error == NULL;
}

/* A number that must fit into 32 bits. */
static bool
get_u32(struct alqi_raw_decoder *d, uint32_t *value)
{
    uint64_t wide;

    if (!get(d, &wide))
        return false;
    if (wide > UINT32_MAX)
        return fail(d, "a number has more than 32 bits");
    *value = (uint32_t)wide;
    return true;
}

/* Length-prefixed bytes into out[0..capacity). */
static bool
get_bytes(struct alqi_raw_decoder *d, void *out, size_t capacity, size_t *n_out)
{
    uint64_t n;

    if (!get(d, &n))
        return false;
    if (n > capacity || n > (size_t)(d->end - d->at))
        return fail(d, "a text is longer than it may be");
    memcpy(out, d->at, (size_t)n);
    d->at += n;
    *n_out = (size_t)n;
    return true;
}

static bool
get_text(struct alqi_raw_decoder *d, char *out, size_t capacity)
{
    size_t n;

    if (!get_bytes(d, out, capacity - 1, &n))
        return false;
    out[n] = '\0';
    return true;
}

static bool
get_thread(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    return get_u32(d, &event->thread_index) && get_u32(d, &event->tid) &&
           get_text(d, event->name, sizeof event->name);
}

/* A stack: frames shared with the last one, then the others. */
static bool
get_stack(struct alqi_raw_decoder *d)
{
    uint64_t n_shared, n_fresh;

    if (!get(d, &n_shared) || !get(d, &n_fresh))
        return false;
    if (n_shared > d->n_frames)
        return fail(d, "a stack shares more frames than there were");
    if (n_fresh > ALQI_RAW_FRAMES_MAX - n_shared)
        return fail(d, "a stack has too many frames");
    for (uint64_t i = 0; i < n_fresh; i++) {
        uint64_t delta;

        if (!get(d, &delta))
            return false;
        d->last_pc += (uint64_t)alqi_wire_unzigzag(delta);
        d->frames[n_shared + i] = d->last_pc;
    }
    d->n_shared = (uint32_t)n_shared;
    d->n_frames = (uint32_t)(n_shared + n_fresh);
    return true;
}

/* Where the frames of a number begin. */
static uint32_t
named_begin(const struct alqi_raw_decoder *d, uint32_t number)
{
    return number == 0 ? 0 : d->named_end[number - 1];
}

/* The stack that has just come has the next number. */
static bool
name_stack(struct alqi_raw_decoder *d)
{
    uint32_t begin = named_begin(d, d->n_named);

    if (d->n_named == ALQI_RAW_NAMED_MAX ||
        d->n_frames > ALQI_RAW_NAMED_FRAMES - begin)
        return fail(d, "a chunk has too many stacks with a number");
    memcpy(&d->named[begin], d->frames, d->n_frames * sizeof d->frames[0]);
    d->named_end[d->n_named++] = begin + d->n_frames;
    return true;
}

/* The stack that an earlier allocation of the chunk gave a number. */
static bool
get_named(struct alqi_raw_decoder *d)
{
    uint32_t number, begin, n, n_shared = 0;

    if (!get_u32(d, &number))
        return false;
    if (number >= d->n_named)
        return fail(d, "an allocation names a stack that there is not");
    begin = named_begin(d, number);
    n = d->named_end[number] - begin;
    while (n_shared < n && n_shared < d->n_frames &&
           d->frames[n_shared] == d->named[begin + n_shared])
        n_shared++;
    memcpy(&d->frames[n_shared], &d->named[begin + n_shared],
           (n - n_shared) * sizeof d->frames[0]);
    d->n_shared = n_shared;
    d->n_frames = n;
    d->last_pc = n > 0 ? d->frames[n - 1] : 0;
    return true;
}

/* An allocation, of any of the three kinds. */
static bool
get_alloc(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    enum alqi_raw_kind kind = event->kind;

    if (!get(d, &event->size_bytes) || !get(d, &event->n_samples) ||
        !(kind == ALQI_RAW_ALLOC_AGAIN ? get_named(d) : get_stack(d)) ||
        (kind == ALQI_RAW_ALLOC_NAMED && !name_stack(d)))
        return false;
    event->kind = ALQI_RAW_ALLOC;
    event->stream = d->stream;
    event->ordinal = d->next_ordinal++;
    event->rate = d->rate;
    return true;
}

/* The rate of the allocations that follow. */
static bool
get_rate(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    uint64_t bits = 0;

    if ((size_t)(d->end - d->at) < sizeof bits)
        return fail(d, "an event runs over the end of its chunk");
    for (size_t i = 0; i < sizeof bits; i++)
        bits |= (uint64_t)*d->at++ << (8 * i);
    memcpy(&event->rate, &bits, sizeof bits);
    if (!(event->rate > 0 && event->rate <= 1))
        return fail(d, "a sampling rate is out of range");
    d->rate = event->rate;
    return true;
}

/* The allocation that a free or a move means. */
static bool
get_reference(struct alqi_raw_decoder *d, bool is_own, uint32_t *stream,
              uint64_t *ordinal)
{
    uint64_t distance;

    if (!is_own)
        return get_u32(d, stream) && get(d, ordinal);
    if (!get(d, &distance))
        return false;
    if (distance >= d->next_ordinal)
        return fail(d, "a free names an allocation before the first");
    *stream = d->stream;
    *ordinal = d->next_ordinal - 1 - distance;
    return true;
}

static bool
get_moved(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    event->is_moved = true;
    return get_reference(d, event->kind == ALQI_RAW_MOVED_OWN,
                         &event->from_stream, &event->from_ordinal);
}

/* A module of the process. */
static bool
get_module(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    uint64_t bias;
    size_t n;

    if (!get(d, &event->start) || !get(d, &event->end) || !get(d, &bias) ||
        !get_text(d, event->path, sizeof event->path) ||
        !get_bytes(d, event->build_id, sizeof event->build_id, &n))
        return false;
    event->bias = (uint64_t)alqi_wire_unzigzag(bias);
    event->build_id_bytes = (uint32_t)n;
    if (event->end < event->start)
        return fail(d, "a module ends before it starts");
    return true;
}

/* The pool of the block that follows. */
static bool
get_pooled(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    if (!get_u32(d, &event->pool))
        return false;
    if (event->pool > ALQI_RAW_PYTHON_NUMBER_MAX)
        return fail(d, "a pool has too large a number");
    return true;
}

/* A number's name. */
static bool
get_code(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    if (!get_u32(d, &event->number) ||
        !get_text(d, event->function, sizeof event->function) ||
        !get_text(d, event->path, sizeof event->path))
        return false;
    if (event->number > ALQI_RAW_PYTHON_NUMBER_MAX)
        return fail(d, "a name has too large a number");
    return true;
}

/* A phase's name. */
static bool
get_mark(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    if (!get_u32(d, &event->number) ||
        !get_text(d, event->function, ALQI_SIDE_MARK_BYTES))
        return false;
    if (event->number > ALQI_SIDE_MARKS_MAX)
        return fail(d, "a mark has too large a number");
    return event->function[0] != '\0' || fail(d, "a mark has no name");
}

/* What follows kind and time. */
static bool
get_body(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    switch (event->kind) {
    case ALQI_RAW_THREAD:
        return get_thread(d, event);
    case ALQI_RAW_ALLOC:
    case ALQI_RAW_ALLOC_NAMED:
    case ALQI_RAW_ALLOC_AGAIN:
        return get_alloc(d, event);
    case ALQI_RAW_FREE_OWN:
    case ALQI_RAW_FREE_OTHER:
        return get_reference(d, event->kind == ALQI_RAW_FREE_OWN,
                             &event->stream, &event->ordinal);
    case ALQI_RAW_MODULE:
        return get_module(d, event);
    case ALQI_RAW_RATE:
        return get_rate(d, event);
    case ALQI_RAW_MOVED_OWN:
    case ALQI_RAW_MOVED_OTHER:
        return get_moved(d, event);
    case ALQI_RAW_MAPPED:
        event->is_mapping = true;
        return true;
    case ALQI_RAW_RSS:
        return get(d, &event->rss_bytes);
    case ALQI_RAW_REBORN:
        event->is_reborn = true;
        return true;
    case ALQI_RAW_CODE:
        return get_code(d, event);
    case ALQI_RAW_POOLED:
        return get_pooled(d, event);
    case ALQI_RAW_MARK:
        return get_mark(d, event);
    }
    return fail(d, "an event is of no known kind");
}

/* 1, 0, -1 as alqi_raw_next. */
static int
next_one(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    uint64_t delta_ns;

    if (d->at == d->end)
        return 0;
    event->kind = (enum alqi_raw_kind) * d->at++;
    if (!get(d, &delta_ns))
        return -1;
    if (delta_ns > UINT64_MAX / 4 - d->last_ns) {
        d->error = "a time is out of range";
        return -1;
    }
    d->last_ns += delta_ns;
    event->time_ns = d->last_ns;
    return get_body(d, event) ? 1 : -1;
}

/* Whether the event is part of the allocation that follows. */
static bool
is_prefix(const struct alqi_raw_event *event)
{
    return (event->kind >= ALQI_RAW_MOVED_OWN &&
            event->kind <= ALQI_RAW_MAPPED) ||
           event->kind == ALQI_RAW_REBORN || event->kind == ALQI_RAW_POOLED;
}

int
alqi_raw_next(struct alqi_raw_decoder *d, struct alqi_raw_event *event)
{
    bool has_prefix = false;
    int got;

    event->is_moved = event->is_mapping = event->is_reborn = false;
    event->pool = 0;
    while ((got = next_one(d, event)) > 0 && is_prefix(event))
        has_prefix = true;
    if (got < 0 || !has_prefix || (got > 0 && event->kind == ALQI_RAW_ALLOC))
        return got;
    d->error = "an allocation is missing after what is said of it";
    return -1;
}

bool
alqi_raw_decoder_open(struct alqi_raw_decoder *d, const uint8_t *chunk,
                      size_t n_bytes)
{
    struct alqi_raw_chunk_header header;
    uint32_t used;

    if (n_bytes < sizeof header)
        return fail(d, "a chunk is cut inside its header");
    memcpy(&header, chunk, sizeof header);
    if (header.magic != ALQI_RAW_CHUNK_MAGIC)
        return fail(d, "a chunk has no chunk header");
    if (header.start_ns > UINT64_MAX / 4)
        return fail(d, "a chunk's time is out of range");
    used = atomic_load_explicit(&header.used, memory_order_relaxed);
    if (used > n_bytes - sizeof header)
        used = (uint32_t)(n_bytes - sizeof header);
    d->at = chunk + sizeof header;
    d->end = d->at + used;
    d->error = NULL;
    d->last_ns = header.start_ns;
    d->last_pc = 0;
    d->stream = header.stream;
    d->next_ordinal = header.first_ordinal;
    d->rate = 0;
    d->n_frames = 0;
    d->n_shared = 0;
    d->n_named = 0;
    return true;
}

void
alqi_raw_decoder_more(struct alqi_raw_decoder *d, const uint8_t *chunk,
                      size_t n_bytes)
{
    const struct alqi_raw_chunk_header *header = (const void *)chunk;
    /* raw.h .inv.commit: what it covers is there. */
    size_t used = atomic_load_explicit(&header->used, memory_order_acquire);
    const uint8_t *first = chunk + sizeof *header;

    if (used > n_bytes - sizeof *header)
        used = n_bytes - sizeof *header;
    if (first + used > d->end)
        d->end = first + used;
}
