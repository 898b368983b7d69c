/* ctf_packet.h -- packet headers, the first packet [spec memtrace 3 to 5] */
#ifndef ALQI_WIRE_CTF_PACKET_H
#define ALQI_WIRE_CTF_PACKET_H

#include "wire/bytes.h"
#include "wire/ctf.h"

#define ALQI_PACKET_MAGIC 0xC1FC1FC1u

enum {
    ALQI_PACKET_HEADER_BYTES = 66,    /* in formats 1 and 2 */
    ALQI_PACKET_HEADER_BYTES_V3 = 68, /* with the stream's number */
    ALQI_PACKET_NO_VERIFY = 0xFFFF
};

/* Codes of events; an allocation of 1..16 words may use 100 + words. */
enum {
    ALQI_EVENT_INFO = 0,
    ALQI_EVENT_LOCATION = 1,
    ALQI_EVENT_ALLOC = 2,
    ALQI_EVENT_PROMOTE = 3,
    ALQI_EVENT_COLLECT = 4,
    ALQI_EVENT_SHORT = 100,
    ALQI_EVENT_SHORT_WORDS_MAX = 16
};

/* An event header is the time's low bits, then the code. */
enum { ALQI_EVENT_TIME_BITS = 25 };
#define ALQI_EVENT_TIME_MASK ((1u << ALQI_EVENT_TIME_BITS) - 1)

/* A packet's header. */
struct alqi_packet {
    uint32_t n_bytes; /* header included; the field counts bits */
    uint64_t begin_us;
    uint64_t end_us;
    uint16_t version;
    uint64_t pid;
    uint16_t domain; /* 0 in formats 1 and 2 */
    uint16_t verify_index;
    uint16_t verify_next;
    uint64_t verify_slot;
    uint64_t id_begin;
    uint64_t id_end; /* exclusive */
};

static inline uint32_t
alqi_packet_header_bytes(uint32_t version)
{
    return version >= 3 ? ALQI_PACKET_HEADER_BYTES_V3
                        : ALQI_PACKET_HEADER_BYTES;
}

/* The event's time: the only one with these low bits in the 2^25 us from
 * begin_us on. */
static inline uint64_t
alqi_event_time_us(uint64_t begin_us, uint32_t head)
{
    uint64_t low = head & ALQI_EVENT_TIME_MASK;

    return begin_us + ((low - begin_us) & ALQI_EVENT_TIME_MASK);
}

static inline uint32_t
alqi_event_head(uint64_t time_us, uint32_t code)
{
    return ((uint32_t)time_us & ALQI_EVENT_TIME_MASK) |
           code << ALQI_EVENT_TIME_BITS;
}

/* Reads magic to id end; what is wrong, or NULL.  Checks magic and version
 * only: the rest is the reader's judgement. */
const char *alqi_packet_read(struct alqi_wire_in *in,
                             struct alqi_packet *packet);

/* Writes the header. */
void alqi_packet_write(struct alqi_wire_out *out,
                       const struct alqi_packet *packet);

/* The first event's payload.  Strings point into the input. */
void alqi_packet_info_read(struct alqi_wire_in *in, uint16_t version,
                           struct alqi_ctf_info *info);
void alqi_packet_info_write(struct alqi_wire_out *out,
                            const struct alqi_ctf_info *info);

#endif
