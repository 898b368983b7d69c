/* blocks.c -- sampled blocks with their times, condensed when there are many
 *
 * [blocks.h] Blocks are appended until n_max. Then the time step doubles,
 * times are rounded down, and blocks that are equal but for their sums become
 * one, until at most half remain. Sums never change by it. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/blocks.h"
#include "cli/tool/cli.h"

enum { STEP_LOG_MAX = 62 };

void
alqi_cli_blocks_init(struct alqi_cli_blocks *b, uint32_t n_max)
{
    memset(b, 0, sizeof *b);
    b->n_max = n_max;
    b->step_us = 1;
    b->resident_every = 1;
}

void
alqi_cli_blocks_free(struct alqi_cli_blocks *b)
{
    free(b->blocks);
    free(b->resident);
}

/* Rounds both times down to the step. */
static void
round_down(struct alqi_cli_block *x, uint64_t step_us)
{
    x->born_us -= x->born_us % step_us;
    if (x->died_us != ALQI_CLI_ALIVE)
        x->died_us -= x->died_us % step_us;
}

static int
order(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

/* Order by everything but the sums: equal blocks may become one. */
static int
compare(const void *left, const void *right)
{
    const struct alqi_cli_block *a = left;
    const struct alqi_cli_block *b = right;
    int c = order(a->born_us, b->born_us);

    if (c == 0)
        c = order(a->site, b->site);
    if (c == 0)
        c = order(a->died_us, b->died_us);
    if (c == 0)
        c = order(a->thread, b->thread);
    if (c == 0)
        c = order(a->is_left, b->is_left);
    for (int k = 0; c == 0 && k < ALQI_VIEW_COLOURS; k++)
        c = order(a->moments[k], b->moments[k]);
    return c;
}

/* Joins equal blocks. Requires at least one block. */
static void
merge(struct alqi_cli_blocks *b)
{
    uint32_t kept = 0;

    qsort(b->blocks, b->n_blocks, sizeof *b->blocks, compare);
    for (uint32_t i = 1; i < b->n_blocks; i++) {
        struct alqi_cli_block *x = &b->blocks[kept];

        if (compare(x, &b->blocks[i]) == 0) {
            x->bytes += b->blocks[i].bytes;
            x->objects += b->blocks[i].objects;
            x->colour_bytes += b->blocks[i].colour_bytes;
        } else {
            b->blocks[++kept] = b->blocks[i];
        }
    }
    b->n_blocks = kept + 1;
}

/* Makes room: half of what may be kept, or as much as can be had. Moments that
 * are not the last any more are cleared, so that they do not keep blocks
 * apart. */
static void
condense(struct alqi_cli_blocks *b, const uint64_t *moments)
{
    while (b->n_blocks > b->n_max / 2 && b->step_us < (uint64_t)1
                                                          << STEP_LOG_MAX) {
        b->step_us *= 2;
        for (uint32_t i = 0; i < b->n_blocks; i++) {
            round_down(&b->blocks[i], b->step_us);
            for (int k = 0; k < ALQI_VIEW_COLOURS; k++)
                if (b->blocks[i].moments[k] != moments[k])
                    b->blocks[i].moments[k] = 0;
        }
        merge(b);
    }
}

/* A block that does not fit after condensing is taken all the same: n_max is
 * exceeded only by distinct stacks and threads. */
void
alqi_cli_blocks_take(struct alqi_cli_blocks *b,
                     const struct alqi_cli_block *block,
                     const uint64_t *moments)
{
    if (b->n_blocks >= b->n_max)
        condense(b, moments);
    b->blocks = alqi_cli_grow(b->blocks, b->n_blocks, sizeof *b->blocks);
    b->blocks[b->n_blocks] = *block;
    round_down(&b->blocks[b->n_blocks++], b->step_us);
    b->n_taken++;
}

/* When there is no room every other record is dropped, and only every second
 * of those that follow is taken. */
void
alqi_cli_blocks_take_resident(struct alqi_cli_blocks *b, uint64_t us,
                              uint64_t bytes)
{
    if (b->n_resident_told++ % b->resident_every != 0)
        return;
    if (b->n_resident == ALQI_CLI_RESIDENT_MAX) {
        b->n_resident /= 2;
        for (uint32_t i = 0; i < b->n_resident; i++)
            b->resident[i] = b->resident[2 * i];
        b->resident_every *= 2;
    }
    b->resident =
        alqi_cli_grow(b->resident, b->n_resident, sizeof *b->resident);
    b->resident[b->n_resident++] = (struct alqi_cli_resident){us, bytes};
}

/* Order by time, then phase, then block. */
static int
compare_events(const void *left, const void *right)
{
    const struct alqi_cli_block_event *a = left;
    const struct alqi_cli_block_event *b = right;
    int c = order(a->us, b->us);

    if (c == 0)
        c = order(a->phase, b->phase);
    return c != 0 ? c : order(a->block, b->block);
}

/* A block that dies at the time of its birth (rounded) dies in phase 2, after
 * all births of that time. */
struct alqi_cli_block_event *
alqi_cli_blocks_events(const struct alqi_cli_blocks *b, uint32_t *n_events)
{
    struct alqi_cli_block_event *events =
        alqi_cli_realloc(NULL, 2 * (size_t)b->n_blocks, sizeof *events);
    uint32_t n = 0;

    for (uint32_t i = 0; i < b->n_blocks; i++) {
        const struct alqi_cli_block *x = &b->blocks[i];

        events[n++] = (struct alqi_cli_block_event){x->born_us, i, 1};
        if (x->died_us != ALQI_CLI_ALIVE)
            events[n++] = (struct alqi_cli_block_event){
                x->died_us, i, x->died_us > x->born_us ? 0 : 2};
    }
    qsort(events, n, sizeof *events, compare_events);
    *n_events = n;
    return events;
}
