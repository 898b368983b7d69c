/* paths.h -- the call stacks that pass a filter, as pictures show them
 *
 * Folds with their sums. They are those of a shape; if threads are split, each
 * thread has its own, and its whole (whole.h) is above them. */
#ifndef ALQI_VIEW_PATHS_H
#define ALQI_VIEW_PATHS_H

#include "view/set.h"

struct alqi_view_paths {
    /* parents before children, 0 the empty stack; own_folds or the shape's */
    const struct alqi_view_fold *folds;
    uint32_t n;
    /* by fold: of stacks that end there, and of all through it; owned, and a
     * tree may take them */
    struct alqi_view_sum *self, *all;
    /* of all that passes; the scan's */
    const struct alqi_view_sum *total;
    /* owned; NULL: they are the shape's */
    struct alqi_view_fold *own_folds;
};

/* Of the shape that is drawn, and of threads as the filter says. False: no
 * memory; to be freed in any case. */
bool alqi_view_paths_draw(struct alqi_view_paths *paths,
                          struct alqi_view_trace *trace,
                          const struct alqi_view_filter *filter);
/* Of a given shape, all threads together. */
bool alqi_view_paths_make(struct alqi_view_paths *paths,
                          const struct alqi_view_index *index,
                          const struct alqi_view_shape *shape,
                          const struct alqi_view_scan *scan);
void alqi_view_paths_free(struct alqi_view_paths *paths);

/* Sums what is below each fold: all[] of self[]. */
void alqi_view_paths_sum(struct alqi_view_paths *paths);

#endif
