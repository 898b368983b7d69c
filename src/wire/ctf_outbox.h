/* ctf_outbox.h -- packets in the making                  [spec memtrace 3, 9
 * and 10]
 *
 * Events gather in one packet; the location records they need gather beside
 * it and are written first.  A packet is closed, before an event, when
 *   .rule.room       fewer than 4196 bytes are free,
 *   .rule.locations  more than 128 location records wait,
 *   .rule.span       the event is more than 30 s after the packet's begin,
 *   .rule.chunk      (format 3) 10000 ids are used up.
 * These are the real writer's rules, so that equal events give equal bytes.
 *
 *   open --event--> open --close--> open (the next packet, begins "now")
 *                     \--callback refused--> failed, for good
 *
 * .inv.before  A location record is written before the first event that needs
 *              it.
 * .inv.head    The packet's header has its room at the front of `bytes` from
 *              the start and is filled in when the packet closes.
 * .inv.verify  verify_* is what the stack cache held when the packet opened. */
#ifndef ALQI_WIRE_CTF_OUTBOX_H
#define ALQI_WIRE_CTF_OUTBOX_H

#include "wire/ctf_stacks.h"
#include "wire/ctf_packet.h"
#include "wire/ctf_record.h"

struct alqi_outbox {
    alqi_ctf_packet_fn *packet;
    void *packet_arg;
    const struct alqi_cache *cache;
    struct alqi_mtf *mtf;
    bool is_failed;

    uint16_t version;
    uint16_t domain;
    uint64_t pid;
    uint64_t begin_us;
    uint64_t last_us; /* of all events so far */
    uint64_t id_begin;
    uint64_t next_id;
    uint64_t chunk_end;
    uint64_t *next_chunk; /* of the streams that share ids; NULL: alone */
    bool is_verifying;    /* not before the second packet */
    uint16_t verify_index;
    uint16_t verify_next;
    uint64_t verify_slot;

    struct alqi_wire_out events;
    /* Entries of side records in `bytes`: what they do to *mtf is owed until
     * the records waiting, which come first in the file, are written. */
    uint32_t n_side_entries;

    uint8_t *waiting; /* location records, each behind its u16 length */
    size_t n_waiting_bytes;
    size_t waiting_capacity;
    uint32_t n_waiting;

    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];
    uint8_t location_bytes[ALQI_CTF_PACKET_BYTES_MAX];
};

/* Writes the first packet, unless ids were given out before: a further stream
 * has none.  *cache and *mtf are only looked at. */
bool alqi_outbox_open(struct alqi_outbox *box,
                      const struct alqi_ctf_info *info);

/* Makes room for one event at now_us, closing the packet if a rule says so.
 * False when the callback refused. */
bool alqi_outbox_ready(struct alqi_outbox *box, uint64_t now_us);

bool alqi_outbox_close(struct alqi_outbox *box, uint64_t now_us);

/* Nothing to close. */
bool alqi_outbox_is_empty(const struct alqi_outbox *box);

/* Encodes a location record to be written before the events of this packet;
 * false without memory. */
bool alqi_outbox_location(struct alqi_outbox *box,
                          const struct alqi_ctf_location *location);

void alqi_outbox_free(struct alqi_outbox *box);

#endif
