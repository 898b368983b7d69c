/* exact.c -- the exact events of all threads, merged by ticks
 *
 * [exact.h] Each stream decodes its chunks in order, a few events ahead. A
 * heap of streams hands out the earliest event. Stack nodes are read once, as
 * a table by number. Ticks become nanoseconds by the first and the last pair
 * of both that the recording has.
 *
 * States of a stream: has a next event (in the heap) -> waiting (none, or
 * held) -> woken when the recording has grown (alqi_cli_exact_more).
 *
 * The order of ticks is an order of what happened (.inv.ticks of
 * wire/exact.h). At one tick frees go first, for an address is freed before it
 * is given out again.
 *
 * A recording that grows is read up to a moment, and on from there when it has
 * been frozen anew (freeze.h). A chunk then lies elsewhere, but has the bytes
 * that it had, and more.
 *
 * .inv.held   An event that is held back holds back all that comes after it:
 *             the address of a free may have been given out again.
 * .inv.bound  Between two calls of alqi_cli_exact_more nothing of the
 *             recording moves. Over such a call, streams know their places by
 *             sequence and offset. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/convert/exact.h"
#include "cli/tool/least.h"

/* Later times are clamped to it: they come from damage. */
static const uint64_t NS_MAX = (uint64_t)1 << 62;
/* A free this near to the moment may still be undone; a realloc takes less. */
static const uint64_t HOLD_NS = 10000000;
/* Between the outer pairs of a clock: a pair read a microsecond apart makes an
 * error of a millionth of a second in twenty. */
static const uint64_t CLOCK_NS_LEAST = 50000000;

enum {
    /* nanoseconds a tick, of a recording too short to measure it */
    TICK_NS_UNKNOWN = 6,
    /* Events decoded before they are asked for, a power of two: one to see
     * whether a free was undone, the others so that a caller can fetch what it
     * keeps of their addresses (ahead_address). */
    AHEAD = 16
};

/* One thread's events. chunk, last and open point into x->chunks and the
 * recording, so stream_bind renews them when it grows. */
struct stream {
    /* the writer's number */
    uint32_t id;
    /* the next chunk to open */
    const struct alqi_cli_chunk_ref *chunk;
    /* behind its last chunk */
    const struct alqi_cli_chunk_ref *last;
    /* the chunk that the decoder reads; NULL: none yet */
    const uint8_t *open;
    /* of the open chunk; finds it again after the recording moved */
    uint32_t open_sequence;
    /* the open chunk cannot be read on */
    bool is_damaged;
    /* it has no next event, and is not in the heap */
    bool is_waiting;
    /* its next event stands back until more is known (.inv.held) */
    bool is_held;
    /* its next event, or the one handed out last */
    struct alqi_cli_exact_event out;
    /* decoded events that were used up */
    uint32_t n_taken;
    /* events decoded; decoded[] holds those from n_taken on */
    uint32_t n_decoded;
    /* of the event decoded last; ticks of a stream never fall */
    uint64_t last_ticks;
    /* a ring; index is the event's number modulo AHEAD */
    struct alqi_exact_event decoded[AHEAD];
    struct alqi_exact_decoder decoder;
};

/* From first_node on, nodes were made when n_modules modules were known. */
struct epoch {
    uint32_t first_node;
    uint64_t n_modules;
};

struct alqi_cli_exact {
    /* the caller's */
    const struct alqi_cli_recording *recording;
    /* all exact and node chunks, by stream and sequence; owned */
    struct alqi_cli_chunk_ref *chunks;
    size_t n_chunks;
    /* in order of their first chunk; owned; entries never move */
    struct stream **streams;
    uint32_t n_streams;
    size_t streams_capacity;
    /* the writer's number of a stream -> index in streams */
    struct alqi_base_map of_id;
    /* streams that have a next event, the earliest first */
    void **heap;
    size_t n_heap;
    /* the top of the heap was handed out: advance moves it on */
    bool is_started;
    /* places passed over; the nodes are read anew each time, so have their
     * own */
    uint64_t n_damaged, n_damaged_nodes;
    /* nodes, by number */
    struct alqi_cli_exact_node *nodes;
    uint32_t n_nodes, nodes_capacity;
    /* in order of first_node */
    struct epoch *epochs;
    uint32_t n_epochs;
    size_t epochs_capacity;
    /* ns = ns_0 + (ticks - ticks_0) * tick_ns */
    uint64_t ticks_0, ns_0;
    /* nanoseconds a tick, by the recording's clock pairs */
    double tick_ns;
    /* nanoseconds between the outer pairs */
    uint64_t clock_ns;
    /* of the event handed out last */
    uint64_t last_ticks, last_ns;
    /* the recording's moment: what comes after it is left out */
    uint64_t moment_ns;
    /* the earliest event held back: nothing from here on is handed out
     * (.inv.held); UINT64_MAX: none */
    uint64_t held_ns;
    /* the recording goes on, or is read up to a given time: moment_ns is set */
    bool is_growing;
    /* the moment or held_ns is reached, until the recording has grown */
    bool is_over;
};

