/* holdings.h -- what was never freed, by what holds it
 *
 *   empty --add, for each block--> parts --make--> rows --next--> ...
 *
 * A part is what one step (holders.h) holds of one class and one group of
 * sites; a sum is all that it holds of the class. */
#ifndef ALQI_CLI_ANALYSIS_HOLDINGS_H
#define ALQI_CLI_ANALYSIS_HOLDINGS_H

#include "base/intern.h"
#include "cli/analysis/estimate.h"
#include "view/index.h"

struct alqi_cli_holding {
    enum alqi_view_reach reach;
    uint32_t step;  /* NO_STEP: none is told */
    uint32_t group; /* of sites; of a sum: of its largest part */
    uint32_t n;     /* parts behind the sum; of a part: 0 */
    struct alqi_cli_sum sum;
};

/* All zeros: empty. */
struct alqi_cli_holdings {
    struct alqi_base_intern parts; /* class, step and group, by part */
    /* while blocks are added: parts, by number; then sums, each with its parts
     * behind it, the largest first; owned */
    struct alqi_cli_holding *rows;
    uint32_t n_rows;
};

/* All but `free` end the command without memory. */
void alqi_cli_holdings_add(struct alqi_cli_holdings *holdings,
                           enum alqi_view_reach reach, uint32_t step,
                           uint32_t group, const struct alqi_cli_sum *sum);
void alqi_cli_holdings_make(struct alqi_cli_holdings *holdings);
void alqi_cli_holdings_free(struct alqi_cli_holdings *holdings);

/* The sum behind this one; of NULL the first one; NULL: there is none. */
const struct alqi_cli_holding *
alqi_cli_holdings_next(const struct alqi_cli_holdings *holdings,
                       const struct alqi_cli_holding *sum);

#endif
