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

struct alqi_view_fold {
    uint32_t parent, function;
};

struct alqi_view_shape {
    struct alqi_view_words hide; /* a copy */
    char *hide_texts;
    uint32_t *fold_of_node;  /* [n_nodes] */
    uint32_t *site_of_stack; /* [n_stacks]: the node that names it; 0: none */
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