/* ---- chunks ----------------------------------------------------------------
 */

/* Finds the exact chunks of the recording. Replaces x->chunks, which must be
 * empty. False: there is no memory. */
static bool
chunks_index(struct alqi_cli_exact *x)
{
    size_t n;
    const uint8_t *chunks = alqi_cli_recording_chunks(x->recording, &n);

    x->chunks = calloc(n + 1, sizeof *x->chunks);
    if (x->chunks == NULL)
        return false;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *at = chunks + i * ALQI_RAW_CHUNK_BYTES;
        struct alqi_raw_chunk_header h;

        memcpy(&h, at, sizeof h);
        if (h.magic == ALQI_RAW_CHUNK_MAGIC &&
            (h.kind == ALQI_RAW_EXACT || h.kind == ALQI_RAW_NODES))
            x->chunks[x->n_chunks++] =
                (struct alqi_cli_chunk_ref){h.kind, h.stream, h.sequence, at};
    }
    qsort(x->chunks, x->n_chunks, sizeof *x->chunks, alqi_cli_chunk_order);
    return true;
}

/* ---- nodes -----------------------------------------------------------------
 */

/* The most nodes that the recording can hold: a node takes at least two bytes
 * of the file. Bounds what a forged number may allocate. */
static uint64_t
n_nodes_max(const struct alqi_cli_exact *x)
{
    size_t n_places;

    alqi_cli_recording_chunks(x->recording, &n_places);
    return n_places * (ALQI_RAW_CHUNK_BYTES / 2);
}

