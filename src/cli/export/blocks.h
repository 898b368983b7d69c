/* blocks.h -- blocks with whole numbers of bytes
 *
 * What exporters need that draw the course of time: the bytes of all blocks and
 * of those live at the end sum to the rounded totals of the report, both at
 * once, and so does what each block has of the peak (view/peak.h). */
#ifndef ALQI_CLI_EXPORT_BLOCKS_H
#define ALQI_CLI_EXPORT_BLOCKS_H

#include "cli/analysis/analysis.h"

struct alqi_cli_whole_blocks {
    const struct alqi_cli_block *blocks; /* the analysis has them */
    uint32_t n_blocks;
    int64_t *bytes;         /* by block */
    int64_t *peak_bytes_of; /* by block: of the peak */
    /* rounded totals of the report */
    int64_t allocated_bytes, live_bytes, peak_bytes;
};

/* The analysis was given options.blocks. */
void alqi_cli_whole_blocks_make(struct alqi_cli_whole_blocks *whole,
                                const struct alqi_cli_analysis *analysis);
void alqi_cli_whole_blocks_free(struct alqi_cli_whole_blocks *whole);

#endif
