/* recording_merge.c -- the sampled streams of a recording in one order
 *
 * [recording.h] Chunks are indexed by stream. Each stream decodes its chunks
 * in sequence, and a heap of streams hands out the earliest event. Chunks of
 * the exact part are left to exact.c.
 *
 * States of a stream: has a next event (in the heap) -> waiting (used up) ->
 * woken by alqi_cli_merge_more when the recording has grown. The merge is over
 * at the recording's moment, with streams in the heap, until then.
 *
 * .inv.merge  Events leave in order of time. A module is announced before any
 *             stack that has its addresses: its record is older, and ties go
 *             to the modules' stream. What a recording has got since the merge
 *             came to its end is merged the same way, by itself; where it was
 *             over at the moment, all that comes then is later than it.
 * .inv.final  A chunk whose stream has another one behind it does not change
 *             any more. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/convert/recording.h"
#include "cli/tool/least.h"

struct stream {
    /* offsets in the recording, in order of sequence; owned */
    uint64_t *chunks;
    size_t n_chunks, capacity;
    /* index of the next chunk to open; the one before it is open */
    size_t next;
    /* of the open chunk; points into the mapping */
    struct alqi_raw_decoder decoder;
    /* its next event, or the one handed out last */
    struct alqi_raw_event event;
    /* of its last THREAD event, or ALQI_CLI_NO_THREAD */
    int64_t thread;
    /* the stream of module events: first among equals */
    bool is_modules;
    /* it has no next event, and is not in the heap */
    bool is_waiting;
    /* the open chunk cannot be read on */
    bool is_damaged;
};

struct alqi_cli_merge {
    /* the caller's */
    const struct alqi_cli_recording *recording;
    /* the mapping that the decoders point into */
    const uint8_t *bytes;
    /* places for chunks that were looked at so far */
    size_t n_seen;
    /* of those, places that held no chunk yet: looked at again; owned */
    size_t *unused;
    size_t n_unused, unused_capacity;
    /* the writer's stream number -> index in streams */
    struct alqi_base_map of_stream;
    /* owned; entries never move */
    struct stream **streams;
    size_t n_streams, streams_capacity;
    /* streams with a next event, the earliest first */
    void **heap;
    size_t n_heap;
    /* the top of the heap was handed out */
    bool is_started;
    /* the top of the heap is later than the recording's moment */
    bool is_over;
    /* chunks and events passed over, so far */
    uint64_t n_damaged;
    /* for the progress: chunks indexed, chunks opened */
    size_t n_chunks, n_opened;
};

/* ---- what there is ------------------------------------------------------- */

/* Reads the chunk header at a place. False: no chunk is there yet
 * (*is_unused), or none for this file. */
static bool
chunk_look(struct alqi_cli_merge *m, size_t place,
           struct alqi_cli_chunk_ref *out, bool *is_unused)
{
    uint64_t offset = (uint64_t)place * ALQI_RAW_CHUNK_BYTES;
    struct alqi_raw_chunk_header h;

    memcpy(&h, m->bytes + offset, sizeof h);
    *is_unused = h.magic == 0;
    if (h.magic != 0 && h.magic != ALQI_RAW_CHUNK_MAGIC)
        m->n_damaged++;
    if (h.magic != ALQI_RAW_CHUNK_MAGIC || h.kind == ALQI_RAW_EXACT ||
        h.kind == ALQI_RAW_NODES)
        return false; /* exact.c */
    *out = (struct alqi_cli_chunk_ref){h.kind, h.stream, h.sequence,
                                       m->bytes + offset};
    return true;
}

/* The places to look at: those that were empty, and those that are new. Leaves
 * unused empty; *out is NULL without memory. */
static size_t
places_take(struct alqi_cli_merge *m, size_t **out)
{
    size_t n_places, n = m->n_unused;
    size_t *places;

    (void)alqi_cli_recording_chunks(m->recording, &n_places);
    places = calloc(n + (n_places - m->n_seen) + 1, sizeof *places);
    *out = places;
    if (places == NULL)
        return 0;
    for (size_t i = 0; i < n; i++)
        places[i] = m->unused[i];
    for (; m->n_seen < n_places; m->n_seen++)
        places[n++] = m->n_seen;
    m->n_unused = 0;
    return n;
}