/* Enters a node. Its number may lie behind a gap. False: there is no memory. */
static bool
node_add(struct alqi_cli_exact *x, uint32_t id, uint32_t parent, uint64_t pc)
{
    if (id >= x->nodes_capacity) {
        uint64_t capacity = x->nodes_capacity != 0 ? x->nodes_capacity : 4096;
        struct alqi_cli_exact_node *nodes;

        while (capacity <= id)
            capacity *= 2;
        nodes = realloc(x->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return false;
        x->nodes = nodes;
        x->nodes_capacity = (uint32_t)capacity;
    }
    /* Numbers that a damaged chunk took with it have no parent: themselves. */
    for (; x->n_nodes < id; x->n_nodes++)
        x->nodes[x->n_nodes] =
            (struct alqi_cli_exact_node){.parent = x->n_nodes};
    if (id == x->n_nodes)
        x->n_nodes++;
    x->nodes[id] = (struct alqi_cli_exact_node){.pc = pc, .parent = parent};
    return true;
}

/* Computes n_frames of all nodes in one pass: parents have lower numbers. A
 * node without a parent (lost to damage) keeps 0. */
static void
nodes_count_frames(struct alqi_cli_exact *x)
{
    for (uint32_t id = 1; id < x->n_nodes; id++) {
        struct alqi_cli_exact_node *node = &x->nodes[id];
        uint32_t above = x->nodes[node->parent].n_frames;

        ALQI_ASSERT(node->parent <= id);
        if (node->parent == id)
            continue;
        node->n_frames =
            above < ALQI_RAW_FRAMES_MAX ? above + 1 : ALQI_RAW_FRAMES_MAX;
    }
}

/* Opens an epoch if the number of modules has changed. False: no memory. */
static bool
epoch_add(struct alqi_cli_exact *x, uint32_t first_node, uint64_t n_modules)
{
    if (x->n_epochs > 0 && x->epochs[x->n_epochs - 1].n_modules == n_modules)
        return true;
    if (!alqi_cli_recording_room(&x->epochs, x->n_epochs, &x->epochs_capacity,
                                 sizeof *x->epochs))
        return false;
    x->epochs[x->n_epochs++] = (struct epoch){first_node, n_modules};
    return true;
}

/* Reads the nodes of one chunk up to its damage. False: there is no memory. */
static bool
node_chunk_read(struct alqi_cli_exact *x, const uint8_t *bytes)
{
    uint64_t id_max = n_nodes_max(x), pc;
    struct alqi_exact_node_decoder d;
    uint32_t id, parent;
    int got;

    if (!alqi_exact_node_decoder_open(&d, bytes, ALQI_RAW_CHUNK_BYTES)) {
        x->n_damaged_nodes++;
        return true;
    }
    while ((got = alqi_exact_node_next(&d, &id, &parent, &pc)) > 0) {
        if (id > id_max) { /* a number of nodes that cannot be */
            x->n_damaged_nodes++;
            return true;
        }
        if (!node_add(x, id, parent, pc) || !epoch_add(x, id, d.n_modules))
            return false;
    }
    x->n_damaged_nodes += got < 0;
    return true;
}

/* Reads all nodes. Those read before a growth are read again and are the
 * same. */
static bool
nodes_read(struct alqi_cli_exact *x)
{
    x->n_damaged_nodes = 0;
    x->n_epochs = 0;
    for (size_t i = 0; i < x->n_chunks; i++)
        if (x->chunks[i].kind == ALQI_RAW_NODES &&
            !node_chunk_read(x, x->chunks[i].bytes))
            return false;
    nodes_count_frames(x);
    return true;
}

const struct alqi_cli_exact_node *
alqi_cli_exact_nodes(const struct alqi_cli_exact *x)
{
    return x->nodes;
}

uint32_t
alqi_cli_exact_n_nodes(const struct alqi_cli_exact *x)
{
    return x->n_nodes;
}

/* A search for the last epoch that begins at or before the node. */
uint64_t
alqi_cli_exact_modules_before(const struct alqi_cli_exact *x, uint32_t node)
{
    uint32_t lo = 0, hi = x->n_epochs;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (x->epochs[mid].first_node <= node)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo > 0 ? x->epochs[lo - 1].n_modules : 0;
}

/* ---- streams ---------------------------------------------------------------
 */

/* Decodes the next event of the open chunk. An allocation of an impossible
 * size is damage, and passed over. False: the chunk has no more. */
static bool
chunk_next(struct alqi_cli_exact *x, struct stream *s,
           struct alqi_exact_event *out)
{
    int got;

    while ((got = alqi_exact_next(&s->decoder, out)) > 0) {
        if (out->kind != ALQI_EXACT_ALLOC ||
            alqi_cli_recording_is_size(out->size_bytes))
            return true;
        x->n_damaged++;
    }
    x->n_damaged += got < 0;
    s->is_damaged |= got < 0;
    return false;
}

/* Decodes the stream's next event, opening chunks as needed. False: it has
 * none now. A chunk may claim to begin before the last one ended; then its
 * ticks are raised. */
static bool
decode(struct alqi_cli_exact *x, struct stream *s, struct alqi_exact_event *out)
{
    while (s->is_damaged || !chunk_next(x, s, out)) {
        if (s->chunk == s->last)
            return false;
        s->open = s->chunk->bytes;
        s->open_sequence = s->chunk->sequence;
        s->is_damaged = !alqi_exact_decoder_open(&s->decoder, s->chunk->bytes,
                                                 ALQI_RAW_CHUNK_BYTES);
        x->n_damaged += s->is_damaged;
        s->chunk++;
    }
    if (ALQI_UNLIKELY(out->ticks < s->last_ticks))
        out->ticks = s->last_ticks;
    s->last_ticks = out->ticks;
    return true;
}

/* Fills the ring, except for one place: the event handed out stays there. */
static void
decode_ahead(struct alqi_cli_exact *x, struct stream *s)
{
    while (s->n_decoded - s->n_taken < AHEAD - 1 &&
           decode(x, s, &s->decoded[s->n_decoded % AHEAD]))
        s->n_decoded++;
}

/* The event behind a free says whether it was taken back (UNDO: the call
 * failed), or belongs to a realloc (MOVED). Takes that event. */
static bool
free_is_undone(struct stream *s)
{
    unsigned kind = ALQI_EXACT_CONTROLS;

    if (s->n_taken != s->n_decoded)
        kind = s->decoded[s->n_taken % AHEAD].kind;
    s->out.is_moved = kind == ALQI_EXACT_MOVED;
    s->n_taken += s->out.is_moved || kind == ALQI_EXACT_UNDO;
    return kind == ALQI_EXACT_UNDO;
}

/* Takes one decoded event into s->out. Prefixes (samples, mapping, clock) only
 * change s->out. True: it is an event of its own. */
static bool
event_take(struct stream *s)
{
    switch (s->out.event->kind) {
    case ALQI_EXACT_SAMPLES:
        s->out.n_samples = s->out.event->value;
        return false;
    case ALQI_EXACT_MAPPING:
        s->out.is_mapping = true;
        return false;
    case ALQI_EXACT_POOL:
        s->out.pool = (uint32_t)s->out.event->value;
        return false;
    case ALQI_EXACT_TIME:
    case ALQI_EXACT_CLOCK:
    case ALQI_EXACT_MOVED: /* of a free that damage took */
    case ALQI_EXACT_UNDO:
        return false;
    case ALQI_EXACT_FREE:
        if (!free_is_undone(s))
            return true;
        s->out.is_mapping = false;
        return false;
    default:
        return true;
    }
}

/* Nanoseconds of ticks, between ns_0 and NS_MAX. */
static uint64_t
ns_from(const struct alqi_cli_exact *x, uint64_t ticks)
{
    double ahead;
    uint64_t ns;

    if (ticks <= x->ticks_0)
        return x->ns_0;
    ahead = (double)(ticks - x->ticks_0) * x->tick_ns;
    if (!(ahead < (double)(NS_MAX - x->ns_0)))
        return NS_MAX;
    ns = x->ns_0 + (uint64_t)ahead;
    return ns < NS_MAX ? ns : NS_MAX;
}

/* The stream's last event is a free, written just before the moment: what is
 * written next may undo it. */
static bool
is_open_ended(const struct alqi_cli_exact *x, const struct stream *s)
{
    const struct alqi_exact_event *e = &s->decoded[s->n_taken % AHEAD];

    return x->is_growing && s->n_taken + 1 == s->n_decoded &&
           e->kind == ALQI_EXACT_FREE &&
           ns_from(x, e->ticks) + HOLD_NS > x->moment_ns;
}

/* Nothing from the stream's next event on is handed out (.inv.held). */
static void
hold(struct alqi_cli_exact *x, const struct stream *s)
{
    uint64_t ns = ns_from(x, s->decoded[s->n_taken % AHEAD].ticks);

    if (ns < x->held_ns)
        x->held_ns = ns;
}

/* Finds s->out.event. False at the stream's end, or at an event that is held.
 * Prefixes of a held event stay in s->out, because they are not decoded
 * again. */
static bool
stream_next(struct alqi_cli_exact *x, struct stream *s)
{
    if (!s->is_held) {
        s->out.n_samples = 0;
        s->out.is_mapping = false;
        s->out.is_moved = false;
        s->out.pool = 0;
    }
    s->is_held = false;
    for (;;) {
        decode_ahead(x, s);
        s->is_held = is_open_ended(x, s);
        if (s->is_held)
            hold(x, s);
        if (s->n_taken == s->n_decoded || s->is_held)
            return false;
        s->out.event = &s->decoded[s->n_taken++ % AHEAD];
        if (event_take(s))
            return true;
    }
}

/* ---- the heap --------------------------------------------------------------
 */

/* Order of the heap: by ticks, at one tick frees first. */
static bool
comes_before(const void *left, const void *right)
{
    const struct stream *a = left, *b = right;

    if (a->out.event->ticks != b->out.event->ticks)
        return a->out.event->ticks < b->out.event->ticks;
    return a->out.event->kind == ALQI_EXACT_FREE &&
           b->out.event->kind != ALQI_EXACT_FREE;
}

/* The stream of that number; makes it, waiting, if it is new. NULL: no
 * memory. */
static struct stream *
stream_of(struct alqi_cli_exact *x, uint32_t id)
{
    struct stream *s;
    uint64_t index;

    if (alqi_base_map_get(&x->of_id, id, &index))
        return x->streams[index];
    s = calloc(1, sizeof *s);
    if (s == NULL ||
        !alqi_cli_recording_room(&x->streams, x->n_streams,
                                 &x->streams_capacity, sizeof *x->streams) ||
        !alqi_base_map_put(&x->of_id, id, x->n_streams)) {
        free(s);
        return NULL;
    }
    s->id = id;
    s->is_waiting = true;
    s->out.stream = x->n_streams;
    x->streams[x->n_streams++] = s;
    return s;
}

/* The stream's chunks are these from now on (.inv.bound). Finds the open chunk
 * again by its sequence and lets the decoder go on at offset. */
static void
stream_bind(struct stream *s, const struct alqi_cli_chunk_ref *first,
            const struct alqi_cli_chunk_ref *end, size_t offset)
{
    s->chunk = first;
    s->last = end;
    if (s->open == NULL)
        return;
    while (s->chunk != end && s->chunk->sequence < s->open_sequence)
        s->chunk++;
    if (s->chunk == end || s->chunk->sequence != s->open_sequence) {
        s->is_damaged = true; /* it is not there any more */
        return;
    }
    s->open = s->chunk->bytes;
    s->chunk++;
    if (!s->is_damaged)
        alqi_exact_decoder_more(&s->decoder, s->open, ALQI_RAW_CHUNK_BYTES,
                                offset);
}

/* Gives each stream its part of x->chunks. Offsets are computed from the old
 * `open`, before stream_bind renews it. False: there is no memory. */
static bool
streams_bind(struct alqi_cli_exact *x)
{
    for (size_t i = 0, k; i < x->n_chunks; i = k) {
        struct stream *s;

        for (k = i; k < x->n_chunks; k++)
            if (x->chunks[k].stream != x->chunks[i].stream)
                break;
        if (x->chunks[i].kind != ALQI_RAW_EXACT)
            continue;
        s = stream_of(x, x->chunks[i].stream);
        if (s == NULL)
            return false;
        stream_bind(s, &x->chunks[i], &x->chunks[k],
                    s->open != NULL ? (size_t)(s->decoder.at - s->open) : 0);
    }
    return true;
}

/* Puts waiting streams that have a next event again into the heap, and orders
 * it. False: there is no memory. */
static bool
streams_wake(struct alqi_cli_exact *x)
{
    void **heap = reallocarray(x->heap, x->n_streams + 1, sizeof *heap);

    if (heap == NULL)
        return false;
    x->heap = heap;
    for (uint32_t i = 0; i < x->n_streams; i++) {
        struct stream *s = x->streams[i];

        if (!s->is_waiting)
            continue;
        s->is_waiting = !stream_next(x, s);
        if (!s->is_waiting)
            x->heap[x->n_heap++] = s;
    }
    alqi_cli_least_order(x->heap, x->n_heap, comes_before);
    return true;
}

/* ---- time ------------------------------------------------------------------
 */

/* The earliest and the latest pair of ticks and nanoseconds. */
struct pairs {
    uint64_t ticks_0, ns_0, ticks_1, ns_1;
    bool has_any;
};

/* Takes a pair into account; only the earliest and the latest stay. */
static void
pair_add(struct pairs *p, uint64_t ticks, uint64_t ns)
{
    if (!p->has_any || ticks < p->ticks_0) {
        p->ticks_0 = ticks;
        p->ns_0 = ns;
    }
    if (!p->has_any || ticks > p->ticks_1) {
        p->ticks_1 = ticks;
        p->ns_1 = ns;
    }
    p->has_any = true;
}

/* Sets ticks_0, ns_0 and tick_ns. Each chunk begins with a pair, and a
 * stream's last chunk may hold later ones. The two outer pairs are as far
 * apart as the recording is long, so the lateness of each reading does not
 * matter. False: there is no memory. */
static bool
clock_read(struct alqi_cli_exact *x)
{
    struct alqi_exact_decoder *d = calloc(1, sizeof *d);
    struct alqi_exact_event event;
    struct pairs p = {0};

    if (d == NULL)
        return false;
    for (size_t i = 0; i < x->n_chunks; i++) {
        struct alqi_raw_chunk_header h;
        bool is_last = i + 1 == x->n_chunks ||
                       x->chunks[i + 1].stream != x->chunks[i].stream;

        if (x->chunks[i].kind != ALQI_RAW_EXACT)
            continue;
        memcpy(&h, x->chunks[i].bytes, sizeof h);
        if (h.used == 0) /* its pair may be half another's */
            continue;
        pair_add(&p, h.first_ordinal, h.start_ns);
        if (is_last && alqi_exact_decoder_open(d, x->chunks[i].bytes,
                                               ALQI_RAW_CHUNK_BYTES))
            while (alqi_exact_next(d, &event) > 0)
                if (event.kind == ALQI_EXACT_CLOCK)
                    pair_add(&p, event.ticks, event.value);
    }
    free(d);
    x->ticks_0 = p.ticks_0;
    x->ns_0 = p.ns_0 < NS_MAX ? p.ns_0 : NS_MAX;
    x->clock_ns = p.ns_1 > p.ns_0 ? p.ns_1 - p.ns_0 : 0;
    x->tick_ns =
        p.ticks_1 > p.ticks_0 && p.ns_1 > p.ns_0
            ? (double)(p.ns_1 - p.ns_0) / (double)(p.ticks_1 - p.ticks_0)
            : TICK_NS_UNKNOWN;
    if (x->last_ticks == 0)
        x->last_ns = p.ns_0;
    return true;
}

/* ---- all of it -------------------------------------------------------------
 */

/* Takes up what the recording has now. Called at the opening and after each
 * growth. False: there is no memory. */
static bool
look(struct alqi_cli_exact *x)
{
    x->moment_ns = alqi_cli_recording_moment_ns(x->recording);
    x->held_ns = UINT64_MAX;
    x->is_growing = x->moment_ns != UINT64_MAX;
    x->n_chunks = 0;
    return chunks_index(x) && nodes_read(x) && clock_read(x) &&
           streams_bind(x) && streams_wake(x);
}

struct alqi_cli_exact *
alqi_cli_exact_open(const struct alqi_cli_recording *recording, bool *no_memory)
{
    struct alqi_cli_exact *x = calloc(1, sizeof *x);

    *no_memory = x == NULL;
    if (x == NULL)
        return NULL;
    x->recording = recording;
    *no_memory = !look(x);
    if (*no_memory || x->n_chunks == 0) {
        alqi_cli_exact_drop(x);
        return NULL;
    }
    return x;
}

bool
alqi_cli_exact_more(struct alqi_cli_exact *x)
{
    ALQI_ASSERT(x->n_heap == 0 || !x->is_started);
    x->is_over = false;
    free(x->chunks);
    x->chunks = NULL;
    return look(x);
}

void
alqi_cli_exact_drop(struct alqi_cli_exact *x)
{
    if (x == NULL)
        return;
    for (uint32_t i = 0; i < x->n_streams; i++)
        free(x->streams[i]);
    alqi_base_map_clear(&x->of_id);
    free(x->streams);
    free(x->heap);
    free(x->chunks);
    free(x->nodes);
    free(x->epochs);
    free(x);
}

/* Moves on from the event that was handed out last; its stream may leave the
 * heap. */
static void
advance(struct alqi_cli_exact *x)
{
    struct stream *s;

    if (!x->is_started || x->n_heap == 0)
        return;
    x->is_started = false;
    s = x->heap[0];
    s->is_waiting = !stream_next(x, s);
    if (s->is_waiting)
        x->heap[0] = x->heap[--x->n_heap];
    if (x->n_heap > 1)
        alqi_cli_least_sink(x->heap, x->n_heap, 0, comes_before);
}

uint64_t
alqi_cli_exact_time_ns(struct alqi_cli_exact *x)
{
    const struct stream *s;

    advance(x);
    if (x->n_heap == 0 || x->is_over)
        return UINT64_MAX;
    s = x->heap[0];
    return ns_from(x, s->out.event->ticks);
}

/* Events come in order of time, so the first that lies behind the moment, or
 * at what is held, ends the reading (is_over). */
const struct alqi_cli_exact_event *
alqi_cli_exact_next(struct alqi_cli_exact *x)
{
    struct stream *s;

    advance(x);
    if (x->n_heap == 0 || x->is_over)
        return NULL;
    s = x->heap[0];
    if (s->out.event->ticks != x->last_ticks) { /* many have the same */
        x->last_ticks = s->out.event->ticks;
        x->last_ns = ns_from(x, x->last_ticks);
    }
    if (ALQI_UNLIKELY(x->last_ns > x->moment_ns || x->last_ns >= x->held_ns)) {
        x->is_over = true;
        return NULL;
    }
    x->is_started = true;
    s->out.time_ns = x->last_ns;
    s->out.ahead_address = s->n_decoded != s->n_taken
                               ? s->decoded[(s->n_decoded - 1) % AHEAD].address
                               : 0;
    return &s->out;
}

bool
alqi_cli_exact_has_clock(const struct alqi_cli_exact *x)
{
    return !x->is_growing || x->clock_ns >= CLOCK_NS_LEAST;
}

uint32_t
alqi_cli_exact_n_streams(const struct alqi_cli_exact *x)
{
    return x->n_streams;
}

uint64_t
alqi_cli_exact_n_damaged(const struct alqi_cli_exact *x)
{
    return x->n_damaged + x->n_damaged_nodes;
}
