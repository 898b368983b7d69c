/* exact_decode.c -- chunks of exact mode, read back
 *
 * The bytes may come from anywhere: every number is bounded before it is used,
 * and nothing is allocated.  The decoder keeps the encoder's state step by
 * step (alqi_exact_learn); a damaged event ends the chunk. */
#include <string.h>

#include "base/base.h"
#include "wire/exact.h"
#include "wire/varint.h"

static int
fail(struct alqi_exact_decoder *d, const char *why)
{
    d->error = why;
    return -1;
}

static bool
get(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    return alqi_wire_varint_get(at, end, value) == NULL;
}

static inline bool
get_number(struct alqi_exact_decoder *d, uint64_t *value)
{
    if (ALQI_LIKELY(d->at != d->end && *d->at < 0x80)) {
        *value = *d->at++;
        return true;
    }
    return get(&d->at, d->end, value);
}

/* The address that lies v granules, zigzag, from another; 48 bits. */
static inline uint64_t
address_from(const struct alqi_exact_state *s, uint64_t from, uint64_t v)
{
    return (from + ((uint64_t)alqi_wire_unzigzag(v) << s->shift)) &
           (((uint64_t)1 << 48) - 1);
}

/* Time that goes round is damage. */
static bool
get_time(struct alqi_exact_decoder *d)
{
    uint64_t delta;

    return get_number(d, &delta) &&
           !__builtin_add_overflow(d->state.last_ticks, delta,
                                   &d->state.last_ticks);
}

static inline bool
get_ticks(struct alqi_exact_decoder *d)
{
    return !d->state.is_timed || get_time(d);
}

/* The rest of a number of which the head had `bits` bits. */
static bool
get_rest(struct alqi_exact_decoder *d, bool has_more, unsigned bits,
         uint64_t *value)
{
    uint64_t more;

    if (!has_more)
        return true;
    if (!get_number(d, &more))
        return false;
    *value |= more << bits;
    return true;
}

/* A free: the address, as its distance from the last event's. */
static bool
get_free(struct alqi_exact_decoder *d, struct alqi_exact_event *event,
         uint8_t head)
{
    uint64_t v = head & 63;

    if (!get_ticks(d) || !get_rest(d, (head & 0x40) != 0, 6, &v))
        return false;
    event->kind = ALQI_EXACT_FREE;
    event->address = address_from(&d->state, d->state.last_address, v);
    d->state.last_address = event->address;
    return true;
}

/* What follows the head of an allocation by a stack that a slot has. */
static bool
get_known(struct alqi_exact_decoder *d, struct alqi_exact_event *event,
          uint32_t slot, bool is_same, uint64_t v, bool has_more)
{
    const struct alqi_exact_slot *known = &d->state.slots[slot];

    event->size_bytes = known->size_bytes;
    if ((!is_same && !get_number(d, &event->size_bytes)) ||
        !get_rest(d, has_more, 4, &v))
        return false;
    event->node = known->node;
    event->address = address_from(&d->state, known->address, v);
    return true;
}

static bool
get_predicted(struct alqi_exact_decoder *d, struct alqi_exact_event *event,
              uint8_t head)
{
    uint32_t slot = d->state.slots[d->state.prev_slot].next_slot;

    return get_ticks(d) && get_known(d, event, slot, (head & 0x20) != 0,
                                     head & 15, (head & 0x10) != 0);
}

/* An allocation by the stack of a slot that is named. */
static bool
get_slot(struct alqi_exact_decoder *d, struct alqi_exact_event *event,
         uint8_t head)
{
    const struct alqi_exact_slot *known;
    uint32_t slot;
    uint64_t v;

    if (!get_ticks(d) || d->at == d->end)
        return false;
    slot = (uint32_t)(head & 15) << 8 | *d->at++;
    known = &d->state.slots[slot];
    event->size_bytes = known->size_bytes;
    if (((head & 0x10) == 0 && !get_number(d, &event->size_bytes)) ||
        !get_number(d, &v))
        return false;
    event->node = known->node;
    event->address = address_from(&d->state, known->address, v);
    return true;
}

