/* tree.c -- aliquot heap --tree: blocks below what holds them alone
 *                                               [doc/design/heap-snapshot]
 *
 * Level by level: one look over all nodes, and one walk over the leaves, finds
 * the biggest of each level's parents.  Where no number of them is asked for
 * but a least size, one look finds all levels. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap/chain.h"
#include "cli/heap/print.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum { USED = ALQI_CLI_HEAP_BYTES + ALQI_CLI_HEAP_BLOCKS + 2, STEP = 2 };

/* A row and what it holds. */
struct node {
    struct alqi_cli_heap_row row;
    struct node *below;
    uint32_t n_below;
    uint64_t n_left_out;
};

struct tree {
    struct alqi_cli_heap_run *run;
    struct node **level; /* that have orders, ascending */
    uint32_t n_level;
    uint64_t least_words; /* what has less is not listed */
    struct alqi_cli_heap_facts facts;
};

static int
node_compare(const void *a, const void *b)
{
    const struct node *x = *(struct node *const *)a;
    const struct node *y = *(struct node *const *)b;

    return (x->row.order > y->row.order) - (x->row.order < y->row.order);
}

/* The rows become nodes below their parent; those with orders, the next level.
 */
static void
node_take(struct tree *t, struct node *parent, struct alqi_cli_heap_rows *rows,
          struct node ***next, uint32_t *n_next)
{
    parent->n_below = rows->n;
    parent->n_left_out = rows->n_left_out;
    parent->below = alqi_cli_zeros(rows->n + 1, sizeof *parent->below);
    alqi_cli_heap_rows_want(rows, &t->facts);
    for (uint32_t i = 0; i < rows->n; i++) {
        parent->below[i].row = rows->rows[i];
        if (rows->rows[i].order == NOTHING)
            continue;
        *next = alqi_cli_grow(*next, *n_next, sizeof **next);
        (*next)[(*n_next)++] = &parent->below[i];
    }
}

static void
level_expand(struct tree *t)
{
    uint32_t n = t->n_level, n_next = 0;
    struct alqi_cli_heap_rows *rows = alqi_cli_zeros(n + 1, sizeof *rows);
    uint32_t *orders = alqi_cli_zeros(n + 1, sizeof *orders);
    struct node **next = NULL;

    for (uint32_t i = 0; i < n; i++) {
        orders[i] = t->level[i]->row.order;
        alqi_cli_heap_rows_begin(&rows[i], t->run->top);
        rows[i].least_words = t->least_words;
    }
    alqi_cli_heap_rows_below(rows, &t->run->snapshot, orders, n);
    for (uint32_t i = 0; i < n; i++) {
        node_take(t, t->level[i], &rows[i], &next, &n_next);
        alqi_cli_heap_rows_free(&rows[i]);
    }
    free(rows);
    free(orders);
    free(t->level);
    t->level = next;
    t->n_level = n_next;
    if (n_next > 0)
        qsort(next, n_next, sizeof(struct node *), node_compare);
}

/* For a server, which lists all that is large enough: rows become nodes in
 * their order, so that a parent is there before its first child. */
static void
all_expand(struct tree *t, struct node *root)
{
    struct alqi_cli_heap_deep *rows;
    uint32_t n = alqi_cli_heap_rows_deep(&t->run->snapshot, &root->row,
                                         t->run->depth, t->least_words, &rows);
    struct node **of_number = alqi_cli_zeros(n, sizeof(struct node *));

    of_number[0] = root;
    root->n_left_out = rows[0].n_left_out;
    for (uint32_t i = 1, end; i < n; i = end) {
        struct node *parent = of_number[rows[i].parent];

        for (end = i; end < n && rows[end].parent == rows[i].parent;)
            end++;
        parent->n_below = end - i;
        parent->below = alqi_cli_zeros(end - i, sizeof *parent->below);
        for (uint32_t k = i; k < end; k++) {
            struct node *node = &parent->below[k - i];

            node->row = rows[k].row;
            node->n_left_out = rows[k].n_left_out;
            of_number[rows[k].number] = node;
            if (node->row.order != NOTHING)
                alqi_cli_heap_facts_want(&t->facts, node->row.order);
        }
    }
    free(of_number);
    free(rows);
}

