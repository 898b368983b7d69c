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

struct alqi_cli_lane {
    struct alqi_cli_input *input;
    struct alqi_ctf_event event; /* the next one */
    uint16_t domain;
    bool is_all; /* the only lane: takes every domain */
};

struct alqi_cli_source {
    struct alqi_cli_lane *lanes; /* those that have a next event */
    uint32_t n_lanes;
    bool has_streams; /* began with several lanes */
    int status;       /* ALQI_CLI_OK, or that of the damage said */
};

/* Opens path at its first event.  Returns -1 to go on, or the exit status;
 * the reason has been said. */
int alqi_cli_source_open(struct alqi_cli_source *source, const char *path);
void alqi_cli_source_close(struct alqi_cli_source *source);

/* The lane whose next event is the earliest; NULL at the end. */
struct alqi_cli_lane *alqi_cli_source_first(struct alqi_cli_source *source);
/* That event has been used up. */
void alqi_cli_source_step(struct alqi_cli_source *source,
                          struct alqi_cli_lane *lane);

#endif
