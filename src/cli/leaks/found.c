/* found.c -- the trace tells what a block is of, the scan what became of it
 *
 * Blocks are known by their object numbers in both. */
#include "cli/leaks/found.h"

#include <stdlib.h>
#include <string.h>

#include "cli/analysis/groups.h"
#include "cli/tool/cli.h"
#include "view/index.h"

const char *alqi_cli_leak_class_name(enum alqi_cli_leak_class class)
{
    return alqi_view_reach_name((enum alqi_view_reach)(class + ALQI_VIEW_LOST));
}

/* Of a stack without frames everything in the frame is nothing. */
static struct alqi_cli_frame
site_by(struct alqi_cli_leak_found *f, uint32_t node,
        enum alqi_cli_grouping grouping)
{
    struct alqi_cli_frame *frames = NULL, site = {0};
    uint32_t capacity = 0, n;

    n = alqi_cli_stack_frames(&f->analysis, node, &frames, &capacity);
    if (n > 0)
        site = alqi_cli_frame_masked(&frames[alqi_cli_naming_frame(frames, n)],
                                     grouping);
    free(frames);
    return site;
}

struct alqi_cli_frame
alqi_cli_leak_site(struct alqi_cli_leak_found *f, uint32_t node)
{
    return site_by(f, node, ALQI_CLI_BY_FUNCTION);
}

/* ---- rows ---------------------------------------------------------------- */

/* Rows for each class and node, before those of one site are put together. */
struct summing {
    struct alqi_cli_leak_found *found;
    const struct alqi_cli_leak_scan *scan;
    struct alqi_base_map at; /* class and node -> row */
};

static struct alqi_cli_leak_row *
row_of(struct summing *s, enum alqi_cli_leak_class class, uint32_t node)
{
    struct alqi_cli_leak_found *f = s->found;
    bool is_new;
    uint64_t *at =
        alqi_cli_map_at(&s->at, (uint64_t)node << 2 | (unsigned)class, &is_new);

    if (is_new) {
        *at = f->n_rows;
        f->rows = alqi_cli_realloc(f->rows, f->n_rows + 1, sizeof *f->rows);
        f->rows[f->n_rows++] = (struct alqi_cli_leak_row){
            .class = class, .node = node, .largest = UINT32_MAX};
    }
    return &f->rows[*at];
}

void
alqi_cli_leak_found_add(struct alqi_cli_leak_found *f, struct alqi_cli_sum *sum,
                        const struct alqi_cli_life *life)
{
    struct alqi_cli_analysis *a = &f->analysis;
    struct alqi_cli_weight weight =
        alqi_cli_weigh(&a->estimator, life->rate, life->length);

    alqi_cli_sum_add(sum, &weight, (double)(a->end_us - life->time_us),
                     life->n_samples);
}

static void
block_add(void *arg, uint32_t block, const struct alqi_cli_life *life)
{
    struct summing *s = arg;
    struct alqi_cli_leak_found *f = s->found;
    const struct alqi_cli_leak_block *blocks = s->scan->table.blocks;
    enum alqi_cli_leak_class class = s->scan->graph.classes[block];
    uint32_t node = f->analysis.open.sites[life->site].node;
    struct alqi_cli_leak_row *row = row_of(s, class, node);

    alqi_cli_leak_found_add(f, &row->sum, life);
    alqi_cli_leak_found_add(f, &f->totals[class], life);
    if (alqi_cli_leak_is_old(s->scan, block))
        alqi_cli_leak_found_add(f, &f->may_be_old, life);
    if (row->largest == UINT32_MAX ||
        blocks[block].bytes > blocks[row->largest].bytes)
        row->largest = block;
    f->nodes[block] = node + 1;
}

/* By what tells sites apart: there are bytes between a frame's members that
 * mean nothing. */
static int
compare_frames(const struct alqi_cli_frame *a, const struct alqi_cli_frame *b)
{
    const uint32_t of_a[] = {a->function, a->file, a->module};
    const uint32_t of_b[] = {b->function, b->file, b->module};

    return memcmp(of_a, of_b, sizeof of_a);
}

static int
compare_sites(const void *left, const void *right)
{
    const struct alqi_cli_leak_row *a = left, *b = right;
    int by_frame;

    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    by_frame = compare_frames(&a->frame, &b->frame);
    return by_frame != 0       ? by_frame
           : a->node < b->node ? -1
                               : a->node > b->node;
}

