/* function_sums.h -- what functions have: as sites, and with all they call */
#ifndef ALQI_VIEW_FUNCTION_SUMS_H
#define ALQI_VIEW_FUNCTION_SUMS_H

#include "view/ask.h"

/* A function with a sum. */
struct alqi_view_named {
    uint32_t function;
    struct alqi_view_sum sum;
};

/* [n_functions], the owner's to free; NULL: no memory. A stack counts for the
 * function that is its site. */
struct alqi_view_sum *alqi_view_sums_self(const struct alqi_view_index *index,
                                          const struct alqi_view_shape *shape,
                                          const struct alqi_view_scan *scan);
/* The same, but a stack counts once for each function on it; fold_all is from
 * alqi_view_sums_of_folds. */
struct alqi_view_sum *alqi_view_sums_all(const struct alqi_view_index *index,
                                         const struct alqi_view_shape *shape,
                                         const struct alqi_view_sum *fold_all);

/* What each fold has, in [n_folds], the owner's to free; NULL: no memory. */
struct alqi_view_sum *
alqi_view_sums_of_folds(const struct alqi_view_index *index,
                        const struct alqi_view_shape *shape,
                        const struct alqi_view_scan *scan);

/* Puts the functions that have anything into list[n_functions], largest first;
 * returns their number. */
uint32_t alqi_view_sums_list(const struct alqi_view_index *index,
                             const struct alqi_view_sum *sums,
                             enum alqi_view_by by,
                             struct alqi_view_named *list);

/* What a line has. */
struct alqi_view_line {
    int32_t line;
    struct alqi_view_sum sum;
};

struct alqi_view_lines {
    struct alqi_view_line *rows; /* by line; the owner's to free */
    uint32_t n;
};

/* What each line has of the stacks on which it stands: lines of the outermost
 * frames of the function, or of all functions of its file. False: no memory. */
bool alqi_view_lines_make(struct alqi_view_lines *lines,
                          const struct alqi_view_index *index,
                          const struct alqi_view_shape *shape,
                          const struct alqi_view_scan *scan, uint32_t function,
                          bool is_whole_file);

#endif
