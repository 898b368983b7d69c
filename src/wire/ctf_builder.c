/* ctf_builder.c -- packets in the making
 *
 * Closing writes the location records that wait, in packets of their own, then
 * the packet of events, then opens the next one.  After a refusal by the
 * callback nothing more is written.  Keeps .inv.before, .inv.head, .inv.verify
 * and the rules of closing. */
#include <stdlib.h>

#include "base/base.h"
#include "wire/ctf_builder.h"

enum {
    EVENT_BYTES_MAX = 4196,     /* .rule.room */
    LOCATIONS_MAX = 128,        /* .rule.locations */
    SPAN_US_MAX = 30000000,     /* .rule.span */
    CHUNK_IDS = 10000,          /* .rule.chunk */
    LOCATION_ROOM_BYTES = 4096, /* a location packet with no more is full */
    VERIFY_FIRST = 4242,
    VERIFY_STEP = 5413,
    /* event header + the record's ceiling */
    WAITING_RECORD_BYTES = 4 + ALQI_RECORD_BYTES_MAX
};

/* Ids [next_id, chunk_end) are this stream's from now on. */
static void
chunk_take(struct alqi_ctf_builder *builder)
{
    if (builder->next_chunk != NULL) {
        builder->next_id = *builder->next_chunk;
        *builder->next_chunk += CHUNK_IDS;
    }
    builder->chunk_end = builder->next_id + CHUNK_IDS;
}

/* Opens a packet that begins at now_us. */
static void
packet_begin(struct alqi_ctf_builder *builder, uint64_t now_us)
{
    uint32_t head = alqi_packet_header_bytes(builder->version);

    builder->begin_us = now_us;
    if (builder->next_id == builder->chunk_end)
        chunk_take(builder);
    builder->id_begin = builder->next_id;
    builder->events.at = builder->bytes + head;
    builder->events.end = builder->bytes + sizeof builder->bytes;
    builder->events.bad = false;
}

/* Chooses the slot of the cache that the packet lets readers verify. */
static void
verify_begin(struct alqi_ctf_builder *builder)
{
    builder->verify_index =
        !builder->is_verifying
            ? VERIFY_FIRST
            : (builder->verify_index + VERIFY_STEP) % ALQI_CTF_CACHE_SLOTS;
    builder->is_verifying = true;
    builder->verify_next = builder->cache->next[builder->verify_index];
    builder->verify_slot = builder->cache->slot[builder->verify_index];
}

/* Fills in the header and hands the packet over. */
static bool
packet_put(struct alqi_ctf_builder *builder, uint8_t *bytes, const uint8_t *end,
           struct alqi_packet *packet)
{
    struct alqi_wire_out head = {.at = bytes, .end = bytes + 68};

    if (builder->is_failed)
        return false;
    packet->n_bytes = (uint32_t)(end - bytes);
    packet->version = builder->version;
    packet->domain = builder->domain;
    packet->pid = builder->pid;
    packet->begin_us = builder->begin_us;
    packet->id_begin = builder->id_begin;
    alqi_packet_write(&head, packet);
    builder->is_failed =
        !builder->packet(builder->packet_arg, bytes, packet->n_bytes);
    return !builder->is_failed;
}

bool
alqi_ctf_builder_open(struct alqi_ctf_builder *builder,
                      const struct alqi_ctf_info *info)
{
    struct alqi_packet packet = {
        .end_us = info->start_us,
        .verify_index = ALQI_PACKET_NO_VERIFY,
    };

    bool is_further = builder->next_chunk != NULL && *builder->next_chunk > 0;

    builder->version = info->version;
    builder->pid = info->pid;
    builder->last_us = info->start_us;
    packet_begin(builder, info->start_us);
    if (is_further)
        return true;
    alqi_wire_out_u32(&builder->events,
                      alqi_event_head(info->start_us, ALQI_EVENT_INFO));
    alqi_packet_info_write(&builder->events, info);
    ALQI_ASSERT(!builder->events.bad); /* the caller has measured the strings */
    if (!packet_put(builder, builder->bytes, builder->events.at, &packet))
        return false;
    packet_begin(builder, info->start_us);
    return true;
}

