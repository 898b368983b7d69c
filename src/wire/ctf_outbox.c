/* ctf_outbox.c -- see ctf_outbox.h */
#include <stdlib.h>

#include "base/base.h"
#include "wire/ctf_outbox.h"

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
chunk_take(struct alqi_outbox *box)
{
    if (box->next_chunk != NULL) {
        box->next_id = *box->next_chunk;
        *box->next_chunk += CHUNK_IDS;
    }
    box->chunk_end = box->next_id + CHUNK_IDS;
}

static void
packet_begin(struct alqi_outbox *box, uint64_t now_us)
{
    uint32_t head = alqi_packet_header_bytes(box->version);

    box->begin_us = now_us;
    if (box->next_id == box->chunk_end)
        chunk_take(box);
    box->id_begin = box->next_id;
    box->events.at = box->bytes + head;
    box->events.end = box->bytes + sizeof box->bytes;
    box->events.bad = false;
}

static void
verify_begin(struct alqi_outbox *box)
{
    box->verify_index = !box->is_verifying ? VERIFY_FIRST
                                           : (box->verify_index + VERIFY_STEP) %
                                                 ALQI_CACHE_SLOTS;
    box->is_verifying = true;
    box->verify_next = box->cache->next[box->verify_index];
    box->verify_slot = box->cache->slot[box->verify_index];
}

/* Fills in the header and hands the packet over. */
static bool
packet_put(struct alqi_outbox *box, uint8_t *bytes, const uint8_t *end,
           struct alqi_packet *packet)
{
    struct alqi_wire_out head = {.at = bytes, .end = bytes + 68};

    if (box->is_failed)
        return false;
    packet->n_bytes = (uint32_t)(end - bytes);
    packet->version = box->version;
    packet->domain = box->domain;
    packet->pid = box->pid;
    packet->begin_us = box->begin_us;
    packet->id_begin = box->id_begin;
    alqi_packet_write(&head, packet);
    box->is_failed = !box->packet(box->packet_arg, bytes, packet->n_bytes);
    return !box->is_failed;
}

bool
alqi_outbox_open(struct alqi_outbox *box, const struct alqi_ctf_info *info)
{
    struct alqi_packet packet = {
        .end_us = info->start_us,
        .verify_index = ALQI_PACKET_NO_VERIFY,
    };

    bool is_further = box->next_chunk != NULL && *box->next_chunk > 0;

    box->version = info->version;
    box->pid = info->pid;
    box->last_us = info->start_us;
    packet_begin(box, info->start_us);
    if (is_further)
        return true;
    alqi_wire_out_u32(&box->events,
                      alqi_event_head(info->start_us, ALQI_EVENT_INFO));
    alqi_packet_info_write(&box->events, info);
    ALQI_ASSERT(!box->events.bad); /* the caller has measured the strings */
    if (!packet_put(box, box->bytes, box->events.at, &packet))
        return false;
    packet_begin(box, info->start_us);
    return true;
}

static bool
location_packet_put(struct alqi_outbox *box, const uint8_t *end)
{
    struct alqi_packet packet = {
        .end_us = box->begin_us,
        .verify_index = ALQI_PACKET_NO_VERIFY,
        .id_end = box->id_begin,
    };

    return packet_put(box, box->location_bytes, end, &packet);
}

static bool
locations_put(struct alqi_outbox *box)
{
    uint8_t *start =
        box->location_bytes + alqi_packet_header_bytes(box->version);
    struct alqi_wire_out out = {
        .at = start,
        .end = box->location_bytes + sizeof box->location_bytes,
    };
    struct alqi_wire_in in = {.at = box->waiting};

    if (box->n_waiting == 0)
        return true;
    in.end = box->waiting + box->n_waiting_bytes;
    for (; box->n_waiting > 0; box->n_waiting--) {
        uint16_t n = alqi_wire_in_u16(&in);

        if (alqi_wire_out_left(&out) <= LOCATION_ROOM_BYTES ||
            alqi_wire_out_left(&out) < n) {
            if (!location_packet_put(box, out.at))
                return false;
            out.at = start;
        }
        alqi_wire_out_put(&out, in.at, n);
        in.at += n;
    }
    box->n_waiting_bytes = 0;
    return out.at == start || location_packet_put(box, out.at);
}

bool
alqi_outbox_close(struct alqi_outbox *box, uint64_t now_us)
{
    struct alqi_packet packet = {
        .end_us = box->last_us > box->begin_us ? box->last_us : box->begin_us,
        .verify_index =
            box->is_verifying ? box->verify_index : ALQI_PACKET_NO_VERIFY,
        .verify_next = box->verify_next,
        .verify_slot = box->verify_slot,
        .id_end = box->next_id,
    };

    ALQI_ASSERT(!box->events.bad);
    if (!locations_put(box) ||
        !packet_put(box, box->bytes, box->events.at, &packet))
        return false;
    alqi_record_skip(box->mtf, box->n_side_entries);
    box->n_side_entries = 0;
    packet_begin(box, now_us);
    verify_begin(box);
    return true;
}

bool
alqi_outbox_ready(struct alqi_outbox *box, uint64_t now_us)
{
    if (box->is_failed)
        return false;
    if (alqi_wire_out_left(&box->events) < EVENT_BYTES_MAX ||
        box->n_waiting > LOCATIONS_MAX ||
        now_us - box->begin_us > SPAN_US_MAX ||
        (box->version >= 3 && box->next_id == box->chunk_end))
        return alqi_outbox_close(box, now_us);
    return true;
}

bool
alqi_outbox_is_empty(const struct alqi_outbox *box)
{
    return box->n_waiting == 0 &&
           box->events.at ==
               box->bytes + alqi_packet_header_bytes(box->version);
}

bool
alqi_outbox_location(struct alqi_outbox *box,
                     const struct alqi_ctf_location *location)
{
    size_t wanted = box->n_waiting_bytes + 2 + WAITING_RECORD_BYTES;
    struct alqi_wire_out out;
    uint8_t *grown;
    size_t n;

    if (wanted > box->waiting_capacity) {
        grown = realloc(box->waiting, wanted * 2);
        if (grown == NULL)
            return false;
        box->waiting = grown;
        box->waiting_capacity = wanted * 2;
    }
    out.at = box->waiting + box->n_waiting_bytes + 2;
    out.end = out.at + WAITING_RECORD_BYTES;
    out.bad = false;
    alqi_wire_out_u32(&out,
                      alqi_event_head(box->begin_us, ALQI_EVENT_LOCATION));
    alqi_record_write(&out, box->mtf, location);
    ALQI_ASSERT(!out.bad);
    n = (size_t)(out.at - box->waiting) - box->n_waiting_bytes - 2;
    out.at -= n + 2;
    alqi_wire_out_u16(&out, (uint16_t)n);
    box->n_waiting_bytes += 2 + n;
    box->n_waiting++;
    return true;
}

void
alqi_outbox_free(struct alqi_outbox *box)
{
    free(box->waiting);
}
