/* events.c -- a recording of the collector: chunks, tracks, spans
 *
 * [events.h] Bytes come through the unpacker, chunk by chunk. A chunk belongs
 * to one track: the heap or a domain. Each track has a stack of open spans. An
 * end closes the innermost open span of its kind; spans that were open within
 * it have lost their ends and are cut. Lost events and the end of the file cut
 * all that is open on a track (.inv.spans). */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/gc/events.h"
#include "cli/tool/unpack.h"

/* The heap's events, or one domain's. */
struct track {
    /* of its last event: times do not go back */
    uint64_t last_ns;
    /* spans begun and not ended */
    unsigned n_open;
    /* their beginnings, outermost first */
    struct alqi_gctrace_event open[ALQI_CLI_GC_DEPTH_MAX];
};

struct alqi_cli_gc_events {
    /* as shown in messages; the caller's */
    const char *path;
    /* owned, unless it is standard input */
    int fd;
    /* between fd and the chunks; owned */
    struct alqi_cli_unpack *unpack;
    /* bytes read, up to the chunk that is being read */
    uint64_t at;
    /* of the recording, checked */
    struct alqi_gctrace_header header;
    /* set while alqi_cli_gc_read runs */
    const struct alqi_cli_gc_hear *hear;
    struct alqi_cli_gc_totals *totals;
    /* by track number; NULL: no event yet */
    struct track *tracks[ALQI_GCTRACE_TRACKS_MAX];
    /* the events of one chunk, encoded */
    uint8_t chunk[ALQI_GCTRACE_CHUNK_BYTES_MAX];
};

/* ---- bytes -------------------------------------------------------------- */

/* Reports damage at the present place; returns the exit status. */
static int
damaged(const struct alqi_cli_gc_events *in, const char *why)
{
    return alqi_cli_unreadable("%s: damaged at byte %" PRIu64 ": %s", in->path,
                               in->at, why);
}

/* Reads up to n bytes; returns how many there are. -1: the file cannot be
 * read, which has been said. */
static ptrdiff_t
take(struct alqi_cli_gc_events *in, uint8_t *bytes, size_t n)
{
    size_t have = 0;

    while (have < n) {
        ptrdiff_t k = alqi_cli_unpack_read(in->unpack, bytes + have, n - have);

        if (k < 0) {
            alqi_cli_say("cannot read %s: %s", in->path, strerror(errno));
            return -1;
        }
        if (k == 0)
            break;
        have += (size_t)k;
    }
    return (ptrdiff_t)have;
}

/* The file ended too early: the unpacker's reason is nearer to the cause. */
static int
short_of(const struct alqi_cli_gc_events *in, const char *what)
{
    const char *damage = alqi_cli_unpack_damage(in->unpack);

    return damaged(in, damage[0] != '\0' ? damage : what);
}

/* ---- spans -------------------------------------------------------------- */

/* Ends the innermost span of track n; without an end event it is cut at ns. */
static void
end_span(struct alqi_cli_gc_events *in, uint32_t n, uint64_t ns,
         const struct alqi_gctrace_event *end)
{
    struct track *t = in->tracks[n];
    struct alqi_cli_gc_span span;

    span.begin = t->open[--t->n_open];
    span.is_cut = end == NULL;
    if (end != NULL)
        span.end = *end;
    else
        span.end = (struct alqi_gctrace_event){
            span.begin.kind, ALQ_EVENT_END, ns, {0}};
    in->totals->n_cut += span.is_cut;
    in->hear->end(in->hear->arg, n, &span);
}

/* Cuts all open spans of track n. */
static void
cut_all(struct alqi_cli_gc_events *in, uint32_t n, uint64_t ns)
{
    while (in->tracks[n]->n_open > 0)
        end_span(in, n, ns, NULL);
}

