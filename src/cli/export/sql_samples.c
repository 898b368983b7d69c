/* sql_samples.c -- the sampled blocks of a trace, as rows
 *
 * The trace is read once more: only then is it known when the most bytes were
 * live.  A block's row goes out when its life is over, or at the end; one that
 * realloc carried on waits for the end of the whole chain, whose life it
 * shares.
 *
 * .inv.wait  Memory grows with the blocks alive, and with links of chains that
 *            go on; never with the length of the trace. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/export/again.h"
#include "cli/export/export.h"
#include "cli/export/sql.h"

enum { NONE = 0 };

static const double LIFE_US_MAX = (double)(UINT64_C(1) << 62);

/* A block that has no row yet; number 0 is no block. */
struct block {
    /* since the trace's start; died_us counts if is_dead, promoted_us 0:
     * never */
    uint64_t born_us, died_us, promoted_us;
    unsigned colours; /* that may count it at the peak */
    uint64_t size_bytes, n_samples;
    /* what it stands for; what one colour has of it at the peak */
    struct alqi_cli_weight weight, colour_weight;
    uint32_t node;   /* of the analysis's stacks */
    uint32_t older;  /* the block it was made of, or the next that is free */
    uint16_t thread; /* index */
    bool is_mapping, is_dead;
    enum alqi_ctf_source source;
};

struct writer {
    const struct alqi_cli_sql_rows *rows;
    /* numbers by node, which this pass has in common with the first */
    const struct alqi_cli_sql_stacks *stacks;
    const struct alqi_cli_sink *sink;
    const char *day, *release;
    /* of this pass */
    struct alqi_cli_analysis a;
    /* blocks alive, by the trace's number */
    struct alqi_base_map block_of_id;
    struct block *blocks;
    /* places, and the list of free ones; 0: none is free */
    uint32_t n_blocks, first_free;
    uint32_t held; /* died last: it may go on in the next */
    uint64_t held_id;
    uint64_t moments[ALQI_VIEW_COLOURS]; /* so many were met */
    bool is_over;                        /* the sink takes no more */
};

/* ---- blocks ---------------------------------------------------------- */

/* An empty block; the pointer to any other may have moved. Places that are free
 * are used first. */
static uint32_t
block_new(struct writer *w)
{
    uint32_t b = w->first_free;

    if (b != NONE) {
        w->first_free = w->blocks[b].older;
    } else {
        w->blocks = alqi_cli_grow(w->blocks, w->n_blocks, sizeof *w->blocks);
        b = w->n_blocks++;
    }
    memset(&w->blocks[b], 0, sizeof *w->blocks);
    return b;
}

static void
block_free(struct writer *w, uint32_t b)
{
    w->blocks[b].older = w->first_free;
    w->first_free = b;
}

/* A block that is alive, or the one that died last. */
static uint32_t
block_find(const struct writer *w, uint64_t id)
{
    uint64_t b;

    if (w->held != NONE && w->held_id == id)
        return w->held;
    return alqi_base_map_get(&w->block_of_id, id, &b) ? (uint32_t)b : NONE;
}

/* ---- rows ------------------------------------------------------------ */

/* Which allocator it came from, in the schema's words. */
static const char *
source_name(const struct writer *w, const struct block *b)
{
    if (w->a.estimator.is_bytes)
        return b->is_mapping ? "mmap" : "malloc";
    return b->source == ALQI_CTF_MINOR   ? "minor"
           : b->source == ALQI_CTF_MAJOR ? "major"
                                         : "external";
}

/* Tells a row, unless the life is below --min-life or the sink is full. The
 * peak's figures are means over the colours. */
