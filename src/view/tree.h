/* tree.h -- functions below functions, or above them, with what they have
 *
 * Node 0 is where the tree begins: the empty stack, or a focus. */
#ifndef ALQI_VIEW_TREE_H
#define ALQI_VIEW_TREE_H

#include "view/ask.h"

enum { ALQI_VIEW_FOCUS_MAX = 64 };

struct alqi_view_tree {
    struct alqi_view_fold *nodes; /* parents before children */
    struct alqi_view_sum *self, *all;
    struct alqi_view_sum *b_self, *b_all; /* of another side; or NULL */
    uint32_t n, capacity;
};

void alqi_view_tree_free(struct alqi_view_tree *tree);

/* A fragment of a stack, outermost function first; empty: all. */
struct alqi_view_focus {
    uint32_t functions[ALQI_VIEW_FOCUS_MAX];
    uint32_t n;
};

/* Takes "1,2,3", numbers below n. */
bool alqi_view_focus_take(struct alqi_view_ask *ask,
                          struct alqi_view_focus *focus, uint32_t n);

struct alqi_view_tree_input {
    const struct alqi_view_index *x;
    const struct alqi_view_shape *shape;
    const struct alqi_view_scan *scan;
    const struct alqi_view_focus *focus;
    bool is_up;
    enum alqi_view_by by;
    double min_share; /* of the focus: what has less need not be there */
};

/* What an answer about trees is asked for. */
struct alqi_view_tree_wish {
    struct alqi_view_focus focus;
    bool is_up;
    double min_share;
    uint32_t most_depth;
};

/* Focus numbers are below n. */
bool alqi_view_tree_wish_take(struct alqi_view_ask *ask,
                              struct alqi_view_tree_wish *wish, uint32_t n);

/* Writes what fits, and the functions; false after a refusal. */
bool alqi_view_tree_put(struct alqi_view_ask *ask,
                        const struct alqi_view_tree *tree,
                        const struct alqi_view_tree_wish *wish,
                        struct alqi_view_used *used);

/* Adds a node without sums; UINT32_MAX: no memory. */
uint32_t alqi_view_tree_add(struct alqi_view_tree *tree, uint32_t parent,
                            uint32_t function);

/* False: no memory.  To be freed in any case. */
bool alqi_view_tree_make(struct alqi_view_tree *tree,
                         const struct alqi_view_tree_input *input);

#endif
