/* ahead.h -- the events of a trace, read ahead by a thread
 *
 * Decoding a trace and finding its stacks' nodes is as much work as all that
 * the analysis does with its events, so a second processor does it. Events
 * come in batches, in the trace's order. */
#ifndef ALQI_CLI_ANALYSIS_AHEAD_H
#define ALQI_CLI_ANALYSIS_AHEAD_H

#include "cli/analysis/stacks.h"
#include "cli/read/input.h"

enum { ALQI_CLI_BATCH_STEPS = 2048 };

/* An event. One of location has the place of its record in the batch as id. */
struct alqi_cli_step {
    uint64_t time_us, id;
    int64_t length, n_samples;
    /* of an allocation's stack */
    uint32_t node;
    uint16_t domain;
    /* enum alqi_ctf_kind, enum alqi_ctf_source */
    uint8_t kind, source;
};

/* Events in turn; valid until the next batch is asked for. */
struct alqi_cli_batch {
    uint32_t n, n_locations;
    /* locations: owned, and grow */
    struct alqi_ctf_location *locations;
    struct alqi_cli_step steps[ALQI_CLI_BATCH_STEPS];
};

/* An event of the batch, without codes. */
static inline struct alqi_ctf_event
alqi_cli_batch_event(const struct alqi_cli_batch *batch, uint32_t at)
{
    const struct alqi_cli_step *s = &batch->steps[at];
    struct alqi_ctf_event e = {
        .kind = (enum alqi_ctf_kind)s->kind,
        .domain = s->domain,
        .time_us = s->time_us,
        .id = s->id,
        .length = s->length,
        .n_samples = s->n_samples,
        .source = (enum alqi_ctf_source)s->source,
    };

    if (s->kind == ALQI_CTF_LOCATION)
        e.location = batch->locations[s->id];
    return e;
}

struct alqi_cli_ahead;

/* Reads the input from here to its end. Input and stacks must not be touched
 * until alqi_cli_ahead_end, which leaves the stacks of all events. */
struct alqi_cli_ahead *alqi_cli_ahead_begin(struct alqi_cli_input *input,
                                            struct alqi_cli_stacks *stacks);
/* The next batch, or NULL: there are no more events. */
const struct alqi_cli_batch *alqi_cli_ahead_next(struct alqi_cli_ahead *ahead);
/* After the last batch. */
void alqi_cli_ahead_end(struct alqi_cli_ahead *ahead);

#endif
