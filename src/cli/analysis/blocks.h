/* blocks.h -- the sampled blocks of a trace with their times, in bounded room
 *
 * What an export needs that shows the course of time.  Times are those of the
 * trace until there are too many blocks; then they are rounded down to steps
 * that double as often as needed, and blocks of one stack and thread whose
 * rounded times are equal become one.  Sums over blocks that were allocated,
 * are live at the end or were alive at the peak stay what they are. */
#ifndef ALQI_CLI_ANALYSIS_BLOCKS_H
#define ALQI_CLI_ANALYSIS_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include "view/peak.h"

enum { ALQI_CLI_BLOCKS_MAX = 750000, ALQI_CLI_RESIDENT_MAX = 16384 };

/* died_us of a block that is there when the trace ends. */
#define ALQI_CLI_ALIVE UINT64_MAX

/* A sampled block, or several that became one. */
struct alqi_cli_block {
    /* since the trace's start; a multiple of step_us */
    uint64_t born_us;
    /* or when its process ended; ALQI_CLI_ALIVE: it stays */
    uint64_t died_us;
    /* by colour: number of the peak at which it was counted last; 0: none */
    uint64_t moments[ALQI_VIEW_COLOURS];
    /* what it stands for */
    double bytes, objects;
    /* what it adds to the peak for each colour */
    double colour_bytes;
    /* number of its site in the analysis */
    uint32_t site;
    /* that allocated it; the domain where threads are not known */
    uint16_t thread;
    /* never freed: the report's "live" */
    bool is_left;
};

/* Resident memory at a time. */
struct alqi_cli_resident {
    uint64_t us, bytes;
};

struct alqi_cli_blocks {
    /* in order of their ends until some became one; owned */
    struct alqi_cli_block *blocks;
    uint32_t n_blocks, n_max;
    /* blocks handed in, before any became one */
    uint64_t n_taken;
    /* times are multiples of it; 1: as in the trace */
    uint64_t step_us;
    /* in order of time; owned */
    struct alqi_cli_resident *resident;
    uint32_t n_resident;
    /* records handed in; one of so many is kept */
    uint64_t n_resident_told, resident_every;
};

/* At most n_max blocks are kept, more only if stacks times threads are. */
void alqi_cli_blocks_init(struct alqi_cli_blocks *blocks, uint32_t n_max);
void alqi_cli_blocks_free(struct alqi_cli_blocks *blocks);

/* Takes a block. moments are the present ones, by colour: blocks of earlier
 * ones were not at the peak. */
void alqi_cli_blocks_take(struct alqi_cli_blocks *blocks,
                          const struct alqi_cli_block *block,
                          const uint64_t *moments);

/* What the block has of the peak, if these moments are the last. */
static inline double
alqi_cli_block_peak_bytes(const struct alqi_cli_block *block,
                          const uint64_t *moments)
{
    double bytes = 0;

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (moments[k] > 0 && block->moments[k] == moments[k])
            bytes += block->colour_bytes;
    return bytes;
}

/* At most ALQI_CLI_RESIDENT_MAX are kept: when there are more, every other. */
void alqi_cli_blocks_take_resident(struct alqi_cli_blocks *blocks, uint64_t us,
                                   uint64_t bytes);

/* One birth or death.  At one time come the deaths of blocks born earlier,
 * then births, then the deaths of those. */
struct alqi_cli_block_event {
    /* since the trace's start */
    uint64_t us;
    /* index in blocks */
    uint32_t block;
    uint8_t phase; /* 0, 1, 2 in the order above */
};

#define ALQI_CLI_IS_BIRTH(event) ((event)->phase == 1)

/* All events in order, to be freed by the caller. */
struct alqi_cli_block_event *
alqi_cli_blocks_events(const struct alqi_cli_blocks *blocks,
                       uint32_t *n_events);

#endif
