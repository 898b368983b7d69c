/* sql_samples.c -- the sampled blocks of a trace, as rows of a table
 *
 * The analysis made an index of its blocks (analysis/view_index.h), whose rows
 * know all of a block: its end, the life of its chain of realloc, the colours
 * that count it at the peak. Each row that passes --min-life is told, in the
 * order of births. */
#include <math.h>
#include <stdlib.h>

#include "cli/export/export.h"
#include "cli/export/sql.h"
#include "cli/tool/cli.h"
#include "view/scan.h"

static const double LIFE_US_MAX = (double)(UINT64_C(1) << 62);

/* One export of the blocks of a trace. */
struct writer {
    const struct alqi_cli_sql_rows *rows;
    /* numbers by node of the analysis */
    const struct alqi_cli_sql_stacks *stacks;
    const struct alqi_cli_sink *sink;
    const char *day, *release;
    const struct alqi_view_index *x;
    /* rows with a life of at least --min-life */
    struct alqi_view_scan scan;
    /* scratch: one block of rows, decoded */
    struct alqi_view_rows read;
};

/* Which allocator it came from, in the schema's words. */
static const char *
source_name(const struct writer *w, uint32_t source)
{
    if (w->rows->export->analysis.estimator.is_bytes)
        return source == ALQI_CTF_MAJOR ? "mmap" : "malloc";
    return source == ALQI_CTF_MINOR   ? "minor"
           : source == ALQI_CTF_MAJOR ? "major"
                                      : "external";
}

/* Tells row i of those that were read. False: the sink takes no more. */
static bool
row_put(struct writer *w, uint32_t i)
{
    const struct alqi_view_rows *r = &w->read;
    const struct alqi_view_origin *o = &w->x->origins[r->origin[i]];
    const struct alqi_view_weight *all = &w->x->weights[r->class_[i]];
    struct alqi_view_stand peak =
        alqi_view_stand_at_peak(w->x, r->class_[i], r->flags[i], r->samples[i]);
    uint32_t node =
        alqi_cli_view_indexer_node(w->rows->export->rows.indexer, r->stack[i]);
    int64_t born_us = (int64_t)w->x->meta->start_us + (int64_t)r->born[i];
    int64_t died_us = (int64_t)w->x->meta->start_us + (int64_t)r->end[i];
    bool is_left = (r->flags[i] & ALQI_VIEW_LEFT) != 0;
    union alqi_cli_cell cells[] = {
        {.number = (int64_t)w->rows->trace_id},
        {.text = w->day},
        {.text = w->release},
        {.number = o->thread},
        {.text = source_name(w, o->source)},
        {.number = born_us},
        {.number = is_left ? 0 : died_us},
        {.number =
             r->promoted[i] != 0 ? born_us + (int64_t)r->promoted[i] - 1 : 0},
        {.number = (int64_t)fmin((double)r->life[i], LIFE_US_MAX)},
        {.number = (int64_t)w->x->classes[r->class_[i]].size_bytes},
        {.number = (int64_t)r->samples[i]},
        {.real = all->objects},
        {.real = all->objects_var},
        {.real = all->bytes},
        {.real = all->bytes_var},
        {.number = (r->flags[i] & ALQI_VIEW_PEAK) != 0},
        {.real = peak.weight.objects},
        {.real = peak.weight.objects_var},
        {.real = peak.weight.bytes},
        {.real = peak.weight.bytes_var},
        {.number = (int64_t)w->stacks->stack_ids[node]},
        {.number = (int64_t)w->stacks->site_ids[node]},
    };

    return w->sink->row(w->sink->arg, ALQI_CLI_SAMPLES, cells);
}

/* Tells all rows that pass. False: the sink takes no more. */
static bool
rows_put(struct writer *w)
{
    for (uint32_t b = 0; b < w->x->n_blocks; b++) {
        if (!alqi_view_rows_read(&w->read, w->x, &w->scan, b))
            continue;
        for (uint32_t i = 0; i < w->read.n; i++)
            if (w->read.passes[i] != 0 && !row_put(w, i))
                return false;
    }
    return true;
}

/* The rows that --min-life lets through. False: no memory. */
static bool
scan_make(struct writer *w)
{
    double least = ceil(w->rows->options->min_life_us);
    struct alqi_view_filter filter = {
        .heap = ALQI_VIEW_HEAP_ALL,
        .life = {.is_there = least > 0,
                 .least = (uint64_t)fmin(least, LIFE_US_MAX),
                 .most = UINT64_MAX},
    };

    return alqi_view_scan_run(&w->scan, w->x, &filter);
}

int
alqi_cli_sql_samples_put(const struct alqi_cli_sql_rows *rows,
                         const struct alqi_cli_sql_stacks *stacks,
                         const char *day, const struct alqi_cli_sink *sink)
{
    struct alqi_cli_export *x = rows->export;
    struct writer *w = alqi_cli_realloc(NULL, 1, sizeof *w);
    bool is_whole = false;

    *w = (struct writer){
        .rows = rows,
        .stacks = stacks,
        .sink = sink,
        .day = day,
        .release = rows->sql->release != NULL ? rows->sql->release : "",
        .x = &x->rows.index,
    };
    if (scan_make(w))
        is_whole = rows_put(w);
    else
        alqi_cli_say("the rows of the blocks cannot be made: there is no "
                     "memory");
    alqi_view_scan_free(&w->scan);
    free(w);
    return is_whole ? -1 : ALQI_CLI_UNREADABLE;
}
