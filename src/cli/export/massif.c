/* massif.c -- Massif's text, for ms_print and massif-visualizer
 *
 * Snapshots stand at N_STEPS regular steps, at the peak and at the end; each
 * DETAILED_EVERY-th, the peak and the end tell which callers the bytes belong
 * to, from the allocating function outwards. Births and deaths are replayed in
 * time order (snapshots_put): before an event that lies behind a step, the
 * step's snapshot is written. The tree is made once of all stacks; its figures
 * are filled anew for each detailed snapshot. A node's parent has a smaller
 * number, so one pass from the end sums up the tree. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/blocks.h"
#include "cli/export/stacks.h"
#include "cli/analysis/groups.h"

enum {
    N_STEPS = 80,
    DETAILED_EVERY = 10,
    DEPTH_MOST = 30, /* Massif's own default */
    US_PER_MS = 1000
};

/* Smaller branches are summed up in one line: Massif's own default. */
static const double THRESHOLD = 0.01;

struct branch {
    uint32_t first_child, next; /* 0: none */
    /* of the snapshot that is written, with the children's */
    int64_t bytes;
};

/* One export: the tables made before the replay, and the sums that it moves. */
struct massif {
    const struct alqi_cli_export *export;
    FILE *out;
    struct alqi_cli_export_stacks stacks;
    struct alqi_cli_stacks tree; /* stacks from the innermost frame on */
    uint32_t *leaf_of_stack;     /* node of the tree */
    struct branch *branches;     /* by node */
    struct alqi_cli_whole_blocks whole;
    int64_t *live;                       /* by stack, now */
    int64_t live_bytes, allocated_bytes; /* now, in the replay */
    /* written so far: the number of the next */
    unsigned n_snapshots;
};

/* ---- the tree --------------------------------------------------------- */

/* Frames of a stack from the innermost on that is no allocation wrapper. */
static uint32_t
path_inward(const struct massif *m, uint32_t stack, uint32_t *numbers,
            struct alqi_cli_frame *frames, uint64_t *path)
{
    uint32_t n = alqi_cli_export_stack_frames(&m->stacks, stack, numbers);

    for (uint32_t i = 0; i < n; i++)
        frames[i] = m->stacks.frames[numbers[i]].frame;
    n = alqi_cli_naming_frame(frames, n) + 1;
    for (uint32_t i = 0; i < n; i++)
        path[i] = numbers[n - 1 - i] + 1;
    return n;
}

/* Makes the tree and the children of each node. Linking from the end leaves
 * children in the order of their numbers. */
static void
tree_make(struct massif *m)
{
    uint32_t n = m->stacks.n_stacks;
    uint32_t deepest = m->stacks.deepest;
    uint32_t *numbers = alqi_cli_realloc(NULL, deepest, sizeof *numbers);
    uint64_t *path = alqi_cli_realloc(NULL, deepest, sizeof *path);
    struct alqi_cli_frame *frames =
        alqi_cli_realloc(NULL, deepest, sizeof *frames);

    alqi_cli_stacks_init(&m->tree);
    m->leaf_of_stack = alqi_cli_realloc(NULL, n, sizeof *m->leaf_of_stack);
    for (uint32_t i = 0; i < n; i++)
        m->leaf_of_stack[i] = alqi_cli_stacks_add(
            &m->tree, path, path_inward(m, i, numbers, frames, path));
    m->branches = alqi_cli_zeros(m->tree.n_nodes, sizeof *m->branches);
    for (uint32_t i = m->tree.n_nodes; i-- > 1;) {
        struct branch *parent = &m->branches[m->tree.nodes[i].parent];

        m->branches[i].next = parent->first_child;
        parent->first_child = i;
    }
    free(numbers);
    free(path);
    free(frames);
}

/* by_stack: what each stack has; sums up the tree from its last node on. */
static void
tree_fill(struct massif *m, const int64_t *by_stack)
{
    for (uint32_t i = 0; i < m->tree.n_nodes; i++)
        m->branches[i].bytes = 0;
    for (uint32_t i = 0; i < m->stacks.n_stacks; i++)
        m->branches[m->leaf_of_stack[i]].bytes += by_stack[i];
    for (uint32_t i = m->tree.n_nodes; i-- > 1;) /* parents come before */
        m->branches[m->tree.nodes[i].parent].bytes += m->branches[i].bytes;
}

