/* top_tree.h -- the stacks of a live view as a tree that stays
 *
 * A node is made when a stack first needs it and keeps its number, so that what
 * people opened stays open; figures are made anew from each picture, in one
 * step for each stack and each node.
 *
 * .inv.parent  A node's parent has a smaller number.
 *
 * Keeps .inv.index (doc/design/top.md): A picture's new sites come last. */
#ifndef ALQI_CLI_LIVE_TOP_TREE_H
#define ALQI_CLI_LIVE_TOP_TREE_H

#include "base/intern.h"
#include "cli/analysis/groups.h"

enum alqi_cli_top_view {
    ALQI_CLI_TOP_SITES, /* where it was allocated, and below, by whom */
    ALQI_CLI_TOP_CALLS, /* from the program down                      */
    ALQI_CLI_TOP_VIEWS
};

/* Choices and keys stand in this order. */
#define ALQI_CLI_TOP_SORT_CHOICES "live rate allocated peak count"

enum alqi_cli_top_sort {
    ALQI_CLI_TOP_BY_LIVE,
    ALQI_CLI_TOP_BY_RATE,
    ALQI_CLI_TOP_BY_ALLOCATED,
    ALQI_CLI_TOP_BY_PEAK,
    ALQI_CLI_TOP_BY_COUNT,
    ALQI_CLI_TOP_SORTS
};

struct alqi_cli_top_figures {
    struct alqi_cli_sum live;      /* now */
    struct alqi_cli_sum peak;      /* when the most was live */
    struct alqi_cli_sum allocated; /* freed or not */
    struct alqi_cli_sum recent;    /* allocated lately */
};

enum alqi_cli_top_open {
    ALQI_CLI_TOP_AUTO, /* open in the view of calls where much goes through */
    ALQI_CLI_TOP_OPEN,
    ALQI_CLI_TOP_CLOSED
};

struct alqi_cli_top_node {
    struct alqi_cli_frame frame;
    struct alqi_cli_top_figures figures; /* with its children's */
    uint32_t parent;                     /* of the root itself */
    /* 0: none; the newest child first */
    uint32_t first_child, next;
    bool is_mapping; /* not malloc's */
    enum alqi_cli_top_open open;
};

/* What was allocated lately, by place of a picture's sites. */
struct alqi_cli_top_recent {
    const struct alqi_cli_sum *sums;
    uint32_t n;
};

/* Node 0 is the root: everything that the filter lets through. */
struct alqi_cli_top_tree {
    enum alqi_cli_top_view view;
    enum alqi_cli_grouping grouping; /* of the sites */
    struct alqi_cli_top_node *nodes;
    /* grows only */
    uint32_t n_nodes;
    struct alqi_base_intern keys; /* what tells a node apart: a row a node, but
                                     for the root */
    /* node of each site's leaf, by its place; the first n_leaves are made */
    uint32_t *leaf_of;
    uint32_t n_leaves;
};

void alqi_cli_top_tree_init(struct alqi_cli_top_tree *tree,
                            enum alqi_cli_top_view view,
                            enum alqi_cli_grouping grouping);
void alqi_cli_top_tree_free(struct alqi_cli_top_tree *tree);

/* Figures of the picture; of stacks alone in which a frame's function, file or
 * module has the filter's letters, in any case; NULL or "": of all. */
void alqi_cli_top_tree_take(struct alqi_cli_top_tree *tree,
                            struct alqi_cli_analysis *picture,
                            const struct alqi_cli_top_recent *recent,
                            const char *filter);

double alqi_cli_top_figure(const struct alqi_cli_top_figures *figures,
                           enum alqi_cli_top_sort sort);

bool alqi_cli_top_is_open(const struct alqi_cli_top_tree *tree, uint32_t node);
/* The child with the largest such figure; 0 when none has any. */
uint32_t alqi_cli_top_heaviest(const struct alqi_cli_top_tree *tree,
                               uint32_t node, enum alqi_cli_top_sort sort);
/* Opens or closes; opened, the chain below in which nothing branches off is
 * open, too. */
void alqi_cli_top_toggle(struct alqi_cli_top_tree *tree, uint32_t node,
                         enum alqi_cli_top_sort sort);

struct alqi_cli_top_row {
    uint32_t node;
    uint32_t depth; /* 0: a child of the root */
};

/* What is to be seen, largest first among siblings, in *rows (grown as needed,
 * freed by the caller); returns how many. */
uint32_t alqi_cli_top_rows(const struct alqi_cli_top_tree *tree,
                           enum alqi_cli_top_sort sort,
                           struct alqi_cli_top_row **rows, uint32_t *capacity);

#endif
