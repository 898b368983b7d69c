/* exact_encode.c -- the encoder of exact mode, but for its hot path
 *
 * Each malloc and free of a program in exact mode is encoded; what is common
 * is inline (exact_put.h), what is rare is here.  Async-signal-safe, bounded:
 * every call asks for EVENT_BYTES_MAX first.  Keeps raw.h .inv.alone. */
#include <string.h>

#include "base/base.h"
#include "wire/exact_put.h"

enum { NODE_BYTES_MAX = 16 };

static uint8_t *
put_control(uint8_t *at, enum alqi_exact_control control)
{
    *at = (uint8_t)(ALQI_EXACT_HEAD_CONTROL | control);
    return at + 1;
}

/* An address that is no multiple of the granule: smaller ones from here. */
ALQI_COLD uint8_t *
alqi_exact_put_shift(struct alqi_exact_state *s, uint8_t *at, uint64_t address)
{
    s->shift = (address & 7) == 0 ? 3 : 0;
    at = put_control(at, ALQI_EXACT_SHIFT);
    *at = s->shift;
    return at + 1;
}

ALQI_COLD uint8_t *
alqi_exact_put_time(struct alqi_exact_state *s, uint8_t *at, uint64_t delta)
{
    s->last_ticks += delta;
    return alqi_exact_put_number(put_control(at, ALQI_EXACT_TIME), delta);
}

ALQI_COLD uint8_t *
alqi_exact_put_new(struct alqi_exact_state *s, uint8_t *at, uint64_t delta,
                   uint64_t address, uint64_t size_bytes, uint32_t node)
{
    *at++ = ALQI_EXACT_HEAD_NODE;
    at = alqi_exact_put_ticks(s, at, delta);
    at = alqi_exact_put_number(
        at, alqi_wire_zigzag((int64_t)node - (int64_t)s->last_node));
    at = alqi_exact_put_number(at, size_bytes);
    s->last_node = node;
    return alqi_exact_put_number(
        at, alqi_exact_granules(s, s->last_address, address));
}

bool
alqi_exact_put_alloc(struct alqi_exact_encoder *e, uint64_t ticks,
                     uint64_t address, uint64_t size_bytes, uint32_t node)
{
    return alqi_exact_put_alloc_here(e, ticks, address, size_bytes, node);
}

bool
alqi_exact_put_free(struct alqi_exact_encoder *e, uint64_t ticks,
                    uint64_t address)
{
    return alqi_exact_put_free_here(e, ticks, address);
}

bool
alqi_exact_put_control(struct alqi_exact_encoder *e,
                       enum alqi_exact_control control, uint64_t value)
{
    if (!alqi_exact_has_room(e))
        return false;
    e->at = put_control(e->at, control);
    switch (control) {
    case ALQI_EXACT_TIMED:
        e->state.is_timed = true;
        break;
    case ALQI_EXACT_SAMPLES:
    case ALQI_EXACT_RSS:
    case ALQI_EXACT_POOL:
    case ALQI_EXACT_MARK:
        e->at = alqi_exact_put_number(e->at, value);
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
    uint64_t delta = alqi_exact_ticks_since(s, ticks);
    uint64_t since_ns = now_ns > s->start_ns ? now_ns - s->start_ns : 0;

    if (!alqi_exact_has_room(e))
        return false;
    s->last_ticks += delta;
    e->at = alqi_exact_put_number(
        alqi_exact_put_number(put_control(e->at, ALQI_EXACT_CLOCK), delta),
        since_ns);
    return true;
}

bool
alqi_exact_put_thread(struct alqi_exact_encoder *e, uint64_t ticks,
                      uint32_t index, uint32_t tid, const char *name)
{
    size_t n = strnlen(name, sizeof((struct alqi_exact_event *)0)->name - 1);
    uint8_t *at = e->at;

    if (!alqi_exact_has_room(e))
        return false;
    at = alqi_exact_put_time(&e->state, at,
                             alqi_exact_ticks_since(&e->state, ticks));
    at = put_control(at, ALQI_EXACT_THREAD);
    at = alqi_exact_put_number(
        alqi_exact_put_number(alqi_exact_put_number(at, index), tid), n);
    memcpy(at, name, n);
    e->at = at + n;
    return true;
}

bool
alqi_exact_put_rate(struct alqi_exact_encoder *e, double rate)
{
    if (!alqi_exact_has_room(e))
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
    e->at = alqi_exact_put_number(alqi_exact_put_number(e->at, id - parent),
                                  alqi_wire_zigzag((int64_t)(pc - e->last_pc)));
    e->last_pc = pc;
    return true;
}

/* No node lies at distance 0 from its parent. */
bool
alqi_exact_put_modules(struct alqi_exact_node_encoder *e, uint64_t n_modules)
{
    if ((size_t)(e->end - e->at) < NODE_BYTES_MAX)
        return false;
    e->at = alqi_exact_put_number(alqi_exact_put_number(e->at, 0), n_modules);
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
