/* export_blocks.c -- see export_blocks.h */
#include <stdlib.h>

#include "cli/apportion.h"
#include "cli/cli.h"
#include "cli/export_blocks.h"

/* Of the blocks that are left at the end, or of the others. */
static void
class_apportion(struct alqi_cli_whole_blocks *w, bool is_left, int64_t total)
{
    double *parts = alqi_cli_realloc(NULL, w->n_blocks, sizeof *parts);
    int64_t *bytes = alqi_cli_realloc(NULL, w->n_blocks, sizeof *bytes);
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (w->blocks[i].is_left == is_left)
            parts[n++] = w->blocks[i].bytes;
    alqi_cli_apportion(bytes, parts, n, total);
    n = 0;
    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (w->blocks[i].is_left == is_left)
            w->bytes[i] = bytes[n++];
    free(parts);
    free(bytes);
}

static void
peak_apportion(struct alqi_cli_whole_blocks *w, const uint64_t *moments)
{
    double *parts = alqi_cli_realloc(NULL, w->n_blocks, sizeof *parts);

    for (uint32_t i = 0; i < w->n_blocks; i++)
        parts[i] = alqi_cli_block_peak_bytes(&w->blocks[i], moments);
    alqi_cli_apportion(w->peak_bytes_of, parts, w->n_blocks, w->peak_bytes);
    free(parts);
}

void
alqi_cli_whole_blocks_make(struct alqi_cli_whole_blocks *w,
                           const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_blocks *b = a->options.blocks;

    w->blocks = b->blocks;
    w->n_blocks = b->n_blocks;
    w->bytes = alqi_cli_realloc(NULL, b->n_blocks, sizeof *w->bytes);
    w->peak_bytes_of =
        alqi_cli_realloc(NULL, b->n_blocks, sizeof *w->peak_bytes_of);
    w->allocated_bytes = alqi_cli_whole(a->totals[ALQI_CLI_ALLOCATED].bytes);
    w->live_bytes = alqi_cli_whole(a->totals[ALQI_CLI_LIVE].bytes);
    w->peak_bytes = alqi_cli_whole(a->totals[ALQI_CLI_PEAK].bytes);
    class_apportion(w, true, w->live_bytes);
    class_apportion(w, false, w->allocated_bytes - w->live_bytes);
    peak_apportion(w, a->moments);
}

void
alqi_cli_whole_blocks_free(struct alqi_cli_whole_blocks *w)
{
    free(w->bytes);
    free(w->peak_bytes_of);
}
