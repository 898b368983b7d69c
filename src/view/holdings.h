/* holdings.h -- what was never freed, by what holds it
 *
 *   empty --make--> rows --next--> ...
 *
 * A part is what one step holds of one class and one group of sites; a sum is
 * all that it holds of the class. */
#ifndef ALQI_VIEW_HOLDINGS_H
#define ALQI_VIEW_HOLDINGS_H

#include "view/scan.h"

struct alqi_view_holding {
    enum alqi_view_reach reach;
    uint32_t step;  /* of the index; NO_STEP: none is told */
    uint32_t group; /* of sites; of a sum: of its largest part */
    uint32_t n;     /* parts behind the sum; of a part: 0 */
    struct alqi_view_sum sum;
};

/* All zeros: empty. */
struct alqi_view_holdings {
    /* sums, each with its parts behind it, the largest first; owned */
    struct alqi_view_holding *rows;
    uint32_t n_rows;
};

/* A group of sites that is left out. */
#define ALQI_VIEW_NO_GROUP UINT32_MAX

/* Of what passes the scan the rows that were never freed; group_of_stack says
 * whose a stack is. False: no memory. To be freed in any case. */
bool alqi_view_holdings_make(struct alqi_view_holdings *holdings,
                             const struct alqi_view_index *index,
                             const struct alqi_view_scan *scan,
                             const uint32_t *group_of_stack,
                             enum alqi_view_by by);
void alqi_view_holdings_free(struct alqi_view_holdings *holdings);

/* The sum behind this one; of NULL the first one; NULL: there is none. */
const struct alqi_view_holding *
alqi_view_holdings_next(const struct alqi_view_holdings *holdings,
                        const struct alqi_view_holding *sum);

#endif
