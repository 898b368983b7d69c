/* rows.c -- the most of many, and one walk for leaves and sizes        [rows.h]
 */
#include "cli/heap/rows.h"

#include <stdlib.h>
#include <string.h>

#include "cli/heap/facts.h"
#include "cli/tool/cli.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum { NEAR = 3 };

/* ---- the most ------------------------------------------------------------ */

/* By words, then by number: any order of offers gives the same rows. */
static bool
is_before(const struct alqi_cli_heap_row *a, const struct alqi_cli_heap_row *b)
{
    return a->words != b->words ? a->words > b->words : a->number < b->number;
}

void
alqi_cli_heap_rows_offer(struct alqi_cli_heap_rows *rows,
                         const struct alqi_cli_heap_row *row)
{
    uint32_t at = rows->n;

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

static void
rows_begin(struct alqi_cli_heap_rows *rows, uint64_t most)
{
    memset(rows, 0, sizeof *rows);
    rows->most = most == 0 || most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

/* ---- rows ---------------------------------------------------------------- */

static struct alqi_cli_heap_row
node_row(const struct alqi_cli_heap_snapshot *s, uint32_t order)
{
    struct alqi_cli_heap_row row = {.number = s->node_of[order],
                                    .words = s->words[order],
                                    .n_retained = s->n_retained[order],
                                    .kind = s->kind_of[order]};

    if (!alqi_cli_heap_is_holder(s, row.number))
        row.address = alqi_cli_heap_address(&s->addresses, row.number);
    return row;
}

static struct alqi_cli_heap_row
leaf_row(uint32_t number, const struct alqi_dump_block_read *block)
{
    return (struct alqi_cli_heap_row){.number = number,
                                      .address = block->address,
                                      .own_words = block->wosize + 1,
                                      .words = block->wosize + 1,
                                      .n_retained = 1,
                                      .kind = alqi_cli_heap_kind_number(block)};
}

/* Own words of the blocks that are no leaves: one walk for all rows. */
static void
own_fill(struct alqi_cli_heap_rows *rows, uint32_t n_rows,
         const struct alqi_cli_heap_snapshot *s)
{
    struct alqi_cli_heap_facts facts = {0};

    for (uint32_t k = 0; k < n_rows; k++)
        for (uint32_t i = 0; i < rows[k].n; i++)
            if (rows[k].rows[i].address != 0 && rows[k].rows[i].own_words == 0)
                alqi_cli_heap_facts_want(&facts, rows[k].rows[i].number);
    alqi_cli_heap_facts_fill(&facts, s);
    for (uint32_t k = 0; k < n_rows; k++)
        for (uint32_t i = 0; i < rows[k].n; i++)
            if (rows[k].rows[i].own_words == 0)
                rows[k].rows[i].own_words =
                    alqi_cli_heap_facts_of(&facts, rows[k].rows[i].number)
                        .words;
    alqi_cli_heap_facts_free(&facts);
}

void
alqi_cli_heap_rows_holders(struct alqi_cli_heap_rows *rows,
                           struct alqi_cli_heap_snapshot *s, uint64_t most)
{
    rows_begin(rows, most);
    for (uint32_t i = 0; i < s->n_holders; i++) {
        struct alqi_cli_heap_row row =
            node_row(s, s->graph.order[s->graph.n_blocks + i]);

        alqi_cli_heap_rows_offer(rows, &row);
    }
}

/* ---- the biggest blocks -------------------------------------------------- */

/* A node that goes on with what one of its holders of the same kind holds. */
static bool
is_continued(const struct alqi_cli_heap_snapshot *s, uint32_t order,
             uint64_t words, uint16_t kind)
{
    uint32_t above = order;

    for (unsigned i = 0; i < NEAR; i++) {
        if (above == 0 || s->node_of[above] >= s->graph.n_blocks)
            return false;
        if (s->kind_of[above] == kind)
            return words > s->words[above] / 2;
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

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        struct alqi_cli_heap_row row;
        uint32_t number;

        if (alqi_dump_has_edge(&walk.d))
            continue;
        number = alqi_cli_heap_find(&s->addresses, block.address);
        if (!alqi_cli_heap_is_leaf(number) ||
            alqi_cli_heap_dominator(s, number) == NOTHING)
            continue;
        row = leaf_row(number, &block);
        alqi_cli_heap_rows_offer(rows, &row);
    }
}

void
alqi_cli_heap_rows_blocks(struct alqi_cli_heap_rows *rows,
                          struct alqi_cli_heap_snapshot *s, uint64_t most)
{
    rows_begin(rows, most);
    for (uint32_t v = 1; v < s->graph.n_reached; v++) {
        struct alqi_cli_heap_row row = {.number = s->node_of[v],
                                        .words = s->words[v]};

        if (alqi_cli_heap_is_holder(s, row.number) ||
            is_continued(s, s->graph.idom[v], s->words[v], s->kind_of[v]))
            continue;
        if (rows->n < rows->most || is_before(&row, &rows->rows[rows->n - 1]))
            row = node_row(s, v);
        alqi_cli_heap_rows_offer(rows, &row);
    }
    leaves_offer(rows, s);
    own_fill(rows, 1, s);
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

    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t number, i;

        if (alqi_dump_has_edge(&walk.d))
            continue;
        number = alqi_cli_heap_find(&s->addresses, block.address);
        if (!alqi_cli_heap_is_leaf(number))
            continue;
        i = parent_find(parents, n, alqi_cli_heap_dominator(s, number));
        if (i < n) {
            struct alqi_cli_heap_row row = leaf_row(number, &block);

            alqi_cli_heap_rows_offer(&rows[i], &row);
        }
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
    own_fill(rows, n, s);
}

uint32_t
alqi_cli_heap_row_above(const struct alqi_cli_heap_snapshot *s, uint32_t number)
{
    return s->node_of[alqi_cli_heap_dominator(s, number)];
}