/* The branch with more bytes first; the number breaks a tie. */
static int
compare(const void *left, const void *right, void *arg)
{
    const struct massif *m = arg;
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;

    if (m->branches[a].bytes != m->branches[b].bytes)
        return m->branches[a].bytes > m->branches[b].bytes ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The children of a node that are shown, largest first, and what the others
 * have. */
struct children {
    /* of malloc: nodes with at least THRESHOLD of the whole */
    uint32_t *shown;
    uint32_t n_shown, n_small;
    /* of the n_small others */
    int64_t small_bytes;
};

/* Fills c; c->shown is to be freed. */
static void
children_find(const struct massif *m, uint32_t node, struct children *c)
{
    uint32_t n = 0;

    for (uint32_t i = m->branches[node].first_child; i != 0;
         i = m->branches[i].next)
        n++;
    c->shown = alqi_cli_realloc(NULL, n, sizeof *c->shown);
    c->n_shown = 0;
    c->n_small = 0;
    c->small_bytes = 0;
    for (uint32_t i = m->branches[node].first_child; i != 0;
         i = m->branches[i].next) {
        int64_t bytes = m->branches[i].bytes;

        if (bytes > 0 &&
            (double)bytes >= THRESHOLD * (double)m->branches[0].bytes) {
            c->shown[c->n_shown++] = i;
        } else if (bytes > 0) {
            c->n_small++;
            c->small_bytes += bytes;
        }
    }
    qsort_r(c->shown, c->n_shown, sizeof *c->shown, compare, (void *)m);
}

/* The node's function and place, to the line's end. */
static void
place_put(const struct massif *m, uint32_t node)
{
    char text[ALQI_CLI_EXPORT_TEXT_MAX];

    alqi_cli_export_frame_text(text, sizeof text, m->export->analysis.names,
                               &m->stacks.frames[m->tree.nodes[node].code - 1]);
    fprintf(m->out, " %s\n", text);
}

/* Writes a node and those below it, one blank deeper each. The root's line is
 * the one that ms_print looks for. */
static void
branch_put(const struct massif *m, uint32_t node, int depth)
{
    struct children c = {NULL, 0, 0, 0};

    if (depth < DEPTH_MOST)
        children_find(m, node, &c);
    fprintf(m->out, "%*sn%" PRIu32 ": %" PRId64, depth, "",
            c.n_shown + (c.n_small > 0), m->branches[node].bytes);
    if (node == 0)
        fputs(" (heap allocation functions) malloc/new/new[], --alloc-fns, "
              "etc.\n",
              m->out);
    else
        place_put(m, node);
    for (uint32_t i = 0; i < c.n_shown; i++)
        branch_put(m, c.shown[i], depth + 1);
    if (c.n_small > 0)
        fprintf(m->out,
                "%*sn0: %" PRId64 " in %" PRIu32
                " place%s, below massif's threshold (%.2f%%)\n",
                depth + 1, "", c.small_bytes, c.n_small,
                c.n_small > 1 ? "s, all" : "", 100 * THRESHOLD);
    free(c.shown);
}

/* ---- snapshots -------------------------------------------------------- */

/* The lines of a snapshot in front of its tree. */
static void
snapshot_put(struct massif *m, uint64_t us, int64_t bytes, const char *tree)
{
    uint64_t time = m->export->time_unit == ALQI_CLI_TIME_BYTES
                        ? (uint64_t)m->allocated_bytes
                        : us / US_PER_MS;

    fprintf(m->out,
            "#-----------\nsnapshot=%u\n#-----------\ntime=%" PRIu64
            "\nmem_heap_B=%" PRId64
            "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
            m->n_snapshots++, time, bytes, tree);
}

static void
snapshot_now(struct massif *m, uint64_t us, bool is_detailed)
{
    snapshot_put(m, us, m->live_bytes, is_detailed ? "detailed" : "empty");
    if (!is_detailed)
        return;
    tree_fill(m, m->live);
    branch_put(m, 0, 0);
}

/* Of the blocks that the report counts, at the peak or at the end.  In the
 * order of events a moment of the peak's microsecond may differ from it; and
 * what processes left that ended early is not there at the end, but never
 * freed. */
static void
snapshot_counted(struct massif *m, bool is_peak)
{
    const struct alqi_cli_whole_blocks *w = &m->whole;
    int64_t *by_stack = alqi_cli_zeros(m->stacks.n_stacks, sizeof *by_stack);

    for (uint32_t i = 0; i < w->n_blocks; i++)
        if (is_peak || w->blocks[i].is_left)
            by_stack[m->stacks.stack_of_site[w->blocks[i].site]] +=
                is_peak ? w->peak_bytes_of[i] : w->bytes[i];
    if (is_peak)
        snapshot_put(m, alqi_cli_peak_us(&m->export->analysis), w->peak_bytes,
                     "peak");
    else
        snapshot_put(m, m->export->analysis.end_us, w->live_bytes, "detailed");
    tree_fill(m, by_stack);
    branch_put(m, 0, 0);
    free(by_stack);
}

/* Moves the sums over one event. */
static void
event_take(struct massif *m, const struct alqi_cli_block_event *e)
{
    const struct alqi_cli_block *b = &m->whole.blocks[e->block];
    int64_t bytes = m->whole.bytes[e->block];

    if (!ALQI_CLI_IS_BIRTH(e))
        bytes = -bytes;
    else
        m->allocated_bytes += bytes;
    m->live_bytes += bytes;
    m->live[m->stacks.stack_of_site[b->site]] += bytes;
}

/* Where step number k of N_STEPS is, in the unit of the time axis. */
static double
step_at(const struct massif *m, unsigned k)
{
    double end = m->export->time_unit == ALQI_CLI_TIME_BYTES
                     ? (double)m->whole.allocated_bytes
                     : (double)m->export->analysis.end_us;

    return end * k / N_STEPS;
}

/* Where an event lies on the time axis; more_bytes are those it allocates. */
static double
position(const struct massif *m, uint64_t us, int64_t more_bytes)
{
    return m->export->time_unit == ALQI_CLI_TIME_BYTES
               ? (double)(m->allocated_bytes + more_bytes)
               : (double)us;
}

/* Replays all events. The peak's snapshot comes before the first event behind
 * the peak's time, and steps that no event reaches come after the last. */
static void
snapshots_put(struct massif *m)
{
    const struct alqi_cli_analysis *a = &m->export->analysis;
    uint32_t n;
    struct alqi_cli_block_event *events =
        alqi_cli_blocks_events(a->options.blocks, &n);
    bool has_peak = m->whole.peak_bytes == 0; /* none to show */
    uint64_t peak_us = alqi_cli_peak_us(a);
    unsigned step = 0;

    for (uint32_t i = 0; i < n; i++) {
        const struct alqi_cli_block_event *e = &events[i];
        int64_t more = ALQI_CLI_IS_BIRTH(e) ? m->whole.bytes[e->block] : 0;

        if (!has_peak && e->us > peak_us) {
            snapshot_counted(m, true);
            has_peak = true;
        }
        for (; step < N_STEPS && position(m, e->us, more) > step_at(m, step);
             step++)
            snapshot_now(m, step == 0 ? 0 : (uint64_t)step_at(m, step),
                         step % DETAILED_EVERY == DETAILED_EVERY - 1);
        event_take(m, e);
    }
    if (!has_peak)
        snapshot_counted(m, true);
    for (; step < N_STEPS && n > 0; step++)
        snapshot_now(m, (uint64_t)step_at(m, step), false);
    snapshot_counted(m, false);
    free(events);
}

/* The header's three lines go out first; readers take the unit of time from
 * there. */
void
alqi_cli_export_massif(struct alqi_cli_export *x, FILE *out)
{
    struct massif m;

    memset(&m, 0, sizeof m);
    m.export = x;
    m.out = out;
    alqi_cli_export_stacks_make(&m.stacks, &x->analysis);
    alqi_cli_whole_blocks_make(&m.whole, &x->analysis);
    m.live = alqi_cli_zeros(m.stacks.n_stacks, sizeof *m.live);
    tree_make(&m);
    fprintf(out, "desc: aliquot " ALQI_VERSION "\ncmd: %s\ntime_unit: %s\n",
            x->program, x->time_unit == ALQI_CLI_TIME_BYTES ? "B" : "ms");
    snapshots_put(&m);
    free(m.live);
    free(m.leaf_of_stack);
    free(m.branches);
    alqi_cli_stacks_free(&m.tree);
    alqi_cli_whole_blocks_free(&m.whole);
    alqi_cli_export_stacks_free(&m.stacks);
}
