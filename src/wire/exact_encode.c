/* exact_encode.c -- see exact.h; the preload's exact mode runs through here */
#include <string.h>

#include "base/base.h"
#include "wire/exact.h"

enum {
    HEAD_PREDICTED = 0x80,
    HEAD_SLOT = 0xC0,
    HEAD_NODE = 0xE0,
    HEAD_CONTROL = 0xF0,
    PREDICTED_SAME = 0x20,
    SLOT_SAME = 0x10,
    NODE_BYTES_MAX = 16
};

static inline uint8_t *
put(uint8_t *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline uint64_t
zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

/* Between two addresses of 48 bits, in granules. */
static inline uint64_t
granules(const struct alqi_exact_state *s, uint64_t from, uint64_t to)
{
    return zigzag((int64_t)((to - from) << 16) >> 16 >> s->shift);
}

static inline bool
has_room(const struct alqi_exact_encoder *e)
{
    return (size_t)(e->end - e->at) >= ALQI_EXACT_EVENT_BYTES_MAX;
}

static inline uint8_t *
put_control(uint8_t *at, enum alqi_exact_control control)
{
    *at = (uint8_t)(HEAD_CONTROL | control);
    return at + 1;
}

/* An address that is no multiple of the granule: smaller ones from here. */
static ALQI_NOINLINE uint8_t *
put_shift(struct alqi_exact_state *s, uint8_t *at, uint64_t address)
{
    s->shift = (address & 7) == 0 ? 3 : 0;
    at = put_control(at, ALQI_EXACT_SHIFT);
    *at = s->shift;
    return at + 1;
}

/* Time never goes back: a tick that seems to is held. */
static ALQI_NOINLINE uint8_t *
put_time(struct alqi_exact_state *s, uint8_t *at, uint64_t delta)
{
    s->last_ticks += delta;
    return put(put_control(at, ALQI_EXACT_TIME), delta);
}

static inline uint64_t
ticks_since(const struct alqi_exact_state *s, uint64_t ticks)
{
    ticks >>= ALQI_EXACT_TICK_SHIFT;
    return ticks > s->last_ticks ? ticks - s->last_ticks : 0;
}

/* What goes before the head. */
static inline uint8_t *
put_before(struct alqi_exact_state *s, uint8_t *at, uint64_t delta,
           uint64_t address)
{
    if (ALQI_UNLIKELY((address & (((uint64_t)1 << s->shift) - 1)) != 0))
        at = put_shift(s, at, address);
    if (!s->is_timed && ALQI_UNLIKELY(delta >= ALQI_EXACT_TIME_STEP))
        at = put_time(s, at, delta);
    return at;
}

static inline uint8_t *
put_ticks(struct alqi_exact_state *s, uint8_t *at, uint64_t delta)
{
    if (!s->is_timed)
        return at;
    s->last_ticks += delta;
    return put(at, delta);
}

static uint8_t *
put_new(struct alqi_exact_state *s, uint8_t *at, uint64_t delta,
        uint64_t address, uint64_t size_bytes, uint32_t node)
{
    *at++ = HEAD_NODE;
    at = put_ticks(s, at, delta);
    at = put(at, zigzag((int64_t)node - (int64_t)s->last_node));
    at = put(at, size_bytes);
    s->last_node = node;
    return put(at, granules(s, s->last_address, address));
}

static inline uint8_t *
put_known(struct alqi_exact_state *s, uint8_t *at, uint64_t delta,
          uint64_t address, uint64_t size_bytes, uint32_t slot)
{
    const struct alqi_exact_slot *known = &s->slots[slot];
    bool is_same = size_bytes == known->size_bytes && size_bytes != UINT32_MAX;
    uint64_t v = granules(s, known->address, address);

    if (s->slots[s->prev_slot].next_slot == slot) {
        *at++ = (uint8_t)(HEAD_PREDICTED | (is_same ? PREDICTED_SAME : 0) |
                          (v > 15 ? 0x10 : 0) | (v & 15));
        at = put_ticks(s, at, delta);
        if (!is_same)
            at = put(at, size_bytes);
        return v > 15 ? put(at, v >> 4) : at;
    }
    *at++ = (uint8_t)(HEAD_SLOT | (is_same ? SLOT_SAME : 0) | slot >> 8);
    at = put_ticks(s, at, delta);
    *at++ = (uint8_t)slot;
    if (!is_same)
        at = put(at, size_bytes);
    return put(at, v);
}

bool
alqi_exact_put_alloc(struct alqi_exact_encoder *e, uint64_t ticks,
                     uint64_t address, uint64_t size_bytes, uint32_t node)
{
    struct alqi_exact_state *s = &e->state;
    uint32_t slot = alqi_exact_slot_of(node);
    uint64_t delta = ticks_since(s, ticks);
    uint8_t *at;

    if (ALQI_UNLIKELY(!has_room(e)))
        return false;
    at = put_before(s, e->at, delta, address);
    if (ALQI_LIKELY(s->slots[slot].node == node && node != 0))
        at = put_known(s, at, delta, address, size_bytes, slot);
    else
        at = put_new(s, at, delta, address, size_bytes, node);
    alqi_exact_learn(s, slot, node, address, size_bytes);
    e->at = at;
    return true;
}

bool
alqi_exact_put_free(struct alqi_exact_encoder *e, uint64_t ticks,
                    uint64_t address)
{
    struct alqi_exact_state *s = &e->state;
    uint64_t delta = ticks_since(s, ticks), v;
    uint8_t *at;

    if (ALQI_UNLIKELY(!has_room(e)))
        return false;
    at = put_before(s, e->at, delta, address);
    v = granules(s, s->last_address, address);
    *at++ = (uint8_t)((v > 63 ? 0x40 : 0) | (v & 63));
    at = put_ticks(s, at, delta);
    if (v > 63)
        at = put(at, v >> 6);
    s->last_address = address;
    e->at = at;
    return true;
}

bool
alqi_exact_put_control(struct alqi_exact_encoder *e,
                       enum alqi_exact_control control, uint64_t value)
{
    if (!has_room(e))
        return false;
    e->at = put_control(e->at, control);
    switch (control) {
    case ALQI_EXACT_TIMED:
        e->state.is_timed = true;
        break;
    case ALQI_EXACT_SAMPLES:
    case ALQI_EXACT_RSS:
        e->at = put(e->at, value);
        break;
    default:
        break;
    }
    return true;
}

bool
alqi_exact_put_clock(struct alqi_exact_encoder *e, uint64_t ticks,
                     uint64_t now_ns)
{
    struct alqi_exact_state *s = &e->state;
    uint64_t delta = ticks_since(s, ticks);
    uint64_t since_ns = now_ns > s->start_ns ? now_ns - s->start_ns : 0;

    if (!has_room(e))
        return false;
    s->last_ticks += delta;
    e->at = put(put(put_control(e->at, ALQI_EXACT_CLOCK), delta), since_ns);
    return true;
}

bool
alqi_exact_put_thread(struct alqi_exact_encoder *e, uint64_t ticks,
                      uint32_t index, uint32_t tid, const char *name)
{
    size_t n = strnlen(name, sizeof((struct alqi_exact_event *)0)->name - 1);
    uint8_t *at = e->at;

    if (!has_room(e))
        return false;
    at = put_time(&e->state, at, ticks_since(&e->state, ticks));
    at = put_control(at, ALQI_EXACT_THREAD);
    at = put(put(put(at, index), tid), n);
    memcpy(at, name, n);
    e->at = at + n;
    return true;
}

bool
alqi_exact_put_rate(struct alqi_exact_encoder *e, double rate)
{
    if (!has_room(e))
        return false;
    e->at = put_control(e->at, ALQI_EXACT_RATE);
    memcpy(e->at, &rate, sizeof rate);
    e->at += sizeof rate;
    return true;
}

bool
alqi_exact_put_node(struct alqi_exact_node_encoder *e, uint32_t id,
                    uint32_t parent, uint64_t pc)
{
    if ((size_t)(e->end - e->at) < NODE_BYTES_MAX)
        return false;
    e->at = put(put(e->at, id - parent), zigzag((int64_t)(pc - e->last_pc)));
    e->last_pc = pc;
    return true;
}

/* No node lies at distance 0 from its parent. */
bool
alqi_exact_put_modules(struct alqi_exact_node_encoder *e, uint64_t n_modules)
{
    if ((size_t)(e->end - e->at) < NODE_BYTES_MAX)
        return false;
    e->at = put(put(e->at, 0), n_modules);
    return true;
}

void
alqi_exact_begin(struct alqi_exact_encoder *e,
                 struct alqi_raw_chunk_header *chunk, size_t chunk_bytes,
                 bool is_timed)
{
    struct alqi_exact_state *s = &e->state;

    e->at = (uint8_t *)(chunk + 1);
    e->end = (uint8_t *)chunk + chunk_bytes;
    memset(s, 0, sizeof *s);
    s->start_ns = chunk->start_ns;
    s->last_ticks = chunk->first_ordinal;
    s->shift = ALQI_EXACT_GRANULE_SHIFT;
    if (is_timed)
        alqi_exact_put_control(e, ALQI_EXACT_TIMED, 0);
}
