/* scan.h -- the samples that pass a filter, and their sums by stack
 *
 * One pass over the columns that the filter asks for.  All answers to one
 * filter share it. */
#ifndef ALQI_VIEW_SCAN_H
#define ALQI_VIEW_SCAN_H

#include "view/filter.h"
#include "view/index.h"
#include "view/sum.h"

/* What passes one filter. */
struct alqi_view_scan {
    /* a copy that owns its texts */
    struct alqi_view_filter filter;
    /* [n_stacks]: sums of the rows that pass; owned */
    struct alqi_view_sum *stacks;
    /* of all rows that pass */
    struct alqi_view_sum total;
    /* by row: it passes; owned; NULL: no scan */
    uint64_t *bits;
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
    /* rows of the block */
    uint32_t n;
    /* microseconds since the start */
    uint64_t born[ALQI_VIEW_BLOCK_ROWS];
    /* UINT64_MAX: it stays */
    uint64_t end[ALQI_VIEW_BLOCK_ROWS];
    /* the chain's, if it has one */
    uint64_t life[ALQI_VIEW_BLOCK_ROWS];
    /* enum alqi_view_flag, without what the filter cuts */
    uint64_t flags[ALQI_VIEW_BLOCK_ROWS];
    /* time from birth + 1; 0: never */
    uint64_t promoted[ALQI_VIEW_BLOCK_ROWS];
    /* numbers of the tables, checked */
    uint32_t class_[ALQI_VIEW_BLOCK_ROWS];
    uint32_t stack[ALQI_VIEW_BLOCK_ROWS];
    uint32_t origin[ALQI_VIEW_BLOCK_ROWS];
    uint64_t samples[ALQI_VIEW_BLOCK_ROWS];
    /* 0 or 1 */
    uint8_t passes[ALQI_VIEW_BLOCK_ROWS];
};

/* What a row stands for where the filter is that of the scan. */
struct alqi_view_stand {
    /* what it adds to a sum */
    struct alqi_view_weight weight;
    /* as how many sampled blocks it counts, 0 or 1, and its samples */
    uint64_t n, n_samples;
};

/* What a row stands for at the peak: once for each colour that counts it. It
 * counts as a block if its first colour is among them. */
static inline struct alqi_view_stand
alqi_view_stand_at_peak(const struct alqi_view_index *x, uint32_t class_,
                        uint64_t flags, uint64_t n_samples)
{
    struct alqi_view_weight w = x->colour_weights[class_];
    unsigned first =
        (unsigned)(flags & ALQI_VIEW_FIRST) >> ALQI_VIEW_FIRST_SHIFT;
    double n = __builtin_popcountll(flags & ALQI_VIEW_PEAK);
    /* Where rows were left out, all colours of a row stay or go together. */
    double together = n * (n - 1) * (1 - x->meta->share);
    bool is_counted = (flags >> first & 1) != 0;

    w.bytes_var = n * w.bytes_var + together * w.bytes * w.bytes;
    w.objects_var = n * w.objects_var + together * w.objects * w.objects;
    w.bytes_third *= n;
    w.objects_third *= n;
    w.bytes *= n;
    w.objects *= n;
    w.seen_bytes *= n;
    w.seen_objects *= n;
    return (struct alqi_view_stand){w, is_counted, is_counted ? n_samples : 0};
}

/* What row i of r stands for under the scan's filter. */
static inline struct alqi_view_stand
alqi_view_stand(const struct alqi_view_index *x,
                const struct alqi_view_scan *scan,
                const struct alqi_view_rows *r, uint32_t i)
{
    if (scan->filter.live_kind == ALQI_VIEW_LIVE_PEAK)
        return alqi_view_stand_at_peak(x, r->class_[i], r->flags[i],
                                       r->samples[i]);
    return (struct alqi_view_stand){x->weights[r->class_[i]], 1, r->samples[i]};
}

/* Adds row i of r to a sum of rows that pass. */
static inline void
alqi_view_row_sum(struct alqi_view_sum *sum, const struct alqi_view_index *x,
                  const struct alqi_view_scan *scan,
                  const struct alqi_view_rows *r, uint32_t i)
{
    struct alqi_view_stand stand = alqi_view_stand(x, scan, r, i);

    alqi_view_sum_add(sum, &stand.weight);
    sum->most_bytes = x->most_bytes;
    sum->most_objects = x->most_objects;
    sum->peak = scan->total.peak;
    sum->peak_bytes = scan->total.peak_bytes;
    sum->life_us += (double)r->life[i] * stand.weight.objects;
    sum->n += stand.n;
    sum->n_samples += stand.n_samples;
}

/* Reads a block of an index for those who go through what passed; passes is
 * from the bits of the scan.  False when none does, and nothing was read. */
bool alqi_view_rows_read(struct alqi_view_rows *rows,
                         const struct alqi_view_index *index,
                         const struct alqi_view_scan *scan, uint32_t block);

#endif
