/* holders.h -- what holds the blocks of a trace that was looked through
 *
 * The trace tells steps of ways, and for blocks the step that holds them
 * (wire/reach.h).  Steps of one name behind one step are one here, so that
 * blocks of several processes of a program are held by the same. */
#ifndef ALQI_CLI_ANALYSIS_HOLDERS_H
#define ALQI_CLI_ANALYSIS_HOLDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "cli/read/names.h"
#include "view/index.h"
#include "wire/reach.h"

/* No step, for steps and blocks. */
#define ALQI_CLI_NO_STEP ALQI_VIEW_NO_STEP

struct alqi_cli_holder_step {
    uint32_t in;   /* the step before it; NO_STEP: it is the first */
    uint32_t name; /* in the names */
    uint32_t most; /* blocks of it that follow each other, at most */
};

/* So many blocks from a number on, and their step. */
struct alqi_cli_holder_run {
    uint64_t first;
    uint32_t n, step;
};

/* All zeros: the trace tells no steps. */
struct alqi_cli_holders {
    struct alqi_cli_holder_step *steps; /* a step's `in` before it; owned */
    struct alqi_base_intern keys;       /* of steps: in and name */
    uint32_t n_steps;
    struct alqi_base_map step_of_id;  /* the trace's ids */
    struct alqi_cli_holder_run *runs; /* owned; in order if is_sorted */
    uint32_t n_runs;
    bool is_unsorted;
};

/* Takes a record of a step. False: it is none, or none came before it that it
 * names. */
bool alqi_cli_holders_take(struct alqi_cli_holders *holders,
                           struct alqi_cli_names *names, const char *line);
/* The same of a step that is known. */
bool alqi_cli_holders_step(struct alqi_cli_holders *holders,
                           struct alqi_cli_names *names,
                           const struct alqi_side_holder *step);
/* The step with the trace's id holds these blocks. False: there is none, or
 * there are 2^32 runs. */
bool alqi_cli_holders_add(struct alqi_cli_holders *holders, uint64_t id,
                          uint64_t first, uint64_t n);
/* The step of a block; NO_STEP: none is told. */
uint32_t alqi_cli_holders_of(struct alqi_cli_holders *holders, uint64_t block);
void alqi_cli_holders_free(struct alqi_cli_holders *holders);

#endif
