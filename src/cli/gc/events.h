/* events.h -- a recording of the collector, as spans  [wire/gctrace.h]
 *
 * Reads chunk by chunk and matches ends with beginnings, for each track:
 *
 * .inv.spans  What the caller hears nests, ends once what it has begun, and
 *             its times never go back in a track.
 * What events were lost for, or the recording's edges, is cut: a span that is
 * open there ends there (is_cut), an end without its beginning is left out and
 * counted. */
#ifndef ALQI_CLI_GC_EVENTS_H
#define ALQI_CLI_GC_EVENTS_H

#include "wire/gctrace.h"

enum { ALQI_CLI_GC_DEPTH_MAX = 32 };

/* A stretch of collector work on one track. */
struct alqi_cli_gc_span {
    struct alqi_gctrace_event begin;
    struct alqi_gctrace_event end;
    /* its end was lost: of end only the time is valid */
    bool is_cut;
};

/* Calls made while the recording is read; all must be set. */
struct alqi_cli_gc_hear {
    void (*begin)(void *arg, uint32_t track,
                  const struct alqi_gctrace_event *begin);
    void (*end)(void *arg, uint32_t track, const struct alqi_cli_gc_span *span);
    void (*moment)(void *arg, uint32_t track,
                   const struct alqi_gctrace_event *moment);
    void *arg;
};

struct alqi_cli_gc_totals {
    /* decoded */
    uint64_t n_events;
    /* not recorded: the buffers were full */
    uint64_t n_lost;
    /* ends without their beginning, left out */
    uint64_t n_unbegun;
    /* spans that were cut */
    uint64_t n_cut;
    /* CLOCK_MONOTONIC of the earliest event; 0: there is none */
    uint64_t first_ns;
    uint64_t last_ns;
};

struct alqi_cli_gc_events;

/* Opens a recording and reads its header; "-" is standard input. -1 to go on,
 * or the exit status; the reason has been said. */
int alqi_cli_gc_open(const char *path, struct alqi_cli_gc_events **out);
void alqi_cli_gc_drop(struct alqi_cli_gc_events *events);

const char *alqi_cli_gc_name(const struct alqi_cli_gc_events *events);
const struct alqi_gctrace_header *
alqi_cli_gc_header(const struct alqi_cli_gc_events *events);

/* Reads all of it, once. ALQI_CLI_OK, or the exit status: what is wrong has
 * been said, and what came before went to the calls. */
int alqi_cli_gc_read(struct alqi_cli_gc_events *events,
                     const struct alqi_cli_gc_hear *hear,
                     struct alqi_cli_gc_totals *totals);

/* "heap" or "domain 3" */
const char *alqi_cli_gc_track_text(char *text, size_t n_bytes, uint32_t track);
/* "minor", or "kind 77" of a newer version. */
const char *alqi_cli_gc_kind_text(char *text, size_t n_bytes, unsigned kind);

#endif
