/* dhat.c -- DHAT's JSON, version 2, as dh_view.html reads it
 *
 * One program point a stack.  Its own maximum comes from replaying the blocks;
 * the rest are sums of the analysis.  The viewer's time unit is the
 * microsecond. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/tool/json.h"
#include "cli/export/stacks.h"

enum { SHORT_LIVED_US = 500 };

/* What is alive of one stack, and the most that ever was. */
struct height {
    double bytes, objects;           /* now, in the replay */
    double most_bytes, most_objects; /* blocks at the time of most bytes */
};

struct columns {
    /* of all blocks; lives in microseconds */
    int64_t *total_bytes, *total_blocks, *life_us;
    /* of what is live at the peak */
    int64_t *peak_bytes, *peak_blocks;
    /* of what is live at the end */
    int64_t *end_bytes, *end_blocks;
    struct height *heights;
};

/* Replays births and deaths in time order and keeps the highest sum of each
 * stack. */
static struct height *
heights_make(const struct alqi_cli_export *x,
             const struct alqi_cli_export_stacks *s)
{
    struct height *heights =
        alqi_cli_realloc(NULL, s->n_stacks, sizeof *heights);
    uint32_t n;
    struct alqi_cli_block_event *events =
        alqi_cli_blocks_events(x->analysis.options.blocks, &n);

    memset(heights, 0, s->n_stacks * sizeof *heights);
    for (uint32_t i = 0; i < n; i++) {
        const struct alqi_cli_block *b =
            &x->analysis.options.blocks->blocks[events[i].block];
        struct height *h = &heights[s->stack_of_site[b->site]];
        int sign = ALQI_CLI_IS_BIRTH(&events[i]) ? 1 : -1;

        h->bytes += sign * b->bytes;
        h->objects += sign * b->objects;
        if (h->bytes > h->most_bytes) {
            h->most_bytes = h->bytes;
            h->most_objects = h->objects;
        }
    }
    free(events);
    return heights;
}

/* The sum of lives of each stack's blocks in microseconds, apportioned to the
 * total. */
static int64_t *
lives_make(const struct alqi_cli_export *x,
           const struct alqi_cli_export_stacks *s)
{
    double *parts = alqi_cli_realloc(NULL, s->n_stacks, sizeof *parts);
    int64_t *out = alqi_cli_realloc(NULL, s->n_stacks, sizeof *out);

    for (uint32_t i = 0; i < s->n_stacks; i++)
        parts[i] = s->stacks[i].sums[ALQI_CLI_ALLOCATED].life_us;
    alqi_cli_apportion(
        out, parts, s->n_stacks,
        alqi_cli_whole(x->analysis.totals[ALQI_CLI_ALLOCATED].life_us));
    free(parts);
    return out;
}

/* Everything that is written of stacks, by stack; freed by columns_free(). */
static void
columns_make(struct columns *c, const struct alqi_cli_export *x,
             const struct alqi_cli_export_stacks *s)
{
    const struct alqi_cli_analysis *a = &x->analysis;

    c->total_bytes = alqi_cli_export_stack_bytes(s, a, ALQI_CLI_ALLOCATED);
    c->total_blocks = alqi_cli_export_stack_objects(s, a, ALQI_CLI_ALLOCATED);
    c->life_us = lives_make(x, s);
    c->peak_bytes = alqi_cli_export_stack_bytes(s, a, ALQI_CLI_PEAK);
    c->peak_blocks = alqi_cli_export_stack_objects(s, a, ALQI_CLI_PEAK);
    c->end_bytes = alqi_cli_export_stack_bytes(s, a, ALQI_CLI_LIVE);
    c->end_blocks = alqi_cli_export_stack_objects(s, a, ALQI_CLI_LIVE);
    c->heights = heights_make(x, s);
}

static void
columns_free(struct columns *c)
{
    free(c->total_bytes);
    free(c->total_blocks);
    free(c->life_us);
    free(c->peak_bytes);
    free(c->peak_blocks);
    free(c->end_bytes);
    free(c->end_blocks);
    free(c->heights);
}

/* A maximum, rounded; not less than what was there at two moments, which
 * apportioning may have rounded up. */
static int64_t
most(double maximum, int64_t at_peak, int64_t at_end)
{
    int64_t m = alqi_cli_whole(maximum);

    if (m < at_peak)
        m = at_peak;
    return m < at_end ? at_end : m;
}

/* One program point. Frame 0 of DHAT's table is the root, so ours are one
 * higher. */
static void
point_put(const struct columns *c, const struct alqi_cli_export_stacks *s,
          uint32_t i, uint32_t *frames, FILE *out)
{
    uint32_t n = alqi_cli_export_stack_frames(s, i, frames);

    fprintf(
        out,
        "{\"tb\":%" PRId64 ",\"tbk\":%" PRId64 ",\"tl\":%" PRId64
        ",\"mb\":%" PRId64 ",\"mbk\":%" PRId64 ",\"gb\":%" PRId64
        ",\"gbk\":%" PRId64 ",\"eb\":%" PRId64 ",\"ebk\":%" PRId64 ",\"fs\":",
        c->total_bytes[i], c->total_blocks[i], c->life_us[i],
        most(c->heights[i].most_bytes, c->peak_bytes[i], c->end_bytes[i]),
        most(c->heights[i].most_objects, c->peak_blocks[i], c->end_blocks[i]),
        c->peak_bytes[i], c->peak_blocks[i], c->end_bytes[i], c->end_blocks[i]);
    for (uint32_t k = n; k-- > 0;) /* innermost first; 0 is the root */
        fprintf(out, "%c%" PRIu32, k + 1 == n ? '[' : ',', frames[k] + 1);
    fputs("]}", out);
}

/* The object up to its list of program points: mode, units, times. */
static void
head_put(const struct alqi_cli_export *x, FILE *out)
{
    const struct alqi_cli_analysis *a = &x->analysis;

    fputs("{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\n"
          "\"bklt\":true,\"bkacc\":false,\"tu\":\"\u00b5s\",\"Mtu\":\"s\",",
          out);
    fprintf(out, "\"tuth\":%d,\n\"cmd\":", SHORT_LIVED_US);
    alqi_cli_json_text(out, x->program);
    fprintf(out,
            ",\"pid\":%" PRIu64 ",\"tg\":%" PRIu64 ",\"te\":%" PRIu64
            ",\n\"pps\":[",
            a->info->pid, alqi_cli_peak_us(a), a->end_us);
}

/* The frames come last: they are known only when all stacks are written. */
void
alqi_cli_export_dhat(struct alqi_cli_export *x, FILE *out)
{
    struct alqi_cli_export_stacks s;
    struct columns c;
    uint32_t *frames;

    alqi_cli_export_stacks_make(&s, &x->analysis);
    columns_make(&c, x, &s);
    frames = alqi_cli_realloc(NULL, s.deepest, sizeof *frames);
    head_put(x, out);
    for (uint32_t i = 0; i < s.n_stacks; i++) {
        fputs(i > 0 ? ",\n" : "", out);
        point_put(&c, &s, i, frames, out);
    }
    fputs("],\n\"ftbl\":[\"[root]\"", out);
    for (uint32_t i = 0; i < s.n_frames; i++) {
        char text[ALQI_CLI_EXPORT_TEXT_MAX];

        alqi_cli_export_frame_text(text, sizeof text, x->analysis.names,
                                   &s.frames[i]);
        fputs(",\n", out);
        alqi_cli_json_text(out, text);
    }
    fputs("]}\n", out);
    free(frames);
    columns_free(&c);
    alqi_cli_export_stacks_free(&s);
}
