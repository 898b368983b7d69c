/* source.h -- one trace to merge, its events in order of time
 *
 * The streams of a trace of format 3 lie in the file packet by packet, so that
 * time goes back where another stream's packet begins.  Such a file is read
 * once for each stream, all at the same time. */
#ifndef ALQI_CLI_MERGE_SOURCE_H
#define ALQI_CLI_MERGE_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/read/input.h"
#include "wire/ctf.h"

/* One stream of a trace, read by itself. */
struct alqi_cli_lane {
    /* the file, open once for this lane; owned */
    struct alqi_cli_input *input;
    /* its next one; always valid */
    struct alqi_ctf_event event;
    /* the stream's number */
    uint16_t domain;
    bool is_all; /* the only lane: takes every domain */
};

struct alqi_cli_source {
    /* those that have a next event; a step may move them */
    struct alqi_cli_lane *lanes;
    uint32_t n_lanes;
    /* it began with several lanes */
    bool has_streams;
    /* ALQI_CLI_OK, or that of the damage, which has been said */
    int status;
};

/* Opens path at its first event.  Returns -1 to go on, or the exit status;
 * the reason has been said. */
int alqi_cli_source_open(struct alqi_cli_source *source, const char *path);
void alqi_cli_source_close(struct alqi_cli_source *source);

/* The lane whose next event is the earliest; NULL at the end. */
struct alqi_cli_lane *alqi_cli_source_first(struct alqi_cli_source *source);
/* The lane's event has been used up. The lane may end, and another takes its
 * place in the array. */
void alqi_cli_source_step(struct alqi_cli_source *source,
                          struct alqi_cli_lane *lane);

#endif