/* The root of all is nothing to be known. */
static void
node_know(struct tree *t, struct node *node)
{
    if (node->row.order != NOTHING && node->row.order != 0)
        node->row.is = alqi_cli_heap_fact_of(&t->facts, &t->run->snapshot,
                                             node->row.order);
    for (uint32_t i = 0; i < node->n_below; i++)
        node_know(t, &node->below[i]); /* as deep as --depth, 64 at most */
}

static void
nodes_free(struct node *node)
{
    for (uint32_t i = 0; i < node->n_below; i++)
        nodes_free(&node->below[i]);
    free(node->below);
}

/* ---- output -------------------------------------------------------------- */

static void
nodes_print(struct tree *t, const struct node *node, int indent)
{
    const struct alqi_cli_term *term = &t->run->term;
    char text[ALQI_CLI_HEAP_TEXT];

    for (uint32_t i = 0; i < node->n_below; i++) {
        const struct node *below = &node->below[i];

        alqi_cli_heap_figures(term, below->row.words, below->row.n_blocks);
        fprintf(term->out, "  %*s", indent, "");
        alqi_cli_heap_fact_text(&t->run->snapshot, &below->row.is, text,
                                sizeof text);
        alqi_cli_heap_rest(term, indent == 0 ? ALQI_CLI_BOLD : ALQI_CLI_PLAIN,
                           USED + indent, text);
        nodes_print(t, below, indent + STEP);
    }
    if (node->n_left_out > 0)
        fprintf(term->out, "%*s%" PRIu64 " more (--top=0 shows all)\n",
                USED + indent, "", node->n_left_out);
}

/* A root or a block, with all below it that is listed. */
static json_t *
node_json(struct tree *t, const struct node *node)
{
    const struct alqi_cli_heap_row *row = &node->row;
    json_t *one = json_object(), *below = json_array();
    char text[ALQI_CLI_HEAP_TEXT];

    alqi_cli_json_count(one, "retained_bytes", row->words * 8);
    alqi_cli_json_count(one, "retained_blocks", row->n_blocks);
    if (row->is.address != 0) {
        alqi_cli_heap_block_json(&t->run->snapshot, &row->is, one);
    } else {
        alqi_cli_heap_fact_text(&t->run->snapshot, &row->is, text, sizeof text);
        alqi_cli_json_set(one, "root", json_string(text));
    }
    alqi_cli_json_count(one, "left_out", node->n_left_out);
    for (uint32_t i = 0; i < node->n_below; i++)
        json_array_append_new(below, node_json(t, &node->below[i]));
    alqi_cli_json_set(one, "below", below);
    return one;
}

/* What is below the root of all has no object of its own around it. */
static json_t *
tree_json(struct tree *t, const struct node *root)
{
    json_t *to = alqi_cli_heap_head_json(t->run), *nodes;

    if (root->row.order != 0) {
        nodes = json_array();
        json_array_append_new(nodes, node_json(t, root));
        alqi_cli_json_set(to, "tree", nodes);
        return to;
    }
    nodes = json_array();
    for (uint32_t i = 0; i < root->n_below; i++)
        json_array_append_new(nodes, node_json(t, &root->below[i]));
    alqi_cli_json_set(to, "tree", nodes);
    alqi_cli_json_count(to, "left_out", root->n_left_out);
    return to;
}

static void
tree_show(struct tree *t, const struct node *root)
{
    struct node all = {.below = (struct node *)(uintptr_t)root, .n_below = 1};

    if (t->run->is_json) {
        alqi_cli_heap_json_end(t->run, tree_json(t, root));
        return;
    }
    alqi_cli_heap_head(t->run);
    alqi_cli_heap_title(&t->run->term, "TREE",
                        "of what goes with each: roots, and blocks that "
                        "several roots lead to; below them what they hold");
    alqi_cli_heap_heads(&t->run->term, "root or block");
    nodes_print(t, root->row.order != 0 ? &all : root, 0);
}

