/* both.h -- functions of two sides to compare: of one trace, or of two
 *
 * Functions that match (match.h .inv.match) have one common number: that of
 * side A.  Functions of side B that have no match are numbered on from A's. */
#ifndef ALQI_VIEW_BOTH_H
#define ALQI_VIEW_BOTH_H

#include "view/index.h"

enum { ALQI_VIEW_NO_FUNCTION = UINT32_MAX };

struct alqi_view_both {
    /* the sides; they may be the same */
    const struct alqi_view_index *a, *b;
    /* by B's numbers: the common number; owned */
    uint32_t *of_b;
    /* by common numbers: B's, or ALQI_VIEW_NO_FUNCTION; owned */
    uint32_t *b_of;
    /* common numbers */
    uint32_t n;
};

/* False: no memory.  To be freed in any case. */
bool alqi_view_both_make(struct alqi_view_both *both,
                         const struct alqi_view_index *a,
                         const struct alqi_view_index *b);
void alqi_view_both_free(struct alqi_view_both *both);

/* The index that has a common number's names; *function becomes its number
 * there. */
const struct alqi_view_index *
alqi_view_both_names(const struct alqi_view_both *both, uint32_t *function);

#endif