/* Begins a span on track n. */
static int
begin_span(struct alqi_cli_gc_events *in, uint32_t n,
           const struct alqi_gctrace_event *e)
{
    struct track *t = in->tracks[n];

    if (t->n_open == ALQI_CLI_GC_DEPTH_MAX)
        return damaged(in, "more events lie in each other than can be");
    t->open[t->n_open++] = *e;
    in->hear->begin(in->hear->arg, n, e);
    return ALQI_CLI_OK;
}

/* Ends the innermost span of the event's kind. Spans open within it have lost
 * their ends. */
static void
match_end(struct alqi_cli_gc_events *in, uint32_t n,
          const struct alqi_gctrace_event *e)
{
    struct track *t = in->tracks[n];
    unsigned i = t->n_open;

    while (i > 0 && t->open[i - 1].kind != e->kind)
        i--;
    if (i == 0) {
        in->totals->n_unbegun++;
        return;
    }
    while (t->n_open > i)
        end_span(in, n, e->time_ns, NULL);
    end_span(in, n, e->time_ns, e);
}

/* Counts an event and passes it on. */
static int
one_event(struct alqi_cli_gc_events *in, uint32_t n,
          const struct alqi_gctrace_event *e)
{
    struct alqi_cli_gc_totals *totals = in->totals;

    totals->n_events++;
    if (totals->first_ns == 0 || e->time_ns < totals->first_ns)
        totals->first_ns = e->time_ns;
    if (e->time_ns > totals->last_ns)
        totals->last_ns = e->time_ns;
    in->tracks[n]->last_ns = e->time_ns;
    switch (e->point) {
    case ALQ_EVENT_BEGIN:
        return begin_span(in, n, e);
    case ALQ_EVENT_END:
        match_end(in, n, e);
        break;
    default:
        in->hear->moment(in->hear->arg, n, e);
        break;
    }
    return ALQI_CLI_OK;
}

/* ---- chunks ------------------------------------------------------------- */

/* Decodes all events of the chunk in in->chunk. */
static int
chunk_events(struct alqi_cli_gc_events *in,
             const struct alqi_gctrace_chunk *chunk)
{
    struct alqi_gctrace_decoder d = {in->chunk, in->chunk + chunk->n_bytes,
                                     NULL, chunk->start_ns};
    struct alqi_gctrace_event event;
    int got, status = ALQI_CLI_OK;

    while (status == ALQI_CLI_OK && (got = alqi_gctrace_next(&d, &event)) != 0)
        status = got < 0 ? damaged(in, d.error)
                         : one_event(in, chunk->track, &event);
    return status;
}

/* Reads and decodes the chunk whose header has been read. Events were lost
 * before it if its header says so. */
static int
chunk_take(struct alqi_cli_gc_events *in,
           const struct alqi_gctrace_chunk *chunk)
{
    struct track **t = &in->tracks[chunk->track];
    ptrdiff_t n = take(in, in->chunk, chunk->n_bytes);

    if (n < 0)
        return ALQI_CLI_UNREADABLE;
    if ((size_t)n < chunk->n_bytes)
        return short_of(in, "the file ends within a chunk");
    if (*t == NULL) {
        *t = alqi_cli_realloc(NULL, 1, sizeof **t);
        memset(*t, 0, sizeof **t);
    }
    if (chunk->start_ns < (*t)->last_ns)
        return damaged(in, "a chunk begins before its domain's last one ended");
    in->totals->n_lost += chunk->n_lost;
    if (chunk->n_lost > 0)
        cut_all(in, chunk->track, (*t)->last_ns);
    return chunk_events(in, chunk);
}

/* Reads the next chunk. -1: go on; else the status at the end. */
static int
chunk_next(struct alqi_cli_gc_events *in)
{
    uint8_t bytes[ALQI_GCTRACE_CHUNK_HEADER_BYTES];
    struct alqi_gctrace_chunk chunk;
    ptrdiff_t n = take(in, bytes, sizeof bytes);
    const char *why;
    int status;

    if (n < 0)
        return ALQI_CLI_UNREADABLE;
    if (n == 0 && alqi_cli_unpack_damage(in->unpack)[0] == '\0')
        return ALQI_CLI_OK;
    if ((size_t)n < sizeof bytes)
        return short_of(in, "the file ends within a chunk's header");
    why = alqi_gctrace_get_chunk(bytes, &chunk);
    if (why != NULL)
        return damaged(in, why);
    status = chunk_take(in, &chunk);
    in->at += sizeof bytes + chunk.n_bytes;
    return status == ALQI_CLI_OK ? -1 : status;
}

