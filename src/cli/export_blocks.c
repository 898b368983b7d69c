/* export_blocks.c -- see export_blocks.h
 *
 * Blocks fall into four classes: live at the end or not, alive at the peak or
 * not.  With the total of the class that is both, the three totals of the
 * report give those of the other classes, and each class is apportioned. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/apportion.h"
#include "cli/cli.h"
#include "cli/export_blocks.h"

enum { IS_LIVE = 1, IS_PEAK = 2, BOTH = IS_LIVE | IS_PEAK, N_CLASSES = 4 };

struct class
{
    uint32_t n_blocks;
    double sum;
    int64_t least, most; /* what its blocks can sum to, each cut or not */
    int64_t total;
};

static unsigned
class_of(const struct alqi_cli_whole_blocks *w, uint32_t i)
{
    return (w->blocks[i].is_left ? IS_LIVE : 0) | (w->is_peak[i] ? IS_PEAK : 0);
}

static void
classes_sum(const struct alqi_cli_whole_blocks *w, struct class *classes)
{
    memset(classes, 0, N_CLASSES * sizeof *classes);
    for (uint32_t i = 0; i < w->n_blocks; i++) {
        struct class *c = &classes[class_of(w, i)];
        double bytes = w->blocks[i].bytes;

        c->n_blocks++;
        c->sum += bytes;
        c->least += alqi_cli_whole(floor(bytes));
        c->most += alqi_cli_whole(ceil(bytes));
    }
}

/* Shares the totals out with `both` for the class that is both; returns by
 * how much classes miss what they can sum to. */
static double
classes_set(const struct alqi_cli_whole_blocks *w, struct class *classes,
            int64_t both)
{
    double off = 0;

    classes[BOTH].total = both;
    classes[IS_LIVE].total = w->live_bytes - both;
    classes[IS_PEAK].total = w->peak_bytes - both;
    classes[0].total =
        w->allocated_bytes - w->live_bytes - w->peak_bytes + both;
    for (unsigned k = 0; k < N_CLASSES; k++) {
        const struct class *c = &classes[k];

        if (c->total < c->least)
            off += (double)(c->least - c->total);
        if (c->total > c->most)
            off += (double)(c->total - c->most);
    }
    return off;
}

/* The three totals are rounded each, so the best total of the fourth can be a
 * little off its own rounding. */
static void
classes_settle(const struct alqi_cli_whole_blocks *w, struct class *classes)
{
    static const int shifts[] = {0, 1, -1, 2, -2};
    int64_t rounded = alqi_cli_whole(classes[BOTH].sum);
    double best_off = HUGE_VAL;
    int64_t best = rounded;

    for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
        double off = classes_set(w, classes, rounded + shifts[i]);

        if (off < best_off) {
            best_off = off;
            best = rounded + shifts[i];
        }
    }
    classes_set(w, classes, best);
}

static void
class_apportion(struct alqi_cli_whole_blocks *w, const struct class *c,
                unsigned number)
{
    double *parts = alqi_cli_realloc(NULL, c->n_blocks, sizeof *parts);
    int64_t *bytes = alqi_cli_realloc(NULL, c->n_blocks, sizeof *bytes);
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (class_of(w, i) == number)
            parts[n++] = w->blocks[i].bytes;
    alqi_cli_apportion(bytes, parts, n, c->total);
    n = 0;
    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (class_of(w, i) == number)
            w->bytes[i] = bytes[n++];
    free(parts);
    free(bytes);
}

void
alqi_cli_whole_blocks_make(struct alqi_cli_whole_blocks *w,
                           const struct alqi_cli_analysis *a)
{
    const struct alqi_cli_blocks *b = a->options.blocks;
    struct class classes[N_CLASSES];

    w->blocks = b->blocks;
    w->n_blocks = b->n_blocks;
    w->bytes = alqi_cli_realloc(NULL, b->n_blocks, sizeof *w->bytes);
    w->is_peak = alqi_cli_realloc(NULL, b->n_blocks, sizeof *w->is_peak);
    w->allocated_bytes = alqi_cli_whole(a->totals[ALQI_CLI_ALLOCATED].bytes);
    w->live_bytes = alqi_cli_whole(a->totals[ALQI_CLI_LIVE].bytes);
    w->peak_bytes = alqi_cli_whole(a->totals[ALQI_CLI_PEAK].bytes);
    for (uint32_t i = 0; i < b->n_blocks; i++)
        w->is_peak[i] = a->epoch > 0 && b->blocks[i].epoch == a->epoch;
    classes_sum(w, classes);
    classes_settle(w, classes);
    for (unsigned k = 0; k < N_CLASSES; k++)
        class_apportion(w, &classes[k], k);
}

void
alqi_cli_whole_blocks_free(struct alqi_cli_whole_blocks *w)
{
    free(w->bytes);
    free(w->is_peak);
}
