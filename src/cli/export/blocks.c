/* blocks.c -- blocks with whole numbers of bytes
 *
 * Sums of blocks must be the report's rounded totals: of all blocks, of those
 * left at the end, and of each process. So bytes are apportioned
 * (analysis/apportion.h) in two classes, left or not, each first among the
 * processes and then among the blocks of a process. Bytes at the peak are
 * apportioned on their own. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/blocks.h"

/* Blocks in the order of their processes: those of process p are
 * order[first[p]] to order[first[p + 1] - 1]. */
struct grouped {
    uint32_t *order, *first;
    double *sums; /* bytes, by process */
    uint32_t n_processes;
};

/* The process that allocated the block; 0 in a trace of one process. */
static uint32_t
process_of(const struct alqi_cli_analysis *a, const struct alqi_cli_block *b)
{
    const struct alqi_cli_notes *notes = &a->notes;
    const struct alqi_cli_thread *t =
        b->thread < notes->threads_capacity ? &notes->threads[b->thread] : NULL;

    return t != NULL && t->is_seen && t->process < notes->n_processes
               ? t->process
               : 0;
}

/* Sorts the blocks of one class by process, by counting. first[p + 2] counts,
 * then the running sum moves the counts up by one place, then the second pass
 * moves first[p + 1] over its blocks. */
static void
group(struct grouped *g, const struct alqi_cli_whole_blocks *w,
      const struct alqi_cli_analysis *a, bool is_left)
{
    g->n_processes = a->notes.n_processes > 0 ? a->notes.n_processes : 1;
    g->order = alqi_cli_realloc(NULL, w->n_blocks, sizeof *g->order);
    g->first = alqi_cli_zeros(g->n_processes + 2, sizeof *g->first);
    g->sums = alqi_cli_zeros(g->n_processes, sizeof *g->sums);
    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (w->blocks[i].is_left == is_left) {
            uint32_t p = process_of(a, &w->blocks[i]);

            g->first[p + 2]++;
            g->sums[p] += w->blocks[i].bytes;
        }
    for (uint32_t p = 0; p < g->n_processes; p++)
        g->first[p + 2] += g->first[p + 1];
    /* first[p + 1] goes from where p begins to where it ends. */
    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (w->blocks[i].is_left == is_left)
            g->order[g->first[process_of(a, &w->blocks[i]) + 1]++] = i;
}

static void
grouped_free(struct grouped *g)
{
    free(g->order);
    free(g->first);
    free(g->sums);
}

/* Apportions `total` bytes among the blocks that are left at the end, or among
 * the others. The processes get their parts first, so that the sum of each
 * process is right too. */
static void
class_apportion(struct alqi_cli_whole_blocks *w,
                const struct alqi_cli_analysis *a, bool is_left, int64_t total)
{
    double *parts = alqi_cli_realloc(NULL, w->n_blocks, sizeof *parts);
    int64_t *bytes = alqi_cli_realloc(NULL, w->n_blocks, sizeof *bytes);
    struct grouped g;
    int64_t *totals;

    group(&g, w, a, is_left);
    totals = alqi_cli_realloc(NULL, g.n_processes, sizeof *totals);
    alqi_cli_apportion(totals, g.sums, g.n_processes, total);
    for (uint32_t p = 0; p < g.n_processes; p++) {
        uint32_t from = g.first[p], n = g.first[p + 1] - from;

        for (uint32_t i = 0; i < n; i++)
            parts[i] = w->blocks[g.order[from + i]].bytes;
        alqi_cli_apportion(bytes, parts, n, totals[p]);
        for (uint32_t i = 0; i < n; i++)
            w->bytes[g.order[from + i]] = bytes[i];
    }
    free(totals);
    grouped_free(&g);
    free(parts);
    free(bytes);
}

/* What each block has of the peak; a block that lives between the moments has a
 * part of its bytes (view/peak.h). */
static void
peak_apportion(struct alqi_cli_whole_blocks *w, const uint64_t *moments)
{
    double *parts = alqi_cli_realloc(NULL, w->n_blocks, sizeof *parts);

    for (uint32_t i = 0; i < w->n_blocks; i++)
        parts[i] = alqi_cli_block_peak_bytes(&w->blocks[i], moments);
    alqi_cli_apportion(w->peak_bytes_of, parts, w->n_blocks, w->peak_bytes);
    free(parts);
}

/* What was not left is the difference of two rounded totals, so that both add
 * up. */
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
    class_apportion(w, a, true, w->live_bytes);
    class_apportion(w, a, false, w->allocated_bytes - w->live_bytes);
    peak_apportion(w, a->moments);
}

void
alqi_cli_whole_blocks_free(struct alqi_cli_whole_blocks *w)
{
    free(w->bytes);
    free(w->peak_bytes_of);
}