int
alqi_cli_gc_read(struct alqi_cli_gc_events *in,
                 const struct alqi_cli_gc_hear *hear,
                 struct alqi_cli_gc_totals *totals)
{
    int status;
    uint32_t n;

    memset(totals, 0, sizeof *totals);
    in->hear = hear;
    in->totals = totals;
    do
        status = chunk_next(in);
    while (status < 0);
    for (n = 0; n < ALQI_GCTRACE_TRACKS_MAX; n++)
        if (in->tracks[n] != NULL)
            cut_all(in, n, in->tracks[n]->last_ns);
    return status;
}

/* ---- open --------------------------------------------------------------- */

/* Reads and checks the header. -1: go on. */
static int
header_take(struct alqi_cli_gc_events *in)
{
    uint8_t bytes[ALQI_GCTRACE_HEADER_BYTES] = {0};
    ptrdiff_t n = take(in, bytes, sizeof bytes);
    const char *why;

    if (n < 0)
        return ALQI_CLI_UNREADABLE;
    why = alqi_gctrace_get_header(bytes, &in->header);
    if (n == 0 && alqi_cli_unpack_damage(in->unpack)[0] == '\0')
        why = "it is empty";
    else if (why == NULL && (size_t)n < sizeof bytes)
        why = "it ends within its header";
    if (why == NULL) {
        in->at = sizeof bytes;
        return -1;
    }
    if (alqi_cli_unpack_damage(in->unpack)[0] != '\0')
        why = alqi_cli_unpack_damage(in->unpack);
    return alqi_cli_unreadable(
        "%s is not a readable recording of a collector: %s; one is "
        "made with ALIQUOT_GC_TRACE=FILE or alq_gc_trace_start(3)",
        in->path, why);
}

int
alqi_cli_gc_open(const char *path, struct alqi_cli_gc_events **out)
{
    struct alqi_cli_gc_events *in = alqi_cli_zeros(1, sizeof *in);
    int status;

    in->path = path;
    status = alqi_cli_unpack_file(&in->path, "name a recording in it", &in->fd,
                                  NULL);
    if (status < 0) {
        in->unpack = alqi_cli_unpack_new(in->fd);
        status = header_take(in);
    }
    if (status < 0)
        *out = in;
    else
        alqi_cli_gc_drop(in);
    return status;
}

void
alqi_cli_gc_drop(struct alqi_cli_gc_events *in)
{
    unsigned i;

    for (i = 0; i < ALQI_GCTRACE_TRACKS_MAX; i++)
        free(in->tracks[i]);
    if (in->unpack != NULL)
        alqi_cli_unpack_drop(in->unpack);
    if (in->fd > STDIN_FILENO)
        close(in->fd);
    free(in);
}

const char *
alqi_cli_gc_name(const struct alqi_cli_gc_events *in)
{
    return in->path;
}

const struct alqi_gctrace_header *
alqi_cli_gc_header(const struct alqi_cli_gc_events *in)
{
    return &in->header;
}

const char *
alqi_cli_gc_track_text(char *text, size_t n_bytes, uint32_t track)
{
    if (track == ALQI_GCTRACE_HEAP)
        snprintf(text, n_bytes, "heap");
    else
        snprintf(text, n_bytes, "domain %" PRIu32, track - 1);
    return text;
}

const char *
alqi_cli_gc_kind_text(char *text, size_t n_bytes, unsigned kind)
{
    if (kind < ALQ_EVENT_KINDS)
        snprintf(text, n_bytes, "%s", alq_event_text(kind));
    else
        snprintf(text, n_bytes, "kind %u", kind);
    return text;
}