/* The stream of a chunk; makes it, waiting, if it is new. NULL: no memory. */
static struct stream *
stream_of(struct alqi_cli_merge *m, const struct alqi_cli_chunk_ref *c)
{
    struct stream *s;
    uint64_t index;

    if (alqi_base_map_get(&m->of_stream, c->stream, &index))
        return m->streams[index];
    s = calloc(1, sizeof *s);
    if (s == NULL ||
        !alqi_cli_recording_room(&m->streams, m->n_streams,
                                 &m->streams_capacity, sizeof *m->streams) ||
        !alqi_base_map_put(&m->of_stream, c->stream, m->n_streams)) {
        free(s);
        return NULL;
    }
    s->is_modules = c->kind == ALQI_RAW_MODULES;
    s->thread = ALQI_CLI_NO_THREAD;
    s->is_waiting = true;
    m->streams[m->n_streams++] = s;
    return s;
}

/* Appends new chunks to their streams. Chunks found later have later
 * sequences, so the order holds. */
static bool
chunks_add(struct alqi_cli_merge *m, struct alqi_cli_chunk_ref *chunks,
           size_t n)
{
    qsort(chunks, n, sizeof *chunks, alqi_cli_chunk_order);
    for (size_t i = 0; i < n; i++) {
        struct stream *s = stream_of(m, &chunks[i]);

        if (s == NULL ||
            !alqi_cli_recording_room(&s->chunks, s->n_chunks, &s->capacity,
                                     sizeof *s->chunks))
            return false;
        s->chunks[s->n_chunks++] = (uint64_t)(chunks[i].bytes - m->bytes);
        m->n_chunks++;
    }
    return true;
}

/* Finds the chunks that the recording has got since the last call. False:
 * there is no memory. */
static bool
chunks_index(struct alqi_cli_merge *m)
{
    size_t *places, n_places = places_take(m, &places), n = 0;
    struct alqi_cli_chunk_ref *chunks = calloc(n_places + 1, sizeof *chunks);
    bool ok = places != NULL && chunks != NULL, is_unused;

    for (size_t i = 0; ok && i < n_places; i++) {
        if (chunk_look(m, places[i], &chunks[n], &is_unused))
            n++;
        else if (is_unused)
            ok = alqi_cli_recording_room(&m->unused, m->n_unused,
                                         &m->unused_capacity,
                                         sizeof *m->unused) &&
                 (m->unused[m->n_unused++] = places[i], true);
    }
    ok = ok && chunks_add(m, chunks, n);
    free(chunks);
    free(places);
    return ok;
}

/* ---- streams ------------------------------------------------------------- */

/* No writer makes such an allocation; one that is not possible is damage. */
static bool
is_possible(const struct alqi_raw_event *e)
{
    return e->kind != ALQI_RAW_ALLOC ||
           (alqi_cli_recording_is_size(e->size_bytes) && e->n_samples > 0 &&
            e->n_samples <= e->size_bytes / ALQI_WORD_BYTES + 2);
}

/* Fills s->event; false at the end of the stream.  A damaged chunk is left at
 * the damage: the next one stands alone (wire/raw.h .inv.alone). */
static bool
stream_next(struct alqi_cli_merge *m, struct stream *s)
{
    for (;;) {
        int got = s->is_damaged ? 0 : alqi_raw_next(&s->decoder, &s->event);

        if (got > 0 && is_possible(&s->event)) {
            if (s->event.kind == ALQI_RAW_THREAD)
                s->thread = s->event.thread_index;
            return true;
        }
        if (got != 0)
            m->n_damaged++;
        if (got > 0)
            continue;
        s->is_damaged |= got < 0;
        if (s->next == s->n_chunks)
            return false;
        s->is_damaged = !alqi_raw_decoder_open(
            &s->decoder, m->bytes + s->chunks[s->next++], ALQI_RAW_CHUNK_BYTES);
        m->n_damaged += s->is_damaged;
        m->n_opened++;
    }
}

/* The chunk that is open may have got more (.inv.final: the next ones are known
 * before it is looked at). */
static void
stream_more(struct alqi_cli_merge *m, struct stream *s)
{
    if (s->next > 0 && !s->is_damaged)
        alqi_raw_decoder_more(&s->decoder, m->bytes + s->chunks[s->next - 1],
                              ALQI_RAW_CHUNK_BYTES);
}