/* An allocation by a stack that no slot has. */
static bool
get_new(struct alqi_exact_decoder *d, struct alqi_exact_event *event)
{
    struct alqi_exact_state *s = &d->state;
    uint64_t node, v;

    if (!get_ticks(d) || !get_number(d, &node) ||
        !get_number(d, &event->size_bytes) || !get_number(d, &v))
        return false;
    s->last_node =
        (uint32_t)(s->last_node + (uint64_t)alqi_wire_unzigzag(node));
    event->node = s->last_node;
    event->address = address_from(s, s->last_address, v);
    return true;
}

/* An allocation in any of its three forms; both sides learn it. */
static bool
get_alloc(struct alqi_exact_decoder *d, struct alqi_exact_event *event,
          uint8_t head)
{
    bool ok = head < 0xC0   ? get_predicted(d, event, head)
              : head < 0xE0 ? get_slot(d, event, head)
                            : get_new(d, event);

    if (!ok)
        return false;
    event->kind = ALQI_EXACT_ALLOC;
    alqi_exact_learn(&d->state, alqi_exact_slot_of(event->node), event->node,
                     event->address, event->size_bytes);
    return true;
}

/* The stream's thread, from here on. */
static bool
get_thread(struct alqi_exact_decoder *d, struct alqi_exact_event *event)
{
    uint64_t index, tid, n;

    if (!get_number(d, &index) || !get_number(d, &tid) || !get_number(d, &n) ||
        index > UINT32_MAX || tid > UINT32_MAX || n >= sizeof event->name ||
        n > (size_t)(d->end - d->at))
        return false;
    event->thread_index = (uint32_t)index;
    event->tid = (uint32_t)tid;
    memcpy(event->name, d->at, n);
    event->name[n] = '\0';
    d->at += n;
    return true;
}

static bool
get_rate(struct alqi_exact_decoder *d, struct alqi_exact_event *event)
{
    if ((size_t)(d->end - d->at) < sizeof event->rate)
        return false;
    memcpy(&event->rate, d->at, sizeof event->rate);
    d->at += sizeof event->rate;
    return event->rate >= 0 && event->rate <= 1;
}

static bool
get_shift(struct alqi_exact_decoder *d)
{
    if (d->at == d->end || *d->at > ALQI_EXACT_GRANULE_SHIFT)
        return false;
    d->state.shift = *d->at++;
    return true;
}

/* What follows a control head; false: damaged. */
static bool
get_control(struct alqi_exact_decoder *d, struct alqi_exact_event *event)
{
    switch ((enum alqi_exact_control)event->kind) {
    case ALQI_EXACT_TIME:
        return get_time(d);
    case ALQI_EXACT_TIMED:
        d->state.is_timed = true;
        return true;
    case ALQI_EXACT_SHIFT:
        return get_shift(d);
    case ALQI_EXACT_CLOCK:
        return get_time(d) && get_number(d, &event->value) &&
               !__builtin_add_overflow(event->value, d->state.start_ns,
                                       &event->value);
    case ALQI_EXACT_SAMPLES:
    case ALQI_EXACT_RSS:
    case ALQI_EXACT_POOL:
    case ALQI_EXACT_MARK:
        return get_number(d, &event->value);
    case ALQI_EXACT_MOVED:
    case ALQI_EXACT_UNDO:
    case ALQI_EXACT_MAPPING:
        return true;
    case ALQI_EXACT_THREAD:
        return get_thread(d, event);
    case ALQI_EXACT_RATE:
        return get_rate(d, event);
    case ALQI_EXACT_CONTROLS:
        break;
    }
    return false;
}

