/* rows.c -- the most of many, and one walk for leaves and sizes        [rows.h]
 */
#include "cli/heap/rows.h"

#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum { NEAR = 3 };

/* ---- the most ------------------------------------------------------------ */

/* By words, then by order or address: whatever is offered first, the rows are
 * the same. */
static bool
is_before(const struct alqi_cli_heap_row *a, const struct alqi_cli_heap_row *b)
{
    if (a->words != b->words)
        return a->words > b->words;
    return a->order != b->order ? a->order < b->order
                                : a->is.address < b->is.address;
}

void
alqi_cli_heap_rows_offer(struct alqi_cli_heap_rows *rows,
                         const struct alqi_cli_heap_row *row)
{
    uint32_t at = rows->n;

    if (row->words < rows->least_words) {
        rows->n_left_out++;
        return;
    }
    if (rows->n == rows->most) {
        rows->n_left_out++;
        if (rows->n == 0 || !is_before(row, &rows->rows[rows->n - 1]))
            return;
        at--;
    } else {
        rows->rows = alqi_cli_grow(rows->rows, rows->n, sizeof *rows->rows);
        rows->n++;
    }
    for (; at > 0 && is_before(row, &rows->rows[at - 1]); at--)
        rows->rows[at] = rows->rows[at - 1];
    rows->rows[at] = *row;
}

void
alqi_cli_heap_rows_free(struct alqi_cli_heap_rows *rows)
{
    free(rows->rows);
    memset(rows, 0, sizeof *rows);
}

void
alqi_cli_heap_rows_begin(struct alqi_cli_heap_rows *rows, uint64_t most)
{
    memset(rows, 0, sizeof *rows);
    rows->most = most == 0 || most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

/* ---- rows ---------------------------------------------------------------- */

static struct alqi_cli_heap_row
node_row(const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    return (struct alqi_cli_heap_row){.order = order,
                                      .above = s->graph.idom[order],
                                      .words = alqi_cli_heap_words(s, order),
                                      .n_blocks = s->sizes[order].n_blocks};
}

/* False: the walk's block is no leaf, or nobody holds it. */
static bool
leaf_row(const struct alqi_cli_heap_snapshot *s,
         const struct alqi_cli_heap_walk *walk,
         const struct alqi_dump_block_read *block,
         struct alqi_cli_heap_row *row)
{
    uint32_t number;

    if (alqi_dump_has_edge(&walk->d))
        return false;
    number = alqi_cli_heap_find(&s->addresses, block->address);
    if (!alqi_cli_heap_is_leaf(number))
        return false;
    *row = (struct alqi_cli_heap_row){
        .order = NOTHING,
        .above = alqi_cli_heap_dominator(s, number),
        .words = block->wosize + 1,
        .n_blocks = 1,
        .is = {number, block->address, block->wosize + 1,
               alqi_cli_heap_kind_number(block)}};
    return row->above != NOTHING;
}

void
alqi_cli_heap_rows_want(const struct alqi_cli_heap_rows *rows,
                        struct alqi_cli_heap_facts *facts)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->rows[i].order != NOTHING)
            alqi_cli_heap_facts_want(facts, rows->rows[i].order);
}

void
alqi_cli_heap_rows_know(struct alqi_cli_heap_rows *rows,
                        const struct alqi_cli_heap_facts *facts,
                        const struct alqi_cli_heap_snapshot *s)
{
    for (uint32_t i = 0; i < rows->n; i++)
        if (rows->rows[i].order != NOTHING)
            rows->rows[i].is =
                alqi_cli_heap_fact_of(facts, s, rows->rows[i].order);
}

void
alqi_cli_heap_rows_holders(struct alqi_cli_heap_rows *rows,
                           struct alqi_cli_heap_snapshot *s, uint64_t most)
{
    alqi_cli_heap_rows_begin(rows, most);
    for (uint32_t i = 0; i < s->n_holders; i++) {
        struct alqi_cli_heap_row row =
            node_row(s, s->graph.order[s->graph.n_blocks + i]);

        alqi_cli_heap_rows_offer(rows, &row);
    }
}

/* ---- the biggest blocks -------------------------------------------------- */

/* A node that goes on with what one of its holders of the same kind holds. */
static bool
is_continued(const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    uint32_t above = s->graph.idom[order];

    for (unsigned i = 0; i < NEAR && !alqi_cli_heap_is_holder(s, above); i++) {
        if (s->sizes[above].kind == s->sizes[order].kind)
            return alqi_cli_heap_words(s, order) >
                   alqi_cli_heap_words(s, above) / 2;
        above = s->graph.idom[above];
    }
    return false;
}