static void
row_put(struct writer *w, const struct block *b, double life_us)
{
    const struct alqi_cli_sql_stacks *s = w->stacks;
    int64_t start_us = (int64_t)w->a.info->start_us;
    double n_peak = __builtin_popcount(b->colours);
    union alqi_cli_cell cells[] = {
        {.number = (int64_t)w->rows->trace_id},
        {.text = w->day},
        {.text = w->release},
        {.number = b->thread},
        {.text = source_name(w, b)},
        {.number = start_us + (int64_t)b->born_us},
        {.number = b->is_dead ? start_us + (int64_t)b->died_us : 0},
        {.number =
             b->promoted_us != 0 ? start_us + (int64_t)b->promoted_us : 0},
        {.number = (int64_t)fmin(life_us, LIFE_US_MAX)},
        {.number = (int64_t)b->size_bytes},
        {.number = (int64_t)b->n_samples},
        {.real = b->weight.objects},
        {.real = b->weight.objects_var},
        {.real = b->weight.bytes},
        {.real = b->weight.bytes_var},
        {.number = n_peak > 0},
        {.real = n_peak * b->colour_weight.objects},
        {.real = n_peak * b->colour_weight.objects_var},
        {.real = n_peak * b->colour_weight.bytes},
        {.real = n_peak * b->colour_weight.bytes_var},
        {.number = (int64_t)s->stack_ids[b->node]},
        {.number = (int64_t)s->site_ids[b->node]},
    };

    if (life_us < w->rows->options->min_life_us || w->is_over)
        return;
    if (!w->sink->row(w->sink->arg, ALQI_CLI_SAMPLES, cells))
        w->is_over = true;
}

/* The block, and those it was made of, had that life. */
static void
chain_end(struct writer *w, uint32_t b, double life_us)
{
    while (b != NONE) {
        uint32_t older = w->blocks[b].older;

        row_put(w, &w->blocks[b], life_us);
        block_free(w, b);
        b = older;
    }
}

/* The block that died last was not carried on: its row goes out. A block of a
 * chain goes out with the chain, and is not held. */
static void
held_end(struct writer *w)
{
    const struct block *b = &w->blocks[w->held];

    if (w->held == NONE)
        return;
    chain_end(w, w->held,
              b->died_us > b->born_us ? (double)(b->died_us - b->born_us) : 0);
    w->held = NONE;
}

/* ---- looking on ------------------------------------------------------ */

/* The colours whose last moment has been met. */
static unsigned
moments_past(const struct writer *w)
{
    unsigned colours = 0;

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        if (w->moments[k] >= w->rows->moments[k])
            colours |= 1u << k;
    return colours;
}

/* Divides a weight by the number of colours, as the peak is the mean of what
 * they measure; variances fall by its square. */
static void
colour_part(struct alqi_cli_weight *w)
{
    const double n = ALQI_VIEW_COLOURS;

    w->objects /= n;
    w->objects_var /= n * n;
    w->bytes /= n;
    w->bytes_var /= n * n;
}

/* The watch's call for an allocation. Colours whose moments are past cannot
 * count the block at the peak. */
static void
born(void *arg, const struct alqi_ctf_event *e, uint64_t us, uint32_t node,
     uint16_t thread)
{
    struct writer *w = arg;
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    uint32_t number = block_new(w);
    struct block *b = &w->blocks[number];

    b->born_us = us;
    b->colours = alqi_cli_colours(&w->a.estimator, w->a.rate, length, e->id) &
                 ~moments_past(w);
    b->n_samples = e->n_samples > 0 ? (uint64_t)e->n_samples : 0;
    b->size_bytes = (uint64_t)alqi_cli_block_bytes(&w->a.estimator, length);
    b->weight = alqi_cli_weigh(&w->a.estimator, w->a.rate, length);
    b->colour_weight =
        alqi_cli_weigh_colour(&w->a.estimator, w->a.rate, length);
    colour_part(&b->colour_weight);
    b->node = node;
    b->thread = thread;
    b->source = e->source;
    b->is_mapping = w->a.estimator.is_bytes && e->source == ALQI_CTF_MAJOR;
    if (!alqi_base_map_put(&w->block_of_id, e->id, number)) {
        alqi_cli_say("out of memory for %u blocks", w->n_blocks);
        exit(ALQI_CLI_UNREADABLE);
    }
}

/* A time of 0 would mean never promoted. */
static void
promoted(void *arg, uint64_t id, uint64_t us, uint64_t born_us)
{
    struct writer *w = arg;
    uint32_t b = block_find(w, id);

    (void)born_us;
    if (b != NONE)
        w->blocks[b].promoted_us = us != 0 ? us : 1;
}