/* ---- the root of the tree ------------------------------------------------ */

/* The order of a root by its name; NOTHING: no root has it. */
static uint32_t
holder_find(const struct alqi_cli_heap_snapshot *s, const char *name)
{
    for (uint32_t i = 0; i < s->n_holders; i++)
        if (strcmp(alqi_cli_heap_holder_name(s, i), name) == 0)
            return s->graph.order[s->graph.n_blocks + i];
    return NOTHING;
}

/* The block at an address as a row of its own; a leaf has no order. False: no
 * block begins there, or it is garbage. */
static bool
block_find(const struct alqi_cli_heap_snapshot *s, const char *text,
           struct alqi_cli_heap_row *row)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    char *end;
    uint64_t address = strtoull(text, &end, 16);
    uint32_t number = alqi_cli_heap_find(&s->addresses, address);

    if (*end != '\0' || number == NOTHING ||
        alqi_cli_heap_dominator(s, number) == NOTHING)
        return false;
    if (!alqi_cli_heap_is_leaf(number)) {
        row->order = s->graph.order[number];
        return true;
    }
    alqi_cli_heap_walk_begin(&walk, &s->file);
    while (alqi_cli_heap_walk_block(&walk, &block))
        if (block.address == address)
            break;
    *row =
        (struct alqi_cli_heap_row){.order = NOTHING,
                                   .words = block.wosize + 1,
                                   .n_blocks = 1,
                                   .is = {number, address, block.wosize + 1,
                                          alqi_cli_heap_kind_number(&block)}};
    return true;
}

/* What the tree is of. -1, or the exit status. */
static int
root_find(struct tree *t, struct alqi_cli_heap_row *row)
{
    struct alqi_cli_heap_snapshot *s = &t->run->snapshot;
    const char *what = t->run->below;

    if (what != NULL && strncmp(what, "0x", 2) == 0) {
        if (!block_find(s, what, row))
            return alqi_cli_heap_refuse(
                t->run, false,
                "--below=%s: no block of %s that roots lead to begins there",
                alqi_cli_shown(what).text, s->file.path);
    } else if (what != NULL) {
        row->order = holder_find(s, what);
        if (row->order == NOTHING)
            return alqi_cli_heap_refuse(
                t->run, false,
                "--below=%s: neither an address such as 0x7f0012345678 nor the "
                "name of a root of %s",
                alqi_cli_shown(what).text, s->file.path);
    }
    if (row->order != NOTHING) {
        row->words = alqi_cli_heap_words(s, row->order);
        row->n_blocks = s->sizes[row->order].n_blocks;
    }
    if (t->run->least_part > 0)
        t->least_words = row->words / t->run->least_part;
    return -1;
}

int
alqi_cli_heap_tree(struct alqi_cli_heap_run *run)
{
    struct node root = {.row = {.order = 0}};
    struct tree t = {.run = run};
    int rc = root_find(&t, &root.row);

    if (rc >= 0)
        return rc;
    t.level = alqi_cli_zeros(1, sizeof(struct node *));
    t.level[0] = &root;
    t.n_level = root.row.order != NOTHING;
    if (t.n_level > 0 && root.row.order != 0)
        alqi_cli_heap_facts_want(&t.facts, root.row.order);
    if (run->least_part > 0 && t.n_level > 0)
        all_expand(&t, &root);
    for (uint64_t i = 0;
         run->least_part == 0 && i < run->depth && t.n_level > 0; i++)
        level_expand(&t);
    alqi_cli_heap_facts_fill(&t.facts, &run->snapshot);
    node_know(&t, &root);
    tree_show(&t, &root);
    alqi_cli_heap_facts_free(&t.facts);
    nodes_free(&root);
    free(t.level);
    return ALQI_CLI_OK;
}
