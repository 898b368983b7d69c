/* pprof.c -- pprof's profile.proto, gzip-compressed */
#include <stdlib.h>
#include <zlib.h>

#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/pprof_profile.h"
#include "cli/tool/text.h"

enum {
    GZIP = 16, /* added to the window bits: gzip's header, not zlib's */
    CHUNK_BYTES = 65536
};

static const uint64_t ENGINE_BYTES_MOST = 4 << 20;

/* protobuf-c appends to it what becomes the file. */
struct gzip {
    ProtobufCBuffer base;
    z_stream z;
    FILE *out;
};

static void
gzip_push(struct gzip *g, int flush)
{
    static uint8_t chunk[CHUNK_BYTES];

    do {
        g->z.next_out = chunk;
        g->z.avail_out = sizeof chunk;
        deflate(&g->z, flush);
        fwrite(chunk, 1, sizeof chunk - g->z.avail_out, g->out);
    } while (g->z.avail_out == 0);
}

static void
gzip_append(ProtobufCBuffer *buffer, size_t n, const uint8_t *bytes)
{
    struct gzip *g = (struct gzip *)buffer;

    while (n > 0) {
        g->z.next_in = (uint8_t *)bytes;
        g->z.avail_in = n < CHUNK_BYTES ? (uInt)n : CHUNK_BYTES;
        bytes += g->z.avail_in;
        n -= g->z.avail_in;
        gzip_push(g, Z_NO_FLUSH);
    }
}

void
alqi_cli_pprof_write(const struct alqi_cli_pprof *p, FILE *out)
{
    struct gzip g = {.base = {gzip_append}, .out = out};

    if (deflateInit2(&g.z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                     MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        alqi_cli_say("out of memory to compress the profile");
        exit(ALQI_CLI_UNREADABLE);
    }
    protobuf_c_message_pack_to_buffer(&alqi_cli_pprof_message(p)->base,
                                      &g.base);
    gzip_push(&g, Z_FINISH);
    deflateEnd(&g.z);
}

static void
limits_say(const struct alqi_cli_pprof *p)
{
    const Pprof__Profile *message = alqi_cli_pprof_message(p);
    uint64_t bytes = pprof__profile__get_packed_size(message);
    double share;
    uint32_t n_folded = alqi_cli_pprof_folded(p, &share);

    if (n_folded > 0)
        alqi_cli_say("%u of %u stacks are merged into [other], which has %s of "
                     "what was allocated; --max-stacks=0 keeps all",
                     n_folded, (uint32_t)message->n_sample - 1 + n_folded,
                     alqi_cli_text_percent(share).text);
    if (bytes > ENGINE_BYTES_MOST)
        alqi_cli_say("the profile is %s before compression: pprof reads it, "
                     "Pyroscope refuses more than 4 MiB unless told otherwise; "
                     "--max-stacks=N makes it smaller",
                     alqi_cli_text_bytes((double)bytes).text);
}

void
alqi_cli_export_pprof(struct alqi_cli_export *export, FILE *out)
{
    struct alqi_cli_pprof *p = alqi_cli_pprof_new(export);

    if (!export->part.is_quiet)
        limits_say(p);
    alqi_cli_pprof_write(p, out);
    alqi_cli_pprof_drop(p);
}
