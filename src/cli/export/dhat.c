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

enum {
    TOTAL_BYTES,
    TOTAL_BLOCKS,
    LIFE_US,
    PEAK_BYTES,
    PEAK_BLOCKS,
    END_BYTES,
    END_BLOCKS,
    N_COLUMNS
};

/* What the columns are of: a field of a measure's sums. */
static const struct {
    enum alqi_cli_measure measure;
    size_t field;
} column_list[N_COLUMNS] = {
    [TOTAL_BYTES] = {ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(bytes)},
    [TOTAL_BLOCKS] = {ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(objects)},
    [LIFE_US] = {ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(life_us)},
    [PEAK_BYTES] = {ALQI_CLI_PEAK, ALQI_CLI_FIELD(bytes)},
    [PEAK_BLOCKS] = {ALQI_CLI_PEAK, ALQI_CLI_FIELD(objects)},
    [END_BYTES] = {ALQI_CLI_LIVE, ALQI_CLI_FIELD(bytes)},
    [END_BLOCKS] = {ALQI_CLI_LIVE, ALQI_CLI_FIELD(objects)},
};

/* Everything that is written of stacks, by stack. */
struct columns {
    int64_t *of[N_COLUMNS];
    struct height *heights;
};

/* Replays births and deaths in time order and keeps the highest sum of each
 * stack. */
static struct height *
heights_make(const struct alqi_cli_export *x,
             const struct alqi_cli_export_stacks *s)
{
    struct height *heights = alqi_cli_zeros(s->n_stacks, sizeof *heights);
    uint32_t n;
    struct alqi_cli_block_event *events =
        alqi_cli_blocks_events(x->analysis.options.blocks, &n);

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

    fprintf(out,
            "{\"tb\":%" PRId64 ",\"tbk\":%" PRId64 ",\"tl\":%" PRId64
            ",\"mb\":%" PRId64 ",\"mbk\":%" PRId64 ",\"gb\":%" PRId64
            ",\"gbk\":%" PRId64 ",\"eb\":%" PRId64 ",\"ebk\":%" PRId64
            ",\"fs\":",
            c->of[TOTAL_BYTES][i], c->of[TOTAL_BLOCKS][i], c->of[LIFE_US][i],
            most(c->heights[i].most_bytes, c->of[PEAK_BYTES][i],
                 c->of[END_BYTES][i]),
            most(c->heights[i].most_objects, c->of[PEAK_BLOCKS][i],
                 c->of[END_BLOCKS][i]),
            c->of[PEAK_BYTES][i], c->of[PEAK_BLOCKS][i], c->of[END_BYTES][i],
            c->of[END_BLOCKS][i]);
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
    for (int k = 0; k < N_COLUMNS; k++)
        c.of[k] = alqi_cli_export_stack_column(
            &s, &x->analysis, column_list[k].measure, column_list[k].field);
    c.heights = heights_make(x, &s);
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
    for (int k = 0; k < N_COLUMNS; k++)
        free(c.of[k]);
    free(c.heights);
    alqi_cli_export_stacks_free(&s);
}
