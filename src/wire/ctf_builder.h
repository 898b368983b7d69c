/* ctf_builder.h -- packets in the making             [spec memtrace 3, 9, 10]
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
#ifndef ALQI_WIRE_CTF_BUILDER_H
#define ALQI_WIRE_CTF_BUILDER_H

#include "wire/ctf_stacks.h"
#include "wire/ctf_packet.h"
#include "wire/ctf_record.h"

/* A stream's packets; written by its writer alone. */
struct alqi_ctf_builder {
    alqi_ctf_packet_fn *packet; /* takes each packet */
    void *packet_arg;
    const struct alqi_ctf_code_cache *cache; /* the writer's, read only       */
    struct alqi_mtf *mtf;                    /* names of records written      */
    bool is_failed;                          /* the callback refused a packet */

    uint16_t version;
    uint16_t domain; /* the stream's; 0 but in format 3 */
    uint64_t pid;
    uint64_t begin_us;     /* of the open packet                              */
    uint64_t last_us;      /* of all events so far                            */
    uint64_t id_begin;     /* first id of the open packet                     */
    uint64_t next_id;      /* of the next allocation                          */
    uint64_t chunk_end;    /* ids [next_id, chunk_end) are this stream's      */
    uint64_t *next_chunk;  /* of the streams that share ids; NULL: alone      */
    bool is_verifying;     /* not before the second packet                    */
    uint16_t verify_index; /* the slot that the header has, ...              */
    uint16_t verify_next;  /* ... with next[] ...                            */
    uint64_t verify_slot;  /* ... and slot[] (.inv.verify)                   */

    struct alqi_wire_out events; /* into `bytes` */
    /* Entries of side records in `bytes`: what they do to *mtf is due when the
     * records waiting, which come first in the file, are written. */
    uint32_t n_side_entries;

    uint8_t *waiting; /* location records, each behind its u16 length */
    size_t n_waiting_bytes;
    size_t waiting_capacity;
    uint32_t n_waiting;

    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];          /* the open packet     */
    uint8_t location_bytes[ALQI_CTF_PACKET_BYTES_MAX]; /* one of records      */
};

/* Writes the first packet, unless ids were given out before: a further stream
 * has none.  *cache and *mtf are only looked at. */
bool alqi_ctf_builder_open(struct alqi_ctf_builder *builder,
                           const struct alqi_ctf_info *info);

/* Makes room for one event at now_us, closing the packet if a rule says so.
 * False when the callback refused. */
bool alqi_ctf_builder_ready(struct alqi_ctf_builder *builder, uint64_t now_us);

bool alqi_ctf_builder_close(struct alqi_ctf_builder *builder, uint64_t now_us);

/* Nothing to close. */
bool alqi_ctf_builder_is_empty(const struct alqi_ctf_builder *builder);

/* Encodes a location record to be written before the events of this packet;
 * false without memory. */
bool alqi_ctf_builder_location(struct alqi_ctf_builder *builder,
                               const struct alqi_ctf_location *location);

void alqi_ctf_builder_free(struct alqi_ctf_builder *builder);

#endif
