/* raw_encode.c -- events into a chunk
 *
 * Each call writes one whole event or nothing: it asks for the room that the
 * event can take at most, then writes.  Async-signal-safe, bounded, no
 * allocation.  Keeps .inv.order and .inv.named; .inv.commit is the caller's,
 * who publishes `at`. */
#include <string.h>

#include "base/base.h"
#include "wire/raw.h"
#include "wire/side.h"
#include "wire/varint.h"

/* Length-prefixed bytes. */
static uint8_t *
put_bytes(uint8_t *at, const void *bytes, size_t n)
{
    at = alqi_wire_varint_put(at, n);
    if (n > 0)
        memcpy(at, bytes, n);
    return at + n;
}

/* .inv.order: a clock that seems to go back is held. */
static uint8_t *
put_head(struct alqi_raw_encoder *e, uint8_t *at, enum alqi_raw_kind kind,
         uint64_t now_ns)
{
    uint64_t delta_ns = now_ns > e->last_ns ? now_ns - e->last_ns : 0;

    *at++ = (uint8_t)kind;
    e->last_ns += delta_ns;
    return alqi_wire_varint_put(at, delta_ns);
}

static bool
has_room(const struct alqi_raw_encoder *e, size_t n_bytes)
{
    return (size_t)(e->end - e->at) >= n_bytes;
}

bool
alqi_raw_put_thread(struct alqi_raw_encoder *e, uint64_t now_ns, uint32_t index,
                    uint32_t tid, const char *name)
{
    size_t n = strnlen(name, sizeof((struct alqi_raw_event *)0)->name - 1);
    uint8_t *at = e->at;

    if (!has_room(e, 1 + 4 * ALQI_WIRE_VARINT_BYTES_MAX + n))
        return false;
    at = put_head(e, at, ALQI_RAW_THREAD, now_ns);
    at = alqi_wire_varint_put(at, index);
    at = alqi_wire_varint_put(at, tid);
    e->at = put_bytes(at, name, n);
    return true;
}

/* An allocation with its stack: the frames that the last one does not share,
 * outermost first, as differences. */
static inline bool
put_stack(struct alqi_raw_encoder *e, enum alqi_raw_kind kind, uint64_t now_ns,
          uint64_t size_bytes, uint64_t n_samples, const uintptr_t *frames,
          uint32_t n_frames, uint32_t n_shared)
{
    uint32_t n_fresh = n_frames - n_shared;
    uintptr_t last_pc = e->last_pc;
    uint8_t *at = e->at;

    ALQI_ASSERT(n_shared <= n_frames && n_frames <= ALQI_RAW_FRAMES_MAX);
    if (!has_room(e, 1 + ALQI_WIRE_VARINT_BYTES_MAX * ((size_t)n_fresh + 5)))
        return false;
    at = put_head(e, at, kind, now_ns);
    at = alqi_wire_varint_put(at, size_bytes);
    at = alqi_wire_varint_put(at, n_samples);
    at = alqi_wire_varint_put(at, n_shared);
    at = alqi_wire_varint_put(at, n_fresh);
    for (uint32_t i = n_fresh; i-- > 0;) {
        at = alqi_wire_varint_put(
            at, alqi_wire_zigzag((int64_t)(frames[i] - last_pc)));
        last_pc = frames[i];
    }
    e->last_pc = last_pc;
    e->next_ordinal++;
    e->at = at;
    return true;
}

bool
alqi_raw_put_alloc(struct alqi_raw_encoder *e, uint64_t now_ns,
                   uint64_t size_bytes, uint64_t n_samples,
                   const uintptr_t *frames, uint32_t n_frames,
                   uint32_t n_shared)
{
    return put_stack(e, ALQI_RAW_ALLOC, now_ns, size_bytes, n_samples, frames,
                     n_frames, n_shared);
}

bool
alqi_raw_put_named(struct alqi_raw_encoder *e, uint64_t now_ns,
                   uint64_t size_bytes, uint64_t n_samples,
                   const uintptr_t *frames, uint32_t n_frames,
                   uint32_t n_shared)
{
    ALQI_ASSERT(alqi_raw_may_name(e, n_frames));
    if (!put_stack(e, ALQI_RAW_ALLOC_NAMED, now_ns, size_bytes, n_samples,
                   frames, n_frames, n_shared))
        return false;
    e->n_named++;
    e->n_named_frames += n_frames;
    return true;
}

bool
alqi_raw_put_again(struct alqi_raw_encoder *e, uint64_t now_ns,
                   uint64_t size_bytes, uint64_t n_samples, uint32_t number,
                   uintptr_t pc)
{
    uint8_t *at = e->at;

    ALQI_ASSERT(number < e->n_named);
    if (!has_room(e, 1 + 4 * ALQI_WIRE_VARINT_BYTES_MAX))
        return false;
    at = put_head(e, at, ALQI_RAW_ALLOC_AGAIN, now_ns);
    at = alqi_wire_varint_put(at, size_bytes);
    at = alqi_wire_varint_put(at, n_samples);
    e->at = alqi_wire_varint_put(at, number);
    e->last_pc = pc;
    e->next_ordinal++;
    return true;
}

/* Eight bytes, least significant first: a rate is one of few, but exact. */
bool
alqi_raw_put_rate(struct alqi_raw_encoder *e, uint64_t now_ns, double rate)
{
    uint8_t *at = e->at;
    uint64_t bits;

    if (!has_room(e, 1 + ALQI_WIRE_VARINT_BYTES_MAX + sizeof bits))
        return false;
    at = put_head(e, at, ALQI_RAW_RATE, now_ns);
    memcpy(&bits, &rate, sizeof bits);
    for (size_t i = 0; i < sizeof bits; i++)
        *at++ = (uint8_t)(bits >> (8 * i));
    e->rate = rate;
    e->at = at;
    return true;
}

