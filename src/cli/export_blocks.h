/* export_blocks.h -- blocks with whole numbers of bytes
 *
 * What exporters need that draw the course of time: the bytes of all blocks,
 * of those live at the end and of those alive at the peak sum to the rounded
 * totals of the report, all three at once. */
#ifndef ALQI_CLI_EXPORT_BLOCKS_H
#define ALQI_CLI_EXPORT_BLOCKS_H

#include "cli/analysis.h"

struct alqi_cli_whole_blocks {
    const struct alqi_cli_block *blocks; /* the analysis has them */
    uint32_t n_blocks;
    int64_t *bytes; /* by block */
    bool *is_peak;  /* by block: alive at the peak */
    int64_t allocated_bytes, live_bytes, peak_bytes;
};

/* The analysis was given options.blocks. */
void alqi_cli_whole_blocks_make(struct alqi_cli_whole_blocks *whole,
                                const struct alqi_cli_analysis *analysis);
void alqi_cli_whole_blocks_free(struct alqi_cli_whole_blocks *whole);

#endif
