/* groups.h -- call stacks grouped by the longest beginning that many share
 *
 * .def.group  A node of the tree of calls, from the program down, heads a group
 *             if the stacks that begin with it, without those of groups further
 *             down, have a given share of all. A stack is of the group of the
 *             innermost head on it; those without a head are the rest. So
 *             each group is as deep as it can be, and no stack is of two. */
#ifndef ALQI_VIEW_GROUPS_H
#define ALQI_VIEW_GROUPS_H

#include "view/scan.h"
#include "view/shape.h"

/* Parts of a group that are told one by one. */
enum { ALQI_VIEW_GROUP_PARTS = 4 };

/* What goes on from a head by one function. */
struct alqi_view_part {
    uint32_t function;
    double value; /* bytes, blocks or samples */
};

struct alqi_view_group {
    /* the head; 0: the rest */
    uint32_t fold;
    struct alqi_view_sum sum;
    /* different folded stacks */
    uint32_t n_stacks;
    /* where the stacks part, the largest first */
    struct alqi_view_part parts[ALQI_VIEW_GROUP_PARTS];
    /* of all parts */
    uint32_t n_parts;
};

struct alqi_view_groups {
    /* largest first; the rest, if there is any, is the last; owned */
    struct alqi_view_group *rows;
    uint32_t n;
};

/* Groups of at least that share, above 0, of what the stacks of a scan have.
 * False: no memory. To be freed in any case. */
bool alqi_view_groups_make(struct alqi_view_groups *groups,
                           const struct alqi_view_index *index,
                           const struct alqi_view_shape *shape,
                           const struct alqi_view_scan *scan,
                           enum alqi_view_by by, double share);
void alqi_view_groups_free(struct alqi_view_groups *groups);

#endif
