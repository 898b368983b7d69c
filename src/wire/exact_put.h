/* exact_put.h -- the encoder's hot path, to be inlined where it is hot
 *
 * Each malloc and free of a program in exact mode passes here: lengths of
 * numbers differ from event to event, so they are found without branches. */
#ifndef ALQI_WIRE_EXACT_PUT_H
#define ALQI_WIRE_EXACT_PUT_H

#include <string.h>

#include "base/base.h"
#include "wire/exact.h"
#include "wire/varint.h"

enum {
    ALQI_EXACT_HEAD_PREDICTED = 0x80,
    ALQI_EXACT_HEAD_SLOT = 0xC0,
    ALQI_EXACT_HEAD_NODE = 0xE0,
    ALQI_EXACT_HEAD_CONTROL = 0xF0,
    ALQI_EXACT_PREDICTED_SAME = 0x20,
    ALQI_EXACT_SLOT_SAME = 0x10
};

uint8_t *alqi_exact_put_shift(struct alqi_exact_state *state, uint8_t *at,
                              uint64_t address);
/* Time never goes back: a tick that seems to is held. */
uint8_t *alqi_exact_put_time(struct alqi_exact_state *state, uint8_t *at,
                             uint64_t delta);
uint8_t *alqi_exact_put_new(struct alqi_exact_state *state, uint8_t *at,
                            uint64_t delta, uint64_t address,
                            uint64_t size_bytes, uint32_t node);

/* LEB128.  Four bytes are stored whatever the length: there is room
 * (ALQI_EXACT_EVENT_BYTES_MAX), and what is too much is overwritten. */
static inline uint8_t *
alqi_exact_put_number(uint8_t *at, uint64_t value)
{
    if (ALQI_LIKELY(value < 1 << 28)) {
        uint32_t v = (uint32_t)value;
        uint32_t n = (38 - (uint32_t)__builtin_clz(v | 1)) / 7;
        uint32_t more = (UINT32_C(1) << 8 * (n - 1)) - 1;
        uint32_t bytes = (v & 0x7F) | (v & 0x3F80) << 1 | (v & 0x1FC000) << 2 |
                         (v & 0xFE00000) << 3 | (more & 0x808080);

        _Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "LEB128");
        memcpy(at, &bytes, sizeof bytes);
        return at + n;
    }
    return alqi_wire_varint_put(at, value);
}

/* Between two addresses of 48 bits, in granules. */
static inline uint64_t
alqi_exact_granules(const struct alqi_exact_state *s, uint64_t from,
                    uint64_t to)
{
    return alqi_wire_zigzag((int64_t)((to - from) << 16) >> 16 >> s->shift);
}

static inline bool
alqi_exact_has_room(const struct alqi_exact_encoder *e)
{
    return (size_t)(e->end - e->at) >= ALQI_EXACT_EVENT_BYTES_MAX;
}

static inline uint64_t
alqi_exact_ticks_since(const struct alqi_exact_state *s, uint64_t ticks)
{
    ticks >>= ALQI_EXACT_TICK_SHIFT;
    return ticks > s->last_ticks ? ticks - s->last_ticks : 0;
}

/* What goes before the head. */
static inline uint8_t *
alqi_exact_put_before(struct alqi_exact_state *s, uint8_t *at, uint64_t delta,
                      uint64_t address)
{
    if (ALQI_UNLIKELY((address & (((uint64_t)1 << s->shift) - 1)) != 0))
        at = alqi_exact_put_shift(s, at, address);
    if (!s->is_timed && ALQI_UNLIKELY(delta >= ALQI_EXACT_TIME_STEP))
        at = alqi_exact_put_time(s, at, delta);
    return at;
}

static inline uint8_t *
alqi_exact_put_ticks(struct alqi_exact_state *s, uint8_t *at, uint64_t delta)
{
    if (!s->is_timed)
        return at;
    s->last_ticks += delta;
    return alqi_exact_put_number(at, delta);
}

/* An allocation by a stack that its slot has: predicted, if the slot came next
 * after the last one the time before. */
static inline uint8_t *
alqi_exact_put_known(struct alqi_exact_state *s, uint8_t *at, uint64_t delta,
                     uint64_t address, uint64_t size_bytes, uint32_t slot)
{
    const struct alqi_exact_slot *known = &s->slots[slot];
    bool is_same = size_bytes == known->size_bytes && size_bytes != UINT32_MAX;
    uint64_t v = alqi_exact_granules(s, known->address, address);

    if (s->slots[s->prev_slot].next_slot == slot) {
        *at++ = (uint8_t)(ALQI_EXACT_HEAD_PREDICTED |
                          (is_same ? ALQI_EXACT_PREDICTED_SAME : 0) |
                          (v > 15 ? 0x10 : 0) | (v & 15));
        at = alqi_exact_put_ticks(s, at, delta);
        if (!is_same)
            at = alqi_exact_put_number(at, size_bytes);
        return v > 15 ? alqi_exact_put_number(at, v >> 4) : at;
    }
    *at++ = (uint8_t)(ALQI_EXACT_HEAD_SLOT |
                      (is_same ? ALQI_EXACT_SLOT_SAME : 0) | slot >> 8);
    at = alqi_exact_put_ticks(s, at, delta);
    *at++ = (uint8_t)slot;
    if (!is_same)
        at = alqi_exact_put_number(at, size_bytes);
    return alqi_exact_put_number(at, v);
}

/* Writes an allocation, inline.  False: no room. */
static inline bool
alqi_exact_put_alloc_here(struct alqi_exact_encoder *e, uint64_t ticks,
                          uint64_t address, uint64_t size_bytes, uint32_t node)
{
    struct alqi_exact_state *s = &e->state;
    uint32_t slot = alqi_exact_slot_of(node);
    uint64_t delta = alqi_exact_ticks_since(s, ticks);
    uint8_t *at;

    if (ALQI_UNLIKELY(!alqi_exact_has_room(e)))
        return false;
    at = alqi_exact_put_before(s, e->at, delta, address);
    if (ALQI_LIKELY(s->slots[slot].node == node && node != 0))
        at = alqi_exact_put_known(s, at, delta, address, size_bytes, slot);
    else
        at = alqi_exact_put_new(s, at, delta, address, size_bytes, node);
    alqi_exact_learn(s, slot, node, address, size_bytes);
    e->at = at;
    return true;
}

/* Writes a free, inline.  False: no room. */
static inline bool
alqi_exact_put_free_here(struct alqi_exact_encoder *e, uint64_t ticks,
                         uint64_t address)
{
    struct alqi_exact_state *s = &e->state;
    uint64_t delta = alqi_exact_ticks_since(s, ticks), v;
    uint8_t *at, *end;

    if (ALQI_UNLIKELY(!alqi_exact_has_room(e)))
        return false;
    at = alqi_exact_put_before(s, e->at, delta, address);
    v = alqi_exact_granules(s, s->last_address, address);
    *at++ = (uint8_t)((v > 63 ? 0x40 : 0) | (v & 63));
    at = alqi_exact_put_ticks(s, at, delta);
    end = alqi_exact_put_number(at, v >> 6);
    s->last_address = address;
    e->at = v > 63 ? end : at;
    return true;
}

#endif
