/* scan.h -- the samples that pass a filter, and their sums by stack
 *
 * One pass over the columns that the filter asks for.  All answers to one
 * filter share it. */
#ifndef ALQI_VIEW_SCAN_H
#define ALQI_VIEW_SCAN_H

#include "view/filter.h"
#include "view/index.h"
#include "view/sum.h"

struct alqi_view_scan {
    struct alqi_view_filter filter; /* a copy */
    struct alqi_view_sum *stacks;   /* [n_stacks] */
    struct alqi_view_sum total;
    uint64_t *bits; /* by row: it passes */
};

/* False: no memory.  To be freed in any case. */
bool alqi_view_scan_run(struct alqi_view_scan *scan,
                        const struct alqi_view_index *index,
                        const struct alqi_view_filter *filter);
void alqi_view_scan_free(struct alqi_view_scan *scan);

static inline bool
alqi_view_scan_passes(const struct alqi_view_scan *scan, uint32_t row)
{
    return (scan->bits[row / 64] >> row % 64 & 1) != 0;
}

/* The rows of one block as a filter sees them: born later or ended earlier
 * where it leaves a heap out, and with the life of their chain. */
struct alqi_view_rows {
    uint32_t n;
    uint64_t born[ALQI_VIEW_BLOCK_ROWS];
    uint64_t end[ALQI_VIEW_BLOCK_ROWS]; /* UINT64_MAX: stays */
    uint64_t life[ALQI_VIEW_BLOCK_ROWS];
    uint64_t flags[ALQI_VIEW_BLOCK_ROWS];
    uint64_t promoted[ALQI_VIEW_BLOCK_ROWS];
    uint32_t class_[ALQI_VIEW_BLOCK_ROWS];
    uint32_t stack[ALQI_VIEW_BLOCK_ROWS];
    uint32_t origin[ALQI_VIEW_BLOCK_ROWS];
    uint64_t samples[ALQI_VIEW_BLOCK_ROWS];
    uint8_t passes[ALQI_VIEW_BLOCK_ROWS];
};

/* Reads a block of an index for those who go through what passed; passes is
 * from the bits of the scan.  False when none does, and nothing was read. */
bool alqi_view_rows_read(struct alqi_view_rows *rows,
                         const struct alqi_view_index *index,
                         const struct alqi_view_scan *scan, uint32_t block);

#endif
