/* tree.c -- aliquot heap --tree: blocks below what holds them alone
 *                                               [doc/design/heap-snapshot]
 *
 * Level by level: one look over all nodes, and one walk over the leaves, finds
 * the biggest of each level's parents. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/heap/chain.h"
#include "cli/heap/print.h"
#include "cli/tool/cli.h"

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

static void
nodes_know(struct tree *t, struct node *node)
{
    for (uint32_t i = 0; i < node->n_below; i++) {
        struct node *below = &node->below[i];

        if (below->row.order != NOTHING)
            below->row.is = alqi_cli_heap_fact_of(&t->facts, &t->run->snapshot,
                                                  below->row.order);
        nodes_know(t, below); /* as deep as --depth, 64 at most */
    }
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

static json_t *
nodes_json(struct tree *t, const struct node *node)
{
    json_t *to = json_array();

    for (uint32_t i = 0; i < node->n_below; i++) {
        const struct alqi_cli_heap_row *row = &node->below[i].row;
        json_t *one = json_object();
        char text[ALQI_CLI_HEAP_TEXT];

        alqi_cli_json_count(one, "retained_bytes", row->words * 8);
        alqi_cli_json_count(one, "retained_blocks", row->n_blocks);
        if (row->is.address != 0) {
            alqi_cli_heap_block_json(&t->run->snapshot, &row->is, one);
        } else {
            alqi_cli_heap_fact_text(&t->run->snapshot, &row->is, text,
                                    sizeof text);
            alqi_cli_json_set(one, "root", json_string(text));
        }
        alqi_cli_json_count(one, "left_out", node->below[i].n_left_out);
        alqi_cli_json_set(one, "below", nodes_json(t, &node->below[i]));
        json_array_append_new(to, one);
    }
    return to;
}

static void
tree_show(struct tree *t, const struct node *root)
{
    if (t->run->is_json) {
        json_t *to = alqi_cli_heap_head_json(t->run);

        alqi_cli_json_set(to, "tree", nodes_json(t, root));
        alqi_cli_heap_json_end(to);
        return;
    }
    alqi_cli_heap_head(t->run);
    alqi_cli_heap_title(&t->run->term, "TREE",
                        "of what goes with each: roots, and blocks that "
                        "several roots lead to; below them what they hold");
    alqi_cli_heap_heads(&t->run->term, "root or block");
    nodes_print(t, root, 0);
}

void
alqi_cli_heap_tree(struct alqi_cli_heap_run *run)
{
    struct node root = {.row = {.order = 0}};
    struct tree t = {.run = run, .n_level = 1};

    t.level = alqi_cli_zeros(1, sizeof(struct node *));
    t.level[0] = &root;
    for (uint64_t i = 0; i < run->depth && t.n_level > 0; i++)
        level_expand(&t);
    alqi_cli_heap_facts_fill(&t.facts, &run->snapshot);
    nodes_know(&t, &root);
    tree_show(&t, &root);
    alqi_cli_heap_facts_free(&t.facts);
    nodes_free(&root);
    free(t.level);
}