int
alqi_exact_next(struct alqi_exact_decoder *d, struct alqi_exact_event *event)
{
    while (d->at != d->end) {
        uint8_t head = *d->at++;
        bool ok;

        if (head < 0x80) {
            ok = get_free(d, event, head);
        } else if (head < 0xF0) {
            ok = get_alloc(d, event, head);
        } else {
            event->kind = head & 15;
            ok = get_control(d, event);
        }
        if (ALQI_UNLIKELY(!ok)) {
            d->at = d->end;
            return fail(d, "an event is cut or out of range");
        }
        if (event->kind == ALQI_EXACT_TIMED || event->kind == ALQI_EXACT_SHIFT)
            continue;
        event->ticks = d->state.last_ticks;
        return 1;
    }
    return 0;
}

/* The events of a chunk of that kind; false, with *error: the bytes are none.
 */
static bool
chunk_open(const uint8_t *chunk, size_t n_bytes, enum alqi_raw_chunk_kind kind,
           struct alqi_raw_chunk_header *h, const uint8_t **at,
           const uint8_t **end, const char **error)
{
    uint32_t used;

    *error = NULL;
    if (n_bytes < sizeof *h) {
        *error = "a chunk is cut";
        return false;
    }
    memcpy(h, chunk, sizeof *h);
    if (h->magic != ALQI_RAW_CHUNK_MAGIC || h->kind != kind) {
        *error = "a chunk is not what it should be";
        return false;
    }
    used = atomic_load_explicit(&h->used, memory_order_relaxed);
    if (used > n_bytes - sizeof *h)
        used = (uint32_t)(n_bytes - sizeof *h);
    *at = chunk + sizeof *h;
    *end = *at + used;
    return true;
}

bool
alqi_exact_decoder_open(struct alqi_exact_decoder *d, const uint8_t *chunk,
                        size_t n_bytes)
{
    struct alqi_raw_chunk_header h;

    memset(d, 0, sizeof *d);
    if (!chunk_open(chunk, n_bytes, ALQI_RAW_EXACT, &h, &d->at, &d->end,
                    &d->error))
        return false;
    d->state.start_ns = h.start_ns;
    d->state.last_ticks = h.first_ordinal;
    d->state.shift = ALQI_EXACT_GRANULE_SHIFT;
    return true;
}

void
alqi_exact_decoder_more(struct alqi_exact_decoder *d, const uint8_t *chunk,
                        size_t n_bytes, size_t offset_bytes)
{
    struct alqi_raw_chunk_header h;
    const uint8_t *first, *end;

    if (!chunk_open(chunk, n_bytes, ALQI_RAW_EXACT, &h, &first, &end,
                    &d->error) ||
        offset_bytes > (size_t)(end - chunk)) {
        d->at = d->end = chunk;
        return;
    }
    d->at = chunk + offset_bytes;
    d->end = end;
}

bool
alqi_exact_node_decoder_open(struct alqi_exact_node_decoder *d,
                             const uint8_t *chunk, size_t n_bytes)
{
    struct alqi_raw_chunk_header h;

    memset(d, 0, sizeof *d);
    if (!chunk_open(chunk, n_bytes, ALQI_RAW_NODES, &h, &d->at, &d->end,
                    &d->error))
        return false;
    if (h.first_ordinal == 0 || h.first_ordinal > UINT32_MAX) {
        d->error = "a stack has a number out of range";
        d->at = d->end;
        return false;
    }
    d->next_id = (uint32_t)h.first_ordinal;
    return true;
}

int
alqi_exact_node_next(struct alqi_exact_node_decoder *d, uint32_t *id,
                     uint32_t *parent, uint64_t *pc)
{
    uint64_t distance, delta;

    do {
        if (d->at == d->end)
            return 0;
        if (!get(&d->at, d->end, &distance) || !get(&d->at, d->end, &delta) ||
            distance > d->next_id || d->next_id == UINT32_MAX) {
            d->error = "a stack is cut or has no parent";
            d->at = d->end;
            return -1;
        }
        if (distance == 0)
            d->n_modules = delta;
    } while (distance == 0);
    *id = d->next_id++;
    *parent = *id - (uint32_t)distance;
    d->last_pc += (uint64_t)alqi_wire_unzigzag(delta);
    *pc = d->last_pc;
    return 1;
}