/* The watch's call for a free. The block is held back: a realloc may carry it
 * on, which is told next. */
static void
died(void *arg, uint64_t id, uint64_t us, uint64_t born_us)
{
    struct writer *w = arg;
    uint64_t b;

    (void)born_us;
    held_end(w);
    if (!alqi_base_map_take(&w->block_of_id, id, &b))
        return;
    w->held = (uint32_t)b;
    w->held_id = id;
    w->blocks[b].is_dead = true;
    w->blocks[b].died_us = us;
    w->blocks[b].colours &= moments_past(w);
}

/* The block that died last is the older one of `to`. */
static void
moved(void *arg, uint64_t from, uint64_t to)
{
    struct writer *w = arg;
    uint32_t b = block_find(w, to);

    (void)from; /* died last */
    if (w->held == NONE || b == NONE)
        return;
    w->blocks[b].older = w->held;
    w->held = NONE;
}

/* The watch's call when a chain has ended, with the life of all its blocks. */
static void
chain(void *arg, uint64_t id, double life_us)
{
    struct writer *w = arg;
    uint32_t b = block_find(w, id);
    uint64_t old;

    if (b == NONE)
        return;
    chain_end(w, b, life_us);
    if (b == w->held)
        w->held = NONE;
    else
        alqi_base_map_take(&w->block_of_id, id, &old);
}

/* The watch's call for a block that is alive at the end. A block of a chain is
 * told with the chain. */
static void
left(void *arg, uint64_t id, double life_us, struct alqi_cli_left how)
{
    struct writer *w = arg;
    uint32_t b = block_find(w, id);

    if (b == NONE)
        return;
    w->blocks[b].colours = how.at_peak;
    if (w->blocks[b].older == NONE)
        row_put(w, &w->blocks[b], life_us);
}

static void
gone(void *arg, uint32_t process, uint64_t us)
{
    (void)arg;
    (void)process;
    (void)us;
}

static void
resident(void *arg, uint64_t us, uint64_t bytes)
{
    (void)arg;
    (void)us;
    (void)bytes;
}

/* The colours' highest sums were reached anew; counts as far as the first pass
 * saw. */
static void
peak(void *arg, unsigned colours)
{
    struct writer *w = arg;

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        w->moments[k] += colours >> k & 1;
}

/* ---- the whole ------------------------------------------------------- */

/* Reads the trace with the options of the first pass and a watch. Place 0 is
 * made first, as it means no block. */
static int
read_again(struct writer *w, struct alqi_cli_input *input)
{
    const struct alqi_cli_watch watch = {.arg = w,
                                         .born = born,
                                         .promoted = promoted,
                                         .died = died,
                                         .moved = moved,
                                         .chain = chain,
                                         .left = left,
                                         .gone = gone,
                                         .peak = peak,
                                         .resident = resident};
    struct alqi_cli_analysis_options options = *w->rows->options;

    block_new(w); /* NONE */
    options.watch = &watch;
    options.blocks = NULL;
    alqi_cli_analysis_run(&w->a, input, &options);
    held_end(w);
    alqi_cli_analysis_free(&w->a);
    alqi_base_map_clear(&w->block_of_id);
    free(w->blocks);
    return w->is_over ? ALQI_CLI_UNREADABLE : -1;
}

/* Standard input cannot be read twice: that is said. */
int
alqi_cli_sql_samples_put(const struct alqi_cli_sql_rows *rows,
                         const struct alqi_cli_sql_stacks *stacks,
                         const char *day, const struct alqi_cli_sink *sink)
{
    struct alqi_cli_input *first = rows->export->input, *again;
    struct writer w = {
        .rows = rows,
        .stacks = stacks,
        .sink = sink,
        .day = day,
        .release = rows->sql->release != NULL ? rows->sql->release : ""};
    int rc = alqi_cli_export_again(first, "its rows need: export from a file",
                                   &again);

    if (rc >= 0)
        return rc;
    rc = read_again(&w, again);
    alqi_cli_input_drop(again);
    return rc;
}
