/* source.c -- the events of one trace in order of time
 *
 * [source.h] The packets' headers say which streams the file has. A lane is
 * opened for each: it reads the whole file and keeps the events of its stream.
 * The lane with the earliest event is the next. A trace of one stream has one
 * lane, which keeps everything. Lanes that end are dropped, so n_lanes of 0 is
 * the end of the trace. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/merge/source.h"
#include "cli/tool/unpack.h"
#include "wire/ctf_packet.h"

enum { DOMAINS = 65536 };

/* Drops a warning: the first lane has printed it. */
static void
silent(void *arg, uint64_t offset_bytes, const char *text)
{
    (void)arg;
    (void)offset_bytes;
    (void)text;
}

/* Reads exactly n bytes. False: the file has no more. */
static bool
take(struct alqi_cli_unpack *from, uint8_t *bytes, size_t n)
{
    ptrdiff_t got = 1;

    for (; n > 0 && got > 0; n -= (size_t)got, bytes += got)
        got = alqi_cli_unpack_read(from, bytes, n);
    return got > 0;
}

/* Reads a packet's header and passes over the rest. False: it is no packet, or
 * is cut. */
static bool
packet_pass(struct alqi_cli_unpack *from, uint8_t *bytes,
            struct alqi_packet *packet)
{
    struct alqi_wire_in in = {
        .at = bytes,
        .end = bytes + ALQI_PACKET_HEADER_BYTES_V3,
    };

    return take(from, bytes, ALQI_PACKET_HEADER_BYTES_V3) &&
           alqi_packet_read(&in, packet) == NULL &&
           packet->n_bytes >= ALQI_PACKET_HEADER_BYTES_V3 &&
           packet->n_bytes <= ALQI_CTF_PACKET_BYTES_MAX &&
           take(from, bytes, packet->n_bytes - ALQI_PACKET_HEADER_BYTES_V3);
}

/* Streams that have packets in the file, by the headers of its packets;
 * returns how many. The first packet is the trace's own header. Reading stops
 * at a header that cannot be, as the reader does. */
static uint32_t
domains_find(const char *path, uint16_t *domains)
{
    uint8_t *is_seen = alqi_cli_realloc(NULL, DOMAINS, 1);
    uint8_t bytes[ALQI_CTF_PACKET_BYTES_MAX];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct alqi_cli_unpack *from = alqi_cli_unpack_new(fd);
    struct alqi_packet packet;
    bool is_first = true;
    uint32_t n = 0;

    memset(is_seen, 0, DOMAINS);
    for (; fd >= 0 && packet_pass(from, bytes, &packet); is_first = false) {
        if (is_first || is_seen[packet.domain])
            continue;
        is_seen[packet.domain] = 1;
        domains[n++] = packet.domain;
    }
    alqi_cli_unpack_drop(from);
    if (fd >= 0)
        close(fd);
    free(is_seen);
    return n;
}

/* The next event of the lane's stream. False: it has none. */
static bool
lane_next(struct alqi_cli_lane *lane)
{
    while (alqi_cli_input_next(lane->input, &lane->event))
        if (lane->is_all || lane->event.domain == lane->domain)
            return true;
    return false;
}

/* Drops a lane; the last one takes its place. All lanes of a file meet the
 * same damage, so only the first reports it. */
static void
lane_end(struct alqi_cli_source *s, struct alqi_cli_lane *lane)
{
    /* All lanes of a file meet the same damage. */
    if (s->status == ALQI_CLI_OK)
        s->status = alqi_cli_input_finish(lane->input);
    alqi_cli_input_drop(lane->input);
    *lane = s->lanes[--s->n_lanes];
}

/* Opens n lanes at their first events. -1: go on; on failure the open ones
 * stay for alqi_cli_source_close. */
static int
lanes_open(struct alqi_cli_source *s, const char *path, const uint16_t *domains,
           uint32_t n)
{
    s->has_streams = n > 1;
    s->lanes = alqi_cli_realloc(NULL, n, sizeof *s->lanes);
    for (uint32_t i = 0; i < n; i++) {
        struct alqi_cli_lane *lane = &s->lanes[i];
        int rc = alqi_cli_input_open(path, i > 0 ? silent : NULL, NULL,
                                     &lane->input);

        if (rc >= 0)
            return rc;
        lane->domain = domains[i];
        lane->is_all = n == 1;
        s->n_lanes = i + 1;
    }
    for (uint32_t i = n; i-- > 0;)
        if (!lane_next(&s->lanes[i]))
            lane_end(s, &s->lanes[i]);
    return -1;
}

int
alqi_cli_source_open(struct alqi_cli_source *s, const char *path)
{
    uint16_t *domains = alqi_cli_realloc(NULL, DOMAINS, sizeof *domains);
    uint32_t n;
    int rc;

    memset(s, 0, sizeof *s);
    domains[0] = 0;
    n = domains_find(path, domains);
    rc = lanes_open(s, path, domains, n == 0 ? 1 : n);
    free(domains);
    if (rc >= 0)
        alqi_cli_source_close(s);
    return rc;
}

void
alqi_cli_source_close(struct alqi_cli_source *s)
{
    for (uint32_t i = 0; i < s->n_lanes; i++)
        alqi_cli_input_drop(s->lanes[i].input);
    free(s->lanes);
    s->lanes = NULL;
    s->n_lanes = 0;
}

struct alqi_cli_lane *
alqi_cli_source_first(struct alqi_cli_source *s)
{
    struct alqi_cli_lane *first = NULL;

    /* At one time a stream of a lower number comes first. */
    for (uint32_t i = 0; i < s->n_lanes; i++) {
        struct alqi_cli_lane *lane = &s->lanes[i];

        if (first == NULL || lane->event.time_us < first->event.time_us ||
            (lane->event.time_us == first->event.time_us &&
             lane->domain < first->domain))
            first = lane;
    }
    return first;
}

void
alqi_cli_source_step(struct alqi_cli_source *s, struct alqi_cli_lane *lane)
{
    if (!lane_next(lane))
        lane_end(s, lane);
}