static int
compare_bytes(const void *left, const void *right)
{
    const struct alqi_cli_leak_row *a = left, *b = right;

    if (a->class != b->class)
        return a->class < b->class ? -1 : 1;
    if (a->sum.bytes != b->sum.bytes)
        return a->sum.bytes > b->sum.bytes ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Puts the rows of one site together, and gives each the line where its largest
 * block was allocated. */
static void
rows_join(struct alqi_cli_leak_found *f, const struct alqi_cli_leak_scan *s)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < f->n_rows; i++)
        f->rows[i].frame = alqi_cli_leak_site(f, f->rows[i].node);
    if (f->n_rows > 0)
        qsort(f->rows, f->n_rows, sizeof *f->rows, compare_sites);
    for (uint32_t i = 0; i < f->n_rows; i++) {
        struct alqi_cli_leak_row *last = &f->rows[n - (n > 0)],
                                 *row = &f->rows[i];

        if (n == 0 || last->class != row->class ||
            compare_frames(&last->frame, &row->frame) != 0) {
            f->rows[n++] = *row;
            continue;
        }
        alqi_cli_sum_join(&last->sum, &row->sum);
        if (s->table.blocks[row->largest].bytes >
            s->table.blocks[last->largest].bytes) {
            last->largest = row->largest;
            last->node = row->node;
        }
    }
    f->n_rows = n;
    for (uint32_t i = 0; i < n; i++)
        f->rows[i].frame = site_by(f, f->rows[i].node, ALQI_CLI_BY_LINE);
    if (n > 0)
        qsort(f->rows, n, sizeof *f->rows, compare_bytes);
}

/* ---- the trace ----------------------------------------------------------- */

/* Object -> block. */
static void
objects_map(struct alqi_base_map *map, const struct alqi_cli_leak_scan *s)
{
    for (uint32_t i = 0; i < s->table.n; i++)
        if (s->table.blocks[i].id != ALQI_CLI_LEAK_NO_ID &&
            !alqi_base_map_put(map, s->table.blocks[i].id, i))
            alqi_cli_die("leaks: there is no memory");
}

void
alqi_cli_leak_found_read(struct alqi_cli_leak_found *f,
                         struct alqi_cli_input *input)
{
    static const struct alqi_cli_analysis_options options;
    struct alqi_ctf_event event;

    *f = (struct alqi_cli_leak_found){0};
    alqi_cli_analysis_begin(&f->analysis, alqi_cli_input_reader(input),
                            &options);
    f->start_us = alqi_ctf_reader_info(alqi_cli_input_reader(input))->start_us;
    while (alqi_cli_input_next(input, &event))
        alqi_cli_analysis_take(&f->analysis, &event);
}

/* Looks each object up once. */
static void
blocks_find(struct alqi_cli_leak_found *f, const struct alqi_cli_leak_scan *s)
{
    const struct alqi_cli_objects *objects = &f->analysis.objects;
    struct alqi_base_map map = {0};
    uint64_t id, block;
    size_t at = 0;

    objects_map(&map, s);
    while (alqi_cli_objects_next(objects, &at, &id) != NULL) {
        bool is_found = alqi_base_map_get(&map, id, &block);

        if ((f->n_blocks & (f->n_blocks - 1)) == 0)
            f->blocks = alqi_cli_realloc(f->blocks, 2 * f->n_blocks + 1,
                                         sizeof *f->blocks);
        f->blocks[f->n_blocks++] = is_found ? (uint32_t)block + 1 : 0;
        f->n_elsewhere += !is_found;
    }
    alqi_base_map_clear(&map);
}

void
alqi_cli_leak_found_each(struct alqi_cli_leak_found *f,
                         alqi_cli_leak_block_fn *each, void *arg)
{
    const struct alqi_cli_objects *objects = &f->analysis.objects;
    const struct alqi_cli_object *object;
    uint64_t id;
    size_t at = 0;

    for (size_t i = 0; i < f->n_blocks; i++) {
        struct alqi_cli_life life;

        object = alqi_cli_objects_next(objects, &at, &id);
        if (f->blocks[i] == 0)
            continue;
        alqi_cli_objects_read(objects, id, object, &life);
        each(arg, f->blocks[i] - 1, &life);
    }
}

void
alqi_cli_leak_found_sum(struct alqi_cli_leak_found *f,
                        const struct alqi_cli_leak_scan *s)
{
    struct summing summing = {.found = f, .scan = s};

    f->nodes = alqi_cli_zeros(s->table.n + 1, sizeof *f->nodes);
    blocks_find(f, s);
    alqi_cli_leak_found_each(f, block_add, &summing);
    rows_join(f, s);
    alqi_base_map_clear(&summing.at);
}

void
alqi_cli_leak_found_free(struct alqi_cli_leak_found *f)
{
    alqi_cli_analysis_free(&f->analysis);
    free(f->rows);
    free(f->nodes);
    free(f->blocks);
}