/* A packet of the location records up to `end`. */
static bool
location_packet_put(struct alqi_ctf_builder *builder, const uint8_t *end)
{
    struct alqi_packet packet = {
        .end_us = builder->begin_us,
        .verify_index = ALQI_PACKET_NO_VERIFY,
        .id_end = builder->id_begin,
    };

    return packet_put(builder, builder->location_bytes, end, &packet);
}

/* All records that wait, in as few packets as they fit. */
static bool
locations_put(struct alqi_ctf_builder *builder)
{
    uint8_t *start =
        builder->location_bytes + alqi_packet_header_bytes(builder->version);
    struct alqi_wire_out out = {
        .at = start,
        .end = builder->location_bytes + sizeof builder->location_bytes,
    };
    struct alqi_wire_in in = {.at = builder->waiting};

    if (builder->n_waiting == 0)
        return true;
    in.end = builder->waiting + builder->n_waiting_bytes;
    for (; builder->n_waiting > 0; builder->n_waiting--) {
        uint16_t n = alqi_wire_in_u16(&in);

        if (alqi_wire_out_left(&out) <= LOCATION_ROOM_BYTES ||
            alqi_wire_out_left(&out) < n) {
            if (!location_packet_put(builder, out.at))
                return false;
            out.at = start;
        }
        alqi_wire_out_put(&out, in.at, n);
        in.at += n;
    }
    builder->n_waiting_bytes = 0;
    return out.at == start || location_packet_put(builder, out.at);
}

bool
alqi_ctf_builder_close(struct alqi_ctf_builder *builder, uint64_t now_us)
{
    struct alqi_packet packet = {
        .end_us = builder->last_us > builder->begin_us ? builder->last_us
                                                       : builder->begin_us,
        .verify_index = builder->is_verifying ? builder->verify_index
                                              : ALQI_PACKET_NO_VERIFY,
        .verify_next = builder->verify_next,
        .verify_slot = builder->verify_slot,
        .id_end = builder->next_id,
    };

    ALQI_ASSERT(!builder->events.bad);
    if (!locations_put(builder) ||
        !packet_put(builder, builder->bytes, builder->events.at, &packet))
        return false;
    alqi_record_skip(builder->mtf, builder->n_side_entries);
    builder->n_side_entries = 0;
    packet_begin(builder, now_us);
    verify_begin(builder);
    return true;
}

bool
alqi_ctf_builder_ready(struct alqi_ctf_builder *builder, uint64_t now_us)
{
    if (builder->is_failed)
        return false;
    if (alqi_wire_out_left(&builder->events) < EVENT_BYTES_MAX ||
        builder->n_waiting > LOCATIONS_MAX ||
        now_us - builder->begin_us > SPAN_US_MAX ||
        (builder->version >= 3 && builder->next_id == builder->chunk_end))
        return alqi_ctf_builder_close(builder, now_us);
    return true;
}

bool
alqi_ctf_builder_is_empty(const struct alqi_ctf_builder *builder)
{
    return builder->n_waiting == 0 &&
           builder->events.at ==
               builder->bytes + alqi_packet_header_bytes(builder->version);
}

bool
alqi_ctf_builder_location(struct alqi_ctf_builder *builder,
                          const struct alqi_ctf_location *location)
{
    size_t wanted = builder->n_waiting_bytes + 2 + WAITING_RECORD_BYTES;
    struct alqi_wire_out out;
    uint8_t *grown;
    size_t n;

    if (wanted > builder->waiting_capacity) {
        grown = realloc(builder->waiting, wanted * 2);
        if (grown == NULL)
            return false;
        builder->waiting = grown;
        builder->waiting_capacity = wanted * 2;
    }
    out.at = builder->waiting + builder->n_waiting_bytes + 2;
    out.end = out.at + WAITING_RECORD_BYTES;
    out.bad = false;
    alqi_wire_out_u32(&out,
                      alqi_event_head(builder->begin_us, ALQI_EVENT_LOCATION));
    alqi_record_write(&out, builder->mtf, location);
    ALQI_ASSERT(!out.bad);
    n = (size_t)(out.at - builder->waiting) - builder->n_waiting_bytes - 2;
    out.at -= n + 2;
    alqi_wire_out_u16(&out, (uint16_t)n);
    builder->n_waiting_bytes += 2 + n;
    builder->n_waiting++;
    return true;
}

void
alqi_ctf_builder_free(struct alqi_ctf_builder *builder)
{
    free(builder->waiting);
}