/* The recording lies elsewhere now: moves the decoders' pointers. */
static void
streams_rebase(struct alqi_cli_merge *m, const uint8_t *bytes)
{
    for (size_t i = 0; i < m->n_streams; i++) {
        struct alqi_raw_decoder *d = &m->streams[i]->decoder;

        if (m->streams[i]->next == 0 || m->streams[i]->is_damaged)
            continue;
        d->at = bytes + (d->at - m->bytes);
        d->end = bytes + (d->end - m->bytes);
    }
    m->bytes = bytes;
}

/* ---- the heap ------------------------------------------------------------ */

/* Order of the heap (.inv.merge). */
static bool
comes_before(const void *left, const void *right)
{
    const struct stream *a = left, *b = right;

    if (a->event.time_ns != b->event.time_ns)
        return a->event.time_ns < b->event.time_ns;
    return a->is_modules && !b->is_modules;
}

/* Lets all streams read on, puts waiting ones that have a next event again into
 * the heap, and orders it. False: there is no memory. */
static bool
streams_wake(struct alqi_cli_merge *m)
{
    void **heap = reallocarray(m->heap, m->n_streams + 1, sizeof *heap);

    if (heap == NULL)
        return false;
    m->heap = heap;
    for (size_t i = 0; i < m->n_streams; i++) {
        struct stream *s = m->streams[i];

        stream_more(m, s);
        if (!s->is_waiting)
            continue;
        s->is_waiting = !stream_next(m, s);
        if (!s->is_waiting)
            m->heap[m->n_heap++] = s;
    }
    alqi_cli_least_order(m->heap, m->n_heap, comes_before);
    return true;
}

/* ---- the merge ----------------------------------------------------------- */

struct alqi_cli_merge *
alqi_cli_merge_open(const struct alqi_cli_recording *recording)
{
    struct alqi_cli_merge *m = calloc(1, sizeof *m);
    size_t n_places;

    if (m == NULL)
        return NULL;
    m->recording = recording;
    m->bytes = alqi_cli_recording_chunks(recording, &n_places);
    if (!alqi_cli_merge_more(m)) {
        alqi_cli_merge_drop(m);
        return NULL;
    }
    return m;
}

void
alqi_cli_merge_drop(struct alqi_cli_merge *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->n_streams; i++) {
        free(m->streams[i]->chunks);
        free(m->streams[i]);
    }
    alqi_base_map_clear(&m->of_stream);
    free(m->streams);
    free(m->unused);
    free(m->heap);
    free(m);
}

bool
alqi_cli_merge_more(struct alqi_cli_merge *m)
{
    size_t n_places;
    const uint8_t *bytes = alqi_cli_recording_chunks(m->recording, &n_places);

    ALQI_ASSERT(m->n_heap == 0 || !m->is_started);
    m->is_over = false;
    if (bytes != m->bytes)
        streams_rebase(m, bytes);
    return chunks_index(m) && streams_wake(m);
}

/* Moves on from the event that was handed out last. */
static void
merge_advance(struct alqi_cli_merge *m)
{
    struct stream *s = m->heap[0];

    if (!m->is_started)
        return;
    m->is_started = false;
    s->is_waiting = !stream_next(m, s);
    if (s->is_waiting)
        m->heap[0] = m->heap[--m->n_heap];
    if (m->n_heap > 0)
        alqi_cli_least_sink(m->heap, m->n_heap, 0, comes_before);
}

/* out points into the stream, whose event stays until the next call. */
bool
alqi_cli_merge_next(struct alqi_cli_merge *m, struct alqi_cli_merged *out)
{
    struct stream *s;

    if (m->n_heap > 0)
        merge_advance(m);
    if (m->n_heap == 0 || m->is_over)
        return false;
    s = m->heap[0];
    m->is_over = s->event.time_ns > alqi_cli_recording_moment_ns(m->recording);
    if (m->is_over)
        return false;
    m->is_started = true;
    out->event = &s->event;
    out->frames = s->decoder.frames;
    out->n_frames = s->decoder.n_frames;
    out->thread = s->thread;
    return true;
}

uint64_t
alqi_cli_merge_n_damaged(const struct alqi_cli_merge *m)
{
    return m->n_damaged;
}

double
alqi_cli_merge_progress(const struct alqi_cli_merge *m)
{
    return m->n_chunks > 0 ? (double)m->n_opened / (double)m->n_chunks : 1;
}