/* An event that names an allocation: of kind `own` when it is the stream's,
 * else of the kind after. */
static bool
put_reference(struct alqi_raw_encoder *e, uint64_t now_ns,
              enum alqi_raw_kind own, bool own_stream, uint32_t stream,
              uint64_t ordinal)
{
    uint8_t *at = e->at;

    if (!has_room(e, 1 + 3 * ALQI_WIRE_VARINT_BYTES_MAX))
        return false;
    if (own_stream) {
        at = put_head(e, at, own, now_ns);
        at = alqi_wire_varint_put(at, e->next_ordinal - 1 - ordinal);
    } else {
        at = put_head(e, at, own + 1, now_ns);
        at = alqi_wire_varint_put(at, stream);
        at = alqi_wire_varint_put(at, ordinal);
    }
    e->at = at;
    return true;
}

bool
alqi_raw_put_free(struct alqi_raw_encoder *e, uint64_t now_ns, bool own_stream,
                  uint32_t stream, uint64_t ordinal)
{
    return put_reference(e, now_ns, ALQI_RAW_FREE_OWN, own_stream, stream,
                         ordinal);
}

bool
alqi_raw_put_moved(struct alqi_raw_encoder *e, uint64_t now_ns, bool own_stream,
                   uint32_t stream, uint64_t ordinal)
{
    return put_reference(e, now_ns, ALQI_RAW_MOVED_OWN, own_stream, stream,
                         ordinal);
}

bool
alqi_raw_put_mapped(struct alqi_raw_encoder *e, uint64_t now_ns)
{
    if (!has_room(e, 1 + ALQI_WIRE_VARINT_BYTES_MAX))
        return false;
    e->at = put_head(e, e->at, ALQI_RAW_MAPPED, now_ns);
    return true;
}

bool
alqi_raw_put_reborn(struct alqi_raw_encoder *e, uint64_t now_ns)
{
    if (!has_room(e, 1 + ALQI_WIRE_VARINT_BYTES_MAX))
        return false;
    e->at = put_head(e, e->at, ALQI_RAW_REBORN, now_ns);
    return true;
}

bool
alqi_raw_put_pooled(struct alqi_raw_encoder *e, uint64_t now_ns,
                    uint32_t number)
{
    if (!has_room(e, 1 + 2 * ALQI_WIRE_VARINT_BYTES_MAX))
        return false;
    e->at = alqi_wire_varint_put(put_head(e, e->at, ALQI_RAW_POOLED, now_ns),
                                 number);
    return true;
}

bool
alqi_raw_put_rss(struct alqi_raw_encoder *e, uint64_t now_ns,
                 uint64_t rss_bytes)
{
    uint8_t *at = e->at;

    if (!has_room(e, 1 + 2 * ALQI_WIRE_VARINT_BYTES_MAX))
        return false;
    at = put_head(e, at, ALQI_RAW_RSS, now_ns);
    e->at = alqi_wire_varint_put(at, rss_bytes);
    return true;
}

bool
alqi_raw_put_module(struct alqi_raw_encoder *e, uint64_t now_ns, uint64_t start,
                    uint64_t end, uint64_t bias, const char *path,
                    const uint8_t *build_id, uint32_t build_id_bytes)
{
    size_t n = strnlen(path, ALQI_RAW_TEXT_BYTES_MAX - 1);
    uint8_t *at = e->at;

    if (build_id_bytes > sizeof((struct alqi_raw_event *)0)->build_id)
        build_id_bytes = 0;
    if (!has_room(e, 1 + 6 * ALQI_WIRE_VARINT_BYTES_MAX + n + build_id_bytes))
        return false;
    at = put_head(e, at, ALQI_RAW_MODULE, now_ns);
    at = alqi_wire_varint_put(at, start);
    at = alqi_wire_varint_put(at, end);
    at = alqi_wire_varint_put(at, alqi_wire_zigzag((int64_t)bias));
    at = put_bytes(at, path, n);
    e->at = put_bytes(at, build_id, build_id_bytes);
    return true;
}

bool
alqi_raw_put_code(struct alqi_raw_encoder *e, uint64_t now_ns, uint32_t number,
                  const char *function, const char *file)
{
    size_t n_function = strnlen(function, ALQI_RAW_NAME_BYTES_MAX - 1);
    size_t n_file = strnlen(file, ALQI_RAW_TEXT_BYTES_MAX - 1);
    uint8_t *at = e->at;

    ALQI_ASSERT(number <= ALQI_RAW_PYTHON_NUMBER_MAX);
    if (!has_room(e, 1 + 4 * ALQI_WIRE_VARINT_BYTES_MAX + n_function + n_file))
        return false;
    at = put_head(e, at, ALQI_RAW_CODE, now_ns);
    at = alqi_wire_varint_put(at, number);
    at = put_bytes(at, function, n_function);
    e->at = put_bytes(at, file, n_file);
    return true;
}

bool
alqi_raw_put_mark(struct alqi_raw_encoder *e, uint64_t now_ns, uint32_t number,
                  const char *name)
{
    size_t n = strnlen(name, ALQI_SIDE_MARK_BYTES - 1);
    uint8_t *at = e->at;

    if (!has_room(e, 1 + 3 * ALQI_WIRE_VARINT_BYTES_MAX + n))
        return false;
    at = put_head(e, at, ALQI_RAW_MARK, now_ns);
    e->at = put_bytes(alqi_wire_varint_put(at, number), name, n);
    return true;
}
