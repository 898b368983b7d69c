/* tree.h -- sites as a tree of functions, from the program down or up
 *
 * Recursion is folded: a function stands once on a path, at its place nearest
 * the root.  A node's sum includes its children's. */
#ifndef ALQI_CLI_ANALYSIS_TREE_H
#define ALQI_CLI_ANALYSIS_TREE_H

#include "base/intern.h"
#include "cli/analysis/analysis.h"

#define ALQI_CLI_TREE_CHOICES "top-down bottom-up none"

enum alqi_cli_tree_kind {
    ALQI_CLI_TOP_DOWN,
    ALQI_CLI_BOTTOM_UP,
    ALQI_CLI_NO_TREE
};

/* A function below its parent. */
struct alqi_cli_tree_node {
    /* zeros in the root */
    struct alqi_cli_frame frame;
    /* of the measure, children included */
    struct alqi_cli_sum sum;
    /* the node above; 0 in the root */
    uint32_t parent;
    /* 0: none; children are in order of size */
    uint32_t first_child, next;
};

/* Node 0 is the root: everything. */
struct alqi_cli_tree {
    /* by number; owned; moves when it grows */
    struct alqi_cli_tree_node *nodes;
    uint32_t n_nodes;
    /* parent and function; row i is node i + 1 */
    struct alqi_base_intern keys;
};

/* Makes a tree of the sites that have bytes of the measure. */
void alqi_cli_tree_make(struct alqi_cli_tree *tree,
                        struct alqi_cli_analysis *analysis,
                        enum alqi_cli_tree_kind kind,
                        enum alqi_cli_measure measure);
void alqi_cli_tree_free(struct alqi_cli_tree *tree);

/* Drops all but the first appearance of each function; returns how many frames
 * are left. */
uint32_t alqi_cli_fold_recursion(struct alqi_cli_frame *frames, uint32_t n);

#endif
