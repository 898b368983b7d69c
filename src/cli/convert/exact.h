/* exact.h -- the exact part of a recording: all threads' events in one order
 *
 * What wire/exact.h writes down thread by thread and by address comes out here
 * in the order of ticks, frees that were undone left out.  Which block a free
 * means is for the caller to find out. */
#ifndef ALQI_CLI_CONVERT_EXACT_H
#define ALQI_CLI_CONVERT_EXACT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/convert/recording.h"
#include "wire/exact.h"

struct alqi_cli_exact;

/* NULL: the recording has no such part, or there is no memory (*no_memory). */
struct alqi_cli_exact *
alqi_cli_exact_open(const struct alqi_cli_recording *recording,
                    bool *no_memory);
void alqi_cli_exact_drop(struct alqi_cli_exact *exact);

/* After _next has returned NULL, and the recording has grown (recording.h): it
 * goes on.  Nodes may be elsewhere, and more; streams more.  False: there is no
 * memory. */
bool alqi_cli_exact_more(struct alqi_cli_exact *exact);

/* An event of the exact part, with what its prefixes and its successor say. */
struct alqi_cli_exact_event {
    /* ALLOC, FREE, THREAD, RSS, RATE and so on; no prefix */
    const struct alqi_exact_event *event;
    /* CLOCK_MONOTONIC */
    uint64_t time_ns;
    /* address of an event of the stream a little later, or 0: the caller may
     * prefetch what it keeps of it */
    uint64_t ahead_address;
    /* dense, from 0; the index of the caller's own tables */
    uint32_t stream;
    /* FREE: its block lives on in the stream's next ALLOC */
    bool is_moved;
    /* ALLOC, FREE: of a mapping, not of a block */
    bool is_mapping;
    /* ALLOC: number of the pool that the block is of; 0: of none */
    uint32_t pool;
    /* ALLOC: 0 means that all of its words are sampled */
    uint64_t n_samples;
};

/* The next event; NULL at the end.  Valid until the next call. */
const struct alqi_cli_exact_event *
alqi_cli_exact_next(struct alqi_cli_exact *exact);
/* The time of what _next will return; UINT64_MAX at the end. */
uint64_t alqi_cli_exact_time_ns(struct alqi_cli_exact *exact);

/* A stack: a call at pc from the stack `parent`. */
struct alqi_cli_exact_node {
    /* return address */
    uint64_t pc;
    /* number of the caller's node; 0 is the empty stack */
    uint32_t parent;
    uint32_t n_frames; /* from the outermost to this one, at most
                        * ALQI_RAW_FRAMES_MAX; 0 when the node is not in the
                        * recording (0 is not: it is the empty stack) */
};

/* Nodes 0 to n_nodes - 1. */
const struct alqi_cli_exact_node *
alqi_cli_exact_nodes(const struct alqi_cli_exact *exact);
uint32_t alqi_cli_exact_n_nodes(const struct alqi_cli_exact *exact);
/* Module events that must be known before the node's pc is looked up. */
uint64_t alqi_cli_exact_modules_before(const struct alqi_cli_exact *exact,
                                       uint32_t node);
/* The recording has ended, or its ticks can be told as times: its pairs of both
 * are far enough apart. */
bool alqi_cli_exact_has_clock(const struct alqi_cli_exact *exact);
uint32_t alqi_cli_exact_n_streams(const struct alqi_cli_exact *exact);
uint64_t alqi_cli_exact_n_damaged(const struct alqi_cli_exact *exact);

#endif
