/* tree.h -- functions below functions, or above them, with what they have
 *
 * Node 0 is where the tree begins: the empty stack, or a focus. */
#ifndef ALQI_VIEW_TREE_H
#define ALQI_VIEW_TREE_H

#include "view/ask.h"
#include "view/paths.h"

enum { ALQI_VIEW_FOCUS_MAX = 64 };

/* A tree of functions, parents before children. */
struct alqi_view_tree {
    /* parents before children; owned */
    struct alqi_view_fold *nodes;
    /* by node: of stacks that end there, and of all through it; owned */
    struct alqi_view_sum *self, *all;
    /* the same of another side; NULL: there is none; owned */
    struct alqi_view_sum *b_self, *b_all;
    uint32_t n, capacity;
};

/* Frees what the tree owns and empties it. */
void alqi_view_tree_free(struct alqi_view_tree *tree);

/* A fragment of a stack, outermost function first; empty: all. */
struct alqi_view_focus {
    uint32_t functions[ALQI_VIEW_FOCUS_MAX];
    uint32_t n;
};

/* Takes "1,2,3" from the key `focus`, numbers of the question's trace; without
 * the key the focus is empty. False: an error. */
bool alqi_view_focus_take(struct alqi_view_ask *ask,
                          struct alqi_view_focus *focus);
/* The fold above the fragment that ends at this one. UINT32_MAX: it does not
 * end here. */
uint32_t alqi_view_focus_above(const struct alqi_view_focus *focus,
                               const struct alqi_view_fold *folds,
                               uint32_t fold);

/* What a tree is made of; all of it the caller's. */
struct alqi_view_tree_input {
    const struct alqi_view_index *x;
    /* whose sums a tree of all of them, down, takes away */
    struct alqi_view_paths *paths;
    /* where the tree begins; empty: the whole stack */
    const struct alqi_view_focus *focus;
    /* from what allocates to its callers; else from the program down */
    bool is_up;
    /* what min_share is of */
    enum alqi_view_by by;
    /* of the focus; nodes with less need not be there */
    double min_share;
};

/* What an answer about trees is asked for. */
struct alqi_view_tree_wish {
    /* where the tree begins */
    struct alqi_view_focus focus;
    bool is_up;
    double min_share;
    /* levels below the root that are written */
    uint32_t most_depth;
};

bool alqi_view_tree_wish_take(struct alqi_view_ask *ask,
                              struct alqi_view_tree_wish *wish);
/* A share of 0 to 1 from the query; `otherwise` when it is not there. */
double alqi_view_take_share(struct alqi_view_ask *ask, const char *key,
                            double otherwise);

/* Writes what fits, and the functions; false after a refusal. */
bool alqi_view_tree_put(struct alqi_view_ask *ask,
                        const struct alqi_view_tree *tree,
                        const struct alqi_view_tree_wish *wish,
                        struct alqi_view_used *used);

/* Adds a node without sums; UINT32_MAX: no memory. */
uint32_t alqi_view_tree_add(struct alqi_view_tree *tree, uint32_t parent,
                            uint32_t function);

/* Gives sums the largest weight of an unseen sample, that of the total: one
 * without blocks has none of its own. */
void alqi_view_tree_most(struct alqi_view_sum *sums, uint32_t n,
                         const struct alqi_view_sum *total);

/* False: no memory.  To be freed in any case. */
bool alqi_view_tree_make(struct alqi_view_tree *tree,
                         const struct alqi_view_tree_input *input);

#endif
