/* shape.h -- stacks as answers show them: folded, and without hidden frames
 *
 * .inv.fold   A function stands once on a folded stack, at its outermost place;
 *             a hidden one does not.  Fold 0 is the empty stack; a fold's
 *             parent has a smaller number. */
#ifndef ALQI_VIEW_SHAPE_H
#define ALQI_VIEW_SHAPE_H

#include "view/filter.h"
#include "view/index.h"
#include "view/scan.h"

/* A function below its parent on folded stacks. */
struct alqi_view_fold {
    uint32_t parent, function;
};

struct alqi_view_shape {
    /* a copy; the shape is found again by it */
    struct alqi_view_words hide;
    /* texts of hide; owned */
    char *hide_texts;
    /* [n_nodes]: the fold at which a node's stack ends; owned */
    uint32_t *fold_of_node;
    /* [n_stacks]: the node that names the stack; 0: none; owned */
    uint32_t *site_of_stack;
    /* [n_folds]; owned; NULL: no shape */
    struct alqi_view_fold *folds;
    uint32_t n_folds;
};

/* False: no memory.  To be freed in any case. */
bool alqi_view_shape_make(struct alqi_view_shape *shape,
                          const struct alqi_view_index *index,
                          const struct alqi_view_words *hide);
void alqi_view_shape_free(struct alqi_view_shape *shape);

/* What each fold has: of stacks that end there, and of all through it, in
 * [n_folds] each. */
void alqi_view_shape_sum(const struct alqi_view_shape *shape,
                         const struct alqi_view_index *index,
                         const struct alqi_view_scan *scan,
                         struct alqi_view_sum *self, struct alqi_view_sum *all);

#endif