static void
leaves_offer(struct alqi_cli_heap_rows *rows,
             const struct alqi_cli_heap_snapshot *s)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    struct alqi_cli_heap_row row;

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        if (leaf_row(s, &walk, &block, &row))
            alqi_cli_heap_rows_offer(rows, &row);
}

void
alqi_cli_heap_rows_blocks(struct alqi_cli_heap_rows *rows,
                          struct alqi_cli_heap_snapshot *s, uint64_t most)
{
    alqi_cli_heap_rows_begin(rows, most);
    for (uint32_t v = 1; v < s->graph.n_reached; v++)
        if (!alqi_cli_heap_is_holder(s, v) && !is_continued(s, v)) {
            struct alqi_cli_heap_row row = node_row(s, v);

            alqi_cli_heap_rows_offer(rows, &row);
        }
    leaves_offer(rows, s);
}

/* ---- what lies below ----------------------------------------------------- */

/* The place of a parent in the list; n: it is not there. */
static uint32_t
parent_find(const uint32_t *parents, uint32_t n, uint32_t parent)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (parents[middle] < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && parents[low] == parent ? low : n;
}

static void
leaves_below(struct alqi_cli_heap_rows *rows,
             const struct alqi_cli_heap_snapshot *s, const uint32_t *parents,
             uint32_t n)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    struct alqi_cli_heap_row row;

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        if (leaf_row(s, &walk, &block, &row)) {
            uint32_t i = parent_find(parents, n, row.above);

            if (i < n)
                alqi_cli_heap_rows_offer(&rows[i], &row);
        }
}

void
alqi_cli_heap_rows_below(struct alqi_cli_heap_rows *rows,
                         struct alqi_cli_heap_snapshot *s,
                         const uint32_t *parents, uint32_t n)
{
    for (uint32_t v = 1; v < s->graph.n_reached; v++) {
        uint32_t i = parent_find(parents, n, s->graph.idom[v]);

        if (i < n) {
            struct alqi_cli_heap_row row = node_row(s, v);

            alqi_cli_heap_rows_offer(&rows[i], &row);
        }
    }
    leaves_below(rows, s, parents, n);
}

/* ---- a whole tree -------------------------------------------------------- */

struct deep {
    struct alqi_cli_heap_deep *rows;
    uint32_t n;
    uint64_t depth, least_words;
    uint32_t *of_order; /* number of its row + 1; 0: it has none */
};

/* A row whose holder may be in the tree; its number + 1, or 0: it is not. */
static uint32_t
deep_offer(struct deep *d, const struct alqi_cli_heap_row *row)
{
    uint32_t parent = d->of_order[row->above];

    if (parent == 0 || d->rows[parent - 1].depth == d->depth)
        return 0;
    if (row->words < d->least_words) {
        d->rows[parent - 1].n_left_out++;
        return 0;
    }
    d->rows = alqi_cli_grow(d->rows, d->n, sizeof *d->rows);
    d->rows[d->n] =
        (struct alqi_cli_heap_deep){.row = *row,
                                    .number = d->n,
                                    .parent = parent - 1,
                                    .depth = d->rows[parent - 1].depth + 1};
    return ++d->n;
}

static int
deep_compare(const void *left, const void *right)
{
    const struct alqi_cli_heap_deep *a = left, *b = right;

    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    return a->number == b->number        ? 0
           : a->number == 0              ? -1
           : b->number == 0              ? 1
           : is_before(&a->row, &b->row) ? -1
                                         : 1;
}

/* A dominator's order is smaller than those of what it dominates, so it has its
 * row before they come. */
uint32_t
alqi_cli_heap_rows_deep(struct alqi_cli_heap_snapshot *s,
                        const struct alqi_cli_heap_row *root, uint64_t depth,
                        uint64_t least_words, struct alqi_cli_heap_deep **rows)
{
    struct deep d = {.n = 1, .depth = depth, .least_words = least_words};
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    struct alqi_cli_heap_row row;

    d.rows = alqi_cli_grow(NULL, 0, sizeof *d.rows);
    d.rows[0] = (struct alqi_cli_heap_deep){.row = *root};
    d.of_order = alqi_cli_zeros(s->graph.n_reached, sizeof *d.of_order);
    d.of_order[root->order] = 1;
    for (uint32_t v = root->order + 1; v < s->graph.n_reached; v++) {
        row = node_row(s, v);
        d.of_order[v] = deep_offer(&d, &row);
    }
    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        if (leaf_row(s, &walk, &block, &row))
            deep_offer(&d, &row);
    free(d.of_order);
    qsort(d.rows, d.n, sizeof *d.rows, deep_compare);
    *rows = d.rows;
    return d.n;
}
