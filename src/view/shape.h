/* shape.h -- stacks as answers show them: folded, and without hidden frames
 *
 * .inv.fold   A function stands once on a folded stack, at its outermost place;
 *             a hidden one does not.  Fold 0 is the empty stack; a fold's
 *             parent has a smaller number.
 *
 * .inv.drawn  A shape that is drawn may be asked for more. If it keeps
 *             recursion, a function stands there each time. A function that a
 *             rule takes is no frame: frames of one rule, with no other frame
 *             between them but such as vanish, are one frame, a whole (whole.h)
 *             named by the outermost of them, and stand there however often the
 *             stack comes to them. The first rule that takes a function has it.
 */
#ifndef ALQI_VIEW_SHAPE_H
#define ALQI_VIEW_SHAPE_H

#include "view/filter.h"
#include "view/index.h"
#include "view/scan.h"

/* A function below its parent on folded stacks. */
struct alqi_view_fold {
    uint32_t parent, function;
};

/* How stacks are to be shown. */
struct alqi_view_look {
    /* functions that vanish; rules of those that become wholes */
    struct alqi_view_words hide, fold;
    bool keeps_recursion;
};

/* The folded stacks of one index, without some hidden functions. */
struct alqi_view_shape {
    /* a copy; the shape is found again by it */
    struct alqi_view_look look;
    /* texts of look.hide and look.fold; owned */
    char *hide_texts, *fold_texts;
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
                          const struct alqi_view_look *look);
bool alqi_view_looks_are_same(const struct alqi_view_look *a,
                              const struct alqi_view_look *b);
void alqi_view_shape_free(struct alqi_view_shape *shape);

/* What each fold has: of stacks that end there, and of all through it, in
 * [n_folds] each. */
void alqi_view_shape_sum(const struct alqi_view_shape *shape,
                         const struct alqi_view_index *index,
                         const struct alqi_view_scan *scan,
                         struct alqi_view_sum *self, struct alqi_view_sum *all);

#endif
